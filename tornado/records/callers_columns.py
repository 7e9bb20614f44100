"""Columns that a caller hands over (lists, NumPy, Arrow, pandas): checked and copied, all of a column or nothing of it.

Guarantee: an error names the first bad entry, with its index, its value and the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from .operations import INSERT, OPERATIONS, REMOVE, REPLACE, SYMBOLS
from .weights import weight_faults

_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)


def vertex_ids(values: Any, *, name: str = "ids", what: str = "a vertex id") -> NDArray[np.int64]:
    """Check a caller's column of ids of vertices, or of something else, and copy it.

    Parameters
    ----------
    values : sequence of int, NumPy array, Arrow array or pandas column
        The ids.
    name, what : str
        What messages call the column, and an entry of it.

    Returns
    -------
    int64[n]
        A new array.

    Raises
    ------
    InvalidArgument
        An entry is not an integer, is missing, or is beyond int64; names the first one.
    """
    rule = f"{what} is an integer from -2^63 to 2^63-1"
    column = callers_column(values, name)
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "u" and column.dtype.itemsize == 8:
            beyond = np.flatnonzero(column > np.uint64(_INT64_MAX))
            if len(beyond):
                raise bad_entry(name, int(beyond[0]), column[beyond[0]], rule)
        if column.dtype.kind in "iu":
            return column.astype(np.int64)
        if column.dtype != object:
            if not len(column):
                return np.empty(0, np.int64)
            if not hasattr(values, "to_list"):
                raise bad_entry(name, 0, column[0], f"{rule} and the column has type {column.dtype}")
            # NumPy has no integer that is missing: one gap makes floats of a data frame's whole column.
            column = values.to_list()
        else:
            column = column.tolist()
    # bool is a subclass of int and np.array would cut 2.5 down to 2: look at the types before the values.
    if not set(map(type, column)) <= {int}:
        column = [_exact_int(entry, index, name, rule) for index, entry in enumerate(column)]
    try:
        return np.array(column, dtype=np.int64)
    except OverflowError:
        index = next(i for i, entry in enumerate(column) if not _INT64_MIN <= entry <= _INT64_MAX)
        raise bad_entry(name, index, column[index], rule) from None


def operation_codes(op: Any, count: int, *, beside: str = "src and dst have") -> NDArray[np.int8]:
    """Check a caller's operations and copy them.

    Parameters
    ----------
    op : int, str or a column of them
        INSERT, REMOVE, REPLACE or how `OPERATIONS` writes them; one alone is that of every record.
    count : int
        How many records there are.
    beside : str
        Which columns say so, for messages.

    Returns
    -------
    int8[count]

    Raises
    ------
    InvalidArgument
        An entry is none of them, or there are not as many as records; names the first one.
    """
    rule = f"an operation is one of {', '.join(map(repr, OPERATIONS))}"
    if isinstance(op, str | int | np.integer):
        code = _code(op)
        if code is None:
            raise InvalidArgument(f"op is {op!r}, but {rule}")
        return np.full(count, code, np.int8)
    column = callers_column(op, "op")
    same_length("op", len(column), count, beside=beside)
    if isinstance(column, np.ndarray) and column.dtype.kind == "i":
        bad = np.flatnonzero((column != INSERT) & (column != REMOVE) & (column != REPLACE))
        if len(bad):
            raise bad_entry("op", int(bad[0]), column[bad[0]], rule)
        return column.astype(np.int8)
    codes = np.empty(count, np.int8)
    for index, entry in enumerate(column):
        code = _code(entry)
        if code is None:
            raise bad_entry("op", index, entry, rule)
        codes[index] = code
    return codes


def edge_weights(weight: Any, codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """Check a caller's weights and copy them.

    Parameters
    ----------
    weight : sequence of float, number, optional
        Left out: 1.0, and NaN ("any weight") for removals. One alone is that of every record.
    codes : int8[n]
        The operation of each record.

    Returns
    -------
    float64[n]

    Raises
    ------
    InvalidArgument
        An entry is no number, or one that no edge can have, or there are not as many as records; names the first one.
    """
    if weight is None:
        return np.where(codes == REMOVE, np.nan, 1.0)
    if isinstance(weight, int | float | np.integer | np.floating) and not isinstance(weight, bool):
        weights = np.full(len(codes), callers_floats([weight])[0])
    else:
        column = callers_column(weight, "weight")
        same_length("weight", len(column), len(codes))
        weights = callers_floats(column)
    bad = np.flatnonzero(_no_weights(weights, codes))
    if len(bad):
        kind = {INSERT: "an insertion", REMOVE: "a removal", REPLACE: "a replacement"}[int(codes[bad[0]])]
        raise bad_entry("weight", int(bad[0]), float(weights[bad[0]]), f"{kind} needs a finite number")
    return weights


def _exact_int(entry: Any, index: int, name: str, rule: str) -> int:
    if isinstance(entry, np.integer) or (isinstance(entry, int) and not isinstance(entry, bool)):
        return int(entry)
    raise bad_entry(name, index, entry, rule)


def _code(entry: Any) -> int | None:
    if isinstance(entry, str):
        return OPERATIONS.get(entry)
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool) and int(entry) in SYMBOLS:
        return int(entry)
    return None


def _no_weights(weight: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[np.bool_]:
    # A caller's column has no other sign for "left out" of a removal.
    faults = weight_faults(weight, left_out=np.isnan(weight) & (codes == REMOVE))
    bad: NDArray[np.bool_] = np.logical_or.reduce([mask for mask, _ in faults])
    return bad


def callers_floats(
    column: NDArray[Any] | Sequence[Any], *, name: str = "weight", what: str = "a weight"
) -> NDArray[np.float64]:
    """The numbers of a column of `callers_column`, NaN where one is missing; an `InvalidArgument` names what is none."""
    rule = f"{what} is a number"
    if isinstance(column, np.ndarray) and column.dtype != object:
        if column.dtype.kind not in "iuf":
            if not len(column):
                return np.empty(0, np.float64)
            raise bad_entry(name, 0, column[0], f"{rule} and the column has type {column.dtype}")
        return column.astype(np.float64)
    weights = np.empty(len(column), np.float64)
    for index, entry in enumerate(column):
        # pandas marks a missing entry with an object of its own, which is the only thing that is neither.
        if entry is None or type(entry).__name__ == "NAType":
            weights[index] = np.nan
        elif isinstance(entry, int | float | np.integer | np.floating) and not isinstance(entry, bool):
            try:
                weights[index] = float(entry)
            except OverflowError:
                raise bad_entry(name, index, entry, f"{what} fits into a float64") from None
        else:
            raise bad_entry(name, index, entry, rule)
    return weights


def callers_column(values: Any, name: str) -> NDArray[Any] | Sequence[Any]:
    """A caller's column as a one-dimensional array, or as a list where the type of each entry must be looked at."""
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    if isinstance(values, np.ndarray):
        column: Any = values
    elif isinstance(values, str | bytes):
        raise InvalidArgument(f"{name} is {values!r}, but a column of values is needed, such as a list")
    elif hasattr(values, "null_count") and hasattr(values, "to_pylist"):
        # Arrow: with nulls NumPy would get floats.
        column = values.to_pylist() if values.null_count else values.to_numpy(zero_copy_only=False)
    elif hasattr(values, "to_numpy"):
        column = values.to_numpy()
    elif isinstance(values, list | tuple):
        column = values
    elif isinstance(values, Iterable):
        column = list(values)
    else:
        raise InvalidArgument(f"{name} is {values!r}, but a column of values is needed, such as a list")
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise InvalidArgument(f"{name} has {column.ndim} dimensions, but a column has one")
    result: NDArray[Any] | Sequence[Any] = column
    return result


def same_length(name: str, length: int, count: int, *, beside: str = "src and dst have") -> None:
    """Refuse a column that has not as many entries as those that say how many records there are."""
    if length != count:
        raise InvalidArgument(f"{name} has {length} entries, but {beside} {count}")


def bad_entry(name: str, index: int | str, value: Any, rule: str) -> InvalidArgument:
    """The error that names one entry of a column by its index, its value, the rule, and what to do."""
    shown = value.item() if isinstance(value, np.generic) else value
    return InvalidArgument(
        f"{name}[{index}] is {shown!r}, but {rule}",
        hint="Mend that entry and repeat the call: none of it was taken.",
    )
