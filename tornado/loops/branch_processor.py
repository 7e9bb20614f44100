"""A branch loop on one worker: starts from what the main loop recorded, reads the graph at that version, and comes to an end.

It has come to its fixed point when its dataflow is complete: no token and no message is left on any worker.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..graph import EdgeReader, EvolvingGraph
from . import loop_columns as names
from .bundle import Bundle, Messages
from .loop_columns import NEVER
from .processor import SelectiveProcessor, _Arrived, concatenated
from .selective_state import LoopState
from .values import LocalValues


class BranchProcessor(SelectiveProcessor):
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
        take_state: Callable[[], LoopState],
        arguments: tuple[object, ...],
        worker: int,
        workers: int,
        fresh: bool,
        max_iterations: int | None,
    ) -> None:
        super().__init__(kernel=kernel, graph=graph, arguments=arguments, worker=worker, workers=workers)
        self.number = number
        self.lease: int | None = None
        self.reader: EdgeReader | None = None
        self.version = -1
        self.rows = 0
        self.first_iteration = 0
        self.missing_markers = 0
        self.was_stopped = False
        self.is_cancelled = False
        self.is_recorded = False
        self._take_state = take_state
        self._fresh = fresh
        self._max_iterations = max_iterations
        self._kept: list[list[Messages]] = [[] for _ in range(workers)]
        self._begins_at = 0  # the iteration of its token when it starts
        self._marked = [False] * workers
        self._awaits_limit = False
        self.is_started = False

    @property
    def is_converged(self) -> bool:
        """Whether this worker's part came to its end with nothing left to commit."""
        return self.pending_least() == NEVER

    def record(self, graph: EvolvingGraph, main: LoopState, iteration: int) -> None:
        """Copy the main loop's state, as it is after the last batch applied, and lease that version of the graph.

        `iteration` is that of the main loop's token: what is committed there is not far behind, so the branch begins there.
        """
        self.state = self._take_state()
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
            self.kernel.fork_fresh(graph.addresses, main.addresses[1], *self.state.addresses, self.arguments)
        else:
            self.kernel.fork(main.addresses[1], *self.state.addresses)
            counters[names.ITERATION] = main.counters[names.ITERATION]
        self.rows = int(counters[names.ROWS_SEEN])
        self.is_recorded = True

    def awaits(self, sender: int) -> bool:
        """Whether what comes from a worker now was sent before that worker's record."""
        return not self._marked[sender]

    def keep(self, sender: int, messages: Messages, iteration: int) -> None:
        """Messages that were under way when the snapshot was taken, in a bundle stamped with an iteration."""
        if not self._fresh:
            self._begins_at = min(self._begins_at, iteration)
        kept = messages.for_snapshot()
        if len(kept.kinds):
            self._kept[sender].append(kept.in_first_wave())

    def marker_came(self, sender: int) -> None:
        """Everything that belongs to the snapshot has come from a worker."""
        self._marked[sender] = True
        self.missing_markers -= 1

    @property
    def is_complete(self) -> bool:
        """Whether all of the snapshot is here, and nothing keeps the branch from starting."""
        return self.missing_markers == 0 and (self.is_cancelled or not self._awaits_limit)

    def start(self) -> None:
        """All of the snapshot is here. Workers that started earlier may have sent already: that comes after."""
        for sender, parts in enumerate(self._kept):
            if parts:
                messages = concatenated(parts)
                if self._fresh:
                    messages = messages.without_values(self.kernel.WORST)
                self._arrived.appendleft(_Arrived(Bundle(sender, messages), self._begins_at))
        self._kept.clear()
        self.is_started = True
        self._context.activate()

    @property
    def reusable(self) -> LoopState:
        """Its columns."""
        return self.state

    def held_values(self) -> LocalValues:
        """Of a branch that is over: the values of this worker's vertices."""
        return LocalValues(self.graph, self.state, self.rows, self.version)

    def vertices(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Of a branch that is over: ids, values and the ids of parents (their own without one) of this worker's vertices."""
        columns = self.state.columns
        rows = self.graph.known_rows(self.rows, self.version)
        ids, parents = self.graph.columns.ids, columns.parent[rows]
        return ids[rows], columns.value[rows], ids[np.where(parents >= 0, parents, rows)]

    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Of a branch that was forked to be stored: source ids, target ids and weights, in the order of arrival."""
        if self.reader is None:
            raise InternalError(f"branch {self.number} was not forked to be stored, its edges were not read")
        return self.reader.edges()

    def limit(self, iteration: int) -> None:
        """The snapshot's iteration is known: commit no more than the iterations allowed above it."""
        assert self._max_iterations is not None
        counters = self.state.counters
        cap = (0 if self._fresh else iteration) + self._max_iterations
        counters[names.CAP] = min(int(counters[names.CAP]), cap)
        self._awaits_limit = False

    def stop(self) -> None:
        """Commit nothing more; what is under way arrives, and then the values are a consistent cut."""
        self.was_stopped = True
        if self.is_recorded:
            self.state.counters[names.CAP] = -1
        self._context.activate()

    def step(self) -> None:
        """Take in messages and work off what is pending; give the token up when there is nothing to come of this worker."""
        self._pull()
        if not self.is_started:
            return
        if not self._token.is_live and not self._arrived:
            return
        if self._token.is_live and self._token.time[1] < self._begins_at:
            self._token.downgrade((self._token.time[0], self._begins_at))
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
            self._context.activate()
