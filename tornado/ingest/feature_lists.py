"""The features of a table of points, column by column: in which form they are, and what it says as flat lists.

Guarantee: what is returned has the order of the rows, and nothing for rows that are null, whatever their memory has there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import InvalidArgument
from .arrow import as_numpy, nulls

FEATURES: Final = "features"
INDICES: Final = "indices"
VALUES: Final = "values"
WITHOUT_WIDTH: Final = frozenset({"maps", "structs", "two lists"})
"""Forms of sparse features that do not say how many there are."""


class FlatLists(NamedTuple):
    """The lists of a column, one after the other; those of nulls are empty."""

    lengths: NDArray[np.int64]
    entries: pa.ChunkedArray


def form_of(schema: pa.Schema) -> str:
    """How the features are there: `lists`, `maps`, `structs`, `vectors`, `two lists` or `columns`."""
    if FEATURES in schema.names:
        kind = schema.field(FEATURES).type
        if pa.types.is_map(kind):
            return "maps"
        if pa.types.is_struct(kind):
            return "vectors" if {"type", "size"} <= _field_names(kind) else "structs"
        if is_list(kind):
            return "lists"
    if INDICES in schema.names and VALUES in schema.names:
        kinds = schema.field(INDICES).type, schema.field(VALUES).type
        if all(map(is_list, kinds)):
            return "two lists"
    return "columns"


def is_list(kind: pa.DataType) -> bool:
    """Whether entries of a type are lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def require_number(kind: pa.DataType, name: str, what: str, *, with_bool: bool = True) -> None:
    """Refuse a column that has no numbers, saying what they are for."""
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (numeric or (with_bool and pa.types.is_boolean(kind))):
        raise InvalidArgument(f"column {name!r} has type {kind}, but {what} is a number")


def index_lists(
    table: pa.Table, form: str, *, fits: Callable[[int], None] = lambda _: None
) -> tuple[FlatLists, FlatLists]:
    """The indices and the values of sparse points.

    Parameters
    ----------
    fits : callable
        Told how many entries there are, before anything is made of them that takes more memory than they do; raises where it is too much.
    """
    if form == "two lists":
        columns = [table.column(INDICES), table.column(VALUES)]
    elif form in {"structs", "vectors"}:
        kind = table.schema.field(FEATURES).type
        if not {INDICES, VALUES} <= _field_names(kind):
            raise InvalidArgument(
                f"column 'features' has type {kind}, but needs the lists indices and values"
            )
        columns = _fields(table.column(FEATURES), INDICES, VALUES)
    else:
        kind = table.schema.field(FEATURES).type
        _require_indices(kind.key_type)
        require_number(kind.item_type, FEATURES, "a value of it")
        # A map is a list of pairs.
        pairs = table.column(FEATURES).cast(
            pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
        )
        lists = lists_of(pairs)
        fits(len(lists.entries))
        keys, items = lists.entries.flatten()
        return lists._replace(entries=keys), lists._replace(entries=items)
    for column in columns:
        if not is_list(column.type):
            raise InvalidArgument(f"column 'features' has a field of type {column.type}, but needs lists")
    _require_indices(columns[0].type.value_type)
    require_number(columns[1].type.value_type, VALUES, "an entry of it")
    indices, values = lists_of(columns[0]), lists_of(columns[1])
    fits(max(len(indices.entries), len(values.entries)))
    if form == "vectors":
        indices = _all_indices(indices, values, _is_dense(table.column(FEATURES)))
    return indices, values


def _require_indices(kind: pa.DataType) -> None:
    if not pa.types.is_integer(kind):
        raise InvalidArgument(f"indices of features have type {kind}, but they are integers")


# Vectors of Spark


def shape_of_vectors(column: pa.ChunkedArray) -> tuple[int, bool]:
    """How many features the first vector of a column has, and whether it is dense.

    Raises
    ------
    InvalidArgument
        There is none.
    """
    present = np.flatnonzero(~nulls(column))
    if not len(present):
        raise InvalidArgument("the table declares no points: its first rows have no features")
    first = int(present[0])
    return int(sizes_of(column)[first]), bool(_is_dense(column)[first])


def _is_dense(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    [kind] = _fields(column, "type")
    require_number(kind.type, "type", "the type of a vector", with_bool=False)
    return as_numpy(pc.equal(kind, 1).fill_null(fill_value=False))


def sizes_of(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """How many features each vector has; one that is dense as many as it has values."""
    size, values = _fields(column, "size", VALUES)
    require_number(size.type, "size", "the size of a vector", with_bool=False)
    if not is_list(values.type):
        raise InvalidArgument(f"column 'features' has a field of type {values.type}, but needs lists")
    sizes = as_numpy(size.cast(pa.int64(), safe=False).fill_null(-1))
    return np.where(_is_dense(column), lists_of(values).lengths, sizes)


def _all_indices(indices: FlatLists, values: FlatLists, is_dense: NDArray[np.bool_]) -> FlatLists:
    """The indices of vectors, with those of dense ones, which have none written."""
    lengths = np.where(is_dense, values.lengths, indices.lengths)
    found = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    written = as_numpy(indices.entries.cast(pa.int64(), safe=False).fill_null(-1))
    found[np.repeat(~is_dense, lengths)] = written[np.repeat(~is_dense, indices.lengths)]
    return FlatLists(lengths, pa.chunked_array([pa.array(found)]))


# Lists and values


def _field_names(kind: pa.DataType) -> set[str]:
    return {kind.field(place).name for place in range(kind.num_fields)}


def _fields(column: pa.ChunkedArray, *names: str) -> list[pa.ChunkedArray]:
    """Some fields of structs, null where the struct is."""
    kind = column.type
    parts = column.flatten()
    places = {kind.field(place).name: place for place in range(kind.num_fields)}
    return [parts[places[name]] for name in names]


def lists_of(column: pa.ChunkedArray) -> FlatLists:
    """The lists of a column, one after the other."""
    lengths = pc.list_value_length(column).fill_null(0).cast(pa.int64())
    return FlatLists(as_numpy(lengths), pc.list_flatten(column))


def floats_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as float64, NaN for those that are missing; integers beyond 2^53 become the nearest, as they do in text."""
    return column.cast(pa.float64(), safe=False).fill_null(np.nan)
