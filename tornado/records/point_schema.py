"""What the points of a stream are declared to be: how many features they have, dense or sparse, and of which type.

A declaration holds for every point of the stream, so it is known before the first one comes: whoever learns from the points can
make its parameters, and a point that is not so is refused where it comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgument
from .schema import RecordColumn, Schema

MOST_FEATURES: Final = 2**31 - 1
"""An index of a feature is an int32."""
_TYPES: Final = (np.dtype(np.float64), np.dtype(np.float32))
_ID: Final = np.dtype(np.int64)
_FLOAT: Final = np.dtype(np.float64)


@dataclass(frozen=True, slots=True)
class Points:
    """The declared schema of a stream of points.

    Parameters
    ----------
    features : int
        How many a point has.
    sparse : bool
        Whether only those are kept that a point names; all others are 0.
    dtype : float32 or float64
        Of their values. They are kept as they are declared: float32 takes half the memory.
    names : sequence of str, optional
        What the features are called, one name for each.

    Raises
    ------
    InvalidArgument
        Less than one feature, another type, or names that are not one for each feature.

    Examples
    --------
    >>> Points(features=2, dtype="float32", names=["age", "height"])
    Points(features=2, sparse=False, dtype=dtype('float32'), names=('age', 'height'))
    >>> Points(features=0)
    Traceback (most recent call last):
    ...
    tornado.errors.InvalidArgument: features is 0, but points have from 1 to 2147483647 features
    """

    features: int
    sparse: bool = False
    dtype: npt.DTypeLike = np.float64
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", _checked_count(self.features))
        object.__setattr__(self, "sparse", bool(self.sparse))
        object.__setattr__(self, "dtype", _value_type(self.dtype))
        if self.names is not None:
            object.__setattr__(self, "names", _checked_names(self.names, self.features))

    @property
    def value_type(self) -> np.dtype[Any]:
        """The type of a feature's value."""
        return np.dtype(self.dtype)

    @property
    def schema(self) -> Schema:
        """The columns of a batch of such points, as `PointBatch` says what they mean."""
        columns = [
            RecordColumn("id", _ID, has_ids=True),
            RecordColumn("label", _FLOAT, is_optional=True),
            RecordColumn("weight", _FLOAT, is_optional=True),
            RecordColumn("op", np.dtype(np.int8), is_optional=True),
        ]
        if self.sparse:
            columns += [
                RecordColumn("starts", _ID, is_starts=True),
                RecordColumn("indices", np.dtype(np.int32), starts="starts"),
                RecordColumn("values", self.value_type, starts="starts"),
            ]
        else:
            columns.append(RecordColumn("features", self.value_type, width=self.features))
        return Schema("points", tuple(columns))


def _checked_count(given: Any) -> int:
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not whole or not 1 <= given <= MOST_FEATURES:
        raise InvalidArgument(f"features is {given!r}, but points have from 1 to {MOST_FEATURES} features")
    return int(given)


def _value_type(given: Any) -> np.dtype[Any]:
    rule = "features are float32 or float64"
    try:
        found: np.dtype[Any] = np.dtype(given)
    except TypeError:
        raise InvalidArgument(f"dtype is {given!r}, but {rule}") from None
    if given is None or found not in _TYPES:
        raise InvalidArgument(f"dtype is {given!r}, but {rule}")
    return found


def _checked_names(given: Any, features: int) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InvalidArgument(f"names is {given!r}, but a name for each feature is needed, such as a list")
    names = tuple(given)
    if len(names) != features:
        raise InvalidArgument(f"names has {len(names)} entries, but points have {features} features")
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"names[{place}] is {name!r}, but the name of a feature is a text")
        if name in seen:
            raise InvalidArgument(f"names[{place}] is {name!r}, but another feature has that name already")
        seen.add(name)
    return names
