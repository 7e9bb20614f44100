"""How a compiled loop keeps its values where a value is one number. Where it is a pair, `pair_kernel` takes the place of this.

A column of values is a plain column of numbers to NumPy; which number belongs to which row is known here only.
"""

import numba as nb

from ..columns import prefetch


@nb.njit(cache=True)
def value_at(column, place):
    """The value at a place of a column."""
    return column[place]


@nb.njit(cache=True)
def put_value(column, place, value):
    """Write a value to a place of a column."""
    column[place] = value


@nb.njit(cache=True)
def prefetch_value(column, place):
    """Have a value fetched that is to be read or written soon."""
    prefetch(column, place)


@nb.njit(cache=True)
def value_of_message(values, index):
    """The value of one of the messages of a bundle; `values` is float64[messages]."""
    return values[index]


@nb.njit(cache=True)
def change(value, other):
    """How far two values are apart, for the statistics."""
    return abs(value - other)


@nb.njit(cache=True)
def size_of(value):
    """How far a value is from nothing, likewise."""
    return abs(value)
