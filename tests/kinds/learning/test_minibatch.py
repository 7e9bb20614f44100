"""Mini-batches against sums over the points that are drawn, laws of the draws, and step rules by hand."""

import math

import numpy as np
import pytest

from tests.kinds.learning import linear_cases as cases
from tornado.errors import InvalidArgument
from tornado.kinds.learning.linear.linear_program import LinearModel
from tornado.kinds.learning.linear.minibatch import (
    Adagrad,
    BatchTotals,
    BoldDriver,
    DecayingRate,
    FixedRate,
    MiniBatches,
    classes_at,
    probabilities_at,
    stepped,
)
from tornado.points import EvolvingPoints
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points


def points(rows=400, features=5, seed=0):
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((rows, features)) * (random.random((rows, features)) < 0.7)
    labels = np.where(
        matrix @ random.standard_normal(features) + random.standard_normal(rows) > 0.2, 1.0, -1.0
    )
    return matrix, labels, random.random(rows) + 0.5


def summed(model, shards, add):
    total = np.zeros(MiniBatches(model).width())
    for shard in shards.values():
        add(MiniBatches(model), shard, total)
    return BatchTotals.of(total)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", cases.LOSSES)
def test_given_rows_are_summed_as_they_are(loss, sparse, dtype):
    matrix, labels, weights = points()
    matrix = matrix.astype(dtype).astype(float)
    model = cases.model_of(loss, 5, 0.3, intercept=True, sparse=sparse)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights, sparse=sparse, dtype=dtype))
    place = np.random.default_rng(1).standard_normal(6)
    found = summed(
        model,
        shards,
        lambda batches, shard, total: batches.add_given(shard, shard.rows, place[:5], place[5], total),
    )
    assert (found.points, found.passed_over) == (400, 0)
    assert found.weight == pytest.approx(weights.sum())
    expected = cases.objective(model, matrix, labels, weights, place[:5], place[5])
    assert found.mean_loss + 0.15 * place[:5] @ place[:5] == pytest.approx(expected, rel=1e-12)
    gradient = found.gradient(place[:5], model)
    for column in range(6):
        around = [place + sign * 1e-6 * np.eye(6)[column] for sign in (1, -1)]
        high, low = (cases.objective(model, matrix, labels, weights, at[:5], at[5]) for at in around)
        assert gradient[column] == pytest.approx((high - low) / 2e-6, rel=1e-5, abs=1e-7)


def test_batches_are_unbiased_after_removals_and_the_same_when_they_are_drawn_again():
    matrix, labels, weights = points()
    stream = cases.stream_of(matrix, labels, weights)
    stream.apply_all(cases.removal_of(stream, range(300)))
    shards, model = cases.shards_of_stream(stream), cases.model_of("logistic", 5, 0.3)
    vector = np.random.default_rng(1).standard_normal(5)

    def batch(iteration, seed=7):
        def add(batches, shard, total):
            given = {"count": 4, "seed": seed, "iteration": iteration, "scale": len(shard) / 4}
            assert batches.add_drawn(shard, vector, 0.0, total, **given) == (4 if len(shard) else 0)

        return summed(model, shards, add)

    whole = summed(
        model, shards, lambda batches, shard, total: batches.add_given(shard, shard.rows, vector, 0.0, total)
    )
    found = [batch(iteration) for iteration in range(3000)]
    assert np.mean([one.weight for one in found]) == pytest.approx(whole.weight, rel=0.01)
    assert np.mean([one.loss for one in found]) == pytest.approx(whole.loss, rel=0.02)
    spread = np.std([one.slopes[:-1] for one in found], axis=0) / math.sqrt(len(found))
    apart = np.mean([one.slopes[:-1] for one in found], axis=0) - whole.slopes[:-1]
    assert (np.abs(apart) < 4 * spread).all()
    assert np.array_equal(batch(5).slopes, found[5].slopes)
    assert not np.array_equal(batch(5, seed=8).slopes, found[5].slopes)


def test_a_shard_without_live_points_draws_none():
    matrix, labels, _ = points(rows=40)
    stream = cases.stream_of(matrix, labels)
    shards, model = cases.shards_of_stream(stream), cases.model_of("hinge", 5, 0.1)
    stream.apply_all(cases.removal_of(stream, range(40)))
    total = np.zeros(MiniBatches(model).width())
    for shard in shards.values():
        drawn = MiniBatches(model).add_drawn(shard, np.zeros(5), 0.0, total, count=3, seed=1, iteration=1)
        assert drawn == 0
    assert not total.any()


@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_those_of_the_definition(sparse):
    matrix, labels, _ = points(rows=30)
    stream = cases.stream_of(matrix, labels, sparse=sparse)
    batch = cases.batch_of(stream, range(30), matrix, labels)
    vector = np.random.default_rng(1).standard_normal(5)
    model = cases.model_of("logistic", 5, 0.1, sparse=sparse, classes=(3.0, 8.0))
    scores = MiniBatches(model).scores(batch, vector, 0.5)
    assert scores == pytest.approx(matrix @ vector + 0.5)
    assert set(classes_at(scores, model)) == {3.0, 8.0}
    assert np.isnan(classes_at(np.array([np.nan]), model)).all()
    assert (classes_at(scores, model) == 8.0).tolist() == (scores >= 0).tolist()
    assert probabilities_at(np.array([-800.0, 0.0, 800.0])).tolist() == [0.0, 0.5, 1.0]


def test_steps_go_down_and_those_with_l1_reach_zero():
    matrix, labels, weights = points()
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights))
    model = cases.model_of("logistic", 5, 0.01, 0.08, intercept=True)
    for rule in (FixedRate(0.5), DecayingRate(0.5, decay=0.01), Adagrad(0.3, features=5), BoldDriver(0.5)):
        vector, intercept = np.ones(5), 0.0
        objectives = []
        for _ in range(150):
            totals = summed(
                model,
                shards,
                lambda batches, shard, total, at=(vector, intercept): batches.add_given(
                    shard, shard.rows, *at, total
                ),
            )
            assert rule.judge(cases.objective(model, matrix, labels, weights, vector, intercept))
            objectives.append(cases.objective(model, matrix, labels, weights, vector, intercept))
            gradient = totals.gradient(vector, model)
            vector, (intercept,) = stepped(
                model, vector, np.array([intercept]), gradient, rule.rates(gradient)
            )
        assert objectives[-1] < 0.9 * objectives[0]
        assert (vector == 0.0).any(), type(rule)


def test_the_bold_driver_slows_down_where_it_rises_and_speeds_up_where_it_hardly_falls():
    driver = BoldDriver(1.0)
    rates = []
    for objective in (1.0, 0.9, 0.895, 0.896, 0.896, math.inf, 0.9, 0.8999):
        driver.judge(objective)
        rates.append(driver.rates(np.zeros(1)))
    up = 1.1
    assert rates == pytest.approx([1, 1, up, up * 0.9, up * up * 0.9, *[up * up * 0.45] * 2, up**3 * 0.45])
    assert not driver.judge(math.nan)


def test_a_rule_goes_on_where_its_state_was_stored():
    gradient = np.array([0.5, -2.0])
    for make in (
        lambda: DecayingRate(1.0, decay=0.5),
        lambda: Adagrad(1.0, features=1),
        lambda: BoldDriver(1.0),
    ):
        one, other = make(), make()
        for _ in range(3):
            one.rates(gradient)
            one.judge(0.5)
        other.state = one.state.copy()
        one.judge(0.4999)
        other.judge(0.4999)
        assert np.array_equal(one.rates(gradient), other.rates(gradient))


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_that_is_none_is_refused(rate):
    for rule in (FixedRate, BoldDriver):
        with pytest.raises(InvalidArgument, match="rate"):
            rule(rate)


def judged(driver, *objectives):
    for objective in objectives:
        driver.judge(objective)
    return float(driver.state[0])


def test_a_bold_driver_takes_its_first_rate_again_after_a_drift_and_half_of_it_where_that_was_too_much():
    driver = BoldDriver(0.4)
    low = judged(driver, *np.tile([1.0, 1.01], 200))
    assert 0.004 <= low < 0.1
    assert judged(driver, 1.2) < 0.1  # that may be noise
    assert judged(driver, 1.3) == 0.4
    # Nothing becomes better from there, however low the rate: it is too much.
    assert judged(driver, *np.linspace(1.3, 1.5, 30)) < 0.1
    assert judged(driver, 1.7) == 0.2
    driver.begin_anew()
    assert driver.state[0] == 0.2


def test_a_bold_driver_never_comes_to_nothing():
    assert judged(BoldDriver(0.1), *np.tile([1.0, 1.01], 5000)) >= 0.001 - 1e-12


def test_a_model_that_is_restored_takes_no_answer_about_the_parameters_it_began_with():
    declared = Points(features=1)
    stream = EvolvingPoints(declared)
    program = LinearModel(loss="squared", points=declared, rule="fixed")
    block, shards = program.parameter_block(1), program.data_shards(stream, 1)
    stream.apply(PointBatch.of(declared, ids=[1], labels=[3.0], features=[[1.0]]), 0, 1)
    shards.hear(stream.deltas())
    early = shards.say(block.parameters, 0)
    block.restore({**block.parameters, "weights": np.array([7.0])})
    block.step([early])
    assert block.parameters["weights"].tolist() == [7.0]
    block.step([shards.say(block.parameters, int(block.parameters["step"][0]))])
    assert block.parameters["weights"].tolist() != [7.0]
