"""PageRank by power iteration, compiled, on one thread, as plainly as it goes: what recomputing the ranks costs.

Pull over compressed rows of in-edges that carry no weights, ids for dense numbers. It ends when the iteration itself proves the distance
from the limit: a step shrinks L1 distances by the damping d, so after a step that moved the vector by δ the limit is within
δ·d/(1 − d). The certificate of an answer is of the same kind, so equal tolerances ask for the same.
"""  # noqa: RUF002  # the minus sign of a formula

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tornado.testing import EdgeList

DAMPING = 0.85
_MOST_STEPS = 1_000


@dataclass(frozen=True, slots=True)
class InRows:
    """In-edges in compressed rows; ids are their own numbers.

    Parameters
    ----------
    offsets : int64 array, shape (n + 1,)
        In-edges of vertex v are at offsets[v]:offsets[v + 1].
    sources : int32 array, shape (m,)
        Where each begins.
    degrees : int32 array, shape (n,)
        Out-edges of each vertex.
    is_seen : bool array, shape (n,)
        Whether any edge names the vertex: ids that none names are no vertices.
    """

    offsets: NDArray[np.int64]
    sources: NDArray[np.int32]
    degrees: NDArray[np.int32]
    is_seen: NDArray[np.bool_]


def build_in_rows(edges: EdgeList) -> InRows:
    """Put an edge list into compressed rows by a counting sort; its ids lie in 0..vertices-1."""
    count = edges.vertices
    offsets, degrees = np.zeros(count + 1, np.int64), np.zeros(count, np.int32)
    sources = np.empty(len(edges), np.int32)
    _fill(edges.src, edges.dst, offsets, sources, degrees)
    return InRows(offsets, sources, degrees, (degrees > 0) | (np.diff(offsets) > 0))


def ranks(
    rows: InRows, tolerance: float, begin: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], int]:
    """Return the rank of each id, 0 of those that are no vertices, and the number of steps that took.

    Parameters
    ----------
    tolerance : float
        The L1 distance from the exact ranks is at most that, but for rounding.
    begin : float64 array, shape (n,), optional
        What to begin with, as it was on another graph; not written. Left out: all vertices alike.
    """
    seen = int(rows.is_seen.sum())
    values = np.where(rows.is_seen, 1.0 / max(seen, 1) if begin is None else begin, 0.0)
    total = values.sum()
    if total > 0:
        values /= total
    shares = np.zeros(len(values))
    steps = 0
    while seen and steps < _MOST_STEPS:
        moved = _step(rows.offsets, rows.sources, rows.degrees, rows.is_seen, seen, DAMPING, values, shares)
        steps += 1
        if moved * DAMPING / (1.0 - DAMPING) <= tolerance:
            break
    return values, steps


@njit(cache=True, nogil=True)
def _fill(
    src: NDArray[np.int32],
    dst: NDArray[np.int32],
    offsets: NDArray[np.int64],
    sources: NDArray[np.int32],
    degrees: NDArray[np.int32],
) -> None:
    """Sort edges by where they end. Writes all but `src` and `dst`; `offsets` and `degrees` are zero before."""
    for e in range(len(src)):
        degrees[src[e]] += 1
        offsets[dst[e] + 1] += 1
    for v in range(len(degrees)):
        offsets[v + 1] += offsets[v]
    for e in range(len(src) - 1, -1, -1):
        # Counted down from the end of each row, which leaves the beginnings one place too high.
        offsets[dst[e] + 1] -= 1
        sources[offsets[dst[e] + 1]] = src[e]
    for v in range(len(degrees)):
        offsets[v] = offsets[v + 1]
    offsets[len(degrees)] = len(src)


@njit(cache=True, nogil=True)
def _step(
    offsets: NDArray[np.int64],
    sources: NDArray[np.int32],
    degrees: NDArray[np.int32],
    is_seen: NDArray[np.bool_],
    seen: int,
    damping: float,
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> float:
    """Follow an edge once more; return how far the vector moved in L1. Writes `values` and `shares`."""
    lost = 0.0
    for v in range(len(values)):
        if degrees[v] == 0:
            lost += values[v]
        else:
            shares[v] = values[v] / degrees[v]
    base = (1.0 - damping + damping * lost) / seen
    moved = 0.0
    for v in range(len(values)):
        if is_seen[v]:
            heard = 0.0
            for e in range(offsets[v], offsets[v + 1]):
                heard += shares[sources[e]]
            value = base + damping * heard
            moved += abs(value - values[v])
            values[v] = value
    return moved
