"""How many workers there are where nobody says it: more where that helps, and as few as before where it does not."""

from types import SimpleNamespace

import numpy as np
import pytest

import tornado
from apps.sssp import ShortestPaths
from tests.promised import eventually
from tornado.clock import ManualClock
from tornado.engine import WorkerUse
from tornado.errors import Busy, InvalidArgument, NotSupported
from tornado.loops import worker_count
from tornado.loops.worker_count import WorkerCount


class Worked:
    """Workers that get so much done a second as their number allows, of what there is to do."""

    def __init__(self, per_s):
        self.clock, self.engine = ManualClock(), self
        self.loops = {"roads": SimpleNamespace(stream_name="roads")}
        self.per_s, self.to_do_per_s = per_s, np.inf
        self.moves = []
        self.begin(1)

    def begin(self, workers):
        self.workers, self.done, self.busy_s = workers, 0.0, 0.0

    def use(self):
        return [WorkerUse(self.busy_s, 0.0, None)] * self.workers

    def loads(self):
        return [int(self.done / self.workers)] * self.workers

    def rescale(self, stream, workers):
        assert stream == "roads"
        self.moves.append((self.clock.monotonic(), workers))
        self.begin(workers)

    def go_on(self, seconds, count):
        for _ in range(seconds):
            self.clock.advance(1.0)
            did = min(self.per_s[self.workers], self.to_do_per_s)
            self.done += did
            self.busy_s += did / self.per_s[self.workers]
            count.look()

    @property
    def moved(self):
        return [workers for _, workers in self.moves]


def test_more_are_kept_where_they_do_more_up_to_the_most():
    worked = Worked({1: 1e5, 2: 1.6e5, 4: 2.4e5})
    count = WorkerCount(worked, most=4)
    worked.go_on(60, count)
    assert (worked.moved, count.said) == ([2, 4], "4 workers do 1.50 times what 2 did")
    worked.go_on(600, count)
    assert worked.workers == 4


def test_where_they_do_not_help_there_are_as_few_as_before_and_tries_are_ever_more_seldom():
    worked = Worked({1: 1e5, 2: 0.7e5})
    count = WorkerCount(worked, most=2)
    worked.go_on(35, count)
    assert (worked.moved, worked.workers) == ([2, 1], 1)
    assert count.said == "workers do not help: 2 did 0.70 times what 1 does"
    worked.go_on(1000, count)
    tries = [at_s for at_s, workers in worked.moves if workers == 2]
    assert 3 <= len(tries) <= 4
    pauses = np.diff(tries)
    assert all(pauses[1:] > 1.5 * pauses[:-1])
    assert worked.workers == 1


def test_where_they_do_not_help_and_cannot_be_moved_for_a_while_they_are_moved_later(monkeypatch):
    worked = Worked({1: 1e5, 2: 0.7e5, 4: 0.5e5})
    count = WorkerCount(worked, most=4)
    worked.go_on(25, count)
    assert worked.moved == [2]
    rescale = worked.rescale

    def refuse(stream, workers):
        worked.rescale = rescale
        raise Busy("a loop is being started")

    worked.rescale = refuse
    with pytest.raises(Busy) as kept:
        worked.go_on(25, count)
    assert count.was_kept_from(kept.value)
    worked.go_on(25, count)
    assert (worked.moved, count.said) == ([2, 1], "workers do not help: 2 did 0.70 times what 1 does")


def test_no_more_are_tried_where_nothing_is_counted_that_they_could_do_faster():
    worked = Worked({1: 1e5, 2: 1.6e5})
    worked.loads = lambda: [0] * worked.workers  # busy with questions alone
    count = WorkerCount(worked, most=2)
    worked.go_on(60, count)
    assert (worked.moved, count.said) == ([], None)


def test_one_is_enough_for_who_has_rest():
    worked = Worked({1: 1e5, 2: 2e5})
    worked.to_do_per_s = 0.7e5
    count = WorkerCount(worked, most=2)
    worked.go_on(300, count)
    assert (worked.moved, count.said) == ([], None)


def test_a_little_more_that_is_all_there_is_to_do_is_kept_and_less_to_do_says_nothing():
    worked = Worked({1: 1e5, 2: 1.8e5})
    worked.to_do_per_s = 1.05e5
    count = WorkerCount(worked, most=2)
    worked.go_on(14, count)
    assert worked.moved == [2]
    worked.to_do_per_s = 1e3
    worked.go_on(60, count)
    assert (worked.moved, count.said) == ([2], None)
    worked.to_do_per_s = 1.05e5
    worked.go_on(30, count)
    assert (worked.moved, count.said) == ([2], "2 workers do 1.05 times what 1 did")


def test_what_cannot_be_moved_is_said_and_not_tried_again(monkeypatch):
    monkeypatch.setattr(worker_count, "_LOOK_S", 0.001)

    def refuse(stream, workers):
        raise NotSupported("nothing is stored of it")

    worked = Worked({1: 1e5})
    worked.rescale = refuse
    count = WorkerCount(worked, most=2)
    worked.go_on(10, count)
    with pytest.raises(NotSupported):
        worked.go_on(5, count)
    before = worked.use
    worked.use = lambda: (
        worked.clock.advance(5.0),
        setattr(worked, "busy_s", worked.busy_s + 5.0),
        setattr(worked, "done", worked.done + 5e5),
        before(),
    )[3]
    count.start()
    eventually(lambda: count.said)
    count.close()
    assert count.said == "the loops stay on 1: nothing is stored of it"


def test_a_session_that_chooses_keeps_its_answers(tmp_path, monkeypatch):
    for name, value in {"_LOOK_S": 0.05, "_FOR_S": 0.2, "_BUSY": -1.0, "_HELPS": np.inf}.items():
        monkeypatch.setattr(worker_count, name, value)
    with tornado.open(f"lmdb://{tmp_path}/store", workers="auto") as session:
        assert session.master.workers == 1
        loop = session.start(ShortestPaths(source=0))
        loop.insert(np.arange(500), np.arange(1, 501))
        exact = {vertex: float(vertex) for vertex in (1, 250, 500)}
        seen = set()

        def has_moved_there_and_back():
            # Something that they could do faster, far from what is asked for.
            loop.insert(np.arange(500, 600), np.arange(501, 601))
            assert loop.query(vertices=[1, 250, 500]).values == exact
            seen.add(session.master.workers)
            return session.service.workers_said()

        eventually(has_moved_there_and_back)
        if tornado.config.default_workers() > 1:
            assert seen >= {1, 2} or "workers do not help" in session.service.workers_said()


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "many", "2"])
def test_what_is_no_number_of_workers_is_refused(workers):
    with pytest.raises(InvalidArgument, match="must be a whole number from 1, or 'auto'"):
        tornado.open(workers=workers)
