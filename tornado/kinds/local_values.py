"""The values that one worker's part of a compiled loop holds, read where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..graph import EvolvingGraph
from ..value_types import Ids, Mask, ValueArray, Worst, best_of, reached_of, seconds_of, shown


class RowValues(Protocol):
    """What a compiled part has of the rows of its graph."""

    @property
    def rows_seen(self) -> int:
        """How many rows it has columns for."""
        ...

    def values_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """The values of rows, as the loop has them: float64[rows], int64[rows], or pairs of these; copies."""
        ...


@dataclass(frozen=True, slots=True)
class LocalValues:
    """Those of a compiled part. Vertices are only ever added to a graph, so the first of them stay what they are."""

    graph: EvolvingGraph
    held: RowValues
    vertices: int | None = None  # that had been seen; None: as many as there are at the time

    @property
    def is_final(self) -> bool:
        """See `PartValues`."""
        return self.vertices is not None

    def lookup(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """See `PartValues`."""
        return self._looked_up(ids, shown)

    def seconds(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """See `PartValues`."""
        return self._looked_up(ids, seconds_of)

    def _looked_up(self, ids: Ids, read: Callable[[NDArray[Any]], ValueArray]) -> tuple[ValueArray, Mask]:
        rows = self.graph.rows_of(ids)
        known = (rows >= 0) & (rows < self._rows_seen())
        known &= self.graph.are_known(np.where(known, rows, 0), self.count())
        if known.all():
            return read(self.held.values_of(rows)), known
        held = read(self.held.values_of(rows[known]))
        values = np.zeros(len(ids), held.dtype)
        values[known] = held
        return values, known

    def count(self) -> int:
        """See `PartValues`."""
        return self.graph.vertices if self.vertices is None else self.vertices

    def best(self, k: int, rank: str, worst: Worst) -> tuple[Ids, ValueArray]:
        """See `PartValues`."""
        ids, values = self.arrays()
        return best_of(ids, values, reached_of(values, worst), k, rank)

    def arrays(self) -> tuple[Ids, ValueArray]:
        """See `PartValues`."""
        rows = self.graph.known_rows(self.count())
        rows = rows[: np.searchsorted(rows, self._rows_seen())]
        return self.graph.columns.ids[rows], self._shown_of(rows)

    def found(self) -> Mapping[str, NDArray[Any]]:
        """See `PartValues`: nothing."""
        return {}

    def _rows_seen(self) -> int:
        """Rows that this loop has columns for: a moment behind the graph's while records are applied."""
        return self.held.rows_seen

    def _shown_of(self, rows: NDArray[np.integer[Any]]) -> ValueArray:
        return shown(self.held.values_of(rows))
