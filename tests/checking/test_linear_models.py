"""Duals of linear models are proved by dual points that are none of the methods', and what is too great by a little is not."""

import numpy as np
import pytest

from tornado.checking.learners import ClusterCheck, LearnedAnswer
from tornado.checking.linear_models import DUAL_IDS, DUALS, LinearCheck
from tornado.checking.losses import loss_of, minus_conjugate
from tornado.checking.point_pages import DenseFeatures, PointPage, SparseFeatures

LOSSES = ["hinge", "squared_hinge", "logistic", "squared"]


def compressed(matrix):
    rows, columns = np.nonzero(matrix)
    starts = np.searchsorted(rows, np.arange(len(matrix) + 1))
    return SparseFeatures(starts, columns.astype(np.int32), matrix[rows, columns], matrix.shape[1])


def pages_of(matrix, labels, weights=None, *, sparse=False):
    """In two pages."""
    weights, ids = np.ones(len(matrix)) if weights is None else weights, np.arange(len(matrix)) + 5
    layout = compressed if sparse else DenseFeatures
    halves = (slice(None, 20), slice(20, None))
    return lambda: iter(
        [PointPage(ids[one], labels[one], weights[one], layout(matrix[one])) for one in halves]
    )


def drawn(loss, seed=0, count=60):
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(count, 3)) * (random.random((count, 3)) < 0.7)
    scores = matrix @ [1.0, -2.0, 0.5] + 0.3 + 0.5 * random.normal(size=count)
    labels = scores if loss == "squared" else np.where(scores > 0.0, 4.0, 2.0)
    return matrix, labels, random.random(count) + 0.1


class Problem:
    """A linear model over some points, and its optimum by a method of its own: proximal gradient descent with many small steps."""

    def __init__(self, loss, l2, l1, *, intercept, seed=0):
        self.loss, self.l2, self.l1, self.has_intercept = loss, l2, l1, intercept
        self.matrix, self.labels, self.weights = drawn(loss, seed)
        self.goals = self.labels if loss == "squared" else self.labels - 3.0

    def objective(self, vector):
        scores = self.matrix @ vector[:3] + vector[3]
        penalty = 0.5 * self.l2 * vector[:3] @ vector[:3] + self.l1 * np.abs(vector[:3]).sum()
        return np.average(loss_of(self.loss, scores, self.goals)[0], weights=self.weights) + penalty

    def optimum(self, steps=4000, rate=0.1):
        vector, best = np.zeros(4), np.zeros(4)
        for step in range(steps):
            slopes = loss_of(self.loss, self.matrix @ vector[:3] + vector[3], self.goals)[1]
            shares = slopes * self.weights / self.weights.sum()
            gradient = np.append(
                self.matrix.T @ shares + self.l2 * vector[:3], shares.sum() * self.has_intercept
            )
            length = rate / (1.0 + step / 40.0) if self.loss == "hinge" else rate
            vector = vector - length * gradient
            vector[:3] = np.sign(vector[:3]) * np.maximum(np.abs(vector[:3]) - length * self.l1, 0.0)
            best = vector if self.objective(vector) < self.objective(best) else best
        return best

    def verdict(self, vector, dual, *, sparse=False, found=(), named=()):
        primal = self.objective(vector)
        claimed = {"primal": primal, "dual": dual, "bound": (primal - dual) / primal}
        values = np.append(vector[3], vector[:3]) if self.has_intercept else vector[:3]
        ids = np.arange(-1, 3) if self.has_intercept else np.arange(3)
        answer = LearnedAnswer(ids, values, {"classes": np.array([2.0, 4.0]), **dict(found)}, claimed)
        check = LinearCheck(self.loss, self.l2, self.l1, self.has_intercept, named)
        return check.check(answer, pages_of(self.matrix, self.labels, self.weights, sparse=sparse))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("l2", "l1"), [(0.1, 0.0), (0.1, 0.05), (0.0, 0.05)])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
def test_slopes_prove_a_dual_and_never_one_above_the_optimum(loss, l2, l1, intercept):
    problem = Problem(loss, l2, l1, intercept=intercept)
    vector = problem.optimum()
    optimum = problem.objective(vector)
    for sparse in (False, True):
        verdict = problem.verdict(vector, optimum * (1.0 - 1e-6), sparse=sparse)
        assert verdict.fault is None, verdict
        assert verdict.measured["proved"] is True
        assert verdict.measured["dual"] <= optimum * (1.0 + 1e-12)
    # Somewhat off the optimum its dual is not believed, and one that is above it is no more proved.
    near = vector * 1.05
    assert optimum < problem.objective(near)
    between = 0.1 * optimum + 0.9 * problem.objective(near)
    verdict = problem.verdict(near, between)
    assert verdict.measured["proved"] is False
    assert verdict.measured["dual"] <= optimum
    assert "there are weights whose objective is" in verdict.fault


@pytest.mark.parametrize("intercept", [True, False])
def test_dual_variables_that_are_given_prove_a_hinge_and_cannot_prove_too_much(intercept):
    problem = Problem("hinge", 0.1, 0.0, intercept=intercept)
    vector = problem.optimum()
    optimum = problem.objective(vector)
    # Dual ascent by hand, which knows of no intercept: what is found is a dual point of both when it is balanced.
    plain = Problem("hinge", 0.1, 0.0, intercept=False)
    shares, duals = plain.weights / plain.weights.sum(), np.zeros(60)
    for _ in range(400):
        for row in range(60):
            reached = (shares * duals) @ plain.matrix / 0.1
            move = (plain.goals[row] - plain.matrix[row] @ reached) / max(
                shares[row] * plain.matrix[row] @ plain.matrix[row] / 0.1, 1e-12
            )
            goal = plain.goals[row]
            duals[row] = goal * np.clip(goal * (duals[row] + move), 0.0, 1.0)
    order = np.random.default_rng(3).permutation(60)
    found = {f"{DUAL_IDS}.0": order[:30] + 5, f"{DUALS}.0": duals[order[:30]]}
    found |= {f"{DUAL_IDS}.1": order[30:] + 5, f"{DUALS}.1": duals[order[30:]]}
    verdict = problem.verdict(vector, 0.5 * optimum, found=found)
    assert verdict.fault is None
    assert verdict.measured["proved"] is True
    dual = verdict.measured["dual"]
    assert (0.5 if intercept else 0.999) * optimum < dual <= optimum
    assert problem.verdict(vector, dual, found=found).measured["proved"] is True
    assert problem.verdict(vector, dual * (1.0 + 1e-9), found=found).measured["dual"] <= optimum
    if intercept:
        return
    assert problem.verdict(vector, dual).measured["proved"] is False
    # Ones that are no dual variables prove nothing.
    far = {name: 3.0 * column if name.startswith("duals") else column for name, column in found.items()}
    assert problem.verdict(vector, dual, found=far).measured["proved"] is False


@pytest.mark.parametrize("loss", LOSSES)
def test_a_conjugate_is_the_greatest_difference(loss):
    scores = np.linspace(-60.0, 60.0, 240_001)
    for goal in (1.0, -1.0):
        losses = loss_of(loss, scores, np.full(len(scores), goal))[0]
        for dual in (0.0, 0.25, 0.5, 1.0):
            expected = -np.max(-goal * dual * scores - losses)
            found = minus_conjugate(loss, np.array([goal * dual]), np.array([goal]))[0]
            assert found == pytest.approx(expected, abs=1e-6)
        if loss != "squared":
            assert minus_conjugate(loss, np.array([-0.5 * goal]), np.array([goal]))[0] == -np.inf


def test_points_of_other_labels_are_named_unless_classes_are():
    problem = Problem("logistic", 0.1, 0.0, intercept=True)
    problem.labels = problem.labels.copy()
    vector = problem.optimum()
    problem.labels[37] = 9.0
    verdict = problem.verdict(vector, 0.0)
    assert (verdict.point, verdict.fault) == (42, "has the label 9, which is of neither class")
    problem.weights = np.where(np.arange(60) == 37, 0.0, problem.weights)
    right = problem.verdict(vector, 0.0)
    assert right.fault is None
    problem.weights = np.where(np.arange(60) == 37, 5.0, problem.weights)
    named = problem.verdict(vector, 0.0, named=(2.0, 4.0))
    assert named.measured["primal"] == pytest.approx(right.measured["primal"], rel=1e-12)


def clusters_of(matrix, centroids, *, sparse=False, move=None, inertia=1.0):
    distances = ((matrix[:, None] - centroids) ** 2).sum(axis=2)
    values = distances.argmin(axis=1)
    if move is not None:
        values[move] = 1 - values[move]
    claimed = {"inertia": inertia * float(distances[np.arange(len(matrix)), values].sum())}
    answer = LearnedAnswer(np.arange(len(matrix)) + 5, values, {"centroids": centroids}, claimed)
    return ClusterCheck().check(answer, pages_of(matrix, np.full(len(matrix), np.nan), sparse=sparse))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("scale", "place"), [(1e-7, 0.0), (1.0, 0.0), (1e7, 0.0), (1.0, 1e6)])
def test_clusters_are_as_right_as_rounding_allows_at_any_scale_and_place(scale, place, sparse):
    random = np.random.default_rng(1)
    matrix = (
        scale * np.concatenate([random.normal(size=(30, 2)) - 4.0, random.normal(size=(30, 2)) + 4.0]) + place
    )
    centroids = np.stack([matrix[:30].mean(axis=0), matrix[30:].mean(axis=0)])
    assert clusters_of(matrix, centroids, sparse=sparse).fault is None
    assert clusters_of(matrix, centroids, sparse=sparse, move=7).point == 12
    assert "the inertia is said" in clusters_of(matrix, centroids, sparse=sparse, inertia=1.2).fault
    moved = centroids + np.array([[0.0, 1e-3 * scale], [0.0, 0.0]])
    assert "cluster 0 has" in clusters_of(matrix, moved, sparse=sparse).fault
    strange = LearnedAnswer(np.arange(60) + 5, np.full(60, 2), {"centroids": centroids}, {"inertia": 0.0})
    verdict = ClusterCheck().check(strange, pages_of(matrix, np.full(60, np.nan), sparse=sparse))
    assert verdict.fault == "is in cluster 2, but there are 2"
