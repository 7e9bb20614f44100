"""The columns of a loop of core numbers on one worker: made, cleared for the next branch, and counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arena import advise_huge_pages, reserve
from ...columns import addresses_of
from ...graph.evolving_graph import MOST_ROWS
from ...graph.graph_columns import ANY_VERSION
from ...loops.part import PartStatistics
from . import loop_columns as names
from .bundle import CoreMessages
from .loop_columns import GREATEST_CORE, LOOP_COUNTERS, OUTBOX, CoreColumns

_HISTORY = 1 << 10  # iterations whose statistics are kept
# What there is of a row in one place: see `CoreColumns`.
_RECORD = np.dtype(
    {
        "names": ["estimate", "support", "stamp", "flags"],
        "formats": ["<i4", "<i4", "<i4", "u1"],
        "offsets": [0, 4, 8, 12],
        "itemsize": 16,
    }
)
_QUEUE_BYTES = 20  # of a row that is in all queues and lists, and its count


class CoreState:
    """See the module.

    Parameters
    ----------
    worker, workers
        Index of this worker and how many there are.
    hears_back
        Whether the edges of the graph's reverse lists count as well.
    most
        No estimate is above.
    rows
        How many rows of this worker's graph there is address space for.

    Attributes
    ----------
    iteration
        The greatest one in which an estimate became another.
    """

    def __init__(
        self,
        *,
        worker: int,
        workers: int,
        hears_back: bool = False,
        most: int = GREATEST_CORE,
        rows: int = MOST_ROWS,
    ) -> None:
        self.rows = rows
        self.iteration = 0
        self._advised = 0
        self._records = reserve(rows, _RECORD)
        ring = 1 << max(rows - 1, 1).bit_length()
        self._history = np.zeros((_HISTORY, 4))
        self.columns = CoreColumns(
            **{name: self._records[name] for name in self._records.dtype.names or ()},
            subscribers=reserve(rows, np.uint64),
            dirty=reserve(ring, np.int32),
            wave=reserve(ring, np.int32),
            marks=reserve(rows, np.int32),
            raised=reserve(rows, np.int32),
            counts=reserve(rows + 1, np.int32),
            out_kind=reserve(workers * OUTBOX, np.uint8),
            out_id=reserve(workers * OUTBOX, np.int64),
            out_value=reserve(workers * OUTBOX, np.int32),
            out_length=np.zeros(workers, np.int64),
            ring_mask=np.array([ring - 1], np.int64),
            counters=np.zeros(LOOP_COUNTERS, np.int64),
        )
        self._worker, self._workers = worker, workers
        self._hears_back = hears_back
        self.reset(most=most)
        self.addresses = addresses_of(self.columns)

    def reset(self, *, most: int) -> None:
        """Forget everything, for the next branch; costs nothing per row."""
        counters = self.counters
        if counters[names.CURSOR_KIND] in (
            names.SCAN_LOWER,
            names.SCAN_WAVE,
        ):  # given up in the middle of a hub
            self.columns.counts[: counters[names.CURSOR_OLD] + 1] = 0
        stamp = int(counters[names.STAMP])  # rows have stamps of older gathers
        self.iteration = 0
        self._history[:, 0] = -1
        self.columns.out_length[:] = 0
        counters[:] = 0
        counters[names.STAMP] = stamp
        counters[names.WORKER] = self._worker
        counters[names.WORKERS] = self._workers
        counters[names.VERSION] = ANY_VERSION
        counters[names.HEARS_BACK] = int(self._hears_back)
        counters[names.MOST] = most

    def expect(self, rows: int) -> None:
        """Have huge pages under the columns that are read at random, where they are large: for so many rows, and some to come."""
        if rows > self._advised:
            self._advised = min(2 * rows, self.rows)
            advise_huge_pages(self._records, self._advised)

    def fits(self, rows: int) -> bool:
        """Whether a branch over so many rows has room here."""
        return rows <= self.rows

    def note(self, iteration: int, updates: int) -> None:
        """Note how many estimates became others in an iteration; an older one in the same place is forgotten."""
        self.iteration = max(self.iteration, iteration)
        row = self._history[iteration % _HISTORY]
        if row[0] < iteration:
            row[:] = iteration, 0, 0, 0
        if row[0] == iteration:
            row[1] += updates
            row[3] += updates

    def progress(self) -> PartStatistics:
        """How far the loop is."""
        return PartStatistics(self.iteration, int(self.counters[names.UPDATES]), 0)

    def history(self) -> NDArray[np.float64]:
        """float64[n, 4], a copy: iteration (-1 in rows without one), updates, no prepares, as residual the updates."""
        return self._history.copy()

    @property
    def pending(self) -> int:
        """How many vertices wait to be lowered or raised."""
        counters = self.counters
        waiting = counters[names.DIRTY_LENGTH] + counters[names.WAVE_LENGTH]
        return int(waiting + self.marks)

    @property
    def marks(self) -> int:
        """How many vertices the next wave begins at, or more: some may be counted twice."""
        return int(self.counters[names.MARKS] + self.counters[names.RISEN])

    @property
    def waiting_to_rise(self) -> int:
        """How many vertices a liftable set may be found at, or more (see `step_kernel`); 0 where estimates are not too low here."""
        return self.marks + int(self.counters[names.WAVE_LENGTH])

    def size_bytes(self) -> int:
        """Bytes of the columns by row that are in use."""
        per_row = self._records.itemsize + _QUEUE_BYTES + 8 * int(self._workers > 1)
        return self.rows_seen * per_row

    def values_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """The estimates of rows: int64[rows], a copy."""
        values: NDArray[np.int64] = self.columns.estimate[rows].astype(np.int64)
        return values

    def place(self, rows: NDArray[np.integer[Any]], values: NDArray[np.int64]) -> None:
        """Set the estimates of own rows, of which none is waiting."""
        self.columns.estimate[rows] = values

    def stored_columns(self, rows: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what is stored of some rows."""
        return {"values": self.values_of(rows)}

    def outbox(self, worker: int) -> CoreMessages:
        """What there is for another worker: copies."""
        columns, first = self.columns, worker * OUTBOX
        sent = slice(first, first + int(columns.out_length[worker]))
        return CoreMessages(
            columns.out_kind[sent].copy(), columns.out_id[sent].copy(), columns.out_value[sent].copy()
        )

    @property
    def rows_seen(self) -> int:
        """How many rows of the graph this loop has columns for."""
        return int(self.counters[names.ROWS_SEEN])

    @property
    def counters(self) -> NDArray[np.int64]:
        """int64[LOOP_COUNTERS], by the names of `loop_columns`."""
        return self.columns.counters
