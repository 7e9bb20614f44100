"""What counting programs count, as plainly as LDBC Graphalytics writes it down (LCC): no order, no lists that meet."""

from itertools import permutations

import numpy as np
from scipy.sparse import csr_array


def among_neighbours(edges, vertices):
    """How many neighbours every vertex has, and how many edges there are among them; `edges` are weights by source and target."""
    linked = {ends for ends, weights in edges.items() if weights and ends[0] != ends[1]}
    neighbours = {vertex: set() for vertex in vertices}
    for source, target in linked:
        neighbours[source].add(target)
        neighbours[target].add(source)
    return {
        vertex: (len(others), sum(pair in linked for pair in permutations(others, 2)))
        for vertex, others in neighbours.items()
    }


def clustering(edges, vertices):
    """The local clustering coefficient of every vertex."""
    return {
        vertex: inside / (count * (count - 1)) if count > 1 else 0.0
        for vertex, (count, inside) in among_neighbours(edges, vertices).items()
    }


def clustering_by_arrays(src, dst, ids):
    """The same for graphs that are too large for the above: float64[n], a coefficient for each of `ids`.

    With A the matrix of the edges and U that of neighbours, the edges among those of v are ``(U A U)[v, v]``, which are whole numbers.
    """
    sources, targets, count = np.searchsorted(ids, src), np.searchsorted(ids, dst), len(ids)
    apart = sources != targets
    ends = np.unique(np.column_stack([sources[apart], targets[apart]]), axis=0)
    linked = csr_array((np.ones(len(ends), np.int64), (ends[:, 0], ends[:, 1])), shape=(count, count))
    near = linked.maximum(linked.T).tocsr()
    inside = (near @ linked).multiply(near).sum(axis=1)
    degrees = near.sum(axis=1)
    pairs = degrees * (degrees - 1)
    return np.where(pairs > 0, inside / np.maximum(pairs, 1), 0.0)
