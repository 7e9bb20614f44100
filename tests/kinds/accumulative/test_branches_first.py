"""The main loop lets a branch go first, however much waits to be announced; but one at a time, so that it gets to its own work."""

import numpy as np
import pytest

from apps.pagerank import PageRank
from tornado.engine import SimulationEngine
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import rmat


@pytest.fixture(params=[1, 2])
def workers(request):
    return request.param


@pytest.fixture
def engine(workers):
    return SimulationEngine(workers, seed=1)


@pytest.fixture
def loop(workers, engine):
    with Master(None, workers, engine) as master:
        loop = master.start(PageRank(accuracy=1e-4), "ranks")
        edges = rmat(8, seed=1).records()
        loop.admit(edges, "edges", len(edges))
        assert loop.wait_idle(60)
        yield loop


def change_much(loop):
    """Admit so much that all of it is far above what may wait."""
    first, second = np.arange(200), np.roll(np.arange(200), 1)
    offset = loop.offsets()["edges"] + len(first)
    loop.admit(EdgeBatch.of(first, second, np.full(len(first), 100.0)), "edges", offset)


def updates(loop):
    return sum(part.progress().updates for part in loop.parts())


def test_a_branch_is_over_before_the_main_loop_announces(loop, engine, workers):
    """On each worker by itself: where the branch is over, nothing of the main loop keeps it from saying so to the others."""
    change_much(loop)
    before = [part.progress().updates for part in loop.parts()]
    branch = loop.fork({"tolerance": 1e-10})

    def went_first():
        is_over_there = [part.is_finished for part in branch.processors]
        is_over_there += [False] * (workers - len(is_over_there))  # not forked there yet
        updates_now = [part.progress().updates for part in loop.parts()]
        return [
            now != old and not over for now, old, over in zip(updates_now, before, is_over_there, strict=True)
        ]

    def is_over():
        return sum(part.is_finished for part in branch.processors) == workers

    assert engine.wait_for(lambda: is_over() or any(went_first()), 60)
    assert not any(went_first())
    assert loop.wait_idle(60)
    assert updates(loop) > sum(before)


def test_branches_without_end_do_not_keep_the_main_loop_from_announcing(loop, engine, workers):
    change_much(loop)
    before = updates(loop)
    branches = []
    while updates(loop) == before:
        assert len(branches) < 200
        branches.append(loop.fork({"tolerance": 1e-12}))
        engine.step(4 * workers)
    assert sum(not part.is_finished for branch in branches for part in branch.processors) > 1
    assert all(branch.wait(60) for branch in branches)
