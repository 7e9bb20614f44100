"""After the compiled functions of k-means were called once, none is compiled or loaded any more."""

import numpy as np
import pytest

from tests.kinds.learning.naive_clusters import batch_of, streams_of
from tornado.kinds.learning.clusters.basins import k_means
from tornado.kinds.learning.clusters.cluster_modules import Centroids, cluster_module
from tornado.kinds.learning.clusters.cluster_steps import ShardSteps, assign_batch
from tornado.kinds.learning.clusters.cluster_warming import warm_clusters
from tornado.kinds.learning.clusters.cluster_work import ClusterWork
from tornado.kinds.learning.rounds import run_alone
from tornado.records.point_schema import Points


def compiled(module):
    """For how many kinds of arguments each entry point is there."""
    functions = {name: function for name, function in vars(module).items() if hasattr(function, "signatures")}
    return {
        name: len(function.signatures)
        for name, function in functions.items()
        if not function.targetoptions.get("no_cpython_wrapper")
    }


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_is_compiled_after_warming(dtype, sparse):
    warm_clusters(dtype, sparse=sparse)
    before = compiled(cluster_module(sparse=sparse))
    assert {"assign", "look_at", "try_swaps", "find_nearest"} <= before.keys()
    assert min(before.values()) > 0
    features = np.random.default_rng(0).standard_normal((300, 3)).astype(dtype)
    points = Points(3, dtype=dtype, sparse=sparse)
    (stream,) = streams_of(points, 1, [batch_of(points, range(300), features)])
    run_alone(k_means(12, 3, seed=1), ClusterWork(stream.read()))
    centroids, changes = Centroids(features[:2].astype(float), sparse=sparse), np.zeros(10)
    for shard in stream.read():
        steps = ShardSteps(3, sparse=sparse)
        steps.came(shard, shard.rows[:2], centroids, changes)
        steps.look_again(shard, centroids, changes, seed=0, iteration=0, count=5)
        steps.went(shard, shard.rows[:1], changes)
    entries = np.arange(0, 903, 3), np.tile(np.arange(3, dtype=np.int32), 300), features.ravel()
    assign_batch(entries if sparse else features, centroids.rows)
    assert compiled(cluster_module(sparse=sparse)) == before
