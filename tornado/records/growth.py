"""By how much a graph, or a set of points, grows with a batch; from the operations alone, without a look at what is there."""

from __future__ import annotations

import numpy as np

from .edge_batch import EdgeBatch
from .operations import INSERT, REMOVE, REPLACE
from .point_batch import PointBatch
from .record_batch import RecordBatch


def gained_with(batch: RecordBatch) -> int:
    """How many edges or points come with a batch, less those that go.

    One that takes the place of another one counts as one that comes, and one that goes as one that was there.
    """
    if not isinstance(batch, EdgeBatch | PointBatch):
        return 0
    comes = (batch.op == INSERT) | (batch.op == REPLACE)
    return int(np.count_nonzero(comes)) - int(np.count_nonzero(batch.op == REMOVE))
