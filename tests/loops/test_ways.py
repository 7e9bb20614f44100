"""Ways against networkx: every step is an edge of the prefix, and the weights make the value, in order and to the bit.

Which of several ways that are as good a branch gives is its business, so what a way says is looked at and not compared.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from apps.bfs import BreadthFirstSearch
from apps.connected_components import ConnectedComponents
from apps.reachability import Reachability
from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.loops.test_frontier import Held
from tests.promised import eventually
from tornado.errors import InternalError, InvalidArgument, WorkerLost
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.graph import graph_columns as graph_names
from tornado.loops import BranchState, Master
from tornado.loops import branch_ways as branch_ways_module
from tornado.loops import ways as ways_module
from tornado.loops.branch import Branch
from tornado.loops.branch_ways import back_among
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import REMOVE
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory, chain, mixed, random_multigraph

TIMEOUT_S = 120.0
SOURCE = 0


def inserted(src, dst, weight):
    return EdgeBatch.of(src, dst, weight)


def removed(src, dst, weight):
    return EdgeBatch.of(src, dst, weight, op=REMOVE)


def graph_of(edges):
    graph = nx.MultiDiGraph()
    graph.add_node(SOURCE)
    triples = zip(
        edges.src.tolist(), edges.dst.tolist(), edges.weight.astype(np.float64).tolist(), strict=True
    )
    graph.add_weighted_edges_from(triples)
    return graph


def widest(graph):
    widths = {SOURCE: math.inf}
    for width in sorted({weight for *_, weight in graph.edges(data="weight")}, reverse=True):
        wide = nx.DiGraph([(a, b) for a, b, weight in graph.edges(data="weight") if weight >= width])
        if SOURCE in wide:
            for vertex in nx.descendants(wide, SOURCE):
                widths.setdefault(vertex, width)
    return widths


def sums(weights):
    total = 0.0
    for weight in weights:
        total += weight
    return total


# A program, its values by networkx, and what the weights of a way make of it.
PROGRAMS = {
    "sssp": (
        ShortestPaths(source=SOURCE),
        lambda graph: nx.single_source_dijkstra_path_length(graph, SOURCE),
        sums,
    ),
    "bfs": (
        BreadthFirstSearch(source=SOURCE),
        lambda graph: nx.single_source_shortest_path_length(graph, SOURCE),
        lambda weights: float(len(weights)),
    ),
    "widest": (WidestPath(source=SOURCE), widest, lambda weights: min(weights, default=math.inf)),
    "reachability": (
        Reachability(sources=(SOURCE,)),
        lambda graph: dict.fromkeys({SOURCE, *nx.descendants(graph, SOURCE)}, 1.0),
        lambda weights: 1.0,
    ),
}


def look_at(ways, graph, expected, combined):
    """Every vertex of the graph has an entry that is right."""
    for vertex in graph:
        way = ways[vertex]
        if vertex not in expected:
            assert not way.is_reached
            assert not len(way.vertices)
            assert not len(way.weights)
            continue
        vertices, weights = way.vertices.tolist(), way.weights.tolist()
        assert way.value == expected[vertex], (vertex, way)
        assert (vertices[0], vertices[-1], len(weights)) == (SOURCE, vertex, len(vertices) - 1)
        assert combined(weights) == way.value, (vertex, way)
        assert len(set(vertices)) == len(vertices)
        for step, weight in zip(pairwise(vertices), weights, strict=True):
            between = graph.get_edge_data(*step) or {}
            assert weight in [edge["weight"] for edge in between.values()], (vertex, step, weight, between)


def ask(loop, ids, **options):
    branch = loop.fork(reads_ways=True, **options)
    assert branch.wait(TIMEOUT_S)
    return branch, branch.ways(ids)


@pytest.mark.parametrize("named", PROGRAMS)
@pytest.mark.parametrize("workers", [1, 2])
def test_ways_are_right_at_every_prefix_of_edges_that_come_and_go(named, workers):
    program, by_networkx, combined = PROGRAMS[named]
    # Few weights and many edges between the same two: ways that are as good, and parallel edges.
    records = mixed(random_multigraph(60, 200, seed=11, max_weight=3.0, integral=named != "sssp"), seed=12)
    history, step = EdgeHistory.of(records), 47
    with Master(workers=workers) as master:
        loop = master.start(program, "ways", 64)
        for first in range(0, len(records), step):
            batch = records.slice(first, min(first + step, len(records)))
            loop.admit(batch, "stream", first + len(batch))
            graph = graph_of(history.at(first + len(batch)))
            branch, ways = ask(loop, [*graph, 10**9])
            assert 10**9 not in ways
            if SOURCE not in ways:
                graph.remove_node(SOURCE)
            look_at(ways, graph, by_networkx(graph) if SOURCE in graph else {}, combined)
            branch.release()


STREAM = mixed(random_multigraph(80, 400, seed=21), seed=22)


@pytest.mark.parametrize(("workers", "engine"), [(2, "threads"), (2, "processes")])
@pytest.mark.parametrize("questions", [0, branch_ways_module._QUESTIONS])
def test_ways_cross_workers_a_stretch_at_a_time_or_out_of_all_parents(
    workers, engine, questions, monkeypatch
):
    monkeypatch.setattr(branch_ways_module, "_QUESTIONS", questions)
    program, by_networkx, combined = PROGRAMS["sssp"]
    graph = graph_of(EdgeHistory.of(STREAM).at(len(STREAM)))
    with Master(workers=workers, engine=engine) as master:
        loop = master.start(program, "ways", 64)
        loop.admit(STREAM, "stream", len(STREAM))
        branch, ways = ask(loop, list(graph))
        look_at(ways, graph, by_networkx(graph), combined)
        branch.release()


def test_a_way_is_of_the_version_of_its_branch_whatever_came_since():
    with Master(workers=2) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        loop.admit(inserted([0, 0, 1, 2], [1, 1, 2, 3], [2.0, 1.0, 4.0, 0.5]), "stream", 4)
        branch = loop.fork(reads_ways=True)
        assert branch.wait(TIMEOUT_S)
        loop.admit(removed([0, 1], [1, 2], [1.0, 4.0]), "stream", 6)
        loop.admit(inserted([2], [3], [0.25]), "stream", 7)
        assert loop.wait_idle(TIMEOUT_S)
        way = branch.ways([3])[3]
        assert (way.vertices.tolist(), way.weights.tolist(), way.value) == (
            [0, 1, 2, 3],
            [1.0, 4.0, 0.5],
            5.5,
        )
        branch.release()
        _, ways = ask(loop, [1, 3])
        assert (ways[1].weights.tolist(), ways[3].is_reached) == ([2.0], False)


def test_a_branch_that_was_freed_is_asked_nothing_though_its_version_is_still_leased():
    with Master(workers=1) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        loop.admit(inserted([0, 1], [1, 2], [2.0, 1.0]), "stream", 2)
        branch = loop.fork(reads_ways=True)
        assert branch.wait(TIMEOUT_S)
        # Its owner frees it at once; that the version can go, the worker hears later, and more edges may come before.
        for _, part in branch.states():
            part.free()
        for edge in range(20):
            loop.admit(inserted([edge], [edge + 1], [1.0]), "stream", 3 + edge)
        assert loop.wait_idle(TIMEOUT_S)
        later, ways = ask(loop, [2])
        assert ways[2].value == 2.0
        later.release()


def test_a_stop_that_comes_when_the_branch_is_over_and_freed_ends_nothing(monkeypatch):
    finished = Branch.finished

    def finished_at_the_deadline(self, worker, part):
        self.stop()
        finished(self, worker, part)

    def release(branch):
        assert branch.ways([0])[0].value == 0.0  # of the source alone: nobody is asked, as this is the worker
        branch.release()

    with Master(workers=1) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        loop.admit(inserted([0], [1], [2.0]), "stream", 1)
        assert loop.wait_idle(TIMEOUT_S)
        with monkeypatch.context() as patch:
            patch.setattr(Branch, "finished", finished_at_the_deadline)
            branch = loop.fork(reads_ways=True)
            branch.add_done_callback(release)
            assert branch.wait(TIMEOUT_S)
        later, ways = ask(loop, [1])
        assert ways[1].value == 2.0
        later.release()


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_ways_whose_workers_were_replaced_are_lost_with_them(engine):
    with Master(workers=2, engine=engine) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        loop.admit(inserted([0, 1], [1, 2], [2.0, 1.0]), "stream", 2)
        branch = loop.fork(reads_ways=True)
        assert branch.wait(TIMEOUT_S)
        master.rescale("ways", 1)
        found = ThreadPoolExecutor(1).submit(branch.ways, [2])
        with pytest.raises(WorkerLost):
            found.result(TIMEOUT_S)
        branch.release()
        later, ways = ask(loop, [2])
        assert ways[2].value == 3.0
        later.release()


def test_the_version_is_given_up_with_the_ways_or_with_the_branch():
    def leases(master, loop):
        hosts = master._hosts
        return [host.loop(loop.number).graph.columns.counters[graph_names.LEASED] for host in hosts]

    with Master(workers=2) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        loop.admit(inserted([0, 1], [1, 2], [2.0, 1.0]), "stream", 2)
        branch, first = ask(loop, [2])
        again = branch.ways([1, 2])
        assert again[2].vertices.tolist() == first[2].vertices.tolist() == [0, 1, 2]
        assert leases(master, loop) == [1, 1]
        branch.give_up_ways()
        eventually(lambda: leases(master, loop) == [0, 0])
        with pytest.raises(InternalError, match="given up"):
            branch.ways([2])
        branch.release()
        unread = loop.fork(reads_ways=True)
        assert unread.wait(TIMEOUT_S)
        assert leases(master, loop) == [1, 1]
        unread.release()
        eventually(lambda: leases(master, loop) == [0, 0])
        with Held(master._hosts[1]):  # else it may be over before
            gone = loop.fork(reads_ways=True)
            gone.cancel()
        assert gone.state is BranchState.CANCELLED
        eventually(lambda: leases(master, loop) == [0, 0])


@pytest.mark.parametrize(
    "source", [0, 5], ids=["the stored fixed point", "another source on the stored graph"]
)
def test_ways_of_a_stored_snapshot(source):
    graph = graph_of(EdgeHistory.of(STREAM).at(len(STREAM)))
    with Master(MemoryStore(), workers=2) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        loop.admit(STREAM, "stream", len(STREAM))
        at = loop.checkpoint()
        loop.admit(inserted([0], [7], [0.001]), "stream", len(STREAM) + 1)
        branch, ways = ask(loop, list(graph), at=at, parameters={"source": source} if source else None)
        expected = nx.single_source_dijkstra_path_length(graph, source)
        for vertex, value in expected.items():
            way = ways[vertex]
            assert (way.value, way.vertices[0], sums(way.weights.tolist())) == (value, source, value)
        assert not any(ways[vertex].is_reached for vertex in graph if vertex not in expected)
        branch.release()


def test_what_was_stopped_names_ways_only_where_they_make_the_value():
    with Master(workers=2) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        edges = chain(300)
        loop.admit(edges.records(), "stream", len(edges))
        branch = loop.fork({"source": 3}, max_iterations=20, reads_ways=True)
        assert branch.wait(TIMEOUT_S)
        assert branch.state is BranchState.STOPPED
        for vertex, way in branch.ways(range(301)).items():
            if len(way.vertices):
                assert way.vertices.tolist() == list(range(3, vertex + 1))
                assert way.value == sums(way.weights.tolist())
        branch.release()


def test_a_fixed_point_without_a_way_is_a_fault_of_ours_or_of_the_program_and_no_answer(monkeypatch):
    with Master(workers=1) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        loop.admit(inserted([0], [1], [2.0]), "stream", 1)
        branch = loop.fork(reads_ways=True)
        assert branch.wait(TIMEOUT_S)
        monkeypatch.setattr(ShortestPaths, "offer", staticmethod(lambda value, weight: value + weight + 1.0))
        with pytest.raises(InternalError, match="no way by which it came") as caught:
            branch.ways([1])
        for said in (
            "ShortestPaths is a program of yours",
            "`offer`",
            "docs/extending.md",
            "a bug in tornado-loops",
        ):
            assert said in str(caught.value)


def test_ways_of_more_vertices_than_may_be_in_all_are_refused_with_the_limit(monkeypatch):
    monkeypatch.setattr(ways_module, "MOST_VERTICES", 30)
    with Master(workers=1) as master:
        loop = master.start(ShortestPaths(source=0), "ways", 64)
        edges = chain(9)
        loop.admit(edges.records(), "stream", len(edges))
        branch = loop.fork(reads_ways=True)
        assert branch.wait(TIMEOUT_S)
        with pytest.raises(InvalidArgument, match="4 vertices pass more than 30 vertices"):
            branch.ways([9, 8, 7, 6])
        within = loop.fork(reads_ways=True)
        assert within.wait(TIMEOUT_S)
        assert len(within.ways([9, 8, 7])) == 3


def test_programs_whose_values_come_along_no_path_are_refused():
    with Master(workers=1) as master:
        loop = master.start(ConnectedComponents(), "components", 64)
        with pytest.raises(InvalidArgument, match="ConnectedComponents does not come along one path"):
            loop.fork(reads_ways=True)


def test_edges_between_two_vertices_are_all_found_at_each_version():
    graph = EvolvingGraph(PartitionMap.even(1))

    def apply(batch):
        done = 0
        while done < len(batch):
            graph.make_room(len(batch))
            done = graph.apply(batch.src, batch.dst, batch.weight, batch.op, done, len(batch))

    many = 500  # more than there is room for at first
    apply(inserted([1] * many + [1, 3], [2] * many + [3, 2], [*map(float, range(many)), 7.0, 8.0]))
    lease, version = graph.lease()
    apply(removed([1], [2], [3.0]))
    apply(inserted([1], [2], [999.0]))
    rows = graph.rows_of(np.array([1, 2, 3]))
    counts, weights = graph.weights_between(rows[[0, 2, 0, 1]], rows[[1, 1, 2, 0]], version)
    assert counts.tolist() == [many, 1, 1, 0]
    assert sorted(weights[:many].tolist()) == list(map(float, range(many)))
    assert weights[many:].tolist() == [8.0, 7.0]
    counts, weights = graph.weights_between(rows[[0]], rows[[1]], graph.lease()[1])
    assert sorted(weights.tolist()) == [*(float(w) for w in range(many) if w != 3), 999.0]
    graph.release(lease)


def test_steps_are_followed_among_all():
    vertices, parents = np.array([9, 4, 7, 1]), np.array([4, 1, 7, 1])
    places = back_among(vertices, parents, np.array([9, 9, 5]))
    assert vertices[places].tolist() == [9, 4, 1]
