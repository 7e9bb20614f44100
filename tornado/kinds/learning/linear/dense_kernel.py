"""Rows of dense features, as kernels of linear models use them.

Features are a tuple (values,), of float32[used, width] or float64[used, width]. Sums over a row may be taken in any order, as `fastmath`
says: which one depends on the machine, but neither on workers nor on rows before.
"""

import numba as nb

from ....columns import prefetch

_LINE_BYTES = 64


@nb.njit(cache=True)
def fetch_row(features, row):
    """Have a row fetched that is to be read soon: the first kilobyte, as what follows is fetched by itself."""
    values = features[0]
    width = values.shape[1]
    items = _LINE_BYTES // values.itemsize
    for column in range(0, min(width, 16 * items), items):
        prefetch(values, row * width + column)


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def dot(features, row, vector):
    """The product of a row and a vector, float64[width]."""
    values = features[0]
    total = 0.0
    for column in range(values.shape[1]):
        total += values[row, column] * vector[column]
    return total


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def dot_and_square(features, row, vector):
    """Likewise, and the squared length of the row."""
    values = features[0]
    total, length = 0.0, 0.0
    for column in range(values.shape[1]):
        value = nb.float64(values[row, column])
        total += value * vector[column]
        length += value * value
    return total, length


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def shrunk_dot_and_square(features, row, vector, least):
    """Likewise of a vector whose numbers are nearer to 0 by `least`, or 0."""
    values = features[0]
    total, length = 0.0, 0.0
    for column in range(values.shape[1]):
        value = nb.float64(values[row, column])
        size = abs(vector[column]) - least
        size = max(0.0, size)
        total += value * (size if vector[column] > 0.0 else -size)
        length += value * value
    return total, length


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_row(features, row, factor, sums, side):
    """Add a row, times a factor, to float64[sides, width] at `side`."""
    values = features[0]
    for column in range(values.shape[1]):
        sums[side, column] += factor * values[row, column]


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_rows(features, rows, factors, first, stop, sums, side):
    """Likewise of the rows ``rows[first .. stop]``, int64, each with its factor: four of them at a time."""
    values = features[0]
    width = values.shape[1]
    place = first
    while place + 4 <= stop:
        one, two, three, four = rows[place], rows[place + 1], rows[place + 2], rows[place + 3]
        by_one, by_two, by_three, by_four = (
            factors[place], factors[place + 1], factors[place + 2], factors[place + 3],
        )  # fmt: skip
        for column in range(width):
            sums[side, column] += (by_one * values[one, column] + by_two * values[two, column]) + (
                by_three * values[three, column] + by_four * values[four, column]
            )
        place += 4
    while place < stop:
        add_row(features, rows[place], factors[place], sums, side)
        place += 1


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_squares(features, row, factor, squares):
    """Add the square of each number of a row, times a factor, to float64[width or more]."""
    values = features[0]
    for column in range(values.shape[1]):
        value = nb.float64(values[row, column])
        squares[column] += factor * value * value


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_outer(features, row, factor, intercept, matrix):
    """Add the outer product of a row with itself, times a factor, to the upper triangle of a matrix.

    Parameters
    ----------
    intercept : bool
        Whether the row has a 1 behind its features.
    matrix : float64[width + intercept, width + intercept]
        Written.
    """
    values = features[0]
    width = values.shape[1]
    for first in range(width):
        scaled = factor * values[row, first]
        if scaled != 0.0:
            for second in range(first, width):
                matrix[first, second] += scaled * values[row, second]
    if intercept:
        for first in range(width):
            matrix[first, width] += factor * values[row, first]
        matrix[width, width] += factor


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_outers(features, rows, factors, count, intercept, matrix):
    """Likewise of the first `count` rows, int64, each with its factor: four of them at a time."""
    values = features[0]
    width = values.shape[1]
    place = 0
    while place + 4 <= count:
        one, two, three, four = rows[place], rows[place + 1], rows[place + 2], rows[place + 3]
        for first in range(width):
            by_one, by_two = factors[place] * values[one, first], factors[place + 1] * values[two, first]
            by_three, by_four = (
                factors[place + 2] * values[three, first],
                factors[place + 3] * values[four, first],
            )
            for second in range(first, width):
                matrix[first, second] += (by_one * values[one, second] + by_two * values[two, second]) + (
                    by_three * values[three, second] + by_four * values[four, second]
                )
            if intercept:
                matrix[first, width] += (by_one + by_two) + (by_three + by_four)
        if intercept:
            matrix[width, width] += (factors[place] + factors[place + 1]) + (
                factors[place + 2] + factors[place + 3]
            )
        place += 4
    while place < count:
        add_outer(features, rows[place], factors[place], intercept, matrix)
        place += 1
