"""The kernels by themselves, on one worker: announcing and pulling come to the direct solve, and what they sum stays summed."""

import math

import numpy as np
import pytest

from apps.pagerank import PageRank
from tests.kinds.accumulative.naive import NaiveLoop
from tests.kinds.accumulative.truth import Multigraph, distance, pagerank
from tornado import EdgeBatch
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.graph.graph_columns import DELTAS
from tornado.kinds.accumulative import loop_columns as names
from tornado.kinds.accumulative.bound import bound_of
from tornado.kinds.accumulative.loop_state import SumState
from tornado.kinds.accumulative.warm import warm
from tornado.kinds.compiled_functions import compiled_arguments

FUEL = 1 << 40
TRUTH = 1e-14  # of the solver itself


class Loop:
    """A graph, and the columns of a loop on it."""

    def __init__(self, damping=0.85):
        self.program = PageRank(damping=damping)
        self.kernel = self.program.kernel()
        warm(self.kernel, self.program.arguments())
        self.graph = EvolvingGraph(PartitionMap.even(1))
        self.graph.begin_weights_in()
        self.state = SumState(worker=0, workers=1)
        self.truth = Multigraph()
        self.arguments = compiled_arguments(self.program.arguments())
        self.kernel.add_up(*self.loop[1:])

    @property
    def loop(self):
        return self.graph.addresses, self.state.addresses, self.arguments

    def apply(self, batch):
        first = 0
        while first < len(batch):
            columns = (batch.src, batch.dst, batch.weight, batch.op)
            first = self.graph.apply(*columns, first, len(batch))
            self.kernel.hear_edges(*self.loop)
        self.truth.apply(batch)

    def measure(self, state=None):
        state = state or self.state
        if not state.counters[names.PULLS]:
            state.begin_pulling()
        self.kernel.measure(self.graph.addresses, state.addresses, 0, state.rows_seen, FUEL)
        state.counters[names.PULLS] = 0
        self.kernel.add_up(state.addresses, self.arguments)

    def values(self, state=None):
        state = state or self.state
        rows = self.graph.known_rows(self.graph.vertices)
        values = np.zeros(len(rows))
        self.kernel.read_values(state.addresses, self.arguments, rows, values)
        return dict(zip(self.graph.columns.ids[rows].tolist(), (values / values.sum()).tolist(), strict=True))

    def expected(self):
        return pagerank(self.truth.edges, self.truth.vertices, self.program.damping)

    def bound(self, state=None):
        state = state or self.state
        totals = state.totals
        return bound_of(
            absolute=totals[names.ABSOLUTE],
            signed=totals[names.SIGNED],
            mass=totals[names.MASS],
            drift=totals[names.DRIFT],
            vertices=int(state.counters[names.VERTICES]),
            factor=self.program.damping,
        )

    def announce_all(self, theta):
        self.state.totals[names.THETA] = theta
        self.kernel.find_active(*self.loop[1:])
        assert self.kernel.announce(*self.loop, FUEL) > 0
        assert self.state.counters[names.QUEUE_LENGTH] == 0

    def sums(self):
        """By row: W and s, as they follow from the edges."""
        weight, heard = np.zeros(self.graph.rows), np.zeros(self.graph.rows)
        producers, consumers, weights, _ = self.graph.edges()
        sources, targets = self.graph.rows_of(producers), self.graph.rows_of(consumers)
        np.add.at(weight, sources, weights)
        np.add.at(heard, targets, weights * self.state.columns.share[sources])
        return weight, heard

    def check_sums(self, within=1e-9):
        weight, heard = self.sums()
        columns, rows = self.state.columns, self.graph.rows
        assert np.allclose(columns.weight[:rows], weight, rtol=1e-13, atol=0)
        assert np.abs(columns.heard[:rows] - heard).sum() <= 1e-15 * self.state.totals[names.DRIFT]
        before = self.state.totals.copy()
        self.kernel.add_up(*self.loop[1:])
        for total in (names.ABSOLUTE, names.SIGNED, names.MASS):
            assert self.state.totals[total] == pytest.approx(before[total], rel=1e-9, abs=within)


def records(random, *, vertices=30, size=200, weighted=False):
    """Records that come and go, with self-loops, parallel edges and what is not there."""
    source, target = random.integers(0, vertices, (2, size))
    weight = random.choice([0.0, 0.25, 1.0, 3.0, 1e6], size) if weighted else np.ones(size)
    operation = random.choice(np.array([1, 1, 1, -1, -1, 2], np.int8), size)
    return EdgeBatch(source, target, np.where((operation == -1) & ~weighted, np.nan, weight), operation)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.85, 0.99])
def test_announcing_comes_to_the_direct_solve_within_what_the_totals_say(weighted, damping):
    random, loop = np.random.default_rng(5), Loop(damping)
    for theta in (1e-1, 1e-3, 1e-6, 1e-9, 1e-12):
        loop.apply(records(random, weighted=weighted))
        loop.announce_all(theta)
        loop.check_sums(
            1e-2 if weighted else 1e-9
        )  # a heavy edge that comes makes huge residuals for a moment
        assert distance(loop.values(), loop.expected()) <= loop.bound() + TRUTH
    loop.measure()  # heavy edges that come and go leave roundings in the sums
    loop.announce_all(1e-12)
    assert distance(loop.values(), loop.expected()) <= loop.bound() + TRUTH
    assert loop.bound() <= (1e-8 if weighted else 1e-9)


def test_edges_that_come_at_one_time_count_once_each_however_they_follow_each_other():
    """Each vertex had announced all that it had heard over its first edge, and so eight times as much over eight, 200 times."""
    loop, vertices, degree = Loop(), 200, 8
    source = np.repeat(np.arange(vertices), degree)
    loop.apply(
        EdgeBatch.of(source, source + np.tile(np.arange(1, degree + 1), vertices), np.ones(len(source)))
    )
    assert loop.state.totals[names.MASS] <= 2 * len(source)
    loop.announce_all(1e-12)
    assert distance(loop.values(), loop.expected()) <= loop.bound() + TRUTH <= 1e-9


def test_what_weighs_little_is_there_again_when_what_weighs_much_is_gone():
    loop = Loop()
    loop.apply(EdgeBatch.of([1, 1, 2, 3], [2, 3, 1, 1], [1e12, 1e-6, 1.0, 1.0]))
    loop.apply(EdgeBatch(np.array([1]), np.array([2]), np.array([1e12]), np.array([-1], np.int8)))
    loop.check_sums(1.0)
    loop.measure()
    loop.announce_all(1e-12)
    loop.measure()
    assert distance(loop.values(), loop.expected()) <= loop.bound() + TRUTH <= 1e-9


def test_an_out_weight_is_exact_whatever_comes_and_goes():
    """All weights from 1e-12 to 1e12 with all their digits: two numbers of 64 bits would not hold the sum of some."""
    loop, light, heavy = Loop(), 1.2345678901234567e-12, [1e12, 1e12 / 3, 7e11 / 9, 1.1e-6 / 7, 2e4 / 3]
    loop.apply(EdgeBatch.of([1] * 6, range(2, 8), [light, *heavy]))
    row = loop.graph.rows_of(np.array([1]))[0]
    assert loop.state.columns.weight[row] == math.fsum([light, *heavy])
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1, 3, 0, 2, 4]):
        ends = np.array([3 + place for place in order])
        weights = np.array([heavy[place] for place in order])
        loop.apply(EdgeBatch(np.ones(5, np.int64), ends, weights, np.full(5, -1, np.int8)))
        assert loop.state.columns.weight[row] == light
        loop.apply(EdgeBatch(np.ones(5, np.int64), ends, weights, np.ones(5, np.int8)))


def test_no_value_is_negative_where_a_sum_that_lost_its_digits_is():
    loop = Loop()
    loop.apply(EdgeBatch.of([1], [2]))
    row = loop.graph.rows_of(np.array([2]))[0]
    loop.state.columns.heard[row] = -9.0
    loop.kernel.add_up(*loop.loop[1:])
    values, greatest = np.zeros(2), np.zeros(2)
    loop.kernel.read_values(
        loop.state.addresses, loop.arguments, loop.graph.rows_of(np.array([1, 2])), values
    )
    assert values.tolist() == [1.0, 1.0]
    assert loop.state.totals[names.MASS] == 2.0
    assert loop.kernel.find_greatest(loop.state.addresses, loop.arguments, greatest) == 2
    assert greatest.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_sweeps_come_to_the_direct_solve_with_the_base_aimed(weighted):
    random, loop = np.random.default_rng(6), Loop()
    loop.apply(records(random, vertices=200, size=800, weighted=weighted))
    kernel, totals = loop.kernel, loop.state.totals
    loop.state.begin_pulling()
    for _ in range(200 if weighted else 25):
        totals[[names.CHANGE, names.FLOW, names.SWEPT_MASS]] = 0.0
        assert kernel.sweep(*loop.loop, 0, loop.graph.rows, FUEL) == loop.graph.rows
        totals[names.BASE] = (totals[names.SWEPT_MASS] - 0.85 * totals[names.FLOW]) / loop.graph.rows
    loop.measure()
    loop.check_sums()
    assert loop.bound() <= 1e-9
    assert distance(loop.values(), loop.expected()) <= loop.bound() + TRUTH


@pytest.mark.parametrize("weighted", [False, True])
def test_a_branch_sees_the_edges_of_its_lease_whatever_comes_and_goes(weighted):
    random, loop = np.random.default_rng(7), Loop()
    loop.apply(records(random, weighted=weighted))
    loop.announce_all(1e-2)
    lease, version = loop.graph.lease()
    branches = [SumState(worker=0, workers=1, rows=loop.graph.rows) for _ in range(2)]
    for branch in branches:
        loop.state.copy_to(branch, bases=False)
        loop.kernel.fork(loop.graph.addresses, loop.state.addresses, branch.addresses, False)
        branch.counters[names.VERSION] = version
    expected = loop.expected()
    for _ in range(3):
        loop.apply(records(random, vertices=40, weighted=weighted))
        for branch in branches:
            loop.kernel.note_changes(loop.graph.addresses, branch.addresses)
    pushed, pulled = branches
    arguments = (loop.graph.addresses, pushed.addresses, loop.arguments)
    loop.kernel.add_up(*arguments[1:])
    pushed.totals[names.THETA] = 1e-12
    loop.kernel.find_active(*arguments[1:])
    loop.kernel.announce(*arguments, FUEL)
    arguments = (loop.graph.addresses, pulled.addresses, loop.arguments)
    loop.kernel.add_up(*arguments[1:])
    pulled.begin_pulling()
    for _ in range(200):
        loop.kernel.sweep(*arguments, 0, pulled.rows_seen, FUEL)
    loop.measure(pulled)
    if weighted:
        loop.measure(pushed)
    for branch in branches:
        rows = loop.graph.rows_of(np.array(sorted(expected)))
        values = np.zeros(len(rows))
        loop.kernel.read_values(branch.addresses, loop.arguments, rows, values)
        found = dict(zip(sorted(expected), (values / values.sum()).tolist(), strict=True))
        assert loop.bound(branch) <= 1e-9
        assert distance(found, expected) <= loop.bound(branch) + TRUTH
    loop.graph.release(lease)


@pytest.mark.parametrize("fuel", [1, 40, FUEL])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_does_what_its_twin_does_edge_by_edge_however_little_fuel_it_gets(weighted, fuel):
    random, loop, theta = np.random.default_rng(8), Loop(), 1e-5
    twin = NaiveLoop(0.85, theta)
    loop.state.totals[names.THETA] = theta
    for _ in range(4):
        batch = records(random, vertices=12, size=40, weighted=weighted)
        for number in range(len(batch)):
            one = batch.slice(number, number + 1)
            loop.apply(one)
            for vertex in (*one.src.tolist(), *one.dst.tolist()):
                twin.name(vertex)
            columns, ids = loop.graph.columns, loop.graph.columns.ids
            for place in range(int(columns.counters[DELTAS])):
                source, target = (
                    int(ids[column[place]]) for column in (columns.delta_producer, columns.delta_consumer)
                )
                change = twin.add if columns.delta_sign[place] > 0 else twin.remove
                change(source, target, float(columns.delta_weight[place]))
        edges = {}
        for row in range(loop.graph.rows):
            first = int(columns.out_start[row])
            slots = range(first, first + int(columns.out_length[row]))
            edges[int(ids[row])] = [
                (int(ids[columns.edge_consumer[slot]]), float(columns.edge_weight[slot])) for slot in slots
            ]
        before = int(loop.state.counters[names.UPDATES])
        while loop.kernel.announce(*loop.loop, fuel) == 0:
            pass
        assert int(loop.state.counters[names.UPDATES]) - before == twin.announce(edges)
        for name in ("heard", "share", "weight", "degree"):
            found = getattr(loop.state.columns, name)[: loop.graph.rows].tolist()
            twins = [getattr(twin, name)[int(vertex)] for vertex in ids[: loop.graph.rows]]
            assert found == pytest.approx(twins, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sweep_that_is_cut_short_in_the_middle_of_lists_comes_to_the_same(weighted):
    random, found = np.random.default_rng(9), []
    batch = records(random, vertices=20, size=400, weighted=weighted)
    for fuel in (3, FUEL):
        loop = Loop()
        loop.apply(batch)
        rows = loop.graph.rows
        loop.state.begin_pulling()
        for _ in range(3):
            row = 0
            while row < rows:
                row = loop.kernel.sweep(*loop.loop, row, rows, fuel)
        row = 0
        while row < rows:
            row = loop.kernel.measure(*loop.loop[:2], row, rows, fuel)
        loop.kernel.add_up(*loop.loop[1:])
        found.append([loop.state.totals[name] for name in (names.ABSOLUTE, names.MASS, names.DRIFT)])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
