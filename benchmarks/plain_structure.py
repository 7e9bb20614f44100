"""What recomputes cores, clustering and communities: one thread of Numba each, on the lists of a simple undirected graph.

Vertices have the numbers from 0, and each edge stands once among the edges and in the lists of both of its ends. All results are those
of the definitions, to the bit, so that they are oracles besides.

- Cores: peeling with a bucket for each degree, O(edges) (Batagelj and Zaversnik 2003).
- Clustering: each triangle is found once, at that of its vertices which comes first by degree, in lists of at most sqrt(2 m) later
  ones (Chiba and Nishizeki 1985; Latapy 2008).
- Communities: rounds of label propagation, with a counter for each label.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tornado.symbol_names import njit
from tornado.testing import EdgeList

Lists = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Where the neighbours of each vertex begin, with the end of all; and the neighbours."""


def neighbour_lists(edges: EdgeList) -> Lists:
    """Build the lists by a counting sort."""
    start, neighbour = _neighbour_lists(edges.src, edges.dst, edges.vertices)
    return start, neighbour


def core_numbers(lists: Lists) -> NDArray[np.int64]:
    """Return the core number of every vertex."""
    return _core_numbers(*lists)


def clustering(lists: Lists) -> NDArray[np.float64]:
    """Return the share of the possible edges among its neighbours that is there, of every vertex; 0 where there is none."""
    return _clustering(*lists)


def labels(lists: Lists, rounds: int) -> NDArray[np.int64]:
    """Return the label of every vertex after so many rounds: the most frequent of its neighbours, the least of several."""
    return _labels(*lists, rounds)


@njit(cache=True, nogil=True)
def _neighbour_lists(
    src: NDArray[np.int32], dst: NDArray[np.int32], vertices: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    start = np.zeros(vertices + 1, np.int32)
    for edge in range(len(src)):
        start[src[edge] + 1] += 1
        start[dst[edge] + 1] += 1
    for vertex in range(vertices):
        start[vertex + 1] += start[vertex]
    free = start[:-1].copy()
    neighbour = np.empty(2 * len(src), np.int32)
    for edge in range(len(src)):
        one, other = src[edge], dst[edge]
        neighbour[free[one]] = other
        free[one] += 1
        neighbour[free[other]] = one
        free[other] += 1
    return start, neighbour


@njit(cache=True, nogil=True)
def _by_degree(
    start: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the vertices by degree, where each stands among them, and where each degree begins."""
    count = len(start) - 1
    most = 0
    for vertex in range(count):
        most = max(most, start[vertex + 1] - start[vertex])
    first = np.zeros(most + 2, np.int32)
    for vertex in range(count):
        first[start[vertex + 1] - start[vertex] + 1] += 1
    for degree in range(most + 1):
        first[degree + 1] += first[degree]
    free = first.copy()
    order = np.empty(count, np.int32)
    place = np.empty(count, np.int32)
    for vertex in range(count):
        degree = start[vertex + 1] - start[vertex]
        place[vertex] = free[degree]
        order[free[degree]] = vertex
        free[degree] += 1
    return order, place, first


@njit(cache=True, nogil=True)
def _core_numbers(start: NDArray[np.int32], neighbour: NDArray[np.int32]) -> NDArray[np.int64]:
    count = len(start) - 1
    order, place, first = _by_degree(start)
    core = np.empty(count, np.int32)
    for vertex in range(count):
        core[vertex] = start[vertex + 1] - start[vertex]
    for at in range(count):
        vertex = order[at]
        for edge in range(start[vertex], start[vertex + 1]):
            other = neighbour[edge]
            if core[other] > core[vertex]:
                # To the front of its bucket, which then begins behind it: it is in the bucket below.
                front = first[core[other]]
                moved = order[front]
                order[place[other]] = moved
                place[moved] = place[other]
                order[front] = other
                place[other] = front
                first[core[other]] += 1
                core[other] -= 1
    return core.astype(np.int64)


@njit(cache=True, nogil=True)
def _clustering(start: NDArray[np.int32], neighbour: NDArray[np.int32]) -> NDArray[np.float64]:
    count = len(start) - 1
    order, place, _ = _by_degree(start)
    # Neighbours that come later by degree, each vertex by its place: those of a hub are few.
    later_start = np.zeros(count + 1, np.int32)
    for at in range(count):
        vertex = order[at]
        later_start[at + 1] = later_start[at]
        for edge in range(start[vertex], start[vertex + 1]):
            later_start[at + 1] += place[neighbour[edge]] > at
    later = np.empty(later_start[count], np.int32)
    free = 0
    for at in range(count):
        vertex = order[at]
        for edge in range(start[vertex], start[vertex + 1]):
            if place[neighbour[edge]] > at:
                later[free] = place[neighbour[edge]]
                free += 1
    triangles = np.zeros(count, np.int64)
    seen_from = np.full(count, -1, np.int32)
    for at in range(count):
        for edge in range(later_start[at], later_start[at + 1]):
            seen_from[later[edge]] = at
        for edge in range(later_start[at], later_start[at + 1]):
            second = later[edge]
            found = 0
            for further in range(later_start[second], later_start[second + 1]):
                third = later[further]
                if seen_from[third] == at:
                    triangles[third] += 1
                    found += 1
            triangles[second] += found
            triangles[at] += found
    share = np.zeros(count)
    for vertex in range(count):
        degree = start[vertex + 1] - start[vertex]
        if degree > 1:
            share[vertex] = 2 * triangles[place[vertex]] / (degree * (degree - 1.0))
    return share


@njit(cache=True, nogil=True)
def _labels(start: NDArray[np.int32], neighbour: NDArray[np.int32], rounds: int) -> NDArray[np.int64]:
    count = len(start) - 1
    label = np.arange(count).astype(np.int32)
    following = label.copy()
    times = np.zeros(count, np.int32)
    for _ in range(rounds):
        for vertex in range(count):
            best = label[vertex]
            most = 0
            for edge in range(start[vertex], start[vertex + 1]):
                one = label[neighbour[edge]]
                times[one] += 1
                if times[one] > most or (times[one] == most and one < best):
                    most, best = times[one], one
            for edge in range(start[vertex], start[vertex + 1]):
                times[label[neighbour[edge]]] = 0
            following[vertex] = best
        label, following = following, label
    return label.astype(np.int64)
