"""The plain rival of closures: a graph in compressed rows whose shortest paths are repaired by one thread, and nothing else.

Edges that close invalidate the subtrees of parents below them; what is left around offers what it has, and one Dijkstra with a heap
goes on from there (Ramalingam and Reps 1996, without its counts). It keeps no versions, takes no stream and answers nobody: it is what
the work itself costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tornado.testing import EdgeList, build

from . import plain_roads_kernel as kernel


class PlainRepair:
    """See the module.

    Parameters
    ----------
    edges
        Ids from 0 to ``vertices - 1``. An edge is known by its place here.
    source
        Where the paths begin.

    Attributes
    ----------
    distance : float64[vertices]
        Of each vertex.
    """

    def __init__(self, edges: EdgeList, source: int) -> None:
        graph = build(edges)
        order = np.argsort(edges.src, kind="stable")
        self._place = np.empty(len(edges), np.int64)
        self._place[order] = np.arange(len(edges))
        self._source = source
        self._src = edges.src.astype(np.int32)
        self._weight = edges.weight.astype(np.float64)
        self._out = (graph.offsets, graph.targets, graph.weights.copy())
        back = np.argsort(graph.targets, kind="stable")
        offsets = np.zeros(edges.vertices + 1, np.int64)
        np.cumsum(np.bincount(graph.targets, minlength=edges.vertices), out=offsets[1:])
        self._back: tuple[NDArray[Any], ...] = (offsets, self._src[order][back], back)
        self.distance = np.empty(edges.vertices)
        self._parent = np.empty(edges.vertices, np.int32)
        self._doomed = (np.empty(edges.vertices, np.int32), np.zeros(edges.vertices, np.bool_))
        self._heap = (
            np.empty(len(edges) + edges.vertices + 1),
            np.empty(len(edges) + edges.vertices + 1, np.int32),
        )
        self.recompute()

    def recompute(self) -> None:
        """Compute all distances anew."""
        kernel.begin(*self._out, self._source, self.distance, self._parent, *self._heap)

    def close(self, closed: NDArray[np.int64]) -> None:
        """Repair the distances after edges have closed."""
        kernel.close(
            *self._out, *self._back, self.distance, self._parent, self._place[closed], self._src[closed],
            *self._doomed, *self._heap,
        )  # fmt: skip

    def open(self, opened: NDArray[np.int64]) -> None:
        """Open edges again, and compute all distances anew."""
        self._out[2][self._place[opened]] = self._weight[opened]
        self.recompute()
