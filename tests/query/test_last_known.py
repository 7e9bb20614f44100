"""A record that is asked for with a limit to the wait."""

import itertools
import threading

import pytest

from tests.query.conftest import eventually
from tornado.clock import SYSTEM_CLOCK, ManualClock
from tornado.query.last_known import LastKnown

LONG_S = 60.0


class Asked:
    """Counts questions; each waits for a permission."""

    def __init__(self):
        self.begun = 0
        self.permissions = threading.Semaphore(0)
        self.error = None
        self._numbers = itertools.count(1)

    def __call__(self):
        self.begun += 1
        self.permissions.acquire()
        if self.error is not None:
            raise self.error
        return next(self._numbers)

    def permit(self, count=1):
        self.permissions.release(count)


@pytest.fixture
def asked():
    made = Asked()
    yield made
    made.permit(1000)


def test_a_record_that_comes_in_time_is_new(asked):
    known = LastKnown(asked, clock=SYSTEM_CLOCK)
    asked.permit()
    found = known.get(LONG_S)
    assert (found.record, found.age_s) == (1, 0.0)


def test_what_does_not_answer_in_time_is_shown_as_it_was_with_its_age(asked):
    clock = ManualClock()
    known = LastKnown(asked, clock=clock)
    assert known.get(0.0) is None
    asked.permit()
    eventually(lambda: known.known() is not None)
    clock.advance(7.5)
    found = known.get(0.0)
    assert (found.record, found.age_s) == (1, 7.5)


def test_whoever_waits_does_so_until_the_clock_says_that_it_is_over(asked):
    clock, found = ManualClock(), []
    known = LastKnown(asked, clock=clock)
    waiting = threading.Thread(target=lambda: found.append((known.get(30.0), clock.monotonic())), daemon=True)
    waiting.start()
    eventually(lambda: clock.waiting() == 1)
    clock.advance(29.0)
    eventually(lambda: clock.waiting() == 1)
    clock.advance(1.0)
    waiting.join(20)
    assert found == [(None, 30.0)]


def test_a_young_record_is_returned_without_asking(asked):
    clock = ManualClock()
    known = LastKnown(asked, clock=clock)
    asked.permit()
    known.get(LONG_S)
    clock.advance(0.75)
    assert known.get(LONG_S, max_age_s=1.0).record == 1
    assert asked.begun == 1
    clock.advance(0.25)
    asked.permit()
    assert known.get(LONG_S, max_age_s=1.0).record == 2


def test_whoever_comes_while_somebody_asks_gets_what_was_asked_for_after_they_came(asked):
    known = LastKnown(asked, clock=SYSTEM_CLOCK)
    first = known.begin()
    eventually(lambda: asked.begun == 1)
    later = [known.begin() for _ in range(50)]
    asked.permit()
    assert known.wait(first, LONG_S).record == 1
    eventually(lambda: asked.begun == 2)
    asked.permit()
    assert {known.wait(question, LONG_S).record for question in later} == {2}
    assert asked.begun == 2


def test_what_asking_raised_is_raised_and_the_next_question_is_asked_anew(asked):
    known = LastKnown(asked, clock=SYSTEM_CLOCK)
    asked.error = ZeroDivisionError("once")
    asked.permit()
    with pytest.raises(ZeroDivisionError):
        known.get(LONG_S)
    asked.error = None
    asked.permit()
    assert known.get(LONG_S).record == 1
