"""Counters of the kernels that say whether values are to be relied on."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tornado import EdgeBatch
from tornado.errors import InternalError
from tornado.kinds.selective import loop_columns as names
from tornado.kinds.selective.branch_processor import BranchProcessor
from tornado.kinds.selective.loop_columns import OUTBOX
from tornado.kinds.selective.main_processor import MainProcessor
from tornado.kinds.selective.processor import SelectiveProcessor
from tornado.loops import BranchState, Master

WAIT_S = 60
WORKERS = 2
NOBODYS_KIND = 99


def chain(length):
    return EdgeBatch.of(np.arange(length), np.arange(1, length + 1))


def send_nonsense(monkeypatch, kind):
    """Have every bundle of the processors of a kind begin with a message of a kind that there is not."""
    take = SelectiveProcessor._take_outgoing

    def take_nonsense(self):
        if isinstance(self, kind):
            for target in np.flatnonzero(self.state.columns.out_length):
                self.state.columns.out_kind[target * OUTBOX] = NOBODYS_KIND
        return take(self)

    monkeypatch.setattr(SelectiveProcessor, "_take_outgoing", take_nonsense)


@pytest.mark.parametrize("bound", [1, 64])
def test_a_message_of_no_known_kind_fails_the_loop_and_its_branches_with_an_error_of_ours(monkeypatch, bound):
    with Master(workers=WORKERS) as master:
        other = master.start(ShortestPaths(source=0), "other", bound)
        loop = master.start(ShortestPaths(source=0), "roads", bound)
        send_nonsense(monkeypatch, MainProcessor)
        loop.admit(chain(100), "edges", 100)
        assert master.engine.wait_for(lambda: loop.error is not None, WAIT_S)
        assert isinstance(loop.error, InternalError)
        assert "messages from worker" in str(loop.error)
        with pytest.raises(InternalError, match="report"):
            loop.admit(chain(100), "edges", 200)
        with pytest.raises(InternalError):
            loop.fork()
        assert other.error is None


def test_a_message_of_no_known_kind_fails_the_branch_that_it_belongs_to_and_the_loop_goes_on(monkeypatch):
    with Master(workers=WORKERS) as master:
        loop = master.start(ShortestPaths(source=0), "roads", 64)
        loop.admit(chain(100), "edges", 100)
        assert loop.wait_idle(WAIT_S)
        with monkeypatch.context() as patch:
            send_nonsense(patch, BranchProcessor)
            branch = loop.fork({"source": 1})  # from the beginning, so that it has something to say
            assert branch.wait(WAIT_S)
        assert branch.state is BranchState.FAILED
        assert isinstance(branch.error, InternalError)
        assert loop.error is None
        again = loop.fork({"source": 1})
        assert again.wait(WAIT_S)
        assert again.state is BranchState.CONVERGED


def test_values_that_a_removal_takes_back_are_in_the_statistics_of_the_loop():
    with Master(workers=WORKERS) as master:
        loop = master.start(ShortestPaths(source=0), "roads", 64)
        loop.admit(EdgeBatch.of([0, 1, 2, 0], [1, 2, 3, 9]), "edges", 4)
        assert loop.wait_idle(WAIT_S)
        assert (loop.statistics().waves, loop.statistics().invalidations) == (0, 0)
        loop.admit(EdgeBatch.of([0], [1], op=[-1]), "edges", 5)
        assert loop.wait_idle(WAIT_S)
        assert loop.statistics().invalidations == 3
        assert loop.statistics().waves > 0


def test_commits_that_were_overtaken_are_in_the_statistics_of_the_loop():
    with Master(workers=WORKERS) as master:
        loop = master.start(ShortestPaths(source=0), "roads", 64)
        assert loop.statistics().overtaken == 0
        for number, host in enumerate(master._hosts):
            host.loop(loop.number).state.counters[names.OVERTAKEN] = 3 + number
        assert loop.statistics().overtaken == 7
