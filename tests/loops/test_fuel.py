"""The kernel of selective loops comes back when its fuel is used up, so that a worker hears of what else there is to do."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tornado.config import AUTO_DELAY_BOUND
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.kinds.selective import loop_columns as names
from tornado.kinds.selective.loop_columns import NEVER
from tornado.kinds.selective.loop_state import LoopState
from tornado.records.operations import INSERT, REMOVE

LEAVES, FUEL = 20_000, 1_000


class Star:
    """One worker; the source has an edge to a hub, and that to all leaves."""

    def __init__(self, delay_bound):
        self.kernel = ShortestPaths.kernel()
        self.graph = EvolvingGraph(PartitionMap.even(1), 0)
        self.state = LoopState(worker=0, workers=1, delay_bound=delay_bound)
        self.columns = self.graph.addresses, *self.state.addresses, (0,)

    def change(self, producer, consumers, operation):
        count, first = len(consumers), 0
        records = (
            np.full(count, producer),
            np.array(consumers),
            np.ones(count),
            np.full(count, operation, np.int8),
        )
        while first < count:
            first = self.graph.apply(*records, first, count)
            self.kernel.hear_edges(*self.columns)

    def settle(self):
        """Call until there is no more to do; how many edges the longest call has visited."""
        visited, left = [int(self.state.counters[names.EDGES_VISITED])], 0
        while left <= 0:
            left = self.kernel.advance(*self.columns, NEVER, NEVER, FUEL)
            visited.append(int(self.state.counters[names.EDGES_VISITED]))
        return max(np.diff(visited))


@pytest.mark.parametrize("delay_bound", [AUTO_DELAY_BOUND, 1, None])
def test_a_wave_over_many_short_lists_takes_many_calls(delay_bound):
    star = Star(delay_bound)
    star.change(0, [1], INSERT)
    star.change(1, range(2, LEAVES), INSERT)
    star.settle()
    star.change(0, [1], REMOVE)
    assert star.settle() <= FUEL
    assert star.state.counters[names.INVALIDATIONS] == LEAVES - 1
    assert np.isinf(star.state.values_of(star.graph.rows_of(np.arange(1, LEAVES)))).all()
