"""Deadlines: in order, never early, and forgotten when they are cancelled."""

import threading

import pytest

from tornado.clock import ManualClock
from tornado.query.retention import Retention
from tornado.query.timer import Timer

LONG_S = 20.0


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def timer(clock):
    made = Timer("test-timer", clock=clock)
    yield made
    made.close()


def test_calls_come_in_the_order_of_their_instants_and_never_early(clock, timer):
    calls, came = [], threading.Semaphore(0)

    def called(instant_s):
        calls.append((instant_s, clock.monotonic()))
        came.release()

    for instant_s in (3600.0, 1200.0, 2400.0):
        timer.schedule(instant_s, lambda s=instant_s: called(s))
    for _ in range(3):
        clock.advance(1199.0)
        assert not came.acquire(timeout=0.01)
        clock.advance(1.0)
        assert came.acquire(timeout=LONG_S)
    assert calls == [(1200.0, 1200.0), (2400.0, 2400.0), (3600.0, 3600.0)]


def test_a_call_that_is_scheduled_while_the_thread_waits_for_a_later_one_is_not_kept_waiting(clock, timer):
    came = threading.Event()
    timer.schedule(1000.0, lambda: None)
    timer.schedule(10.0, came.set)
    clock.advance(10.0)
    assert came.wait(LONG_S)
    assert timer.pending() == 1


def test_a_cancelled_call_never_comes(clock, timer):
    calls, last = [], threading.Event()
    entry = timer.schedule(10.0, lambda: calls.append("cancelled"))
    entry.cancel()
    entry.cancel()
    timer.schedule(30.0, last.set)
    clock.advance(30.0)
    assert last.wait(LONG_S)
    assert calls == []


def test_cancelled_calls_do_not_pile_up(timer):
    for _ in range(1000):
        timer.schedule(1000.0, lambda: None).cancel()
    assert timer.pending() == 0
    assert len(timer._heap) < 200


def test_removing_what_is_kept_gives_its_size_back():
    kept = Retention(results=10, size_bytes=100)
    kept.add("a", 40)
    kept.add("b", 40)
    kept.remove("a")
    kept.remove("a")
    assert (kept.total_bytes, len(kept)) == (40, 1)
    assert kept.add("c", 60) == []
    assert kept.add("d", 1) == ["b"]
