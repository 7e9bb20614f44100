"""Answers of what learns are verified by a pass over their points, and planted errors fail them."""

from dataclasses import replace

import numpy as np
import pytest

import tornado
from tornado.checking.learners import ClusterCheck, DenseFeatures, LearnedAnswer, LinearCheck, PointPage

TIMEOUT_S = 60


@pytest.mark.parametrize("engine", ["threads", "processes"])
@pytest.mark.parametrize("sparse", [False, True])
def test_answers_that_are_right_are_checked(engine, sparse):
    random = np.random.default_rng(1)
    features = random.normal(size=(300, 3))
    labels = np.where(features @ [2.0, -1.0, 0.5] > 0.2, 5.0, 3.0)
    rows = [dict(enumerate(row)) for row in features.tolist()] if sparse else features
    with tornado.open("memory:", workers=2, engine=engine) as session:
        stream = session.stream("points", schema=tornado.Points(features=3, sparse=sparse))
        for loss in ("logistic", "hinge", "squared"):
            stream.start(tornado.LinearModel(loss=loss, l2=1e-2), loss)
        stream.start(tornado.KMeans(clusters=3), "clusters")
        stream.insert(ids=np.arange(300), labels=labels, features=rows)
        stream.remove(ids=[4, 5])
        for name in ("logistic", "hinge", "squared", "clusters"):
            certificate = session.loop(name).query(check=True).result(TIMEOUT_S).certificate
            assert certificate["checked"] is True, certificate
            assert certificate["check"]["points"] == 298


def planted():
    random = np.random.default_rng(2)
    matrix = random.normal(size=(50, 2))
    return PointPage(np.arange(50), matrix @ [1.0, 2.0], np.ones(50), DenseFeatures(matrix))


@pytest.mark.parametrize(
    ("name", "factor", "said"),
    [("primal", 0.9, "is said"), ("dual", 0.999, "the dual is"), (None, 1.0, None)],
)
def test_a_planted_objective_is_found(name, factor, said):
    page = planted()
    weights = np.array([0.9, 1.9])
    primal = float(
        (0.5 * (page.features.matrix @ weights - page.labels) ** 2).mean() + 0.05 * weights @ weights
    )
    claimed = {"primal": primal, "dual": 0.0, "bound": 1.0}
    if name is not None:
        claimed[name] = factor * primal
    answer = LearnedAnswer(np.arange(2), weights, {}, claimed)
    fault = LinearCheck("squared", 0.1, 0.0, False).check(answer, lambda: iter([page])).fault
    assert fault is None if said is None else said in fault


def test_a_point_in_the_wrong_cluster_is_found():
    page, centroids = planted(), np.array([[-1.0, 0.0], [1.0, 0.0]])
    distances = ((page.features.matrix[:, None] - centroids) ** 2).sum(axis=2)
    answer = LearnedAnswer(
        page.ids, distances.argmin(1), {"centroids": centroids}, {"inertia": float(distances.min(1).sum())}
    )
    checker = ClusterCheck()
    assert checker.check(answer, lambda: iter([page])).fault is None
    moved = answer.values.copy()
    moved[7] = 1 - moved[7]
    assert checker.check(replace(answer, values=moved), lambda: iter([page])).point == 7
    wrong = replace(answer, claimed={"inertia": 2.0 * answer.claimed["inertia"]})
    assert "the inertia is said" in checker.check(wrong, lambda: iter([page])).fault
