"""How points are shared out to workers: by their shards."""

from __future__ import annotations

import numpy as np

from ..points import share_out
from ..records.point_batch import PointBatch
from .share import Share

_NOBODY = np.empty(0, np.int64)


def point_shares_of(batch: PointBatch, workers: int) -> list[Share]:
    """Return each worker's share: the records of the points whose shards it has."""
    return [Share(0, part, _NOBODY) for part in share_out(batch, workers)]
