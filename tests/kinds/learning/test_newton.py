"""Newton's method against scikit-learn's optimum, and on what it could fail at."""

import math

import numpy as np
import pytest

from tests.kinds.learning import linear_cases as cases
from tornado.errors import InvalidArgument
from tornado.kinds.learning.linear.linear_objective import LinearWork
from tornado.kinds.learning.linear.newton import newton
from tornado.kinds.learning.rounds import run_alone

SMOOTH = ("squared_hinge", "logistic", "squared")


def solved(model, shards, *, warm=None, **given):
    begin = np.zeros(model.features) if warm is None else warm.parameters["weights"]
    if warm is not None:
        given |= {"intercept": warm.parameters["intercept"][0], "hessian": warm.parameters["hessian"]}
    return run_alone(newton(model, begin, **given), LinearWork(model, shards))


def points(seed=0, rows=3000, features=6):
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((rows, features)) * (random.random((rows, features)) < 0.7)
    scores = matrix @ random.standard_normal(features) + random.standard_normal(rows)
    return matrix, np.where(scores > 0.4, 1.0, -1.0), random.random(rows) + 0.5


def reference(loss, matrix, labels, weights, *, l2, intercept):
    """scikit-learn's optimum of the same objective: w, b."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    svm = pytest.importorskip("sklearn.svm")
    strength = 1.0 / (l2 * weights.sum())
    if loss == "logistic":
        found = linear_model.LogisticRegression(C=strength, tol=1e-12, max_iter=5000, fit_intercept=intercept)
    elif loss == "squared":
        found = linear_model.Ridge(
            alpha=1.0 / strength, tol=1e-14, fit_intercept=intercept, solver="cholesky"
        )
    else:
        found = svm.LinearSVC(C=strength, tol=1e-12, max_iter=100_000, fit_intercept=False, dual=False)
    found.fit(matrix, labels, sample_weight=weights)
    return found.coef_.ravel(), float(np.ravel(found.intercept_)[0]) if intercept else 0.0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", SMOOTH)
def test_the_optimum_is_that_of_scikit_learn(loss, intercept, sparse):
    if loss == "squared_hinge" and intercept:
        pytest.skip("LinearSVC penalises its intercept")
    matrix, labels, weights = points()
    model = cases.model_of(loss, 6, 1.0 / len(labels), intercept=intercept, sparse=sparse)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights, sparse=sparse))
    found = solved(model, shards, tolerance=1e-10)
    vector, theirs = reference(loss, matrix, labels, weights, l2=model.l2, intercept=intercept)
    optimum = cases.objective(model, matrix, labels, weights, vector, theirs)
    assert found.is_converged
    assert found.findings["bound"] <= 1e-10 * found.findings["primal"]
    assert found.findings["primal"] == pytest.approx(optimum, rel=1e-9)
    assert found.findings["dual"] <= optimum * (1 + 1e-13)
    assert found.parameters["weights"] == pytest.approx(vector, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_a9a_to_a_billionth(loss):
    matrix, labels = cases.a9a()
    model = cases.model_of(loss, 123, 1.0 / len(labels), intercept=True, sparse=True)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, sparse=True))
    found = solved(model, shards, tolerance=1e-9)
    weights = np.ones(len(labels))
    optimum = cases.objective(
        model, matrix, labels, weights, *reference(loss, matrix, labels, weights, l2=model.l2, intercept=True)
    )
    assert found.is_converged
    assert found.findings["primal"] - optimum <= found.findings["bound"] <= 1e-9 * optimum
    assert found.findings["dual"] <= optimum * (1 + 1e-13)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_with_l1_the_optimum_has_zeros_and_proves_itself(loss, l2):
    matrix, labels, weights = points(seed=1)
    model = cases.model_of(loss, 6, l2, 0.05, intercept=True)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights))
    found = solved(model, shards, tolerance=1e-9)
    assert found.is_converged
    assert (found.parameters["weights"] == 0.0).any()
    if loss == "squared":
        linear_model = pytest.importorskip("sklearn.linear_model")
        share = model.l1 / (model.l1 + l2)
        theirs = linear_model.ElasticNet(alpha=model.l1 + l2, l1_ratio=share, tol=1e-12, max_iter=10**5)
        theirs.fit(matrix, labels, sample_weight=weights)
        optimum = cases.objective(model, matrix, labels, weights, theirs.coef_, theirs.intercept_)
        assert found.findings["primal"] == pytest.approx(optimum, rel=1e-8)


@pytest.mark.parametrize("loss", SMOOTH)
def test_small_cases_end_at_an_optimum(loss):
    for seed in range(100):
        matrix, labels, weights, penalties = cases.small_case(seed)
        model = cases.model_of(loss, matrix.shape[1], **penalties)
        shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights))
        found = solved(model, shards, tolerance=1e-6)
        low = cases.objective(
            model, matrix, labels, weights, *cases.low_point(model, matrix, labels, weights)
        )
        primal, bound = found.findings["primal"], found.findings["bound"]
        assert primal - low <= bound, f"seed {seed}"
        assert found.is_converged, f"seed {seed}"
        assert bound <= max(1e-6 * primal, 1e-12), f"seed {seed}"


def test_a_warm_start_takes_fewer_passes():
    matrix, labels, weights = points(rows=40_000)
    model = cases.model_of("logistic", 6, 1.0 / 40_000, intercept=True)
    stream = cases.stream_of(matrix[:39_600], labels[:39_600], weights[:39_600])
    cold = solved(model, cases.shards_of_stream(stream))
    stream.apply_all(
        cases.batch_of(stream, range(39_600, 40_000), matrix[39_600:], labels[39_600:], weights[39_600:])
    )
    stream.apply_all(cases.removal_of(stream, range(400)))
    warm = solved(model, cases.shards_of_stream(stream), warm=cold)
    assert warm.is_converged
    assert warm.findings["passes"] <= 4 < cold.findings["passes"]
    assert warm.findings["points"] == 39_600


def test_a_second_derivative_that_is_far_off_costs_passes_and_nothing_else():
    matrix, labels, weights = points()
    model = cases.model_of("logistic", 6, 1e-3)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights))
    right = solved(model, shards, tolerance=1e-9)
    for factor in (1e-9, 1e9):
        wrong = np.eye(6) * factor
        found = run_alone(
            newton(model, np.zeros(6), hessian=wrong, tolerance=1e-9), LinearWork(model, shards)
        )
        assert found.is_converged
        assert found.findings["primal"] == pytest.approx(right.findings["primal"], rel=2e-9)


def test_a_start_that_is_far_off_does_not_diverge():
    matrix, labels, weights = points()
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights))
    for loss in SMOOTH:
        model = cases.model_of(loss, 6, 1e-3, intercept=True)
        for begin in (np.full(6, 1e6), np.full(6, math.inf), np.full(6, math.nan)):
            found = run_alone(newton(model, begin), LinearWork(model, shards))
            assert found.is_converged


def test_features_that_lie_on_each_other_and_points_of_one_class():
    random = np.random.default_rng(3)
    matrix = np.ones((200, 4))
    matrix[:, 2] = matrix[:, 3] = random.standard_normal(200)
    labels = np.where(matrix[:, 2] + random.standard_normal(200) > 0.0, 1.0, -1.0)
    model = cases.model_of("logistic", 4, 1e-6, intercept=True)
    found = solved(model, cases.shards_of_stream(cases.stream_of(matrix, labels)))
    assert found.is_converged
    alone = solved(model, cases.shards_of_stream(cases.stream_of(matrix, np.ones(200))))
    assert alone.is_converged
    assert alone.findings["primal"] <= alone.findings["bound"] <= 1e-12


def test_without_penalties_it_ends_without_a_proof():
    matrix, labels, weights = points()
    model = cases.model_of("squared", 6, 0.0)
    found = solved(model, cases.shards_of_stream(cases.stream_of(matrix, labels, weights)))
    assert found.is_converged
    assert "bound" not in found.findings
    best = np.linalg.lstsq(matrix * np.sqrt(weights)[:, None], labels * np.sqrt(weights))[0]
    assert found.parameters["weights"] == pytest.approx(best, rel=1e-6)


def test_no_points_have_the_optimum_zero():
    matrix = np.ones((3, 2))
    shards = cases.shards_of_stream(cases.stream_of(matrix, np.full(3, math.nan)))
    model = cases.model_of("logistic", 2, 0.1, intercept=True)
    found = run_alone(newton(model, np.ones(2), 3.0), LinearWork(model, shards))
    assert found.is_converged
    assert found.findings["passed_over"] == 3
    assert not found.parameters["weights"].any()


def test_the_hinge_and_arrays_of_another_shape_are_refused():
    with pytest.raises(InvalidArgument, match="dual ascent"):
        newton(cases.model_of("hinge", 2, 0.1), np.zeros(2))
    with pytest.raises(InvalidArgument, match="shape"):
        newton(cases.model_of("logistic", 2, 0.1), np.zeros(3))
    with pytest.raises(InvalidArgument, match="shape"):
        newton(cases.model_of("logistic", 2, 0.1, intercept=True), np.zeros(2), hessian=np.eye(2))
