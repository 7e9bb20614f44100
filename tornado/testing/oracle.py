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
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: NDArray[np.float64]

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
        return BuiltGraph(
            np.arange(edges.vertices, dtype=np.int64),
            *_rows(edges.src, edges.dst, edges.weight, edges.vertices),
        )
    ids = edges.ids()
    src = np.searchsorted(ids, edges.src).astype(np.int32)
    dst = np.searchsorted(ids, edges.dst).astype(np.int32)
    return BuiltGraph(ids, *_rows(src, dst, edges.weight, len(ids)))


def heap_dijkstra(graph: BuiltGraph, source: int) -> Distances:
    """Compute exact distances with a binary heap.

    Parameters
    ----------
    graph : BuiltGraph
        Weights ≥ 0; not written.
    source : int
        An id; the graph need not have it.
    """
    values = _heap(graph.offsets, graph.targets, graph.weights, graph.dense(source))
    return Distances(graph.ids, values, source)


def bucket_queue(graph: BuiltGraph, source: int, *, width: float | None = None) -> Distances:
    """Compute exact distances with a ring of buckets.

    Parameters
    ----------
    graph : BuiltGraph
        Weights ≥ 0; not written.
    source : int
        An id; the graph need not have it.
    width : float, optional
        Distances that fall into one bucket. Left out: 1 where every weight is an integer up to 4,096 (Dial: each vertex is
        settled once), otherwise a 64th of the greatest finite weight.
    """
    greatest = _greatest_finite(graph.weights)
    if width is None:
        integral = greatest <= 4096 and bool(np.all(graph.weights == np.floor(graph.weights)))
        width = 1.0 if integral or greatest == 0.0 else max(greatest / 64, 1e-300)
    if not width > 0.0 or greatest / width > 1e6:
        raise ValueError(
            f"width is {width} but must be above 0 and at least a millionth of the greatest weight {greatest}"
        )
    values = _buckets(
        graph.offsets, graph.targets, graph.weights, graph.dense(source), width, int(greatest / width) + 3
    )
    return Distances(graph.ids, values, source)


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


@njit(cache=True)
def _rows(
    src: NDArray[np.integer], dst: NDArray[np.integer], weight: NDArray[np.number], vertices: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    offsets = np.zeros(vertices + 1, np.int64)
    for e in range(len(src)):
        offsets[src[e] + 1] += 1
    for v in range(vertices):
        offsets[v + 1] += offsets[v]
    free = offsets[:-1].copy()
    targets = np.empty(len(src), np.int32)
    weights = np.empty(len(src), np.float64)
    for e in range(len(src)):
        at = free[src[e]]
        free[src[e]] = at + 1
        targets[at] = dst[e]
        weights[at] = weight[e]
    return offsets, targets, weights


@njit(cache=True)
def _greatest_finite(weights: NDArray[np.float64]) -> float:
    greatest = 0.0
    for weight in weights:
        if weight > greatest and weight < np.inf:
            greatest = weight
    return greatest


@njit(cache=True)
def _heap(
    offsets: NDArray[np.int64], targets: NDArray[np.int32], weights: NDArray[np.float64], source: int
) -> NDArray[np.float64]:
    """Dijkstra with an indexed binary heap."""
    vertices = len(offsets) - 1
    distance = np.full(vertices, np.inf)
    if source < 0:
        return distance
    heap_key = np.empty(vertices, np.float64)
    heap_vertex = np.empty(vertices, np.int32)
    place = np.full(vertices, -1, np.int32)
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
    return distance


@njit(cache=True)
def _buckets(
    offsets: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
    source: int,
    width: float,
    ring: int,
) -> NDArray[np.float64]:
    """Label-correcting over a ring of buckets, each a doubly linked list through the vertices."""
    vertices = len(offsets) - 1
    distance = np.full(vertices, np.inf)
    if source < 0:
        return distance
    first = np.full(ring, -1, np.int32)
    following = np.empty(vertices, np.int32)
    preceding = np.empty(vertices, np.int32)
    bucket = np.full(vertices, -1, np.int32)
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
    return distance
