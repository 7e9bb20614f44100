"""The main loop of rounds on one worker: admits batches, keeps every round up to date, and lets branches be forked.

The ingress is part of the processor: what is admitted makes cells dirty at the iteration of the processor's token, which follows
the others while there is nothing to do, so that an idle worker holds nobody back and its input is never in the past.

Rounds are kept lazily. Each step admits some records and then computes some cells, the least round first; so while records come
without a pause the later rounds wait, and are computed once for many records. With many dirty cells records wait as well, but only
for as long as they pay for: one that came since the loop was last at rest buys so many visits of edges. Without that bound each few
thousand records of a large graph that is read in would have most of its cells computed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphTooLarge, StoreCorrupt
from ...graph import PartitionMap
from ...graph.evolving_graph import MOST_ROWS
from ...loops.stream_part import StreamPart
from ...value_types import Worst
from ..compiled_main import CompiledMain
from . import loop_columns as names
from .branch_processor import RoundsBranch
from .bundle import RoundsBundle
from .loop_columns import MOST_CELLS
from .loop_state import RoundsState
from .processor import FUEL, RoundsProcessor

# Dirty cells a round beyond which records wait.
_PENDING_LIMIT = 1 << 12
_PENDING_SHARE = 64  # one in so many of all cells may be dirty in any case
_VISITS_A_RECORD = 16  # of edges, while records wait: about what applying one costs


class RoundsMain(CompiledMain[RoundsBranch, RoundsBundle, RoundsState], RoundsProcessor):
    """See the module, `ReadingPart` and `StorableMain`.

    Parameters
    ----------
    on_applied
        Called with the number of records that were applied.
    hears_back
        Which reverse lists of the graph its vertices hear along too, counted from 1; 0: along none.
    stream
        What it reads, where other loops read it already; None: a new one.
    commits
        False: it keeps the graph, and who hears of whom, for the branch that reads it, and computes nothing itself.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        arguments: tuple[object, ...],
        rounds: int,
        worst: Worst,
        hears_back: int,
        commits: bool,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: StreamPart | None,
    ) -> None:
        self.stream = StreamPart(PartitionMap.even(workers), worker, on_applied) if stream is None else stream
        super().__init__(
            kernel=kernel, graph=self.stream.graph, arguments=arguments, worker=worker, workers=workers
        )
        self.hears_back = hears_back
        self.state = RoundsState(
            worker=worker,
            workers=workers,
            rounds=rounds,
            hears_back=hears_back > 0,
            worst=worst,
            rows=min(MOST_ROWS, MOST_CELLS // (rounds + 1)),
        )
        self._worst = worst
        self._commits = commits
        if not commits:
            self.state.counters[names.CAP] = -1
        self._begin_reading(lambda number: RoundsBundle(worker, marker=number))
        self._told_at = (0, 0, 0)  # records, vertices and updates when it was said what is kept
        self._rested_at = self.graph.sequence, 0  # records and visits of edges when nothing was dirty last

    def _has_pending(self) -> bool:
        """See `CompiledPart`."""
        return bool(self.state.counters[names.PENDING]) or self.is_scanning()

    def _step(self) -> None:
        self.operator.pull(self._forks.take)
        self._receive()
        if self._following_row is not None:
            self._take_in_rows()
        more = self.stream.obey(self)
        finished = self._advance(FUEL // 4 if self.branches else FUEL)
        if not self.state.counters[names.PENDING]:
            self._rested_at = self.graph.sequence, int(self.state.counters[names.EDGES_VISITED])
        self._flush()
        if self.kept.are_wanted and self._commits:
            self._keep_others_told()
        self._move_token(stays=True)
        # A stream that is behind and can do nothing now waits for another worker, and is called when that has come further.
        if (
            not finished
            or self._following_row is not None
            or (more and (self.workers == 1 or not self.stream.is_behind()))
        ):
            self.operator.activate()

    def _keep_others_told(self) -> None:
        """Say what is kept whenever this worker is at rest and it may be something else than it said before."""
        counters = self.state.counters
        now = self.graph.sequence, self.graph.vertices, int(counters[names.UPDATES])
        if now != self._told_at and (not counters[names.PENDING] or self.state.coefficients is None):
            self._told_at = now
            self._tell_kept(self.graph.vertices)

    # The stream

    def is_behind(self) -> bool:
        """Whether more records should wait; see `ReadingPart` and the module."""
        # What the sender of a marker sent since waits for the fork, which waits for the records before it.
        if self._forks.is_awaited or not self._commits:
            return False
        pending, rounds = int(self.state.counters[names.PENDING]), self.state.rounds
        if pending <= rounds * max(_PENDING_LIMIT, self.graph.rows // _PENDING_SHARE):
            return False
        records, visits = self._rested_at
        visited = int(self.state.counters[names.EDGES_VISITED]) - visits
        return visited < _VISITS_A_RECORD * (self.graph.sequence - records)

    def hear(self) -> None:
        """Take in the rows and edges that the last records changed."""
        self._set_floor()
        self._require_room(self.graph.rows)
        self.state.expect(self.graph.rows)
        self.kernel.hear_edges(self.graph.addresses, self.state.addresses, self.arguments)

    def _require_room(self, rows: int) -> None:
        """Refuse more rows than there is address space for.

        Raises
        ------
        GraphTooLarge
            When there are.
        """
        if rows > self.state.rows:
            raise GraphTooLarge(
                f"{rows} vertices and ghosts are more than one worker can hold with {self.state.rounds} rounds each "
                f"({self.state.rows}); start with more workers, or fewer rounds"
            )

    def _receive(self) -> None:
        self._require_room(self.graph.rows + sum(len(arrived.bundle) for arrived in self._arrived))
        super()._receive()

    def _take_in_rows(self) -> None:
        """Take in some of the graph that was there before this loop: who of it is heard from other workers."""
        self._set_floor()
        following = int(
            self.kernel.hear_rows(
                self.graph.addresses, self.state.addresses, self.arguments, self._following_row, FUEL
            )
        )
        self._following_row = None if following == self.graph.rows else following

    # Snapshots

    def drain(self) -> bool:
        """Finish the scan under way, so that a snapshot need not hold it; return whether there is none."""
        if self._following_row is not None:
            return False
        self._set_floor()
        return bool(self.kernel.finish_scans(self.graph.addresses, self.state.addresses, FUEL))

    def _record_state(self, branch: RoundsBranch) -> None:
        """See `CompiledMain`."""
        branch.record(self.graph, self.state, self.operator.timestamp)

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> RoundsBranch:
        """Make this worker's part of a new branch."""
        return RoundsBranch(
            number=number,
            kernel=self.kernel,
            graph=self.graph,
            take_state=self._take_state,
            arguments=arguments,
            worker=self.worker,
            workers=self.workers,
            fresh=fresh,
            max_iterations=max_iterations,
        )

    def _take_state(self) -> RoundsState:
        """Columns for a branch over the graph as it is now: used ones where they are large enough."""
        rows = self.graph.rows
        spare = self._take_spare(lambda state: state.fits(rows))
        if spare is not None:
            spare.reset()
            return spare
        state = RoundsState(
            worker=self.worker,
            workers=self.workers,
            rounds=self.state.rounds,
            hears_back=self.hears_back > 0,
            worst=self._worst,
            rows=rows + rows // 2 + 1,  # so that the columns fit the next branches too while the graph grows
        )
        state.expect(rows)
        return state

    # Beginning with what is stored

    def place(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]] | None) -> None:
        """See `StorableMain`: values are taken over, and nothing is left to compute for them.

        The edges and the ghosts that they were computed from come behind them, and make nothing dirty.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice, or values are not of the type that the loop has.
        """
        self._make_known(ids)
        if columns is None:
            return
        rounds, own = columns["rounds"], self.state.columns.value
        if (rounds.dtype, rounds.shape) != (own.dtype, (len(ids), self.state.rounds)):
            raise StoreCorrupt(
                f"the values of a stored snapshot are {rounds.dtype} of shape {rounds.shape}, those of its program "
                f"are {own.dtype} of shape {(len(ids), self.state.rounds)}"
            )
        self.state.place_rounds(self.graph.rows_of(ids), rounds)
        self.state.counters[names.RESTORING] = 1

    def place_behind_edges(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """See `StorableMain`: all is there, and what comes from now on is news."""
        del ids, columns
        self.state.counters[names.RESTORING] = 0
