"""Edges that come in bulk while a graph is filled: no loop hears of them one by one, and each of all of them in the end."""

from dataclasses import dataclass
from random import Random
from typing import ClassVar

import numpy as np
import pytest

from apps.bfs import BreadthFirstSearch
from apps.pagerank import PageRank
from apps.sssp import ShortestPaths
from tests.kinds.accumulative import fuzz
from tests.kinds.accumulative.truth import Multigraph, pagerank
from tests.shortened import shortened
from tornado import SelectiveProgram, recovery_simulation
from tornado.engine import SimulationEngine
from tornado.graph import bulk_load, evolving_graph
from tornado.kinds.accumulative.main_processor import AccumulativeMain
from tornado.kinds.selective import main_processor
from tornado.kinds.selective.main_processor import MainProcessor
from tornado.loops import Master, stream_part
from tornado.loops.new_loop import NewLoop
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE
from tornado.testing import EdgeList, edge_list, exact_distances, random_multigraph

A_BLOCK = 20
EDGES = random_multigraph(400, 6_000, seed=4)


@pytest.fixture
def small(monkeypatch):
    """Any insertions fill a graph, a few at a time; returns how often loops were told to take them in, and by whom."""
    monkeypatch.setattr(stream_part, "_IN_BULK", 1)
    monkeypatch.setattr(stream_part, "_LEAST_BURST", 1)
    monkeypatch.setattr(stream_part, "_MOST_STEPS_WITHOUT", 15)
    monkeypatch.setattr(evolving_graph, "_MOST_IN_BULK", 64)
    monkeypatch.setattr(bulk_load, "_STRETCH_BITS", 2)
    monkeypatch.setattr(main_processor, "_FILLS_BY", 300)
    monkeypatch.setattr(main_processor, "_FILLS_SHARE", 1 << 20)
    taken = []

    def noting(part_class):
        take_in = part_class.take_in_edges

        def noted(part, version):
            taken.append((part.worker, version, part.graph.sequence))
            take_in(part, version)

        monkeypatch.setattr(part_class, "take_in_edges", noted)

    noting(MainProcessor)
    noting(AccumulativeMain)
    return taken


def exact(branch, edges, *, hops=False):
    assert branch.wait(60), branch.error
    ids, values = branch.values().arrays()
    if hops:
        edges = EdgeList(edges.src, edges.dst, np.ones(len(edges)), edges.vertices)
    assert np.array_equal(values, exact_distances(edges, 0).lookup(ids))
    assert set(edges.ids()) <= set(ids)
    branch.release()


def run(seed, workers):
    """Fill a graph, with some removals, forks, and another loop that begins: all under a seed."""
    random = Random(seed)
    edges = random_multigraph(random.choice([8, 40, 150]), 900, seed=seed)
    with Master(workers=workers, engine=SimulationEngine(workers, seed=seed)) as master:
        loops, forks = [master.start(ShortestPaths(source=0), "paths")], []
        left, at = np.arange(0), 0
        while at < len(edges):
            kind = random.random()
            if kind < 0.6:
                coming = np.arange(at, min(len(edges), at + random.choice([5, 30, 120])))
                at += len(coming)
                loops[0].admit(edges[coming].records(), "edges", at)
                left = np.concatenate([left, coming])
            elif kind < 0.7 and len(left):
                gone = np.array(random.sample(left.tolist(), min(len(left), 9)))
                loops[0].admit(edges[gone].records(op=REMOVE), "removals", random.randrange(1 << 40))
                left = np.setdiff1d(left, gone)
            elif kind < 0.8:
                loop = random.choice(loops)
                forks.append((loop.fork(), edges[left], loop is not loops[0]))
            elif kind < 0.9:
                master.engine.step(random.choice([1, 10, 100]))
            elif len(loops) == 1:
                loops.append(master.start(BreadthFirstSearch(source=0), "hops", stream="paths"))
            if random.random() < 0.3:
                while forks:
                    branch, then, hops = forks.pop()
                    exact(branch, then, hops=hops)
        for branch, then, hops in forks:
            exact(branch, then, hops=hops)
        for loop in loops:
            assert loop.wait_idle(60)
            updates = exact_distances(edges[left], 0) if loop is loops[0] else None
            ids, values = loop.approximation().arrays()
            assert updates is None or np.array_equal(values, updates.lookup(ids))
            exact(loop.fork(), edges[left], hops=loop is not loops[0])


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("block", shortened(range(6), 3))
def test_whatever_comes_in_bulk_each_answer_is_exact(small, workers, block):
    for seed in range(block * A_BLOCK, (block + 1) * A_BLOCK):
        run(seed, workers)
    beside = [version for _, version, _ in small if version]
    print(f"taken in {len(small)} times, {len(beside)} of them beside what was there")
    assert len(small) > A_BLOCK and len(beside) > A_BLOCK / 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_loop_that_does_not_take_in_what_came_beside_what_was_there_is_found(small, workers, monkeypatch):
    """Of the check above."""
    take_in = MainProcessor.take_in_edges
    monkeypatch.setattr(
        MainProcessor,
        "take_in_edges",
        lambda part, version: take_in(part, part.graph.sequence if version else version),
    )

    def run_all():
        for seed in range(A_BLOCK):
            run(seed, workers)

    with pytest.raises(AssertionError):
        run_all()


@pytest.mark.parametrize("group", shortened(range(8), 4))
def test_no_certificate_is_violated_where_the_first_edges_come_in_bulk(small, group):
    for seed in range(7_000 + 10 * group, 7_010 + 10 * group):
        fuzz.run(seed, largest=100)
    assert len(small) > 5


def test_a_loop_that_takes_in_none_of_the_first_edges_is_found(small, monkeypatch):
    """Of the check above."""
    monkeypatch.setattr(AccumulativeMain, "take_in_edges", lambda part, _: part.activate())

    def run_all():
        for seed in range(7_000, 7_010):
            fuzz.run(seed, largest=100)

    with pytest.raises(AssertionError):
        run_all()


def test_ranks_and_ways_on_one_stream_are_filled_together_and_ranks_not_again(small):
    with Master(workers=2, engine=SimulationEngine(2, seed=3)) as master:
        beside = NewLoop(PageRank(tolerance=1e-9), "ranks")
        paths = master.start(ShortestPaths(source=0), "paths", beside=[beside])
        ranks = master.loops["ranks"]
        for at in range(0, 2_000, 500):
            paths.admit(EDGES[at : at + 500].records(), "edges", at + 500)
        exact(paths.fork(), EDGES[:2_000])
        assert [worker for worker, _, _ in sorted(small)] == [
            0,
            0,
            1,
            1,
        ]  # of each loop, of all of them at once
        assert {version for _, version, _ in small} == {0}
        paths.admit(EDGES[2_000:].records(), "edges", len(EDGES))
        branch = ranks.fork()
        assert branch.wait(60)
        truth = truth_of(EDGES)
        ids, values = branch.values().arrays()
        assert np.abs(values - np.array([truth[vertex] for vertex in ids.tolist()])).sum() <= 1e-9
        exact(paths.fork(), EDGES)
        assert len(small) == 4


def truth_of(edges):
    graph = Multigraph()
    graph.apply(edges.records())
    return pagerank(graph.edges, graph.vertices, PageRank().damping)


def test_while_nobody_asks_edges_wait_until_nothing_has_come_for_a_while_and_then_the_loop_has_them(small):
    with Master(workers=1, engine=SimulationEngine(1, seed=1)) as master:
        loop = master.start(ShortestPaths(source=0), "paths")
        loop.admit(EDGES[:200].records(), "edges", 200)
        master.engine.step(5)
        stream = loop.parts()[0].stream
        assert stream.is_filling and not loop.is_idle()
        assert loop.statistics().edges == 200
        assert stream.graph.is_loading and not small
        master.engine.step(30)
        assert not stream.is_filling
        assert loop.wait_idle(60)
        exact(loop.fork(), EDGES[:200])
        assert small == [(0, 0, 200)]


def test_what_comes_bit_by_bit_is_not_waited_for(small, monkeypatch):
    monkeypatch.setattr(main_processor, "_FILLS_BY", 1_000)
    monkeypatch.setattr(stream_part, "_LEAST_BURST", 100)
    monkeypatch.setattr(stream_part, "_MOST_STEPS_WITHOUT", 1 << 20)
    with Master(workers=1, engine=SimulationEngine(1, seed=1)) as master:
        loop = master.start(ShortestPaths(source=0), "paths")
        stream = loop.parts()[0].stream
        admitted, filling = 0, []
        for count in (200, 200, 99):
            loop.admit(EDGES[admitted : admitted + count].records(), "edges", admitted + count)
            admitted += count
            master.engine.step(5)
            filling.append(stream.is_filling)
        assert filling == [True, True, False]
        assert loop.wait_idle(60)
        assert small == [(0, 0, 499)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_backlog_that_ends_is_propagated_soon_and_seen_before(workers):
    edges = random_multigraph(20_000, 200_000, seed=5)
    with Master(workers=workers) as master:
        loop = master.start(ShortestPaths(source=0), "paths")
        busy = master.start(ShortestPaths(source=0), "busy")
        for at in range(0, len(edges), 50_000):
            loop.admit(edges[at : at + 50_000].records(), "edges", at + 50_000)
        # Whoever looks around has the edges that are there.
        source = int(edges.src[0])
        found = loop.stream.workers.around(source, most=1 << 20, timeout_s=20)
        assert 0 < found.edges_out <= int((edges.src == source).sum())
        # The other stream keeps the workers from ever having nothing to do.
        until = 0
        while not loop.is_idle():
            busy.admit(edges[until : until + 2].records(), "edges", until + 2)
            until += 2
            assert until < 100_000
        ids, values = loop.approximation().arrays()
        assert np.array_equal(values, exact_distances(edges, 0).lookup(ids))
        assert loop.statistics().edges == len(edges)


@pytest.mark.parametrize("block", shortened(range(6), 3))
@pytest.mark.parametrize("steps", [15, 400])
def test_no_schedule_with_faults_breaks_a_law_where_edges_come_in_bulk(small, block, steps, monkeypatch):
    """Workers and drivers that are lost, snapshots that are loaded, while most batches only insert."""
    monkeypatch.setattr(stream_part, "_MOST_STEPS_WITHOUT", steps)
    monkeypatch.setattr(recovery_simulation, "_DELAY_BOUNDS", ("auto",))
    record = recovery_simulation._Recovery.record

    def batch(recovery):
        rng, rows = recovery.rng, []
        only_inserts = rng.random() < 0.8
        for _ in range(rng.randint(1, 12)):
            row = record(recovery)
            if only_inserts:
                row = rng.choice(recovery.ids), rng.choice(recovery.ids), float(rng.choice((0, 1, 5))), INSERT
                recovery.inserted.append(row[:3])
            rows.append(row)
        src, dst, weight, op = zip(*rows, strict=True)
        return EdgeBatch.of(src, dst, np.array(weight, np.float64), op=np.array(op, np.int8))

    monkeypatch.setattr(recovery_simulation._Recovery, "batch", batch)
    for seed in range(block * A_BLOCK, (block + 1) * A_BLOCK):
        recovery_simulation.simulate_recovery(seed)
    assert len(small) > A_BLOCK / 2


@dataclass(frozen=True)
class Inverse(SelectiveProgram):
    """Raises where a weight is 0."""

    source: int
    worst: ClassVar[float] = np.inf

    @staticmethod
    def initial(vertex, source):
        return 0.0 if vertex == source else np.inf

    @staticmethod
    def offer(value, weight):
        return value + 1.0 / weight

    @staticmethod
    def better(value, other):
        return value < other


def test_a_loop_that_raises_where_it_takes_in_what_came_in_bulk_fails_alone(small, monkeypatch):
    monkeypatch.setattr(MainProcessor, "may_fill", lambda part: not part._is_taking_in)
    with Master(workers=1) as master:
        other = master.start(ShortestPaths(source=0), "other")
        bad = master.start(Inverse(source=0), "bad")
        good = master.start(ShortestPaths(source=0), "good", stream="bad")
        good.admit(edge_list((0, 1, 1.0), (1, 2, 1.0)).records(), "edges", 2)
        assert good.wait_idle(60)
        good.admit(edge_list((0, 3, 0.0), (2, 3, 1.0)).records(), "edges", 4)
        assert good.wait_idle(60)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            bad.wait_idle(60)
        assert [version for _, version, _ in small] == [0, 0, 2, 2]
        exact(good.fork(), edge_list((0, 1, 1.0), (1, 2, 1.0), (0, 3, 0.0), (2, 3, 1.0)))
        assert other.error is None
