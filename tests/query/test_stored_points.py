"""Points in a durable store, through Python: what was pushed is there after a restart, from the snapshot and from the log."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import tornado
from apps.bfs import BreadthFirstSearch
from tests.query.conftest import eventually
from tornado.errors import InvalidArgument, StoreCorrupt
from tornado.loops.declared_points import with_stored_width
from tornado.storage import open_store

DENSE = tornado.Points(features=3)
SPARSE = tornado.Points(features=3, sparse=True)
MODEL = tornado.LinearModel(loss="squared", l2=0.1, tolerance=1e-9)


@pytest.fixture
def url(tmp_path):
    return f"lmdb://{tmp_path}/store"


class Pushed:
    """Points that are pushed, and what is then there."""

    def __init__(self, points, seed=0):
        self.points = points
        self.live = {}
        self._random = np.random.default_rng(seed)

    def push(self, stream, ids, what="insert"):
        ids = list(ids)
        features = self._random.normal(size=(len(ids), 3))
        labels = features @ [1.0, -2.0, 0.5] + self._random.normal(size=len(ids))
        weights = self._random.integers(1, 3, len(ids)).astype(float)
        given = scipy.sparse.csr_array(features) if self.points.sparse else features
        getattr(stream, what)(ids=ids, labels=labels, features=given, weights=weights)
        self.live |= dict(zip(ids, zip(features, labels, weights, strict=True), strict=True))

    def remove(self, stream, ids):
        stream.remove(ids=list(ids))
        for id_ in ids:
            self.live.pop(id_, None)

    def check(self, model):
        """The answer is the ridge regression of exactly the points that are there."""
        found = model.query().result()
        features, labels, weights = (np.array(column) for column in zip(*self.live.values(), strict=True))
        columns = np.column_stack([np.ones(len(labels)), features])
        left = columns.T @ (columns * weights[:, None]) / weights.sum() + np.diag([0.0, 0.1, 0.1, 0.1])
        wanted = np.linalg.solve(left, columns.T @ (labels * weights) / weights.sum())
        assert [found.values[number] for number in (-1, 0, 1, 2)] == pytest.approx(wanted.tolist(), abs=1e-3)


@pytest.mark.parametrize("points", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_points_are_there_after_restarts_with_and_without_a_snapshot(url, points):
    pushed = Pushed(points)
    for round_ in range(4):
        with tornado.open(url, workers=1 + round_ % 2) as session:
            stream = session.stream("points", schema=points)
            model = stream.start(MODEL, name="model")
            if round_:
                pushed.check(model)
            pushed.push(stream, range(100 * round_, 100 * round_ + 150))
            if round_ == 1:
                model.checkpoint()
            pushed.push(stream, range(50, 80), "replace")
            pushed.push(stream, [1, 1, 1, 2])
            pushed.remove(stream, [*range(10 * round_ + 3, 10 * round_ + 9), 5000])
            pushed.check(model)


def test_edges_and_points_are_one_sequence_and_several_loops_one_version(url):
    pushed = Pushed(DENSE)
    with tornado.open(url, workers=2) as session:
        stream = session.stream("points", schema=DENSE)
        model, clusters = (
            stream.start(MODEL, name="model"),
            stream.start(tornado.KMeans(clusters=3), name="clusters"),
        )
        pushed.push(stream, range(60))
        stream.insert([1, 2], [2, 3])
        version = model.checkpoint()
        assert clusters.checkpoint() == version
        stream.insert([3], [4])
        pushed.remove(stream, range(20))
    with tornado.open(url) as session:
        stream = session.stream("points", schema=DENSE)
        model, clusters = (
            stream.start(MODEL, name="model"),
            stream.start(tornado.KMeans(clusters=3), name="clusters"),
        )
        pushed.check(model)
        assert sorted(clusters.query().values) == sorted(pushed.live)
        assert stream.start(BreadthFirstSearch(source=1), name="hops").query().values == {
            1: 0,
            2: 1,
            3: 2,
            4: 3,
        }
        at = clusters.query(at=version)
        assert sorted(at.values) == list(range(60))


@pytest.mark.parametrize("is_stored", [True, False], ids=["snapshot", "log"])
def test_the_width_of_sparse_points_is_known_from_the_snapshot_or_from_the_log(url, is_stored):
    with tornado.open(url) as session:
        stream = session.stream("points", schema=SPARSE)
        model = stream.start(MODEL, name="model")
        Pushed(SPARSE).push(stream, range(5))
        if is_stored:
            model.checkpoint()
    wider = [replace(SPARSE, features=9), replace(SPARSE, features=2)]
    others = [replace(SPARSE, features=9, dtype=np.float32), replace(DENSE, features=9)]
    with open_store(url) as store:
        assert bool(store.versions("points")) == is_stored
        assert [with_stored_width(one, store, "points") for one in wider] == [SPARSE, SPARSE]
        assert [with_stored_width(one, store, "points") for one in others] == others
        assert with_stored_width(wider[0], store, "another") == wider[0]


def test_a_log_of_other_points_is_refused_and_so_is_a_damaged_one(url):
    pushed = Pushed(DENSE)
    with tornado.open(url) as session:
        stream = session.stream("points", schema=DENSE)
        stream.start(MODEL, name="model")
        pushed.push(stream, range(5))
    for schema in (SPARSE, tornado.Points(features=4)):
        with (
            tornado.open(url) as session,
            pytest.raises(InvalidArgument, match=r"'insert' has sent Points.*before it was restarted"),
        ):
            session.stream("points", schema=schema).start(MODEL, name="model")
    with open_store(url) as store:
        (line,) = [line for line in store.loops() if line.endswith("/log")]
        (version,) = store.versions(line)
        page, metadata = store.read(line, b"group", version), store.metadata(line, version)
        store.write(line, version, {b"group": page[:-1]}, metadata=metadata)
    with tornado.open(url) as session, pytest.raises(StoreCorrupt, match="is not what was written"):
        session.stream("points", schema=DENSE).start(MODEL, name="model")
    with open_store(url) as store:
        store.write(line, version, {b"group": page}, metadata=metadata)
    with tornado.open(url) as session:
        stream = session.stream("points", schema=DENSE)
        pushed.check(stream.start(MODEL, name="model"))


def test_checkpoints_are_taken_by_themselves_and_cut_the_log(url, monkeypatch):
    monkeypatch.setattr("tornado.loops.admission_log._LONG_LOG_RECORDS", 9)
    pushed = Pushed(DENSE)
    with tornado.open(url) as session:
        stream = session.stream("points", schema=DENSE, checkpoint_every_s=0.05, keep_snapshots=1)
        model = stream.start(MODEL, name="model")
        for round_ in range(5):
            pushed.push(stream, range(10 * round_, 10 * round_ + 10))
            eventually(lambda: not model.loop.stream.wants_snapshot())
        pushed.check(model)
    log = f"{model.loop.stream.name}/log"
    with open_store(url) as store:
        assert 1 <= len(store.versions(log)) < 5
    with tornado.open(url) as session:
        model = session.stream("points", schema=DENSE).start(MODEL, name="model")
        pushed.check(model)


@pytest.mark.parametrize("names", [["b", "a", "c"], None])
def test_points_of_other_names_are_refused_before_the_first_snapshot_too_and_those_that_were_are_known(
    url, names
):
    declared = tornado.Points(features=3, names=["a", "b", "c"])
    pushed = Pushed(declared)
    with tornado.open(url) as session:
        stream = session.stream("p", schema=declared)
        loop = stream.start(MODEL, "model")
        pushed.push(stream, range(50))
        found = loop.query().result().table("coefficients").to_pydict()
        assert found["feature"][-3:] == ["a", "b", "c"]
    with open_store(url) as store:
        assert not store.versions("p")  # else this looks at the snapshot
    with tornado.open(url) as session:
        stream = session.stream("p", schema=tornado.Points(features=3, names=names))
        with pytest.raises(
            InvalidArgument, match=r"has sent .*names=\('a', 'b', 'c'\).*Declare the points as they were"
        ):
            stream.start(MODEL, "model")
    for schema in (declared, None):
        with tornado.open(url) as session:
            loop = session.stream("p", schema=schema).start(MODEL, "model")
            again = loop.query().result().table("coefficients").to_pydict()
            assert again["feature"] == found["feature"]
            # Not to the bit: an answer is found from where the loop is, which depends on how far it has come by then.
            assert again["value"] == pytest.approx(found["value"], rel=1e-9)
