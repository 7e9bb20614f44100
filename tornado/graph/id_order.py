"""The order of vertex ids, in which rows are made: ids that lie near each other then have their rows near each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_CLOSE_TOGETHER = 16  # times as many ids as there are, from the least to the greatest


def ascending(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each id once, in order; `ids` has one at least, and is only read."""
    named = in_order_unsorted(ids)
    return np.unique(ids) if named is None else named


def in_order_unsorted(ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Each id once, in order, without sorting; None where they do not lie close together. `ids` has one at least, and is only read."""
    first, last = int(ids.min()), int(ids.max())
    if last - first > _CLOSE_TOGETHER * len(ids):
        return None
    are_there = np.zeros(last - first + 1, np.bool_)
    are_there[ids - first] = True
    return np.flatnonzero(are_there) + first
