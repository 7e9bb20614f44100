"""The values that one worker's part of an accumulative loop holds, made where its records are: divided by the sum of all values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph import EvolvingGraph
from ...value_types import Ids, Mask, ValueArray, Worst, best_of, reached_of
from . import loop_columns as names
from .loop_state import SumState


@dataclass(frozen=True, slots=True)
class NormalisedValues:
    """See the module.

    Attributes
    ----------
    mass
        The sum of the values of all parts, as it is known here.
    vertices
        How many had been seen; None: as many as there are at the time.
    """

    kernel: ModuleType
    graph: EvolvingGraph
    state: SumState
    arguments: tuple[object, ...]
    mass: Callable[[], float]
    vertices: int | None = None

    @property
    def is_final(self) -> bool:
        """See `PartValues`."""
        return self.vertices is not None

    def lookup(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """See `PartValues`."""
        values, known = np.zeros(len(ids)), np.zeros(len(ids), np.bool_)
        rows = self.graph.rows_of(ids)
        found = (rows >= 0) & (rows < self.state.rows_seen)
        rows = rows[found]
        own = self.graph.are_known(rows, self.count())
        places = np.flatnonzero(found)[own]
        values[places] = self._values(rows[own])
        known[places] = True
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
        rows = rows[: np.searchsorted(rows, self.state.rows_seen)]
        return self.graph.columns.ids[rows], self._values(rows)

    def stored(self, rows: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what is stored of some rows: the values that are shown, and what a main loop begins with, where b is 1."""
        unscaled = self._unscaled(rows.astype(np.int64))
        base = float(self.state.totals[names.BASE])
        return {"values": unscaled / self.mass(), "unscaled": unscaled / base}

    def _unscaled(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        values = np.zeros(len(rows))
        self.kernel.read_values(self.state.addresses, self.arguments, rows, values)
        return values

    def _values(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        values = self._unscaled(rows)
        mass = self.mass()
        if mass > 0:
            values /= mass
        return values
