"""Lloyd's iterations against plain ones: every bit, with whatever bounds, on any number of workers."""

import numpy as np
import pytest

from tests.kinds.learning.method_runs import run, same, works_of
from tests.kinds.learning.naive_clusters import (
    LAYOUTS,
    assignment_of,
    batch_of,
    plain_lloyd,
    squares_of,
    streams_of,
)
from tornado.kinds.learning.clusters import cluster_work
from tornado.kinds.learning.clusters.kept_bounds import KeptBounds
from tornado.kinds.learning.clusters.lloyd import lloyd
from tornado.kinds.learning.rounds import Round
from tornado.points import share_out
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

layouts = pytest.mark.parametrize("points", LAYOUTS, ids=str)


def drawn(seed, count, width=3, decimals=1):
    """Points with many that are equal, or equally far from two centroids, and weights of which some are 0."""
    random = np.random.default_rng(seed)
    features = np.round(random.standard_normal((count, width)), decimals)
    weights = random.choice([0.0, 0.5, 1.0, 3.0, 0.3], count)
    return features, weights


@layouts
@pytest.mark.parametrize("clusters", [1, 2, 9])
def test_all_is_bit_for_bit_as_of_plain_iterations(points, clusters):
    features, weights = drawn(clusters, 500)
    ids = np.random.default_rng(1).permutation(500)
    works = works_of(streams_of(points, 1, [batch_of(points, ids, features, weights)]))
    found, _ = run(lloyd(features[:clusters]), works)
    centroids, which, inertia, passes = plain_lloyd(points, features, weights, features[:clusters], ids)
    assert found.is_converged
    assert found.parameters["centroids"].tobytes() == centroids.tobytes()
    assert assignment_of(works) == dict(zip(ids.tolist(), which.tolist(), strict=True))
    assert found.findings["inertia"] == pytest.approx(inertia, rel=1e-13)
    assert (found.findings["rounds"], found.findings["moved"]) == (passes, 0.0)
    sizes = [weights[which == cluster].sum() for cluster in range(clusters)]
    np.testing.assert_allclose(found.parameters["sizes"], sizes, rtol=1e-14)


@layouts
def test_each_pass_assigns_as_a_plain_one(points):
    features, weights = drawn(5, 400)
    streams = streams_of(points, 1, [batch_of(points, range(400), features, weights)])
    kept = [KeptBounds()]
    centroids = features[:12].astype(np.float64)
    for passes in range(1, 9):
        works = works_of(streams, kept)
        found, _ = run(lloyd(centroids, most_rounds=passes), works)
        expected, which, *_ = plain_lloyd(points, features, weights, centroids, most_rounds=passes)
        assert found.parameters["centroids"].tobytes() == expected.tobytes()
        assert assignment_of(works) == dict(enumerate(which.tolist()))


@layouts
@pytest.mark.parametrize("offset", [3e4, 1e7, 1e8])
def test_far_from_the_origin_rounding_decides_and_bounds_do_not(points, offset):
    features, weights = drawn(4, 800)
    features = offset + np.round(4.0 * features) / 4.0
    works = works_of(streams_of(points, 1, [batch_of(points, range(800), features, weights)]))
    found, asked = run(lloyd(features[:7], most_rounds=25), works)
    centroids, which, *_ = plain_lloyd(points, features, weights, features[:7], most_rounds=25)
    assert len(asked) > 4
    assert found.parameters["centroids"].tobytes() == centroids.tobytes()
    assert assignment_of(works) == dict(enumerate(which.tolist()))


@layouts
@pytest.mark.parametrize("ahead", [0.0, 1.0, 8.0])
def test_rows_that_are_watched_are_found_anew_where_centroids_went_farther(points, ahead, monkeypatch):
    """Points in no clusters, of which some more come in a corner: centroids walk by small steps, and for long."""
    monkeypatch.setattr(cluster_work, "_AHEAD", ahead)
    random = np.random.default_rng(8)
    features, weights = np.round(random.random((1650, 3)), 4), np.ones(1650)
    features[1500:] *= 0.25
    settled, *_ = plain_lloyd(points, features[:1500], weights[:1500], features[:6])
    works = works_of(streams_of(points, 1, [batch_of(points, range(1650), features, weights)]))
    found, asked = run(lloyd(settled), works)
    centroids, which, *_ = plain_lloyd(points, features, weights, settled)
    assert len(asked) > 20
    assert found.parameters["centroids"].tobytes() == centroids.tobytes()
    assert assignment_of(works) == dict(enumerate(which.tolist()))


def history(points, seed):
    """Batches of points that come, go and are replaced."""
    random = np.random.default_rng(seed)
    features, weights = drawn(seed, 900)
    first = batch_of(points, range(600), features[:600], weights[:600])
    gone = PointBatch.kind_of(points).removals(random.choice(600, 200, replace=False))
    again = batch_of(points, random.choice(900, 300, replace=False), features[600:], weights[600:])
    return [first, gone, again], features


@layouts
def test_the_bits_are_the_same_on_any_number_of_workers(points):
    batches, features = history(points, 3)
    works = works_of(streams_of(points, 1, batches))
    expected, _ = run(lloyd(features[:7]), works)
    for workers in (2, 3, 4):
        others = works_of(streams_of(points, workers, batches))
        found, _ = run(lloyd(features[:7]), others)
        same(found, expected)
        assert assignment_of(others) == assignment_of(works)


@layouts
@pytest.mark.parametrize("seed", range(4))
def test_bounds_that_are_kept_change_no_bit(points, seed):
    batches, features = history(points, seed)
    streams = streams_of(points, 2, batches[:1])
    leases = [stream.lease() for stream in streams] if seed % 2 else []  # rows are used again, or not
    kept = [KeptBounds(), KeptBounds()]
    first, _ = run(lloyd(features[:6]), works_of(streams, kept))
    for batch in batches[1:]:
        for stream, part in zip(streams, share_out(batch, 2), strict=True):
            stream.apply_all(part)
        for start in (first.parameters["centroids"], features[50:56]):
            warm = works_of(streams, [bounds.copy() for bounds in kept])
            cold = works_of(streams)
            found, _ = run(lloyd(start), warm)
            expected, _ = run(lloyd(start), cold)
            same(found, expected)
            assert assignment_of(warm) == assignment_of(cold)
    assert len(leases) in (0, 2)


def test_bounds_hold_and_stay_where_nothing_moves():
    random = np.random.default_rng(0)
    features = random.standard_normal((4000, 3)) + 8.0 * random.integers(0, 3, (4000, 1))
    points = Points(3)
    streams = streams_of(points, 1, [batch_of(points, range(4000), features)])
    kept = [KeptBounds()]
    found, _ = run(lloyd(features[:3]), works_of(streams, kept))
    before = kept[0].copy()
    (work,) = works_of(streams, kept)
    run(lloyd(found.parameters["centroids"]), [work])
    anew = 0
    for shard, shard_points in work.shards.items():
        rows, now = shard_points.rows, kept[0].of_shard(shard)
        squares = squares_of(points, features[shard_points.id[rows]], found.parameters["centroids"])
        uppers = now.upper[rows] + now.drift[now.which[rows]]
        lowers = now.lower[rows] - now.fall[now.which[rows]]
        assert (uppers >= np.sqrt(squares.min(1))).all()
        assert (lowers <= np.sqrt(np.sort(squares, 1)[:, 1])).all()
        anew += np.count_nonzero(now.lower[rows] > before.of_shard(shard).lower[rows])
    assert anew < 100  # a bound that was worked out anew is a closer one


@layouts
def test_a_point_of_weight_two_is_two_points(points):
    features, _ = drawn(2, 200)
    twice = np.concatenate([features, features[:100]])
    weights = np.where(np.arange(200) < 100, 2.0, 1.0)
    one, _ = run(
        lloyd(features[:5]),
        works_of(streams_of(points, 1, [batch_of(points, range(200), features, weights)])),
    )
    two, _ = run(lloyd(features[:5]), works_of(streams_of(points, 1, [batch_of(points, range(300), twice)])))
    assert one.parameters["centroids"].tobytes() == two.parameters["centroids"].tobytes()
    assert one.parameters["sizes"].tobytes() == two.parameters["sizes"].tobytes()
    assert one.findings["inertia"] == pytest.approx(two.findings["inertia"], rel=1e-13)


@layouts
def test_more_clusters_than_points_that_differ(points):
    features = np.repeat([[0.0, 0, 0], [1, 2, 3], [5, 5, 5]], 40, axis=0)
    works = works_of(streams_of(points, 1, [batch_of(points, range(120), features)]))
    found, _ = run(lloyd(features[:8] + 0.5), works)
    assert found.is_converged
    assert found.findings["inertia"] == 0.0
    assert sorted(found.parameters["sizes"].tolist()) == [0.0] * 5 + [40.0] * 3
    assert np.isfinite(found.parameters["centroids"]).all()


def test_of_shards_without_points_it_is_known_that_all_went():
    points = Points(2)
    features = np.arange(80.0).reshape(40, 2)
    (stream,) = streams_of(points, 1, [batch_of(points, range(40), features)])
    kept = KeptBounds()
    run(lloyd(features[:2]), works_of([stream], [kept]))
    stream.apply_all(PointBatch.kind_of(points).removals(range(40)))
    (work,) = works_of([stream], [kept])
    measured = [np.zeros(5) for _ in work.shards]
    for shard, total in zip(work.shards, measured, strict=True):
        work.add(Round("measure"), shard, total)
    assert sum(measured).tolist() == [0.0, 0.0, 0.0, 0.0, 40.0]


@layouts
def test_an_empty_cluster_gets_the_farthest_point_of_the_least_id(points):
    features = np.array([[0.0, 0, 0], [4, 0, 0], [-4, 0, 0], [0.5, 0, 0]])
    works = works_of(streams_of(points, 1, [batch_of(points, [5, 4, 3, 9], features)]))
    far = np.array([[0.0, 0, 0], [900, 0, 0], [900, 0, 0]])
    found, asked = run(lloyd(far, most_rounds=2), works)
    assert [each.task for each in asked].count("farthest") == 1
    # Point 3 at -4 comes before point 4 at 4.
    assert found.parameters["centroids"][1:].tolist() == [[-4, 0, 0], [4, 0, 0]]


@layouts
def test_a_centroid_that_comes_exactly_as_near_gets_the_point_where_it_is_the_least(points):
    features = np.column_stack([np.arange(-40.0, 41.0), np.zeros((81, 2))])
    streams = streams_of(points, 1, [batch_of(points, range(81), features)])
    kept = [KeptBounds()]
    for left, right in ((-50.0, 40.0), (-40.0, 40.0), (-40.0, 42.0), (-40.0, 40.0)):
        centroids = np.array([[left, 0, 0], [right, 0, 0]])
        works = works_of(streams, kept)
        run(lloyd(centroids, most_rounds=1), works)
        expected = squares_of(points, features, centroids).argmin(1)
        assert assignment_of(works) == dict(enumerate(expected.tolist()))


@layouts
def test_of_many_points_equally_far_the_least_id_is_taken(points):
    corners = np.array([[x, y, z] for x in (-4, 4) for y in (-4, 4) for z in (-4, 4)], float)
    features = corners[np.arange(400) % 8]
    ids = np.random.default_rng(0).permutation(400)
    works = works_of(streams_of(points, 2, [batch_of(points, ids, features)]))
    found, _ = run(lloyd(np.array([[0.0, 0, 0], [900, 0, 0]]), most_rounds=2), works)
    assert found.parameters["centroids"][1].tolist() == features[ids == 0][0].tolist()


@layouts
@pytest.mark.parametrize("passes", [2, 3, 4])
def test_of_equal_points_that_are_farthest_one_is_taken(points, passes):
    features, weights = drawn(6, 200)
    features[:3], weights[:3] = [20.0, 0.5, 0.5], 1.0
    begin = np.array([[0.0, 0, 0], [900, 0, 0], [0, 900, 0], [0, 0, 900]])
    works = works_of(streams_of(points, 1, [batch_of(points, range(200), features, weights)]))
    found, _ = run(lloyd(begin, most_rounds=passes), works)
    centroids, *_ = plain_lloyd(points, features, weights, begin, most_rounds=passes)
    assert found.parameters["centroids"].tobytes() == centroids.tobytes()


def test_a_constant_feature_and_features_of_very_different_sizes():
    points = Points(3)
    features, weights = drawn(0, 300)
    features *= [1e-9, 0.0, 1e9]
    features[:, 1] = 7.1
    works = works_of(streams_of(points, 1, [batch_of(points, range(300), features, weights)]))
    found, _ = run(lloyd(features[:4]), works)
    centroids, *_ = plain_lloyd(points, features, weights, features[:4])
    np.testing.assert_allclose(found.parameters["centroids"], centroids, rtol=1e-15)
    np.testing.assert_allclose(found.parameters["centroids"][:, 1], 7.1, rtol=1e-15)


def test_without_points_centroids_stay():
    works = works_of(streams_of(Points(3), 2, []))
    found, _ = run(lloyd(np.ones((2, 3))), works)
    assert found.is_converged
    assert found.findings == {"inertia": 0.0, "moved": 0.0, "rounds": 1.0, "points": 0.0}
    assert found.parameters["centroids"].tolist() == [[1, 1, 1], [1, 1, 1]]


def test_who_gives_up_says_so_and_how_far_centroids_would_go():
    features, weights = drawn(1, 300)
    works = works_of(streams_of(Points(3), 1, [batch_of(Points(3), range(300), features, weights)]))
    found, _ = run(lloyd(features[:6], most_rounds=2), works)
    assert not found.is_converged
    assert found.findings["moved"] > 0.0
    squares = squares_of(Points(3), features, found.parameters["centroids"])
    assert assignment_of(works) == dict(enumerate(squares.argmin(1).tolist()))


def test_a_branch_reads_its_version_while_points_go_on():
    points = Points(3)
    batches, features = history(points, 8)
    streams = streams_of(points, 1, batches[:1])
    expected, _ = run(lloyd(features[:5]), works_of(streams_of(points, 1, batches[:1])))
    _, version = streams[0].lease()
    kept = [KeptBounds()]
    run(lloyd(features[:5]), works_of(streams, kept, [version]))
    for batch in batches[1:]:
        streams[0].apply_all(batch)
        found, _ = run(lloyd(features[:5]), works_of(streams, kept, [version]))
        same(found, expected)


@layouts
def test_scikit_learn_comes_to_the_same_centroids(points):
    cluster = pytest.importorskip("sklearn.cluster")
    random = np.random.default_rng(4)
    features = random.standard_normal((3000, 3)).astype(points.dtype)
    weights = random.uniform(0.5, 2.0, 3000)
    works = works_of(streams_of(points, 1, [batch_of(points, range(3000), features, weights)]))
    found, _ = run(lloyd(features[:8].astype(np.float64)), works)
    model = cluster.KMeans(8, init=features[:8], n_init=1, tol=0, max_iter=1000, algorithm="lloyd")
    model.fit(features, sample_weight=weights)
    close = 1e-9 if points.dtype == np.float64 else 2e-3
    assert found.findings["inertia"] == pytest.approx(model.inertia_, rel=close)
    if points.dtype == np.float64:
        np.testing.assert_allclose(found.parameters["centroids"], model.cluster_centers_, atol=1e-9)


def test_where_passes_are_more_than_a_thousand_it_goes_on_until_no_assignment_changes():
    points = Points(features=1)
    features = np.linspace(0.0, 1.0, 3000)[
        :, None
    ]  # centroids begin at one end, and push each other to the other one
    works = works_of(streams_of(points, 1, [batch_of(points, range(3000), features, np.ones(3000))]))
    found, _ = run(lloyd(features[:40]), works)
    assert found.findings["rounds"] > 1000
    assert found.is_converged
    distances = np.abs(features - found.parameters["centroids"].ravel())
    which = distances.argmin(axis=1)
    means = [features[which == cluster].mean() for cluster in range(40)]
    np.testing.assert_allclose(found.parameters["centroids"].ravel(), means, rtol=1e-13)


def test_where_roundings_send_points_to_and_fro_it_ends_and_says_so():
    points = Points(features=3)
    features = 1e15 + np.round(4.0 * np.random.default_rng(21).standard_normal((300, 3))) / 4.0
    works = works_of(streams_of(points, 1, [batch_of(points, range(300), features, np.ones(300))]))
    found, _ = run(lloyd(features[:7]), works)
    assert not found.is_converged
    assert found.findings["moved"] > 0.0
    assert found.findings["rounds"] < 100


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_of_fewer_different_points_than_clusters_some_have_none_and_it_ends(scale):
    random = np.random.default_rng(0)
    features = scale * random.standard_normal((10, 2))[random.integers(10, size=500)]
    works = works_of(
        streams_of(Points(features=2), 1, [batch_of(Points(features=2), range(500), features, np.ones(500))])
    )
    found, _ = run(lloyd(features[:20]), works)
    assert found.is_converged
    assert found.findings["inertia"] <= 1e-26 * scale**2
    assert np.count_nonzero(found.parameters["sizes"]) == 10
