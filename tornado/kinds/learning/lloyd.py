"""Lloyd's iterations with the bounds of Hamerly (2010): the assignment is that of plain Lloyd, ties go to the least cluster.

Bounds are distances, widened by some roundings, so a point is skipped only where its centre is surely the nearest alone.
Sums are of all rows anew in each pass, in the order of rows, so they owe nothing to what was assigned before.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

_WIDER = 1e-9


@njit(nogil=True)
def assign(features, live, centres, moved, which, upper, lower, sums, counts):  # type: ignore[no-untyped-def]
    """Assign the live rows of a shard to their nearest centres; return how many changed.

    Parameters
    ----------
    features, centres, moved
        [n, d], float64 [k, d], and float64 [k]: how far each centre went since the last pass.
    which, upper, lower
        int64 [n] (-1 before the first pass), float64 [n]; written.
    sums, counts
        float64 [k, d], int64 [k], which are added to.
    """
    clusters, columns = centres.shape
    furthest, changed = moved.max(), 0
    for row in live:
        old = which[row]
        if old >= 0:
            upper[row] = (upper[row] + moved[old]) * (1.0 + _WIDER)
            lower[row] = (lower[row] - furthest) * (1.0 - _WIDER)
        if old < 0 or not upper[row] < lower[row]:
            nearest, first, second = 0, math.inf, math.inf
            for cluster in range(clusters):
                square = 0.0
                for column in range(columns):
                    square += (features[row, column] - centres[cluster, column]) ** 2
                if square < first:
                    nearest, first, second = cluster, square, first
                elif square < second:
                    second = square
            which[row] = nearest
            upper[row], lower[row] = math.sqrt(first) * (1.0 + _WIDER), math.sqrt(second) * (1.0 - _WIDER)
            changed += old != nearest
        nearest = which[row]
        counts[nearest] += 1
        for column in range(columns):
            sums[nearest, column] += features[row, column]
    return changed


def centres_of(
    sums: NDArray[np.float64], counts: NDArray[np.int64], centres: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means, and how far each centre went; an empty cluster stays where it is."""
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return means, np.sqrt(((means - centres) ** 2).sum(1)) * (1.0 + _WIDER)
