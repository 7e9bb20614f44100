"""How far a loop is and who holds it there: a worker that is kept from stepping is named, with its operator and its token."""

import threading
from contextlib import contextmanager

import pytest

from apps.sssp import ShortestPaths
from tests.promised import eventually
from tornado.loops import Master
from tornado.loops.frontier import FrontierHolder, LoopFrontier, frontier_of
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import open_store
from tornado.timely import Holder

INLET, OUTLET = "input 0 of processor", "output 0 of processor"


def token(time, *, here, known=2):
    return Holder(INLET, (0, time + 1), True, "processor", OUTLET, (0, time), True, known, here)


def message(time, *, here, known):
    return Holder(INLET, (0, time), True, "processor", INLET, (0, time), False, known, here)


def chain(first, length):
    ends = list(range(first, first + length))
    return EdgeBatch.of(ends, [end + 1 for end in ends], [1.0] * length)


@pytest.mark.parametrize(
    ("said", "time", "holders"),
    [
        ([[], []], None, ()),
        (
            [[token(7, here=1)], [token(7, here=1)]],
            (0, 8),
            ((0, OUTLET, 7, True, 1), (1, OUTLET, 7, True, 1)),
        ),
        # Worker 0 is ahead, and worker 1 has not heard of it: it knows of a token that is no more.
        (
            [[token(9, here=1)], [token(7, here=0), token(7, here=1)]],
            (0, 8),
            ((1, OUTLET, 7, True, 1), (0, OUTLET, 9, True, 1)),
        ),
        ([[token(9, here=1)], [token(7, here=0)]], (0, 10), ((0, OUTLET, 9, True, 1),)),
        # Two messages, of which one has come.
        (
            [[message(5, here=1, known=2)], [message(5, here=0, known=1)]],
            (0, 5),
            ((0, INLET, 5, False, 1), (None, INLET, 5, False, 1)),
        ),
        # Worker 1 has not begun it: the token at the earliest timestamp that the other knows of is what it will begin with.
        (
            [[token(0, here=0, known=1), token(9, here=1, known=1)], None],
            (0, 1),
            ((1, OUTLET, 0, True, 1), (0, OUTLET, 9, True, 1)),
        ),
        ([None, None], None, ()),
    ],
)
def test_what_each_worker_says_is_put_together(said, time, holders):
    found = frontier_of(said)
    assert found == LoopFrontier(
        "" if time is None else INLET,
        time,
        tuple(
            FrontierHolder(at + is_token == time[1], worker, "processor", port, (0, at), is_token, count)
            for worker, port, at, is_token, count in holders
        ),
        tuple(worker for worker, known in enumerate(said) if known is None),
    )


class Held:
    """A worker that does not step from when `begins` says so, until the end."""

    def __init__(self, host, begins=lambda: True):
        self._go_on = threading.Event()
        step = host.step
        host.step = lambda: (begins() and self._go_on.wait(), step())[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go_on()

    def go_on(self):
        self._go_on.set()


@contextmanager
def roads(length, engine="threads"):
    """A master of two workers, and a loop on a chain that is settled."""
    with open_store("memory:") as store, Master(store, 2, engine=engine) as master:
        loop = master.start(ShortestPaths(source=0), name="roads")
        loop.admit(chain(0, length), "edges", length)
        assert loop.wait_idle(60)
        yield master, loop


def test_a_worker_that_does_not_step_holds_its_loop_by_a_token(compiled_paths):
    with roads(200) as (master, loop), Held(master._hosts[1]) as held_worker:
        loop.admit(chain(200, 200), "edges", 400)
        eventually(lambda: loop.stream.workers.waiting()[0] == 0 < loop.stream.workers.waiting()[1])
        found = loop.frontier()
        assert found.waiting == INLET
        [held] = [holder for holder in found.holders if holder.worker == 1]
        assert (held.operator, held.port, held.is_token, held.count) == ("processor", OUTLET, True, 1)
        # And the other one waits for it, as a question is not over there.
        branch = loop.fork()
        eventually(lambda: master.engine.use()[0].waited_s > 0.3)
        held_worker.go_on()
        assert branch.wait(60)
        assert loop.wait_idle(60)
        eventually(lambda: not any(host.is_waiting() for host in master._hosts))
        [moved] = [holder for holder in loop.frontier().holders if holder.worker == 1 and holder.is_token]
        assert moved.time > held.time


def test_a_branch_that_a_worker_has_not_begun_is_held_by_it(compiled_paths):
    with roads(200) as (master, loop):
        with Held(master._hosts[1]):
            branch = loop.fork({"source": 1})
            eventually(lambda: branch.frontier().not_begun == (1,))
            eventually(lambda: {one.worker for one in branch.frontier().holders} >= {1})
            found = branch.frontier()
            assert found.waiting == INLET
            [first] = [one for one in found.holders if one.worker == 1]
            assert (first.holds, first.is_token, first.port) == (True, True, OUTLET)
            assert first.time == min(one.time for one in found.holders)
        assert branch.wait(60)
        assert branch.frontier() == LoopFrontier("", None, ())


def test_a_branch_that_stands_still_is_held_by_the_worker_that_does_not_step(compiled_paths):
    with roads(400) as (master, loop):
        kept = master._hosts[1]
        with Held(kept, lambda: any(one.is_recorded for one in kept._branches.values())):
            branch = loop.fork({"source": 1})
            assert branch.wait_cut(60)
            eventually(lambda: master._hosts[0].is_waiting() and branch.frontier() == branch.frontier())
            found = branch.frontier()
            assert (found.waiting, found.not_begun) == (INLET, ())
            assert 1 in {one.worker for one in found.holders if one.holds}
            assert {one.operator for one in found.holders} == {"processor"}
            assert not branch.wait(0)
        assert branch.wait(60)


def test_a_worker_that_has_recorded_and_waits_for_its_cut_has_not_begun_the_branch(compiled_paths):
    with roads(200) as (master, loop):
        kept, other = master._hosts
        for host in (kept, other):
            host._loops[loop.number].is_patient = False
        with (
            Held(other) as others_turn,
            Held(kept, lambda: any(one.is_recorded for one in kept._branches.values())),
        ):
            loop.admit(EdgeBatch.of([0], [150], [0.5]), "edges", 201)
            branch = loop.fork()
            eventually(lambda: any(one.is_recorded for one in kept._branches.values()))
            others_turn.go_on()
            eventually(lambda: branch.frontier().not_begun == (0,))
            assert not branch.wait(0)
        assert branch.wait(60)
        assert branch.frontier() == LoopFrontier("", None, ())


def test_workers_elsewhere_say_it_too(compiled_paths):
    with roads(500, engine="processes") as (_, loop):
        found = loop.frontier()
        assert found.waiting == INLET
        assert {holder.operator for holder in found.holders} == {"processor"}
        assert min(holder.time[1] + holder.is_token for holder in found.holders) == found.time[1]
        assert {holder.worker for holder in found.holders} >= {0, 1}
        seen = []

        def both_were_seen():
            branch = loop.fork({"source": 1})
            while not branch.wait(0):
                seen.append(branch.frontier())
            assert branch.frontier() == LoopFrontier("", None, ())
            return {one.worker for found in seen for one in found.holders} >= {0, 1}

        eventually(both_were_seen)
        assert {one.operator for found in seen for one in found.holders} == {"processor"}
