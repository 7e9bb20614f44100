"""The main loop of a compiled program on one worker, which can begin where a stored snapshot ended.

With the values of a fixed point no edge of it makes a better offer, so edges are not heard one by one as they come: when all are there,
the loop takes in the graph by its rows, as one that begins on a graph that was there before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import StoreCorrupt
from . import loop_columns as names
from .loop_columns import DIRTY, NO_PARENT, SELF_PARENT
from .main_processor import MainProcessor


class RestorableProcessor(MainProcessor):
    """A main loop on one worker that can begin with what was stored. Called on the worker's thread, before anything is admitted."""

    def hear(self) -> None:
        """See `MainProcessor`."""
        if self.awaits_edges:
            self.state.expect(self.graph.rows)
        else:
            super().hear()

    def place(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]] | None) -> None:
        """See `StorableMain`: values are taken over, and nothing is left to commit for them.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice, or values are not of the type that the loop has.
        """
        self._make_known(ids)
        if columns is None:
            return
        self.awaits_edges = True
        values, own = columns["values"], self.state.values
        if (values.dtype, values.shape[1:]) != (own.dtype, own.shape[1:]):
            raise StoreCorrupt(
                f"the values of a stored snapshot are {values.dtype} of shape {values.shape[1:]}, those of its program "
                f"are {own.dtype} of shape {own.shape[1:]}"
            )
        rows = self.graph.rows_of(ids)
        self.state.place_values(rows, values)
        self.state.touch_all()
        self.state.columns.flags[rows] &= ~np.uint8(DIRTY)
        # Only these rows were dirty, and none of them was ever committed.
        self.state.columns.pending[:] = 0
        for queue in (names.HEAP, names.PENDING_INSIDE, names.PENDING_BEYOND):
            self.state.counters[queue] = 0

    def place_behind_edges(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """See `StorableMain`: now every producer that a value came from has a row; its own id stands for none.

        Raises
        ------
        StoreCorrupt
            When a producer has no edge here.
        """
        parents = columns["parents"]
        rows, producers = self.graph.rows_of(ids), self.graph.rows_of(parents)
        missing = np.flatnonzero((rows < 0) | (producers < 0))
        if missing.size:
            raise StoreCorrupt(
                f"the value of vertex {ids[missing[0]]} came from {parents[missing[0]]}, from where no edge is stored"
            )
        worst = self.state.values[rows] == self.kernel.WORST
        unreached = worst.all(axis=tuple(range(1, worst.ndim)))  # every number of an entry
        alone = np.where(unreached, NO_PARENT, SELF_PARENT)
        self.state.touch_all()
        self.state.columns.parent[rows] = np.where(rows == producers, alone, producers)
        self.awaits_edges, self._following_row = False, 0
        self.state.counters[names.AT_REST] = 1
        self.activate()
