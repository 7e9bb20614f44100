"""Tables of points: Arrow IPC streams that are pushed, and parts of Arrow and parquet files.

Columns are `id`, `label`, `weight` and `op` (ids and labels may have other names, see `PointFormat`), and the features in one of
these forms, which the schema shows:

===================================================  ======  =====================================================
`features`: lists, or lists of a fixed size          dense   a number for each feature
`features`: maps of integers to numbers              sparse  indices from 0, and values
`features`: structs with lists `indices`, `values`   sparse  likewise
`indices` and `values`: lists                        sparse  likewise
`features`: structs `type`, `size`, `indices`,       either  vectors of Spark's `ml.linalg`: it chooses for each row
`values`                                                     which form is shorter, so both go to both kinds of streams
otherwise                                            dense   every other column is a feature under its name
===================================================  ======  =====================================================

A column of a wrong type, and features of another form than the stream declares, refuse the table; a row that cannot be a point is
rejected alone. A label that is null is none, a weight that is null or not there is 1, an op that is null is `+`. A removal has an id,
and nothing else of it is looked at. What `point_record` says of fields holds for rows.

Guarantees: ids never pass through a float; a table whose features take more than its bounds, once they are of the declared type, is
refused before memory is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import BodyTooLarge, InvalidArgument
from ..records.operations import REMOVE
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from .arrow import (
    UNKNOWN_OP,
    Faults,
    add_id_faults,
    as_numpy,
    check_table,
    described,
    id_column,
    nulls,
    op_column,
    owned,
    read_table,
    weight_column,
)
from .arrow_bounds import BODY, Bounds
from .feature_lists import (
    FEATURES,
    INDICES,
    VALUES,
    floats_of,
    form_of,
    index_lists,
    lists_of,
    require_number,
    shape_of_vectors,
    sizes_of,
)
from .interner import Names
from .parsed import ParsedPoints, Rejections, drafted
from .point_ids import ids_at, names_at
from .point_layout import ColumnRoles, PointFormat
from .point_record import DENSE_ON_SPARSE, NO_ID_OF_REMOVAL, SPARSE_ON_DENSE, beyond_width, feature_name
from .shown_rows import row_text

_INDEX_BYTES: Final = 4
_SHOWN_COLUMNS: Final = 40


def parse_point_arrow(
    body: bytes, points: Points, *, interner: Names | None = None, source: str | None = None
) -> ParsedPoints:
    """Parse a body: an Arrow IPC stream of any number of record batches.

    Parameters
    ----------
    points : Points
        What the stream declares.
    interner : Names, optional
        Ids are texts and become numbers here; without it they are integers.
    source : str, optional
        Whose points get an id of it and their position where there are none; left out, the ids must be there.

    Returns
    -------
    ParsedPoints
        Positions count the rows of the body from 1 (`shifted` turns them into those of a source).

    Raises
    ------
    InvalidArgument
        The body is no Arrow stream, ends too early, or does not fit what is declared: none of it was taken.
    BodyTooLarge
        It takes more than is taken at once, or its rejected records do.
    """
    return parse_point_table(read_table(body), points, interner=interner, source=source)


def parse_point_table(
    table: pa.Table,
    points: Points,
    *,
    wanted: PointFormat | None = None,
    interner: Names | None = None,
    source: str | None = None,
    passed: int = 0,
    places: NDArray[np.int64] | None = None,
    bounds: Bounds | None = BODY,
) -> ParsedPoints:
    """Parse a table that was read already; see `parse_point_arrow`.

    Parameters
    ----------
    wanted : PointFormat, optional
        Which columns have labels and ids.
    passed : int
        How many rows of the source came before: positions count from the one behind.
    places : int64[rows], optional
        What ids are made of in place of positions, where these are not the places in the source.
    bounds : Bounds or None
        What the features and the rejected records may take; None where the table cannot be refused, and is not large.
    """
    text_format = wanted or PointFormat()
    id_name, label_name = text_format.id_name, text_format.label_name
    check_table(table, (id_name, label_name, "weight", "op", FEATURES, INDICES, VALUES), None)
    for name in (text_format.id, text_format.label):
        if name is not None and name not in table.column_names and not text_format.names_may_lack:
            raise InvalidArgument(f"the table has no column {name!r}, but has {_names(table)}")
    faults = _Faults(table, text_format)
    code = op_column(table)
    removed = code == REMOVE
    ids = None
    if id_name in table.column_names or source is None:
        ids = id_column(table, id_name, bounds or BODY, string_ids=interner is not None)
        add_id_faults(faults, "id", ids)
    else:
        faults.add(removed, NO_ID_OF_REMOVAL)
    faults.add(code == UNKNOWN_OP, "op is unknown")
    label, weight = _label(table, label_name, faults, removed), _weight(table, faults, removed)
    if removed.all():
        # Their ids are enough, and yet a dense point takes room for its features.
        if not points.sparse:
            _require_room(table.num_rows * points.features * points.value_type.itemsize, bounds)
        columns = PointBatch.kind_of(points).removals(np.zeros(table.num_rows, np.int64)).columns()
    else:
        read = _sparse if points.sparse else _dense
        columns = read(table, points, text_format, faults, removed, bounds)

    good = faults.none()
    positions = np.flatnonzero(good) + 1
    columns |= {"label": label, "weight": weight, "op": code, "id": np.empty(table.num_rows, np.int64)}
    batch = PointBatch.kind_of(points).of_columns(columns)
    if not good.all():
        batch = batch.take(good)
    batch.id[:] = _ids(ids, good, positions + passed if places is None else places[good], interner, source)

    rejected = described(
        np.flatnonzero(~good), faults.text_of, faults, rejected=Rejections() if bounds else Rejections(None)
    )
    parsed = ParsedPoints(
        batch,
        table.num_rows,
        table.num_rows,
        positions,
        rejected.since(0),
        faults.text_of,
        draft=drafted(interner),
    )
    return parsed.shifted(passed) if passed else parsed


def check_point_columns(
    table: pa.Table,
    points: Points,
    *,
    wanted: PointFormat | None = None,
    interner: Names | None = None,
    source: str | None = None,
) -> bool:
    """Refuse a table for its columns, where `parse_point_table` would; its rows are not looked at but for what they do.

    Returns
    -------
    bool
        Whether all columns were looked at: where all rows are removals, nobody minds those of features.

    Raises
    ------
    InvalidArgument
        As `parse_point_table`.
    """
    without_rows = table.slice(0, 0)
    parse_point_table(without_rows, points, wanted=wanted, interner=interner, source=source, bounds=None)
    if (op_column(table) == REMOVE).all():
        return False
    text_format = wanted or PointFormat()
    read = _sparse if points.sparse else _dense
    read(without_rows, points, text_format, _Faults(without_rows, text_format), np.zeros(0, np.bool_), None)
    return True


def declared_points(table: pa.Table, wanted: PointFormat | None = None) -> Points:
    """What a table declares that is the first of its stream: of sparse points as many features as its greatest index asks for.

    Raises
    ------
    InvalidArgument
        It has no features, or none of a type that features can have.
    """
    text_format = wanted or PointFormat()
    form = form_of(table.schema)
    if form == "columns":
        names = ColumnRoles.of(table.column_names, text_format, source="the table").features
        return Points(len(names), dtype=text_format.dtype, names=names)
    if form == "lists":
        kind = table.schema.field(FEATURES).type
        if pa.types.is_fixed_size_list(kind):
            return Points(kind.list_size, dtype=text_format.dtype)
        lengths = pc.list_value_length(table.column(FEATURES)).drop_null()
        if not len(lengths):
            raise InvalidArgument("the table declares no points: its first rows have no features")
        return Points(int(lengths[0].as_py()), dtype=text_format.dtype)
    if form == "vectors":
        features, is_dense = shape_of_vectors(table.column(FEATURES))
        return Points(features, sparse=not is_dense, dtype=text_format.dtype)
    indices, _ = index_lists(table, form)
    greatest = pc.max(indices.entries).as_py()
    return Points(1 if greatest is None else greatest + 1, sparse=True, dtype=text_format.dtype)


class _Faults(Faults):
    """The first fault of each row, and the row as people see it."""

    def __init__(self, table: pa.Table, wanted: PointFormat) -> None:
        super().__init__(table.num_rows)
        self._table = table
        named = [wanted.id_name, wanted.label_name, "weight", "op"]
        # Nobody reads a row of ten thousand columns.
        others = [name for name in table.column_names if name not in named]
        self._columns = named + others[:_SHOWN_COLUMNS]

    def text_of(self, position: int) -> str:
        return row_text(self._table, self._columns, position - 1)


def _names(table: pa.Table) -> str:
    names: list[str] = table.column_names
    return f"{names[:_SHOWN_COLUMNS]}" + " and more" * (len(names) > _SHOWN_COLUMNS)


# Columns that every form has


def _label(table: pa.Table, name: str, faults: Faults, removed: NDArray[np.bool_]) -> NDArray[np.float64]:
    if name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    column = table.column(name)
    if not pa.types.is_null(column.type):
        require_number(column.type, name, "a label", with_bool=False)
    label = owned(as_numpy(column.cast(pa.float64(), safe=False).fill_null(np.nan)))
    label[removed] = np.nan
    faults.add(np.isnan(label) & ~nulls(column) & ~removed, "label is NaN")
    faults.add(np.isinf(label), "label is not finite")
    return label


def _weight(table: pa.Table, faults: Faults, removed: NDArray[np.bool_]) -> NDArray[np.float64]:
    weight, left_out = weight_column(table)
    weight = owned(weight)
    weight[removed | left_out] = 1.0
    faults.add(np.isnan(weight), "weight is NaN")
    faults.add(np.isinf(weight), "weight is not finite")
    faults.add(weight < 0, "weight is negative")
    return weight


def _ids(
    ids: pa.ChunkedArray | None,
    good: NDArray[np.bool_],
    places: NDArray[np.int64],
    interner: Names | None,
    source: str | None,
) -> NDArray[np.int64]:
    if ids is None:
        assert source is not None
        return ids_at(source, places) if interner is None else interner.intern(names_at(source, places))
    kept = ids.filter(pa.array(good))
    return as_numpy(kept.cast(pa.int64())) if interner is None else interner.intern(kept)


def _require_room(size_bytes: int, bounds: Bounds | None) -> None:
    if bounds is not None and size_bytes > bounds.size_bytes:
        raise BodyTooLarge(
            f"the body is larger than the {bounds.size_bytes} bytes taken at once: its features take {size_bytes}"
        )


# Dense


def _dense(
    table: pa.Table,
    points: Points,
    wanted: PointFormat,
    faults: Faults,
    removed: NDArray[np.bool_],
    bounds: Bounds | None,
) -> dict[str, NDArray[Any]]:
    form = form_of(table.schema)
    if form not in {"columns", "lists", "vectors"}:
        raise InvalidArgument(f"the table cannot be taken: {SPARSE_ON_DENSE}")
    _require_room(table.num_rows * points.features * points.value_type.itemsize, bounds)
    features = np.zeros((table.num_rows, points.features), points.value_type)
    if form == "vectors":
        entries = _sparse(table, points, wanted, faults, removed, bounds)
        rows = np.repeat(np.arange(table.num_rows), np.diff(entries["starts"]))
        indices = entries["indices"]
        known = (indices >= 0) & (indices < points.features)
        features[rows[known], indices[known]] = entries["values"][known]
    elif form == "columns":
        _read_columns(table, points, wanted, faults, removed, features)
    else:
        _read_lists(table, points, faults, removed, features)
    return {"features": features}


def _read_columns(
    table: pa.Table,
    points: Points,
    wanted: PointFormat,
    faults: Faults,
    removed: NDArray[np.bool_],
    features: NDArray[Any],
) -> None:
    roles = ColumnRoles.of(table.column_names, wanted, source="the table").placed(points, source="the table")
    for column_name, place, column in zip(table.column_names, roles.tolist(), table.columns, strict=True):
        if place < 0:
            continue
        require_number(column.type, column_name, "a feature")
        values = as_numpy(floats_of(column))
        with np.errstate(over="ignore"):
            features[:, place] = values
        if removed.any():
            features[removed, place] = 0
        bad = ~np.isfinite(features[:, place])
        if bad.any():
            name = feature_name(points, place)
            for which, reason in _value_faults(values, nulls(column), points):
                faults.add(bad & which, f"{name} {reason}")


def _read_lists(
    table: pa.Table, points: Points, faults: Faults, removed: NDArray[np.bool_], features: NDArray[Any]
) -> None:
    column = table.column(FEATURES)
    require_number(column.type.value_type, FEATURES, "an entry of it")
    lists = lists_of(column)
    faults.add(nulls(column) & ~removed, "features are missing")
    faults.add((lists.lengths != points.features) & ~removed, _wrong_count(lists.lengths, points))
    whole = (lists.lengths == points.features) & ~removed
    if not whole.all():
        # Before they are numbers of eight bytes: a list that is too long may have any number of small ones.
        lists = lists_of(column.filter(pa.array(whole)))
    values, missing = as_numpy(floats_of(lists.entries)), nulls(lists.entries)
    with np.errstate(over="ignore"):
        features[whole] = values.reshape(-1, points.features)
    places = np.flatnonzero(~np.isfinite(features[whole]))
    if not len(places):
        return
    # The first of each row.
    rows, first = np.unique(places // points.features, return_index=True)
    places = places[first]
    row_of = np.flatnonzero(whole)[rows]
    bad = np.zeros(len(removed), np.bool_)
    bad[row_of] = True
    entries = dict(zip(row_of.tolist(), places.tolist(), strict=True))

    def reason(row: int) -> str:
        place = entries[row]
        name = feature_name(points, place % points.features)
        return f"{name} {_value_fault(float(values[place]), is_missing=bool(missing[place]), points=points)}"

    faults.add(bad, reason)


def _wrong_count(lengths: NDArray[np.int64], points: Points) -> Callable[[int], str]:
    return lambda row: f"features has {lengths[row]} numbers, but points have {points.features} features"


# Sparse


def _sparse(
    table: pa.Table,
    points: Points,
    wanted: PointFormat,  # noqa: ARG001  as `_dense` has it
    faults: Faults,
    removed: NDArray[np.bool_],
    bounds: Bounds | None,
) -> dict[str, NDArray[Any]]:
    form = form_of(table.schema)
    if form in {"columns", "lists"}:
        raise InvalidArgument(f"the table cannot be taken: {DENSE_ON_SPARSE}")
    if form == "vectors":
        sizes = sizes_of(table.column(FEATURES))
        present = ~nulls(table.column(FEATURES)) & ~removed
        faults.add((sizes != points.features) & present, _wrong_count(sizes, points))
    entry_bytes = _INDEX_BYTES + points.value_type.itemsize
    given, numbers = index_lists(
        table, form, fits=lambda count: _require_room(count * entry_bytes + 8 * table.num_rows, bounds)
    )
    names = (FEATURES,) if form != "two lists" else (INDICES, VALUES)
    for name in names:
        faults.add(nulls(table.column(name)) & ~removed, f"{name} are missing")
    faults.add(
        (given.lengths != numbers.lengths) & ~removed,
        lambda row: f"features have {given.lengths[row]} indices, but {numbers.lengths[row]} values",
    )
    good = faults.none() & ~removed
    kept = np.repeat(good, given.lengths)
    no_index = nulls(given.entries)[kept]
    indices = as_numpy(given.entries.cast(pa.int64(), safe=False).fill_null(-1))[kept]
    kept = np.repeat(good, numbers.lengths)
    values, missing = as_numpy(floats_of(numbers.entries))[kept], nulls(numbers.entries)[kept]
    lengths = np.where(good, given.lengths, 0)
    rows = np.repeat(np.arange(table.num_rows), lengths)
    if len(rows) and ((np.diff(indices) < 0) & (np.diff(rows) == 0)).any():
        order = np.lexsort((indices, rows))
        indices, values, missing, no_index = indices[order], values[order], missing[order], no_index[order]
    with np.errstate(over="ignore"):
        narrow = values.astype(points.value_type)
    _add_entry_faults(faults, points, rows, indices, no_index, values, missing, narrow)
    starts = np.zeros(table.num_rows + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return {"starts": starts, "indices": indices.astype(np.int32), "values": narrow}


def _add_entry_faults(
    faults: Faults,
    points: Points,
    rows: NDArray[np.int64],
    indices: NDArray[np.int64],
    no_index: NDArray[np.bool_],
    values: NDArray[np.float64],
    missing: NDArray[np.bool_],
    narrow: NDArray[Any],
) -> None:
    """Note the first fault among the entries of each row, by ascending indices."""
    beyond = (indices < 0) | (indices >= points.features)
    twice = np.zeros(len(rows), np.bool_)
    if len(rows):
        twice[1:] = (indices[1:] == indices[:-1]) & (rows[1:] == rows[:-1])
    places = np.flatnonzero(beyond | twice | ~np.isfinite(narrow))
    if not len(places):
        return
    found, first = np.unique(rows[places], return_index=True)
    entries = dict(zip(found.tolist(), places[first].tolist(), strict=True))
    bad = np.zeros(len(faults.none()), np.bool_)
    bad[found] = True

    def reason(row: int) -> str:
        place = entries[row]
        if no_index[place]:
            return "an index is missing"
        if beyond[place]:
            return beyond_width(int(indices[place]), points)
        if twice[place]:
            return f"index {indices[place]} is there twice"
        fault = _value_fault(float(values[place]), is_missing=bool(missing[place]), points=points)
        return f"feature {indices[place]} {fault}"

    faults.add(bad, reason)


def _value_faults(
    values: NDArray[np.float64], missing: NDArray[np.bool_], points: Points
) -> list[tuple[NDArray[np.bool_], str]]:
    return [
        (missing, "is missing"),
        (np.isnan(values), "is NaN"),
        (np.isinf(values), "is not finite"),
        (np.isfinite(values), f"does not fit into a {points.value_type}"),
    ]


def _value_fault(value: float, *, is_missing: bool, points: Points) -> str:
    found = _value_faults(np.array([value]), np.array([is_missing]), points)
    return next(reason for which, reason in found if which[0])
