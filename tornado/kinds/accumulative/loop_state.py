"""The columns of an accumulative loop on one worker: made, cleared for the next branch, and counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arena import advise_huge_pages, reserve
from ...columns import NUMBERS, addresses_of
from ...graph.evolving_graph import MOST_ROWS
from ...graph.graph_columns import ANY_VERSION
from ...loops.part import PartStatistics
from . import loop_columns as names
from .bundle import SumMessages
from .loop_columns import LOOP_COUNTERS, LOOP_TOTALS, OUTBOX, SumColumns

_HISTORY = 1 << 10  # iterations whose statistics are kept
# What there is of a row in one place: see `SumColumns`.
_RECORD = np.dtype(
    {
        "names": ["heard", "share", "weight", "degree", "flags"],
        "formats": ["<f8", "<f8", "<f8", "<i4", "u1"],
        "offsets": [0, 8, 16, 24, 28],
        "itemsize": NUMBERS.row_bytes,
    }
)


class SumState:
    """See the module.

    Parameters
    ----------
    worker, workers
        Index of this worker and how many there are.
    rows
        How many rows of this worker's graph there is address space for.

    Attributes
    ----------
    iteration
        The greatest one in which something was announced here.
    """

    def __init__(self, *, worker: int, workers: int, rows: int = MOST_ROWS) -> None:
        self.rows = rows
        self.iteration = 0
        self._advised = 0
        self._has_packed = False
        self._records = reserve(rows, _RECORD)
        ring = 1 << max(rows - 1, 1).bit_length()
        self._history = np.zeros((_HISTORY, 4))
        self.columns = SumColumns(
            **{name: self._records[name] for name in self._records.dtype.names or ()},
            own=reserve(rows, np.float64),
            weight_low=reserve(rows, np.float64),
            weight_least=reserve(rows, np.float64),
            packed=reserve(rows, np.float64),
            subscribers=reserve(rows, np.uint64),
            queue=reserve(ring, np.int32),
            touched=reserve(rows, np.int32),
            changed=reserve(rows, np.uint8),
            out_kind=reserve(workers * OUTBOX, np.uint8),
            out_id=reserve(workers * OUTBOX, np.int64),
            out_value=reserve(workers * OUTBOX, np.float64),
            out_number=reserve(workers * OUTBOX, np.int64),
            out_length=np.zeros(workers, np.int64),
            queue_mask=np.array([ring - 1], np.int64),
            totals=np.zeros(LOOP_TOTALS, np.float64),
            counters=np.zeros(LOOP_COUNTERS, np.int64),
        )
        self._worker, self._workers = worker, workers
        self.reset()
        self.addresses = addresses_of(self.columns)

    def reset(self) -> None:
        """Forget everything, for the next branch; costs nothing per row."""
        counters, totals = self.counters, self.totals
        self.iteration = 0
        self._history[:, 0] = -1
        self.columns.out_length[:] = 0
        totals[:] = 0.0
        totals[names.BASE] = 1.0
        totals[names.THETA] = np.inf
        totals[names.GOAL] = -np.inf
        split = counters[names.SPLIT]  # the columns have parts of weights, which a fork must replace
        counters[:] = 0
        counters[names.SPLIT] = split
        counters[names.WORKER] = self._worker
        counters[names.WORKERS] = self._workers
        counters[names.VERSION] = ANY_VERSION
        counters[names.FOLLOWING_ROW] = ANY_VERSION

    def expect(self, rows: int) -> None:
        """Have huge pages under the columns that are read at random, where they are large: for so many rows, and some to come."""
        if rows > self._advised:
            self._advised = min(2 * rows, self.rows)
            advise_huge_pages(self._records, self._advised)

    def begin_pulling(self) -> None:
        """Have the shares in a column of their own, from which sums are pulled."""
        self.counters[names.PULLS] = 1
        self._has_packed = True
        seen = self.rows_seen
        self.columns.packed[:seen] = self.columns.share[:seen]

    def scale(self, factor: float) -> None:
        """Have everybody announce so many times as much; sums follow when they are pulled."""
        seen = self.rows_seen
        self.columns.share[:seen] *= factor
        self.columns.packed[:seen] = self.columns.share[:seen]

    def copy_to(self, branch: SumState, *, bases: bool) -> None:
        """Copy what a branch begins with that is the same there; `bases` too, if so."""
        seen = self.rows_seen
        words = self._records.itemsize // 8
        branch._records[:seen].view(np.uint64).reshape(seen, words)[:] = (
            self._records[:seen].view(np.uint64).reshape(seen, words)
        )
        if bases:
            branch.columns.own[:seen] = self.columns.own[:seen]

    def fits(self, rows: int) -> bool:
        """Whether a branch over so many rows has room here."""
        return rows <= self.rows

    def note(self, iteration: int, updates: int, residual: float) -> None:
        """Note what was announced in an iteration; an older one in the same place is forgotten."""
        self.iteration = max(self.iteration, iteration)
        row = self._history[iteration % _HISTORY]
        if row[0] < iteration:
            row[:] = iteration, 0, 0, 0
        if row[0] == iteration:
            row[1] += updates
            row[3] += residual

    def progress(self) -> PartStatistics:
        """How far the loop is."""
        return PartStatistics(self.iteration, int(self.counters[names.UPDATES]), 0)

    def history(self) -> NDArray[np.float64]:
        """float64[n, 4], a copy: iteration (-1 in rows without one), updates, prepares, residual."""
        return self._history.copy()

    def size_bytes(self) -> int:
        """Bytes of the columns by row that are in use."""
        several = int(self.counters[names.WORKERS] > 1)
        has_bases = int(self.counters[names.HAS_BASES])
        per_row = self._records.itemsize + 8 * (several + has_bases) + 8 * int(self._has_packed)
        per_row += 16 * int(self.counters[names.SPLIT])
        return int(self.counters[names.ROWS_SEEN]) * per_row

    def outbox(self, worker: int) -> SumMessages:
        """What there is for another worker: copies."""
        columns, first = self.columns, worker * OUTBOX
        sent = slice(first, first + int(columns.out_length[worker]))
        return SumMessages(
            columns.out_kind[sent].copy(),
            columns.out_id[sent].copy(),
            columns.out_value[sent].copy(),
            columns.out_number[sent].copy(),
        )

    @property
    def rows_seen(self) -> int:
        """How many rows of the graph this loop has columns for."""
        return int(self.counters[names.ROWS_SEEN])

    @property
    def totals(self) -> NDArray[np.float64]:
        """float64[LOOP_TOTALS], by the names of `loop_columns`."""
        return self.columns.totals

    @property
    def counters(self) -> NDArray[np.int64]:
        """int64[LOOP_COUNTERS], by the names of `loop_columns`."""
        return self.columns.counters
