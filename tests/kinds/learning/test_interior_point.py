"""The interior point method for the hinge against scikit-learn's optimum, where dual ascent would take any number of passes."""

import numpy as np
import pytest

from tests.kinds.learning import linear_cases as cases
from tests.kinds.learning.test_dual_ascent import nothing_held, solved, sum_of, worked
from tornado.kinds.learning.linear import dual_ascent, interior_point
from tornado.kinds.learning.linear.dual_ascent import AscentWork
from tornado.kinds.learning.linear.interior_point import SYSTEM
from tornado.kinds.learning.linear.linear_gap import gap_of
from tornado.kinds.learning.rounds import joined, partial_sums, run_alone
from tornado.points import SHARDS, shards_of_worker


def sample(rows, features, noise, seed=0):
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((rows, features))
    scores = matrix @ random.standard_normal(features) + noise * random.standard_normal(rows)
    return matrix, np.where(scores > 0.2, 1.0, -1.0), random.random(rows) + 0.5


def shards_of(matrix, labels, weights, *, sparse=False):
    return cases.shards_of_stream(cases.stream_of(matrix, labels, weights, sparse=sparse))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_it_comes_to_the_optimum_where_the_penalty_is_small(noise, intercept, sparse):
    svm = pytest.importorskip("sklearn.svm")
    matrix, labels, weights = sample(120, 5, noise)
    model = cases.model_of("hinge", 5, 1e-4, intercept=intercept, sparse=sparse)
    found = solved(model, shards_of(matrix, labels, weights, sparse=sparse), tolerance=1e-6)
    assert found.is_converged
    assert found.findings["passes"] < 100
    strength = 1.0 / (model.l2 * weights.sum())
    if intercept:
        other = svm.SVC(C=strength, kernel="linear", tol=1e-9).fit(matrix, labels, sample_weight=weights)
    else:
        other = svm.LinearSVC(C=strength, loss="hinge", tol=1e-10, max_iter=10**7, fit_intercept=False)
        other.fit(matrix, labels, sample_weight=weights)
    at = other.intercept_[0] if intercept else 0.0
    margins = labels * (matrix @ other.coef_[0] + at)
    best = weights @ np.maximum(0.0, 1.0 - margins) / weights.sum() + model.l2 / 2 * (other.coef_**2).sum()
    assert found.findings["primal"] <= best * (1.0 + 2e-6)
    assert found.findings["dual"] <= best * (1.0 + 1e-12)


@pytest.mark.parametrize("l2", [1e-12, 1e-4, 10.0])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shape", ["usual", "constant", "equal", "two", "one of a class"])
def test_small_data_of_any_scale_is_proved_in_few_passes(shape, scale, l2):
    rows = 2 if shape == "two" else 120
    matrix, labels, weights = sample(rows, 3, 0.5)
    if shape == "constant":
        matrix[:, 1] = 7.0
    if shape == "equal":
        matrix = matrix[np.arange(rows) % 4]
    if shape in {"two", "one of a class"}:
        labels[:] = -1.0
        labels[0] = 1.0
    model = cases.model_of("hinge", 3, l2, intercept=True)
    found = solved(model, shards_of(scale * matrix, labels, weights))
    if (scale, l2) == (
        1e6,
        1e-12,
    ):  # roundings of features that are large are seen where nearly nothing is penalised
        assert 0.0 <= found.findings["dual"] <= found.findings["primal"]
        assert found.is_converged == (found.findings["bound"] <= max(1e-12, 1e-3 * found.findings["primal"]))
    else:
        assert found.is_converged, found.findings
    assert found.findings["passes"] < 200


@pytest.mark.parametrize("seed", range(6))
def test_it_answers_with_the_best_of_its_steps_where_the_last_ones_are_in_vain(seed, monkeypatch):
    matrix, labels, weights = sample(60, 4, 0.5, seed)
    model = cases.model_of("hinge", 4, 1e-12, intercept=True)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights))
    gaps = []

    def noted(*given):
        gaps.append(gap_of(*given))
        return gaps[-1]

    monkeypatch.setattr(interior_point, "gap_of", noted)
    work = AscentWork(model, shards, nothing_held())
    run_alone(dual_ascent.dual_ascent(model, tolerance=1e-2), work)
    gaps.clear()
    found = run_alone(whole(interior_point.interior_point(model, weights.sum(), 0.0, 0.0)), work)
    assert len(gaps) >= 5
    assert (found.primal, found.dual) == (min(gap.primal for gap in gaps), max(gap.dual for gap in gaps))


def whole(steps):
    """A part of a method as a method."""
    return (yield from steps)


def test_what_it_leaves_for_later_questions_is_what_it_has_proved():
    matrix, labels, weights = sample(300, 5, 0.5)
    model, held = cases.model_of("hinge", 5, 1e-5, intercept=True), nothing_held()
    stream = cases.stream_of(matrix, labels, weights)
    shards = cases.shards_of_stream(stream)
    first, work = worked(model, shards, held, tolerance=1e-5)
    assert work._interior is not None
    again = AscentWork(model, shards, held)
    place = first.parameters["weights"], first.parameters["intercept"]
    total = joined(partial_sums(again, dual_ascent.Round("certify", (0.0,), place), range(SHARDS)))
    gap = dual_ascent.gap_of(dual_ascent.PassTotals.of(total, model), place[0], float(place[1][0]), model)
    assert gap.dual == first.findings["dual"]
    assert np.isfinite(sum_of(model, shards, held)).all()
    second = solved(model, shards, held, tolerance=1e-5)
    assert second.is_converged
    assert second.findings["passes"] <= first.findings["passes"]


def test_shards_of_several_workers_sum_up_to_the_same_bits():
    matrix, labels, weights = sample(300, 5, 0.5)
    model = cases.model_of("hinge", 5, 1e-5, intercept=True)
    shards = shards_of(matrix, labels, weights)
    asked = dual_ascent.Round(
        SYSTEM, (0.0,), (dual_ascent.frozen(np.zeros(5)), dual_ascent.frozen(np.zeros(1)))
    )
    totals = []
    for workers in (1, 2, 4):
        said = []
        for worker in range(workers):
            mine = {shard: shards[shard] for shard in shards_of_worker(worker, workers)}
            work = AscentWork(model, mine, {shard: nothing_held()[shard] for shard in mine})
            said += partial_sums(work, asked, list(mine))
        totals.append(joined(said).tobytes())
    assert totals[0] == totals[1] == totals[2]
