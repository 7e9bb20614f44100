"""What recomputes ranks: a power iteration as plain and as fast as one thread of Numba makes it, which knows nothing of loops.

It pulls over compressed lists of in-edges, in 32 bits, with the reciprocal of each out-degree at hand; one pass over the edges is all
that an iteration reads of them. Vertices have the numbers from 0, which nobody has to look up; where some ids have no edge and are no
vertices, `joined_vertices` gives the others such numbers. The lists are made by a counting sort.

*When it stops.* By its own bound: a step of L1 length s is at most d / (1 - d) * s away from the end, so it stops when that is at most
the tolerance. It knows then what an answer of ours knows: a bound that holds. How many iterations would have done, if it could know
the exact ranks, `iterations_needed` finds out by a reference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tornado.symbol_names import njit
from tornado.testing import EdgeList

DAMPING = 0.85
_REFERENCE = 1e-13
_MOST_ITERATIONS = 1_000
_ANYWHERE = -1


@dataclass(frozen=True, slots=True)
class InLists:
    """In-edges in compressed rows.

    Parameters
    ----------
    start : int32 array, shape (n + 1,)
        In-edges of vertex v are at start[v]:start[v + 1].
    producer : int32 array, shape (m,)
        Where each comes from.
    inverse : float64 array, shape (n,)
        1 over the out-degree of each vertex, 0 where it has no out-edge.
    """

    start: NDArray[np.int32]
    producer: NDArray[np.int32]
    inverse: NDArray[np.float64]


def joined_vertices(edges: EdgeList) -> tuple[NDArray[np.int64], EdgeList]:
    """Leave out the ids that no edge names: the others, in their order, get the numbers from 0.

    Parameters
    ----------
    edges : EdgeList
        Its ids are below `edges.vertices`.

    Returns
    -------
    ids : int64 array, shape (n,)
        The id of each number, ascending.
    joined : EdgeList
        The same edges in the same order between numbers, int32, each at an end of some edge.
    """
    is_named = np.zeros(edges.vertices, np.bool_)
    is_named[edges.src] = True
    is_named[edges.dst] = True
    ids = np.flatnonzero(is_named)
    number = np.cumsum(is_named, dtype=np.int32) - np.int32(1)
    return ids, EdgeList(number[edges.src], number[edges.dst], edges.weight, len(ids))


def in_lists(edges: EdgeList) -> InLists:
    """Build the lists of edges whose ids are the numbers below `edges.vertices`."""
    return InLists(*_in_lists(edges.src, edges.dst, edges.vertices))


def ranks(
    lists: InLists,
    tolerance: float,
    begin: NDArray[np.float64] | None = None,
    seed: int | None = None,
    *,
    most: int = _MOST_ITERATIONS,
) -> tuple[NDArray[np.float64], int]:
    """Iterate to the tolerance; return the ranks, which sum to 1, and the number of iterations.

    Parameters
    ----------
    lists : InLists
        The graph.
    tolerance : float
        What the bound has to come to; see the module.
    begin : float64 array, optional
        Ranks to begin with; not written. Else all are equal, or the seed has everything.
    seed : int, optional
        The one vertex that the surfer goes to in place of anywhere.
    most : int
        So many iterations at most.
    """
    count = len(lists.inverse)
    if begin is not None:
        x = begin.copy()
    elif seed is None:
        x = np.full(count, 1.0 / count)
    else:
        x = np.zeros(count)
        x[seed] = 1.0
    goes_to = _ANYWHERE if seed is None else seed
    return x, _iterate(
        lists.start,
        lists.producer,
        lists.inverse,
        x,
        goes_to,
        DAMPING,
        tolerance,
        min(most, _MOST_ITERATIONS),
    )


def exact_ranks(lists: InLists, *, seed: int | None = None) -> NDArray[np.float64]:
    """Return the ranks as near as float64 goes: the bound is 1e-13."""
    return ranks(lists, _REFERENCE, seed=seed)[0]


def iterations_needed(lists: InLists, tolerance: float, exact: NDArray[np.float64]) -> int:
    """Return after how many iterations from the beginning the ranks are that near to the exact ones."""
    x, _ = ranks(lists, 0.0, most=0)
    count = 0
    while np.abs(x - exact).sum() > tolerance:
        x, _ = ranks(lists, 0.0, x, most=1)
        count += 1
    return count


@njit(cache=True, nogil=True)
def _in_lists(
    src: NDArray[np.int32], dst: NDArray[np.int32], vertices: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    start = np.zeros(vertices + 1, np.int32)
    degree = np.zeros(vertices, np.int32)
    for edge in range(len(src)):
        start[dst[edge] + 1] += 1
        degree[src[edge]] += 1
    for vertex in range(vertices):
        start[vertex + 1] += start[vertex]
    free = start[:-1].copy()
    producer = np.empty(len(src), np.int32)
    for edge in range(len(src)):
        at = free[dst[edge]]
        free[dst[edge]] = at + 1
        producer[at] = src[edge]
    inverse = np.zeros(vertices)
    for vertex in range(vertices):
        if degree[vertex] > 0:
            inverse[vertex] = 1.0 / degree[vertex]
    return start, producer, inverse


@njit(cache=True, nogil=True, fastmath=True)
def _pulled(
    first: int,
    last: int,
    base: float,
    start: NDArray[np.int32],
    producer: NDArray[np.int32],
    inverse: NDArray[np.float64],
    now: NDArray[np.float64],
    following: NDArray[np.float64],
    x: NDArray[np.float64],
    damping: float,
) -> tuple[float, float]:
    """Give the vertices first..last their next ranks; return how far these are, and what those without an out-edge have."""
    step = 0.0
    dangling = 0.0
    for vertex in range(first, last):
        total = 0.0
        for at in range(start[vertex], start[vertex + 1]):
            total += now[producer[at]]
        value = base + damping * total
        step += abs(value - x[vertex])
        x[vertex] = value
        following[vertex] = value * inverse[vertex]
        if inverse[vertex] == 0.0:
            dangling += value
    return step, dangling


@njit(cache=True, nogil=True, fastmath=True)
def _iterate(
    start: NDArray[np.int32],
    producer: NDArray[np.int32],
    inverse: NDArray[np.float64],
    x: NDArray[np.float64],
    seed: int,
    damping: float,
    tolerance: float,
    most: int,
) -> int:
    """Iterate on `x`, which is written; return how often."""
    count = len(x)
    now = x * inverse
    following = np.empty(count)
    dangling = 0.0
    for vertex in range(count):
        if inverse[vertex] == 0.0:
            dangling += x[vertex]
    for iteration in range(most):
        given = 1.0 - damping + damping * dangling
        if seed < 0:
            step, dangling = _pulled(
                0, count, given / count, start, producer, inverse, now, following, x, damping
            )
        else:
            before, lost_before = _pulled(0, seed, 0.0, start, producer, inverse, now, following, x, damping)
            here, lost_here = _pulled(
                seed, seed + 1, given, start, producer, inverse, now, following, x, damping
            )
            after, lost_after = _pulled(
                seed + 1, count, 0.0, start, producer, inverse, now, following, x, damping
            )
            step, dangling = before + here + after, lost_before + lost_here + lost_after
        now, following = following, now
        if step * damping / (1.0 - damping) <= tolerance:
            return iteration + 1
    return most
