"""The compiled loops behind `oracle.py`: they validate nothing, allocate next to nothing, and write what they are given.

Plain textbook methods on arrays, one thread. Their slow twin is networkx.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit

#: Integer distance of a vertex that no path reaches.
UNREACHED = 2**31 - 1


@njit(cache=True, nogil=True)
def fill_rows(
    src: NDArray[np.integer],
    dst: NDArray[np.integer],
    weight: NDArray[np.number],
    offsets: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
) -> None:
    """Counting sort by source; `offsets` comes as zeros and is the cursor of each row while rows are filled."""
    vertices = len(offsets) - 1
    for e in range(len(src)):
        offsets[src[e]] += 1
    filled = np.int64(0)
    for v in range(vertices):
        filled += offsets[v]
        offsets[v] = filled - offsets[v]
    offsets[vertices] = filled
    for e in range(len(src)):
        at = offsets[src[e]]
        offsets[src[e]] = at + 1
        targets[at] = dst[e]
        weights[at] = weight[e]
    # Every cursor now stands at the beginning of the next row.
    for v in range(vertices - 1, 0, -1):
        offsets[v] = offsets[v - 1]
    if vertices:
        offsets[0] = 0


@njit(cache=True, nogil=True)
def are_steps(weights: NDArray[np.float64], greatest: int) -> bool:
    """Whether every weight is an integer from 0 to `greatest`."""
    others = 0
    for weight in weights:
        others += not (0.0 <= weight <= greatest and weight == np.floor(weight))
    return others == 0


@njit(cache=True, nogil=True)
def greatest_finite(weights: NDArray[np.float64]) -> float:
    """Return the greatest weight that is not infinite, 0 where there is none."""
    greatest = 0.0
    for weight in weights:
        if weight > greatest and weight < np.inf:
            greatest = weight
    return greatest


@njit(cache=True, nogil=True)
def heap(
    offsets: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
    source: int,
    distance: NDArray[np.float64],
    heap_key: NDArray[np.float64],
    heap_vertex: NDArray[np.int32],
    place: NDArray[np.int32],
) -> None:
    """Dijkstra with an indexed binary heap; writes `distance`, which comes as inf, and the heap; `place` comes as -1."""
    distance[source] = 0.0
    heap_key[0] = 0.0
    heap_vertex[0] = source
    place[source] = 0
    size = 1
    while size:
        vertex = heap_vertex[0]
        base = heap_key[0]
        size -= 1
        if size:
            key = heap_key[size]
            moved = heap_vertex[size]
            hole = 0
            while True:
                child = 2 * hole + 1
                if child >= size:
                    break
                if child + 1 < size and heap_key[child + 1] < heap_key[child]:
                    child += 1
                if heap_key[child] >= key:
                    break
                heap_key[hole] = heap_key[child]
                heap_vertex[hole] = heap_vertex[child]
                place[heap_vertex[hole]] = hole
                hole = child
            heap_key[hole] = key
            heap_vertex[hole] = moved
            place[moved] = hole
        for e in range(offsets[vertex], offsets[vertex + 1]):
            target = targets[e]
            offer = base + weights[e]
            if offer < distance[target]:
                hole = place[target]
                if hole < 0:
                    hole = size
                    size += 1
                distance[target] = offer
                while hole > 0:
                    parent = (hole - 1) >> 1
                    if heap_key[parent] <= offer:
                        break
                    heap_key[hole] = heap_key[parent]
                    heap_vertex[hole] = heap_vertex[parent]
                    place[heap_vertex[hole]] = hole
                    hole = parent
                heap_key[hole] = offer
                heap_vertex[hole] = target
                place[target] = hole


@njit(cache=True, nogil=True)
def dial(
    offsets: NDArray[np.int64],
    targets: NDArray[np.int32],
    steps: NDArray[np.int16],
    source: int,
    distance: NDArray[np.int32],
    ring: int,
    link: NDArray[np.int32],
) -> None:
    """Dial's ring of buckets, one for each distance; writes `distance`, which comes as the greatest int32.

    A bucket is a doubly linked list through `link` (before, after). Which one a vertex is in follows from its distance.
    """
    first = np.full(ring, -1, np.int32)
    distance[source] = 0
    first[0] = source
    link[source, 0] = -1
    link[source, 1] = -1
    waiting = 1
    here = 0
    base = np.int32(0)
    while waiting:
        vertex = first[here]
        if vertex < 0:
            here = here + 1 if here + 1 < ring else 0
            base += 1
            continue
        after = link[vertex, 1]
        first[here] = after
        if after >= 0:
            link[after, 0] = -1
        waiting -= 1
        for e in range(offsets[vertex], offsets[vertex + 1]):
            target = targets[e]
            offer = base + steps[e]
            old = distance[target]
            if offer >= old:
                continue
            distance[target] = offer
            if old == UNREACHED:
                waiting += 1
            else:
                before = link[target, 0]
                after = link[target, 1]
                if before >= 0:
                    link[before, 1] = after
                else:
                    left = here + (old - base)
                    first[left - ring if left >= ring else left] = after
                if after >= 0:
                    link[after, 0] = before
            new = here + steps[e]
            if new >= ring:
                new -= ring
            head = first[new]
            first[new] = target
            link[target, 0] = -1
            link[target, 1] = head
            if head >= 0:
                link[head, 0] = target


@njit(cache=True, nogil=True)
def buckets(
    offsets: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
    source: int,
    distance: NDArray[np.float64],
    width: float,
    ring: int,
    following: NDArray[np.int32],
    preceding: NDArray[np.int32],
    bucket: NDArray[np.int32],
) -> None:
    """Label-correcting over a ring of buckets, each a doubly linked list; `distance` comes as inf, `bucket` as -1.

    A vertex can be taken out and come back (weights below the width), so here it is written down where it is.
    """
    first = np.full(ring, -1, np.int32)
    per_width = 1.0 / width
    distance[source] = 0.0
    first[0] = source
    following[source] = -1
    preceding[source] = -1
    bucket[source] = 0
    waiting = 1
    here = 0
    while waiting:
        vertex = first[here]
        if vertex < 0:
            here = here + 1 if here + 1 < ring else 0
            continue
        after = following[vertex]
        first[here] = after
        if after >= 0:
            preceding[after] = -1
        bucket[vertex] = -1
        waiting -= 1
        base = distance[vertex]
        for e in range(offsets[vertex], offsets[vertex + 1]):
            target = targets[e]
            offer = base + weights[e]
            if offer < distance[target]:
                distance[target] = offer
                new = np.int64(offer * per_width) % ring
                old = bucket[target]
                if old == new:
                    continue
                if old >= 0:
                    before = preceding[target]
                    after = following[target]
                    if before >= 0:
                        following[before] = after
                    else:
                        first[old] = after
                    if after >= 0:
                        preceding[after] = before
                else:
                    waiting += 1
                head = first[new]
                first[new] = target
                following[target] = head
                preceding[target] = -1
                if head >= 0:
                    preceding[head] = target
                bucket[target] = new
