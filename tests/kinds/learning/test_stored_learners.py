"""Loops that learn, and their points, in stored snapshots: what begins there has them, and answers with the same bits everywhere."""

import numpy as np
import pytest

from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tests.kinds.learning.programs import MeanOfFeatures
from tornado import KMeans, LinearModel
from tornado.errors import InvalidArgument, StoreCorrupt
from tornado.loops import Master, point_pages
from tornado.loops.new_loop import NewLoop
from tornado.loops.statistics import BranchState
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points
from tornado.storage import MemoryStore, open_store

TIMEOUT_S = 60
NAME = "points"
WIDTH = 6
DENSE = Points(features=WIDTH)
SPARSE = Points(features=WIDTH, sparse=True, dtype="float32")


def batch(points, ids, seed, op=INSERT):
    random = np.random.default_rng(seed)
    ids = np.asarray(ids)
    features = random.normal(size=(len(ids), WIDTH)).round(2)
    labels = np.where(features @ np.arange(1, WIDTH + 1) > 0, 1.0, -1.0)
    weights = random.integers(1, 4, len(ids)).astype(float)
    if points.sparse:
        features = [{place: row[place] for place in range(0, WIDTH, 2)} for row in features]
    return PointBatch.of(points, ids=ids, labels=labels, features=features, weights=weights, op=op)


def feed(loop, points):
    """Points that come, come again, are replaced and go, some of them twice."""
    for offset, (ids, op) in enumerate(
        [
            (range(600), INSERT),
            (range(500, 900), INSERT),
            (range(0, 300, 3), REPLACE),
            (range(100, 200), REMOVE),
            (range(150, 250), REMOVE),
        ],
        start=1,
    ):
        loop.admit(batch(points, ids, offset, op), "pushed", offset)


def asked(loop, **options):
    branch = loop.fork(**options)
    assert branch.wait(TIMEOUT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    ids, values = branch.values().arrays()
    order = np.argsort(ids)
    found = ids[order].tolist(), values[order].tolist(), branch.certificate
    branch.release()
    return found


def edges(*pairs):
    sources, targets = np.array(pairs).T
    return EdgeBatch.insertions(sources.copy(), targets.copy(), np.ones(len(pairs)))


PROGRAMS = {
    NAME: LinearModel(loss="logistic", l2=0.01),
    "clusters": KMeans(clusters=5, seed=3),
    "mean": MeanOfFeatures(),
}


def started(master, names, points=None):
    first, *others = (NewLoop(PROGRAMS[name], name, None, None) for name in names)
    master.start(first.program, NAME, None, beside=others, points=points)
    return {name: master.loops[name] for name in names}


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(point_pages, "PAGE_BYTES", 1000)


@pytest.mark.parametrize(
    ("points", "names"),
    [(DENSE, [NAME, "clusters", "mean"]), (SPARSE, [NAME, "clusters"])],
    ids=["dense", "sparse"],
)
def test_points_and_several_loops_are_gone_on_from_with_the_same_bits_everywhere(points, names, small_pages):
    store = MemoryStore()
    with Master(store, 1) as master:
        loops = started(master, names, points)
        feed(loops[NAME], points)
        version = loops[NAME].checkpoint()
        live = loops[NAME].statistics().vertices
        assert asked(loops["clusters"], at=version)[0] == sorted({*range(100), *range(250, 900)})
    answers = []
    for workers, engine in [(1, "threads"), (2, "threads"), (3, "processes")]:
        with Master(store, workers, engine=engine) as master:
            loops = started(master, names)
            found = loops[NAME]
            assert found.stream.points == points
            assert {loop.restored.is_converged for loop in loops.values()} == {True}
            assert found.restored.snapshot.version == version
            assert found.offsets() == {"pushed": 5}
            assert found.statistics().vertices == live
            ids, _ = loops["clusters"].approximation().arrays()
            assert len(ids) == live
            answers.append([asked(loop) for loop in loops.values()])
            after = batch(points, range(2000, 2100), 9)
            found.admit(after, "pushed", 6)
            found.admit(batch(points, range(250, 300), 10, REMOVE), "pushed", 7)
            assert found.wait_idle(TIMEOUT_S)
            assert found.statistics().vertices == live + 100 - 50
            asked(loops["clusters"])
    assert answers[0] == answers[1] == answers[2]


def test_edges_and_points_of_one_stream_are_stored_together():
    store = MemoryStore()
    paths = ShortestPaths(source=1)
    for round_ in range(3):
        with Master(store, 1 + round_) as master:
            learner = NewLoop(PROGRAMS[NAME], "model", None, None)
            loop = master.start(paths, "roads", beside=[learner], points=DENSE if not round_ else None)
            if round_:
                assert loop.restored.is_converged
                assert master.loops["model"].restored.is_converged
                assert loop.statistics().edges == round_
            loop.admit(edges((round_ + 1, round_ + 2)), "edges", round_ + 1)
            loop.admit(batch(DENSE, range(100 * round_, 100 * round_ + 100), round_), "points", round_)
            assert asked(loop)[1][-1] == round_ + 1.0
            assert loop.checkpoint()
            assert master.loops["model"].wait_idle(TIMEOUT_S)
            assert master.loops["model"].statistics().vertices == 100 * (round_ + 1)


def test_a_stream_of_which_only_learners_read_keeps_its_edges_and_one_of_paths_its_points():
    store = MemoryStore()
    with Master(store, 2) as master:
        loop = master.start(PROGRAMS[NAME], NAME, points=DENSE)
        loop.admit(edges((1, 2), (2, 3)), "edges", 2)
        loop.admit(batch(DENSE, range(10), 0), "points", 10)
        loop.checkpoint()
    with Master(store, 1) as master:
        loop = master.start(ShortestPaths(source=1), "paths", new_stream=NAME)
        assert asked(loop)[:2] == ([1, 2, 3], [0.0, 1.0, 2.0])
        loop.admit(batch(DENSE, range(10, 15), 1), "points", 15)
        loop.checkpoint()
    with Master(store, 2) as master:
        model = master.start(PROGRAMS["mean"], "mean", new_stream=NAME)
        assert model.wait_idle(TIMEOUT_S)
        assert model.statistics().vertices == 15
        assert not model.restored.is_converged


@pytest.mark.parametrize(
    "program", [ShortestPaths(source=1), ConnectedComponents()], ids=["checks", "both ways"]
)
def test_a_stream_that_has_only_points_still_takes_loops_that_read_edges_when_it_is_restored(program):
    store = MemoryStore()
    with Master(store, 2) as master:
        loop = master.start(PROGRAMS[NAME], NAME, points=DENSE)
        loop.admit(batch(DENSE, range(10), 0), "points", 10)
        loop.checkpoint()
    with Master(store, 2) as master:
        learner = master.start(PROGRAMS[NAME], NAME, points=DENSE)
        assert learner.restored.is_converged
        paths = master.start(program, "paths", stream=NAME)
        paths.admit(edges((1, 2), (2, 3)), "edges", 2)
        assert asked(paths)[0] == [1, 2, 3]


def test_a_stream_of_edges_that_nobody_reads_any_more_is_restored_as_such():
    store = MemoryStore()
    with Master(store, 2) as master:
        loop = master.start(PROGRAMS[NAME], NAME, points=DENSE)
        loop.admit(edges((1, 2), (2, 3)), "edges", 2)
        loop.checkpoint()
    with Master(store, 2) as master:
        master.start(PROGRAMS[NAME], NAME, points=DENSE)
        with pytest.raises(InvalidArgument, match="has edges that cannot be looked at"):
            master.start(ShortestPaths(source=1), "paths", stream=NAME)


def test_a_stored_version_is_asked_with_its_own_parameters_and_with_others():
    with Master(MemoryStore(), 2) as master:
        loop = master.start(PROGRAMS[NAME], NAME, points=DENSE)
        loop.admit(batch(DENSE, range(300), 1), "pushed", 1)
        version = loop.checkpoint()
        before = asked(loop, at=version)
        other = asked(loop, at=version, parameters={"l2": 1.0})
        loop.admit(batch(DENSE, range(300), 2), "pushed", 2)
        loop.checkpoint()
        now = asked(loop)
        assert asked(loop, at=version) == before
        assert asked(loop, at=version, parameters={"l2": 1.0}) == other
        assert len({str(found) for found in (before, other, now)}) == 3


@pytest.mark.parametrize("points", [DENSE, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_what_comes_while_a_snapshot_is_written_is_not_in_it(points, engine, small_pages):
    store = MemoryStore()
    with Master(store, 2, engine=engine) as master:
        loop = master.start(PROGRAMS["clusters"], NAME, points=points)
        loop.admit(batch(points, range(400), 1), "pushed", 1)

        def change():
            for offset in range(2, 8):
                loop.admit(batch(points, range(300), offset, REPLACE), "pushed", offset)
                loop.admit(batch(points, range(100 * offset, 100 * offset + 100), offset), "more", offset)
                loop.admit(batch(points, range(300, 400), offset, REMOVE), "gone", offset)
            assert loop.wait_idle(TIMEOUT_S)

        loop.checkpoint(before_write=change)
        stored = loop.stream.stored.newest()
        assert stored.snapshot.offsets == {"pushed": 1}
        found = PointBatch.kind_of(points).concat(stored.point_pages())
        found, wanted = (one.take(np.argsort(one.id)) for one in (found, batch(points, range(400), 1)))
        assert found.equals(wanted)


@pytest.mark.parametrize("change", [{"tolerance": 1e-6}, {"l2": 0.5}])
def test_other_parameters_take_the_points_and_compute_anew(change):
    store = MemoryStore()
    with Master(store, 2) as master:
        loop = master.start(PROGRAMS[NAME], NAME, points=DENSE)
        loop.admit(batch(DENSE, range(300), 1), "pushed", 1)
        loop.checkpoint()
    with Master(store, 2) as master:
        loop = master.start(LinearModel(loss="logistic", **{"l2": 0.01} | change), NAME)
        assert not loop.restored.is_converged
        assert asked(loop)[2]["bound"] <= change.get("tolerance", 1e-3)


def test_points_that_are_declared_to_be_others_are_refused_and_so_are_damaged_ones(tmp_path):
    url = f"lmdb://{tmp_path}/store"
    with open_store(url) as store:
        with Master(store) as master:
            loop = master.start(PROGRAMS[NAME], NAME, points=DENSE)
            loop.admit(batch(DENSE, range(50), 1), "pushed", 1)
            version = loop.checkpoint()
        with Master(store) as master:
            for points in (SPARSE, Points(features=WIDTH, names=list("abcdef")), Points(features=2)):
                with pytest.raises(
                    InvalidArgument, match=r"cannot go on from its snapshot of version \d+: that has"
                ):
                    master.start(PROGRAMS[NAME], NAME, points=points)
        (key, page), *_ = store.scan(NAME, version, b"p/")
        metadata = store.metadata(NAME, version)
        store.write(NAME, version, {key: page[:-3]}, metadata=metadata)
        with (
            Master(store) as master,
            pytest.raises(StoreCorrupt, match=r"page b'p/.*has \d+ bytes are no points"),
        ):
            master.start(PROGRAMS[NAME], NAME)
        store.write(NAME, version, {key: page, b"m/points/weights": b"123"}, metadata=metadata)
        with (
            Master(store) as master,
            pytest.raises(StoreCorrupt, match="3 bytes, and not the 48 of its array"),
        ):
            master.start(PROGRAMS[NAME], NAME)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", [1, 9])
def test_clusters_are_the_same_ones_after_a_restart_that_nothing_came_since(seed, workers):
    points, features = Points(features=2), np.random.default_rng(seed).normal(size=(400, 2))
    program = KMeans(clusters=3)

    def clusters(loop):
        branch = loop.fork()
        assert branch.wait(TIMEOUT_S)
        return dict(zip(*(column.tolist() for column in branch.values().arrays()), strict=True))

    with MemoryStore() as store:
        with Master(store) as master:
            loop = master.start(program, NAME, points=points)
            for offset, part in enumerate((range(300), range(300, 400)), 1):
                loop.admit(PointBatch.of(points, ids=list(part), features=features[part]), "pushed", offset)
                found = clusters(loop)
            loop.checkpoint()
        for _ in range(2):
            with Master(store, workers) as master:
                assert clusters(master.start(program, NAME, points=points)) == found


def test_more_workers_than_shards_are_refused_where_a_stream_has_points():
    with Master(workers=17) as master:
        with pytest.raises(InvalidArgument, match="workers is 17, but points are shared by 1 to 16"):
            master.start(PROGRAMS[NAME], NAME, points=DENSE)
        master.start(ShortestPaths(source=1), "roads")
