"""What is left of a failure: each step is needed, in time or not."""

from random import Random

import pytest

from tornado.clock import ManualClock
from tornado.shrinking import shrink


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_fails_and_with_any_step_less_it_does_not(seed):
    rng = Random(seed)
    steps = list(range(rng.randint(1, 60)))
    needed = [set(rng.sample(steps, rng.randint(0, min(5, len(steps))))) for _ in range(2)]

    def fails(left):
        return any(one <= set(left) for one in needed)

    left = shrink(steps, fails, within_s=10)
    assert set(left) in needed
    assert left == sorted(left)


def test_when_the_time_is_over_there_is_what_was_found_by_then():
    clock = ManualClock()

    def fails(left):
        clock.advance(1)
        return 7 in left

    found = shrink(range(64), fails, within_s=2.5, clock=clock)
    assert 7 in found
    assert 1 < len(found) < 64


def test_where_nothing_is_needed_nothing_is_left():
    assert shrink(range(9), lambda _: True, within_s=10) == []
