"""Where centroids begin, and out of which basins they get: against plain k-means++ and the best of many scikit-learn starts."""

import numpy as np
import pytest

from tests.kinds.learning.method_runs import run, same, works_of
from tests.kinds.learning.naive_clusters import LAYOUTS, assignment_of, batch_of, squares_of, streams_of
from tornado.kinds.learning.clusters import basins
from tornado.kinds.learning.clusters.basins import k_means
from tornado.kinds.learning.clusters.kept_bounds import KeptBounds
from tornado.kinds.learning.clusters.lloyd import lloyd
from tornado.kinds.learning.clusters.seeding import plus_plus, uniforms
from tornado.kinds.learning.rounds import joined, partial_sums
from tornado.points import SHARDS, shards_of
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

layouts = pytest.mark.parametrize("points", LAYOUTS, ids=str)


def plain_plus_plus(points, features, weights, clusters, seed):
    """Greedy k-means++ over points in the order of their shards."""
    shards = shards_of(np.arange(len(features)))
    order = np.argsort(shards, kind="stable")
    features = features.astype(points.value_type).astype(float)[order]
    weights, shards = weights[order], shards[order]

    def drawn(masses, numbers):
        ends = np.array([masses[shards <= shard].sum() for shard in range(SHARDS)])
        return [int(np.flatnonzero(np.cumsum(masses) > target)[0]) for target in numbers * ends[-1]]

    near = np.ones(len(features))
    rows = drawn(weights * near, uniforms(seed, 0, 1))
    centroids = [features[rows[0]]]
    near = squares_of(points, features, features[rows])[:, 0]
    for place in range(1, clusters):
        rows = drawn(weights * near, uniforms(seed, place, 2 + int(np.log(clusters))))
        tried = np.minimum(near[:, None], squares_of(points, features, features[rows]))
        best = (weights[:, None] * tried).sum(0).argmin()
        centroids.append(features[rows[best]])
        near = tried[:, best]
    return np.array(centroids)


@layouts
@pytest.mark.parametrize("seed", range(3))
def test_seeds_are_those_of_plain_greedy_draws(points, seed):
    random = np.random.default_rng(seed)
    features, weights = random.standard_normal((300, 3)), random.choice([0.0, 1.0, 2.5], 300)
    works = works_of(streams_of(points, 1, [batch_of(points, range(300), features, weights)]))
    found, _ = run(plus_plus(7, 3, seed=seed), works)
    expected = plain_plus_plus(points, features, weights, 7, seed)
    np.testing.assert_array_equal(found.parameters["centroids"], expected)


def test_the_first_is_drawn_by_weight_and_the_next_by_squared_distance():
    points = Points(1)
    features, weights = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 0.0, 3.0])
    works = works_of(streams_of(points, 1, [batch_of(points, range(3), features, weights)]))
    firsts = [run(plus_plus(1, 1, seed=seed), works)[0].parameters["centroids"][0, 0] for seed in range(800)]
    assert set(firsts) == {0.0, 3.0}
    assert np.mean(np.array(firsts) == 3.0) == pytest.approx(0.75, abs=0.06)
    for seed in range(20):
        found, _ = run(plus_plus(2, 1, seed=seed), works)
        assert sorted(found.parameters["centroids"][:, 0].tolist()) == [0.0, 3.0]


@layouts
def test_more_seeds_than_points_that_differ_and_none_at_all(points):
    features = np.repeat([[0.0, 1.0, 2.0], [5.0, 5.0, 5.0]], 30, axis=0)
    works = works_of(streams_of(points, 2, [batch_of(points, range(60), features)]))
    found, _ = run(plus_plus(5, 3, seed=1), works)
    assert sorted(set(map(tuple, found.parameters["centroids"].tolist()))) == [(0, 1, 2), (5, 5, 5)]
    found, _ = run(k_means(5, 3, seed=1), works)
    assert found.is_converged
    assert found.findings["inertia"] == 0.0
    assert sorted(found.parameters["sizes"].tolist()) == [0, 0, 0, 30, 30]
    found, _ = run(k_means(5, 3, seed=1), works_of(streams_of(points, 1, [])))
    assert found.is_converged
    assert found.parameters["sizes"].tolist() == [0.0] * 5


@layouts
@pytest.mark.parametrize("sample", [64, 1 << 14])
def test_the_bits_are_the_same_on_any_number_of_workers(points, sample, monkeypatch):
    monkeypatch.setattr(basins, "SAMPLE_POINTS", sample)
    monkeypatch.setattr(basins, "SAMPLE_POINTS_OF_CLUSTER", 8)
    random = np.random.default_rng(0)
    features, weights = random.standard_normal((900, 3)), random.uniform(0.5, 2.0, 900)
    batches = [batch_of(points, range(900), features, weights)]
    works = works_of(streams_of(points, 1, batches))
    expected, asked = run(k_means(20, 3, seed=2), works)
    assert "sample.hold" in {each.task for each in asked}
    for workers in (2, 3):
        others = works_of(streams_of(points, workers, batches))
        found, _ = run(k_means(20, 3, seed=2), others)
        same(found, expected)
        assert assignment_of(others) == assignment_of(works)


def test_without_moves_it_is_lloyds_from_where_it_begins():
    points = Points(3)
    features = np.random.default_rng(1).standard_normal((500, 3))
    works = works_of(streams_of(points, 1, [batch_of(points, range(500), features)]))
    expected, _ = run(lloyd(features[:5]), works)
    found, _ = run(k_means(5, 3, seed=0, centroids=features[:5], most_moves=0), works)
    same(found, basins.replace(expected, findings={**expected.findings, "moves": 0.0}))


def test_with_a_tolerance_it_ends_sooner_and_says_that_it_has_not_converged():
    points, features = Points(3), np.random.default_rng(1).random((2000, 3))
    works = works_of(streams_of(points, 1, [batch_of(points, range(2000), features)]))
    exact, _ = run(k_means(12, 3, seed=0, centroids=features[:12], most_moves=0), works)
    found, _ = run(k_means(12, 3, seed=0, centroids=features[:12], most_moves=0, tolerance=1e-4), works)
    assert exact.is_converged and not found.is_converged
    assert found.findings["rounds"] < exact.findings["rounds"]
    assert found.findings["moved"] > 0.0
    squares = squares_of(points, features, found.parameters["centroids"])
    assert found.findings["inertia"] == pytest.approx(squares.min(1).sum())
    assert found.findings["inertia"] < 1.02 * exact.findings["inertia"]


@layouts
@pytest.mark.parametrize("sample", [256, 1 << 14])
def test_a_bad_basin_is_left(points, sample, monkeypatch):
    monkeypatch.setattr(basins, "SAMPLE_POINTS", sample)
    monkeypatch.setattr(basins, "SAMPLE_POINTS_OF_CLUSTER", 8)
    random = np.random.default_rng(0)
    middles = np.array([[0.0, 0, 0], [90, 0, 0], [90, 20, 0]])
    features = middles[random.integers(0, 3, 1000)] + random.standard_normal((1000, 3))
    works = works_of(streams_of(points, 1, [batch_of(points, range(1000), features)]))
    stuck = np.array([[0.5, 0, 0], [-0.5, 0, 0], [90, 10, 0]])
    plain, _ = run(lloyd(stuck), works)
    found, _ = run(k_means(3, 3, seed=0, centroids=stuck), works)
    assert found.findings["moves"] >= 1
    assert found.findings["inertia"] < 0.3 * plain.findings["inertia"]
    squares = squares_of(points, features.astype(points.dtype), found.parameters["centroids"])
    assert assignment_of(works) == dict(enumerate(squares.argmin(1).tolist()))


@layouts
def test_a_better_basin_is_searched_for_again_when_a_cluster_has_come_and_gone(points):
    features = np.random.default_rng(0).standard_normal((1000, 3))
    (stream,), bounds = streams_of(points, 1, [batch_of(points, range(1000), features)]), [KeptBounds()]
    found, _ = run(k_means(5, 3, seed=1), works_of([stream], bounds))
    assert found.parameters["unsearched"] == 0.0
    changes = [  # of five clusters of a thousand points one is two hundred
        (PointBatch.kind_of(points).removals(np.arange(120)), 120.0),
        (batch_of(points, range(1000, 1060), features[:60]), 180.0),
        (batch_of(points, range(1000, 1020), features[60:80]), 0.0),  # in their place: 20 came, and 20 went
    ]
    for batch, unsearched in changes:
        stream.apply_all(batch)
        begin = found.parameters["centroids"]
        known = float(found.parameters["unsearched"][0])
        found, asked = run(
            k_means(5, 3, seed=1, centroids=begin, unsearched=known), works_of([stream], bounds)
        )
        assert found.is_converged
        assert found.parameters["unsearched"] == unsearched
        assert ("sample" in {each.task for each in asked}) == (unsearched == 0.0)


@layouts
def test_where_a_move_is_not_kept_all_is_as_it_was(points):
    features = np.random.default_rng(3).random((600, 3))
    (work,) = works_of(streams_of(points, 1, [batch_of(points, range(600), features)]))
    method, centroids, held, returned = k_means(15, 3, seed=1), None, None, 0
    asked = next(method)
    while True:
        answer = joined(partial_sums(work, asked, range(SHARDS)))
        if asked.task == "sample.spread":
            centroids = asked.arrays[0]
        elif asked.task == "sample.hold":
            held = centroids
        elif asked.task == "sample.go_back":
            centroids = held
            squares = squares_of(points, features, held)
            found = assignment_of([work._sample])
            assert found == dict(enumerate(squares.argmin(1).tolist()))
            near = {
                shard: work._sample._near[shard][rows.rows] for shard, rows in work._sample.shards.items()
            }
            for shard, rows in work._sample.shards.items():
                np.testing.assert_array_equal(near[shard], squares.min(1)[rows.id[rows.rows]])
            returned += 1
        try:
            asked = method.send(answer)
        except StopIteration:
            break
    assert returned >= 2


def unequal_blobs(random, count, drift):
    made = np.random.default_rng(2)
    middles, sizes = made.uniform(-10, 10, (20, 4)), made.lognormal(0, 1.5, 20)
    widths = made.uniform(0.3, 1.5, 20)
    if drift:
        middles[:10] = made.uniform(-10, 10, (10, 4))
    which = random.choice(20, count, p=sizes / sizes.sum())
    return middles[which] + random.standard_normal((count, 4)) * widths[which, None]


def uniform(random, count, drift):
    return random.random((count, 3)) + 0.5 * drift


def duplicates(random, count, drift):
    return random.integers(0, 3, (count, 4)) * (1.0 + drift)


@pytest.mark.parametrize("draw", [unequal_blobs, uniform, duplicates])
@pytest.mark.parametrize("is_warm", [False, True])
def test_inertia_is_near_that_of_the_best_of_ten_starts(draw, is_warm):
    cluster = pytest.importorskip("sklearn.cluster")
    random, points = np.random.default_rng(0), Points(4 if draw is not uniform else 3)
    before, after = draw(random, 6000, drift=False), draw(random, 6000, drift=True)
    best = min(
        cluster.KMeans(15, n_init=1, random_state=seed, max_iter=1000).fit(after).inertia_
        for seed in range(10)
    )
    for seed in range(3):
        centroids = None
        if is_warm:
            works = works_of(streams_of(points, 1, [batch_of(points, range(6000), before)]))
            centroids = run(k_means(15, points.features, seed=seed), works)[0].parameters["centroids"]
        works = works_of(streams_of(points, 1, [batch_of(points, range(6000), after)]))
        found, _ = run(k_means(15, points.features, seed=seed, centroids=centroids), works)
        assert found.is_converged
        assert found.findings["inertia"] <= 1.02 * best


def test_a_small_stream_that_drifts_does_not_stay_where_it_was():
    cluster = pytest.importorskip("sklearn.cluster")
    random = np.random.default_rng(3)
    points, first = Points(features=4), 4.0 * random.standard_normal((8, 4))[random.integers(8, size=600)]
    first += random.standard_normal(first.shape)
    works = works_of(streams_of(points, 1, [batch_of(points, range(600), first, np.ones(600))]))
    before, _ = run(k_means(8, 4, seed=0), works)
    now = np.concatenate([first[::2], 1.5 * first[random.integers(600, size=300)] + first.std()])
    works = works_of(streams_of(points, 1, [batch_of(points, range(600), now, np.ones(600))]))
    found, _ = run(k_means(8, 4, seed=0, centroids=before.parameters["centroids"]), works)
    best = cluster.KMeans(8, n_init=10, random_state=0, algorithm="lloyd", tol=0).fit(now).inertia_
    assert found.is_converged
    assert found.findings["inertia"] <= 1.02 * best
