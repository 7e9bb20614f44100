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

_Edges = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]


class EdgeReader:
    """See the module.

    Parameters
    ----------
    graph
        What to read; somebody holds a lease of `version` until the end.
    version
        Edges visible at this version are read.
    """

    def __init__(self, graph: EvolvingGraph, version: int) -> None:
        self._kernel = graph_module()
        self._graph = graph
        self._version = version
        self._rows = graph.rows  # a producer with a later row has no edge that is old enough
        self._following = 0
        self._room = _ROOM
        self._columns = self._buffers()
        self._parts: list[_Edges] = []

    def step(self) -> bool:
        """Read a stretch, on the worker's thread; whether that was the last one."""
        if self._following == self._rows:
            return True
        first = self._following
        stop = min(first + _ROWS, self._rows)
        following, count = self._kernel.edges_of_rows(
            self._graph.addresses, self._version, first, stop, *self._columns
        )
        if following == first:  # a hub with more edges than there is room for
            self._room *= 2
            self._columns = self._buffers()
            return False
        self._following = following
        if count:
            producers, consumers, weights, born = self._columns
            ids = self._graph.columns.ids
            self._parts.append(
                (ids[producers[:count]], ids[consumers[:count]], weights[:count].copy(), born[:count].copy())
            )
        return self._following == self._rows

    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Source ids, target ids and weights of what was read, in the order of arrival at this worker. From any thread."""
        if not self._parts:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
        sources, targets, weights, born = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        order = np.argsort(born, kind="stable")
        return sources[order], targets[order], weights[order]

    def _buffers(self) -> _Edges:
        room = self._room
        return np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room), np.empty(room, np.int64)
