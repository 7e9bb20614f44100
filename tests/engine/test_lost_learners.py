"""Workers that are lost on streams with points: loops that learn go on, with the points of the snapshot and of the journal."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.engine.places import end, pids_of
from tests.promised import eventually
from tornado import KMeans, LinearModel
from tornado.loops import BranchState, Master
from tornado.loops.new_loop import NewLoop
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

POINTS = Points(features=3)
TIMEOUT_S = 60


def batch(ids, op=INSERT):
    features = np.random.default_rng(int(ids[0])).normal(size=(len(ids), 3))
    labels = features @ [1.0, -1.0, 0.5]
    return PointBatch.of(POINTS, ids=ids, labels=labels, features=features, op=op)


def asked(loop):
    branch = loop.fork()
    assert branch.wait(TIMEOUT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    return branch.values().arrays()


@pytest.mark.parametrize("is_stored", [True, False])
def test_loops_and_points_are_put_on_other_workers(is_stored):
    with Master(workers=2, engine="processes") as master:
        others = [
            NewLoop(LinearModel(loss="squared", l2=1e-6, tolerance=1e-9), "model", None, None),
            NewLoop(KMeans(clusters=3), "clusters", None, None),
        ]
        paths = master.start(ShortestPaths(source=1), "paths", beside=others, points=POINTS)
        model, clusters = master.loops["model"], master.loops["clusters"]
        paths.admit(EdgeBatch.insertions(np.array([1]), np.array([2]), np.ones(1)), "edges", 1)
        model.admit(batch(range(300)), "points", 300)
        if is_stored:
            version = model.checkpoint()
        model.admit(batch(range(250, 400)), "points", 450)
        model.admit(batch(range(50), REMOVE), "points", 500)
        for loss in range(2):
            end(pids_of(master)[loss])
            eventually(lambda seen=loss: master.engine.losses > seen)
            assert asked(paths)[1].tolist() == [0.0, 1.0]
            ids, _ = asked(clusters)
            assert sorted(ids.tolist()) == list(range(50, 400))
            _, weights = asked(model)
            assert weights[1:] == pytest.approx([1.0, -1.0, 0.5], abs=1e-3)
            assert not any(loop.error for loop in (paths, model, clusters))
        if is_stored:
            branch = clusters.fork(at=version)
            assert branch.wait(TIMEOUT_S)
            assert sorted(branch.values().arrays()[0].tolist()) == list(range(300))
        model.admit(batch(range(400, 410)), "points", 510)
        assert len(asked(clusters)[0]) == 360
