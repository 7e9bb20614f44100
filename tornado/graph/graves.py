"""The columns of graves: edges that were removed while somebody may read them; see `graph_kernel`."""

from __future__ import annotations

import numpy as np

from ..arena import reserve


def grave_columns(ring: int) -> dict[str, np.ndarray]:
    """Return empty ones, by their names in `GraphColumns`, for a ring of so many, a power of two."""
    return {
        "grave_producer": reserve(ring, np.int32),
        "grave_consumer": reserve(ring, np.int32),
        "grave_weight": reserve(ring, np.float64),
        "grave_born": reserve(ring, np.int64),
        "grave_died": reserve(ring, np.int64),
        "grave_next_out": reserve(ring, np.int64),
        "grave_next_in": reserve(ring, np.int64),
    }
