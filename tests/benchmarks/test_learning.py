"""Benchmarks of learners: what is compared is compared rightly, and an answer that is not what it says is noticed."""

import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial.distance import cdist

from benchmarks import (
    figure_learners,
    learning,
    learning_clusters,
    learning_data,
    learning_figure_tables,
    learning_rivals,
    learning_tables,
    plots,
    validation,
)
from benchmarks.catalogue import run_entry
from benchmarks.harness import Clock, Settings, WrongAnswer
from benchmarks.learning_data import Labelled, Sizes
from benchmarks.learning_system import Learner

SMOKE = Settings(scale=0, workers=(1, 2), smoke=True, hold_s=0.3, limit_s=240.0)
SIZES = {"dense": Sizes(500, 6), "sparse": Sizes(500, 200, 8)}


def drawn(shape):
    generate = {"dense": learning_data.dense, "sparse": learning_data.scattered}[shape]
    return generate(SIZES[shape], seed=3)


@pytest.fixture
def clock():
    return Clock(60.0)


@pytest.mark.parametrize("shape", SIZES)
def test_generated_points_are_as_they_are_said_to_be(shape):
    points, size = drawn(shape), SIZES[shape]
    assert points.features.shape == (size.points, size.features)
    assert set(np.unique(points.labels)) == {-1.0, 1.0}
    assert 0.2 < (points.labels > 0).mean() < 0.8
    squares = np.square(points.features.toarray() if shape == "sparse" else points.features)
    assert squares.sum(1).mean() == pytest.approx(1.0)
    again = drawn(shape)
    assert np.array_equal(again.labels, points.labels)


def test_the_objective_is_that_of_the_definition():
    points = Labelled(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0]))
    weights = np.array([0.5, 0.25])
    penalty = 0.05 * (0.25 + 0.0625)
    assert learning_data.objective(points, "hinge", 0.1, weights) == pytest.approx((0.5 + 1.5) / 2 + penalty)
    logistic = (np.log(1 + np.exp(-0.5)) + np.log(1 + np.exp(0.5))) / 2
    assert learning_data.objective(points, "logistic", 0.1, weights) == pytest.approx(logistic + penalty)


def test_inertia_is_by_the_nearest_centroid():
    random = np.random.default_rng(1)
    features, centroids = random.normal(size=(70, 4)), random.normal(size=(5, 4))
    expected = cdist(features, centroids, "sqeuclidean").min(1).sum()
    assert learning_data.inertia(features, centroids) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "shape"), [("logistic", "dense"), ("logistic", "sparse"), ("hinge", "dense")]
)
def test_a_rival_is_near_enough_and_makes_hardly_an_iteration_too_many(loss, shape, clock):
    points, l2 = drawn(shape), 1 / 500
    solvers = learning_rivals.solvers_of(loss, is_sparse=shape == "sparse")
    with learning_rivals.one_thread():
        best = min(
            learning_data.objective(
                points, loss, l2, learning_rivals.solve(solver, 2000, points, l2=l2).weights
            )
            for solver in solvers
        )
        target = best / (1 - 1e-3)
        found = learning_rivals.soonest(solvers, points, loss=loss, l2=l2, target=target, clock=clock)
        assert learning_data.objective(points, loss, l2, found.weights) <= target
        assert len(found.seconds) == 3
        fewer = found.iterations - max(1, found.iterations // 32)
        if fewer:
            less = learning_rivals.solve(found.solver, fewer, points, l2=l2)
            assert learning_data.objective(points, loss, l2, less.weights) > target


def test_a_rival_that_may_goes_on_from_its_weights(clock):
    points, l2 = drawn("dense"), 1 / 500
    solvers = learning_rivals.solvers_of("logistic", is_sparse=False)
    with learning_rivals.one_thread():
        before = learning_rivals.solve(solvers[0], 1000, points, l2=l2).weights
        best = learning_data.objective(points, "logistic", l2, before)
        how = {"loss": "logistic", "l2": l2, "target": best * (1 + 1e-6), "clock": clock}
        one = learning_rivals.soonest(solvers[:1], points, **how)
        other = learning_rivals.soonest(solvers[:1], points, **how, begin=before)
    assert other.iterations == 1 < one.iterations
    assert learning_rivals.soonest(solvers[-1:], points, **how, begin=before) is None


def answer_of(weights, **certificate):
    table = np.array(list(enumerate(weights)), dtype=[("vertex", np.int64), ("value", np.float64)])
    return SimpleNamespace(certificate={"kind": "gap"} | certificate, to_numpy=lambda: table)


def test_a_model_that_is_not_what_it_says_ends_the_measurement():
    points, l2 = drawn("dense"), 0.01
    weights = np.ones(6)
    found = learning_data.objective(points, "hinge", l2, weights)
    said = {"primal": found, "dual": found * (1 - 1e-4), "bound": 1e-4}
    assert learning.require_optimal("so", answer_of(weights, **said), points, "hinge", l2, 1e-3) == found
    wrong = [
        (answer_of(weights, **said | {"bound": 2e-3}), "asked for a gap"),
        (answer_of(weights, **said | {"kind": "none"}), "asked for a gap"),
        (answer_of(weights * 1.01, **said), "but the certificate says"),
        (answer_of(weights, **said | {"dual": found * 1.001}), "but the certificate says"),
    ]
    for answer, why in wrong:
        with pytest.raises(WrongAnswer, match=why):
            learning.require_optimal("so", answer, points, "hinge", l2, 1e-3)


def test_clusters_that_are_not_what_they_say_end_the_measurement():
    features, centroids = np.random.default_rng(2).normal(size=(40, 3)), np.eye(3)
    table = pa.table({"value": centroids.ravel()})
    right = learning_data.inertia(features, centroids)

    def answer(kind, inertia):
        certificate = {"kind": kind, "inertia": inertia}
        return SimpleNamespace(certificate=certificate, table={"centroids": table}.__getitem__)

    assert learning_clusters.require_stationary(answer("stationary", right), features) == right
    for kind, inertia in (("stationary", right * 1.0001), ("none", right)):
        with pytest.raises(WrongAnswer):
            learning_clusters.require_stationary(answer(kind, inertia), features)


def test_a_cold_loop_answers_as_a_live_one_does_and_begins_with_nothing(clock):
    points = drawn("dense")
    how = {"loss": "hinge", "l2": 0.01, "intercept": False, "classes": (-1.0, 1.0)}
    cold = figure_learners.ColdModel(**how)
    with Learner(cold, points.features) as learner:
        learner.insert(0, points, clock)
        for _ in range(2):
            learner.rest(clock)
            _, answer = learner.ask(clock)
            learning.require_optimal("cold", answer, points, "hinge", 0.01, 1e-3)
    begun = cold.reading(learner.declared).branch_parameters(
        {"weights": np.ones(6), "intercept": np.ones(1), "classes": np.array([-1.0, 1.0])}
    )
    assert not begun["weights"].any()


def test_a_slowed_worker_pauses_before_each_step(clock, monkeypatch):
    pauses = []
    monkeypatch.setattr(figure_learners, "time", SimpleNamespace(sleep=pauses.append))
    points = drawn("dense")
    model = figure_learners.SlowedModel(loss="hinge", l2=0.01, pause_s=0.25)
    with Learner(model, points.features, workers=2) as learner:
        learner.insert(0, points, clock)
        learner.rest(clock)
    assert set(pauses) == {0.25}


def shown_of(tables, result):
    return {
        reference.partition("|")[0].strip()
        for made in tables
        for reference in re.findall(rf"\{{\{{{result}: (.+?)\}}\}}", made())
    }


def test_learners_are_measured_beside_scikit_learn(monkeypatch):
    monkeypatch.setattr(learning, "CASES", (learning.Case("hinge", "sparse", {1e-2: 1.5}),))
    monkeypatch.setattr(learning, "_SMOKE_SIZES", SIZES)
    report = run_entry("learning", SMOKE)
    assert report.failure is None
    assert report.value("hinge, sparse, to 0.01, 1 % gone") > 0
    assert report.data["scikit-learn from scratch, hinge, sparse, to 0.01, 1 % new"].startswith("LinearSVC")


@pytest.mark.soak
def test_the_smoke_run_of_learners_has_all_that_the_document_shows():
    report = run_entry("learning", SMOKE)
    assert report.failure is None
    tables = [made for made in learning_tables.TABLES if made is not learning_tables.progressive_validation]
    shown = shown_of(tables, "learning")
    assert len(shown) > 50
    assert shown - {figure.name.strip() for figure in report.figures} == set()


@pytest.mark.soak
def test_the_figures_of_learners_are_measured_and_plotted_in_the_smoke_run():
    report = run_entry("learning_figures", SMOKE)
    assert report.failure is None
    shown = shown_of(learning_figure_tables.TABLES, "learning_figures")
    assert shown - {figure.name.strip() for figure in report.figures} == set()
    mine = {name: plot for name, plot in plots.PLOTS.items() if plot.result == "learning_figures"}
    assert len(mine) == 4
    assert all(plots.is_there(name, report) for name in mine)


def test_what_was_not_tested_counts_as_mistaken():
    assert validation.right_share({"accuracy": 0.75, "points": 80.0}, 100) == pytest.approx(0.6)
    assert validation.right_share(None, 100) == 0.0


def test_points_are_predicted_before_they_are_learnt_from(clock):
    points = validation.generated(2_000, seed=1)
    for waits in (True, False):
        accuracy, rows = validation._ours(points, clock, block=100, waits=waits, rate=0.5)
        assert 0.6 < accuracy < 0.95
        assert rows > 0


def test_validation_without_river_says_what_to_install(monkeypatch):
    monkeypatch.setattr(validation.importlib.util, "find_spec", lambda _: None)
    report = run_entry("validation", SMOKE)
    assert "pip install" in report.failure
    assert not report.figures


def test_validation_stands_beside_river():
    pytest.importorskip("river")
    phishing = validation.rows_of("Phishing")
    assert phishing.features.shape == (1_250, 9)
    # As the documentation of its model says.
    assert validation._rivers(phishing, 0.1)[0] == pytest.approx(0.8896, abs=5e-5)
    report = run_entry("validation", SMOKE)
    assert report.failure is None
    shown = shown_of([learning_tables.progressive_validation], "validation")
    assert shown - {figure.name.strip() for figure in report.figures} == set()
