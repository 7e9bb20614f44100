"""The compiled loops behind `components.py`: a forest of vertices that edges have joined."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def root(parents: NDArray[np.int32], v: int) -> int:
    """The root of a vertex's tree; the way there is halved."""
    while parents[v] != v:
        parents[v] = parents[parents[v]]
        v = parents[v]
    return v


@njit(cache=True, nogil=True)
def join(parents: NDArray[np.int32], sources: NDArray[np.int32], targets: NDArray[np.int32]) -> None:
    """Put the trees of both ends of each edge under one root, that of the lesser row."""
    for e in range(len(sources)):
        a, b = root(parents, sources[e]), root(parents, targets[e])
        if a < b:
            parents[b] = a
        elif b < a:
            parents[a] = b


@njit(cache=True, nogil=True)
def least_of_trees(parents: NDArray[np.int32], ids: NDArray[np.int64], least: NDArray[np.int64]) -> None:
    """Write, to the place of each root, the least id of its tree; and to that of every other vertex, what its root has."""
    for v in range(len(ids)):
        least[v] = ids[v]
    for v in range(len(ids)):
        r = root(parents, v)
        least[r] = min(least[r], ids[v])
    for v in range(len(ids)):
        least[v] = least[root(parents, v)]
