"""A branch loop on one worker: starts from what the main loop recorded, reads the graph at that version, and comes to an end.

It has come to its fixed point when its dataflow is complete: no token and no message is left on any worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType

from ...graph import EvolvingGraph
from ..edge_reading import ReadsEdges
from ..local_values import LocalValues
from ..snapshot_pages import SnapshotPages
from . import loop_columns as names
from .bundle import Bundle, Messages
from .loop_columns import NEVER
from .loop_state import LoopState
from .processor import Arrived, SelectiveProcessor, concatenated


class BranchProcessor(ReadsEdges, SelectiveProcessor):
    """See the module.

    Parameters
    ----------
    number
        Of the fork: the same on all workers, growing.
    take_state
        Gives columns to copy into, as `LoopState.reset` leaves them, when the state is recorded.
    fresh
        Begin from the initial values, not from what the main loop has found: for other parameters.
    """

    def __init__(
        self,
        *,
        number: int,
        kernel: ModuleType,
        graph: EvolvingGraph,
        take_state: Callable[..., LoopState],
        arguments: tuple[object, ...],
        worker: int,
        workers: int,
        fresh: bool,
        max_iterations: int | None,
    ) -> None:
        super().__init__(kernel=kernel, graph=graph, arguments=arguments, worker=worker, workers=workers)
        self.number = number
        self.lease: int | None = None
        self.version = -1
        self.vertices = 0  # of this worker that had been seen at the cut
        self.first_iteration = 0
        self.was_stopped = False
        self.is_cancelled = False
        self.is_recorded = False
        self._take_state = take_state
        self._fresh = fresh
        self._max_iterations = max_iterations
        self._kept: list[list[Messages]] = [[] for _ in range(workers)]
        self._begins_at = 0  # the iteration of its token when it starts
        self._awaits_limit = False
        self._has_cut = False
        self.is_started = False

    @property
    def is_converged(self) -> bool:
        """Whether this worker's part came to its end with nothing left to commit."""
        return self.pending_least() == NEVER

    def record(self, graph: EvolvingGraph, main: LoopState, iteration: int) -> None:
        """Copy the main loop's state, as it is after the last batch applied, and lease that version of the graph.

        `iteration` is that of the main loop's token: what is committed there is not far behind, so the branch begins there.
        """
        self.state = self._take_state(fresh=self._fresh)
        if self.was_stopped:
            self.state.counters[names.CAP] = -1
        self._begins_at = 0 if self._fresh else iteration
        self.state.counters[names.FLOOR] = self._begins_at - 1
        if self._max_iterations is not None:
            self._awaits_limit = True
        self.lease, self.version = graph.lease()
        counters = self.state.counters
        counters[names.VERSION] = self.version
        self.first_iteration = int(main.counters[names.ITERATION])
        if self._fresh:
            self.state.is_no_copy()
            self.kernel.fork_fresh(graph.addresses, main.addresses[1], *self.state.addresses, self.arguments)
        else:
            missing = self.state.copy_begins(main)
            self.kernel.fork(main.addresses[1], *self.state.addresses, *missing)
            counters[names.ITERATION] = main.counters[names.ITERATION]
        self.vertices = graph.vertices
        self.is_recorded = True

    def keep(self, bundle: Bundle, iteration: int) -> None:
        """Keep for the beginning what was under way when the snapshot was taken, stamped with an iteration."""
        if not self._fresh:
            self._begins_at = min(self._begins_at, iteration)
        kept = bundle.messages.for_snapshot()
        if len(kept.kinds):
            self._kept[bundle.sender].append(kept.in_first_wave())

    def cut_is_complete(self, markers: tuple[Bundle, ...]) -> None:
        """Begin, as all of the snapshot is here; with a cap on iterations only once `limit` has set it."""
        del markers
        self._has_cut = True
        self._start_if_ready()

    def _start_if_ready(self) -> None:
        if self._has_cut and not self.is_started and (self.is_cancelled or not self._awaits_limit):
            self._start()

    def _start(self) -> None:
        """Begin with what was kept; what workers that started earlier have sent already comes after it."""
        for sender, parts in enumerate(self._kept):
            if parts:
                messages = concatenated(parts)
                if self._fresh:
                    messages = messages.without_values(self.kernel.WORST)
                self._arrived.appendleft(Arrived(Bundle(sender, messages), self._begins_at))
        self._kept.clear()
        self.is_started = True
        self.operator.activate()

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: nothing; the values are exact or not."""
        return {}

    @property
    def reusable(self) -> LoopState:
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
                columns_of=partial(self.state.stored_columns, ids=self.graph.columns.ids),
                vertices=self.vertices,
                reader=self.reader,
            )
        return self._pages

    def free(self) -> None:
        """See `SelectiveProcessor`; the edges that were read are gone at once, too."""
        super().free()
        self.drop_edges()

    def limit(self, iteration: int) -> None:
        """Commit no more than the iterations allowed above the snapshot's, and begin if only that was missing."""
        assert self._max_iterations is not None
        counters = self.state.counters
        cap = (0 if self._fresh else iteration) + self._max_iterations
        counters[names.CAP] = min(int(counters[names.CAP]), cap)
        self._awaits_limit = False
        self._start_if_ready()

    def cancel(self) -> None:
        """Have it end, as soon as all of the snapshot is here."""
        self.is_cancelled = True
        self._start_if_ready()

    def stop(self) -> None:
        """Commit nothing more; what is under way arrives, and then the values are a consistent cut."""
        self.was_stopped = True
        if self.is_recorded:
            self.state.counters[names.CAP] = -1
        self.operator.activate()

    def step(self) -> None:
        """Take in messages and work off what is pending; give the token up when there is nothing to come of this worker."""
        self.operator.pull(self._accept)
        if not self.is_started:
            return
        if not self.operator.token.is_live and not self._arrived:
            return
        self.operator.move_token(self._begins_at, stays=True)
        received = self._receive()
        finished = self._advance()
        self._flush()
        self._advance_waves(moves_on=False)
        if (
            self.waves is not None
            and self.waves.token is not None
            and received
            and self.has_no_invalidations()
        ):
            self.waves.advance_token(None)
        self._flush()
        waves_open = self.waves is not None and self.waves.frontier() is not None
        unsettled = bool(self.state.counters[names.MARKS]) or not self.is_drained()
        self._move_token(stays=waves_open or unsettled or bool(self._arrived))
        if not finished or (unsettled and self.workers == 1):
            self.operator.activate()
