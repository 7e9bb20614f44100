"""k-means where clusters are of very different sizes: means are held to exact arithmetic, on one worker and on two."""

from fractions import Fraction

import numpy as np
import pytest

import tornado
from tests.kinds.learning.method_runs import run, same, works_of
from tests.kinds.learning.naive_clusters import assignment_of, batch_of, streams_of
from tornado.kinds.learning.clusters.basins import k_means
from tornado.kinds.learning.clusters.exact_sums import ExactSums
from tornado.kinds.learning.clusters.lloyd import lloyd
from tornado.records.point_schema import Points

TIMEOUT_S = 60
layouts = pytest.mark.parametrize("points", [Points(2), Points(2, sparse=True)], ids=str)


def means_are_exact(centroids, which, features, weights):
    """Each centroid is the mean of its points, but for some roundings of their mean size."""
    for cluster, centroid in enumerate(centroids):
        mine = np.flatnonzero(which == cluster)
        total = sum((Fraction(weights[row]) for row in mine), Fraction(0))
        if total == 0:
            continue
        for column, found in enumerate(centroid.tolist()):
            products = [Fraction(weights[row]) * Fraction(features[row, column]) for row in mine]
            apart = abs(sum(products) / total - Fraction(found))
            assert apart <= Fraction(2) ** -50 * sum(map(abs, products)) / total, (cluster, column)


def on_one_worker_and_on_two(method, points, features, weights):
    """What a method found, and the cluster of each point: the same bits."""
    batch = batch_of(points, range(len(features)), features, weights)
    works = works_of(streams_of(points, 1, [batch]))
    found, asked = run(method(), works)
    others = works_of(streams_of(points, 2, [batch]))
    found_by_two, _ = run(method(), others)
    same(found_by_two, found)
    assert assignment_of(others) == assignment_of(works)
    clusters = assignment_of(works)
    return found, np.array([clusters[row] for row in range(len(features))]), [each.task for each in asked]


def beside(big):
    """Points of a square, and one that is far away."""
    features = np.vstack([np.random.default_rng(0).random((50, 2)), [[big, -big]]])
    return features, np.ones(51)


@layouts
@pytest.mark.parametrize("big", [1e15, 1.7e18, 1e20, 1e30, 1e100, 1e149])
def test_beside_a_far_point_centroids_are_the_means_of_their_points(points, big):
    features, weights = beside(big)
    found, which, _ = on_one_worker_and_on_two(lambda: lloyd(features[[0, 1, 50]]), points, features, weights)
    assert found.is_converged
    assert np.bincount(which[:50], minlength=3).min(initial=50, where=[True, True, False]) > 0
    means_are_exact(found.parameters["centroids"], which, features, weights)
    ordinary = features[:50]
    centroids = found.parameters["centroids"][which[:50]]
    assert found.findings["inertia"] == pytest.approx(((ordinary - centroids) ** 2).sum(), rel=1e-12)


@layouts
@pytest.mark.parametrize("big", [1e20, 1e100])
def test_beside_a_far_point_clusters_are_as_good_as_without_it(points, big):
    features, weights = beside(big)
    found, which, _ = on_one_worker_and_on_two(lambda: k_means(3, 2, seed=0), points, features, weights)
    alone, _ = run(
        k_means(2, 2, seed=0),
        works_of(streams_of(points, 1, [batch_of(points, range(50), features[:50], weights[:50])])),
    )
    means_are_exact(found.parameters["centroids"], which, features, weights)
    assert found.is_converged
    assert found.findings["inertia"] <= 1.02 * alone.findings["inertia"]


@layouts
@pytest.mark.parametrize("heavy", [1e20, 1e60])
def test_beside_a_heavy_point_centroids_and_sizes_are_those_of_their_points(points, heavy):
    features, weights = beside(9.0)
    weights[50] = heavy
    found, which, _ = on_one_worker_and_on_two(lambda: lloyd(features[[0, 1, 50]]), points, features, weights)
    assert found.is_converged
    means_are_exact(found.parameters["centroids"], which, features, weights)
    assert sorted(found.parameters["sizes"].tolist()) == sorted(
        [*map(float, np.bincount(which[:50], minlength=3)[:2]), heavy]
    )


def test_a_cluster_with_features_of_other_sizes_than_the_rest_has_its_own_units_alone():
    """Clusters of one feature each, 1e-30 to 1e30: of the least one nothing is left by units of all."""
    random = np.random.default_rng(3)
    scales = 10.0 ** np.repeat(np.arange(-30, 31, 15), 20)
    features, weights = scales[:, None] * (1.0 + random.random((100, 2)) / 8.0), random.uniform(0.1, 2.0, 100)
    found, which, _ = on_one_worker_and_on_two(lambda: lloyd(features[::20]), Points(2), features, weights)
    means_are_exact(found.parameters["centroids"], which, features, weights)
    assert found.is_converged


def test_a_look_at_the_same_points_again_stays_where_it_is():
    features, weights = beside(1e30)
    stream = streams_of(Points(2), 1, [batch_of(Points(2), range(51), features, weights)])
    first, _ = run(k_means(3, 2, seed=0), works_of(stream))
    again = k_means(3, 2, seed=0, centroids=first.parameters["centroids"], unsearched=0.0)
    found, _ = run(again, works_of(stream))
    assert found.parameters["centroids"].tobytes() == first.parameters["centroids"].tobytes()
    assert found.is_converged


def test_where_points_came_before_it_was_done_anew_a_better_basin_is_looked_for_as_ever():
    features, weights = beside(1e30)
    stream = streams_of(Points(2), 1, [batch_of(Points(2), range(51), features, weights)])
    begin = features[[0, 1, 50]]
    found, asked = run(k_means(3, 2, seed=0, centroids=begin, unsearched=0.0), works_of(stream))
    assert [each.task for each in asked].count("sample") == 2
    assert found.parameters["unsearched"].tolist() == [0.0]


def test_of_ordinary_points_nothing_more_is_asked():
    features = np.random.default_rng(1).standard_normal((400, 2))
    found, _, asked = on_one_worker_and_on_two(lambda: lloyd(features[:5]), Points(2), features, np.ones(400))
    assert asked == ["measure", *["assign"] * int(found.findings["rounds"]), "inertia"]


def test_of_sums_that_are_zero_it_is_asked_once_how_great_products_are():
    features = np.random.default_rng(1).standard_normal((400, 2))
    features[:200] = np.abs(features[:200]) * [
        1.0,
        0.0,
    ]  # a cluster with a feature that none of its points has
    begin = np.array([[1.0, 0.0], [-1.0, 1.0]])
    features[200:] -= 20.0
    found, _, asked = on_one_worker_and_on_two(lambda: lloyd(begin), Points(2), features, np.ones(400))
    assert found.is_converged
    assert asked == ["measure", *["assign"] * int(found.findings["rounds"]), "sizes", "inertia"]


def test_units_are_as_coarse_as_the_least_cluster_finds_them():
    sums = ExactSums(2, np.array([1e30, 1.0]), np.array([100.0]))
    assert sums.coarseness() == np.inf
    assert sums.coarseness(np.array([[1e30, 50.0], [1.0, 50.0]])) > 1e-3
    assert sums.coarseness(np.array([[1e30, 50.0], [0.0, 50.0]])) <= 2.0**-53
    sums.add(np.full(8, np.inf))
    assert sums.coarseness(np.ones((2, 2))) == np.inf


@pytest.mark.parametrize("big", [1e15, 1e20, 1e30])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_check_verifies_an_answer_beside_a_far_point(workers, big):
    features, weights = beside(big)
    with tornado.open(workers=workers) as session:
        stream = session.stream("points", schema=tornado.Points(features=2))
        loop = stream.start(tornado.KMeans(clusters=3))
        stream.insert(ids=range(50), features=features[:50])
        loop.query().result(TIMEOUT_S)
        stream.insert(ids=[50], features=features[50:])
        result = loop.query(check=True).result(TIMEOUT_S)
        assert result.certificate["kind"] == "stationary"
        assert result.certificate["checked"] is True
        centroids = np.array(result.table("centroids").to_pydict()["value"]).reshape(3, 2)
        which = np.array([result.values[row] for row in range(51)])
        means_are_exact(centroids, which, features, weights)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("anew", [False, True])
def test_weights_whose_sum_is_no_float64_leave_nothing_when_they_go(workers, anew):
    features = np.random.default_rng(0).random((80, 2))
    with tornado.open(workers=workers) as session:
        stream = session.stream("points", schema=tornado.Points(features=2))
        loop = stream.start(tornado.KMeans(clusters=2))
        if not anew:
            stream.insert(ids=range(50), features=features[:50])
            loop.query().result(TIMEOUT_S)
        stream.insert(ids=range(100, 110), features=features[:10] * 1.5, weights=[1e308] * 10)
        assert loop.wait_idle(TIMEOUT_S)
        assert loop.query(deadline_s=0.5).result(TIMEOUT_S).certificate == {"kind": "none"}
        stream.remove(ids=range(100, 110))
        stream.insert(ids=range(50, 80), features=features[50:])
        if anew:
            stream.insert(ids=range(50), features=features[:50])
        assert loop.wait_idle(TIMEOUT_S)
        clusters, distances = loop.assign(features)
        assert np.isfinite(distances).all()
        result = loop.query(check=True).result(TIMEOUT_S)
        assert result.certificate["kind"] == "stationary"
        assert len(result.values) == 80
        centroids = np.array(result.table("centroids").to_pydict()["value"]).reshape(2, 2)
        which = np.array([result.values[row] for row in range(80)])
        means_are_exact(centroids, which, features, np.ones(80))
        assert len(clusters) == 80
