"""Exact weakly connected components, by union and find (Tarjan 1975): what the answers of loops are compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit
from .edges import EdgeList


@dataclass(frozen=True, slots=True)
class Components:
    """The component of every vertex that an edge names.

    Parameters
    ----------
    ids : int64 array, shape (n,)
        Vertices, ascending.
    labels : int64 array, shape (n,)
        The least id of the component of each.
    """

    ids: NDArray[np.int64]
    labels: NDArray[np.int64]

    def lookup(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the labels of any ids; one that no edge names is a component of its own."""
        labels = np.array(ids, np.int64)
        if len(self.ids):
            at = np.minimum(np.searchsorted(self.ids, labels), len(self.ids) - 1)
            known = self.ids[at] == labels
            labels[known] = self.labels[at[known]]
        return labels


def exact_components(edges: EdgeList) -> Components:
    """Return the components of a graph, whichever way its edges go.

    Examples
    --------
    >>> edges = EdgeList(np.array([5, 9]), np.array([3, 8]), np.ones(2))
    >>> exact_components(edges).lookup(np.array([3, 5, 8, 9, 100])).tolist()
    [3, 3, 8, 8, 100]
    """
    ids = edges.ids()
    src, dst = np.searchsorted(ids, edges.src), np.searchsorted(ids, edges.dst)
    return Components(ids, ids[_roots(src, dst, len(ids))])


@njit(cache=True, nogil=True)
def _roots(src: NDArray[np.int64], dst: NDArray[np.int64], vertices: int) -> NDArray[np.int64]:
    """The least vertex of the component of each."""
    above = np.arange(vertices)
    for i in range(src.size):
        a, b = src[i], dst[i]
        while above[a] != a:
            above[a] = above[above[a]]
            a = above[a]
        while above[b] != b:
            above[b] = above[above[b]]
            b = above[b]
        above[max(a, b)] = min(a, b)
    for vertex in range(vertices):  # whoever is above a vertex is less, and has its root already
        above[vertex] = above[above[vertex]]
    return above
