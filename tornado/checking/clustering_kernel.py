"""The compiled loops behind `clustering.py`: who is next to whom, and what each pair of neighbours has in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit


@njit(cache=True, nogil=True)
def count_ends(sources: NDArray[np.int32], targets: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
    """Count, behind the place of each vertex, the edges at it; those of a vertex to itself are none."""
    for e in range(len(sources)):
        if sources[e] != targets[e]:
            offsets[sources[e] + 1] += 1
            offsets[targets[e] + 1] += 1


@njit(cache=True, nogil=True)
def place_ends(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    following: NDArray[np.int64],
    others: NDArray[np.int32],
    goes: NDArray[np.bool_],
) -> None:
    """Write the other end of each edge to both of its ends, and whether the edge goes there."""
    for e in range(len(sources)):
        source, target = sources[e], targets[e]
        if source != target:
            others[following[source]], goes[following[source]] = target, True
            others[following[target]], goes[following[target]] = source, False
            following[source] += 1
            following[target] += 1


@njit(cache=True, nogil=True)
def leave_once(
    offsets: NDArray[np.int64],
    others: NDArray[np.int32],
    goes: NDArray[np.bool_],
    degrees: NDArray[np.int64],
    directed: NDArray[np.int8],
) -> None:
    """Leave each neighbour once, at the front of a vertex's places, with the number of directions that edges between both have."""
    place = np.full(
        len(degrees), -1, np.int64
    )  # of each vertex among the neighbours of the one that is looked at
    to, back = np.zeros(len(degrees), np.bool_), np.zeros(len(degrees), np.bool_)
    for v in range(len(degrees)):
        first, degree = offsets[v], 0
        for at in range(first, offsets[v + 1]):
            other, is_there = others[at], goes[at]
            if place[other] < 0:
                others[first + degree] = other
                place[other] = first + degree
                degree += 1
            to[other] |= is_there
            back[other] |= not is_there
        for at in range(first, first + degree):
            other = others[at]
            directed[at] = np.int8(to[other]) + np.int8(back[other])
            place[other] = -1
            to[other] = back[other] = False
        degrees[v] = degree


@njit(cache=True, nogil=True)
def credit_pairs(
    offsets: NDArray[np.int64],
    others: NDArray[np.int32],
    degrees: NDArray[np.int64],
    directed: NDArray[np.int8],
    edges: NDArray[np.int64],
) -> None:
    """Credit the edges between two neighbours to every vertex that is a neighbour of both, going through the fewer neighbours."""
    marked = np.full(len(degrees), -1, np.int64)
    for u in range(len(degrees)):
        first, stop = offsets[u], offsets[u] + degrees[u]
        for at in range(first, stop):
            marked[others[at]] = u
        for at in range(first, stop):
            w = others[at]
            if degrees[w] < degrees[u] or (degrees[w] == degrees[u] and w < u):
                for near in range(offsets[w], offsets[w] + degrees[w]):
                    if marked[others[near]] == u:
                        edges[others[near]] += directed[at]
