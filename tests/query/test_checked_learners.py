"""Answers of what learns are verified by a pass over their points, and planted errors fail them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import requests

import tornado
from tornado.checking.learners import ClusterCheck, LearnedAnswer
from tornado.checking.linear_models import LinearCheck
from tornado.checking.point_pages import DenseFeatures, PointPage
from tornado.errors import CheckFailed, InvalidArgument, ResultUnavailable
from tornado.kinds.learning.clusters.cluster_program import BranchWork

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
            if name in (
                "logistic",
                "squared",
            ):  # of dual ascent it is the best of all passes, which need not be the last
                assert certificate["check"]["proved"] is True
                assert certificate["check"]["dual"] >= certificate["dual"] * (1.0 - 1e-9)


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
    page = planted()
    is_right = page.features.matrix[:, 0] > 0.0
    centroids = np.stack([page.features.matrix[is_right == side].mean(axis=0) for side in (False, True)])
    for _ in range(50):  # to where Lloyd's iterations stay
        clusters = ((page.features.matrix[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
        centroids = np.stack([page.features.matrix[clusters == one].mean(axis=0) for one in range(2)])
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


@dataclass(frozen=True, kw_only=True)
class SlightlyOff(tornado.LinearModel):
    def values(self, parameters):
        ids, values = super().values(parameters)
        return ids, values * 1.001


@dataclass(frozen=True, kw_only=True)
class TooSure(tornado.LinearModel):
    def certificate(self, findings, *, is_converged):
        found = super().certificate(findings, is_converged=is_converged)
        return {**found, "dual": found["primal"], "bound": 0.0}


def misplaced(self):
    ids, clusters = right_places(self)
    clusters = clusters.copy()
    clusters[ids == 11] = (clusters[ids == 11] + 1) % 3
    return ids, clusters


right_places = BranchWork.point_values


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (SlightlyOff(loss="logistic", l2=1e-2), "the objective is said to be"),
        (TooSure(loss="logistic", l2=1e-2, tolerance=0.05), "weights whose objective is"),
        (tornado.KMeans(clusters=3), "point 11 is in cluster"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, tornado.LearningProgram) else "",
)
def test_a_planted_error_fails_the_query(program, said, monkeypatch):
    monkeypatch.setattr(BranchWork, "point_values", misplaced)
    random = np.random.default_rng(1)
    features = random.normal(size=(300, 3))
    labels = np.where(features @ [2.0, -1.0, 0.5] + random.normal(size=300) > 0.2, 5.0, 3.0)
    with tornado.open("memory:", workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=3))
        loop = stream.start(program, "loop")
        stream.insert(ids=np.arange(300), labels=labels, features=features)
        with pytest.raises(CheckFailed, match=said):
            loop.query(check=True).result(TIMEOUT_S)
        url = session.serve().url
        answered = requests.post(
            f"{url}/v1/queries?wait_s=30", json={"loop": "loop", "check": True}, timeout=TIMEOUT_S
        )
        body = answered.json()
        assert (body["state"], body["error"]["code"]) == ("failed", "check-failed")
        assert "result" not in body
        assert loop.query().result(TIMEOUT_S).values  # who asks without a check is answered


def test_labels_of_neither_class_that_are_there_refuse_the_loop_and_others_are_checked():
    random = np.random.default_rng(1)
    features = random.normal(size=(300, 2))
    labels = np.where(features[:, 0] > 0.0, 1.0, 0.0)
    labels[:50] = 2.0
    with tornado.open("memory:", workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=2))
        stream.start(tornado.LinearModel(loss="squared"), "line")
        stream.insert(ids=np.arange(300), labels=labels, features=features)
        named = tornado.LinearModel(loss="logistic", l2=1e-2, classes=(0.0, 1.0))
        with pytest.raises(InvalidArgument, match="label 2: a label is one of the classes 0 and 1"):
            stream.start(named, "named")
        stream.remove(ids=np.arange(50))
        loop = stream.start(named, "named")
        assert loop.query(check=True).result(TIMEOUT_S).certificate["check"]["proved"] is True


def blobs(count=300):
    random = np.random.default_rng(1)
    features = random.normal(size=(count, 3))
    return features, np.where(features @ [2.0, -1.0, 0.5] + 0.3 * random.normal(size=count) > 0.2, 5.0, 3.0)


@pytest.mark.parametrize("ids", ["int", "string"])
def test_an_answer_that_was_given_is_verified_itself_at_its_version(ids, tmp_path):
    features, labels = blobs()
    names = [f"p{number}" for number in range(300)] if ids == "string" else np.arange(300)
    with tornado.open(f"lmdb://{tmp_path}", workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=3), ids=ids)
        clusters = stream.start(tornado.KMeans(clusters=3), "clusters")
        loops = [clusters]
        if ids == "int":
            loops += [
                stream.start(tornado.LinearModel(loss=loss, l2=1e-2), loss) for loss in ("logistic", "hinge")
            ]
        stream.insert(ids=names, labels=labels, features=features)
        for loop in loops:
            query = loop.query()
            certificate = query.check()
            assert certificate["checked"] is True
            assert certificate["check"]["points"] == 300
            said = dict(query.certificate)
            assert {name: certificate[name] for name in said} == said  # its own, and not of another answer
        if ids == "int":
            assert loops[1].query(vertices=[0, -1]).check()["checked"] is True
            assert loops[1].query(points=features[:2]).check()["checked"] is True
        with pytest.raises(ResultUnavailable, match="some of the values only"):
            clusters.query(top=3).check()
        stored = [loop.query() for loop in loops]
        for query in stored:
            query.result(TIMEOUT_S)
        loops[0].checkpoint()
        stream.insert(ids=["new"] if ids == "string" else [1000], labels=[3.0], features=[[9.0, 9.0, 9.0]])
        for query in stored:
            assert query.check()["checked"] is True
    with tornado.open("memory:") as session:
        stream = session.stream("points", schema=tornado.Points(features=3))
        loop = stream.start(tornado.LinearModel(loss="logistic", l2=1e-2), "model")
        stream.insert(ids=np.arange(300), labels=labels, features=features)
        query = loop.query()
        query.result(TIMEOUT_S)
        stream.insert(ids=[1000], labels=[3.0], features=[[9.0, 9.0, 9.0]])
        with pytest.raises(ResultUnavailable, match="which has changed since"):
            query.check()


def test_an_answer_that_was_given_wrongly_is_found_out():
    features, labels = blobs()
    with tornado.open("memory:", workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=3))
        loop = stream.start(SlightlyOff(loss="logistic", l2=1e-2), "model")
        stream.insert(ids=np.arange(300), labels=labels, features=features)
        with pytest.raises(CheckFailed, match="the objective is said to be"):
            loop.query().check()
