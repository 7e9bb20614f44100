"""The values that one worker's part of a compiled loop holds, read where they are."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from . import loop_columns as names
from .graph import EvolvingGraph
from .loop_columns import KNOWN
from .selective_state import LoopState
from .values import Floats, Ids, best_of


@dataclass(frozen=True, slots=True)
class LocalValues:
    """Those of a compiled part. Rows are only ever added to a graph, so the first `rows` of them stay what they are."""

    kernel: ModuleType
    graph: EvolvingGraph
    state: LoopState
    rows: int | None = None  # None: as many as there are at the time

    @property
    def is_final(self) -> bool:
        """See `PartValues`."""
        return self.rows is not None

    def lookup(self, ids: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """See `PartValues`."""
        values, known = np.full(len(ids), np.inf), np.zeros(len(ids), np.bool_)
        columns = self.graph.columns
        rows = np.empty(len(ids), np.int64)
        self.kernel.find_rows(columns.ids, columns.table, np.ascontiguousarray(ids, np.int64), rows)
        found = (rows >= 0) & (rows < self._rows())
        rows = rows[found]
        own = (self.state.columns.flags[rows] & KNOWN) != 0
        places = np.flatnonzero(found)[own]
        values[places] = self.state.columns.value[rows[own]]
        known[places] = True
        return values, known

    def count(self) -> int:
        """See `PartValues`."""
        return int(np.count_nonzero(self._own()))

    def best(self, k: int, rank: str, worst: float) -> tuple[Ids, Floats]:
        """See `PartValues`."""
        return best_of(*self.arrays(), k, rank, worst)

    def arrays(self) -> tuple[Ids, Floats]:
        """See `PartValues`."""
        rows = np.flatnonzero(self._own())
        return self.graph.columns.ids[rows], self.state.columns.value[rows]

    def _rows(self) -> int:
        return int(self.state.counters[names.ROWS_SEEN]) if self.rows is None else self.rows

    def _own(self) -> NDArray[np.bool_]:
        owned: NDArray[np.bool_] = (self.state.columns.flags[: self._rows()] & KNOWN) != 0
        return owned
