"""A branch loop on one worker: starts from what the main loop recorded, reads the graph at that version, and comes to an end.

What the main loop had not come to is done here in the same way. It is over when the coordinator says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from ...graph import EvolvingGraph
from ...loops.loop_operator import NEVER
from ..compiled_branch import CompiledBranch
from ..edge_reading import ColumnsOf
from . import loop_columns as names
from .bundle import CoreBundle
from .loop_columns import FINISH
from .loop_state import CoreState
from .processor import FUEL, CoreProcessor


class CoreBranch(CompiledBranch[CoreBundle, CoreState], CoreProcessor):
    """See the module.

    Parameters
    ----------
    number
        Of the fork: the same on all workers, growing.
    take_state
        Gives columns to copy into, as `CoreState.reset` leaves them, when the state is recorded.
    fresh
        Begin anew, with another greatest number than the main loop has.
    """

    def __init__(
        self,
        *,
        number: int,
        kernel: ModuleType,
        graph: EvolvingGraph,
        take_state: Callable[[], CoreState],
        delay_bound: int | None,
        worker: int,
        workers: int,
        fresh: bool,
        max_iterations: int | None,
    ) -> None:
        super().__init__(
            kernel=kernel,
            graph=graph,
            delay_bound=delay_bound,
            worker=worker,
            workers=workers,
            rests=False,
        )
        self.number = number
        self._take_state = take_state
        self._fresh = fresh
        self._max_iterations = max_iterations
        self._cap = NEVER
        self._kept = []
        self._awaits_limit = max_iterations is not None

    # Recording

    def record(self, main: CoreState, timestamp: int, next_iteration: int, *, needs_all: bool) -> None:
        """Copy the main loop's state, as it is after the last records applied, and lease that version of the graph.

        `timestamp` is that of the main loop's token: what is committed there is not far behind, so the branch begins there.
        """
        self.state = self._take_state()
        self.lease, self.version = self.graph.lease()
        self.first_iteration = main.iteration
        counters = self.state.counters
        counters[names.VERSION] = self.version
        counters[names.PHASE] = self._instruction.phase
        self.needs_all = needs_all or self._fresh
        if self._fresh:
            self.kernel.fork_fresh(main.addresses, self.state.addresses)
        else:
            self.kernel.fork(main.addresses, self.state.addresses)
            self._begins_at = timestamp
            self.next_iteration = max(timestamp, next_iteration)
            self.state.iteration = main.iteration
        self.vertices = self.graph.vertices
        self.is_recorded = True

    def _kept_of(self, bundle: CoreBundle) -> CoreBundle:
        """See `CompiledBranch`."""
        return bundle.without_values() if self._fresh else bundle

    # What its owner asks and tells

    @property
    def is_converged(self) -> bool:
        """Whether the estimates are the core numbers."""
        return self._instruction.is_converged

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: how many vertices of this part may be too low; where none is of any part, none is too low at all."""
        return {"may_be_low": float(self.state.waiting_to_rise + self.needs_all)}

    def _stored(self) -> ColumnsOf:
        """See `ReadsEdges`."""
        return self.state.stored_columns

    def _set_cap(self, iteration: int) -> None:
        """See `CompiledBranch`."""
        self._cap = iteration

    # Steps

    def step(self) -> None:
        """Take in messages, and do what the coordinator says; give the token up when the branch is finished."""
        self.operator.pull(self._accept)
        if not self.is_started or (not self.operator.token.is_live and not self._arrived):
            return
        self.operator.move_token(self._begins_at, stays=True)
        if self._coordinator is not None and self.was_stopped:
            self._tell_all(self._coordinator.stop())
        self._receive()
        if self._may_go():
            self._turn(FUEL)
        self._flush()
        if not self._arrived:
            self._report()
        self._move_token()
        if self._may_go():
            self.operator.activate()

    def _may_go(self) -> bool:
        return self.has_work() and not self.was_stopped and self.may_begin_turn() and not self._is_capped

    @property
    def _is_capped(self) -> bool:
        return self.next_iteration > self._cap

    def _report(self) -> None:
        if not self.has_work():
            self._report_when_done()
        elif self._is_capped:
            self._report_when_done(is_capped=True)

    def _move_token(self) -> None:
        if self._instruction.phase == FINISH:
            self.operator.move_token(NEVER, stays=False)
            return
        waits = self.has_work() and not self._is_capped
        least = self.next_iteration if waits else NEVER
        self.operator.move_token(min(least, self._held_least()), stays=True)
