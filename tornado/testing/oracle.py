"""Exact shortest paths, three times and each as plainly as it goes: what answers and speeds are compared with.

`networkx_distances` is the reference nobody here wrote. `heap_dijkstra` (Dijkstra 1959, with an indexed
binary heap) and
`bucket_queue` (Dial 1969 for integer weights; a bucket wider than one weight step is a single-threaded delta-stepping, Meyer
and Sanders 2003) are compiled, run on one thread over compressed rows, and know nothing of loops or streams: the COST baseline
(McSherry, Isard, Murray, "Scalability! But at what COST?", HotOS 2015).

All three agree *bit for bit* with each other and with any label-correcting method: the distance of a vertex is the least, over
all paths from the source, of the path's weights added left to right in float64. Rounded addition of a weight ≥ 0 is monotone
and never decreases its left argument, so Dijkstra's argument holds for rounded sums too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .edges import EdgeList

_INT32_MAX = 2**31 - 1
_GREATEST_STEP = 4_096


@dataclass(frozen=True, slots=True)
class BuiltGraph:
    """Out-edges in compressed rows over dense vertex numbers.

    Parameters
    ----------
    ids : int64 array, shape (n,)
        Id of each dense number, ascending.
    offsets : int64 array, shape (n + 1,)
        Out-edges of vertex v are at offsets[v]:offsets[v + 1].
    targets : int32 array, shape (m,)
        Dense number of the target of each edge.
    weights : float64 array, shape (m,)
        Weight of each edge.
    steps : int16 array, shape (m,), optional
        The weights once more, where all of them are integers from 0 to 4,096 and no path can exceed int32.
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: NDArray[np.float64]
    steps: NDArray[np.int16] | None

    def dense(self, vertex: int) -> int:
        """Return the dense number of an id, -1 where the graph does not have it."""
        at = int(np.searchsorted(self.ids, vertex))
        return at if at < len(self.ids) and self.ids[at] == vertex else -1


@dataclass(frozen=True, slots=True)
class Distances:
    """Distance of every vertex of a graph from one source; inf where unreachable.

    Parameters
    ----------
    ids : int64 array, shape (n,)
        Vertices, ascending.
    values : float64 array, shape (n,)
        Their distances.
    source : int
        Where the paths begin: at distance 0, also where no edge names it.
    """

    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    source: int

    def lookup(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances of any ids, inf for those no edge names (0 for the source)."""
        wanted = np.asarray(ids, np.int64)
        out = np.full(len(wanted), np.inf)
        if len(self.ids):
            at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
            known = self.ids[at] == wanted
            out[known] = self.values[at[known]]
        out[wanted == self.source] = 0.0
        return out


def build(edges: EdgeList) -> BuiltGraph:
    """Put an edge list into compressed rows (a counting sort; rows keep the order of the list).

    Ids that are promised to lie in 0..vertices-1 are their own dense numbers; others are sorted first.
    """
    if edges.vertices:
        ids = np.arange(edges.vertices, dtype=np.int64)
        src, dst = edges.src, edges.dst
    else:
        ids = edges.ids()
        src = np.searchsorted(ids, edges.src).astype(np.int32)
        dst = np.searchsorted(ids, edges.dst).astype(np.int32)
    offsets = np.zeros(len(ids) + 1, np.int64)
    targets = np.empty(len(edges), np.int32)
    # Large arrays are NumPy's, here and below: it asks for huge pages, Numba's allocator does not (a third of the time).
    weights = np.empty(len(edges), np.float64)
    _fill_rows(src, dst, edges.weight, offsets, targets, weights)
    steps = None
    if _are_steps(weights, min(_GREATEST_STEP, _INT32_MAX // max(len(ids), 1))):
        steps = np.empty(len(edges), np.int16)
        steps[:] = weights
    return BuiltGraph(ids, offsets, targets, weights, steps)


def heap_dijkstra(graph: BuiltGraph, source: int) -> Distances:
    """Compute exact distances with a binary heap.

    Parameters
    ----------
    graph : BuiltGraph
        Weights ≥ 0; not written.
    source : int
        An id; the graph need not have it.
    """
    count = len(graph.ids)
    distance = np.full(count, np.inf)
    start = graph.dense(source)
    if start >= 0:
        heap = (np.empty(count, np.float64), np.empty(count, np.int32), np.full(count, -1, np.int32))
        _heap(graph.offsets, graph.targets, graph.weights, start, distance, *heap)
    return Distances(graph.ids, distance, source)


def bucket_queue(graph: BuiltGraph, source: int, *, width: float | None = None) -> Distances:
    """Compute exact distances with a ring of buckets.

    Parameters
    ----------
    graph : BuiltGraph
        Weights ≥ 0; not written.
    source : int
        An id; the graph need not have it.
    width : float, optional
        Distances that fall into one bucket. Left out: 1 where every weight is a small integer (Dial: each vertex is settled
        once, and distances are integers too), otherwise a 64th of the greatest finite weight.
    """
    count = len(graph.ids)
    start = graph.dense(source)
    if width is None and graph.steps is not None:
        steps = np.full(count, _INT32_MAX, np.int32)
        if start >= 0:
            ring = int(graph.steps.max(initial=0)) + 1
            _dial(
                graph.offsets, graph.targets, graph.steps, start, steps, ring, np.empty((count, 2), np.int32)
            )
        return Distances(graph.ids, np.where(steps == _INT32_MAX, np.inf, steps), source)
    greatest = _greatest_finite(graph.weights)
    if width is None:
        width = max(greatest / 64, 1e-300)
    if not width > 0.0 or greatest / width > 1e6:
        raise ValueError(
            f"width is {width} but must be above 0 and at least a millionth of the greatest weight {greatest}"
        )
    distance = np.full(count, np.inf)
    if start >= 0:
        ring = int(greatest / width) + 3
        links = (np.empty(count, np.int32), np.empty(count, np.int32), np.full(count, -1, np.int32))
        _buckets(graph.offsets, graph.targets, graph.weights, start, distance, width, ring, *links)
    return Distances(graph.ids, distance, source)


def networkx_distances(edges: EdgeList, source: int) -> Distances:
    """Compute exact distances with networkx, parallel edges and all: slow, and independent of everything here.

    Parameters
    ----------
    edges : EdgeList
        Weights ≥ 0.
    source : int
        An id; no edge need name it.
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    graph.add_node(source)
    triples = zip(
        edges.src.tolist(), edges.dst.tolist(), edges.weight.astype(np.float64).tolist(), strict=True
    )
    graph.add_weighted_edges_from(triples)
    found = nx.single_source_dijkstra_path_length(graph, source)
    ids = edges.ids()
    values = np.array([found.get(vertex, np.inf) for vertex in ids.tolist()], np.float64)
    return Distances(ids, values, source)


def exact_distances(edges: EdgeList, source: int) -> Distances:
    """Build the graph and compute exact distances with the compiled heap: the oracle of tests too big for networkx."""
    return heap_dijkstra(build(edges), source)


@njit(cache=True, nogil=True)
def _fill_rows(
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
def _are_steps(weights: NDArray[np.float64], greatest: int) -> bool:
    others = 0
    for weight in weights:
        others += not (0.0 <= weight <= greatest and weight == np.floor(weight))
    return others == 0


@njit(cache=True, nogil=True)
def _greatest_finite(weights: NDArray[np.float64]) -> float:
    greatest = 0.0
    for weight in weights:
        if weight > greatest and weight < np.inf:
            greatest = weight
    return greatest


@njit(cache=True, nogil=True)
def _heap(
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
def _dial(
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
            if old == _INT32_MAX:
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
def _buckets(
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
