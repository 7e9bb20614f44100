"""A stream in which edges go too, and a loop of an app on it, whose answers are judged at any prefix."""

import numpy as np

from tests.loops.streaming import TIMEOUT_S
from tornado.config import AUTO_DELAY_BOUND
from tornado.loops import BranchState, Master
from tornado.testing import EdgeHistory, bitcoin_ratings, college_messages, mixed, sliding_window


class JudgedStream:
    """A loop and the records that go into it. A context manager.

    Parameters
    ----------
    expected
        From the edges of a prefix and the vertices that it names, the exact values of these, whole numbers.
    """

    def __init__(
        self, program, records, workers, expected, *, delay_bound=AUTO_DELAY_BOUND, engine="threads"
    ):
        self.records = records
        self.history = EdgeHistory.of(records)
        self.expected = expected
        self.admitted = 0
        self.master = Master(None, workers, engine)
        self.loop = self.master.start(program, "judged", delay_bound)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.master.close()

    def admit(self, count):
        """Admit the next records; return whether there were any."""
        batch = self.records.slice(self.admitted, min(self.admitted + count, len(self.records)))
        self.admitted += len(batch)
        if len(batch):
            self.loop.admit(batch, "stream", self.admitted)
        return bool(len(batch))

    def judge(self, values, prefix):
        ids, found = values.arrays()
        assert found.dtype == np.int64
        seen = np.unique(np.concatenate([self.records.src[:prefix], self.records.dst[:prefix]]))
        assert np.array_equal(ids, seen)
        wrong = np.flatnonzero(found != self.expected(self.history.at(prefix), seen))
        assert not len(wrong), (
            f"after {prefix} records {len(wrong)} of {len(ids)} are wrong, as vertex {ids[wrong[0]]}"
        )

    def judge_branch(self, branch, **how):
        assert branch.wait(TIMEOUT_S)
        assert branch.state is BranchState.CONVERGED, branch.error
        self.judge(branch.values(), branch.snapshot.offsets.get("stream", 0), **how)
        branch.release()

    def judge_main(self, **how):
        assert self.loop.wait_idle(TIMEOUT_S)
        self.judge(self.loop.approximation(), self.admitted, **how)

    def judge_while_it_runs(self, count):
        """Fork after each so many records, without waiting for what was forked before, and judge all in the end."""
        branches = []
        while self.admit(count):
            branches.append(self.loop.fork())
        for branch in branches:
            self.judge_branch(branch)
        self.judge_main()


def real_records(data_dir, name, removals):
    """The edges of a real graph, of which the oldest go, or any."""
    edges = {"college": college_messages, "bitcoin": bitcoin_ratings}[name](data_dir)
    return sliding_window(edges, 12_000) if removals == "window" else mixed(edges, seed=7)
