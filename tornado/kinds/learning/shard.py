"""A shard of points, as the kernels read it, and access to one row, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

Features = NDArray[np.floating] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.floating]]


@dataclass(frozen=True, slots=True)
class Shard:
    """Points of one shard; nothing here is written.

    Attributes
    ----------
    features
        float32 or float64 [n, d], C-contiguous; or CSR: (starts int64 [n + 1], columns int32, values).
    labels, weights
        float64 [n]; weights above 0.
    live
        int64: the rows that count.
    """

    features: Features
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    live: NDArray[np.int64]


def _dot(features: Any, row: int, vector: Any) -> Any: ...


def _add(features: Any, row: int, factor: float, vector: Any) -> Any: ...


def _square(features: Any, row: int) -> Any: ...


@overload(_dot)
def _dot_of(features: Any, row: int, vector: Any) -> Any:  # noqa: ARG001
    def dense(features: Any, row: int, vector: Any) -> float:
        total = 0.0
        for column in range(features.shape[1]):
            total += features[row, column] * vector[column]
        return total

    def sparse(features: Any, row: int, vector: Any) -> float:
        starts, columns, values = features
        total = 0.0
        for place in range(starts[row], starts[row + 1]):
            total += values[place] * vector[columns[place]]
        return total

    return dense if isinstance(features, types.Array) else sparse


@overload(_add)
def _add_of(features: Any, row: int, factor: float, vector: Any) -> Any:  # noqa: ARG001
    def dense(features: Any, row: int, factor: float, vector: Any) -> None:
        for column in range(features.shape[1]):
            vector[column] += factor * features[row, column]

    def sparse(features: Any, row: int, factor: float, vector: Any) -> None:
        starts, columns, values = features
        for place in range(starts[row], starts[row + 1]):
            vector[columns[place]] += factor * values[place]

    return dense if isinstance(features, types.Array) else sparse


@overload(_square)
def _square_of(features: Any, row: int) -> Any:  # noqa: ARG001
    def dense(features: Any, row: int) -> float:
        total = 0.0
        for column in range(features.shape[1]):
            total += np.float64(features[row, column]) ** 2
        return total

    def sparse(features: Any, row: int) -> float:
        starts, _, values = features
        total = 0.0
        for place in range(starts[row], starts[row + 1]):
            total += np.float64(values[place]) ** 2
        return total

    return dense if isinstance(features, types.Array) else sparse


@njit
def dot(features: Any, row: int, vector: Any) -> float:
    """Return the product of a row and a float64 vector."""
    return _dot(features, row, vector)


@njit
def add(features: Any, row: int, factor: float, vector: Any) -> None:
    """Add a row, times a factor, to a float64 vector."""
    _add(features, row, factor, vector)


@njit
def square(features: Any, row: int) -> float:
    """Return the squared length of a row."""
    return _square(features, row)
