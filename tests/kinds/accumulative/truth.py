"""What an accumulative program computes, written down plainly: direct solves, powers, and the multigraph that it is of."""

import math
from collections import defaultdict

import numpy as np
from scipy.sparse import csr_array

from tornado.records.operations import INSERT, MENTION, REMOVE, REPLACE


class Multigraph:
    """What records come to: weights by both ends, the oldest first, and all vertices that were named."""

    def __init__(self):
        self.edges = defaultdict(list)
        self.vertices = set()

    def apply(self, batch):
        columns = (batch.src, batch.dst, batch.weight, batch.op)
        for source, target, weight, operation in zip(*(one.tolist() for one in columns), strict=True):
            self.vertices |= {source, target}
            if operation == MENTION:
                continue
            weights = self.edges[source, target]
            if operation == INSERT:
                weights.append(weight)
            elif operation == REPLACE:
                weights[:] = [weight]
            elif operation == REMOVE:
                found = [place for place, one in enumerate(weights) if math.isnan(weight) or one == weight]
                if found:
                    del weights[found[0]]


def pagerank(edges, vertices, damping, personalisation=()):
    """PageRank of each vertex by a direct solve, as networkx defines it; `edges` has weights by both ends."""
    ids = sorted(vertices)
    place = {vertex: index for index, vertex in enumerate(ids)}
    count = len(ids)
    if not count:
        return {}
    matrix = np.zeros((count, count))
    for (source, target), weights in edges.items():
        if weights:
            matrix[place[target], place[source]] += math.fsum(weights)
    totals = matrix.sum(axis=0)
    matrix[:, totals > 0] /= totals[totals > 0]
    named = np.array([personalisation.count(vertex) if personalisation else 1.0 for vertex in ids])
    if not named.any():
        return dict.fromkeys(ids, 0.0)
    named = named / named.sum()
    matrix[:, totals == 0] = named[:, None]
    values = np.linalg.solve(np.eye(count) - damping * matrix, (1 - damping) * named)
    return dict(zip(ids, (values / values.sum()).tolist(), strict=True))


def pagerank_by_powers(edges, ids, damping, personalisation=(), *, within=1e-15):
    """The same for graphs that are too large for that: float64[n], by power iteration with more digits than a float64 has.

    A step brings two vectors closer by the damping, so where one moved by m, at most m * d / (1 - d) is left: that comes below `within`.

    Parameters
    ----------
    edges
        An `EdgeList`; parallel ones add up.
    ids
        Of all vertices, ascending.
    """
    count = len(ids)
    targets, sources = np.searchsorted(ids, edges.dst), np.searchsorted(ids, edges.src)
    weight = edges.weight.astype(np.longdouble)
    totals = np.zeros(count, np.longdouble)
    np.add.at(totals, sources, weight)
    real = weight > 0
    shares = weight[real] / totals[sources[real]]
    matrix = csr_array((shares, (targets[real], sources[real])), shape=(count, count))
    named = np.ones(count, np.longdouble)
    if personalisation:
        named = np.array([personalisation.count(vertex) for vertex in ids.tolist()], np.longdouble)
    if not named.any():
        return np.zeros(count)
    named /= named.sum()
    values, moved = named, math.inf
    while moved * damping > within * (1 - damping):
        before = values
        values = damping * (matrix @ values + values[totals == 0].sum() * named) + (1 - damping) * named
        values /= values.sum()
        moved = np.abs(values - before).sum()
    return values.astype(np.float64)


def distance(found, expected):
    """The L1 distance of values by vertex, which are of the same vertices."""
    assert found.keys() == expected.keys()
    return math.fsum(abs(found[vertex] - expected[vertex]) for vertex in expected)


def walk_matrix(edges, vertices, factor, absorption=None):
    """The ids in order, and M of x = base + M x: what a weight of 1 brings, over the out-weight and the absorption where there is one."""
    ids = sorted(vertices)
    place = {vertex: index for index, vertex in enumerate(ids)}
    matrix = np.zeros((len(ids), len(ids)))
    for (source, target), weights in edges.items():
        if weights:
            matrix[place[target], place[source]] += math.fsum(weights)
    if absorption is not None:
        matrix /= matrix.sum(axis=0) + absorption
    return ids, factor * matrix


def spectral_radius(edges, vertices, factor, absorption=None):
    """The greatest eigenvalue of M; values have an end where it is below 1."""
    _, matrix = walk_matrix(edges, vertices, factor, absorption)
    return float(abs(np.linalg.eigvals(matrix)).max()) if len(matrix) else 0.0


def walks(edges, vertices, factor, base=1.0, absorption=None):
    """Sums over walks by a direct solve; they are that only where the spectral radius is below 1."""
    ids, matrix = walk_matrix(edges, vertices, factor, absorption)
    if not ids:
        return {}
    values = np.linalg.solve(np.eye(len(ids)) - matrix, np.full(len(ids), base))
    return dict(zip(ids, values.tolist(), strict=True))


def share_off(found, expected):
    """The greatest error of a value, as a share of what was found."""
    assert found.keys() == expected.keys()
    return max((abs(found[vertex] - expected[vertex]) / found[vertex] for vertex in expected), default=0.0)
