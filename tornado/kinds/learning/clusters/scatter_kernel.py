"""The compiled loops of finding where centroids should begin, or go: draws by squared distance, and what a change would bring.

`near` is for each row its squared distance to the nearest of the centroids so far, `next_near` to the second. Sums are of rows in the order in
which their points came.
"""

import math

import numba as nb
import numpy as np

from .cluster_kernel import nearest_of
from .dense_rows_kernel import square_to, squares_to


@nb.njit(cache=True, nogil=True)
def approach(points, rows, centroids, norms, is_first, near):
    """Note in `near`, float64[used], who is nearer to the only centroid of centroids, float64[1, d]; is_first 1: there was none."""
    for position in range(rows.size):
        row = rows[position]
        square = square_to(points, row, centroids, 0, norms)
        near[row] = square if is_first != 0 else min(near[row], square)


@nb.njit(cache=True, nogil=True)
def sum_near(rows, weights, near):
    """The sum of weighted squares."""
    total = 0.0
    for position in range(rows.size):
        row = rows[position]
        total += weights[row] * near[row]
    return total


@nb.njit(cache=True, nogil=True)
def find_row(rows, weights, near, target):
    """The row at which the sum of weighted squares comes to be above a target; -1: at none."""
    total = 0.0
    for position in range(rows.size):
        row = rows[position]
        total += weights[row] * near[row]
        if total > target:
            return np.int64(row)
    return np.int64(-1)


@nb.njit(cache=True, nogil=True)
def try_each(points, rows, weights, candidates, across, norms, is_first, near, totals):
    """Add to `totals`, float64[candidates], the sum of weighted squares that would be with each candidate beside the centroids."""
    count = candidates.shape[0]
    squares = np.empty(norms.size)
    for position in range(rows.size):
        row = rows[position]
        squares_to(points, row, across, norms, squares)
        most = math.inf if is_first != 0 else near[row]
        for candidate in range(count):
            totals[candidate] += weights[row] * min(most, squares[candidate])


@nb.njit(cache=True, nogil=True)
def spread(points, rows, weights, centroids, across, norms, which, near, next_near, inertia):
    """Write the squares to the own centroid of each row and to the nearest other one; adds to the inertia of clusters, float64[k]."""
    clusters = centroids.shape[0]
    squares = np.empty(norms.size)
    for position in range(rows.size):
        row = rows[position]
        squares_to(points, row, across, norms, squares)
        _, near[row], next_near[row] = nearest_of(squares, clusters)
        inertia[which[row]] += weights[row] * near[row]


@nb.njit(cache=True, nogil=True)
def try_swaps(points, rows, weights, candidates, across, norms, which, near, next_near, totals, stride):
    """Add what the inertia would be with a candidate beside the centroids, and how much more without one of these.

    Parameters
    ----------
    totals : float64[candidates * stride]
        Of each candidate the inertia with it, and for each of the ``stride - 1`` clusters what is added where its centroid goes.
    """
    count = candidates.shape[0]
    squares = np.empty(norms.size)
    for position in range(rows.size):
        row = rows[position]
        squares_to(points, row, across, norms, squares)
        cluster = np.int64(which[row]) + 1
        for candidate in range(count):
            first = min(near[row], squares[candidate])
            totals[candidate * stride] += weights[row] * first
            totals[candidate * stride + cluster] += weights[row] * (
                min(next_near[row], squares[candidate]) - first
            )
