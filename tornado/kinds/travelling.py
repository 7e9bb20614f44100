"""How the values of programs are written for other processes.

A value arrives as what it was: a list as a list, an array with its type and shape. So only types travel of which that is known,
and nothing is pickled; a subclass (a named tuple, say) is another type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import ARRAY_TYPES, WireType
from ..errors import NotSupported
from ..records.point_schema import Points

_AS_THEY_ARE = frozenset((type(None), bool, float, str, bytes, Points))


@dataclass(frozen=True, slots=True, eq=False)
class _List:
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Wide:
    """An integer beyond 64 bits."""

    integer: int


@dataclass(frozen=True, slots=True, eq=False)
class _Array:
    """An array, or one of NumPy's numbers."""

    array: NDArray[Any] | np.generic


VALUE_TYPES = (
    WireType(_List, lambda one: one.items, list),
    WireType(_Wide, lambda one: (str(one.integer),), lambda fields: int(fields[0])),
    WireType(
        _Array,
        lambda one: (one.array.shape if isinstance(one.array, np.ndarray) else None, np.ravel(one.array)),
        lambda fields: _array_of(*fields),
    ),
    WireType(
        Points,
        lambda one: (one.features, one.sparse, one.value_type.name, one.names),
        lambda fields: Points(*fields),
    ),
)


def travelling(value: Any) -> Any:
    """A value of a program as the wire takes it; read, it is the value again.

    Raises
    ------
    NotSupported
        When it is, or has in it, something else than numbers, strings, bytes, arrays, and tuples, lists and dictionaries of them.
    """
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is int:
        return value if -(1 << 63) <= value < 1 << 64 else _Wide(value)
    if kind is tuple:
        return tuple(map(travelling, value))
    if kind is list:
        return _List(tuple(map(travelling, value)))
    if kind is dict:
        return {travelling(key): travelling(one) for key, one in value.items()}
    what = f"a {kind.__name__}"
    if kind is np.ndarray or isinstance(value, np.generic):
        if value.dtype in ARRAY_TYPES:
            return _Array(value)
        what = f"a {kind.__name__} of {value.dtype}"
    raise NotSupported(
        f"{what} cannot travel between processes: {repr(value)[:80]}",
        hint="What may: numbers, bool, None, str, bytes, NumPy arrays of numbers, and tuples, lists and dictionaries of these. "
        "Say one of them, or use the engine threads.",
    )


def _array_of(shape: tuple[int, ...] | None, flat: NDArray[Any]) -> Any:
    # A copy: a view would keep the whole message in memory as long as the value is known.
    return flat[0] if shape is None else flat.reshape(shape).copy()
