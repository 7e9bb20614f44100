"""Features of points that a caller hands over, dense or sparse: checked and copied, all of a call or nothing of it.

Guarantee: an error names the first bad entry by its row, and its column where it has one, with its value and the rule. What
packages the caller has is told by what their objects offer, so none of them is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from .callers_columns import bad_entry
from .point_schema import Points

_RULE: Final = "a feature is a finite number"
_NONE_TAKEN: Final = "None of the call was taken."


class SparseColumns(NamedTuple):
    """Features of n points in compressed rows: those of point i are entries ``starts[i] .. starts[i + 1]``.

    Attributes
    ----------
    starts : int64[n + 1]
    indices : int32[nnz]
        Ascending within a point.
    values : float32[nnz] or float64[nnz]
    """

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]


def dense_features(features: Any, points: Points, left_out: NDArray[np.bool_]) -> NDArray[Any]:
    """Check a caller's rows of features and copy them.

    Parameters
    ----------
    features : NumPy array, list of rows, data frame, Arrow table or column of lists, optional
        ``[n, points.features]``; None where all are left out. Columns of a table are found by their names where names are declared.
    points : Points
        What is declared.
    left_out : bool[n]
        The records that need none, whatever stands there; they get zeros.

    Returns
    -------
    float32[n, features] or float64[n, features]
        As declared; C-contiguous, a new array.

    Raises
    ------
    InvalidArgument
        Sparse features, another width, or an entry that is not allowed; names the first one.
    """
    shape = len(left_out), points.features
    if features is None:
        _need_none(left_out, f"each point needs a row of {points.features} numbers")
        return np.zeros(shape, points.value_type)
    if _is_compressed(features):
        raise InvalidArgument(
            "features is sparse, but the stream declares dense points",
            hint=f"Hand over features.toarray(), or declare Points({points.features}, sparse=True). {_NONE_TAKEN}",
        )
    given = _rows_of(features, points)
    if isinstance(given, np.ndarray):
        _check_shape(given, shape)
        with np.errstate(over="ignore"):
            found = np.array(given, points.value_type, order="C")
    else:
        found = _stacked(given, points, left_out)
    if left_out.any():
        found[left_out] = 0
    if not _all_finite(found):
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(found)))
        raise _bad_value(f"{row}, {column}", given[row][column], points)
    return found


def sparse_features(features: Any, points: Points, left_out: NDArray[np.bool_]) -> SparseColumns:
    """Check a caller's sparse features and copy them.

    Parameters
    ----------
    features : SciPy sparse matrix or array, (starts, indices, values), or rows of {index: value} or (index, value), optional
        None where all are left out. Also a data frame with sparse columns, and an Arrow column of maps. What SciPy has twice
        is added up, as it defines.
    points : Points
        What is declared.
    left_out : bool[n]
        The records that need none, whatever stands there; they get none.

    Returns
    -------
    SparseColumns
        New arrays.

    Raises
    ------
    InvalidArgument
        Dense features, an index that is twice in a point or beyond what is declared, another entry that is not allowed; names
        the first one.
    """
    count = len(left_out)
    if features is None:
        _need_none(left_out, "each point needs its features, if only an empty {}")
        return SparseColumns(
            np.zeros(count + 1, np.int64), np.empty(0, np.int32), np.empty(0, points.value_type)
        )
    if _is_compressed(features):
        found = _of_scipy(features, points, count)
    elif isinstance(features, tuple) and len(features) == 3 and all(map(_is_column, features)):
        found = _of_arrays(*features, count=count)
    else:
        found = _of_mappings(features, points, left_out)
    if left_out.any():
        found = _without(found, left_out)
    found = _in_order(found)
    _check_entries(found, points)
    with np.errstate(over="ignore"):
        values = np.array(found.values, points.value_type)
    if not _all_finite(values):
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise _bad_value(f"{_row_of(found, place)}, {found.indices[place]}", found.values[place], points)
    return SparseColumns(found.starts, found.indices.astype(np.int32), values)


def _need_none(left_out: NDArray[np.bool_], rule: str) -> None:
    if not left_out.all():
        raise InvalidArgument(f"features is None, but {rule}", hint=_NONE_TAKEN)


def _is_compressed(features: Any) -> bool:
    """Whether it is sparse: a matrix of SciPy, or a data frame with sparse columns."""
    return hasattr(features, "tocsr") or (hasattr(features, "columns") and hasattr(features, "sparse"))


def _is_column(values: Any) -> bool:
    """Whether it is an array of one dimension; lists in a tuple would be rows."""
    return hasattr(values, "to_numpy") or (isinstance(values, np.ndarray) and values.ndim == 1)


def _rows_of(features: Any, points: Points) -> NDArray[Any] | Sequence[Any]:
    """Rows as one array of numbers, or as a list where each entry must be looked at."""
    if isinstance(features, np.ma.MaskedArray):
        features = features.filled(np.nan) if features.dtype.kind == "f" else features.tolist()
    names = getattr(features, "column_names", None)  # Arrow's table
    if names is not None and hasattr(features, "select"):
        table = features.select(_order(list(names), points))
        columns = [column.to_numpy() for column in table.columns]
        features = np.stack(columns, axis=1) if columns else np.empty((0, 0))
    elif hasattr(features, "to_pylist"):
        features = features.to_pylist()
    elif hasattr(features, "columns") and hasattr(features, "to_numpy"):
        order = _order(list(features.columns), points)
        features = (features[order] if points.names is not None else features).to_numpy()
    elif hasattr(features, "to_numpy"):
        features = features.to_numpy()
    if isinstance(features, np.ndarray) and features.dtype == object:
        features = features.tolist()
    if isinstance(features, list | tuple):
        try:
            found = np.array(features)
        except (ValueError, OverflowError):  # rows of several lengths, or none
            return features
        if found.dtype.kind not in "biuf" or (not found.size and len(features)):
            return features
        features = found.reshape(0, points.features) if not len(features) else found
    if not isinstance(features, np.ndarray):
        raise InvalidArgument(
            f"features is {features!r}, but rows of {points.features} numbers are needed, such as an array"
        )
    if features.dtype.kind not in "biuf":
        raise InvalidArgument(f"features have type {features.dtype}, but {_RULE}", hint=_NONE_TAKEN)
    return features


def _order(found: list[Any], points: Points) -> list[Any]:
    """The columns of a table in the order of the declared names."""
    if points.names is None:
        return found
    for name in points.names:
        if name not in found:
            raise InvalidArgument(
                f"features has no column {name!r}, but the stream declares a feature of that name; it has {found}",
                hint=_NONE_TAKEN,
            )
    return list(points.names)


def _check_shape(features: NDArray[Any], shape: tuple[int, int]) -> None:
    if features.ndim != 2:
        raise InvalidArgument(
            f"features has the shape {features.shape}, but a row of {shape[1]} numbers is needed for each point",
            hint=_NONE_TAKEN,
        )
    if features.shape[1] != shape[1]:
        raise InvalidArgument(
            f"features has {features.shape[1]} columns, but the stream declares {shape[1]} features", hint=_NONE_TAKEN
        )  # fmt: skip
    if features.shape[0] != shape[0]:
        raise InvalidArgument(
            f"features has {features.shape[0]} rows, but ids has {shape[0]}", hint=_NONE_TAKEN
        )


def _stacked(rows: Sequence[Any], points: Points, left_out: NDArray[np.bool_]) -> NDArray[Any]:
    """Rows that are no array: one at a time, to find the first that is wrong."""
    if len(rows) != len(left_out):
        raise InvalidArgument(f"features has {len(rows)} rows, but ids has {len(left_out)}", hint=_NONE_TAKEN)
    rule = f"the features of a point are {points.features} numbers"
    found = np.zeros((len(rows), points.features), points.value_type)
    for row, entries in enumerate(rows):
        if left_out[row]:
            continue
        if isinstance(entries, Mapping):
            raise bad_entry("features", row, entries, f"{rule} on a stream of dense points")
        if not isinstance(entries, list | tuple | np.ndarray):
            raise bad_entry("features", row, entries, rule)
        if len(entries) != points.features:
            raise InvalidArgument(f"features[{row}] has {len(entries)} entries, but {rule}", hint=_NONE_TAKEN)
        found[row] = [_number(entry, f"{row}, {column}", points) for column, entry in enumerate(entries)]
    return found


def _of_scipy(features: Any, points: Points, count: int) -> SparseColumns:
    given = features if hasattr(features, "tocsr") else features.sparse.to_coo()
    if len(given.shape) != 2:
        raise InvalidArgument(f"features has the shape {given.shape}, but a row is needed for each point")
    rows = given.tocsr()
    if given.shape[1] != points.features:
        raise InvalidArgument(
            f"features has {given.shape[1]} columns, but the stream declares {points.features} features",
            hint=f"Resize it, such as features.resize(({given.shape[0]}, {points.features})). {_NONE_TAKEN}",
        )
    if given.shape[0] != count:
        raise InvalidArgument(f"features has {given.shape[0]} rows, but ids has {count}", hint=_NONE_TAKEN)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return _of_arrays(rows.indptr, rows.indices, rows.data, count=count)


def _of_arrays(starts: Any, indices: Any, values: Any, *, count: int) -> SparseColumns:
    """Columns of compressed rows, whose starts are right."""
    begins, columns, entries = np.asarray(starts), np.asarray(indices), np.asarray(values)
    for name, column in (("starts", begins), ("indices", columns)):
        if column.dtype.kind not in "iu" and len(column):
            raise InvalidArgument(
                f"{name} of features have type {column.dtype}, but they are integers", hint=_NONE_TAKEN
            )
    if entries.dtype.kind not in "biuf":
        raise InvalidArgument(f"values of features have type {entries.dtype}, but {_RULE}", hint=_NONE_TAKEN)
    if len(begins) != count + 1:
        raise InvalidArgument(
            f"starts of features has {len(begins)} entries, but {count} points need {count + 1}",
            hint=_NONE_TAKEN,
        )
    begins = begins.astype(np.int64)
    if begins[0] != 0 or (np.diff(begins) < 0).any():
        raise InvalidArgument("starts of features do not ascend from 0", hint=_NONE_TAKEN)
    if not begins[-1] == len(columns) == len(entries):
        raise InvalidArgument(
            f"starts of features end at {begins[-1]}, but there are {len(columns)} indices and {len(entries)} values",
            hint=_NONE_TAKEN,
        )
    return SparseColumns(begins, columns.astype(np.int64), entries)


def _of_mappings(features: Any, points: Points, left_out: NDArray[np.bool_]) -> SparseColumns:
    """Rows of {index: value}, or of pairs of them."""
    if hasattr(features, "to_pylist"):
        features = features.to_pylist()
    elif hasattr(features, "to_list"):
        features = features.to_list()
    if isinstance(features, np.ndarray) and features.dtype == object and features.ndim == 1:
        features = features.tolist()
    if not isinstance(features, list | tuple):
        raise _dense(points)
    if len(features) != len(left_out):
        raise InvalidArgument(
            f"features has {len(features)} rows, but ids has {len(left_out)}", hint=_NONE_TAKEN
        )
    starts, indices, values = np.zeros(len(features) + 1, np.int64), [], []
    for row, entries in enumerate(features):
        if not left_out[row]:
            pairs = list(entries.items()) if isinstance(entries, Mapping) else entries
            if not isinstance(pairs, list | tuple):
                raise bad_entry("features", row, entries, "the features of a sparse point are {index: value}")
            for pair in pairs:
                if not isinstance(pair, list | tuple) or len(pair) != 2:
                    raise _dense(points)
                indices.append(_index(pair[0], row, points))
                values.append(_number(pair[1], f"{row}, {pair[0]}", points))
        starts[row + 1] = len(indices)
    return SparseColumns(starts, np.array(indices, np.int64), np.array(values, np.float64))


def _dense(points: Points) -> InvalidArgument:
    return InvalidArgument(
        "features is dense, but the stream declares sparse points",
        hint="Hand over scipy.sparse.csr_array(features), (starts, indices, values) or rows of {index: value}, "
        f"or declare Points({points.features}). {_NONE_TAKEN}",
    )


def _index(entry: Any, row: int, points: Points) -> int:
    # JSON has texts for keys.
    if isinstance(entry, str) and entry.isascii() and entry.isdigit():
        entry = int(entry)
    if not isinstance(entry, int | np.integer) or isinstance(entry, bool):
        raise bad_entry("features", row, entry, "the index of a feature is an integer")
    if not 0 <= entry < points.features:
        raise _beyond(row, int(entry), points)
    return int(entry)


def _number(entry: Any, place: str, points: Points) -> float:
    if not isinstance(entry, int | float | np.integer | np.floating):
        raise bad_entry("features", place, entry, _RULE)
    try:
        found = float(entry)
    except OverflowError:
        found = np.inf
    if not np.isfinite(found):
        raise _bad_value(place, entry, points)
    with np.errstate(over="ignore"):
        if not np.isfinite(points.value_type.type(found)):
            raise _bad_value(place, entry, points)
    return found


def _without(features: SparseColumns, left_out: NDArray[np.bool_]) -> SparseColumns:
    lengths = np.diff(features.starts)
    kept = np.repeat(~left_out, lengths)
    starts = np.concatenate([[0], np.cumsum(np.where(left_out, 0, lengths))])
    return SparseColumns(starts, features.indices[kept], features.values[kept])


def _in_order(features: SparseColumns) -> SparseColumns:
    """The entries of each row by ascending indices."""
    rows = _rows_of_entries(features)
    if not ((np.diff(features.indices) < 0) & (rows[1:] == rows[:-1])).any():
        return features
    order = np.lexsort((features.indices, rows))
    return features._replace(indices=features.indices[order], values=features.values[order])


def _check_entries(features: SparseColumns, points: Points) -> None:
    indices = features.indices
    if not len(indices):
        return
    if indices.min() < 0 or indices.max() >= points.features:
        place = int(np.flatnonzero((indices < 0) | (indices >= points.features))[0])
        raise _beyond(_row_of(features, place), int(indices[place]), points)
    same = np.flatnonzero(indices[1:] == indices[:-1])
    if len(same):
        rows = _rows_of_entries(features)
        twice = same[rows[same] == rows[same + 1]]
        if len(twice):
            raise InvalidArgument(
                f"features[{rows[twice[0]]}] has index {indices[twice[0]]} twice", hint=_NONE_TAKEN
            )


def _rows_of_entries(features: SparseColumns) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(features.starts) - 1), np.diff(features.starts))


def _row_of(features: SparseColumns, place: int) -> int:
    return int(np.searchsorted(features.starts, place, side="right")) - 1


def _all_finite(values: NDArray[Any]) -> bool:
    """Whether no value is NaN or infinite. A sum says so without a mask of every value, but where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())


def _beyond(row: int, index: int, points: Points) -> InvalidArgument:
    return InvalidArgument(
        f"features[{row}] has index {index}, but the stream declares {points.features} features: 0 to {points.features - 1}",
        hint=f"Mend that entry and repeat the call. {_NONE_TAKEN}",
    )


def _bad_value(place: str, value: Any, points: Points) -> InvalidArgument:
    is_large = isinstance(value, int) or np.isfinite(value)
    return bad_entry(
        "features", place, value, f"a feature fits into a {points.value_type}" if is_large else _RULE
    )
