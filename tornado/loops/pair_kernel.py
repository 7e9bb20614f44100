"""How a compiled loop keeps its values where a value is a pair of whole numbers; see `value_kernel`, which this stands in for."""

import numba as nb
import numpy as np

from ..columns import prefetch


@nb.njit(cache=True)
def value_at(column, place):
    """The value at a place of a column, which has two numbers for each."""
    return column[2 * place], column[2 * place + 1]


@nb.njit(cache=True)
def put_value(column, place, value):
    """Write a value to a place of a column."""
    column[2 * place] = value[0]
    column[2 * place + 1] = value[1]


@nb.njit(cache=True)
def prefetch_value(column, place):
    """Have a value fetched that is to be read or written soon."""
    prefetch(column, 2 * place)


@nb.njit(cache=True)
def value_of_message(values, index):
    """The value of one of the messages of a bundle; `values` is int64[messages, 2]."""
    return values[index, 0], values[index, 1]


@nb.njit(cache=True)
def change(value, other):
    """How far two values are apart, for the statistics: a first number that changes counts one, however far it is."""
    return np.float64(value[0] != other[0])


@nb.njit(cache=True)
def size_of(value):  # noqa: ARG001
    """How far a value is from nothing, likewise."""
    return np.float64(1)
