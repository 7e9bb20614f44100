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
from numpy.typing import NDArray

from . import oracle_kernel as kernel
from .edges import EdgeList
from .oracle_kernel import UNREACHED

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
    kernel.fill_rows(src, dst, edges.weight, offsets, targets, weights)
    steps = None
    if kernel.are_steps(weights, min(_GREATEST_STEP, UNREACHED // max(len(ids), 1))):
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
        kernel.heap(graph.offsets, graph.targets, graph.weights, start, distance, *heap)
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
        steps = np.full(count, UNREACHED, np.int32)
        if start >= 0:
            ring = int(graph.steps.max(initial=0)) + 1
            kernel.dial(
                graph.offsets, graph.targets, graph.steps, start, steps, ring, np.empty((count, 2), np.int32)
            )
        return Distances(graph.ids, np.where(steps == UNREACHED, np.inf, steps), source)
    greatest = kernel.greatest_finite(graph.weights)
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
        kernel.buckets(graph.offsets, graph.targets, graph.weights, start, distance, width, ring, *links)
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
