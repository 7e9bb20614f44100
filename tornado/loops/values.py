"""The values of a loop, wherever its workers hold them, looked up by vertex id from any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from . import loop_columns as names
from .graph import EvolvingGraph
from .loop_columns import KNOWN
from .selective_state import LoopState

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Part:
    """One worker's part. Rows are only ever added to a graph, so the first `rows` of them stay what they are."""

    graph: EvolvingGraph
    state: LoopState
    rows: int | None = None  # None: as many as there are at the time


class Values:
    """Values by vertex; reading a main loop's is at once and approximate, a finished branch's is exact.

    Parameters
    ----------
    kernel
        The loop's compiled functions.
    parts
        By worker.
    rank
        Which values come first: "nearest" or "highest".
    worst
        The value of vertices that were not reached.
    """

    def __init__(self, kernel: ModuleType, parts: Sequence[Part], *, rank: str, worst: float) -> None:
        self._kernel = kernel
        self._parts = parts
        self._rank = rank
        self._worst = worst

    def lookup(self, ids: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """The value of each vertex (infinite where unreachable), and whether it was ever seen."""
        values = np.full(len(ids), np.inf)
        known = np.zeros(len(ids), np.bool_)
        for part in self._parts:
            columns = part.graph.columns
            rows = np.empty(len(ids), np.int64)
            self._kernel.find_rows(columns.ids, columns.table, np.ascontiguousarray(ids, np.int64), rows)
            found = (rows >= 0) & (rows < self._rows(part))
            rows = rows[found]
            own = (part.state.columns.flags[rows] & KNOWN) != 0
            places = np.flatnonzero(found)[own]
            values[places] = part.state.columns.value[rows[own]]
            known[places] = True
        return values, known

    def count(self) -> int:
        """How many vertices were ever seen."""
        return sum(int(np.count_nonzero(self._own(part))) for part in self._parts)

    def top(self, k: int) -> tuple[Ids, Floats]:
        """The first `k` vertices by rank, best first, ties by id; vertices that were not reached are left out."""
        best_ids, best_values = [], []
        for part in self._parts:
            rows = np.flatnonzero(self._own(part))
            values = part.state.columns.value[rows]
            reached = values != self._worst
            rows, values = rows[reached], values[reached]
            keys = values if self._rank == "nearest" else -values
            if 0 < k < len(keys):
                limit = np.partition(keys, k - 1)[k - 1]
                within = keys <= limit
                rows, values = rows[within], values[within]
            best_ids.append(part.graph.columns.ids[rows])
            best_values.append(values)
        ids, values = np.concatenate(best_ids), np.concatenate(best_values)
        order = np.lexsort((ids, values if self._rank == "nearest" else -values))[:k]
        return ids[order], values[order]

    def page(self, after: int | None, limit: int) -> tuple[Ids, Floats]:
        """Up to `limit` vertices with ids above `after`, ascending by id."""
        ids, values = self.arrays()
        first = 0 if after is None else int(np.searchsorted(ids, after, side="right"))
        return ids[first : first + limit], values[first : first + limit]

    def arrays(self) -> tuple[Ids, Floats]:
        """All vertices, ascending by id."""
        if all(part.rows is not None for part in self._parts):
            return self._arrays
        return self._collect()

    @cached_property
    def _arrays(self) -> tuple[Ids, Floats]:
        return self._collect()

    def _collect(self) -> tuple[Ids, Floats]:
        rows = [np.flatnonzero(self._own(part)) for part in self._parts]
        pairs = list(zip(self._parts, rows, strict=True))
        ids = np.concatenate([part.graph.columns.ids[own] for part, own in pairs])
        values = np.concatenate([part.state.columns.value[own] for part, own in pairs])
        order = np.argsort(ids, kind="stable")
        return ids[order], values[order]

    def _rows(self, part: Part) -> int:
        return int(part.state.counters[names.ROWS_SEEN]) if part.rows is None else part.rows

    def _own(self, part: Part) -> NDArray[np.bool_]:
        owned: NDArray[np.bool_] = (part.state.columns.flags[: self._rows(part)] & KNOWN) != 0
        return owned
