"""The compiled loops of k-means over the points of a shard: assigning with bounds, sums, squares, draws.

Bounds are those of Hamerly ("Making k-means even faster", 2010): for each point how far its centroid is at most, and how far any other is
at least. A point is passed over only where its centroid would be the nearest, alone, in whatever way squares are rounded; so what is
assigned is bit for bit what Lloyd's algorithm without bounds assigns. (A bound for each centroid, as Elkan's, takes longer to look at than
eight distances take to work out: 1.3 times at 16 features and 20 clusters.) Of clusters equally far the least has the point.

Rows of points are read by the functions of `dense_rows_kernel` or `sparse_rows_kernel`.
"""

import math

import numba as nb
import numpy as np

from .dense_rows_kernel import (
    add_exactly,
    add_plainly,
    length_of,
    note_greatest,
    note_sizes,
    square_to,
    squares_to,
)

FLOAT32_WIDER = 1.2e-7  # of two roundings to float32
FLOAT64_WIDER = 1e-15
LEAST_FLOAT32 = 1e-37
GREATEST_FLOAT32 = 1e38


@nb.njit(cache=True)
def is_surely_nearest(upper, bound, wider, blur, reach):
    """Whether a centroid at most `upper` away is nearer than one at least `bound` away also where squares are rounded."""
    near, far = upper * (1.0 + wider), bound * (1.0 - wider)
    return far > 0.0 and near * near + blur * (upper + reach) ** 2 < far * far


@nb.njit(cache=True)
def above(distance, drift):
    """A float32 that is not less than a distance without its drift."""
    kept = distance - drift
    return np.float32(kept + abs(kept) * FLOAT32_WIDER + (distance + drift) * FLOAT64_WIDER + LEAST_FLOAT32)


@nb.njit(cache=True)
def below(distance, fall):
    """A float32 that is not greater than a distance with its fall."""
    kept = min(distance + fall, GREATEST_FLOAT32)
    return np.float32(
        kept - abs(kept) * FLOAT32_WIDER - (abs(distance) + fall) * FLOAT64_WIDER - LEAST_FLOAT32
    )


@nb.njit(cache=True)
def nearest_of(squares, clusters):
    """The cluster with the least square, that square and the next one. Without branches, which nobody could guess."""
    nearest, first, second = 0, math.inf, math.inf
    for cluster in range(clusters):
        square = squares[cluster]
        is_less = square < first
        second = min(second, first if is_less else square)
        nearest = cluster if is_less else nearest
        first = square if is_less else first
    return nearest, first, second


@nb.njit(cache=True, nogil=True)
def measure_moves(before, centroids, wider, moved, others):
    """How far each centroid went at most, and for each the farthest that any other one went.

    Parameters
    ----------
    before, centroids : float64[k, d]
    wider : float
        By which part a distance may be rounded.
    moved, others : float64[k]
        Written.
    """
    farthest, next_farthest, who = 0.0, 0.0, -1
    for cluster in range(centroids.shape[0]):
        square = 0.0
        for column in range(centroids.shape[1]):
            difference = centroids[cluster, column] - before[cluster, column]
            square += difference * difference
        moved[cluster] = math.sqrt(square) * (1.0 + wider)
        if moved[cluster] > farthest:
            farthest, next_farthest, who = moved[cluster], farthest, cluster
        else:
            next_farthest = max(next_farthest, moved[cluster])
    others[:] = farthest
    if who >= 0:
        others[who] = next_farthest


@nb.njit(cache=True, nogil=True)
def measure_halves(centroids, wider, halves):
    """Half the distance of each centroid to the nearest other one, at least; float64[k], written."""
    halves[:] = math.inf
    for cluster in range(centroids.shape[0]):
        for other in range(cluster):
            square = 0.0
            for column in range(centroids.shape[1]):
                difference = centroids[cluster, column] - centroids[other, column]
                square += difference * difference
            half = 0.5 * math.sqrt(square) * (1.0 - wider)
            halves[cluster] = min(halves[cluster], half)
            halves[other] = min(halves[other], half)


@nb.njit(cache=True, nogil=True)
def measure_norms(centroids, norms):
    """The squared length of each centroid; float64[at least k], written."""
    for cluster in range(centroids.shape[0]):
        norms[cluster] = 0.0
        for column in range(centroids.shape[1]):
            norms[cluster] += centroids[cluster, column] ** 2


@nb.njit(cache=True, nogil=True)
def find_greatest(points, rows, weights, greatest):
    """Note the greatest |weight * feature| of each feature, and of the weights; float64[d + 1], zeros before."""
    for position in range(rows.size):
        row = rows[position]
        note_greatest(points, row, weights[row], greatest)
        greatest[greatest.size - 1] = max(greatest[greatest.size - 1], weights[row])


@nb.njit(cache=True, nogil=True)
def keep_met(rows, born, met):
    """Let go of rows whose points are other ones than were met; returns how many were, how many of `rows` stay.

    Parameters
    ----------
    rows : int32[n]
        Those that are visible.
    born, met : int64[used]
        See `assign`; of `met` is written 0 where a row is none of these.
    """
    before, kept = 0, 0
    for row in range(met.size):
        before += 0 if met[row] == 0 else 1
    for position in range(rows.size):
        row = rows[position]
        if met[row] != 0 and met[row] == abs(born[row]):
            met[row] = -met[row]
            kept += 1
    for row in range(met.size):
        met[row] = -met[row] if met[row] < 0 else 0
    return before, kept


@nb.njit(cache=True, nogil=True)
def list_assigned(rows, ids, born, met, which, named, clusters):
    """Write the ids of rows that were assigned, and their clusters, int64[at least n] both; returns how many they are.

    `rows`, `born`, `met` and `which` are as of `assign`; `ids` int64[used].
    """
    count = 0
    for position in range(rows.size):
        row = rows[position]
        if met[row] != 0 and met[row] == abs(born[row]) and which[row] >= 0:
            named[count] = ids[row]
            clusters[count] = which[row]
            count += 1
    return count


@nb.njit(cache=True, nogil=True)
def find_unsure(rows, which, upper, lower, drift, fall, halves, wider, blur, reach, unsure):
    """Write the rows that may have to change, int32[n]; returns how many they are.

    Without branches, and before any of them is looked at: so nothing waits for their features.
    """
    count = 0
    for position in range(rows.size):
        row = rows[position]
        old = np.int64(which[row])
        near = np.float64(upper[row]) + drift[old]
        bound = max(np.float64(lower[row]) - fall[old], halves[old])
        unsure[count] = row
        count += 0 if is_surely_nearest(near, bound, wider, blur, reach) else 1
    return count


@nb.njit(cache=True, nogil=True)
def assign(
    points, rows, born, weights, centroids, across, norms, drift, fall, halves, wider, blur, reach, units, fine, is_first, met,
    which, upper, lower, high, low,
):  # fmt: skip
    """Assign the rows of a shard to their nearest centroids; returns how many changed.

    Parameters
    ----------
    points
        See `dense_rows_kernel`, as for `across`, `norms`, `units` and `fine`.
    rows : int32[n]
        Those that are visible; where it is not the first time, at least those that may change.
    born : int64[used]
        Negative: that of a point that died since.
    weights : float64[used]
    centroids : float64[k, d]
    drift, fall : float64[k]
        How far each centroid went at most, and any other one, since bounds were 0 away from distances: a bound is what is written in
        `upper` and the drift of its cluster, or what is in `lower` without its fall. So nothing is written where nothing is new.
    halves : float64[k]
        Half the distance of each centroid to the nearest other one, or 0.
    wider, blur, reach : float
        By which part a distance may be rounded; by which part of the square of all lengths a square may be; twice the length of
        the longest centroid.
    is_first : int
        1: sums are of all rows, and rows whose points are not those that were met before are assigned anew; drift and fall are 0 from
        then on. 0: sums are of changes.
    met : int64[used]
        The birth of the point that each row was assigned for; written, as the next ones are.
    which : int32[used]
    upper, lower : float32[used]
        See `drift`.
    high, low : float64[k * (d + 1)]
        Sums that are added to.
    """
    clusters, stride = centroids.shape[0], centroids.shape[1] + 1
    kept = 1.0 - is_first
    squares = np.empty(norms.size)
    changed = 0
    unsure = np.empty(0 if is_first != 0 else rows.size, np.int32)
    visited = rows.size
    if is_first == 0:
        visited = find_unsure(rows, which, upper, lower, drift, fall, halves, wider, blur, reach, unsure)
    for position in range(visited):
        row = rows[position] if is_first != 0 else unsure[position]
        old = np.int64(which[row])
        if is_first != 0:
            birth = abs(born[row])
            if met[row] != birth:
                met[row] = birth
                old = np.int64(-1)
        if old >= 0:
            near, far = np.float64(upper[row]) + drift[old], np.float64(lower[row]) - fall[old]
            bound = max(far, halves[old])
            is_sure = is_surely_nearest(near, bound, wider, blur, reach)
            if is_first != 0:
                lower[row] = below(far, 0.0)
            if not is_sure and clusters > 2:
                length = length_of(points, row) + reach
                square = square_to(points, row, centroids, old, norms)
                near = math.sqrt(square + blur * length * length) * (1.0 + wider)
                is_sure = is_surely_nearest(near, bound, wider, blur, reach)
            if is_sure:
                upper[row] = above(near, kept * drift[old])
                if is_first != 0:
                    add_exactly(points, row, weights[row], 1.0, units, fine, high, low, old * stride)
                continue
        squares_to(points, row, across, norms, squares)
        new, first, second = nearest_of(squares, clusters)
        length = length_of(points, row) + reach
        rounded = blur * length * length
        which[row] = new
        upper[row] = above(math.sqrt(first + rounded) * (1.0 + wider), kept * drift[new])
        lower[row] = below(math.sqrt(max(0.0, second - rounded)) * (1.0 - wider), kept * fall[new])
        if new != old:
            changed += 1
        if is_first != 0:
            add_exactly(points, row, weights[row], 1.0, units, fine, high, low, new * stride)
        elif new != old:
            add_exactly(points, row, weights[row], -1.0, units, fine, high, low, old * stride)
            add_exactly(points, row, weights[row], 1.0, units, fine, high, low, new * stride)
    return changed


@nb.njit(cache=True, nogil=True)
def find_sizes(points, rows, weights, which, greatest, sizes, counts):
    """Note for each cluster how great its products and weights are.

    Parameters
    ----------
    points, rows, weights, which
        See `assign`; only read.
    greatest, sizes : float64[k * (d + 1)]
        Of each cluster and feature the greatest |weight * feature|, and their sum; then of its weights. Written, added to.
    counts : float64[k]
        How many points each cluster has: added to.
    """
    stride = greatest.size // counts.size
    for position in range(rows.size):
        row = rows[position]
        cluster = np.int64(which[row])
        note_sizes(points, row, weights[row], greatest, sizes, cluster * stride)
        last = cluster * stride + stride - 1
        greatest[last] = max(greatest[last], weights[row])
        sizes[last] += weights[row]
        counts[cluster] += 1.0


@nb.njit(cache=True, nogil=True)
def sum_exactly(points, rows, weights, which, units, fine, high, low):
    """Sum all rows, as they are assigned, with units of each cluster, float64[k, d + 1] and float64[k]; see `assign`."""
    stride = units.shape[1]
    for position in range(rows.size):
        row = rows[position]
        cluster = np.int64(which[row])
        add_exactly(
            points, row, weights[row], 1.0, units[cluster], fine[cluster], high, low, cluster * stride
        )


@nb.njit(cache=True, nogil=True)
def square_of_each(points, rows, centroids, norms, which, near):
    """Write the squared distance of each row to the centroid that it is assigned to, in the place of the row; float64[used]."""
    for position in range(rows.size):
        row = rows[position]
        near[row] = square_to(points, row, centroids, np.int64(which[row]), norms)


@nb.njit(cache=True, nogil=True)
def sum_by_cluster(rows, weights, which, near, inertia):
    """Add the weighted squares of rows, in their order, to the inertia of their clusters; float64[k]."""
    for position in range(rows.size):
        row = rows[position]
        inertia[which[row]] += weights[row] * near[row]


@nb.njit(cache=True, nogil=True)
def copy_rows(points, rows, copies):
    """Add rows to as many stretches of `copies`, float64[n * d]."""
    width = copies.size // rows.size
    for position in range(rows.size):
        add_plainly(points, np.int64(rows[position]), 1.0, copies, position * width)


@nb.njit(cache=True, nogil=True)
def find_nearest(points, centroids, across, norms, which, near):
    """Write the nearest centroid of each of the first rows and its squared distance; int64[n] and float64[n]."""
    squares = np.empty(norms.size)
    for row in range(which.size):
        squares_to(points, row, across, norms, squares)
        which[row], near[row], _ = nearest_of(squares, centroids.shape[0])
