"""The compiled loops behind `paths.py`.

A rule says what a path is worth: `SUM` of its weights, `HOPS`, its `NARROWEST` edge, or `REACH`, whether it is there.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit

SUM, HOPS, NARROWEST, REACH = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def longer(rule: int, value: float, weight: float) -> float:
    """What a path is worth that goes on over one more edge."""
    if rule == SUM:
        return value + weight
    if rule == HOPS:
        return value + 1.0
    if rule == NARROWEST:
        return min(value, weight)
    return value


@njit(cache=True, nogil=True)
def better(rule: int, value: float, other: float) -> bool:
    """Whether a path that is worth `value` is better than one that is worth `other`."""
    return value > other if rule == NARROWEST else value < other


@njit(cache=True, nogil=True)
def look_at_edges(
    rule: int,
    values: NDArray[np.float64],
    labels: NDArray[np.float64],
    takes_any: bool,  # noqa: FBT001
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
    founded: NDArray[np.bool_],
) -> bool:
    """Note the vertices whose value an edge brings from a better one; return whether an edge brings a better value.

    Of equal values the one with the lesser label is better, unless any label will do.
    """
    improves = False
    for e in range(len(sources)):
        value, there = values[sources[e]], values[targets[e]]
        brought = longer(rule, value, weights[e])
        if brought == there:
            label, has = labels[sources[e]], labels[targets[e]]
            if label == has:
                if better(rule, value, there):
                    founded[targets[e]] = True
            elif not takes_any and not label > has:
                improves = True
        elif not better(rule, there, brought):  # so that what is no number does not pass
            improves = True
    return improves


@njit(cache=True, nogil=True)
def count_level_edges(
    rule: int,
    values: NDArray[np.float64],
    labels: NDArray[np.float64],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
    founded: NDArray[np.bool_],
    offsets: NDArray[np.int64],
) -> None:
    """Count, behind the place of each source, the edges that bring its value unchanged to a vertex that lacks support."""
    for e in range(len(sources)):
        u, v = sources[e], targets[e]
        is_level = values[u] == values[v] and labels[u] == labels[v]
        if not founded[v] and is_level and longer(rule, values[u], weights[e]) == values[v]:
            offsets[u + 1] += 1


@njit(cache=True, nogil=True)
def place_level_edges(
    rule: int,
    values: NDArray[np.float64],
    labels: NDArray[np.float64],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
    founded: NDArray[np.bool_],
    following: NDArray[np.int64],
    heads: NDArray[np.int32],
) -> None:
    """Write the ends of those edges, by source."""
    for e in range(len(sources)):
        u, v = sources[e], targets[e]
        is_level = values[u] == values[v] and labels[u] == labels[v]
        if not founded[v] and is_level and longer(rule, values[u], weights[e]) == values[v]:
            heads[following[u]] = v
            following[u] += 1


@njit(cache=True, nogil=True)
def walk(
    founded: NDArray[np.bool_],
    offsets: NDArray[np.int64],
    heads: NDArray[np.int32],
    waiting: NDArray[np.int32],
) -> None:
    """Found whatever a walk over these edges comes to from what is founded."""
    end = 0
    for v in range(len(founded)):
        if founded[v] and offsets[v + 1] > offsets[v]:
            waiting[end] = v
            end += 1
    first = 0
    while first < end:
        u = waiting[first]
        first += 1
        for at in range(offsets[u], offsets[u + 1]):
            v = heads[at]
            if not founded[v]:
                founded[v] = True
                waiting[end] = v
                end += 1


@njit(cache=True, nogil=True)
def count_edges(sources: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
    """Count the edges of each vertex behind its place."""
    for e in range(len(sources)):
        offsets[sources[e] + 1] += 1


@njit(cache=True, nogil=True)
def place_edges(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
    following: NDArray[np.int64],
    heads: NDArray[np.int32],
    lengths: NDArray[np.float64],
) -> None:
    """Write the edges by source."""
    for e in range(len(sources)):
        at = following[sources[e]]
        following[sources[e]] = at + 1
        heads[at] = targets[e]
        lengths[at] = weights[e]


@njit(cache=True, nogil=True)
def search(
    rule: int,
    starts: NDArray[np.int32],
    begin: float,
    offsets: NDArray[np.int64],
    heads: NDArray[np.int32],
    lengths: NDArray[np.float64],
    best: NDArray[np.float64],
    labels: NDArray[np.float64],
) -> None:
    """Write the best value of each vertex over what is worst, and the least label that comes with it: Dijkstra's search, best first.

    Of `labels` those of the starts are there.
    """
    sign = -1.0 if rule == NARROWEST else 1.0
    heap = [(sign * begin, labels[start], np.int32(start)) for start in starts]
    heapq.heapify(heap)
    for start in starts:
        best[start] = begin
    while len(heap) > 0:
        key, label, u = heapq.heappop(heap)
        if sign * key != best[u] or label != labels[u]:
            continue  # found better since
        for at in range(offsets[u], offsets[u + 1]):
            v = heads[at]
            brought = longer(rule, best[u], lengths[at])
            if better(rule, brought, best[v]) or (brought == best[v] and label < labels[v]):
                best[v], labels[v] = brought, label
                heapq.heappush(heap, (sign * brought, label, v))
