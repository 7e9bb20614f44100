"""The values that one worker's part of a compiled loop holds, read where they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import EvolvingGraph
from .selective_state import LoopState
from .values import Floats, Ids, best_of


@dataclass(frozen=True, slots=True)
class LocalValues:
    """Those of a compiled part. Vertices are only ever added to a graph, so the first of them stay what they are."""

    graph: EvolvingGraph
    state: LoopState
    vertices: int | None = None  # that had been seen; None: as many as there are at the time

    @property
    def is_final(self) -> bool:
        """See `PartValues`."""
        return self.vertices is not None

    def lookup(self, ids: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """See `PartValues`."""
        values, known = np.full(len(ids), np.inf), np.zeros(len(ids), np.bool_)
        rows = self.graph.rows_of(ids)
        found = (rows >= 0) & (rows < self._rows_seen())
        rows = rows[found]
        own = self.graph.are_known(rows, self._count())
        places = np.flatnonzero(found)[own]
        values[places] = self.state.columns.value[rows[own]]
        known[places] = True
        return values, known

    def count(self) -> int:
        """See `PartValues`."""
        return self._count()

    def best(self, k: int, rank: str, worst: float) -> tuple[Ids, Floats]:
        """See `PartValues`."""
        return best_of(*self.arrays(), k, rank, worst)

    def arrays(self) -> tuple[Ids, Floats]:
        """See `PartValues`."""
        rows = self.graph.known_rows(self._count())
        rows = rows[: np.searchsorted(rows, self._rows_seen())]
        return self.graph.columns.ids[rows], self.state.columns.value[rows]

    def _count(self) -> int:
        return self.graph.vertices if self.vertices is None else self.vertices

    def _rows_seen(self) -> int:
        """Rows that this loop has columns for: a moment behind the graph's while records are applied."""
        return self.state.rows_seen
