"""Steps of a main loop: centroids are always the means of live points, however many come and go."""

import numpy as np
import pytest

from tests.kinds.learning.naive_clusters import LAYOUTS, batch_of, plain_lloyd, squares_of
from tornado.kinds.learning.clusters.cluster_modules import Centroids
from tornado.kinds.learning.clusters.cluster_steps import MovingClusters, ShardSteps, assign_batch
from tornado.kinds.learning.clusters.cluster_work import ClusterWork
from tornado.kinds.learning.clusters.kept_bounds import KeptBounds
from tornado.kinds.learning.clusters.lloyd import lloyd
from tornado.kinds.learning.rounds import run_alone
from tornado.points import SHARDS, EvolvingPoints
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

layouts = pytest.mark.parametrize("points", LAYOUTS, ids=str)


class Loop:
    """All shards of a stream and their clusters, a step after the other."""

    def __init__(self, points, centroids):
        self.stream = EvolvingPoints(points)
        self.sparse = points.sparse
        self.clusters = MovingClusters(np.array(centroids, float))
        self.steps = [ShardSteps(points.features, sparse=points.sparse) for _ in range(SHARDS)]
        self.iteration = 0

    def centroids(self):
        return Centroids(self.clusters.centroids, sparse=self.sparse)

    def changes(self):
        clusters, width = self.clusters.centroids.shape
        return np.zeros(clusters * (width + 2))

    def take(self, batch):
        first, inertia, weight = 0, 0.0, 0.0
        while first < len(batch):
            first = self.stream.apply(batch, first, len(batch))
            deltas, changes = self.stream.deltas(), self.changes()
            for shard in self.stream.read():
                mine = deltas.shard == shard.shard
                rows = [deltas.row[mine & (deltas.sign == sign)] for sign in (1, -1)]
                step = self.steps[shard.shard]
                found = step.came(shard, rows[0], self.centroids(), changes)
                step.went(shard, rows[1], changes)
                inertia, weight = inertia + found[0], weight + found[1]
            self.clusters.add(changes)
        return inertia, weight

    def look_again(self, count):
        for shard in self.stream.read():
            changes = self.changes()
            self.steps[shard.shard].look_again(
                shard, self.centroids(), changes, seed=5, iteration=self.iteration, count=count
            )
            self.clusters.add(changes)
        self.iteration += 1

    def expected(self):
        """Sums over live points, of the clusters that they are counted for."""
        clusters, width = self.clusters.centroids.shape
        sums, weights, counts = np.zeros((clusters, width)), np.zeros(clusters), np.zeros(clusters, np.int64)
        for shard in self.stream.read():
            which = self.steps[shard.shard]._which[shard.rows]
            assert (which >= 0).all()
            batch = shard.batch()
            features = dense(batch, width)
            np.add.at(sums, which, features * batch.weight[:, None])
            np.add.at(weights, which, batch.weight)
            np.add.at(counts, which, 1)
        return sums, weights, counts


def dense(batch, width):
    """Features of a batch, float64[n, width]."""
    if not batch.points.sparse:
        return batch.features.astype(np.float64)
    features = np.zeros((len(batch), width))
    for i in range(len(batch)):
        entries = slice(batch.starts[i], batch.starts[i + 1])
        features[i, batch.indices[entries]] = batch.values[entries]
    return features


def drawn(seed, count):
    random = np.random.default_rng(seed)
    return random.standard_normal((count, 3)), random.choice([0.0, 0.5, 1.0, 3.0], count)


@layouts
def test_centroids_are_the_means_of_live_points_whatever_comes_and_goes(points):
    features, weights = drawn(0, 1200)
    random = np.random.default_rng(1)
    loop = Loop(points, features[:5])
    loop.take(batch_of(points, range(600), features[:600], weights[:600]))
    for turn in range(6):
        loop.take(PointBatch.kind_of(points).removals(random.choice(800, 150, replace=False)))
        rows = slice(600 + 100 * turn, 700 + 100 * turn)
        loop.take(batch_of(points, random.choice(800, 100, replace=False), features[rows], weights[rows]))
        for _ in range(3):
            loop.look_again(16)
        sums, sizes, counts = loop.expected()
        np.testing.assert_allclose(loop.clusters.sizes, sizes, atol=1e-12)
        assert loop.clusters.counts.tolist() == counts.tolist()
        np.testing.assert_allclose(loop.clusters.centroids, sums / sizes[:, None], rtol=1e-9, atol=1e-12)


def test_looked_at_often_enough_they_are_a_fixed_point_of_lloyd():
    points = Points(3)
    features, _ = drawn(3, 800)
    loop = Loop(points, features[:4])
    loop.take(batch_of(points, range(800), features))
    for _ in range(400):
        loop.look_again(40)
    squares = squares_of(points, features, loop.clusters.centroids)
    for shard in loop.stream.read():
        which = loop.steps[shard.shard]._which[shard.rows]
        assert (which == squares[shard.id[shard.rows]].argmin(1)).mean() > 0.99
    *_, inertia, _ = plain_lloyd(points, features, np.ones(800), loop.clusters.centroids)
    assert squares.min(1).sum() == pytest.approx(inertia, rel=1e-3)


@layouts
def test_a_cluster_that_loses_all_points_stays_and_takes_points_again(points):
    near, far = np.full((40, 3), 0.3), np.full((40, 3), 0.7)
    weights = np.random.default_rng(0).uniform(0.01, 3.0, 40)  # whose sum is not exact
    loop = Loop(points, [[0.1, 0.1, 0.1], [0.9, 0.9, 0.9]])
    loop.take(batch_of(points, range(40), near, weights))
    loop.take(batch_of(points, range(40, 80), far, weights))
    before = loop.clusters.centroids.copy()
    for gone in np.random.default_rng(1).permutation(np.arange(40, 80)).reshape(4, 10):
        loop.take(PointBatch.kind_of(points).removals(gone))
    assert loop.clusters.sizes[1] == 0.0
    assert loop.clusters.counts.tolist() == [40, 0]
    assert np.isfinite(loop.clusters.centroids).all()
    np.testing.assert_allclose(loop.clusters.centroids, before)
    loop.take(batch_of(points, [99], [[0.75, 0.75, 0.75]]))
    np.testing.assert_array_equal(loop.clusters.centroids[1], [0.75, 0.75, 0.75])
    loop.take(PointBatch.kind_of(points).removals(np.array([99, *range(40)])))
    assert loop.clusters.sizes.tolist() == [0.0, 0.0]
    assert loop.clusters.counts.tolist() == [0, 0]
    assert np.isfinite(loop.clusters.centroids).all()


@layouts
def test_what_comes_is_judged_before_it_is_counted(points):
    features, weights = drawn(7, 300)
    loop = Loop(points, features[:3])
    centroids = loop.clusters.centroids
    inertia, weight = loop.take(batch_of(points, range(300), features, weights))
    squares = squares_of(points, features, centroids).min(1)
    assert inertia == pytest.approx((weights * squares).sum())
    assert weight == pytest.approx(weights.sum())


@layouts
@pytest.mark.parametrize("with_bounds", [False, True])
def test_the_answer_of_a_branch_is_taken_over(points, with_bounds):
    features, weights = drawn(9, 900)
    loop = Loop(points, features[:4])
    loop.take(batch_of(points, range(600), features[:600], weights[:600]))
    kept = KeptBounds()
    lease, version = loop.stream.lease()
    answer = run_alone(lloyd(loop.clusters.centroids), ClusterWork(loop.stream.read(version), kept))
    loop.stream.release(lease)  # so that rows are used again
    loop.take(PointBatch.kind_of(points).removals(np.arange(100)))
    loop.take(batch_of(points, range(550, 850), features[600:], weights[600:]))
    loop.clusters.start_anew(answer.parameters["centroids"])
    changes = loop.changes()
    for shard in loop.stream.read():
        bounds = kept.of_shard(shard.shard) if with_bounds else None
        loop.steps[shard.shard].count_all(shard, loop.centroids(), changes, bounds)
    loop.clusters.add(changes)
    sums, sizes, counts = loop.expected()
    assert loop.clusters.counts.tolist() == counts.tolist()
    assert counts.sum() == 750
    np.testing.assert_allclose(loop.clusters.centroids, sums / sizes[:, None], rtol=1e-9, atol=1e-12)
    for shard in loop.stream.read():
        which = loop.steps[shard.shard]._which[shard.rows]
        batch = shard.batch()
        squares = squares_of(points, dense(batch, 3), answer.parameters["centroids"])
        assert which.tolist() == squares.argmin(1).tolist()


def test_a_point_that_goes_twice_is_taken_away_once():
    points = Points(3)
    loop = Loop(points, [[0.0, 0, 0]])
    loop.take(batch_of(points, range(30), drawn(0, 30)[0]))
    shard = max(loop.stream.read(), key=len)
    steps = loop.steps[shard.shard]
    for expected in (-3.0, 0.0):
        changes = loop.changes()
        steps.went(shard, shard.rows[:3], changes)
        assert changes[-1] == expected


def test_rows_are_drawn_evenly_from_live_points_alone():
    points = Points(1)
    stream = EvolvingPoints(points)
    stream.apply_all(PointBatch.of(points, ids=range(2000), features=np.zeros((2000, 1))))
    stream.apply_all(PointBatch.kind_of(points).removals(np.arange(1800)))
    shard = max(stream.read(), key=len)
    kernel = ShardSteps(1, sparse=False)._kernel
    counts, draws = np.zeros(len(shard.born), int), 400 * len(shard)
    for iteration in range(40):
        rows = np.empty(draws // 40, np.int32)
        found = kernel.draw_live(shard.born, 3, shard.shard, iteration, rows)
        assert found == len(rows)
        again = np.empty_like(rows)
        kernel.draw_live(shard.born, 3, shard.shard, iteration, again)
        assert rows.tolist() == again.tolist()
        np.add.at(counts, rows, 1)
    assert counts[shard.rows].sum() == draws
    expected = draws / len(shard)
    chi_square = ((counts[shard.rows] - expected) ** 2 / expected).sum()
    assert chi_square < len(shard) + 5 * np.sqrt(2 * len(shard))


def test_nothing_is_drawn_where_no_point_is_live():
    points = Points(1)
    stream = EvolvingPoints(points)
    steps, changes = ShardSteps(1, sparse=False), np.zeros(6)
    centroids = Centroids(np.zeros((2, 1)), sparse=False)
    for batch in (
        [],
        [PointBatch.of(points, ids=[0], features=[[1.0]]), PointBatch.of(points, ids=[0], op="-")],
    ):
        for records in batch:
            stream.apply_all(records)
        for shard in stream.read():
            found = steps.look_again(shard, centroids, changes, seed=0, iteration=0, count=8)
            assert found == (0.0, 0.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_batch_is_assigned_to_the_nearest_centroids(dtype):
    random = np.random.default_rng(0)
    features = np.round(random.standard_normal((500, 4)), 1).astype(dtype)
    centroids = features[:9].astype(np.float64)
    centroids[8] = centroids[2]  # the least of equally near ones
    squares = squares_of(Points(4, dtype=dtype), features, centroids)
    clusters, distances = assign_batch(features, centroids)
    assert (clusters.dtype, distances.dtype) == (np.int64, np.float64)
    assert clusters.tolist() == squares.argmin(1).tolist()
    np.testing.assert_array_equal(distances, np.sqrt(squares.min(1)))
    starts = np.concatenate([[0], np.cumsum((features != 0).sum(1))])
    rows, columns = np.nonzero(features)
    found, distances = assign_batch((starts, columns.astype(np.int32), features[rows, columns]), centroids)
    sparse = squares_of(Points(4, sparse=True, dtype=dtype), features, centroids)
    assert found.tolist() == sparse.argmin(1).tolist()
    np.testing.assert_allclose(distances, np.sqrt(squares.min(1)), atol=1e-7)


def test_an_empty_batch_is_assigned():
    clusters, distances = assign_batch(np.zeros((0, 4)), np.zeros((2, 4)))
    assert len(clusters) == len(distances) == 0
