"""Certificates against optima found by other means, and against each other, at any vector and with any duals."""

import math

import numpy as np
import pytest

from tests.kinds.learning import linear_cases as cases
from tornado.errors import InvalidArgument
from tornado.kinds.learning.linear.linear_gap import PassTotals, gap_of, gradient_of
from tornado.kinds.learning.linear.linear_objective import LinearObjective, LinearWork
from tornado.kinds.learning.linear.pass_kernel import INFEASIBLE, NUMBERS
from tornado.kinds.learning.rounds import Round, joined, partial_sums
from tornado.points import SHARDS, shards_of_worker


def totals_at(model, shards, vector, intercept=0.0):
    asked = Round("pass", arrays=(vector, np.array([intercept])))
    return PassTotals.of(joined(partial_sums(LinearWork(model, shards), asked, range(SHARDS))), model)


def totals_of_duals(model, shards, vector, intercept, duals):
    """`duals` by id."""
    total = np.zeros(NUMBERS + model.sides * model.features)
    for points in shards.values():
        held = np.zeros(len(points.id))
        held[points.rows] = duals[points.id[points.rows]]
        LinearWork(model, shards).add_pass(points, vector, intercept, total, duals=held)
    return PassTotals.of(total, model)


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_no_certificate_of_a_small_case_is_violated(loss):
    for seed in range(100):
        matrix, labels, weights, penalties = cases.small_case(seed)
        model = cases.model_of(loss, matrix.shape[1], **penalties)
        shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights))
        low, low_intercept = cases.low_point(model, matrix, labels, weights)
        random = np.random.default_rng(seed)
        least, certificates = math.inf, []
        for number in range(30):
            apart = 0.0 if number == 0 else 10.0 ** random.uniform(-9, 1)
            vector = low + apart * random.standard_normal(len(low))
            intercept = low_intercept + apart * random.standard_normal() * model.intercept
            if number % 2:
                totals = totals_at(model, shards, vector, intercept)
            else:
                share = (
                    random.random(len(labels))
                    if random.random() < 0.5
                    else random.integers(0, 2, len(labels))
                )
                totals = totals_of_duals(model, shards, vector, intercept, share * labels)
            found = gap_of(totals, vector, intercept, model)
            assert found.primal == pytest.approx(
                cases.objective(model, matrix, labels, weights, vector, intercept), rel=1e-9, abs=1e-14
            )
            least = min(least, found.primal)
            certificates.append(found)
        for found in certificates:
            assert found.bound is not None, f"seed {seed}"
            assert found.primal - least <= found.bound, f"seed {seed}"


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", cases.LOSSES)
def test_the_gradient_is_that_of_differences(loss, sparse):
    random = np.random.default_rng(4)
    matrix, weights = random.standard_normal((50, 4)), random.random(50) + 0.5
    labels = np.where(matrix[:, 0] > 0.2, 1.0, -1.0)
    model = cases.model_of(loss, 4, 0.1, intercept=True, sparse=sparse)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights, sparse=sparse))
    place = random.standard_normal(5)
    found = gradient_of(totals_at(model, shards, place[:4], place[4]), place[:4], model)
    for column in range(5):
        around = [place + sign * 1e-6 * np.eye(5)[column] for sign in (1, -1)]
        high, low = (cases.objective(model, matrix, labels, weights, at[:4], at[4]) for at in around)
        assert found[column] == pytest.approx((high - low) / 2e-6, rel=1e-5, abs=1e-8)


def test_with_an_intercept_duals_that_do_not_sum_to_zero_prove_nothing_of_the_other_class():
    labels, matrix = np.ones(20), np.random.default_rng(0).standard_normal((20, 3))
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels))
    without, with_one = (cases.model_of("hinge", 3, 10.0, intercept=given) for given in (False, True))
    vector = np.zeros(3)
    assert gap_of(totals_at(without, shards, vector), vector, 0.0, without).dual > 0.5
    # One class alone is fitted by the intercept, so the optimum is 0.
    assert gap_of(totals_at(with_one, shards, vector), vector, 0.0, with_one).dual <= 0.0


def test_duals_that_are_none_prove_nothing():
    matrix, labels = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels))
    model = cases.model_of("logistic", 4, 0.1)
    totals = totals_of_duals(model, shards, np.zeros(4), 0.0, np.array([0.5, 0.5, 0.5, -0.5]))
    assert totals.numbers[INFEASIBLE] == 1
    assert gap_of(totals, np.zeros(4), 0.0, model).bound is None


def test_points_without_a_label_or_of_another_class_are_counted_and_take_no_part():
    matrix = np.random.default_rng(1).standard_normal((6, 2))
    labels = np.array([3.0, 7.0, 7.0, 5.0, math.nan, 3.0])
    model = cases.model_of("logistic", 2, 0.1, classes=(3.0, 7.0))
    vector = np.array([0.3, -0.7])
    totals = totals_at(model, cases.shards_of_stream(cases.stream_of(matrix, labels)), vector)
    assert (totals.rows, totals.passed_over) == (4, 2)
    kept = [0, 1, 2, 5]
    expected = cases.objective(model, matrix[kept], np.array([-1.0, 1.0, 1.0, -1.0]), np.ones(4), vector)
    assert gap_of(totals, vector, 0.0, model).primal == pytest.approx(expected, rel=1e-14)


def test_without_penalties_nothing_is_known_and_without_points_all_is():
    matrix, labels = np.eye(2), np.array([1.0, -1.0])
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels))
    model = cases.model_of("logistic", 2, 0.0)
    assert gap_of(totals_at(model, shards, np.ones(2)), np.ones(2), 0.0, model).bound is None
    nothing = cases.shards_of_stream(cases.stream_of(matrix, np.array([math.nan, math.nan])))
    assert gap_of(totals_at(model, nothing, np.ones(2)), np.ones(2), 0.0, model).bound == 0.0


def test_a_vector_that_overflows_has_no_certificate():
    matrix, labels = np.full((4, 2), 1e200), np.array([1.0, -1.0, 1.0, -1.0])
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels))
    model, vector = cases.model_of("squared_hinge", 2, 1.0), np.full(2, 1e200)
    assert gap_of(totals_at(model, shards, vector), vector, 0.0, model).bound is None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_pass_has_the_same_bits_on_any_number_of_workers(sparse, dtype):
    random = np.random.default_rng(2)
    matrix = random.standard_normal((500, 7)) * (random.random((500, 7)) < 0.6)
    labels = np.where(matrix[:, 0] > 0.2, 1.0, -1.0)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, sparse=sparse, dtype=dtype))
    model = cases.model_of("logistic", 7, 0.1, intercept=True, sparse=sparse)
    place = random.standard_normal(7), np.array([0.25])
    for asked in (Round("pass", arrays=place), Round("curvature", (0.4, 5.0, 1.0), place)):
        found = []
        for workers in (1, 2, 3):
            partials = []
            for worker in range(workers):
                own = shards_of_worker(worker, workers)
                work = LinearWork(model, {shard: shards[shard] for shard in own})
                partials += partial_sums(work, asked, own)
            found.append(joined(partials).tobytes())
        assert len(set(found)) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"loss": "absolute"},
        {"l2": -1.0},
        {"l1": math.nan},
        {"classes": (1.0, 1.0)},
        {"classes": (math.nan, math.nan)},
        {"loss": "squared"},
    ],
)
def test_a_model_that_cannot_be_is_refused(given):
    with pytest.raises(InvalidArgument):
        LinearObjective(**{"loss": "hinge", "features": 2, "l2": 0.1, "classes": cases.CLASSES} | given)
