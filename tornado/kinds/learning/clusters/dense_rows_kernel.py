"""Rows of dense points as the kernels of clusters read them; `sparse_rows_kernel` has the same functions for sparse ones.

`points` is an array [used, d] of float32 or float64. Each square is a sum over features in their order, in float64: which of several
clusters it is worked out beside, and by which function, makes no difference to its bits.
"""

import numba as nb
import numpy as np

from .lanes import lanes_at, lanes_of, put_lanes

LANES = 8
ROUNDER = 1.5 * 2.0**52  # what is added to it and taken away again is rounded to a whole number


@nb.njit(cache=True)
def squares_to(points, row, across, norms, squares):  # noqa: ARG001  # of sparse points
    """Write the squared distances of a row to all centroids.

    Parameters
    ----------
    points
        See the module.
    row : int
    across : float64[d, padded]
        The centroids, a column each.
    norms : float64[padded]
        Not looked at.
    squares : float64[padded]
        Written.
    """
    stride = across.shape[1]
    for first in range(0, stride, LANES):
        sums = lanes_of(0.0)
        for column in range(points.shape[1]):
            difference = lanes_of(np.float64(points[row, column])) - lanes_at(across, column * stride + first)
            sums = sums + difference * difference
        put_lanes(squares, first, sums)


@nb.njit(cache=True)
def square_to(points, row, centroids, cluster, norms):  # noqa: ARG001  # of sparse points
    """The squared distance of a row to one of the centroids, float64[k, d]: the same bits as of `squares_to`."""
    square = 0.0
    for column in range(points.shape[1]):
        difference = np.float64(points[row, column]) - centroids[cluster, column]
        square += difference * difference
    return square


@nb.njit(cache=True)
def length_of(points, row):  # noqa: ARG001  # of sparse points
    """What the rounding of a square grows with, beside the square itself: nothing."""
    return 0.0


@nb.njit(cache=True)
def note_greatest(points, row, weight, greatest):
    """Note where the entries of a row times its weight are greater than any before; float64[d]."""
    for column in range(points.shape[1]):
        greatest[column] = max(greatest[column], abs(weight * points[row, column]))


@nb.njit(cache=True)
def note_sizes(points, row, weight, greatest, sizes, base):
    """Note the greatest |weight * feature| of a cluster and add to their sums; float64[k * (d + 1)], the cluster's from `base` on."""
    for column in range(points.shape[1]):
        size = abs(weight * points[row, column])
        greatest[base + column] = max(greatest[base + column], size)
        sizes[base + column] += size


@nb.njit(cache=True)
def add_exactly(points, row, weight, sign, units, fine, high, low, base):
    """Add a row times its weight to sums of whole numbers, or take it away.

    Parameters
    ----------
    points, row
        See `squares_to`.
    weight : float
    sign : float
        1 or -1.
    units : float64[d + 1]
        How many high units there are in 1; the last one is of weights.
    fine : float
        How many low units there are in a high one.
    high, low : float64[k * (d + 1)]
        Added to.
    base : int
        Where the cluster's sums begin.
    """
    width = points.shape[1]
    in_lanes = width - width % LANES
    for column in range(0, in_lanes, LANES):
        many = lanes_of(weight) * lanes_at(points, row * width + column) * lanes_at(units, column)
        wholes = (many + lanes_of(ROUNDER)) - lanes_of(ROUNDER)
        parts = ((many - wholes) * lanes_of(fine) + lanes_of(ROUNDER)) - lanes_of(ROUNDER)
        put_lanes(high, base + column, lanes_at(high, base + column) + lanes_of(sign) * wholes)
        put_lanes(low, base + column, lanes_at(low, base + column) + lanes_of(sign) * parts)
    for column in range(in_lanes, width):
        scaled = weight * points[row, column] * units[column]
        whole = (scaled + ROUNDER) - ROUNDER
        high[base + column] += sign * whole
        low[base + column] += sign * (((scaled - whole) * fine + ROUNDER) - ROUNDER)
    scaled = weight * units[width]
    whole = (scaled + ROUNDER) - ROUNDER
    high[base + width] += sign * whole
    low[base + width] += sign * (((scaled - whole) * fine + ROUNDER) - ROUNDER)


@nb.njit(cache=True)
def add_plainly(points, row, factor, sums, base):
    """Add a row times a factor to sums, float64[…], from `base` on."""
    for column in range(points.shape[1]):
        sums[base + column] += factor * points[row, column]
