"""Hops, widest paths and reachability against oracles that know nothing of loops, while edges come and go.

Many of their values are equal, in reachability all of them: a cycle whose vertices could feed each other must not, once what
fed it is gone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import networkx as nx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.reachability import Reachability
from apps.widest_path import WidestPath
from tests.apps.judged_stream import JudgedStream
from tests.loops.streaming import TIMEOUT_S, bound_name
from tests.shortened import in_soak
from tornado import EdgeBatch, SelectiveProgram
from tornado.kinds.selective.loop_columns import INVALIDATIONS
from tornado.loops import Master
from tornado.storage import MemoryStore
from tornado.testing import (
    EdgeList,
    chain,
    concatenated,
    edge_list,
    exact_distances,
    fed_cycle,
    mixed,
    random_multigraph,
    rmat,
    without,
)


@dataclass(frozen=True)
class App:
    """A program, and what the vertices of a graph have that no app reaches in vain: by networkx, and by arrays."""

    program: SelectiveProgram
    by_networkx: Callable[[EdgeList], dict[int, float]]
    by_arrays: Callable[[EdgeList, np.ndarray], np.ndarray]


def first_of(value):
    """What is shown of a value: the first of a pair."""
    return value[0] if isinstance(value, tuple) else value


def graph_of(edges):
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from(
        zip(edges.src.tolist(), edges.dst.tolist(), map(float, edges.weight.tolist()), strict=True)
    )
    return graph


def found_from(graph, *sources):
    """What networkx reaches."""
    return {vertex for one in sources if one in graph for vertex in {one, *nx.descendants(graph, one)}}


def hops_by_networkx(edges):
    graph = graph_of(edges)
    return nx.single_source_shortest_path_length(graph, 0) if 0 in graph else {}


def hops_by_arrays(edges, ids):
    return exact_distances(EdgeList(edges.src, edges.dst, np.ones(len(edges)), edges.vertices), 0).lookup(ids)


def widths_by_networkx(edges):
    """The greatest weight such that the edges of at least this weight lead there."""
    graph = graph_of(edges)
    widths = {0: math.inf}
    for width in sorted(set(edges.weight.tolist()), reverse=True):
        wide = nx.MultiDiGraph([(a, b) for a, b, weight in graph.edges(data="weight") if weight >= width])
        for vertex in found_from(wide, 0):
            widths.setdefault(vertex, float(width))
    return widths


def widths_by_arrays(edges, ids):
    widths = np.full(len(ids), -math.inf)
    for width in np.unique(edges.weight):
        wide = edges.weight >= width
        kept = EdgeList(edges.src[wide], edges.dst[wide], np.ones(wide.sum()), edges.vertices)
        widths[np.isfinite(exact_distances(kept, 0).lookup(ids))] = width
    widths[ids == 0] = math.inf
    return widths


SOURCES = (0, 31, 45)


def reached_by_networkx(edges):
    return dict.fromkeys(found_from(graph_of(edges), *SOURCES), 1.0)


def reached_by_arrays(edges, ids):
    reached = np.isin(ids, SOURCES)
    for source in SOURCES:
        reached |= np.isfinite(exact_distances(edges, source).lookup(ids))
    return np.where(reached, 1.0, math.inf)


HOPS = App(BreadthFirstSearch(source=0), hops_by_networkx, hops_by_arrays)
WIDTHS = App(WidestPath(source=0), widths_by_networkx, widths_by_arrays)
REACHED = App(Reachability(sources=SOURCES), reached_by_networkx, reached_by_arrays)

every_app = pytest.mark.parametrize(
    "app", [HOPS, WIDTHS, REACHED], ids=lambda app: type(app.program).__name__
)
everywhere = pytest.mark.parametrize(
    ("workers", "bound"),
    [(workers, bound) for workers in (1, 2) for bound in (1, 64, None)],
    ids=lambda value: str(value) if isinstance(value, int) else bound_name(value),
)


class Stream(JudgedStream):
    """Judged by networkx where it is small, and else by arrays."""

    def __init__(self, app, records, workers, bound):
        super().__init__(app.program, records, workers, None, delay_bound=bound)
        self.app = app

    def judge(self, values, prefix, *, small=True):
        ids, found = values.arrays()
        seen = np.unique(np.concatenate([self.records.src[:prefix], self.records.dst[:prefix]]))
        assert np.array_equal(ids, seen)
        edges = self.history.at(prefix)
        if small:
            reached = self.app.by_networkx(edges)
            worst = first_of(self.app.program.worst)
            expected = np.array([reached.get(vertex, worst) for vertex in ids.tolist()], np.float64)
            # A source is reached where it has lost all its edges, too.
            initial, arguments = self.app.program.initial, self.app.program.arguments()
            own = np.array([first_of(initial(vertex, *arguments)) for vertex in ids.tolist()])
            expected = np.where(own != worst, own, expected)
        else:
            expected = self.app.by_arrays(edges, ids)
        wrong = np.flatnonzero(found != expected)
        assert not len(wrong), (
            f"after {prefix} records {len(wrong)} of {len(ids)} are wrong: vertex {ids[wrong[0]]} has {found[wrong[0]]}, "
            f"not {expected[wrong[0]]}"
        )

    def invalidations(self):
        assert self.loop.wait_idle(TIMEOUT_S)
        parts = [host._loops[self.loop.number] for host in self.loop._parts._hosts]
        return sum(int(part.state.counters[INVALIDATIONS]) for part in parts)


def joined(*batches):
    columns = zip(*((batch.src, batch.dst, batch.weight, batch.op) for batch in batches), strict=True)
    return EdgeBatch(*map(np.concatenate, columns))


def removed(*pairs):
    src, dst = zip(*pairs, strict=True)
    return EdgeBatch.of(src, dst, op=[-1] * len(pairs))


def check(app, before, after, workers, bound, *, size=None):
    """`after` takes back what `before` made: exact in between, with the loop idle or not, and in the end."""
    for waits in (True, False):
        with Stream(app, joined(before, after), workers, bound) as stream:
            stream.admit(len(before))
            if waits:
                stream.judge_main()
            branches = [stream.loop.fork()]
            while stream.admit(size or len(after)):
                branches.append(stream.loop.fork())
            for branch in branches:
                stream.judge_branch(branch)
            stream.judge_main()


@every_app
@everywhere
def test_an_answer_is_exact_after_each_batch_of_a_stream_in_which_edges_go_too(app, workers, bound):
    graph = random_multigraph(60, 500, seed=workers, integral=True)
    with Stream(app, mixed(graph, seed=4), workers, bound) as stream:
        while stream.admit(90):
            stream.judge_branch(stream.loop.fork())
        stream.judge_main()


@every_app
@everywhere
@pytest.mark.parametrize("length", [1, 2, 3, 50])
def test_a_cycle_of_equal_values_does_not_keep_itself_alive(app, workers, bound, length):
    # The ids are those of no source but 0, or the cycle would be fed by another one.
    cycle = edge_list((0, 1001, 1.0), *((1001 + i, 1001 + (i + 1) % length, 5.0) for i in range(length)))
    check(app, cycle.records(), removed((0, 1001)), workers, bound)


@every_app
@everywhere
def test_cycles_of_equal_values_that_share_vertices_go_together(app, workers, bound):
    inner = random_multigraph(40, 300, seed=3)
    shifted = ((1000 + int(a), 1000 + int(b), 5.0) for a, b in zip(inner.src, inner.dst, strict=True))
    check(app, edge_list((0, 1005, 1.0), *shifted).records(), removed((0, 1005)), workers, bound)


@every_app
@everywhere
def test_a_cycle_that_was_fed_twice_lives_on_the_other_edge(app, workers, bound):
    cycle = concatenated(fed_cycle(20, weight=5.0), edge_list((0, 10, 3.0), (0, 15, 1.0)))
    check(app, cycle.records(), removed((0, 1), (0, 10)), workers, bound, size=1)


@every_app
@everywhere
def test_every_edge_of_a_graph_goes(app, workers, bound):
    graph = random_multigraph(80, 400, seed=5, integral=True)
    check(app, graph.records(), without(graph, seed=6), workers, bound, size=150)


@every_app
@pytest.mark.parametrize(("workers", "bound"), [(1, 64), (2, 1), (2, 64), (2, None)])
def test_a_larger_graph_is_exact_while_its_edges_come_and_go(app, workers, bound):
    stream = mixed(rmat(10, seed=2), seed=3)
    with Stream(app, stream, workers, bound) as run:
        branches = []
        while run.admit(4000):
            branches.append(run.loop.fork())
        for branch in branches:
            run.judge_branch(branch, small=False)
        run.judge_main(small=False)


LENGTH = 200


@every_app
@everywhere
def test_what_hangs_on_a_lost_edge_is_given_up_once_each_and_nothing_else(app, workers, bound):
    # Two chains from 0 of the same length, so everything on the second one is as good as on the first; ids are those of no source.
    step = chain(LENGTH, weight=5.0)
    first = edge_list(
        (0, 1000, 5.0), *((1000 + a, 1000 + b, 5.0) for a, b in zip(step.src, step.dst, strict=True))
    )
    second = edge_list(
        (0, 2000, 5.0), *((2000 + a, 2000 + b, 5.0) for a, b in zip(step.src, step.dst, strict=True))
    )
    stream = joined(first.records(), second.records(), removed((1000, 1001)))
    with Stream(app, stream, workers, bound) as run:
        run.admit(len(stream) - 1)
        before = run.invalidations()
        run.admit(1)
        assert run.invalidations() - before == LENGTH
        run.judge_main()


@everywhere
def test_a_vertex_with_another_producer_heals_by_itself_only_where_that_one_is_strictly_better(
    workers, bound
):
    # 1000 to 1002 hang on 0 and feed 1003, which hangs on 1000 at first; its own edge goes, and 1004 hangs on it.
    fed = edge_list(*((0, 1000 + i, 5.0) for i in range(3)), (1000, 1003, 5.0), (1003, 1004, 5.0))
    others = edge_list((1001, 1003, 5.0), (1002, 1003, 5.0))
    stream = joined(fed.records(), others.records(), removed((1000, 1003)))
    costs = {}
    for app in (HOPS, WIDTHS, REACHED):
        with Stream(app, stream, workers, bound) as run:
            run.admit(len(fed))
            run.invalidations()  # idle, so that the parent is 1000
            run.admit(len(others))
            before = run.invalidations()
            run.admit(1)
            costs[type(app.program)] = run.invalidations() - before
            run.judge_main()
    assert costs == {BreadthFirstSearch: 0, WidestPath: 2, Reachability: 0}


@everywhere
@pytest.mark.parametrize("distance", ["the same", "greater"])
def test_what_is_reached_another_way_from_as_near_stays_so_without_a_wave(workers, bound, distance):
    # 1003 is two hops from the source 0 by way of 1000, and by way of 1001 too, or three by way of 1002.
    tree = edge_list(
        (0, 1000, 1.0), (1000, 1003, 1.0), (1003, 1004, 1.0), (1003, 1005, 1.0), (1005, 1003, 1.0)
    )
    other = edge_list(
        (0, 1001, 1.0), (1001, 1003 if distance == "the same" else 1002, 1.0), (1002, 1003, 1.0)
    )
    stream = joined(tree.records(), other.records(), removed((1000, 1003)))
    with Stream(REACHED, stream, workers, bound) as run:
        run.admit(len(tree))
        run.judge_main()  # idle, so that 1003 hangs on 1000
        run.admit(len(other))
        run.judge_main()
        before = run.loop.statistics().waves
        run.admit(1)
        run.judge_main()
        assert (run.loop.statistics().waves > before) == (distance == "greater")


def hops_from_sources(edges):
    graph = graph_of(edges)
    sources = [source for source in SOURCES if source in graph]
    return nx.multi_source_dijkstra_path_length(graph, sources, weight=lambda *_: 1)


def test_an_edge_that_goes_begins_a_wave_only_where_something_is_farther_or_out_of_reach_without_it():
    graph = random_multigraph(200, 2000, seed=8, integral=True)
    gone = without(graph, seed=9).slice(0, 300)
    farther = 0
    with Stream(REACHED, joined(graph.records(), gone), 1, 64) as run:
        run.admit(len(graph))
        run.judge_main()
        hops = hops_from_sources(run.history.at(run.admitted))
        while run.admit(1):
            run.judge_main()
            before, hops = hops, hops_from_sources(run.history.at(run.admitted))
            farther += hops != before
        assert run.loop.statistics().waves <= farther < len(gone) / 10


@dataclass(frozen=True)
class ReachedWithoutHops(SelectiveProgram):
    """Reachability whose values are all equal where something is reached, as it was once: a program of another identity."""

    sources: tuple[int, ...]

    @staticmethod
    def initial(vertex, sources):
        for source in sources:
            if vertex == source:
                return 1.0
        return math.inf

    @staticmethod
    def offer(value, weight):
        return value

    @staticmethod
    def better(value, other):
        return value < other


def test_values_are_stored_and_restored_but_those_of_the_program_without_hops_are_not_taken_over():
    store, records = MemoryStore(), random_multigraph(60, 150, seed=4).records()
    answers, restored = [], []
    for workers, program in ((2, ReachedWithoutHops), (1, Reachability), (2, Reachability)):
        with Master(store, workers) as master:
            loop = master.start(program(sources=SOURCES), "reached")
            if loop.restored is None:
                loop.admit(records, "stream", len(records))
            else:
                restored.append(loop.restored.is_converged)
            assert loop.wait_idle(TIMEOUT_S)
            updates = loop.statistics().updates
            answers.append([column.tolist() for column in loop.approximation().arrays()])
            loop.checkpoint()
    assert restored == [False, True]
    assert updates == 0
    assert answers[0] == answers[1] == answers[2]
    assert set(answers[0][1]) == {1.0, math.inf}


def test_other_sources_are_a_branch_of_their_own_and_compile_nothing():
    stream = random_multigraph(40, 60, seed=3)
    graph = graph_of(stream)
    with Master(workers=2) as master:
        loop = master.start(Reachability(sources=(0,)), "reached")
        loop.admit(stream.records(), "stream", len(stream))
        kernel = Reachability.kernel()
        compiled = [len(function.signatures) for function in (kernel.fork_fresh, kernel.advance)]
        for sources in ((), (1,), (2, 3), tuple(range(0, 40, 3)), (999,)):
            branch = loop.fork(parameters={"sources": sources})
            assert branch.wait(TIMEOUT_S)
            ids, values = branch.values().arrays()
            assert set(ids[values == 1.0].tolist()) == found_from(graph, *sources)
            assert set(values.tolist()) <= {1.0, math.inf}
        assert [len(function.signatures) for function in (kernel.fork_fresh, kernel.advance)] == compiled


@pytest.mark.parametrize("engine", ["threads", in_soak("processes")])
def test_a_session_takes_sources_by_number_and_by_name(engine):
    with tornado.open("memory:", engine=engine, workers=2) as session:
        numbers = session.start(Reachability(sources=(1, 5)), name="numbers")
        numbers.insert([1, 2, 4, 5], [2, 3, 1, 6])
        assert numbers.query(vertices=[1, 2, 3, 4, 6]).values == {1: 1.0, 2: 1.0, 3: 1.0, 4: math.inf, 6: 1.0}
        assert numbers.query(vertices=[2, 6], parameters={"sources": [5]}).values == {2: math.inf, 6: 1.0}
        towns = session.start(Reachability(sources=("Rome", "Oslo")), name="towns", ids="string")
        towns.insert(["Rome", "Bonn"], ["Pisa", "Kiel"])
        assert towns.query(vertices=["Pisa", "Kiel"]).values == {"Pisa": 1.0, "Kiel": math.inf}
        there = towns.query(vertices=["Pisa", "Kiel"], parameters={"sources": ["Kiel"]})
        assert there.values == {"Pisa": math.inf, "Kiel": 1.0}


def test_over_http_sources_are_a_list_and_what_is_out_of_reach_is_null():
    with tornado.open("memory:", workers=2) as session:
        reached = session.start(Reachability(sources=(1,)), name="reached")
        widths = session.start(WidestPath(source=1), name="widths")
        for loop in (reached, widths):
            loop.insert([1, 2, 4], [2, 3, 5], [4.0, 7.0, 1.0])
        url = f"{session.serve().url}/v1/queries?wait_s=60"

        def ask(loop, **question):
            return httpx.post(url, json={"loop": loop, **question}, trust_env=False, timeout=90)

        def values(answer):
            assert answer.status_code == 200, answer.text
            return {row["vertex"]: row["value"] for row in answer.json()["result"]["values"]}

        assert values(ask("reached", vertices=[1, 3, 4])) == {1: 1.0, 3: 1.0, 4: None}
        there = ask("reached", vertices=[1, 3, 5], parameters={"sources": [2, 4]})
        assert values(there) == {1: None, 3: 1.0, 5: 1.0}
        assert values(ask("widths", vertices=[1, 3, 5])) == {1: "Infinity", 3: 4.0, 5: None}
        refused = ask("reached", parameters={"sources": [2, "4"]})
        assert refused.status_code == 422
        assert "sources[1] is '4' but must be a whole number" in refused.json()["detail"]


@pytest.mark.parametrize("sources", [1, [1, 2], (1, "2"), (1, 2**63), (True,), (1.0,)])
def test_sources_that_are_no_tuple_of_ids_are_refused_before_anything_starts(sources):
    with (
        Master() as master,
        pytest.raises(tornado.errors.InvalidArgument, match="must be a tuple of integers"),
    ):
        master.start(Reachability(sources=sources), "reached")
