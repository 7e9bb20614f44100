"""What one record of a point means, whatever it is written in: the definition of its fields, in plain Python.

- A removal has an id and nothing else that is looked at; it may leave out its label, its weight and its features.
- A label is a finite number. Where it is left out there is none.
- A weight is a finite number that is not negative; 1 where it is left out.
- A feature is a finite number, also once it is of the declared type: 1e39 is none of float32. None may be left out of a dense point.
- A sparse point names each feature at most once, in any order, by indices below what is declared; the others are 0.

Numbers are the float64 nearest to their digits (and then the nearest float32, where that is declared), as Python and NumPy have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import RecordError
from ..records.operations import REMOVE
from ..records.point_schema import Points
from .lines import parse_number, shown

NO_ID: Final = "id is missing"
NO_ID_OF_SEVERAL: Final = (
    "id is missing, and this is one of several points of a message, whose place is the id of none of them"
)
NO_ID_OF_REMOVAL: Final = "id is missing, by which a removal names its point"
DENSE_ON_SPARSE: Final = "features are dense, but the stream declares sparse points"
SPARSE_ON_DENSE: Final = "features are sparse, but the stream declares dense points"


class ParsedPoint(NamedTuple):
    """The record of one point.

    Attributes
    ----------
    id
        Bytes where ids are texts; None where the source gives none.
    label
        NaN: none.
    values : float32[k] or float64[k]
        Of a dense point all features, of a sparse one those of `indices`.
    indices : int32[k] or None
        Ascending; None for a dense point.
    """

    id: int | bytes | None
    label: float
    weight: float
    op: int
    values: NDArray[Any]
    indices: NDArray[np.int32] | None = None


def removal(identifier: int | bytes | None, points: Points) -> ParsedPoint:
    """The record that removes a point.

    Raises
    ------
    RecordError
        It has no id.
    """
    if identifier is None:
        raise RecordError(NO_ID_OF_REMOVAL)
    if points.sparse:
        none = np.empty(0, points.value_type), np.empty(0, np.int32)
        return ParsedPoint(identifier, math.nan, 1.0, REMOVE, *none)
    return ParsedPoint(identifier, math.nan, 1.0, REMOVE, np.zeros(points.features, points.value_type))


def parse_label(text: bytes) -> float:
    """A label; NaN where there is none."""
    return parse_number(text, "label") if text else math.nan


def parse_point_weight(text: bytes) -> float:
    """The weight of a point; 1 where there is none."""
    return checked_weight(parse_number(text, "weight"), text) if text else 1.0


def checked_weight(weight: float, text: bytes) -> float:
    """The weight, if a point can have it."""
    if weight < 0:
        raise RecordError(f"weight is negative: {shown(text)}")
    return weight


def feature_name(points: Points, place: int) -> str:
    """What messages call a feature.

    Examples
    --------
    >>> feature_name(Points(1), 0), feature_name(Points(1, names=["age"]), 0)
    ('feature 0', "feature 'age'")
    """
    return f"feature {place}" if points.names is None else f"feature {points.names[place]!r}"


def dense_values(texts: Sequence[bytes], points: Points) -> NDArray[Any]:
    """The features of a dense point, from as many texts as it has features."""
    found = np.empty(points.features, np.float64)
    for place, text in enumerate(texts):
        found[place] = parse_number(text, feature_name(points, place))
    return _as_declared(found, np.arange(points.features), texts, points)


def sparse_values(
    entries: Iterable[tuple[int, bytes]], points: Points, *, base: int = 0
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The features of a sparse point.

    Parameters
    ----------
    entries
        Index and value, in any order.
    base : int
        The index of the first feature.

    Returns
    -------
    values, indices : float32[k] or float64[k], int32[k]
        By ascending indices, from 0.
    """
    values: dict[int, float] = {}
    texts: dict[int, bytes] = {}
    for index, text in entries:
        if not base <= index < points.features + base:
            raise RecordError(beyond_width(index, points, base=base))
        if index in texts:
            raise RecordError(f"index {index} is there twice")
        values[index] = parse_number(text, f"feature {index}")
        texts[index] = text
    order = sorted(values)
    found = np.array([values[index] for index in order], np.float64)
    indices = np.array(order, np.int32) - np.int32(base)
    return _as_declared(found, indices + base, [texts[index] for index in order], points), indices


def beyond_width(index: int, points: Points, *, base: int = 0) -> str:
    """Why a record is rejected whose index is that of no feature."""
    return (
        f"index {index} is beyond the declared width: {points.features} features have indices {base} to "
        f"{points.features - 1 + base}"
    )


def _as_declared(
    found: NDArray[np.float64], names: NDArray[Any], texts: Sequence[bytes], points: Points
) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        values = found.astype(points.value_type)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        place = int(bad[0])
        name = f"feature {names[place]}" if points.sparse else feature_name(points, place)
        raise RecordError(f"{name} does not fit into a {points.value_type}: {shown(texts[place])}")
    return values
