"""Pushed edges as an Arrow IPC stream with the columns `src`, `dst` and, where wanted, `weight`, `op` and `time`.

A column of a wrong type is the caller's error and refuses the body; a row that cannot be an edge (a null id, an unsigned id
beyond int64, a weight that is not finite, an unknown op) is rejected alone. A null or absent weight is 1.0, of a removal "the
oldest edge"; a null or absent op is `+`. Times are read where somebody asks for them (`times.py`), and then a row whose time is none
is rejected too. Other columns are not looked at, as in a text file.

Guarantees: ids never pass through a float; integer weights become the nearest float64; a stream is unpacked only where that is
within bounds (`arrow_bounds.py`), and so are the columns that a dictionary makes short.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import BodyTooLarge, InvalidArgument
from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT, OPERATIONS, REMOVE
from ..records.weights import weight_faults
from .arrow_bounds import BODY, Bounds, check_bounds, no_stream
from .interner import Names
from .parsed import DESCRIBING, ParsedBatch, Rejections, drafted
from .shown_rows import row_text
from .times import BEYOND, MALFORMED, times_of

_COLUMNS: Final = ("src", "dst", "weight", "op")
_INT64_MAX: Final = 2**63 - 1
UNKNOWN_OP: Final = 0
# What stands behind the last word is for those that are none.
_CODES: Final = np.array([*OPERATIONS.values(), UNKNOWN_OP], np.int8)
_SHOWN_NAMES: Final = 20


def parse_arrow(body: bytes, *, interner: Names | None = None, times: bool = False) -> ParsedBatch:
    """Parse a body.

    Parameters
    ----------
    body : bytes
        An Arrow IPC stream of any number of record batches.
    interner : Names, optional
        Ids are strings and become numbers here; without it they are integers.
    times : bool
        Read the times of the records, and reject those whose time is none.

    Returns
    -------
    ParsedBatch
        Positions count the rows of the body from 1 (`shifted` turns them into those of a source).

    Raises
    ------
    InvalidArgument
        The body is no Arrow stream, ends too early, or lacks a column or has one of a wrong type: none of it was taken.
    BodyTooLarge
        See `read_table` and `parse_table`.
    """
    return parse_table(read_table(body), interner=interner, times=times)


def parse_table(
    table: pa.Table,
    *,
    interner: Names | None = None,
    key: str | None = None,
    times: bool = False,
    bounds: Bounds = BODY,
) -> ParsedBatch:
    """Parse a table that `read_table` has taken; see `parse_arrow`.

    Parameters
    ----------
    key : str, optional
        A further column, in which each row must have something; see `ParsedBatch.keys`.

    Raises
    ------
    InvalidArgument
        It lacks a column, or has one twice or one of a wrong type.
    BodyTooLarge
        Its columns take more than `bounds` without their dictionaries, or its rejected records are too many or take too
        much.
    """
    timed = times and "time" in table.column_names
    columns = (*_COLUMNS, "time") if timed else _COLUMNS
    check_table(table, columns, key)
    keys = None if key is None else _key_column(table, key, bounds)
    ids = {name: id_column(table, name, bounds, string_ids=interner is not None) for name in ("src", "dst")}
    code = op_column(table)
    weight, weight_null = weight_column(table)
    faults = Faults(table.num_rows)
    for name, column in ids.items():
        add_id_faults(faults, name, column)
    faults.add(code == UNKNOWN_OP, "op is unknown")
    for bad, reason in weight_faults(weight, left_out=weight_null):
        faults.add(bad, reason)
    instants = None
    if timed:
        found = times_of(_column(table, "time", bounds))
        instants = found.microseconds
        faults.add(found.malformed, MALFORMED)
        faults.add(found.beyond, BEYOND)
    weight = owned(weight)
    if weight_null.any():
        weight[weight_null] = np.where(code[weight_null] == REMOVE, np.nan, 1.0)
    if keys is not None:
        faults.add(as_numpy(pc.equal(keys, "").fill_null(fill_value=True)), f"{key} is missing")

    good = faults.none()
    if not good.all():
        ids = {name: column.filter(pa.array(good)) for name, column in ids.items()}
        weight, code = weight[good], code[good]
        instants = None if instants is None else instants[good]
    if interner is None:
        src, dst = (owned(as_numpy(ids[name].cast(pa.int64()))) for name in ("src", "dst"))
    else:
        both = interner.intern(_in_turn(ids["src"], ids["dst"]))
        src, dst = both[0::2].copy(), both[1::2].copy()
    batch = EdgeBatch(src, dst, weight, code)

    def text_of(position: int) -> str:
        return row_text(table, columns, position - 1)

    rejected = described(np.flatnonzero(~good), text_of, faults)
    positions = np.flatnonzero(good) + 1
    if keys is not None:
        keys = keys.filter(pa.array(good)).combine_chunks()
    return ParsedBatch(
        batch,
        table.num_rows,
        table.num_rows,
        positions,
        rejected.since(0),
        text_of,
        keys,
        drafted(interner),
        instants,
    )


def parse_vertex_table(table: pa.Table, *, interner: Names | None = None) -> ParsedBatch:
    """Parse a table of vertices, with the column `id`; see `parse_table`. Its records are `EdgeBatch.mentions`."""
    check_table(table, ("id",), None)
    column = id_column(table, "id", BODY, string_ids=interner is not None)
    faults = Faults(table.num_rows)
    add_id_faults(faults, "id", column)
    good = faults.none()
    kept = column.filter(pa.array(good))
    if interner is None:
        ids = owned(as_numpy(kept.cast(pa.int64())))
    else:
        ids = interner.intern(pa.concat_arrays([pa.array([], pa.large_string()), *kept.chunks]))

    def text_of(position: int) -> str:
        return row_text(table, ("id",), position - 1)

    rejected = described(np.flatnonzero(~good), text_of, faults)
    batch, count = EdgeBatch.mentions(ids), table.num_rows
    return ParsedBatch(
        batch, count, count, np.flatnonzero(good) + 1, rejected.since(0), text_of, draft=drafted(interner)
    )


def parse_order(table: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Read the column `order` of a table that `parse_table` has taken.

    Returns
    -------
    int64[keys, rows], bool[rows], or None
        The order, first by the first key (0 where one is null), and where a key is null; None where there is no such column.

    Raises
    ------
    InvalidArgument
        When the column is not there once, or holds neither signed integers nor structs of them.
    """
    if "order" not in table.column_names:
        return None
    if table.column_names.count("order") > 1:
        raise InvalidArgument("the Arrow stream has the column 'order' twice, but it can be there once")
    column = table.column("order")
    # A null struct has null fields.
    keys = column.flatten() if pa.types.is_struct(column.type) else [column]
    if not keys or not all(pa.types.is_signed_integer(key.type) for key in keys):
        raise InvalidArgument(
            f"column 'order' has type {column.type}, but an order is a signed integer or a struct of them",
            hint="Send times as the number of microseconds.",
        )
    ranks = np.stack([as_numpy(key.cast(pa.int64()).fill_null(0)) for key in keys])
    return ranks, np.any([nulls(key) for key in keys], axis=0)


class Faults:
    """The first fault of each row."""

    def __init__(self, rows: int) -> None:
        self._first = np.zeros(rows, np.int64)
        self._reasons: list[str | Callable[[int], str]] = [""]

    def add(self, bad: NDArray[np.bool_], reason: str | Callable[[int], str]) -> None:
        """Note what is wrong with the rows that `bad` marks; the reason may be one for each row."""
        if bad.any():
            self._first[bad & (self._first == 0)] = len(self._reasons)
        self._reasons.append(reason)

    def none(self) -> NDArray[np.bool_]:
        """The rows without a fault."""
        good: NDArray[np.bool_] = self._first == 0
        return good

    def reason(self, row: int) -> str:
        """Why a row is rejected."""
        found = self._reasons[int(self._first[row])]
        return found if isinstance(found, str) else found(row)


def described(
    rows: NDArray[np.int64],
    text_of: Callable[[int], str],
    faults: Faults,
    *,
    rejected: Rejections | None = None,
) -> Rejections:
    """The rejections of some rows of a table, whose positions count from 1."""
    rejected = Rejections() if rejected is None else rejected
    if len(rows):
        rejected.require_room(len(rows), position=int(rows[0]) + 1, reason=faults.reason(int(rows[0])))
        with DESCRIBING:
            for row in rows.tolist():
                rejected.add(row + 1, text_of(row + 1), faults.reason(row))
    return rejected


def read_table(body: bytes | memoryview, *, bounds: Bounds = BODY) -> pa.Table:
    """Read an Arrow IPC stream without copying columns that are not compressed.

    Raises
    ------
    BodyTooLarge
        It would take more than `bounds`; nothing of it was unpacked.
    InvalidArgument
        The body is no Arrow stream, ends too early, goes on behind it, or has lengths and offsets that contradict each other.
    """
    check_bounds(body, bounds)
    try:
        source = pa.BufferReader(body)
        table = pa.ipc.open_stream(source).read_all()
        _read_names(table.schema)
        # Before anything else looks at a column. Offsets and lengths come from outside: a forged one reads memory that is not the
        # body's, and one that Arrow takes for a mistake of its own ends the process.
        table.validate(full=True)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise no_stream(error) from error
    if (left := left_behind(source, "the body")) is not None:
        raise InvalidArgument(left, hint="Send one stream in a body; none of it was taken.")
    return table


def left_behind(source: Any, name: str) -> str | None:
    """Say what a file or buffer has behind the stream that was read from it to its end; None where it has nothing."""
    end = source.tell()
    if (left := source.seek(0, os.SEEK_END) - end) <= 0:
        return None
    return f"behind the Arrow IPC stream, which ends at byte {end} of {name}, are {left} bytes more"


def _read_names(fields: Iterable[pa.Field]) -> None:
    """Read the names of columns, and of those inside structs: Arrow takes any bytes for one, and fails where it is asked for.

    Raises
    ------
    UnicodeDecodeError
        One is no UTF-8.
    """
    for field in fields:
        _ = field.name
        if pa.types.is_struct(field.type):
            _read_names(field.type)


def check_table(table: pa.Table, columns: Sequence[str], key: str | None) -> None:
    """Refuse a table that has one of some columns twice."""
    for name in (*columns, key):
        if table.column_names.count(name) > 1:
            raise InvalidArgument(
                f"the Arrow stream has the column {name!r} twice, but each can be there once"
            )


def _key_column(table: pa.Table, name: str, bounds: Bounds) -> pa.ChunkedArray:
    column = _column(table, name, bounds)
    if not (
        pa.types.is_integer(column.type)
        or pa.types.is_string(column.type)
        or pa.types.is_large_string(column.type)
    ):
        raise InvalidArgument(f"column {name!r} has type {column.type}, but a key is an integer or a string")
    return column.cast(pa.large_string())


def _column(table: pa.Table, name: str, bounds: Bounds) -> pa.ChunkedArray:
    if name not in table.column_names:
        names = table.column_names[:_SHOWN_NAMES] + ["…"] * (len(table.column_names) > _SHOWN_NAMES)
        raise InvalidArgument(f"the Arrow stream has columns {names}, but {name!r} must be among them")
    column = table.column(name)
    if not pa.types.is_dictionary(column.type):
        return column
    _check_written_out(column, name, bounds)
    return column.cast(column.type.value_type)


def _check_written_out(column: pa.ChunkedArray, name: str, bounds: Bounds) -> None:
    """Refuse a column that takes too much without its dictionary, in which a long text stands once for all its rows."""
    kind = column.type.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return
    size_bytes = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary)
        size_bytes += pc.sum(lengths.cast(pa.int64()).take(chunk.indices)).as_py() or 0
        if size_bytes > bounds.size_bytes:
            raise BodyTooLarge(
                f"the body is larger than the {bounds.size_bytes} bytes taken at once: without its dictionary, the "
                f"column {name!r} has at least {size_bytes}"
            )


def _in_turn(src: pa.ChunkedArray, dst: pa.ChunkedArray) -> pa.Array:
    """The source and the destination of each row, one behind the other."""
    both = pa.concat_arrays([pa.array([], pa.large_string()), *src.chunks, *dst.chunks])
    places = np.arange(len(both)).reshape(2, -1).T.ravel()
    return both.take(pa.array(places))


def id_column(table: pa.Table, name: str, bounds: Bounds, *, string_ids: bool) -> pa.ChunkedArray:
    """The column of ids, of integers or of strings; `InvalidArgument` where it is neither there nor of the right type."""
    column = _column(table, name, bounds)
    if string_ids:
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            raise InvalidArgument(f"column {name!r} has type {column.type}, but ids of this loop are strings")
        return column.cast(pa.large_string())
    if not pa.types.is_integer(column.type):
        raise InvalidArgument(f"column {name!r} has type {column.type}, but a vertex id is an integer")
    return column


def add_id_faults(faults: Faults, name: str, column: pa.ChunkedArray) -> None:
    """Note which ids are missing, or beyond 64 bits."""
    faults.add(nulls(column), f"{name} is missing")
    # A null compares as null, which is no fault of these kinds.
    if pa.types.is_uint64(column.type):
        beyond = pc.greater(column, pa.scalar(_INT64_MAX, pa.uint64())).fill_null(fill_value=False)
        faults.add(as_numpy(beyond), f"{name} is beyond 64 bits")
    if pa.types.is_large_string(column.type):
        faults.add(as_numpy(pc.equal(column, "").fill_null(fill_value=False)), f"{name} is missing")


def op_column(table: pa.Table) -> NDArray[np.int8]:
    """The codes of the operations; UNKNOWN_OP where a word or number is none."""
    if "op" not in table.column_names:
        return np.full(table.num_rows, INSERT, np.int8)
    column = table.column("op")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    textual = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (textual or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise InvalidArgument(
            f"column 'op' has type {column.type}, but must be text or integers (1 adds, -1 removes)"
        )
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = np.empty(table.num_rows, np.int8)
    start = 0
    for chunk in column.chunks:
        words = chunk.dictionary.cast(pa.large_string())
        known = pc.index_in(pc.utf8_lower(words), _words()).fill_null(len(OPERATIONS))
        # A null stands one behind the words, and means as much as one among them.
        table_of_codes = np.append(
            np.where(as_numpy(words.is_null()), INSERT, _CODES[as_numpy(known)]), INSERT
        )
        codes[start : start + len(chunk)] = table_of_codes[
            as_numpy(chunk.indices.cast(pa.int64()).fill_null(len(words)))
        ]
        start += len(chunk)
    return codes


@cache
def _words() -> pa.Array:
    """The words of operations. Not when this is imported: where pandas is installed, the first array that pyarrow makes imports it."""
    return pa.array(list(OPERATIONS), pa.large_string())


def weight_column(table: pa.Table) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The weights, 1 where there is none, and where there is none."""
    if "weight" not in table.column_names:
        return np.ones(table.num_rows), np.ones(table.num_rows, np.bool_)
    column = table.column("weight")
    if not (
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_null(column.type)
    ):
        raise InvalidArgument(f"column 'weight' has type {column.type}, but a weight is a number")
    # safe=False: an integer beyond 2^53 becomes the nearest float64, as it does in text.
    return as_numpy(column.cast(pa.float64(), safe=False).fill_null(1.0)), nulls(column)


def nulls(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Where a column has nothing."""
    # Not is_null(nan_is_null=True): a NaN is a fault where a null is "left out".
    return as_numpy(column.is_null())


def as_numpy(column: Any) -> NDArray[Any]:
    """A column as an array of NumPy, which may be memory of Arrow."""
    array: NDArray[Any] = (
        column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    )
    return array


def owned(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that may be written to; Arrow's own memory may not."""
    return array if array.flags.writeable else array.copy()
