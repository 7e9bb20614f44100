"""Each number of an array once, in order: without sorting where they lie close together, as ids and rows mostly do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_CLOSE_TOGETHER = 16  # times as many numbers as there are, from the least to the greatest


def ascending(numbers: NDArray[np.signedinteger]) -> NDArray[np.int64]:
    """Each number once, in order; `numbers` has one at least, and is only read."""
    named = in_order_unsorted(numbers)
    return np.unique(numbers).astype(np.int64, copy=False) if named is None else named


def in_order_unsorted(numbers: NDArray[np.signedinteger]) -> NDArray[np.int64] | None:
    """Each number once, in order, without sorting; None where they do not lie close together. `numbers` has one at least, and is only read."""
    first, last = int(numbers.min()), int(numbers.max())
    if last - first > _CLOSE_TOGETHER * len(numbers):
        return None
    are_there = np.zeros(last - first + 1, np.bool_)
    are_there[numbers - first] = True
    return np.flatnonzero(are_there) + first
