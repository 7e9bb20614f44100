"""Deadlines: in order, never early, and forgotten when they are cancelled."""

import threading
import time

import pytest

from tornado.query.retention import Retention
from tornado.query.timer import Timer


@pytest.fixture
def timer():
    made = Timer("test-timer")
    yield made
    made.close()


def test_calls_come_in_the_order_of_their_instants_and_never_early(timer):
    now_s = time.monotonic()
    calls, last = [], threading.Event()
    for delay_s in (0.06, 0.02, 0.04):
        timer.schedule(now_s + delay_s, lambda d=delay_s: calls.append((d, time.monotonic() - now_s)))
    timer.schedule(now_s + 0.08, last.set)
    assert last.wait(5)
    assert [wanted for wanted, _ in calls] == [0.02, 0.04, 0.06]
    assert all(came >= wanted for wanted, came in calls)


def test_a_cancelled_call_never_comes(timer):
    calls, last = [], threading.Event()
    entry = timer.schedule(time.monotonic() + 0.01, lambda: calls.append("cancelled"))
    entry.cancel()
    entry.cancel()
    timer.schedule(time.monotonic() + 0.03, last.set)
    assert last.wait(5)
    assert calls == []


def test_cancelled_calls_do_not_pile_up(timer):
    far = time.monotonic() + 1000
    for _ in range(1000):
        timer.schedule(far, lambda: None).cancel()
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
