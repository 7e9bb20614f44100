"""What the main loops of compiled kinds have in common: the graph that they find is taken in, branches are forked, columns used again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, cast

from ..loops.forks import ForkedPart, Forks
from ..loops.part import Traffic
from ..timely import Scope
from .compiled_part import Bundle, CompiledPart, State
from .stream_reading import LeasingBranch, ReadsStream

_SPARE_STATES = 4


class ScanningBranch(LeasingBranch, Protocol):
    """A branch whose scans of the graph may be cut short."""

    def finish_cursor(self) -> None:
        """Finish the scan that was cut short, if one was, so that the graph may change."""
        ...


Branch = TypeVar("Branch", bound=ScanningBranch)


class CompiledMain(ReadsStream[Branch], CompiledPart[Bundle, State], Generic[Branch, Bundle, State]):
    """See the module; stands before the part of its kind among the bases of a main loop."""

    _forks: Forks[Bundle]
    _spare: list[State]  # columns of branches that are over
    # The first row of the graph, as the loop finds it, that was not taken in yet; None where there is none.
    _following_row: int | None

    def _begin_reading(self, marker: Callable[[int], Bundle]) -> None:
        """At the end of making it: nothing is forked yet, and the graph that is there is to be taken in; `marker` is as of `Forks`."""
        self.branches = []
        self._forks = Forks(self.operator, marker=marker, deliver=self._accept)
        self._spare = []
        self._following_row = 0 if self.graph.rows else None

    def build(self, scope: Scope) -> None:
        """Put it into a new dataflow, and have it hear of every change of the stream from now on."""
        super().build(scope)
        self.stream.join(self)

    def activate(self) -> None:
        """Have `step` called soon."""
        self.operator.activate()

    def traffic(self) -> Traffic:
        """See `MainPartView`."""
        received = self.bundles_received  # first: a receipt that follows shows as one that is missing
        return Traffic(not self._is_at_work, received, self.bundles_sent)

    @property
    def _is_at_work(self) -> bool:
        """Whether something is waiting or pending on this worker."""
        return (
            self._is_stepping
            or self.stream.has_commands
            or self.stream.is_filling
            or self._is_taking_in
            or bool(self._arrived)
            or self._forks.is_holding
            or self._has_pending()
        )

    # The stream

    @property
    def _is_taking_in(self) -> bool:
        """Whether some of the graph that was there before this loop is not taken in yet."""
        return self._following_row is not None

    def is_catching_up(self) -> bool:
        """Whether records should not wait for it: it takes in a graph that was there before; see `ReadingPart`."""
        return self._is_taking_in

    def stop_scans(self) -> None:
        """Finish the scans under way in this loop and its branches: none may be while the graph changes."""
        self.finish_cursor()
        for branch in self.branches:
            branch.finish_cursor()

    def _held_least(self) -> int:
        return min(super()._held_least(), self._forks.held_least())

    # Branches

    def record(self, branch: Branch) -> None:
        """Record this worker's state for a branch, and what was delivered and is not in the state yet."""
        self._flush()
        self._record_state(branch)
        self.branches.append(branch)
        forked = cast("ForkedPart[Bundle]", branch)
        self._keep_arrived(forked)
        self._forks.record(forked)
        if self._arrived:  # what came behind a marker, and is let in by this record
            self.operator.activate()

    def _record_state(self, branch: Branch) -> None:
        """Have a branch record this worker's state."""
        raise NotImplementedError

    def _keep_arrived(self, branch: ForkedPart[Bundle]) -> None:
        """Have a branch keep what was delivered and is not in the state yet."""
        for arrived in self._arrived:
            branch.keep(arrived.bundle.from_index(arrived.following), arrived.iteration)

    def _take_spare(self, fits: Callable[[State], bool]) -> State | None:
        """Columns of a branch that is over, if there are some that fit; else there are no others, as those would not fit later either."""
        for place, state in enumerate(self._spare):
            if fits(state):
                del self._spare[place]
                return state
        self._spare.clear()
        return None

    def take_back(self, reusable: object) -> None:
        """Keep the columns of a branch that is over, for the next ones."""
        if len(self._spare) < _SPARE_STATES:
            self._spare.append(cast("State", reusable))

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        self.stream.let_go(self)
        super().free()
        self._spare.clear()
        self.__dict__.pop("stream")
