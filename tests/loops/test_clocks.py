"""What a master decides by time, it decides by the clock that it was given."""

import sys
import threading
import time

import pytest

from apps.bfs import BreadthFirstSearch
from tornado import clock as clocks
from tornado.clock import ManualClock
from tornado.errors import QueueFull
from tornado.loops import Master
from tornado.loops.admission_order import AdmissionOrder
from tornado.records.edge_batch import EdgeBatch

LONG_S = 20.0


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def hops(clock):
    with Master(clock=clock) as master:
        yield master.start(BreadthFirstSearch(source=1), "hops")


def waits(clock):
    limit_s = time.monotonic() + LONG_S
    while not clock.waiting():
        assert time.monotonic() < limit_s
        time.sleep(0.001)


def refused_after(clock, hops, timeout_s):
    """Admit with a limit to the wait, let time pass to just before it and then to it; when it was refused, and why."""
    refused = []

    def admit():
        try:
            hops.admit(EdgeBatch.of([1], [2]), "edges", 1, timeout_s=timeout_s)
        except QueueFull as error:
            refused.append((clock.monotonic(), str(error)))

    began_s = clock.monotonic()
    admitting = threading.Thread(target=admit, daemon=True)
    admitting.start()
    for seconds in (timeout_s - 1, 1):
        waits(clock)
        clock.advance(seconds)
    admitting.join(LONG_S)
    [(instant_s, said)] = refused
    assert hops.offsets() == {}
    return instant_s - began_s, said


def test_an_admission_waits_for_the_order_so_long_and_is_refused(clock, hops):
    with hops.stream.order:  # as while loops are being restored
        after_s, said = refused_after(clock, hops, 30.0)
    assert after_s == 30.0
    assert "loops are being restored on other workers; nothing was admitted" in said
    assert hops.admit(EdgeBatch.of([1], [2]), "edges", 1, timeout_s=30.0) == 1


def test_an_admission_waits_for_room_so_long_and_is_refused(clock, hops):
    with hops.stream.standing_still(lambda _: None):
        after_s, said = refused_after(clock, hops, 30.0)
    assert after_s == 30.0
    assert "stands still while a loop begins on it" in said
    assert hops.admit(EdgeBatch.of([1], [2]), "edges", 1, timeout_s=30.0) == 1


def test_a_snapshot_is_of_the_clocks_instant_and_a_branch_as_old_as_the_clock_says(clock, hops):
    hops.admit(EdgeBatch.of([1], [2]), "edges", 1)
    for _ in range(3):
        clock.advance(3600)
        branch = hops.fork()
        assert branch.wait_cut()
        assert branch.snapshot.instant == clock.now()
        assert branch.wait()
        assert branch.progress().elapsed_s == 0.0
    hops.checkpoint()
    assert [snapshot.instant for snapshot in hops.snapshots()] == [clock.now()]


def test_the_order_is_had_by_one_at_a_time_whoever_comes(clock):
    order, inside, most, done = AdmissionOrder(clock), [], [], []

    def hold(number):
        for turn in range(200):
            with order if (number + turn) % 2 else order.until(None if turn % 3 else 10.0):
                inside.append(number)
                time.sleep(0)
                most.append(len(inside))
                inside.pop()
        done.append(number)

    threads = [threading.Thread(target=hold, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    assert sorted(done) == list(range(8))
    assert set(most) == {1}


def calls_in(context):
    """What is called while nobody competes: a count that no other load of the machine changes."""
    made = []
    sys.setprofile(lambda frame, event, called: made.append(event) if event in ("call", "c_call") else None)
    try:
        with context:
            pass
    finally:
        sys.setprofile(None)
    return len(made) - 1  # but for ending the count


@pytest.mark.parametrize("instant_s", [None, 1e9])
def test_an_order_that_is_free_is_a_lock_that_is_taken_and_given_back(clock, instant_s):
    order = AdmissionOrder(clock)
    for _ in range(2):
        assert calls_in(order) <= 4
        assert calls_in(order.until(instant_s)) <= 5


def test_who_waits_for_the_order_is_notified_and_not_left_to_look_now_and_then(clock, monkeypatch):
    monkeypatch.setattr(clocks, "_LOOK_S", 1e4)  # a clock that stands still looks by itself after that
    order, had = AdmissionOrder(clock), []

    def take(until_s):
        with order.until(until_s):
            had.append(until_s)

    for until_s in (None, 10.0):
        with order:
            waiting = threading.Thread(target=take, args=(until_s,), daemon=True)
            waiting.start()
            waits(clock)
        waiting.join(60)
        assert had[-1:] == [until_s]
