"""Who waits for a condition is woken by what it waits about, and by nothing else."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tornado.clock import ManualClock
from tornado.engine.waiting import Waiting

CALM_S = 0.2  # more than a thread takes to wake


class StillClock(ManualClock):
    """Time that stands still, by which nobody looks again by himself: who is not notified waits for ever."""

    def wait(self, changed, until_s):
        del until_s
        changed.wait()


class Waiter:
    """A thread that waits, and how often its condition was looked at."""

    def __init__(self, waiting, **about):
        self.looks = 0
        self.holds = False
        self._looked = threading.Condition()
        self._result = ThreadPoolExecutor(1).submit(waiting.wait_for, self._look, None, **about)
        self.expect_looks(2)  # the second one when it is known as a waiter

    def _look(self):
        with self._looked:
            self.looks += 1
            self._looked.notify_all()
        return self.holds

    def expect_looks(self, count):
        with self._looked:
            assert self._looked.wait_for(lambda: self.looks >= count, 10)

    def result(self):
        return self._result.result(10)


@pytest.fixture
def waiting():
    made = Waiting(StillClock())
    yield made
    made.close()


def test_who_waits_about_something_is_not_woken_by_anything_else(waiting):
    waiter = Waiter(waiting, about="one")
    waiting.notify()
    waiting.notify("another")
    time.sleep(CALM_S)
    assert waiter.looks == 2
    waiter.holds = True
    waiting.notify("one")
    assert waiter.result()
    assert waiter.looks == 3


@pytest.mark.parametrize("about", [(), ("one",), ("one", "another")])
def test_who_waits_about_nothing_is_woken_by_everything(waiting, about):
    waiter = Waiter(waiting)
    waiting.notify(*about)
    waiter.expect_looks(3)
    waiter.holds = True
    waiting.notify(*about)
    assert waiter.result()


def test_all_who_wait_about_the_same_are_woken(waiting):
    waiters = [Waiter(waiting, about="one") for _ in range(3)]
    for waiter in waiters:
        waiter.holds = True
    waiting.notify("one")
    assert all(waiter.result() for waiter in waiters)


@pytest.mark.parametrize("about", [None, "one"])
def test_the_end_ends_every_wait(waiting, about):
    waiter = Waiter(waiting, about=about)
    waiting.close()
    assert not waiter.result()


def test_a_condition_that_holds_is_not_waited_for(waiting):
    waiting.close()
    assert waiting.wait_for(lambda: True, 0.0, about="one")


def test_nothing_is_kept_of_those_who_have_waited(waiting):
    waiter = Waiter(waiting, about="one")
    waiter.holds = True
    waiting.notify("one")
    assert waiter.result()
    assert not waiting._bells
