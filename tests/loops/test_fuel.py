"""The kernel of selective loops comes back when its fuel is used up, so that a worker hears of what else there is to do."""

import threading

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tornado.config import AUTO_DELAY_BOUND
from tornado.kinds.selective import loop_columns as names
from tornado.kinds.selective.branch_processor import BranchProcessor
from tornado.kinds.selective.processor import FUEL as SHORT
from tornado.loops import Master
from tornado.testing import chain

from .kernel_worker import Worker

LEAVES, FUEL = 20_000, 1_000


def settle(worker):
    """Call until there is no more to do; how many edges the longest call has visited."""
    visited, left = [int(worker.state.counters[names.EDGES_VISITED])], 0
    while left <= 0:
        left = worker.advance(FUEL)
        visited.append(int(worker.state.counters[names.EDGES_VISITED]))
    return max(np.diff(visited))


@pytest.mark.parametrize("delay_bound", [AUTO_DELAY_BOUND, 1, None])
def test_a_wave_over_many_short_lists_takes_many_calls(delay_bound):
    star = Worker(delay_bound, workers=1, source=0)
    star.link(0, [1])
    star.link(1, range(2, LEAVES))
    settle(star)
    star.unlink(0, [1])
    assert settle(star) <= FUEL
    assert star.state.counters[names.INVALIDATIONS] == LEAVES - 1
    assert np.isinf(star.values(np.arange(1, LEAVES))).all()


@pytest.fixture
def given(monkeypatch):
    """The fuel of each step of a branch."""
    given, advance = [], BranchProcessor._advance

    def noting(branch, fuel):
        given.append(fuel)
        return advance(branch, fuel)

    monkeypatch.setattr(BranchProcessor, "_advance", noting)
    return given


def test_turns_of_a_branch_are_longer_where_it_is_alone(given, monkeypatch):
    begun, goes_on, advance = threading.Event(), threading.Event(), BranchProcessor._advance

    def waiting(branch, fuel):
        begun.set()
        assert goes_on.wait(30)
        return advance(branch, fuel)

    monkeypatch.setattr(BranchProcessor, "_advance", waiting)
    vertices = 2 * SHORT  # a vertex costs nine, so each of the two takes many turns
    with Master(workers=1) as master:
        loop = master.start(ShortestPaths(0), "paths")
        loop.admit(chain(vertices).records(), "s", vertices)
        assert loop.wait_idle(30)
        branches = [loop.fork({"source": 1})]
        assert begun.wait(30)
        branches.append(loop.fork({"source": 2}))
        goes_on.set()
        for branch in branches:
            assert branch.wait(30)
    first, stop = given.index(SHORT), len(given) - given[::-1].index(SHORT)
    assert set(given[:first]) == set(given[stop:]) == {4 * SHORT}
    assert set(given[first:stop]) == {SHORT}
    assert stop - first > 10


def test_turns_of_a_branch_are_as_ever_where_other_workers_wait_for_what_it_finds(given):
    with Master(workers=2) as master:
        loop = master.start(ShortestPaths(0), "paths", delay_bound=64)
        loop.admit(chain(100).records(), "s", 100)
        assert loop.wait_idle(30)
        assert loop.fork({"source": 1}).wait(30)
    assert set(given) == {SHORT}
