"""What the values of an answer are: their type, which of them were reached, and the order in which they rank.

A program says it all with its `worst`. Where that is a number, a vertex has one float64, and where it is a pair, a pair of numbers
of which an answer shows the first. A float, alone or the first of a pair, tells what was not reached: that shows the one of `worst`.
A pair of whole numbers is one of int64. Its first is a label, say, every one of which may be somebody's, so none is left to
tell that, and every vertex that was seen counts as reached.

Guarantees: an int64 never becomes a float, also where values are compared or ranked, so those beyond 2^53 keep all their bits; what
is no number (NaN) is nobody's value, and an infinity that is not `worst` is a value as any other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
ValueArray = NDArray[np.float64 | np.int64]
"""The values that are shown: one float64 a vertex, or one int64."""
Mask = NDArray[np.bool_]
Worst = float | tuple[int, int] | tuple[float, float]
"""The value of a vertex that no offer has reached."""

FLOAT64, INT64 = np.dtype(np.float64), np.dtype(np.int64)


def entry_of(worst: Worst) -> NDArray[np.float64 | np.int64]:
    """Return `worst` as a loop keeps it, and every value with it: float64[], float64[2] or int64[2].

    Examples
    --------
    >>> entry_of(-1), entry_of((float("inf"), 0)), entry_of((2**63 - 1, 0))
    (array(-1.), array([inf,  0.]), array([9223372036854775807,                   0]))
    """
    is_whole = isinstance(worst, tuple) and all(isinstance(number, int | np.integer) for number in worst)
    return np.array(worst, INT64 if is_whole else FLOAT64)


def dtype_of(worst: Worst) -> np.dtype[np.float64 | np.int64]:
    """Return the type of the values that are shown.

    Examples
    --------
    >>> dtype_of(-1.0), dtype_of((float("inf"), 0.0)), dtype_of((2**63 - 1, 0))
    (dtype('float64'), dtype('float64'), dtype('int64'))
    """
    return entry_of(worst).dtype


def shown(values: NDArray[np.float64 | np.int64]) -> ValueArray:
    """Return what is shown of values as a loop has them: numbers[n] as they are, of numbers[n, 2] the first ones."""
    return values if values.ndim == 1 else np.ascontiguousarray(values[:, 0])


def seconds_of(values: NDArray[np.float64 | np.int64]) -> ValueArray:
    """Return what is not shown of pairs as a loop has them, numbers[n, 2]: the second ones."""
    return np.ascontiguousarray(values[:, 1])


def unknown_values(count: int, worst: Worst) -> ValueArray:
    """Return what stands in place of the values of vertices that were never seen: as of `worst`, or 0 where they are whole numbers."""
    if dtype_of(worst) == INT64:
        return np.zeros(count, np.int64)
    return np.full(count, _shown_worst(worst), np.float64)


def reached_of(values: ValueArray, worst: Worst) -> Mask:
    """Return which vertices were reached, by the values that are shown of them.

    Examples
    --------
    >>> reached_of(np.array([0.0, np.inf, -np.inf, np.nan]), np.inf).tolist()
    [True, False, True, False]
    >>> reached_of(np.array([1.0, np.inf]), (np.inf, np.inf)).tolist()
    [True, False]
    >>> reached_of(np.array([7, -(2**63)]), (2**63 - 1, 0)).tolist()
    [True, True]
    """
    if dtype_of(worst) == INT64:
        return np.ones(len(values), np.bool_)
    reached: Mask = (values != _shown_worst(worst)) & ~np.isnan(values)
    return reached


def best_of(ids: Ids, values: ValueArray, reached: Mask, k: int, rank: str) -> tuple[Ids, ValueArray]:
    """Return at least the first `k` vertices by rank (all for 0), in any order, without those that were not reached.

    All that are as good as the last of them are there, so that whoever puts several such answers together can choose by id.
    """
    ids, values = ids[reached], values[reached]
    keys = _keys(values, rank)
    if 0 < k < len(keys):
        within = keys <= np.partition(keys, k - 1)[k - 1]
        ids, values = ids[within], values[within]
    return ids, values


def ranked(ids: Ids, values: ValueArray, reached: Mask, k: int, rank: str) -> tuple[Ids, ValueArray]:
    """Return the first `k` vertices by rank, best first, ties by id, without those that were not reached.

    Examples
    --------
    >>> ids, labels = np.array([3, 1, 2]), np.array([2**53, -(2**63), 2**53 + 1])
    >>> [ranked(ids, labels, labels == labels, 3, rank)[0].tolist() for rank in ("nearest", "highest")]
    [[1, 3, 2], [2, 3, 1]]
    """
    ids, values = best_of(ids, values, reached, k, rank)
    order = np.lexsort((ids, _keys(values, rank)))[:k]
    return ids[order], values[order]


def gaps(values: ValueArray, norm: str) -> NDArray[np.float64]:
    """Return how far each value is from the next one, in a norm: by more than a bound in that norm, and their order is certain.

    Of all errors together (`l1`) one of two values may have a part and the other what is left, so they have to differ by more than
    the bound. Where each value x may be wrong by the bound k as a share of it (`relative`), x >= y are surely in that order where
    x (1 - k) > y (1 + k); so it is (x - y) / (x + y) that is to be above k.

    Examples
    --------
    >>> gaps(np.array([9.0, 3.0, 1.0]), "l1"), gaps(np.array([9.0, 3.0, 1.0]), "relative")
    (array([6., 2.]), array([0.5, 0.5]))
    """
    differences = np.abs(np.diff(values)).astype(np.float64)
    if norm != "relative":
        return differences
    sums = np.abs(values[:-1]) + np.abs(values[1:])
    apart: NDArray[np.float64] = np.divide(
        differences, sums, out=np.zeros(len(differences)), where=sums > 0.0
    )
    return apart


def _shown_worst(worst: Worst) -> float:
    return worst[0] if isinstance(worst, tuple) else worst


def _keys(values: ValueArray, rank: str) -> ValueArray:
    """Return numbers of the same type that ascend from the best value on."""
    if rank == "nearest":
        return values
    # The complement of an int64 is -1 - n, which unlike -n is there for the least one too.
    keys: ValueArray = np.invert(values) if values.dtype == INT64 else np.negative(values)
    return keys
