"""Rows of sparse features, as kernels of linear models use them; the twin of `dense_kernel`.

Features are a tuple (starts, lengths, indices, values), as `SparseShardPoints` has them: the indices of a row ascend.
"""

import numba as nb
import numpy as np

from ....columns import prefetch


@nb.njit(cache=True)
def fetch_row(features, row):
    """Have fetched where the features of a row are, which is to be read soon."""
    prefetch(features[0], row)
    prefetch(features[1], row)


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def dot(features, row, vector):
    """The product of a row and a vector, float64[width]."""
    starts, lengths, indices, values = features
    total = 0.0
    first = np.uint64(starts[row])
    # Unsigned, here and below: an index that might be negative costs a comparison.
    for place in range(first, first + np.uint64(lengths[row])):
        total += values[place] * vector[np.uint64(indices[place])]
    return total


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def dot_and_square(features, row, vector):
    """Likewise, and the squared length of the row."""
    starts, lengths, indices, values = features
    total, length = 0.0, 0.0
    first = np.uint64(starts[row])
    for place in range(first, first + np.uint64(lengths[row])):
        value = nb.float64(values[place])
        total += value * vector[np.uint64(indices[place])]
        length += value * value
    return total, length


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def shrunk_dot_and_square(features, row, vector, least):
    """Likewise of a vector whose numbers are nearer to 0 by `least`, or 0."""
    starts, lengths, indices, values = features
    total, length = 0.0, 0.0
    first = np.uint64(starts[row])
    for place in range(first, first + np.uint64(lengths[row])):
        value, there = nb.float64(values[place]), vector[np.uint64(indices[place])]
        size = abs(there) - least
        size = max(0.0, size)
        total += value * (size if there > 0.0 else -size)
        length += value * value
    return total, length


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_row(features, row, factor, sums, side):
    """Add a row, times a factor, to float64[sides, width] at `side`."""
    starts, lengths, indices, values = features
    first = np.uint64(starts[row])
    for place in range(first, first + np.uint64(lengths[row])):
        sums[side, np.uint64(indices[place])] += factor * values[place]


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_rows(features, rows, factors, first, stop, sums, side):
    """Likewise of the rows ``rows[first .. stop]``, int64, each with its factor."""
    for place in range(first, stop):
        add_row(features, rows[place], factors[place], sums, side)


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_squares(features, row, factor, squares):
    """Add the square of each number of a row, times a factor, to float64[width or more]."""
    starts, lengths, indices, values = features
    first = np.uint64(starts[row])
    for place in range(first, first + np.uint64(lengths[row])):
        value = nb.float64(values[place])
        squares[np.uint64(indices[place])] += factor * value * value


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_outer(features, row, factor, intercept, matrix):
    """Add the outer product of a row with itself, times a factor, to the upper triangle of a matrix; see `dense_kernel`."""
    starts, lengths, indices, values = features
    last = np.uint64(matrix.shape[0] - 1)
    first = np.uint64(starts[row])
    stop = first + np.uint64(lengths[row])
    for one in range(first, stop):
        scaled, index = factor * values[one], np.uint64(indices[one])
        for other in range(one, stop):
            matrix[index, np.uint64(indices[other])] += scaled * values[other]
        if intercept:
            matrix[index, last] += scaled
    if intercept:
        matrix[last, last] += factor


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_outers(features, rows, factors, count, intercept, matrix):
    """Likewise of the first `count` rows, int64, each with its factor."""
    for place in range(count):
        add_outer(features, rows[place], factors[place], intercept, matrix)
