"""Rows of sparse points as the kernels of clusters read them; see `dense_rows_kernel`, which has the same functions.

`points` are (starts, lengths, indices, values) of a shard. A square is |c|^2 and x * (x - 2 c) of each entry x in their order, so it takes
time that grows with the entries, and its rounding is one of |x|^2 and |c|^2.
"""

import math

import numba as nb
import numpy as np

from .lanes import at_least_zero, lanes_at, lanes_of, put_lanes

LANES = 8
ROUNDER = 1.5 * 2.0**52  # what is added to it and taken away again is rounded to a whole number


@nb.njit(cache=True)
def squares_to(points, row, across, norms, squares):
    """Write the squared distances of a row to all centroids; `norms` are the squares of their lengths, float64[padded]."""
    starts, lengths, indices, values = points
    stride = across.shape[1]
    start = np.int64(starts[row])
    stop = start + lengths[row]
    for first in range(0, stride, LANES):
        sums = lanes_at(norms, first)
        for entry in range(start, stop):
            value = lanes_of(np.float64(values[entry]))
            sums = sums + value * (value - lanes_of(2.0) * lanes_at(across, indices[entry] * stride + first))
        put_lanes(squares, first, at_least_zero(sums))


@nb.njit(cache=True)
def square_to(points, row, centroids, cluster, norms):
    """The squared distance of a row to one of the centroids, float64[k, d]: the same bits as of `squares_to`."""
    starts, lengths, indices, values = points
    square = norms[cluster]
    first = np.int64(starts[row])
    for entry in range(first, first + lengths[row]):
        value = np.float64(values[entry])
        square += value * (value - 2.0 * centroids[cluster, indices[entry]])
    return max(0.0, square)


@nb.njit(cache=True)
def length_of(points, row):
    """The length of a row: the rounding of a square grows with it, however small the square is."""
    starts, lengths, _, values = points
    square = 0.0
    first = np.int64(starts[row])
    for entry in range(first, first + lengths[row]):
        value = np.float64(values[entry])
        square += value * value
    return math.sqrt(square)


@nb.njit(cache=True)
def note_greatest(points, row, weight, greatest):
    """Note where the entries of a row times its weight are greater than any before; float64[d]."""
    starts, lengths, indices, values = points
    first = np.int64(starts[row])
    for entry in range(first, first + lengths[row]):
        column = indices[entry]
        greatest[column] = max(greatest[column], abs(weight * values[entry]))


@nb.njit(cache=True)
def note_sizes(points, row, weight, greatest, sizes, base):
    """Note the greatest |weight * feature| of a cluster and add to their sums; see `dense_rows_kernel`."""
    starts, lengths, indices, values = points
    first = np.int64(starts[row])
    for entry in range(first, first + lengths[row]):
        size = abs(weight * values[entry])
        place = base + indices[entry]
        greatest[place] = max(greatest[place], size)
        sizes[place] += size


@nb.njit(cache=True)
def add_exactly(points, row, weight, sign, units, fine, high, low, base):
    """Add a row times its weight to sums of whole numbers, or take it away; see `dense_rows_kernel`."""
    starts, lengths, indices, values = points
    first = np.int64(starts[row])
    for entry in range(first, first + lengths[row]):
        column = indices[entry]
        scaled = weight * values[entry] * units[column]
        whole = (scaled + ROUNDER) - ROUNDER
        high[base + column] += sign * whole
        low[base + column] += sign * (((scaled - whole) * fine + ROUNDER) - ROUNDER)
    width = units.size - 1
    scaled = weight * units[width]
    whole = (scaled + ROUNDER) - ROUNDER
    high[base + width] += sign * whole
    low[base + width] += sign * (((scaled - whole) * fine + ROUNDER) - ROUNDER)


@nb.njit(cache=True)
def add_plainly(points, row, factor, sums, base):
    """Add a row times a factor to sums, float64[…], from `base` on."""
    starts, lengths, indices, values = points
    first = np.int64(starts[row])
    for entry in range(first, first + lengths[row]):
        sums[base + indices[entry]] += factor * values[entry]
