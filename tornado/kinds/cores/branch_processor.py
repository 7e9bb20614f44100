"""A branch loop on one worker: starts from what the main loop recorded, reads the graph at that version, and comes to an end.

What the main loop had not come to is done here in the same way. It is over when the coordinator says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from ...graph import EvolvingGraph
from ...loops.loop_operator import NEVER
from ..edge_reading import ReadsEdges
from ..local_values import LocalValues
from ..snapshot_pages import SnapshotPages
from . import loop_columns as names
from .bundle import CoreBundle
from .loop_columns import FINISH
from .loop_state import CoreState
from .processor import FUEL, ArrivedEstimates, CoreProcessor


class CoreBranch(ReadsEdges, CoreProcessor):
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
        self.lease: int | None = None
        self.version = -1
        self.vertices = 0  # of this worker that had been seen at the cut
        self.first_iteration = 0
        self.was_stopped = False
        self.is_cancelled = False
        self.is_recorded = False
        self.is_started = False
        self._take_state = take_state
        self._fresh = fresh
        self._max_iterations = max_iterations
        self._cap = NEVER
        self._kept: list[CoreBundle] = []
        self._begins_at = 0  # the iteration of its token when it starts
        self._awaits_limit = max_iterations is not None
        self._has_cut = False

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

    def keep(self, bundle: CoreBundle, iteration: int) -> None:
        """Keep for the beginning what was under way when the snapshot was taken, stamped with an iteration."""
        messages = bundle.messages
        if self._fresh:
            messages = messages.without_values()
        else:
            self._begins_at = min(self._begins_at, iteration)
        if len(messages.kinds):
            self._kept.append(CoreBundle(bundle.sender, messages))

    def cut_is_complete(self, markers: tuple[CoreBundle, ...]) -> None:
        """Begin, as all of the snapshot is here; with a cap on iterations only once `limit` has set it."""
        del markers
        self._has_cut = True
        self._start_if_ready()

    def _start_if_ready(self) -> None:
        if self._has_cut and not self.is_started and (self.is_cancelled or not self._awaits_limit):
            self._start()

    def _start(self) -> None:
        """Begin with what was kept; what workers that started earlier have sent already comes after it."""
        self._arrived.extendleft(ArrivedEstimates(bundle, self._begins_at) for bundle in reversed(self._kept))
        self._kept.clear()
        self.is_started = True
        self.operator.activate()

    # What its owner asks and tells

    @property
    def is_converged(self) -> bool:
        """Whether the estimates are the core numbers."""
        return self._instruction.is_converged

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: nothing; the values are exact or not."""
        return {}

    @property
    def reusable(self) -> CoreState:
        """The columns, which another branch may use when this one is over."""
        return self.state

    def held_values(self) -> LocalValues:
        """Return the values of this worker's vertices; the branch must be over."""
        return LocalValues(self.graph, self.state, self.vertices)

    def pages(self) -> SnapshotPages:
        """Return vertices and, where they were read, edges by page; the branch must be over."""
        if self._pages is None:
            self._pages = SnapshotPages(
                self.graph,
                rows=self.state.rows_seen,
                columns_of=self.state.stored_columns,
                vertices=self.vertices,
                reader=self.reader,
            )
        return self._pages

    def free(self) -> None:
        """See `CoreProcessor`; the edges that were read are gone at once, too."""
        super().free()
        self.drop_edges()

    def limit(self, iteration: int) -> None:
        """Begin no more than the iterations allowed above the snapshot's, and start if only that was missing."""
        assert self._max_iterations is not None
        self._cap = (0 if self._fresh else iteration) + self._max_iterations
        self._awaits_limit = False
        self._start_if_ready()

    def cancel(self) -> None:
        """Have it end, as soon as all of the snapshot is here."""
        self.is_cancelled = True
        self._start_if_ready()

    def stop(self) -> None:
        """Change nothing more; what is under way arrives, and then the values are as they are."""
        self.was_stopped = True
        self.operator.activate()

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
