"""Progressive validation: points are predicted before they are learnt from, a drift is seen, and nothing is counted twice."""

import math
import time

import numpy as np
import pytest
import requests

import tornado
from tornado.kinds.learning.validation import Validation
from tornado.loops.part import Predicted
from tornado.points import EvolvingPoints
from tornado.records.point_batch import PointBatch

TIMEOUT_S = 60


def drawn(count, seed, sign=1.0):
    features = np.random.default_rng(seed).normal(size=(count, 3))
    return features, np.where(sign * features @ [2.0, -1.0, 0.5] > 0.0, 1.0, -1.0)


def send(stream, first, count, seed, sign=1.0):
    features, labels = drawn(count, seed, sign)
    stream.insert(ids=np.arange(first, first + count), labels=labels, features=features)


@pytest.mark.parametrize(("workers", "engine"), [(1, "threads"), (2, "threads"), (2, "processes")])
def test_a_drift_is_seen_before_anything_is_learnt_of_it(workers, engine):
    with tornado.open("memory:", workers=workers, engine=engine) as session:
        stream = session.stream("points", schema=tornado.Points(features=3))
        loop = stream.start(tornado.LinearModel(loss="logistic", l2=1e-3, rate=0.5), "model")
        assert loop.validation is None
        send(stream, 0, 2000, seed=1)
        assert loop.wait_idle(TIMEOUT_S)
        begun = (
            0.0 if loop.validation is None else loop.validation["points"]
        )  # before classes are known none is tested
        send(stream, 2000, 8000, seed=2)
        assert loop.wait_idle(TIMEOUT_S)
        steady = loop.validation
        assert steady["points"] == begun + 8000
        assert steady["recent_accuracy"] > 0.9
        assert steady["absolute_error"] is steady["recent_squared_error"] is None
        send(stream, 10_000, 12_000, seed=3, sign=-1.0)
        assert loop.wait_idle(TIMEOUT_S)
        drifted = loop.validation
        assert drifted["points"] == begun + 20_000
        assert drifted["recent_points"] >= 10_000
        # One worker may have learnt of it before another one tests its points.
        assert drifted["recent_accuracy"] < steady["recent_accuracy"] - 0.1
        assert drifted["recent_accuracy"] <= drifted["accuracy"]
        assert drifted["recent_loss"] > 1.2 * steady["recent_loss"]
        stream.remove(ids=np.arange(5000))
        assert loop.wait_idle(TIMEOUT_S)
        assert loop.validation["points"] == drifted["points"]


def test_over_http_it_stands_with_the_loop_and_in_the_metrics():
    with tornado.open("memory:") as session:
        stream = session.stream("points", schema=tornado.Points(features=3))
        loop = stream.start(tornado.LinearModel(loss="squared", l2=1e-3), "line")
        stream.start(tornado.KMeans(clusters=2), "clusters")
        send(stream, 0, 500, seed=1)
        assert loop.wait_idle(TIMEOUT_S)
        url = session.serve().url
        found, until_s = None, time.monotonic() + TIMEOUT_S
        while (
            found is None and time.monotonic() < until_s
        ):  # a loop that is slow to answer says what it said last
            found = requests.get(f"{url}/v1/loops/line", timeout=TIMEOUT_S).json()["validation"]
        assert found["points"] == found["recent_points"] == 500
        assert found["accuracy"] is None
        assert found["squared_error"] == pytest.approx(2.0 * found["loss"])
        # By Jensen's inequality, and with labels of 1 and -1 of which nothing was known at first.
        assert 0.0 < found["absolute_error"] <= found["squared_error"] ** 0.5 <= 1.0
        assert 0.0 < found["loss"] <= 0.5  # of what was 0 before anything was learnt
        assert requests.get(f"{url}/v1/loops/clusters", timeout=TIMEOUT_S).json()["validation"] is None
        metrics = requests.get(f"{url}/metrics", timeout=TIMEOUT_S).text
        assert 'tornado_validation_points{loop="line",over="recent"} 500.0' in metrics
        assert f'tornado_validation_loss{{loop="line",over="all"}} {found["loss"]}' in metrics
        assert 'tornado_validation_accuracy{loop="line"' not in metrics
        for error in ("absolute_error", "squared_error"):
            assert (
                f'tornado_validation_{error}{{loop="line",over="recent"}} {found["recent_" + error]}'
                in metrics
            )


def test_recent_points_are_the_last_ten_thousand_at_least():
    validation = Validation()
    for number in range(30):
        validation.note(Predicted(1000.0, 0.0, float(number)))
    assert validation.all == Predicted(30_000.0, 0.0, sum(range(30)))
    assert validation.recent == Predicted(10_000.0, 0.0, sum(range(20, 30)))
    validation.note(Predicted(50_000.0, 2.0, 1.0))
    assert validation.recent == Predicted(50_000.0, 2.0, 1.0)
    validation.note(Predicted())
    assert validation.recent == Predicted(50_000.0, 2.0, 1.0)


def test_what_is_predicted_of_new_points_is_what_the_parameters_say_that_were_heard():
    declared = tornado.Points(features=2)
    points = EvolvingPoints(declared)
    for loss, labels in (("squared", [3.0, -1.0, math.nan]), ("hinge", [1.0, -1.0, math.nan])):
        program = tornado.LinearModel(
            loss=loss, points=declared, classes=() if loss == "squared" else (-1.0, 1.0)
        )
        shards = program.data_shards(points, 1)
        batch = PointBatch.of(
            declared,
            ids=[1, 2, 3],
            labels=labels,
            features=[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]],
            weights=[2.0, 1.0, 1.0],
        )
        points.apply(batch, 0, 3)
        shards.hear(points.deltas())
        heard = dict(
            program.begin(),
            weights=np.array([1.0, 2.0]),
            intercept=np.array([0.5]),
            classes=np.array([-1.0, 1.0]),
        )
        shards.say(heard, 1)
        tested = shards.validation.all
        assert tested.weight == 3.0  # the third one has no label
        if loss == "squared":  # 1.5 of 3, with a weight of 2, and 2.5 of -1
            assert (tested.distance, tested.squares) == (2 * 1.5 + 3.5, 2 * 1.5**2 + 3.5**2)
            assert tested.loss == 0.5 * tested.squares
            assert math.isnan(tested.mistakes)
        else:
            assert (tested.mistakes, tested.loss) == (1.0, 3.5)
            assert math.isnan(tested.distance)
        shards.say(heard, 2)
        assert shards.validation.all.weight == 3.0


def test_a_point_in_the_place_of_one_that_came_and_went_is_learnt_from_once():
    declared = tornado.Points(features=1)
    points = EvolvingPoints(declared)
    program = tornado.LinearModel(loss="squared", points=declared)
    shards = program.data_shards(points, 1)
    for batch in (
        PointBatch.of(declared, ids=[1], labels=[3.0], features=[[1.0]]),
        PointBatch.kind_of(declared).removals([1]),
        PointBatch.of(declared, ids=[1], labels=[5.0], features=[[1.0]]),
    ):
        points.apply(batch, 0, 1)
        shards.hear(points.deltas())
    shards.say(dict(program.begin()), 1)
    tested = shards.validation.all
    assert (tested.weight, tested.distance) == (1.0, 5.0)


def test_where_classes_are_named_the_first_points_are_tested_and_learnt_from():
    with tornado.open("memory:", workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=3))
        model = tornado.LinearModel(loss="logistic", l2=1e-3, rate=0.5, classes=(-1.0, 1.0))
        loop = stream.start(model, "model")
        send(stream, 0, 2000, seed=1)
        assert loop.wait_idle(TIMEOUT_S)
        assert loop.validation["points"] == 2000
        features, labels = drawn(500, seed=2)
        assert (loop.predict(features) == labels).mean() > 0.9


def test_a_row_that_is_used_again_between_two_steps_is_tested_once():
    points = EvolvingPoints(tornado.Points(features=1))
    program = tornado.LinearModel(loss="squared", l2=1e-3).reading(points.points)
    shards, block = program.data_shards(points, 1), program.parameter_block(1)
    rows = []
    for operation in ("+", "-", "+"):
        given = {"labels": [2.0], "features": [[1.0]]} if operation == "+" else {}
        batch = PointBatch.of(points.points, ids=[7], op=operation, **given)
        points.apply(batch, 0, 1)
        rows += points.deltas().row.tolist()
        shards.hear(points.deltas())
    assert len(set(rows)) == 1  # it was free for the point that came again
    shards.say(block.parameters, 1)
    assert shards.validation.all.weight == 1.0
