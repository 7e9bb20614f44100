"""How a compiled loop lays out the values of its program: the columns that its kernel is given, and the record of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...columns import FLOAT_PAIRS, NUMBERS, WHOLE_PAIRS, ValueLayout
from ...value_types import INT64

_FIELDS = ["value", "candidate", "reached", "parent", "flags", "touched"]


def layout_of(entry: NDArray[Any]) -> ValueLayout:
    """Return how values are kept that are as this one (`value_types.entry_of`)."""
    if not entry.ndim:
        return NUMBERS
    return WHOLE_PAIRS if entry.dtype == INT64 else FLOAT_PAIRS


def record_of(entry: NDArray[Any]) -> np.dtype[np.void]:
    """Return what a loop has of a row in one place, see `LoopColumns`: two values, and what is known of them behind."""
    rest = 2 * entry.nbytes
    return np.dtype(
        {
            "names": _FIELDS,
            "formats": [(entry.dtype, entry.shape), (entry.dtype, entry.shape), "<i8", "<i4", "u1", "<u2"],
            "offsets": [0, entry.nbytes, rest, rest + 8, rest + 12, rest + 14],
            "itemsize": layout_of(entry).row_bytes,
        }
    )
