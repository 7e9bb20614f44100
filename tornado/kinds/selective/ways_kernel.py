"""The compiled walk behind `steps_back`: over parents, for as long as they are rows of this worker."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...symbol_names import compiled
from .loop_columns import OWN


@compiled
def walk_back(
    parent: NDArray[np.int32],
    flags: NDArray[np.uint8],
    rows: NDArray[np.int64],
    passed: NDArray[np.bool_],
    found: NDArray[np.int32],
) -> int:
    """Write to `found` the own rows among `rows`, their parents, and so on, each once; returns how many.

    `passed` is for all rows, comes as False, and is written; `found` has room for all of them.
    """
    count = 0
    for first in rows:
        row = first
        while row >= 0 and not passed[row] and flags[row] & OWN:
            passed[row] = True
            found[count] = row
            count += 1
            row = parent[row]
    return count
