"""The kernel of selective loops comes back when its fuel is used up, so that a worker hears of what else there is to do."""

import numpy as np
import pytest

from tornado.config import AUTO_DELAY_BOUND
from tornado.kinds.selective import loop_columns as names

from .kernel_worker import Worker

LEAVES, FUEL = 20_000, 1_000


def settle(worker):
    """Call until there is no more to do; how many edges the longest call has visited."""
    visited, left = [int(worker.state.counters[names.EDGES_VISITED])], 0
    while left <= 0:
        left = worker.advance(FUEL)
        visited.append(int(worker.state.counters[names.EDGES_VISITED]))
    return max(np.diff(visited))


@pytest.mark.parametrize("delay_bound", [AUTO_DELAY_BOUND, 1, None])
def test_a_wave_over_many_short_lists_takes_many_calls(delay_bound):
    star = Worker(delay_bound, workers=1, source=0)
    star.link(0, [1])
    star.link(1, range(2, LEAVES))
    settle(star)
    star.unlink(0, [1])
    assert settle(star) <= FUEL
    assert star.state.counters[names.INVALIDATIONS] == LEAVES - 1
    assert np.isinf(star.values(np.arange(1, LEAVES))).all()
