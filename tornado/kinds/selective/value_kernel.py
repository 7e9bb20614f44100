"""How a compiled loop keeps its values where a value is one number. Where it is a pair, `pair_kernel` takes the place of this.

Those of rows are fields of the rows' records; others stand in columns of their own. Which number belongs to which row is known here
only.
"""

import numba as nb

# Whether a value has a second number, which rounding of the first can bring into another order.
HAS_LABELS = False


@nb.njit(cache=True)
def row_value_at(column, row):
    """The value of a row."""
    return column[row]


@nb.njit(cache=True)
def put_row_value(column, row, value):
    """Write the value of a row."""
    column[row] = value


@nb.njit(cache=True)
def value_at(column, place):
    """The value at a place of a column of its own."""
    return column[place]


@nb.njit(cache=True)
def put_value(column, place, value):
    """Write a value to a place of a column of its own."""
    column[place] = value


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
