"""The columns of a selective loop on one worker: made, cleared for the next branch, and counted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arena import advise_huge_pages, reserve
from ...columns import addresses_of
from ...config import AUTO_DELAY_BOUND, DelayBound
from ...graph.evolving_graph import MOST_ROWS
from ...graph.graph_columns import ANY_VERSION
from ...loops.part import PartStatistics
from ...protocol.session_kernel import SESSION_COUNTERS, SessionColumns
from ...value_types import Worst, entry_of
from . import loop_columns as names
from .bundle import Messages
from .loop_columns import (
    HISTORY,
    LAST_EPOCH,
    LOOP_COUNTERS,
    NEVER,
    OUTBOX,
    QUEUE_SLACK,
    TOUCHED_KEPT,
    UNBOUNDED,
    WINDOW,
    LoopColumns,
)
from .value_layout import record_of

_MOST_QUEUED = 1 << 30
# A copy that more rows than these are missing in is made anew: one row after the other is somewhat faster than here and there.
_WORTH_FROM = 1 << 10
_WORTH_SHARE = 2  # in any case one in so many may be missing


class Missing(NamedTuple):
    """What a copy of a loop's rows lacks, as `fork` of the kernel takes it: nothing of rows below `known` but what was touched.

    Attributes
    ----------
    known
        Rows that are copied; 0 where everything is missing.
    loop_since, branch_since
        How many rows had been touched in the loop and in the columns with the copy when it was made.
    """

    known: int
    loop_since: int
    branch_since: int


class LoopState:
    """Session and loop columns of one loop on one worker.

    Parameters
    ----------
    worker, workers
        Index of this worker and how many there are.
    delay_bound
        B of the paper; None is unbounded, and `auto` is too, with nobody asked (see `ASKS`).
    always_prepares
        Ask consumers on other workers by PREPARE even where a commit at the last allowed iteration needs no answer.
    hears_back
        Whether its vertices hear along the reverse lists of the graph, too.
    worst
        The value of a vertex that no offer has reached: a number or a pair, as all values are.
    rows, edges
        How many of this worker's graph there is address space for.
    """

    def __init__(
        self,
        *,
        worker: int,
        workers: int,
        delay_bound: DelayBound,
        always_prepares: bool = False,
        hears_back: bool = False,
        worst: Worst = np.inf,
        rows: int = MOST_ROWS,
        edges: int = MOST_ROWS,
    ) -> None:
        self.rows, self.edges = rows, edges
        self._advised = 0
        self._copied = Missing(0, 0, 0)  # when columns of a branch were last filled
        self._worst = entry_of(worst)
        per_value, value_type = self._worst.size, self._worst.dtype
        self._records = reserve(rows, record_of(self._worst))
        queue = min(_MOST_QUEUED, 2 * (rows + edges) + QUEUE_SLACK)
        self.session = SessionColumns(
            record=reserve(rows, np.int32),
            preparing_producers=reserve(rows, np.int32),
            row=reserve(rows, np.int32),
            clock=reserve(rows, np.int64),
            identity=reserve(rows, np.int64),
            waiting=reserve(rows, np.int32),
            pended_on=reserve(rows, np.int32),
            reached=reserve(rows, np.int64),
            born=reserve(rows, np.int64),
            asked=reserve(rows, np.uint64),
            held=reserve(rows, np.int64),
            pending=reserve(rows, np.int32),
            pending_row=reserve(queue, np.int32),
            pending_next=reserve(queue, np.int32),
            ready=reserve(queue, np.int32),
            counters=np.zeros(SESSION_COUNTERS, np.int64),
        )
        self.columns = LoopColumns(
            **{name: self._records[name] for name in self._records.dtype.names or ()},
            subscribers=reserve(rows, np.uint64),
            least=reserve(per_value * rows, value_type),
            wave=reserve(rows, np.int64),
            touched_row=reserve(TOUCHED_KEPT, np.int32),
            heap_key=reserve(queue, np.float64),
            heap_row=reserve(queue, np.int32),
            blocked_key=reserve(queue, np.float64),
            blocked_row=reserve(queue, np.int32),
            recheck_row=reserve(queue, np.int32),
            recheck_wave=reserve(queue, np.int64),
            spread_row=reserve(queue, np.int32),
            spread_wave=reserve(queue, np.int64),
            marks=reserve(rows, np.int32),
            round_row=reserve(rows, np.int32),
            held_row=reserve(rows, np.int32),
            held_worker=reserve(rows, np.int32),
            pending=np.zeros(WINDOW, np.int32),
            history_iteration=np.full(HISTORY, -1, np.int64),
            history_updates=np.zeros(HISTORY, np.int64),
            history_prepares=np.zeros(HISTORY, np.int64),
            history_residual=np.zeros(HISTORY, np.float64),
            out_kind=reserve(workers * OUTBOX, np.uint8),
            out_id=reserve(workers * OUTBOX, np.int64),
            out_value=reserve(per_value * workers * OUTBOX, value_type),
            out_number=reserve(workers * OUTBOX, np.int64),
            out_length=np.zeros(workers, np.int64),
            out_least=np.full(workers, NEVER, np.int64),
            out_wave=np.full(workers, NEVER, np.int64),
            counters=np.zeros(LOOP_COUNTERS, np.int64),
            best=np.zeros(3 * per_value, value_type),
        )
        self.always_prepares = always_prepares
        self._hears_back = hears_back
        self._reset_counters(worker, workers, delay_bound)
        self.addresses = addresses_of(self.session), addresses_of(self.columns)

    def expect(self, rows: int) -> None:
        """Have huge pages under the columns that are read at random, where they are large: for so many rows, and some to come."""
        if rows <= self._advised:
            return
        self._advised = min(2 * rows, self.rows)
        advise_huge_pages(self._records, self._advised)

    def fits(self, rows: int, edges: int) -> bool:
        """Whether a branch over so much of a graph has room here."""
        return rows <= self.rows and edges <= self.edges

    def reset(self, *, delay_bound: DelayBound) -> None:
        """Forget everything, for the next branch. Costs nothing per row when the last one ended with no session open."""
        counters = self.columns.counters
        rows = int(counters[names.ROWS_SEEN])
        if np.count_nonzero(self.session.counters):
            self.session.record[:rows] = 0
            self.session.preparing_producers[:rows] = 0
            self.session.counters[:] = 0
        if counters[names.PENDING_INSIDE]:  # else all of its quarter of a megabyte is 0
            self.columns.pending[:] = 0
        self.columns.history_iteration[:] = -1
        self.columns.out_length[:] = 0
        self.columns.out_least[:] = NEVER
        self.columns.out_wave[:] = NEVER
        self._reset_counters(int(counters[names.WORKER]), int(counters[names.WORKERS]), delay_bound)

    def _reset_counters(self, worker: int, workers: int, delay_bound: DelayBound) -> None:
        counters = self.columns.counters
        self.delay_bound = delay_bound
        # Both go on, and rows keep the epoch in which they were touched.
        epoch, touched = counters[names.EPOCH], counters[names.TOUCHED]
        counters[:] = 0
        counters[names.EPOCH], counters[names.TOUCHED] = epoch, touched
        counters[names.FLOOR] = -1
        counters[names.NEXT_WAVE] = 1
        counters[names.DELAY_BOUND] = delay_bound if isinstance(delay_bound, int) else UNBOUNDED
        counters[names.ASKS] = int(delay_bound != AUTO_DELAY_BOUND)
        counters[names.VERSION] = ANY_VERSION
        counters[names.WORKER] = worker
        counters[names.WORKERS] = workers
        counters[names.SOLO] = int(workers == 1)
        counters[names.SENT_LEAST] = NEVER
        counters[names.CAP] = UNBOUNDED
        counters[names.ALWAYS_PREPARES] = int(self.always_prepares)
        counters[names.HEARS_BACK] = int(self._hears_back)

    @property
    def copied_at(self) -> int:
        """How far the main loop was when its rows were last copied to here, in rows that it had touched; -1: it never was."""
        return self._copied.loop_since if self._copied.known else -1

    def copy_begins(self, main: LoopState) -> Missing:
        """Return what of the main loop's rows is missing here; from now on they count as copied."""
        missing = self._missing(main)
        self._copied = Missing(main.rows_seen, *(int(one.counters[names.TOUCHED]) for one in (main, self)))
        main._next_epoch(main.rows_seen)
        self._next_epoch(missing.known)
        return missing

    def touch_all(self) -> None:
        """Have no copy count any more: rows are changed from outside of the kernel."""
        self.counters[names.TOUCHED] += TOUCHED_KEPT  # more than any copy makes up for

    def is_no_copy(self) -> None:
        """Something else comes to stand here than the main loop's rows."""
        self._copied = Missing(0, 0, 0)

    def _missing(self, main: LoopState) -> Missing:
        touched = int(main.counters[names.TOUCHED]) - self._copied.loop_since
        touched += int(self.counters[names.TOUCHED]) - self._copied.branch_since
        most = max(_WORTH_FROM, main.rows_seen // _WORTH_SHARE)
        # Half of what is kept: while rows are copied, more may be touched.
        return self._copied if touched <= min(most, TOUCHED_KEPT // 2) else Missing(0, 0, 0)

    def _next_epoch(self, rows: int) -> None:
        """Have touching tell of each row again; rows from `rows` on are told of otherwise."""
        counters = self.counters
        if counters[names.EPOCH] == LAST_EPOCH:
            self.columns.touched[:rows] = 0
            counters[names.EPOCH] = 0
        counters[names.EPOCH] += 1

    @property
    def is_free(self) -> bool:
        """Whether vertices go by their values alone, so that nobody needs to know how far the others are."""
        return self.delay_bound == AUTO_DELAY_BOUND and not self.always_prepares

    def always_prepare(self) -> None:
        """Set `always_prepares`, here and in branches that are forked later."""
        self.always_prepares = True
        self.columns.counters[names.ALWAYS_PREPARES] = 1

    def progress(self) -> PartStatistics:
        """How far the loop is."""
        counters = self.counters
        return PartStatistics(
            int(counters[names.ITERATION]), int(counters[names.UPDATES]), int(counters[names.PREPARES])
        )

    def history(self) -> NDArray[np.float64]:
        """float64[HISTORY, 4], a copy: iteration (-1 in rows without one), updates, prepares, residual."""
        columns = self.columns
        return np.column_stack(
            (
                columns.history_iteration,
                columns.history_updates,
                columns.history_prepares,
                columns.history_residual,
            )
        )

    def size_bytes(self) -> int:
        """Bytes of the columns by row that are in use."""
        several = int(self.counters[names.WORKERS] > 1)
        per_row = self._records.itemsize + 8 * several + 8 * several
        return int(self.counters[names.ROWS_SEEN]) * per_row

    @property
    def values(self) -> NDArray[Any]:
        """What every row announced last: float64[rows], or where they are pairs numbers[rows, 2]."""
        return self.columns.value

    def place_values(self, rows: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Set the values of rows, with nothing better to announce."""
        self.values[rows] = values
        self.columns.candidate[rows] = values

    def values_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """See `RowValues`."""
        values: NDArray[Any] = self.values[rows]
        return values

    def stored_columns(self, rows: NDArray[np.int32], ids: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return what is stored of some rows: values, and the ids of parents (their own without one).

        `ids` are those of all rows of the graph.
        """
        parents = self.columns.parent[rows]
        return {"values": self.values[rows], "parents": ids[np.where(parents >= 0, parents, rows)]}

    def no_values(self, count: int) -> NDArray[Any]:
        """So many values of vertices that no offer has reached."""
        return np.full((count, *self.values.shape[1:]), self._worst, self.values.dtype)

    def outbox(self, worker: int) -> Messages:
        """What there is for another worker: copies."""
        columns, first = self.columns, worker * OUTBOX
        sent = slice(first, first + int(columns.out_length[worker]))
        return Messages(
            columns.out_kind[sent].copy(),
            columns.out_id[sent].copy(),
            columns.out_value.reshape(-1, *self.values.shape[1:])[sent].copy(),
            columns.out_number[sent].copy(),
        )

    @property
    def rows_seen(self) -> int:
        """How many rows of the graph this loop has columns for."""
        return int(self.counters[names.ROWS_SEEN])

    @property
    def counters(self) -> np.ndarray:
        """int64[LOOP_COUNTERS], by the names of `loop_columns`."""
        return self.columns.counters
