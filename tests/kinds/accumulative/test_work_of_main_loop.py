"""How much a main loop does: it goes over to pulling in time, and does not leave it where sweeps get somewhere slowly."""

import numpy as np
import pytest

from apps.connected_components import ConnectedComponents
from apps.pagerank import PageRank
from tests.kept_store import KeptStore
from tornado.engine import SimulationEngine
from tornado.graph import PartitionMap
from tornado.kinds.accumulative import loop_columns as names
from tornado.kinds.accumulative import main_processor, processor, restorable_processor
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.testing import rmat


def removed(edges):
    return EdgeBatch(edges.src, edges.dst, edges.weight, np.full(len(edges), REMOVE, np.int8))


def counted(monkeypatch, kernel, name):
    """A list that grows with each call of an entry point of a kernel that begins at the first row."""
    calls, called = [], getattr(kernel, name)
    first = {"sweep": 3, "measure": 2}[name]

    def call(*arguments):
        if arguments[first] == 0:
            calls.append(name)
        return called(*arguments)

    monkeypatch.setattr(kernel, name, call)
    return calls


def test_it_pulls_when_announcing_has_cost_as_much_also_in_the_middle_of_a_list(monkeypatch):
    monkeypatch.setattr(main_processor, "FUEL", 64)  # so that lists are cut short all the time
    edges = rmat(10, seed=1).records()
    half = len(edges) // 2
    with Master(None, 1, SimulationEngine(1, seed=1)) as master:
        loop = master.start(PageRank(personalisation=(1,), accuracy=1e-8), "ranks")
        state = loop.parts()[0].state
        loop.admit(edges.slice(0, half), "edges", half)
        loop.admit(edges.slice(half, len(edges)), "edges", len(edges))
        assert loop.wait_idle(60)
        passes = state.counters[names.EDGES_VISITED] / state.counters[names.DEGREES]
        assert passes < 30


@pytest.mark.parametrize("seed", range(8))
def test_parts_hear_what_values_sum_to_though_another_loop_records_meanwhile(seed):
    with Master(None, 2, SimulationEngine(2, seed=seed)) as master:
        ranks = master.start(PageRank(), "ranks")
        components = master.start(ConnectedComponents(), "components", stream="ranks")
        ranks.admit(EdgeBatch.of([1, 2, 3], [2, 3, 1]), "edges", 3)
        assert ranks.wait_idle(60)
        ranks.admit(EdgeBatch.mentions(np.arange(10, 20)), "vertices", 10)
        branch = components.fork()
        branch.wait(60)
        branch.release()
        assert ranks.wait_idle(60)
        assert ranks.approximation().arrays()[1].sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("length", [2, 50])
def test_a_part_from_which_all_has_gone_comes_to_rest(length):
    owners = PartitionMap.even(2).owners_of(np.arange(300))
    source, ring = np.flatnonzero(owners == 0)[0], np.flatnonzero(owners == 1)[:length]
    with Master(None, 2, SimulationEngine(2, seed=length)) as master:
        loop = master.start(PageRank(personalisation=(int(source),)), "ranks")
        edges = EdgeBatch.of([source, *ring], [ring[0], *np.roll(ring, -1)])
        loop.admit(edges, "edges", len(edges))
        assert loop.wait_idle(60)
        loop.admit(removed(edges.slice(0, 1)), "edges", len(edges) + 1)
        before = loop.statistics().updates
        assert loop.wait_idle(60)
        assert loop.statistics().updates - before < 100 * length
        ids, values = loop.approximation().arrays()
        assert values[ids == source] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_what_is_placed_again_is_heard_over_each_edge_once(workers):
    edges, store = rmat(8, seed=1).records(), KeptStore()
    with Master(store, 2, SimulationEngine(2, seed=1)) as master:
        loop = master.start(PageRank(accuracy=1e-6), "ranks")
        loop.admit(edges, "edges", len(edges))
        assert loop.wait_idle(60)
        before = loop.approximation().arrays()[1]
        loop.checkpoint()
    with Master(store, workers, SimulationEngine(workers, seed=workers)) as master:
        loop = master.start(PageRank(accuracy=1e-6), "ranks")
        assert loop.restored.is_converged
        assert sum(part.state.counters[names.EDGES_VISITED] for part in loop.parts()) == len(edges)
        assert loop.statistics().updates == 0
        assert np.sort(loop.approximation().arrays()[1]) == pytest.approx(np.sort(before), abs=1e-6)


def test_it_comes_to_rest_also_where_nothing_can_be_as_near_as_asked():
    random = np.random.default_rng(1)
    with Master(None, 2, SimulationEngine(2, seed=1)) as master:
        loop = master.start(PageRank(damping=0.05, accuracy=1e-20, personalisation=(1,)), "ranks")
        loop.admit(EdgeBatch.of(*random.integers(0, 30, size=(2, 100))), "edges", 100)
        assert loop.wait_idle(60)


@pytest.mark.parametrize(("damping", "accuracy"), [(0.998, 5e-12), (0.999, 1e-11)])
def test_it_comes_to_rest_with_a_damping_near_1(damping, accuracy):
    random = np.random.default_rng(5)
    with Master(None, 1, SimulationEngine(1, seed=3)) as master:
        loop = master.start(PageRank(damping=damping, accuracy=accuracy), "ranks")
        for number in range(6):
            weights = 10.0 ** random.integers(-12, 13, size=40)
            edges = EdgeBatch.of(*random.integers(0, 25, size=(2, 40)), weights)
            for part, batch in enumerate((edges, removed(edges))):
                loop.admit(batch, "edges", 80 * number + 40 * part + 40)
                assert loop.wait_idle(60)


@pytest.mark.parametrize("waits", [False, True])
def test_weights_that_went_leave_no_wrong_ranks_behind(waits):
    light, heavy = (EdgeBatch.of([0, 1, 1], [0, 0, 1], [weight] * 3) for weight in (1e-12, 1e12))
    with Master(None, 1, SimulationEngine(1, seed=1)) as master:
        loop = master.start(PageRank(damping=0.5), "ranks")
        loop.admit(light, "edges", 3)
        assert not waits or loop.wait_idle(60)
        loop.admit(heavy, "edges", 6)
        loop.admit(removed(heavy), "edges", 9)
        assert loop.wait_idle(60)
        ids, values = loop.approximation().arrays()
        assert values[ids == 0] == pytest.approx(2 / 3, abs=1e-3)
        assert values[ids == 1] == pytest.approx(1 / 3, abs=1e-3)


def test_nobody_announces_by_a_part_of_a_weight(monkeypatch):
    for module in (main_processor, processor, restorable_processor):
        monkeypatch.setattr(module, "FUEL", 8)  # so that it is used up between any two messages
    owners = PartitionMap.even(2).owners_of(np.arange(40))
    sources, hub = np.flatnonzero(owners == 0)[:6], np.flatnonzero(owners == 1)[0]
    heavy, light = 105391066933.01816, 1.540723460670711e-06  # their difference takes more than a float64
    operations = np.array([INSERT] + [REPLACE] * 5, np.int8)
    for seed in range(6):
        with Master(None, 2, SimulationEngine(2, seed=seed)) as master:
            loop = master.start(PageRank(), "ranks", 64)
            loop.admit(EdgeBatch.of(sources, [hub] * 6, [1.0] + [heavy] * 5), "edges", 6)
            assert loop.wait_idle(60)
            lighter = EdgeBatch(sources, np.full(6, hub), np.array([1.0] + [light] * 5), operations)
            loop.admit(lighter, "edges", 12)
            assert loop.wait_idle(60)


def test_slow_sweeps_are_not_measured_one_by_one(monkeypatch):
    random, vertices = np.random.default_rng(1), 1 << 10
    numbers = random.permutation(vertices)  # the order of rows is nobody's
    first = np.repeat(np.arange(vertices), 2)
    second = (first + random.integers(-5, 7, 2 * vertices)) % vertices
    with Master(None, 1, SimulationEngine(1, seed=1)) as master:
        loop = master.start(PageRank(damping=0.99, accuracy=1e-6), "ranks")
        kernel = loop.parts()[0].kernel
        sweeps, measures = (counted(monkeypatch, kernel, name) for name in ("sweep", "measure"))
        loop.admit(EdgeBatch.of(numbers[first], numbers[second]), "edges", len(first))
        assert loop.wait_idle(60)
        assert len(sweeps) > 100
        assert len(measures) * 8 < len(sweeps)
