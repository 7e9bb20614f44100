"""What callers have their records in (lists, NumPy, SciPy, Arrow, pandas, Polars), as Arrow tables that a service takes.

Guarantees: nothing that was given is written to. What has another length than the rest, or is no id, no number, is refused before
anything is sent. Leaves out what only the service can know: whether an edge of that weight may be there.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from .errors import InvalidInput

# A push of so many is well below the 64 MiB and the 4,194,304 records that a service takes at once.
ROWS_A_BODY = 500_000
BYTES_A_BODY = 32 << 20

_EDGE_COLUMNS = ("src", "dst", "weight", "op", "time")
_ROWS_HINT = "Give one row for each point: [[5.1, 0.2]] for one point of two features, or [{'age': 5.1, 'height': 0.2}]."


def edges_table(
    src: Any, dst: Any = None, weight: Any = None, *, time: Any = None, op: str | None = None
) -> pa.Table:
    """Return edges as a table with `src`, `dst` and what else is given.

    Parameters
    ----------
    src : array-like, or a table
        Ids; or a table (Arrow, pandas, Polars, a mapping) with the columns `src`, `dst` and maybe `weight`, `op`, `time`.
    op : str, optional
        What is to become of all of them, in place of a column `op`.

    Raises
    ------
    InvalidInput
        The columns are not these, or of unequal lengths.
    """
    if dst is None:
        table = _table_of(src)
        lacking = [name for name in ("src", "dst") if name not in table.column_names]
        if lacking:
            raise InvalidInput(
                f"the table has no column {lacking[0]!r}, but has {', '.join(table.column_names) or 'none'}",
                hint="Name its columns src, dst and, where wanted, weight.",
            )
        given = {name: table[name] for name in _EDGE_COLUMNS if name in table.column_names}
    else:
        columns = {"src": src, "dst": dst, "weight": weight, "time": time}
        given = {name: column for name, column in columns.items() if column is not None}
    made = {name: _typed(name, column) for name, column in given.items()}
    _require_one_length(made)
    if op is not None:
        made["op"] = pa.repeat(pa.scalar(op), len(made["src"]))
    return _table(made)


def vertices_table(ids: Any) -> pa.Table:
    """Return ids as a table of vertices."""
    return _table({"id": _typed("id", ids)})


def points_table(
    ids: Any, labels: Any = None, features: Any = None, weights: Any = None, *, op: str | None = None
) -> pa.Table:
    """Return points as a table.

    Parameters
    ----------
    ids : array-like, or a table
        Ids; or, with nothing else, a table that has the columns of a file of points (`id`, `label`, `features` or a column each).
    features : 2-d array, SciPy sparse matrix, lists of numbers, mappings of numbers, or a table with a column for each
        One row a point.

    Raises
    ------
    InvalidInput
        The columns are of unequal lengths.
    """
    if labels is None and features is None and weights is None and _is_table(ids):
        made = dict(zip(*_named(_table_of(ids)), strict=True))
    else:
        made = {"id": _typed("id", ids)}
        if labels is not None:
            made["label"] = _label_column(labels)
        if weights is not None:
            made["weight"] = _array("weight", weights)
        if features is not None:
            made |= _feature_columns(features)
    _require_one_length(made)
    if op is not None:
        rows = made.get("id", next(iter(made.values()), ()))
        made["op"] = pa.repeat(pa.scalar(op), len(rows))
    return _table(made)


def point_rows(points: Any) -> list[Any]:
    """Return points to be predicted as lists of numbers, or as numbers by the name of their feature, as JSON has them.

    Raises
    ------
    InvalidInput
        They are no rows of numbers.
    """
    with _no_rows("points", points):
        if hasattr(points, "tocsr"):
            rows = points.tocsr()
            return [
                {
                    str(index): value
                    for index, value in zip(row.indices.tolist(), row.data.tolist(), strict=True)
                }
                for row in (rows[place] for place in range(rows.shape[0]))
            ]
        if hasattr(points, "tolist") and getattr(points, "ndim", 0) == 2:
            return [list(map(float, row)) for row in points.tolist()]
        if _is_table(points):
            return [dict(row) for row in _table_of(points).to_pylist()]
        return [
            {str(name): float(value) for name, value in row.items()}
            if isinstance(row, Mapping)
            else [float(value) for value in row]
            for row in points
        ]


def plain_ids(name: str, vertices: Any) -> list[int | str]:
    """Return the ids of an argument as JSON has them: whole numbers or strings."""
    found = vertices.tolist() if hasattr(vertices, "tolist") else vertices
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise InvalidInput(
            f"{name} is {vertices!r} but must be a list of ids",
            hint=f"Write [{found!r}] for one.",
        )
    # A number of an array is one of NumPy.
    found = [one.tolist() if hasattr(one, "tolist") else one for one in found]
    for one in found:
        if isinstance(one, bool) or not isinstance(one, int | str):
            raise InvalidInput(
                f"{one!r} in {name} is no id of a vertex",
                hint="Ids are whole numbers, or strings where a loop has such.",
            )
    return found


def bodies(table: pa.Table) -> Iterator[tuple[int, bytes]]:
    """Yield a table in parts that a service takes at once: the number of rows, and the Arrow stream."""
    rows = max(
        1,
        min(ROWS_A_BODY, ROWS_A_BODY if not table.nbytes else table.num_rows * BYTES_A_BODY // table.nbytes),
    )
    for start in range(0, table.num_rows, rows):
        part = table.slice(start, rows)
        yield part.num_rows, stream_of(part)


def stream_of(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _label_column(labels: Any) -> Any:
    column = _array("label", labels)
    # What a comparison gives: a service takes numbers alone.
    return column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column


def _feature_columns(features: Any) -> dict[str, Any]:
    with _no_rows("features", features):
        if hasattr(features, "tocsr"):
            rows = features.tocsr()
            starts = pa.array(rows.indptr, pa.int32())
            return {
                "indices": pa.ListArray.from_arrays(starts, pa.array(rows.indices)),
                "values": pa.ListArray.from_arrays(starts, pa.array(rows.data, pa.float64())),
            }
        if getattr(features, "ndim", None) == 2 and hasattr(features, "reshape"):
            width = features.shape[1]
            flat = pa.array(features.reshape(-1)).cast(pa.float64())
            return {"features": pa.FixedSizeListArray.from_arrays(flat, width)}
        if _is_table(features):
            names, columns = _named(_table_of(features))
            return dict(zip(names, columns, strict=True))
        rows = list(features)
        if rows and all(isinstance(row, Mapping) for row in rows):
            return {
                "indices": pa.array([[int(name) for name in row] for row in rows], pa.list_(pa.int64())),
                "values": pa.array([list(row.values()) for row in rows], pa.list_(pa.float64())),
            }
        return {"features": pa.array([list(row) for row in rows], pa.list_(pa.float64()))}


@contextmanager
def _no_rows(name: str, given: Any) -> Iterator[None]:
    """Whatever fails here fails since what was given is no rows of numbers."""
    try:
        yield
    except InvalidInput:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError, LookupError, AttributeError) as error:
        raise InvalidInput(
            f"{name} is {reprlib.repr(given)} but must be rows of numbers: {error}", hint=_ROWS_HINT
        ) from error


def _table(columns: Any) -> pa.Table:
    try:
        return pa.table(columns)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the columns make no table: {error}", hint="Each record needs one value of each column."
        ) from error


def _is_table(given: Any) -> bool:
    return isinstance(given, Mapping | pa.Table | pa.RecordBatch) or hasattr(given, "columns")


def _table_of(given: Any) -> pa.Table:
    """Return a table of Arrow, pandas or Polars, or a mapping of columns, as one of Arrow."""
    if isinstance(given, pa.Table):
        return given
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if isinstance(given, Mapping):
        return _table({str(name): _array(str(name), column) for name, column in given.items()})
    if hasattr(given, "columns") and hasattr(given, "__arrow_c_stream__"):
        names = [str(name) for name in given.columns]
        table = _table(given)
        # pandas brings its index along where that is no range.
        return table.select(names)
    raise InvalidInput(
        f"{type(given).__name__} is no table, and there is no dst",
        hint="Give src and dst, or a table of Arrow, pandas or Polars with these columns.",
    )


def _named(table: pa.Table) -> tuple[list[str], list[pa.ChunkedArray]]:
    return list(table.column_names), list(table.columns)


def _typed(name: str, given: Any) -> Any:
    """Return a column of ids, weights, operations or times in a type that a service takes."""
    column = _array(name, given)
    kind = column.type
    if name in {"src", "dst", "id"}:
        if pa.types.is_integer(kind):
            return _cast(name, column, pa.int64())
        if len(column) == 0:
            return column.cast(pa.int64())
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            raise InvalidInput(
                f"{name} is of type {kind}, which is no id",
                hint="Ids are whole numbers of 64 bits, or strings.",
            )
        return _cast(name, column, pa.string())
    return _cast(name, column, pa.float64()) if name == "weight" else column


def _array(name: str, given: Any) -> Any:
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return given
    if hasattr(given, "to_arrow"):  # a Series of Polars
        return given.to_arrow()
    if isinstance(given, str | bytes) or not (isinstance(given, Sequence) or hasattr(given, "__iter__")):
        raise InvalidInput(
            f"{name} is {reprlib.repr(given)}, which is no column", hint="Give a list or an array."
        )
    try:
        return pa.array(given if hasattr(given, "__len__") else list(given))
    except (pa.ArrowException, TypeError, ValueError, OverflowError, LookupError) as error:
        raise InvalidInput(
            f"{name} is no column of one type: {error}",
            hint="Give a list or an array of numbers or of strings.",
        ) from error


def _cast(name: str, column: Any, kind: pa.DataType) -> Any:
    try:
        return column.cast(kind)
    except pa.ArrowException as error:
        raise InvalidInput(
            f"{name} is of type {column.type} and not {kind}: {error}",
            hint="Give numbers, or ids that are all whole numbers or all strings.",
        ) from error


def _require_one_length(columns: Mapping[str, Any]) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidInput(
            f"the columns are of unequal lengths: {said}", hint="Each record needs one of each."
        )
