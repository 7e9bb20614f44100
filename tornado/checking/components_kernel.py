"""The compiled loops behind `components.py`: a forest of vertices that edges have joined."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit


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
def flatten(parents: NDArray[np.int32]) -> None:
    """Put every vertex right under its root, which is the first row of its tree."""
    for v in range(len(parents)):
        parents[v] = parents[parents[v]]  # that of a lesser row, which is flat by now


@njit(cache=True, nogil=True)
def least_of_trees(roots: NDArray[np.int32], ids: NDArray[np.int64], least: NDArray[np.int64]) -> None:
    """Lower, at the place of each root, what is there to the least id of its tree."""
    for v in range(len(ids)):
        least[roots[v]] = min(least[roots[v]], ids[v])
