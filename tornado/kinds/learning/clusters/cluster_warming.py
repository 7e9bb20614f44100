"""Calling every compiled function of k-means once, so that nothing is compiled while a loop has better things to do."""

from __future__ import annotations

from functools import cache

import numpy as np

from ....points import EvolvingPoints
from ....records.point_batch import PointBatch
from ....records.point_schema import Points
from ..rounds import run_alone
from .basins import k_means
from .cluster_modules import Centroids
from .cluster_steps import BESIDE_FEATURES, ShardSteps, assign_batch
from .cluster_work import ClusterWork
from .lloyd import lloyd

_CLUSTERS = 3


@cache
def warm_clusters(value_type: str, *, sparse: bool) -> None:
    """Compile what is not on disk yet, and load the rest, for features of a type: ``float32`` or ``float64``."""
    points = Points(2, sparse=sparse, dtype=value_type)
    features = np.random.default_rng(0).standard_normal((64, 2))
    rows = [dict(enumerate(row)) for row in features.tolist()] if sparse else features
    stream = EvolvingPoints(points)
    stream.apply_all(PointBatch.of(points, ids=np.arange(64), features=rows))
    run_alone(k_means(_CLUSTERS, 2, seed=0), ClusterWork(stream.read()))
    work = ClusterWork(stream.read())
    run_alone(lloyd(np.full((_CLUSTERS, 2), 1e3)), work)  # of which two are without points
    run_alone(lloyd(features[:_CLUSTERS], by_cluster=True), work)
    work.assigned()
    changes = np.zeros(_CLUSTERS * (2 + BESIDE_FEATURES))
    centroids = Centroids(np.zeros((_CLUSTERS, 2)), sparse=sparse)
    for shard in stream.read():
        steps = ShardSteps(2, sparse=sparse)
        steps.count_all(shard, centroids, changes, work.bounds.of_shard(shard.shard))
        steps.look_again(shard, centroids, changes, seed=0, iteration=0, count=1)
        steps.went(shard, shard.rows, changes)
    values = np.ones((1, 2), value_type)
    entries = np.array([0, 2]), np.arange(2, dtype=np.int32), values[0]
    assign_batch(entries if sparse else values, centroids.rows)
