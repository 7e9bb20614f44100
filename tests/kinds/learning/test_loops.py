"""Loops that learn: exact answers for the points of their version, on any number of workers, engine and delay bound."""

import numpy as np
import pytest

from tests.kinds.learning.programs import MeanOfFeatures
from tests.loops.test_frontier import Held
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument
from tornado.kinds.learning import main_processor
from tornado.kinds.learning.clusters.cluster_program import KMeans
from tornado.loops import Master
from tornado.loops.new_loop import NewLoop
from tornado.loops.statistics import BranchState
from tornado.records.edge_batch import EdgeBatch
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

TIMEOUT_S = 60
POINTS = Points(features=3)


class Stream:
    """Points that come, go and are replaced at random, and a plain model of them."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.model = {}

    def batch(self, size=200):
        random = self.random
        ids = random.integers(0, 500, size) * 7919
        features, weights = random.normal(3.0, 1.0, (size, 3)), random.uniform(0.5, 2.0, size)
        ops = random.choice(["+", "-", "="], size, p=[0.6, 0.3, 0.1]).tolist()
        for row, (identity, op) in enumerate(zip(ids.tolist(), ops, strict=True)):
            if op == "-":
                self.model.pop(identity, None)
            else:
                self.model[identity] = (weights[row], features[row])
        return PointBatch.of(POINTS, ids=ids, features=features, weights=weights, op=ops)

    def mean(self):
        weights = np.array([weight for weight, _ in self.model.values()])
        return weights @ np.array([features for _, features in self.model.values()]) / weights.sum()


@pytest.fixture(params=["threads", "processes"])
def master_of(request):
    opened = []

    def make(workers):
        opened.append(Master(workers=workers, engine=request.param))
        return opened[-1]

    yield make
    for master in opened:
        master.close()


def answer(branch):
    assert branch.wait(TIMEOUT_S)
    assert branch.error is None
    assert branch.state is BranchState.CONVERGED
    assert branch.certificate == {"kind": "exact"}
    ids, values = branch.values().arrays()
    assert ids.tolist() == [0, 1, 2]
    return values


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("delay_bound", [1, 4, None])
def test_each_answer_is_of_the_points_of_its_version(master_of, workers, delay_bound):
    master, stream = master_of(workers), Stream(seed=workers)
    loop = master.start(MeanOfFeatures(points=POINTS), "mean", delay_bound)
    branches = []
    for number in range(12):
        loop.admit(stream.batch(), "points", 200 * (number + 1))
        branches.append((loop.fork(), stream.mean(), number + 1))
    for branch, mean, version in branches:
        assert answer(branch) == pytest.approx(mean, rel=1e-13)
        assert branch.snapshot.version == version
        branch.release()
    assert loop.wait_idle(TIMEOUT_S)
    found = loop.approximation().arrays()[1]
    assert found == pytest.approx(stream.mean(), rel=0.3)
    assert loop.statistics().vertices == len(stream.model)
    assert loop.statistics().iteration > 0


def test_an_answer_has_the_same_bits_on_any_number_of_workers(master_of):
    found = set()
    for workers in (1, 2, 3):
        stream, loop = Stream(seed=5), master_of(workers).start(MeanOfFeatures(points=POINTS), "mean")
        for number in range(4):
            loop.admit(stream.batch(), "points", 200 * (number + 1))
        found.add(answer(loop.fork()).tobytes())
    assert len(found) == 1


def test_a_branch_that_is_stopped_or_has_no_rounds_left_says_so(master_of):
    loop = master_of(2).start(MeanOfFeatures(points=POINTS), "mean")
    loop.admit(Stream(seed=1).batch(), "points", 200)
    assert loop.wait_idle(TIMEOUT_S)
    for most in (0, 1, 2):
        branch = loop.fork(max_iterations=most)
        assert branch.wait(TIMEOUT_S)
        assert branch.state is BranchState.STOPPED
        assert branch.certificate == {"kind": "none"}
        if not most:
            assert branch.values().arrays()[1].tobytes() == loop.approximation().arrays()[1].tobytes()
    endless = loop.fork({"rounds": 1 << 40})
    endless.stop()
    assert endless.wait(TIMEOUT_S)
    assert endless.state is BranchState.STOPPED
    cancelled = loop.fork({"rounds": 1 << 40})
    cancelled.cancel()
    assert answer(loop.fork()) is not None


def test_several_loops_learn_from_one_stream_which_may_have_edges_too(master_of):
    from apps.bfs import BreadthFirstSearch

    master, stream = master_of(2), Stream(seed=3)
    hops = master.start(BreadthFirstSearch(source=1), "hops", points=POINTS)
    hops.admit(EdgeBatch.of([1, 2], [2, 3]), "edges", 2)
    hops.admit(stream.batch(), "points", 200)  # before anybody learns from them
    first = master.start(MeanOfFeatures(), "first", stream="hops")
    hops.admit(stream.batch(), "points", 400)
    second = master.start(MeanOfFeatures(rounds=1), "second", 1, stream="hops")
    for loop in (first, second):
        assert answer(loop.fork()) == pytest.approx(stream.mean(), rel=1e-13)
    branch = hops.fork()
    assert branch.wait(TIMEOUT_S)
    assert branch.values().arrays()[1].tolist() == [0, 1, 2]
    master.remove("first")
    hops.admit(stream.batch(), "points", 600)
    assert answer(second.fork()) == pytest.approx(stream.mean(), rel=1e-13)
    stored = hops.checkpoint()
    assert [found.version for found in second.snapshots()] == [stored]


def test_forks_come_although_points_wait_to_be_used(monkeypatch):
    monkeypatch.setattr(main_processor, "_MOST_WAITING", 100)
    with Master(workers=2) as master:
        loop, stream = master.start(MeanOfFeatures(points=POINTS), "mean"), Stream(seed=4)
        branches = []
        for number in range(100):
            loop.admit(stream.batch(), "points", 200 * (number + 1))
            branches.append((loop.fork(), stream.mean()))
        for branch, mean in branches:
            assert answer(branch) == pytest.approx(mean, rel=1e-13)
            branch.release()


def test_what_a_branch_has_found_is_adopted(master_of):
    loop, stream = master_of(2).start(MeanOfFeatures(points=POINTS), "mean"), Stream(seed=2)
    loop.admit(stream.batch(), "points", 200)
    assert loop.wait_idle(TIMEOUT_S)
    branch = loop.fork()
    exact = answer(branch)
    loop.adoption.adopt(branch)
    assert loop.wait_idle(TIMEOUT_S)
    assert loop.approximation().arrays()[1] == pytest.approx(exact, rel=1e-12)
    branch.release()


def test_a_loop_on_processes_is_not_idle_while_a_worker_has_not_heard_that_it_is_to_take_something_over(
    monkeypatch,
):
    with Master(workers=2, engine="processes") as master:
        loop, stream = master.start(MeanOfFeatures(points=POINTS), "mean"), Stream(seed=2)
        loop.admit(stream.batch(), "points", 200)
        assert loop.wait_idle(TIMEOUT_S)
        branch = loop.fork()
        answer(branch)
        assert loop.wait_idle(TIMEOUT_S)
        (first, *_), kept = master._hosts, []
        with monkeypatch.context() as patched:
            patched.setattr(first, "send", kept.append)
            loop.adoption.adopt(branch)
            assert not loop.is_idle()
        assert [message[0] for message in kept] == ["adopt"]
        first.send(*kept)
        assert loop.wait_idle(TIMEOUT_S)


def test_a_loop_is_idle_when_it_has_taken_over_what_was_found(monkeypatch):
    seen = []
    with Master(workers=2) as master:
        loop, stream = master.start(MeanOfFeatures(points=POINTS), "mean"), Stream(seed=2)
        loop.admit(stream.batch(), "points", 200)
        assert loop.wait_idle(TIMEOUT_S)
        takes_over = loop.adoption.consider
        monkeypatch.setattr(
            loop.adoption, "consider", lambda branch: (seen.append(loop.is_idle()), takes_over(branch))
        )
        branch = loop.fork()
        answer(branch)
        assert loop.wait_idle(TIMEOUT_S)
        assert seen == [False]  # it was over, and had yet to be taken over
        for host in master._hosts:
            with Held(host):
                loop.adoption.adopt(branch)
                assert not loop.is_idle()
            assert loop.wait_idle(TIMEOUT_S)


def test_points_that_are_not_those_of_the_stream_are_refused():
    with Master() as master:
        with pytest.raises(InvalidArgument, match="its stream does not say what these are"):
            master.start(MeanOfFeatures(), "mean")
        loop = master.start(MeanOfFeatures(), "mean", points=POINTS)
        for other in (
            Points(features=4),
            Points(features=3, sparse=True),
            Points(features=3, dtype="float32"),
        ):
            with pytest.raises(InvalidArgument, match="stream mean has Points"):
                loop.admit(PointBatch.of(other, ids=[1], op="-"), "points", 1)
        with pytest.raises(InvalidArgument, match="is for Points"):
            master.start(MeanOfFeatures(points=Points(features=4)), "other", stream="mean")
        from apps.bfs import BreadthFirstSearch

        hops = master.start(BreadthFirstSearch(source=1), "hops")
        with pytest.raises(InvalidArgument, match="stream hops has no points, and points sends Points"):
            hops.admit(Stream(seed=1).batch(), "points", 200)


@pytest.mark.parametrize("workers", [2, 3])
def test_main_loops_leave_the_processor_to_a_branch_and_go_on_behind_it(workers):
    engine, stream, number = SimulationEngine(workers, seed=workers), Stream(seed=workers), 1
    with Master(None, workers, engine) as master:
        beside = [NewLoop(MeanOfFeatures(), "mean", 64)]
        loops = [
            master.start(KMeans(clusters=5), "clusters", 64, points=POINTS, beside=beside),
            master.loops["mean"],
        ]
        loops[0].admit(stream.batch(), "points", number)
        assert all(loop.wait_idle(TIMEOUT_S) for loop in loops)

        def updates():
            return sum(loop.statistics().updates for loop in loops)

        before, branch, steps = updates(), loops[0].fork(), 0
        while branch.state is BranchState.RUNNING:
            number += 1
            loops[0].admit(stream.batch(2), "points", number)
            engine.step(20)
            steps += 20
        meanwhile = updates() - before
        assert 0 < meanwhile <= steps // 32
        assert all(loop.wait_idle(TIMEOUT_S) for loop in loops)
        assert updates() - before > meanwhile
        assert loops[1].approximation().arrays()[1] == pytest.approx(stream.mean(), rel=0.3)
