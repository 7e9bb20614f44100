"""The columns of a loop of rounds on one worker: made, cleared for the next branch, and counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arena import advise_huge_pages, reserve
from ...columns import addresses_of
from ...graph.evolving_graph import MOST_ROWS
from ...graph.graph_columns import ANY_VERSION
from ...loops.part import PartStatistics
from ...value_types import Worst, dtype_of
from . import loop_columns as names
from .bundle import RoundsMessages
from .loop_columns import (
    HISTORY,
    LOOP_COUNTERS,
    MOST_TALLIED,
    NEVER,
    OUTBOX,
    SCAN_GATHER,
    UNCAPPED,
    RoundsColumns,
)


class RoundsState:
    """Columns of one loop on one worker.

    Parameters
    ----------
    worker, workers
        Index of this worker and how many there are.
    rounds
        How many a value takes.
    hears_back
        Whether its vertices hear along the reverse lists of the graph, too.
    worst
        See `VertexProgram`; it says the type of values.
    rows
        Of this worker's graph, how many there is address space for.
    """

    def __init__(
        self,
        *,
        worker: int,
        workers: int,
        rounds: int,
        hears_back: bool = False,
        worst: Worst,
        rows: int = MOST_ROWS,
    ) -> None:
        self.rounds, self.rows = rounds, rows
        self._hears_back = hears_back
        self._advised = 0
        value_type, cells, words = dtype_of(worst), (rounds + 1) * rows, rounds // 64 + 1
        numbers = np.arange(1, rounds + 1)
        every_round = np.zeros(words, np.uint64)
        np.bitwise_or.at(every_round, numbers // 64, np.uint64(1) << (numbers % 64).astype(np.uint64))
        self.columns = RoundsColumns(
            value=reserve(cells, value_type),
            dirty=reserve(rows * words, np.uint64),
            flags=reserve(rows, np.uint8),
            subscribers=reserve(rows, np.uint64),
            degree=reserve(rows, np.int32),
            queue_row=reserve(cells, np.int32),
            queue_length=np.zeros(rounds + 1, np.int64),
            every_round=every_round,
            tally_value=reserve(MOST_TALLIED, value_type),
            tally_count=reserve(MOST_TALLIED, np.int32),
            gathered=np.zeros(1, value_type),
            history_iteration=np.full(HISTORY, -1, np.int64),
            history_updates=np.zeros(HISTORY, np.int64),
            out_kind=reserve(workers * OUTBOX, np.uint8),
            out_id=reserve(workers * OUTBOX, np.int64),
            out_round=reserve(workers * OUTBOX, np.int32),
            out_value=reserve(workers * OUTBOX, value_type),
            out_length=np.zeros(workers, np.int64),
            out_least=np.full(workers, NEVER, np.int64),
            counters=np.zeros(LOOP_COUNTERS, np.int64),
        )
        self.coefficients: NDArray[np.float64] | None = None  # of rounds 0, 1 and so on, where vertices share
        self._reset_counters(worker, workers)
        self.addresses = addresses_of(self.columns)

    def expect(self, rows: int) -> None:
        """Have huge pages under the columns that are read at random, where they are large: for so many rows, and some to come."""
        if rows <= self._advised:
            return
        self._advised = min(2 * rows, self.rows)
        advise_huge_pages(self.columns.dirty, self._advised * int(self.counters[names.WORDS]))
        if self.rows < MOST_ROWS:  # of a branch, whose rounds lie close together
            advise_huge_pages(self.columns.value, len(self.columns.value))

    def fits(self, rows: int) -> bool:
        """Whether a branch over a graph of so many rows has room here."""
        return rows <= self.rows

    def reset(self) -> None:
        """Forget everything, for the next branch. Costs nothing per row."""
        counters = self.columns.counters
        if counters[names.CURSOR_KIND] == SCAN_GATHER:  # it was given up in the middle of a hub
            self.columns.tally_count[: counters[names.TALLY_MASK] + 1] = 0
        self.coefficients = None
        self.columns.queue_length[:] = 0
        self.columns.history_iteration[:] = -1
        self.columns.out_length[:] = 0
        self.columns.out_least[:] = NEVER
        self._reset_counters(int(counters[names.WORKER]), int(counters[names.WORKERS]))

    def _reset_counters(self, worker: int, workers: int) -> None:
        counters = self.columns.counters
        counters[:] = 0
        counters[names.ROUNDS] = self.rounds
        counters[names.CAPACITY] = self.rows
        counters[names.WORDS] = self.rounds // 64 + 1
        counters[names.FLOOR] = -1
        counters[names.CAP] = UNCAPPED
        counters[names.VERSION] = ANY_VERSION
        counters[names.WORKER] = worker
        counters[names.WORKERS] = workers
        counters[names.SENT_LEAST] = NEVER
        counters[names.HEARS_BACK] = int(self._hears_back)

    def progress(self) -> PartStatistics:
        """How far the loop is."""
        counters = self.counters
        return PartStatistics(int(counters[names.ITERATION]), int(counters[names.UPDATES]), 0)

    def history(self) -> NDArray[np.float64]:
        """float64[HISTORY, 4], a copy: iteration (-1 in rows without one), updates, no prepares, as residual the updates."""
        updates = self.columns.history_updates
        return np.column_stack(
            (self.columns.history_iteration, updates, np.zeros(HISTORY), updates.astype(np.float64))
        )

    def size_bytes(self) -> int:
        """Bytes of the columns by row that are in use."""
        of_cells = (self.rounds + 1) * (self.columns.value.itemsize + self.columns.queue_row.itemsize)
        of_row = int(self.counters[names.WORDS]) * 8 + 1 + 4 + 8 * int(self.counters[names.WORKERS] > 1)
        return self.rows_seen * (of_cells + of_row)

    @property
    def values(self) -> NDArray[Any]:
        """What every row has at the last round: one number a row."""
        return self.of_round(self.rounds)

    def values_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """What rows are worth: the values of the last round, or where vertices share a sum over all rounds."""
        found: NDArray[Any] = self.values[rows]
        if self.coefficients is not None:
            found = np.zeros(len(rows))
            for number, coefficient in enumerate(self.coefficients.tolist()):
                found += coefficient * self.of_round(number + 1)[rows]
            found *= np.maximum(1, self.columns.degree[rows])
        return found

    def kept_by(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many rows these are, and what those of them at which no edge begins have at each round."""
        keeping = rows[self.columns.degree[rows] == 0]
        kept = [self.of_round(number)[keeping].sum() for number in range(1, self.rounds + 1)]
        return np.array([len(rows), *kept], np.float64)

    def of_round(self, number: int) -> NDArray[Any]:
        """What every row has at a round; not a copy."""
        return self.columns.value[number * self.rows : (number + 1) * self.rows]

    def place_rounds(self, rows: NDArray[np.int64], rounds: NDArray[Any]) -> None:
        """Set the values of rows at rounds 1 .. n, which are the columns of `rounds`, and have nothing be dirty."""
        for number in range(1, self.rounds + 1):
            self.of_round(number)[rows] = rounds[:, number - 1]
        counters = self.counters
        self.columns.dirty[: self.rows_seen * int(counters[names.WORDS])] = 0
        self.columns.queue_length[:] = 0
        counters[names.PENDING] = 0

    def stored_columns(self, rows: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what is stored of some rows: all rounds, and the values at the last one for whoever reads answers."""
        rounds = np.column_stack([self.of_round(number)[rows] for number in range(1, self.rounds + 1)])
        return {"values": self.values_of(rows), "rounds": rounds}

    def outbox(self, worker: int) -> RoundsMessages:
        """What there is for another worker: copies."""
        columns, first = self.columns, worker * OUTBOX
        sent = slice(first, first + int(columns.out_length[worker]))
        return RoundsMessages(
            columns.out_kind[sent].copy(),
            columns.out_id[sent].copy(),
            columns.out_round[sent].copy(),
            columns.out_value[sent].copy(),
        )

    @property
    def rows_seen(self) -> int:
        """How many rows of the graph this loop has columns for."""
        return int(self.counters[names.ROWS_SEEN])

    @property
    def counters(self) -> NDArray[np.int64]:
        """int64[LOOP_COUNTERS], by the names of `loop_columns`."""
        return self.columns.counters
