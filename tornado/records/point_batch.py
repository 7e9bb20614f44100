"""Point batches: the columns in which records of points travel from a source to every worker.

A record is (id, label, weight, operation, features); a batch is those columns, in arrival order. A point is live from the record
that inserts it to the one that removes it, and a record of an id that is live takes the place of that point.

Guarantees: ids are exactly int64 and never pass through a float; features and weights are finite, and weights not negative; a label
is finite, or the NaN that stands for "none". A removal has an id and nothing else that counts: no label, weight 1, features 0.
Left out on purpose: what a learner thinks of a label, such as that it is no class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .callers_columns import (
    bad_entry,
    callers_column,
    callers_floats,
    operation_codes,
    same_length,
    vertex_ids,
)
from .callers_features import dense_features, sparse_features
from .operations import INSERT, REMOVE, SYMBOLS
from .point_schema import Points
from .record_batch import RecordBatch

_BESIDE = "ids has"


@dataclass(frozen=True, slots=True, eq=False)
class PointBatch(RecordBatch):
    """Records of points in columns, in arrival order. The arrays are not written after construction.

    It has a class for each declaration (`kind_of`), whose schema is what is declared: that one reads what was written, and
    puts batches together. Batches are of a `DensePointBatch` or of a `SparsePointBatch`, which have the features.

    Parameters
    ----------
    id : int64[n]
        Of points.
    label : float64[n]
        NaN: none.
    weight : float64[n]
        Finite and not negative.
    op : int8[n]
        INSERT, REMOVE or REPLACE.

    Notes
    -----
    The constructor trusts its arrays (kernels fill them); data of a caller comes through `of`, which checks and copies.

    Examples
    --------
    >>> points = Points(features=2)
    >>> batch = PointBatch.of(points, ids=[7, 8], labels=[1, -1], features=[[0.5, 2.0], [1.5, 0.0]])
    >>> len(batch), batch.features.tolist()
    (2, [[0.5, 2.0], [1.5, 0.0]])
    >>> PointBatch.kind_of(points).decode(batch.encode()).equals(batch)
    True
    >>> PointBatch.of(points, ids=[7], features=[[0.5, float("nan")]])
    Traceback (most recent call last):
    ...
    tornado.errors.InvalidArgument: features[0, 1] is nan, but a feature is a finite number. Mend that entry and \
repeat the call: none of it was taken.
    """

    points: ClassVar[Points]

    id: NDArray[np.int64]
    label: NDArray[np.float64]
    weight: NDArray[np.float64]
    op: NDArray[np.int8]

    @staticmethod
    def kind_of(points: Points) -> type[PointBatch]:
        """The class of batches of such points: the same for equal declarations."""
        return _kind_of(points)

    @staticmethod
    def of(
        points: Points,
        *,
        ids: Any,
        labels: Any = None,
        features: Any = None,
        weights: Any = None,
        op: Any = INSERT,
    ) -> PointBatch:
        """Check a caller's columns and copy them: all of the call or, with an error, none of it.

        Parameters
        ----------
        points : Points
            What the stream declares.
        ids : sequence of int, NumPy array, Arrow array or pandas column
            Exactly int64, so floats and bools are refused even where they are integral.
        labels : sequence of float, number, optional
            Left out, None or NaN: none.
        features : see `dense_features` and `sparse_features`
            Of each record; those of removals are not looked at, and where there are only removals it may be left out.
        weights : sequence of float, number, optional
            Left out: 1.0.
        op : int, str or a column of them
            INSERT, REMOVE, REPLACE or how `OPERATIONS` writes them.

        Returns
        -------
        DensePointBatch or SparsePointBatch
            Of the class `kind_of` the points.

        Raises
        ------
        InvalidArgument
            Columns differ in length, or an entry is not allowed; names the first bad entry with index and value.
        """
        names = vertex_ids(ids, name="ids", what="the id of a point")
        codes = operation_codes(op, len(names), beside=_BESIDE)
        removed = codes == REMOVE
        columns: dict[str, NDArray[Any]] = {
            "id": names,
            "label": _labels(labels, removed),
            "weight": _weights(weights, codes),
            "op": codes,
        }
        if points.sparse:
            columns |= sparse_features(features, points, removed)._asdict()
        else:
            columns["features"] = dense_features(features, points, removed)
        return _kind_of(points).of_columns(columns)

    def described(self, record: int) -> str:
        """See `RecordBatch`."""
        return f"point {self.id[record]}, label {self.label[record]:g}"

    @classmethod
    def removals(cls, ids: NDArray[np.int64]) -> PointBatch:
        """Removals of the points of these ids: like the constructor, it trusts them."""
        count = len(ids)
        columns = {column.name: np.zeros(column.shape(count), column.dtype) for column in cls.schema.columns}
        columns |= {
            "id": ids,
            "label": np.full(count, np.nan),
            "weight": np.ones(count),
            "op": np.full(count, REMOVE, np.int8),
        }
        return cls.of_columns(columns)


@dataclass(frozen=True, slots=True, eq=False)
class DensePointBatch(PointBatch):
    """Points with all of their features.

    Parameters
    ----------
    features : float32[n, width] or float64[n, width]
        C-contiguous; 0 for removals.
    """

    features: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class SparsePointBatch(PointBatch):
    """Points with the features that they name, in compressed rows; all others are 0.

    Parameters
    ----------
    starts : int64[n + 1]
        The features of record i are entries ``starts[i] .. starts[i + 1]``; none for removals.
    indices : int32[nnz]
        Which features, ascending within a record and none twice.
    values : float32[nnz] or float64[nnz]
        Their values.
    """

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]


@lru_cache(maxsize=256)
def _kind_of(points: Points) -> type[PointBatch]:
    layout = SparsePointBatch if points.sparse else DensePointBatch
    attributes = {"__slots__": (), "__module__": __name__, "schema": points.schema, "points": points}
    return type(layout.__name__, (layout,), attributes)


def _labels(labels: Any, removed: NDArray[np.bool_]) -> NDArray[np.float64]:
    if labels is None:
        return np.full(len(removed), np.nan)
    found = _numbers(labels, len(removed), name="labels", what="a label")
    found[removed] = np.nan
    bad = np.flatnonzero(np.isinf(found))
    if len(bad):
        raise bad_entry("labels", int(bad[0]), float(found[bad[0]]), "a label is a finite number, or None")
    return found


def _weights(weights: Any, codes: NDArray[np.int8]) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(len(codes))
    found = _numbers(weights, len(codes), name="weights", what="a weight")
    found[codes == REMOVE] = 1.0
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        kind = SYMBOLS[int(codes[bad[0]])]
        rule = f"the weight of a point ({kind}) is a finite number that is not negative"
        raise bad_entry("weights", int(bad[0]), float(found[bad[0]]), rule)
    return found


def _numbers(values: Any, count: int, *, name: str, what: str) -> NDArray[np.float64]:
    if isinstance(values, int | float | np.integer | np.floating) and not isinstance(values, bool):
        return np.full(count, callers_floats([values], name=name, what=what)[0])
    column = callers_column(values, name)
    same_length(name, len(column), count, beside=_BESIDE)
    return callers_floats(column, name=name, what=what)
