"""A branch, as the one who asked for it holds it, on workers that only note what they are told."""

from types import SimpleNamespace

import pytest

from tornado.clock import ManualClock
from tornado.loops.branch import Branch
from tornado.loops.statistics import BranchState


@pytest.fixture
def stops():
    return []


@pytest.fixture
def branch(stops):
    def nothing(*_):
        pass

    return Branch(
        number=1,
        loop=0,
        program=None,
        is_undirected=False,
        snapshot=None,
        hosts=["lost", "lost too"],
        engine=SimpleNamespace(clock=ManualClock(), losses=0, notify=nothing),
        judge=nothing,
        values_of=nothing,
        on_recorded=nothing,
        on_stop=lambda stopped: stops.append(list(stopped.hosts)),
        on_cancel=nothing,
        on_release=nothing,
    )


def begin_again(branch):
    branch.begin_again(["new", "new too"])
    branch.forked_again()


def test_a_stop_is_repeated_on_the_workers_that_take_the_place_of_lost_ones(branch, stops):
    """Else a branch that is stopped at its deadline would go on, maybe for ever."""
    branch.stop()
    begin_again(branch)
    assert stops == [["lost", "lost too"], ["new", "new too"]]
    assert branch.state is BranchState.RUNNING


def test_a_branch_that_nobody_stops_is_begun_again_without_a_stop(branch, stops):
    begin_again(branch)
    assert stops == []
