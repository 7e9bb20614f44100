"""Samples of the points of a shard, as points of a shard: every so manieth in the order in which they came."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....points import DenseShardPoints, ShardPoints, SparseShardPoints
from ....records.point_batch import DensePointBatch, SparsePointBatch
from .cluster_modules import fixed


def sample_of(points: ShardPoints, stride: int) -> ShardPoints:
    """Copy every `stride`-th visible point; which ones these are depends on the records of the shard alone."""
    batch = replace(points, rows=points.rows[::stride]).batch()
    count = len(batch)
    rows, ids = fixed(np.arange(count), np.int32), fixed(batch.id, np.int64)
    label, weight, born = fixed(batch.label), fixed(batch.weight), fixed(np.ones(count), np.int64)
    value_type = points.points.value_type.type
    if isinstance(batch, SparsePointBatch):
        return SparseShardPoints(
            points.points, points.shard, rows, True, ids, label, weight, born,
            starts=fixed(batch.starts[:-1], np.int32), lengths=fixed(np.diff(batch.starts), np.int32),
            indices=fixed(batch.indices, np.int32), values=fixed(batch.values, value_type),
        )  # fmt: skip
    assert isinstance(batch, DensePointBatch)
    features = fixed(batch.features, value_type)
    return DenseShardPoints(
        points.points, points.shard, rows, True, ids, label, weight, born, features=features
    )
