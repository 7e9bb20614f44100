"""The compiled loops of a main loop that learns clusters: which live rows are drawn, and what rows that are looked at change.

Each row is counted for one cluster at most, which is noted; so what it brought can be taken away again when its point goes, or when it is
nearer to another centroid. Rows are read as in `cluster_kernel`, which comes before.
"""

import numba as nb
import numpy as np

from .cluster_kernel import nearest_of
from .dense_rows_kernel import add_plainly, squares_to

MOST_TRIES = 64  # for each row that is wanted, where most rows are of no live point


@nb.njit(cache=True)
def random_word(seed, shard, iteration, place):
    """64 random bits for a counter: rounds of SplitMix64."""
    word = np.uint64(seed)
    for part in (shard, iteration, place):
        word = (word ^ np.uint64(part)) + np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
    return word


@nb.njit(cache=True, nogil=True)
def draw_live(born, seed, shard, iteration, rows):
    """Draw rows of live points, each as likely as any other, with repetition; returns how many were found.

    Parameters
    ----------
    born : int64[used]
        Positive: the row is of a live point.
    seed, shard, iteration : int
        What is drawn depends on them, and on which rows are live.
    rows : int32[wanted]
        Written.
    """
    found = 0
    used = np.uint64(born.size)
    for place in range(MOST_TRIES * rows.size):
        if found == rows.size or born.size == 0:
            break
        row = np.int64(
            ((random_word(seed, shard, iteration, place) >> np.uint64(32)) * used) >> np.uint64(32)
        )
        if born[row] > 0:
            rows[found] = row
            found += 1
    return found


@nb.njit(cache=True)
def count_row(points, row, weight, sign, cluster, width, changes):
    """Count a row for a cluster, or with sign -1 no more: its weighted features, its weight, and that it is one."""
    base = cluster * (width + 2)
    add_plainly(points, row, sign * weight, changes, base)
    changes[base + width] += sign * weight
    changes[base + width + 1] += sign


@nb.njit(cache=True, nogil=True)
def look_at(points, rows, weights, centroids, across, norms, which, changes):
    """Count rows for the clusters that they are nearest to; returns (inertia before that, weight).

    Parameters
    ----------
    points
        See `dense_rows_kernel`, as for `across` and `norms`.
    rows : int32[n]
    weights : float64[used]
    centroids : float64[k, d]
    which : int32[used]
        The cluster that each row is counted for, -1: none; written.
    changes : float64[k * (d + 2)]
        Of each cluster what changed: sums of features, weight, number of points. Added to.
    """
    width = centroids.shape[1]
    squares = np.empty(norms.size)
    inertia, weight = 0.0, 0.0
    for position in range(rows.size):
        row = np.int64(rows[position])
        squares_to(points, row, across, norms, squares)
        new, square, _ = nearest_of(squares, centroids.shape[0])
        inertia += weights[row] * square
        weight += weights[row]
        old = np.int64(which[row])
        if old != new:
            if old >= 0:
                count_row(points, row, weights[row], -1.0, old, width, changes)
            count_row(points, row, weights[row], 1.0, new, width, changes)
            which[row] = new
    return inertia, weight


@nb.njit(cache=True, nogil=True)
def take_away(points, rows, weights, width, which, changes):
    """Count rows for no cluster any more; see `look_at`."""
    for position in range(rows.size):
        row = np.int64(rows[position])
        old = np.int64(which[row])
        if old >= 0:
            count_row(points, row, weights[row], -1.0, old, width, changes)
            which[row] = -1


@nb.njit(cache=True, nogil=True)
def count_as_known(points, rows, weights, width, known, which, changes):
    """Count rows for the clusters that somebody else found, int32[used]; see `look_at`."""
    for position in range(rows.size):
        row = np.int64(rows[position])
        which[row] = known[row]
        count_row(points, row, weights[row], 1.0, np.int64(known[row]), width, changes)
