"""The kernels of rounds against the naive twin at every round: on any graph, with any fuel, at the newest version and at a leased one."""

import itertools
from random import Random

import numpy as np
import pytest

from apps.label_propagation import LabelPropagation
from tests.kinds.conformance import Prefix
from tests.kinds.rounds.changes import batch_of, changes
from tests.kinds.rounds.naive import labels_after, neighbours
from tests.kinds.rounds.programs import Downstream
from tests.shortened import in_soak
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.kinds.rounds import loop_columns as names
from tornado.kinds.rounds.loop_columns import NEVER
from tornado.kinds.rounds.loop_state import RoundsState
from tornado.kinds.rounds.warm import warm
from tornado.records.operations import INSERT, REMOVE

LARGE = 2**53


class Alone:
    """One worker's loop, driven by hand: a program, its graph, and the columns of the main loop."""

    def __init__(self, program, fuel=1 << 30):
        self.program, self.fuel = program, fuel
        self.kernel, self.arguments = program.kernel(), program.arguments()
        warm(self.kernel, self.arguments, program.worst)
        self.graph = EvolvingGraph(PartitionMap.even(1))
        if program.both_ways:
            self.graph.begin_reverse()
        self.state = self.new_state()
        self.prefix = Prefix()

    def new_state(self, rows=1 << 20):
        program = self.program
        return RoundsState(
            worker=0,
            workers=1,
            rounds=program.rounds,
            hears_back=program.both_ways,
            worst=program.worst,
            rows=rows,
        )

    def apply(self, batch):
        following = 0
        while following < len(batch):
            self.kernel.finish_cursor(self.graph.addresses, self.state.addresses)
            following = self.graph.apply(
                batch.src,
                batch.dst,
                batch.weight,
                batch.op,
                following,
                len(batch),
                is_both_ways=self.program.both_ways,
            )
            self.kernel.hear_edges(self.graph.addresses, self.state.addresses, self.arguments)
        self.prefix.apply(batch)

    def advance(self, state=None):
        """One call."""
        state = self.state if state is None else state
        return self.kernel.advance(self.graph.addresses, state.addresses, NEVER, self.fuel) > 0

    def finish(self, state=None):
        for _ in range(1_000_000):
            if self.advance(state):
                return
        raise AssertionError("it does not come to an end")

    def fork(self):
        """Return columns of a branch at the version of now, and what is right there."""
        self.kernel.finish_cursor(self.graph.addresses, self.state.addresses)
        branch = self.new_state(self.graph.rows)
        lease, version = self.graph.lease()
        branch.counters[names.VERSION] = version
        self.kernel.fork(self.state.addresses, branch.addresses)
        return branch, lease, self.expected()

    def expected(self):
        """Labels by round."""
        program, prefix = self.program, self.prefix
        heard = neighbours(prefix.edges, prefix.vertices, both_ways=program.both_ways)
        first = {vertex: program.initial(vertex, *program.arguments()) for vertex in prefix.vertices}
        return labels_after(heard, first, program.rounds)

    def labels(self, state, vertices):
        """Labels by round, of the vertices that are asked for."""
        ids = np.array(sorted(vertices), np.int64)
        rows = self.graph.rows_of(ids)
        assert (rows >= 0).all()
        return [
            dict(zip(ids.tolist(), state.of_round(number)[rows].tolist(), strict=True))
            for number in range(self.program.rounds + 1)
        ]

    def check(self, state=None, expected=None):
        state, expected = self.state if state is None else state, expected or self.expected()
        assert state.counters[names.PENDING] == 0
        assert not state.columns.tally_count[:1000].any()
        assert self.labels(state, expected[0]) == expected


PROGRAMS = {
    "labels": LabelPropagation(rounds=4),
    "one round": LabelPropagation(rounds=1),
    "downstream": Downstream(rounds=3, colours=3),
}


@pytest.fixture(params=PROGRAMS)
def program(request):
    return PROGRAMS[request.param]


@pytest.mark.parametrize("fuel", [1, in_soak(3), 40, in_soak(1 << 30)])
def test_every_cell_is_that_of_the_naive_twin_after_every_batch(program, fuel):
    for seed in range(6):
        alone = Alone(program, fuel)
        for batch in changes(seed):
            alone.apply(batch)
            alone.finish()
            alone.check()


@pytest.mark.parametrize("fuel", [2, 30])
def test_it_does_not_matter_where_changes_come_in_between(program, fuel):
    for seed in range(6):
        alone, random = Alone(program, fuel), Random(seed)
        for batch in changes(seed, batches=30, size=4):
            alone.apply(batch)
            for _ in range(random.randrange(8)):
                alone.advance()
        alone.finish()
        alone.check()


@pytest.mark.parametrize("fuel", [1, 7, 1 << 30])
def test_a_branch_is_exact_at_its_version_while_the_graph_goes_on(program, fuel):
    for seed in range(6):
        alone, random, forked = Alone(program, fuel), Random(seed), []
        for batch in changes(seed, batches=25, size=5):
            alone.apply(batch)
            for _ in range(random.randrange(4)):
                alone.advance()
            if random.random() < 0.5:
                forked.append(alone.fork())
            for branch, _, _ in forked:
                # Scans are finished before the graph changes.
                if random.random() < 0.3:
                    alone.advance(branch)
                    alone.kernel.finish_cursor(alone.graph.addresses, branch.addresses)
        for branch, lease, expected in forked:
            alone.finish(branch)
            alone.check(branch, expected)
            alone.graph.release(lease)
        alone.finish()
        alone.check()


@pytest.mark.parametrize("rounds", [63, 64, 65, 130])
def test_any_number_of_rounds_has_its_bits(rounds):
    alone = Alone(LabelPropagation(rounds=rounds))
    alone.apply(batch_of([(number, number + 1, 1.0, INSERT) for number in range(150)]))
    alone.finish()
    alone.check()
    alone.apply(batch_of([(70, 71, 1.0, REMOVE), (3, 140, 1.0, INSERT)]))
    alone.finish()
    alone.check()


def test_labels_are_whole_numbers_of_64_bits_and_ties_go_to_the_least():
    ids = (-(2**63), -1, 0, LARGE, LARGE + 1, 2**63 - 1)
    for seed in range(4):
        alone = Alone(LabelPropagation(rounds=3))
        for batch in changes(seed, ids=ids):
            alone.apply(batch)
            alone.finish()
            alone.check()


def test_loops_and_parallel_edges_count_as_often_as_they_are_there():
    alone = Alone(LabelPropagation(rounds=1))
    rows = [(5, 9, 1.0, INSERT), (7, 9, 1.0, INSERT), (7, 9, 2.0, INSERT)]
    alone.apply(batch_of(rows))
    alone.finish()
    assert alone.labels(alone.state, [9])[1] == {9: 7}  # twice 7, once 5
    alone.apply(batch_of([(9, 9, 1.0, INSERT), (9, 9, 1.0, INSERT)]))
    alone.finish()
    assert alone.labels(alone.state, [9])[1] == {9: 9}  # each loop is an edge from it and one to it
    alone.apply(batch_of([(9, 9, 1.0, REMOVE)]))
    alone.finish()
    assert alone.labels(alone.state, [9])[1] == {9: 7}  # both twice, and 7 is less
    alone.apply(
        batch_of([(7, 9, 1.0, REMOVE), (7, 9, 2.0, REMOVE), (9, 9, 1.0, REMOVE), (5, 9, 1.0, REMOVE)])
    )
    alone.finish()
    assert alone.labels(alone.state, [5, 7, 9])[1] == {5: 5, 7: 7, 9: 9}  # nobody is left to hear


def test_reciprocal_edges_count_twice():
    alone = Alone(LabelPropagation(rounds=1))
    alone.apply(batch_of([(1, 9, 1.0, INSERT), (2, 9, 1.0, INSERT), (9, 2, 1.0, INSERT)]))
    alone.finish()
    assert alone.labels(alone.state, [9])[1] == {9: 2}


def visited(alone):
    before = int(alone.state.counters[names.EDGES_VISITED])
    alone.finish()
    return int(alone.state.counters[names.EDGES_VISITED]) - before


def test_a_removal_costs_what_is_near_it():
    alone, vertices, rounds = Alone(LabelPropagation(rounds=10)), 20_000, 10
    alone.apply(batch_of([(n, (n + 1) % vertices, 1.0, INSERT) for n in range(vertices)]))
    everything = visited(alone)
    alone.apply(batch_of([(700, 701, 1.0, REMOVE)]))
    # Within n rounds n vertices on either side may change, each at no more than n rounds; a gather and a spread see two edges.
    assert visited(alone) <= 2 * rounds * rounds * 4 < everything / 400
    alone.check()


def test_a_hub_costs_its_neighbours_and_can_be_left_in_the_middle():
    leaves, rounds, fuel = 100_000, 2, 1000
    alone = Alone(LabelPropagation(rounds=rounds), fuel)
    alone.apply(batch_of([(leaf, 0, 1.0, INSERT) for leaf in range(1, leaves + 1)]))
    calls = sum(1 for _ in itertools.takewhile(lambda _: not alone.advance(), itertools.count()))
    seen = int(alone.state.counters[names.EDGES_VISITED])
    # The hub is gathered in each round, and so is each leaf; what changed in the first is spread.
    assert seen <= (2 * rounds + 2) * leaves
    assert calls >= seen / fuel / 2
    alone.check()
    alone.apply(batch_of([(1, 0, 1.0, REMOVE)]))
    assert visited(alone) <= (2 * rounds + 1) * leaves
    alone.check()
