"""A branch loop of rounds on one worker: starts from what the main loop recorded, reads the graph at that version, and comes to an end.

It has come to its fixed point when its dataflow is complete: no token and no message is left on any worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from ...graph import EvolvingGraph
from ...loops.loop_operator import NEVER
from ..compiled_branch import CompiledBranch
from ..edge_reading import ColumnsOf
from . import loop_columns as names
from .bundle import RoundsBundle
from .loop_state import RoundsState
from .processor import FUEL, RoundsProcessor

_END = 1 << 60  # the iteration behind all others, at which workers say what answers need of everybody


class RoundsBranch(CompiledBranch[RoundsBundle, RoundsState], RoundsProcessor):
    """See the module.

    Parameters
    ----------
    number
        Of the fork: the same on all workers, growing.
    take_state
        Gives columns to copy into, as `RoundsState.reset` leaves them, when the state is recorded.
    fresh
        Begin from the initial values, not from what the main loop has found: for other parameters.
    """

    def __init__(
        self,
        *,
        number: int,
        kernel: ModuleType,
        graph: EvolvingGraph,
        take_state: Callable[[], RoundsState],
        arguments: tuple[object, ...],
        worker: int,
        workers: int,
        fresh: bool,
        max_iterations: int | None,
    ) -> None:
        super().__init__(kernel=kernel, graph=graph, arguments=arguments, worker=worker, workers=workers)
        self.number = number
        self._take_state = take_state
        self._fresh = fresh
        self._max_iterations = max_iterations
        self._kept = []
        self._has_told = False
        self._terms = 0  # the most that a cell is made of

    @property
    def is_converged(self) -> bool:
        """Whether this worker's part came to its end with nothing left to compute."""
        return self.pending_least() == NEVER

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: of how many terms sums are made at most; they are rounded as often."""
        return {"terms": self._terms, "kept": self.kept.terms} if self.kept.are_wanted else {}

    def record(self, graph: EvolvingGraph, main: RoundsState, iteration: int) -> None:
        """Copy the main loop's state, as it is after the last records applied, and lease that version of the graph.

        `iteration` is that of the main loop's token: what is computed there is not far behind, so the branch begins there.
        """
        self.state = self._take_state()
        counters = self.state.counters
        if self.was_stopped:
            counters[names.CAP] = -1
        self._begins_at = 0 if self._fresh else iteration
        counters[names.FLOOR] = self._begins_at - 1
        self._awaits_limit = self._max_iterations is not None
        self.lease, self.version = graph.lease()
        counters[names.VERSION] = self.version
        self.first_iteration = int(main.counters[names.ITERATION])
        if self._fresh:
            self.kernel.fork_fresh(graph.addresses, main.addresses, self.state.addresses, self.arguments)
        else:
            self.kernel.fork(main.addresses, self.state.addresses)
            counters[names.ITERATION] = main.counters[names.ITERATION]
        self.vertices = graph.vertices
        if self.kept.are_wanted:
            self._terms = int(graph.columns.in_length[: graph.rows].max(initial=0))
        self.is_recorded = True

    def _kept_of(self, bundle: RoundsBundle) -> RoundsBundle:
        """See `CompiledBranch`."""
        return bundle.without_values() if self._fresh else bundle

    def _stored(self) -> ColumnsOf:
        """See `ReadsEdges`."""
        return self.state.stored_columns

    def _set_cap(self, iteration: int) -> None:
        """See `CompiledBranch`; one that was stopped has a lower one."""
        counters = self.state.counters
        counters[names.CAP] = min(int(counters[names.CAP]), iteration)

    def stop(self) -> None:
        """Compute nothing more; what is under way arrives, and then the values are those of a consistent cut."""
        super().stop()
        if self.is_recorded:
            self.state.counters[names.CAP] = -1

    def step(self) -> None:
        """Take in messages and compute what is dirty; give the token up when there is nothing to come of this worker."""
        self.operator.pull(self._accept)
        if not self.is_started:
            return
        if not self.operator.token.is_live and not self._arrived:
            return
        self.operator.move_token(self._begins_at, stays=True)
        self._receive()
        finished = self._advance(FUEL)
        self._flush()
        if self.kept.are_wanted and not self._has_told:
            self._tell_at_the_end()
        else:
            self._move_token(stays=bool(self._arrived))
        if not finished:
            self.operator.activate()

    def _tell_at_the_end(self) -> None:
        """Wait with the token until nobody has anything left to compute, and then say what is kept."""
        self._move_token(stays=True, last=_END)
        if self.operator.timestamp == _END and self.operator.arriving() > _END:
            self._tell_kept(self.vertices)
            self._has_told = True
            self.operator.move_token(NEVER, stays=False)
