"""Reading all edges of one version of a graph, a stretch at a time, while the graph goes on changing.

Only the worker that owns a graph may read its lists, and no call of it may last long. A producer's list is read whole under the
lease of the version (what was removed since is in its graves), so it does not matter how much time lies between two producers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .evolving_graph import EvolvingGraph
from .graph_module import graph_module

_ROWS = 1 << 15

EdgeRows = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]


class EdgeReader:
    """See the module.

    Parameters
    ----------
    graph
        What to read; somebody holds a lease of `version` until the end.
    version
        Edges visible at this version are read.
    most
        How many are read at once; more where one producer has more.

    Attributes
    ----------
    rows
        How many rows the graph had, at least, at that version: all that edges name are below.
    """

    def __init__(self, graph: EvolvingGraph, version: int, most: int) -> None:
        self._kernel = graph_module()
        self._graph = graph
        self._version = version
        self.rows = graph.rows  # a producer with a later row has no edge that is old enough
        self._following = 0
        self._room = edge_rows(most)

    @property
    def is_over(self) -> bool:
        """Whether all was read."""
        return self._following == self.rows

    def stretch(self) -> EdgeRows:
        """Read some edges, on the worker's thread: rows of producers and consumers, weights and births, in the order of producers.

        They stand where those of the next stretch will.
        """
        first = self._following
        stop = min(first + _ROWS, self.rows)
        self._following, count = self._kernel.edges_of_rows(
            self._graph.addresses, self._version, first, stop, *self._room
        )
        producers, consumers, weights, born = self._room
        if self._following == first < stop:  # a hub with more edges than there is room for
            self._room = edge_rows(2 * len(producers))
        elif self.is_over:
            self._room = edge_rows(0)
        return producers[:count], consumers[:count], weights[:count], born[:count]


def edge_rows(count: int, column: Callable[[int, DTypeLike], NDArray[Any]] = np.empty) -> EdgeRows:
    """Columns for so many edges, each made by `column`."""
    return (
        column(count, np.int32),
        column(count, np.int32),
        column(count, np.float64),
        column(count, np.int64),
    )
