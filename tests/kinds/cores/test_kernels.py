"""The compiled loop on one worker keeps its laws between any two calls, whichever come, and ends at the core numbers."""

from random import Random

import networkx as nx
import numpy as np
import pytest

from tests.kinds.conformance import Prefix
from tests.kinds.cores.naive import core_numbers, liftable_sets, neighbours, supported
from tests.kinds.rounds.changes import changes
from tests.shortened import shortened
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.kernel_modules import load_module
from tornado.kinds.cores import loop_columns as names
from tornado.kinds.cores.compile import core_kernel, generated_source
from tornado.kinds.cores.loop_columns import (
    CURSOR_KIND,
    DIRTY,
    GREATEST_CORE,
    LOWER,
    MARKED,
    OWN,
    RAISE_ALL,
    RAISED,
    WAITING,
    WAVE,
)
from tornado.kinds.cores.loop_state import CoreState
from tornado.kinds.cores.warm import warm


class Alone:
    """A loop whose phases a test decides on."""

    def __init__(self, kernel, most=0):
        warm(kernel)
        self.kernel, self.prefix = kernel, Prefix()
        self.most = most or GREATEST_CORE
        self.graph = EvolvingGraph(PartitionMap.even(1))
        self.graph.begin_reverse()
        self.state = CoreState(worker=0, workers=1, hears_back=True, most=self.most, rows=1 << 10)
        self.columns, self.counters = self.state.columns, self.state.counters
        self.loop = (self.graph.addresses, self.state.addresses)
        self.row = None
        self.begin(LOWER)

    def begin(self, phase):
        self.kernel.finish_cursor(*self.loop)
        self.counters[names.PHASE] = phase
        if phase == WAVE:
            self.kernel.begin_wave(self.state.addresses)
        if phase == RAISE_ALL:
            self.kernel.begin_raising(self.state.addresses)
            self.row = 0

    def apply(self, batch):
        self.kernel.finish_cursor(*self.loop)
        columns = (batch.src, batch.dst, batch.weight, batch.op)
        assert self.graph.apply(*columns, 0, len(batch), is_both_ways=True) == len(batch)
        self.kernel.hear_edges(*self.loop)
        self.prefix.apply(batch)

    def go_on(self, fuel):
        """Do some of the phase; return whether there is more of it."""
        phase = self.counters[names.PHASE]
        if phase == RAISE_ALL:
            self.row = self.kernel.raise_all(*self.loop, self.row, fuel)
            return self.row < self.state.rows_seen
        return not (self.kernel.spread_wave if phase == WAVE else self.kernel.lower)(*self.loop, fuel)

    @property
    def is_at_rest(self):
        return self.state.pending == 0 and not self.counters[CURSOR_KIND]

    def by_vertex(self, column):
        ids = self.graph.columns.ids[: self.graph.rows].tolist()
        return dict(zip(ids, column[: self.graph.rows].tolist(), strict=True))

    def check_laws(self):
        """Those that hold between calls; nothing may be under way, as the rows that are in it know of."""
        if self.counters[CURSOR_KIND] or self.counters[names.PHASE] == RAISE_ALL:
            return
        estimates, flags = self.by_vertex(self.columns.estimate), self.by_vertex(self.columns.flags)
        supports = self.by_vertex(self.columns.support)
        near = neighbours(self.prefix.edges, self.prefix.vertices)
        assert all(flags[vertex] & OWN for vertex in near)
        for vertex in near:
            assert flags[vertex] & DIRTY or estimates[vertex] <= supported(near, estimates, vertex), vertex
            count = sum(estimates[other] >= estimates[vertex] for other in near[vertex])
            assert supports[vertex] <= count, vertex
        for members in liftable_sets(near, estimates, self.most):
            assert any(flags[vertex] & (MARKED | RAISED | WAITING) for vertex in members), members
        queued = [self.counters[name] for name in (names.DIRTY_LENGTH, names.WAVE_LENGTH, names.MARKS)]
        assert queued == [
            sum(flag & kind > 0 for flag in flags.values()) for kind in (DIRTY, WAITING, MARKED)
        ]
        assert self.counters[names.RISEN] == sum(flag & RAISED > 0 for flag in flags.values())
        assert not self.columns.counts[: self.graph.rows + 1].any()

    def check_numbers(self):
        near = neighbours(self.prefix.edges, self.prefix.vertices)
        most = 0 if self.most == GREATEST_CORE else self.most
        assert self.by_vertex(self.columns.estimate) == core_numbers(near, most)


def run(seed, kernel):
    random = Random(seed)
    ids = range(random.choice([6, 9, 16]))
    alone = Alone(kernel, most=random.choice([0, 0, 1, 3]))
    for batch in changes(seed, batches=8, size=random.choice([1, 3, 12]), ids=ids):
        if random.random() < 0.2:  # it comes while all are being raised
            alone.begin(RAISE_ALL)
            alone.go_on(random.randrange(2, 2 * len(ids)))
        alone.apply(batch)
        fuel = random.choice([1, 4, 30, 1000])
        for _ in range(random.randrange(40)):
            alone.check_laws()
            more = alone.go_on(fuel)
            if not more:
                falls = alone.counters[names.PHASE] == LOWER
                # Waves need not wait until everybody has fallen.
                alone.begin(random.choice([WAVE, WAVE, WAVE, RAISE_ALL]) if falls else LOWER)
            elif alone.counters[names.PHASE] == LOWER and random.random() < 0.1:
                alone.begin(WAVE)
        if random.random() < 0.5:
            settle(alone, random)
    settle(alone, random)


def settle(alone, random):
    """Come to an end, by waves."""
    for _ in range(10_000):
        alone.check_laws()
        if alone.go_on(random.choice([3, 100])):
            continue
        if alone.counters[names.PHASE] != LOWER:
            alone.begin(LOWER)
        elif alone.is_at_rest:
            alone.check_numbers()
            return
        else:
            alone.begin(WAVE)
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize("seed", range(150))
def test_laws_hold_between_calls_and_the_end_is_at_the_core_numbers(seed):
    run(seed, core_kernel())


IN_THE_KERNEL = {
    "an edge that came marks nobody": ("            mark(loop, consumer)", "            pass"),
    "an edge that comes while all rise marks nobody": (
        "(counts or loop.counters[PHASE] == RAISE_ALL)",
        "counts",
    ),
    "an edge that went makes nobody dirty": (
        "                lose_support(loop, consumer)",
        "                pass",
    ),
    "a wave goes no further": ("                join_wave(loop, row)", "                pass"),
    "who rose begins no other wave": (
        "loop.flags[row] &= ~np.uint8(RAISED)\n            join_wave(loop, row)",
        "loop.flags[row] &= ~np.uint8(RAISED)",
    ),
    "who falls tells nobody": ("if new < own <= old:", "if False:"),
    "parallel edges count": ("neighbour != row and loop.stamp[neighbour] != stamp", "neighbour != row"),
    "an end with as much as the other is not marked": (
        "counts = np.int64(loop.estimate[producer]) >= own",
        "counts = np.int64(loop.estimate[producer]) > own",
    ),
}


@pytest.mark.parametrize("name", shortened(list(IN_THE_KERNEL), 2))
def test_a_broken_kernel_is_found(name):
    there, instead = IN_THE_KERNEL[name]
    text = generated_source()
    assert there in text
    kernel = load_module(text.replace(there, instead))
    with pytest.raises(AssertionError):
        run_all(kernel)


def run_all(kernel):
    for seed in range(150):
        run(seed, kernel)


def test_the_plain_definition_is_that_of_networkx():
    for seed in range(30):
        graph = nx.gnm_random_graph(20, 50, seed=seed)
        near = neighbours({ends: [1.0] for ends in graph.edges}, graph.nodes)
        assert core_numbers(near) == nx.core_number(graph)


def test_stamps_may_run_out():
    alone = Alone(core_kernel())
    for number, batch in enumerate(changes(3, batches=6)):
        if number == 3:
            alone.counters[names.STAMP] = names.MOST_STAMPS - 5
            alone.columns.stamp[: alone.graph.rows] = np.arange(1, alone.graph.rows + 1)
        alone.apply(batch)
        settle(alone, Random(1))
    assert 0 < alone.counters[names.STAMP] < 10_000
