"""How a compiled loop keeps its values where a value is a pair of whole numbers, or of floats; see `value_kernel`, which this stands in for."""

import numba as nb
import numpy as np

HAS_LABELS = True
_ROW = 8  # numbers from the value of a row to that of the next one


@nb.njit(cache=True)
def row_value_at(column, row):
    """The value of a row."""
    return column[_ROW * row], column[_ROW * row + 1]


@nb.njit(cache=True)
def put_row_value(column, row, value):
    """Write the value of a row."""
    column[_ROW * row] = value[0]
    column[_ROW * row + 1] = value[1]


@nb.njit(cache=True)
def value_at(column, place):
    """The value at a place of a column of its own, which has two numbers for each."""
    return column[2 * place], column[2 * place + 1]


@nb.njit(cache=True)
def put_value(column, place, value):
    """Write a value to a place of a column of its own."""
    column[2 * place] = value[0]
    column[2 * place + 1] = value[1]


@nb.njit(cache=True)
def value_of_message(values, index):
    """The value of one of the messages of a bundle; `values` is int64[messages, 2], or float64."""
    return values[index, 0], values[index, 1]


@nb.njit(cache=True)
def change(value, other):
    """How far two values are apart, for the statistics: a first number that changes counts one, however far it is."""
    return np.float64(value[0] != other[0])


@nb.njit(cache=True)
def size_of(value):  # noqa: ARG001
    """How far a value is from nothing, likewise."""
    return np.float64(1)
