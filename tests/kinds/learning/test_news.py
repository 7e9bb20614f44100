"""What main loops hear of their points: that they were there before, that they went, and which labels are left."""

import threading

import numpy as np
import pytest

import tornado
from tornado.kinds.learning.linear.live_labels import LiveLabels
from tornado.protocol.resumption import ResumableSession

TIMEOUT_S = 60
FEATURES = 3


def separable(count, seed=0, labels=(-1.0, 1.0)):
    random = np.random.default_rng(seed)
    features = random.normal(size=(count, FEATURES))
    return features, np.where(features @ [2.0, -1.0, 0.5] > 0.0, labels[1], labels[0])


def opened(session):
    return session.stream("points", schema=tornado.Points(features=FEATURES))


def weights_of(loop):
    """The weights of the main loop when it is at rest."""
    assert loop.wait_idle(TIMEOUT_S)
    found = loop.read([0, 1, 2]).values
    return np.array([found[feature] for feature in range(FEATURES)])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_model_that_begins_after_its_points_learns_from_them(workers):
    with tornado.open("memory:", workers=workers) as session:
        stream = opened(session)
        stream.start(tornado.KMeans(clusters=2), "clusters")
        features, labels = separable(400)
        stream.insert(ids=np.arange(400), labels=labels, features=features)
        loop = stream.start(tornado.LinearModel(loss="logistic", l2=1e-2), "model")
        weights = weights_of(loop)
        assert (np.where(features @ weights > 0.0, 1.0, -1.0) == labels).mean() > 0.9
        later = stream.start(tornado.KMeans(clusters=3), "later")
        assert later.wait_idle(TIMEOUT_S)
        assert len(later.read(list(range(400))).values) == 400


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_without_a_label_or_a_weight_there_is_nothing_to_do(loss):
    with tornado.open("memory:", workers=2) as session:
        stream = opened(session)
        loop = stream.start(tornado.LinearModel(loss=loss, l2=1e-2), "model")
        features, labels = separable(100)
        stream.insert(ids=np.arange(50), features=features[:50])
        stream.insert(
            ids=np.arange(50, 100), features=features[50:], labels=labels[50:], weights=np.zeros(50)
        )
        assert not weights_of(loop).any()
        stream.insert(ids=np.arange(100), features=features, labels=labels)
        assert weights_of(loop).any()
        stream.remove(ids=np.arange(100))
        weights_of(loop)  # it rests


@pytest.mark.parametrize("workers", [1, 2])
def test_classes_are_those_of_the_points_that_are_left(workers):
    with tornado.open("memory:", workers=workers) as session:
        stream = opened(session)
        loop = stream.start(tornado.LinearModel(loss="logistic", l2=1e-2), "model")
        features, labels = separable(300, labels=(0.0, 1.0))
        stream.insert(ids=np.arange(300), labels=labels, features=features)
        weights_of(loop)
        stream.remove(ids=np.flatnonzero(labels == 0.0))
        weights_of(loop)
        others, names = separable(300, seed=1, labels=(2.0, 1.0))  # the greater label is the other side now
        stream.insert(ids=np.arange(1000, 1300), labels=names, features=others)
        weights = weights_of(loop)
        matrix = np.concatenate([features[labels == 1.0], others])
        wanted = np.concatenate([labels[labels == 1.0], names])
        assert (np.where(matrix @ weights > 0.0, 2.0, 1.0) == wanted).mean() > 0.6
        assert loop.query().result().certificate["bound"] <= 1e-3


def test_a_main_loop_learns_from_removals_alone():
    with tornado.open("memory:", workers=1) as session:
        stream = opened(session)
        loop = stream.start(tornado.LinearModel(loss="squared", l2=1e-3, rate=0.3), "model")
        features, _ = separable(400)
        labels = features[:, 0].copy()
        labels[:200] = -features[:200, 0]
        stream.insert(ids=np.arange(400), labels=labels, features=features)
        assert abs(weights_of(loop)[0]) < 0.3
        stream.remove(ids=np.arange(200))
        assert weights_of(loop)[0] > 0.7


def test_clusters_that_were_stopped_before_any_pass_say_nothing_of_any_point():
    with tornado.open("memory:", workers=2) as session:
        stream = opened(session)
        features, _ = separable(100)
        loop = stream.start(tornado.KMeans(clusters=4), "clusters")
        stream.insert(ids=np.arange(100), features=features)
        for most in (1, 4, 9):
            found = loop.query(max_iterations=most, parameters={"seed": 5}).result()  # begins from nothing
            assert not found.values
            assert found.certificate["kind"] == "none"


def test_labels_are_counted_by_the_sign():
    random, counted, expected = np.random.default_rng(5), LiveLabels(), []
    for _ in range(200):
        if expected and random.random() < 0.5:
            went = [expected.pop(random.integers(len(expected))) for _ in range(min(3, len(expected)))]
            counted.hear(np.array(went), np.full(len(went), -1, np.int8))
        else:
            came = random.integers(0, 4, 3).astype(float)
            expected += came.tolist()
            counted.hear(came, np.ones(3, np.int8))
        found = counted.some().tolist()
        assert set(found) <= set(expected)
        assert len(found) == min(3, len(set(expected)))
        assert found[:1] + found[-1:] == ([min(expected), max(expected)] if expected else [])


def test_only_the_worker_looks_into_its_session(monkeypatch):
    """Others ask whether a loop rests while it works: sets that change meanwhile could not be gone through."""
    looked, is_at_rest = set(), ResumableSession.is_at_rest

    def watched(session):
        looked.add(threading.current_thread().name)
        return is_at_rest(session)

    monkeypatch.setattr(ResumableSession, "is_at_rest", watched)
    with tornado.open("memory:", workers=2) as session:
        stream = opened(session)
        loop = stream.start(tornado.LinearModel(loss="logistic", l2=1e-2), "model")
        features, labels = separable(300)
        for first in range(0, 300, 50):
            rows = slice(first, first + 50)
            stream.insert(ids=np.arange(300)[rows], labels=labels[rows], features=features[rows])
            assert loop.wait_idle(TIMEOUT_S)
            assert loop.query().result(TIMEOUT_S).certificate["kind"] == "gap"
    assert looked == {"tornado-worker-0", "tornado-worker-1"}
