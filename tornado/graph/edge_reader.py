"""Reading all edges of one version of a graph, a stretch at a time, while the graph goes on changing.

Only the worker that owns a graph may read its lists, and no call of it may last long. A producer's list is read whole under the
lease of the version (what was removed since is in its graves), so it does not matter how much time lies between two producers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .evolving_graph import EvolvingGraph
from .graph_module import graph_module

_ROOM = 1 << 16  # edges copied in one step: a fraction of a millisecond
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

    Attributes
    ----------
    rows
        How many rows the graph had, at least, at that version: all that edges name are below.
    """

    def __init__(self, graph: EvolvingGraph, version: int) -> None:
        self._kernel = graph_module()
        self._graph = graph
        self._version = version
        self.rows = graph.rows  # a producer with a later row has no edge that is old enough
        self._following = 0
        self._room = _ROOM
        self._count = 0
        most = graph.most_edges()  # none that is visible then can come later
        self._columns = edge_rows(most)

    def step(self) -> bool:
        """Read a stretch, on the worker's thread; whether that was the last one."""
        if self._following == self.rows:
            return True
        first = self._following
        stop = min(first + _ROWS, self.rows)
        room = slice(self._count, self._count + self._room)
        following, count = self._kernel.edges_of_rows(
            self._graph.addresses, self._version, first, stop, *(column[room] for column in self._columns)
        )
        if following == first:  # a hub with more edges than there is room for
            self._room *= 2
        self._following = following
        self._count += count
        return self._following == self.rows

    def let_go(self) -> None:
        """Give the memory of the columns back; whoever has got them may keep them."""
        self._columns, self._count = edge_rows(0), 0

    def columns(self) -> EdgeRows:
        """Rows of producers and consumers, weights and births of what was read, in the order of producers."""
        count = self._count
        producers, consumers, weights, born = self._columns
        return producers[:count], consumers[:count], weights[:count], born[:count]


def edge_rows(count: int) -> EdgeRows:
    """Columns for so many edges, of which nothing is set."""
    return np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count), np.empty(count, np.int64)
