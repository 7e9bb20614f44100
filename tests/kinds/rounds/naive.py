"""What programs of rounds compute, as plainly as their definitions are written (LDBC Graphalytics, CDLP): no state, no queue."""

import math
from collections import Counter

import numpy as np


def neighbours(edges, vertices, *, both_ways):
    """Whom each vertex hears, once for every edge; `edges` are weights by source and target."""
    heard = {vertex: [] for vertex in vertices}
    for (source, target), weights in edges.items():
        heard[target] += [source] * len(weights)
        if both_ways:
            heard[source] += [target] * len(weights)
    return heard


def most_common(labels, otherwise):
    """The label that is there most often, of several such the least."""
    counts = Counter(labels)
    most = max(counts.values(), default=0)
    return min((label for label, count in counts.items() if count == most), default=otherwise)


def labels_after(heard, initial, rounds):
    """The labels by round, from round 0 on."""
    found = [dict(initial)]
    for _ in range(rounds):
        before = found[-1]
        found.append(
            {
                vertex: most_common([before[other] for other in others], before[vertex])
                for vertex, others in heard.items()
            }
        )
    return found


def propagated(edges, vertices, rounds, *, both_ways=True, initial=None):
    """The label of every vertex after so many rounds of label propagation."""
    heard = neighbours(edges, vertices, both_ways=both_ways)
    initial = initial or {vertex: vertex for vertex in vertices}
    return labels_after(heard, initial, rounds)[-1]


def propagated_by_arrays(src, dst, ids, rounds):
    """The same along both directions, for graphs that are too large for the above: int64[n], a label for each of `ids`.

    Parameters
    ----------
    src, dst
        The ends of all edges.
    ids
        Of all vertices, ascending.
    """
    hearing = np.searchsorted(ids, np.concatenate([dst, src]))
    heard = np.searchsorted(ids, np.concatenate([src, dst]))
    labels = ids.copy()
    for _ in range(rounds):
        pairs, counts = np.unique(np.column_stack([hearing, labels[heard]]), axis=0, return_counts=True)
        order = np.lexsort((pairs[:, 1], -counts, pairs[:, 0]))
        who, first = np.unique(pairs[order, 0], return_index=True)
        labels = labels.copy()
        labels[who] = pairs[order, 1][first]
    return labels


def pageranks(edges, vertices, rounds, damping=0.85):
    """PageRank after so many rounds, as LDBC Graphalytics writes it down (PR)."""
    out = {vertex: [] for vertex in vertices}
    for (source, target), weights in edges.items():
        out[source] += [target] * len(weights)
    ranks = dict.fromkeys(vertices, 1.0 / max(1, len(vertices)))
    for _ in range(rounds):
        dangling = math.fsum(ranks[vertex] for vertex in vertices if not out[vertex])
        before, count = ranks, len(vertices)
        ranks = dict.fromkeys(vertices, (1.0 - damping) / count + damping * dangling / count)
        for vertex, targets in out.items():
            for target in targets:
                ranks[target] += damping * before[vertex] / len(targets)
    return ranks


def pageranks_by_arrays(src, dst, ids, rounds, damping=0.85):
    """The same for graphs that are too large for the above: float64[n], a rank for each of `ids`."""
    sources, targets, count = np.searchsorted(ids, src), np.searchsorted(ids, dst), len(ids)
    degrees = np.bincount(sources, minlength=count)
    ranks = np.full(count, 1.0 / count)
    for _ in range(rounds):
        shares = np.bincount(targets, weights=ranks[sources] / degrees[sources], minlength=count)
        ranks = (1.0 - damping) / count + damping * (shares + ranks[degrees == 0].sum() / count)
    return ranks
