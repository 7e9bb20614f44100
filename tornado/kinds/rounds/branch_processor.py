"""A branch loop of rounds on one worker: starts from what the main loop recorded, reads the graph at that version, and comes to an end.

It has come to its fixed point when its dataflow is complete: no token and no message is left on any worker.
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
from .bundle import RoundsBundle
from .loop_state import RoundsState
from .processor import FUEL, RoundsProcessor, TakenBundle

_END = 1 << 60  # the iteration behind all others, at which workers say what answers need of everybody


class RoundsBranch(ReadsEdges, RoundsProcessor):
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
        self.lease: int | None = None
        self.version = -1
        self.vertices = 0  # of this worker that had been seen at the cut
        self.first_iteration = 0
        self.is_cancelled = False
        self.is_recorded = False
        self.is_started = False
        self._was_stopped = False
        self._take_state = take_state
        self._fresh = fresh
        self._max_iterations = max_iterations
        self._kept: list[RoundsBundle] = []
        self._begins_at = 0  # the iteration of its token when it starts
        self._awaits_limit = False
        self._has_cut = False
        self._has_told = False

    @property
    def is_converged(self) -> bool:
        """Whether this worker's part came to its end with nothing left to compute."""
        return self.pending_least() == NEVER

    def record(self, graph: EvolvingGraph, main: RoundsState, iteration: int) -> None:
        """Copy the main loop's state, as it is after the last records applied, and lease that version of the graph.

        `iteration` is that of the main loop's token: what is computed there is not far behind, so the branch begins there.
        """
        self.state = self._take_state()
        counters = self.state.counters
        if self._was_stopped:
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
        self.is_recorded = True

    def keep(self, bundle: RoundsBundle, iteration: int) -> None:
        """Keep for the beginning what was under way when the snapshot was taken, stamped with an iteration."""
        messages = bundle.messages
        if self._fresh:
            messages = messages.without_values()
        else:
            self._begins_at = min(self._begins_at, iteration)
        if len(messages.kinds):
            self._kept.append(RoundsBundle(bundle.sender, messages))

    def cut_is_complete(self, markers: tuple[RoundsBundle, ...]) -> None:
        """Begin, as all of the snapshot is here; with a cap on iterations only once `limit` has set it."""
        del markers
        self._has_cut = True
        self._start_if_ready()

    def _start_if_ready(self) -> None:
        if self._has_cut and not self.is_started and (self.is_cancelled or not self._awaits_limit):
            self._start()

    def _start(self) -> None:
        """Begin with what was kept; what workers that started earlier have sent already comes after it."""
        self._arrived.extendleft(TakenBundle(bundle, self._begins_at) for bundle in reversed(self._kept))
        self._kept.clear()
        self.is_started = True
        self.operator.activate()

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: nothing; the values are exact or not."""
        return {}

    @property
    def reusable(self) -> RoundsState:
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
        """See `RoundsProcessor`; the edges that were read are gone at once, too."""
        super().free()
        self.drop_edges()

    def limit(self, iteration: int) -> None:
        """Compute no more than the iterations allowed above the snapshot's, and begin if only that was missing."""
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
        """Compute nothing more; what is under way arrives, and then the values are those of a consistent cut."""
        self._was_stopped = True
        if self.is_recorded:
            self.state.counters[names.CAP] = -1
        self.operator.activate()

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
