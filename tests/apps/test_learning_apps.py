"""Apps that learn from points: each is its loss, on any engine, and its parameters are checked wherever they come from."""

import numpy as np
import pytest

import tornado
from apps.kmeans import Clusters
from apps.linear_regression import LinearRegression
from apps.logistic_regression import LogisticRegression
from apps.sgd import StochasticGradientDescent
from apps.svm import SupportVectorMachine
from tornado.errors import InvalidArgument
from tornado.query.ids import IntIds
from tornado.query.parameters import program_with

TIMEOUT_S = 60


def answers(programs, engine="threads"):
    random = np.random.default_rng(5)
    features = random.normal(size=(200, 3))
    labels = (features @ [1.0, -1.0, 0.5] + random.normal(size=200) > 0).astype(float)
    with tornado.open(workers=2, engine=engine) as session:
        stream = session.stream("points", schema=tornado.Points(features=3))
        loops = [stream.start(program, f"loop {place}") for place, program in enumerate(programs)]
        stream.insert(ids=range(200), labels=labels, features=features)
        return features, labels, [loop.query().result(TIMEOUT_S) for loop in loops]


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_named_model_is_the_general_one_with_its_loss(engine):
    programs = [
        LogisticRegression(l2=0.01, tolerance=1e-6),
        StochasticGradientDescent(loss="logistic", l2=0.01, tolerance=1e-6),
        LinearRegression(l2=0.01, tolerance=1e-6),
        StochasticGradientDescent(loss="squared", l2=0.01, tolerance=1e-6),
        StochasticGradientDescent(loss="squared_hinge", l2=0.01, tolerance=1e-6),
        SupportVectorMachine(l2=0.01),
        StochasticGradientDescent(loss="hinge", l2=0.01),
    ]
    features, labels, found = answers(programs, engine)
    primal = [answer.certificate["primal"] for answer in found]
    assert all(answer.certificate["bound"] <= 1e-6 for answer in found[:5])
    assert all(answer.certificate["bound"] <= 1e-3 for answer in found[5:])
    assert primal[0] == pytest.approx(primal[1], rel=1e-5)
    assert primal[2] == pytest.approx(primal[3], rel=1e-5)
    assert primal[5] == pytest.approx(primal[6], rel=2e-3)
    assert len({round(value, 4) for value in primal[:5]}) == 3
    # Of the squared loss the optimum solves linear equations.
    centred = features - features.mean(0)
    inverse = np.linalg.inv(centred.T @ centred / 200 + 0.01 * np.eye(3))
    weights = inverse @ (centred.T @ (labels - labels.mean()) / 200)
    near = [found[2].values[feature] for feature in range(3)]
    assert np.square(near - weights).sum() <= 2e-6 * primal[2] / 0.01


def test_clusters_are_those_of_k_means():
    features, _, [found] = answers([Clusters(clusters=4)])
    which = np.array([found.values[point] for point in range(200)])
    means = np.array([features[which == cluster].mean(0) for cluster in range(4)])
    assert np.array_equal(np.square(features[:, None] - means).sum(2).argmin(1), which)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearRegression, SupportVectorMachine])
def test_another_loss_than_the_apps_own_is_refused(kind):
    with pytest.raises(InvalidArgument, match="loss is 'squared_hinge' but must be one of"):
        program_with(kind, {"loss": "squared_hinge"}, IntIds())


def test_a_loss_has_to_be_named_where_there_are_several():
    with pytest.raises(InvalidArgument, match="needs the parameter 'loss'"):
        program_with(StochasticGradientDescent, {}, IntIds())


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_the_support_vector_machine_of_few_points_is_proved_at_its_defaults(noise):
    random = np.random.default_rng(7)
    features = random.normal(size=(120, 3))
    labels = (features @ [1.0, -1.0, 0.5] + noise * random.normal(size=120) > 0).astype(float)
    with tornado.open(workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=3))
        loop = stream.start(SupportVectorMachine())
        stream.insert(ids=range(120), labels=labels, features=features)
        found = loop.query(check=True).result(TIMEOUT_S).certificate
        assert found["bound"] <= 1e-3
        assert found["checked"]
