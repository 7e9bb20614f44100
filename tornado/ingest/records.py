"""Edge batches: the columns in which edge records travel from a source to every worker.

A record is (source vertex, destination vertex, weight, operation); a batch is those four columns, equally long, in arrival
order. Order is data: version v of the graph is what batches 1..v say, applied record by record.

Guarantees: ids are exactly int64 and never pass through a float; a weight is a finite number, or the NaN that stands for "left
out" of a removal. Left out on purpose: what a program thinks of a weight (negative ones are the program's to refuse, see `VertexProgram.check`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument

INSERT: Final = 1
"""Add one edge src -> dst of this weight, beside those there are."""
REMOVE: Final = -1
"""Take away the oldest edge src -> dst of this weight; with weight NaN the oldest one of any weight."""
REPLACE: Final = 2
"""This edge takes the place of whatever edges src -> dst there are."""

MENTION: Final = 3
"""No edge: the vertex `src`, which is `dst` as well, is seen from now on. No way of writing edges has a word for it."""

OPERATIONS: Final[dict[str, int]] = {
    "+": INSERT,
    "1": INSERT,
    "insert": INSERT,
    "-": REMOVE,
    "-1": REMOVE,
    "delete": REMOVE,
    "remove": REMOVE,
    "=": REPLACE,
    "replace": REPLACE,
}
"""How operations are written in text, JSON and Arrow columns."""

SYMBOLS: Final[dict[int, str]] = {INSERT: "+", REMOVE: "-", REPLACE: "="}
"""How an operation is shown."""

IS_NAN: Final = "weight is NaN"
NOT_FINITE: Final = "weight is not finite"
"""Why a record is rejected whose weight is infinite, or too large for a float64."""

_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)
_ID_RULE: Final = "a vertex id is an integer from -2^63 to 2^63-1"


@dataclass(frozen=True, slots=True, eq=False)
class EdgeBatch:
    """Edge records in columns, in arrival order. The arrays are not written after construction.

    Parameters
    ----------
    src, dst : int64[n]
        Vertex ids.
    weight : float64[n]
        Finite, or NaN where `op` is REMOVE: the oldest edge of any weight.
    op : int8[n]
        INSERT, REMOVE or REPLACE; or MENTION, see `mentions`.

    Notes
    -----
    The constructor trusts its arrays (kernels fill them); data of a caller comes through `of`, which checks and copies.

    Examples
    --------
    >>> batch = EdgeBatch.of([1, 2], [2, 3], [1.0, 2.5])
    >>> len(batch), batch.src.dtype, batch.op.tolist()
    (2, dtype('int64'), [1, 1])
    >>> EdgeBatch.of([1, 2], [2, 3], [1.0, float("nan")])
    Traceback (most recent call last):
    ...
    tornado.errors.InvalidArgument: weight[1] is nan, but an insertion needs a finite number. Mend that entry and \
repeat the call: none of it was taken.
    """

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    weight: NDArray[np.float64]
    op: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.src)

    @classmethod
    def empty(cls) -> Self:
        """A batch of no records."""
        return cls(
            np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.int8)
        )

    @classmethod
    def of(cls, src: Any, dst: Any, weight: Any = None, op: Any = INSERT) -> Self:
        """Check a caller's columns and copy them: all of the call or, with an error, none of it.

        Parameters
        ----------
        src, dst : sequence of int, NumPy array, Arrow array or pandas column
            Vertex ids; exactly int64, so floats and bools are refused even where they are integral.
        weight : sequence of float, number, optional
            Left out: 1.0, and "the oldest edge of any weight" for removals, where `None` and NaN mean the same.
        op : int, str or a column of them
            INSERT, REMOVE, REPLACE or how `OPERATIONS` writes them.

        Returns
        -------
        EdgeBatch

        Raises
        ------
        InvalidArgument
            Columns differ in length, or an entry is not allowed; names the first bad entry with index and value.
        """
        src_ids, dst_ids = vertex_ids(src, name="src"), vertex_ids(dst, name="dst")
        if len(src_ids) != len(dst_ids):
            raise InvalidArgument(
                f"src has {len(src_ids)} entries and dst has {len(dst_ids)}, but an edge needs one of each"
            )
        codes = _codes(op, len(src_ids))
        weights = _weights(weight, codes)
        return cls(src_ids, dst_ids, weights, codes)

    @classmethod
    def mentions(cls, ids: NDArray[np.int64]) -> Self:
        """Records that name vertices without an edge: from their version on these were seen."""
        return cls(ids, ids, np.ones(len(ids)), np.full(len(ids), MENTION, np.int8))

    @classmethod
    def concat(cls, batches: Iterable[EdgeBatch]) -> Self:
        """The records of all batches, one after the other, as one batch (a copy)."""
        parts = list(batches)
        if not parts:
            return cls.empty()
        return cls(
            np.concatenate([part.src for part in parts]),
            np.concatenate([part.dst for part in parts]),
            np.concatenate([part.weight for part in parts]),
            np.concatenate([part.op for part in parts]),
        )

    def slice(self, start: int, stop: int) -> Self:
        """Records `start` to `stop` (excluded), as views on the same memory."""
        return type(self)(
            self.src[start:stop], self.dst[start:stop], self.weight[start:stop], self.op[start:stop]
        )

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        """The records that a mask or an index array chooses (a copy)."""
        return type(self)(self.src[which], self.dst[which], self.weight[which], self.op[which])

    def equals(self, other: EdgeBatch) -> bool:
        """Whether both hold the same records, weights compared bit by bit (so NaN equals NaN, 0.0 not -0.0)."""
        return (
            np.array_equal(self.src, other.src)
            and np.array_equal(self.dst, other.dst)
            and np.array_equal(self.op, other.op)
            and np.array_equal(
                np.ascontiguousarray(self.weight).view(np.int64),
                np.ascontiguousarray(other.weight).view(np.int64),
            )
        )


def vertex_ids(values: Any, *, name: str = "ids") -> NDArray[np.int64]:
    """Check a caller's column of vertex ids and copy it.

    Parameters
    ----------
    values : sequence of int, NumPy array, Arrow array or pandas column
        The ids.
    name : str
        What messages call the column.

    Returns
    -------
    int64[n]
        A new array.

    Raises
    ------
    InvalidArgument
        An entry is not an integer, is missing, or is beyond int64; names the first one.
    """
    column = _column(values, name)
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "u" and column.dtype.itemsize == 8:
            beyond = np.flatnonzero(column > np.uint64(_INT64_MAX))
            if len(beyond):
                raise _bad_entry(name, int(beyond[0]), column[beyond[0]], _ID_RULE)
        if column.dtype.kind in "iu":
            return column.astype(np.int64)
        if column.dtype != object:
            if not len(column):
                return np.empty(0, np.int64)
            if not hasattr(values, "to_list"):
                raise _bad_entry(name, 0, column[0], f"{_ID_RULE} and the column has type {column.dtype}")
            # NumPy has no integer that is missing: one gap makes floats of a data frame's whole column.
            column = values.to_list()
        else:
            column = column.tolist()
    # bool is a subclass of int and np.array would cut 2.5 down to 2: look at the types before the values.
    if not set(map(type, column)) <= {int}:
        column = [_exact_int(entry, index, name) for index, entry in enumerate(column)]
    try:
        return np.array(column, dtype=np.int64)
    except OverflowError:
        index = next(i for i, entry in enumerate(column) if not _INT64_MIN <= entry <= _INT64_MAX)
        raise _bad_entry(name, index, column[index], _ID_RULE) from None


def _exact_int(entry: Any, index: int, name: str) -> int:
    if isinstance(entry, np.integer) or (isinstance(entry, int) and not isinstance(entry, bool)):
        return int(entry)
    raise _bad_entry(name, index, entry, _ID_RULE)


def weight_faults(
    weight: NDArray[np.float64], *, left_out: NDArray[np.bool_]
) -> list[tuple[NDArray[np.bool_], str]]:
    """Which weights no edge can have, and why: NaN and infinite ones.

    Parameters
    ----------
    weight : float64[n]
    left_out : bool[n]
        Where there is none, whatever stands there.

    Returns
    -------
    list of (bool[n], str)
    """
    return [(np.isnan(weight) & ~left_out, IS_NAN), (np.isinf(weight) & ~left_out, NOT_FINITE)]


def _no_weights(weight: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[np.bool_]:
    # A caller's column has no other sign for "left out" of a removal.
    faults = weight_faults(weight, left_out=np.isnan(weight) & (codes == REMOVE))
    bad: NDArray[np.bool_] = np.logical_or.reduce([mask for mask, _ in faults])
    return bad


def _column(values: Any, name: str) -> NDArray[Any] | Sequence[Any]:
    """The caller's column as a one-dimensional array, or as a list where the type of each entry must be looked at."""
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


def _codes(op: Any, count: int) -> NDArray[np.int8]:
    rule = f"an operation is one of {', '.join(map(repr, OPERATIONS))}"
    if isinstance(op, str | int | np.integer):
        code = _code(op)
        if code is None:
            raise InvalidArgument(f"op is {op!r}, but {rule}")
        return np.full(count, code, np.int8)
    column = _column(op, "op")
    _same_length("op", len(column), count)
    if isinstance(column, np.ndarray) and column.dtype.kind == "i":
        bad = np.flatnonzero((column != INSERT) & (column != REMOVE) & (column != REPLACE))
        if len(bad):
            raise _bad_entry("op", int(bad[0]), column[bad[0]], rule)
        return column.astype(np.int8)
    codes = np.empty(count, np.int8)
    for index, entry in enumerate(column):
        code = _code(entry)
        if code is None:
            raise _bad_entry("op", index, entry, rule)
        codes[index] = code
    return codes


def _code(entry: Any) -> int | None:
    if isinstance(entry, str):
        return OPERATIONS.get(entry)
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool) and int(entry) in SYMBOLS:
        return int(entry)
    return None


def _weights(weight: Any, codes: NDArray[np.int8]) -> NDArray[np.float64]:
    if weight is None:
        return np.where(codes == REMOVE, np.nan, 1.0)
    if isinstance(weight, int | float | np.integer | np.floating) and not isinstance(weight, bool):
        weights = np.full(len(codes), _floats([weight])[0])
    else:
        column = _column(weight, "weight")
        _same_length("weight", len(column), len(codes))
        weights = _floats(column)
    bad = np.flatnonzero(_no_weights(weights, codes))
    if len(bad):
        kind = {INSERT: "an insertion", REMOVE: "a removal", REPLACE: "a replacement"}[int(codes[bad[0]])]
        raise _bad_entry("weight", int(bad[0]), float(weights[bad[0]]), f"{kind} needs a finite number")
    return weights


def _floats(column: NDArray[Any] | Sequence[Any]) -> NDArray[np.float64]:
    rule = "a weight is a number"
    if isinstance(column, np.ndarray) and column.dtype != object:
        if column.dtype.kind not in "iuf":
            if not len(column):
                return np.empty(0, np.float64)
            raise _bad_entry("weight", 0, column[0], f"{rule} and the column has type {column.dtype}")
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
                raise _bad_entry("weight", index, entry, "a weight fits into a float64") from None
        else:
            raise _bad_entry("weight", index, entry, rule)
    return weights


def _same_length(name: str, length: int, count: int) -> None:
    if length != count:
        raise InvalidArgument(f"{name} has {length} entries, but src and dst have {count}")


def _bad_entry(name: str, index: int, value: Any, rule: str) -> InvalidArgument:
    shown = value.item() if isinstance(value, np.generic) else value
    return InvalidArgument(
        f"{name}[{index}] is {shown!r}, but {rule}",
        hint="Mend that entry and repeat the call: none of it was taken.",
    )
