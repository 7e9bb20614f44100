"""Calling every compiled function of points once, so that nothing is compiled while a worker has better things to do."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from .evolving_points import EvolvingPoints
from .point_columns import RADIX
from .point_module import point_module
from .shards import share_out


@cache
def warm_points(value_type: str) -> None:
    """Compile what is not on disk yet, and load the rest, for features of a type: ``float32`` or ``float64``."""
    for sparse in (False, True):
        points = Points(1, sparse=sparse, dtype=value_type)
        features = [{0: 1.0}] if sparse else [[1.0]]
        batch = PointBatch.of(points, ids=[1], features=features)
        share_out(batch, 2)
        evolving = EvolvingPoints(points)
        evolving.apply_all(batch)
        evolving.rows_of(batch.id)
        for _ in evolving.read():
            pass
        kernel = point_module(value_type)
        kernel.fill_table(evolving.addresses, np.zeros(4, np.int32), len(evolving.shards))
        if sparse:
            keys, rows = np.empty(1, np.int64), np.empty(1, np.int32)
            for tidy in (kernel.merge_blocks, kernel.slide_entries):
                tidy(evolving.addresses, 0, keys, rows, keys, rows, np.empty(RADIX + 1, np.int64))
