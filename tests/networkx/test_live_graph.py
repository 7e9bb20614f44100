"""A live graph beside networkx: after every edit both answer the same."""

import concurrent.futures.thread as pools
import gc
import random
import subprocess
import sys
import threading

import networkx as nx
import pytest

from tornado.networkx import LiveGraph
from tornado.networkx.dispatch import Backend
from tornado.networkx.functions import FUNCTIONS
from tornado.networkx.information import get_info

SEED = 5


def same_everywhere(live, graph):
    source = next(iter(graph))
    assert nx.single_source_dijkstra_path_length(live, source) == nx.single_source_dijkstra_path_length(
        graph, source
    )
    assert nx.single_source_shortest_path_length(live, source) == nx.single_source_shortest_path_length(
        graph, source
    )
    ranks, own = nx.pagerank(live, tol=1e-9), nx.pagerank(graph, tol=1e-12, max_iter=1000)
    assert list(ranks) == list(own)
    assert sum(abs(ranks[node] - own[node]) for node in own) < 1e-8
    if not graph.is_directed():
        assert list(nx.connected_components(live)) == list(nx.connected_components(graph))
        assert nx.core_number(live) == nx.core_number(graph)
        assert nx.clustering(live) == pytest.approx(nx.clustering(graph), abs=1e-15)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_answers_are_those_of_networkx_after_every_round_of_edits(kind):
    chance = random.Random(SEED)
    graph = kind(nx.gnm_random_graph(40, 90, seed=SEED))
    for _, _, attributes in graph.edges(data=True):
        attributes["weight"] = chance.randint(1, 9)
    with LiveGraph(graph) as live:
        same_everywhere(live, graph)
        for step in range(4):
            gone = chance.sample(list(graph.edges()), 10)
            added = [(chance.choice(["new", 1, 2, 3]), 100 + step, chance.randint(1, 9)) for _ in range(3)]
            heavier = [(*chance.choice(list(graph.edges())), 50) for _ in range(3)]
            for both in (live, graph):
                both.remove_edges_from(gone)
                both.add_weighted_edges_from(added)
                both.add_weighted_edges_from(heavier)
                both.add_node(f"alone {step}")
            same_everywhere(live, graph)
        for both in (live, graph):
            both.remove_node(100)
        same_everywhere(live, graph)
        assert nx.utils.graphs_equal(live.to_networkx(), graph)


RANKED = [
    {},
    {"personalization": {0: 2.0, 1: 1.5}},
    {"personalization": {3: 1}, "alpha": 0.7},
    {"alpha": 0.5},
]


@pytest.mark.parametrize("first", RANKED)
def test_a_question_is_answered_by_its_own_parameters_whatever_was_asked_before(first):
    graph = nx.gnm_random_graph(20, 60, seed=SEED, directed=True)
    with LiveGraph(graph) as live:
        for options in (first, *RANKED, first):
            ranks = nx.pagerank(live, tol=1e-9, **options)
            assert ranks == pytest.approx(nx.pagerank(graph, tol=1e-12, **options), abs=1e-8), options
        alone = live.ask("pagerank", {}).to_numpy()["value"]
        assert alone == pytest.approx(list(nx.pagerank(graph, tol=1e-12).values()), abs=1e-5)


def test_a_graph_that_began_empty_and_one_that_is_converted_by_a_call():
    live = LiveGraph(directed=True)
    assert nx.pagerank(live) == {}
    live.add_edges_from([("a", "b"), ("b", "c", {"weight": 2.5})])
    assert nx.single_source_dijkstra_path_length(live, "a") == {"a": 0, "b": 1, "c": 3.5}
    assert nx.dijkstra_path_length(live, "a", "c") == 3.5
    with pytest.raises(nx.NetworkXNoPath, match="Node a not reachable from c"):
        nx.dijkstra_path_length(live, "c", "a")
    live.close()
    graph = nx.path_graph(4)
    assert nx.core_number(graph, backend="tornado") == nx.core_number(graph)
    assert LiveGraph(graph).conversion.edges == 3


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pagerank", {"nstart": {0: 1}}),
        ("pagerank", {"dangling": {0: 1}}),
        ("pagerank", {"alpha": 1.0}),
        ("katz_centrality", {"beta": {0: 1.0}}),
        ("clustering", {"weight": "weight"}),
        ("single_source_dijkstra_path_length", {"source": 0, "weight": lambda *_: 1}),
    ],
)
def test_a_call_whose_answer_would_not_be_that_of_networkx_is_not_taken(name, arguments):
    graph = nx.path_graph(3)
    assert isinstance(Backend.can_run(name, (graph,), arguments), str)
    with pytest.raises(NotImplementedError):
        getattr(nx, name)(graph, backend="tornado", **arguments)


def test_directed_triangles_and_cores_are_left_to_networkx():
    with pytest.raises(NotImplementedError):
        nx.clustering(nx.MultiGraph([(1, 2), (1, 2)]), backend="tornado")
    for name in ("clustering", "core_number"):
        assert "directed" in Backend.can_run(name, (nx.DiGraph([(1, 2)]),), {})


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "far", None])
def test_a_weight_that_is_no_number_from_0_is_refused(weight):
    graph = nx.Graph()
    graph.add_edge(1, 2, weight=weight)
    with pytest.raises(NotImplementedError, match="a weight is"):
        LiveGraph(graph)
    with pytest.raises(NotImplementedError, match="a weight is"):
        LiveGraph().add_edge(1, 2, weight=weight)


@pytest.mark.parametrize("weight", [1e-15, 1e15])
def test_what_one_function_cannot_take_is_not_lost_for_the_others(weight):
    graph = nx.Graph([(1, 2, {"weight": weight}), (2, 3, {"weight": weight})])
    with LiveGraph(graph) as live:
        with pytest.raises(NotImplementedError):
            nx.pagerank(live)
        assert nx.dijkstra_path_length(live, 1, 3) == 2 * weight
        with pytest.raises(NotImplementedError):  # beside a loop that takes them
            nx.pagerank(live)
    with LiveGraph(nx.Graph([(1, 2), (2, 3)])) as live:
        assert len(nx.pagerank(live)) == 3
        live.add_edge(3, 4, weight=weight)
        with pytest.raises(NotImplementedError):
            nx.pagerank(live)
        assert nx.dijkstra_path_length(live, 1, 4) == 2 + weight


@pytest.mark.filterwarnings("ignore:Note. conversions")
def test_a_graph_with_weights_answers_what_has_none_and_follows_its_edits():
    graph = nx.Graph([(1, 2, {"weight": 2}), (2, 3, {"weight": 5}), (4, 5, {"weight": 3})])
    assert len(nx.pagerank(graph, backend="tornado")) == 5  # networkx keeps this conversion for the next call
    assert nx.katz_centrality(graph, backend="tornado") == pytest.approx(nx.katz_centrality(graph), abs=1e-5)
    with LiveGraph(graph) as live:
        for edit in (
            lambda one: one.add_edge(1, 2, weight=7),
            lambda one: one.add_edge(3, 4, weight=2),
            lambda one: one.remove_edge(1, 2),
            lambda one: one.add_node(6),
            lambda one: one.remove_node(1),
        ):
            edit(graph), edit(live)
            assert nx.katz_centrality(live) == pytest.approx(nx.katz_centrality(graph), abs=1e-5)
            ways = nx.single_source_dijkstra_path_length(live, 2, weight=None)
            assert ways == nx.single_source_dijkstra_path_length(graph, 2, weight=None)
            assert nx.dijkstra_path_length(live, 4, 5) == 3


def test_exceptions_are_those_of_networkx():
    with LiveGraph(nx.cycle_graph(3, create_using=nx.DiGraph)) as live:
        with pytest.raises(nx.PowerIterationFailedConvergence):
            nx.katz_centrality(live, alpha=2.0)
        with pytest.raises(nx.PowerIterationFailedConvergence):
            nx.pagerank(live, max_iter=0)
        with pytest.raises(nx.NodeNotFound):
            nx.single_source_dijkstra_path_length(live, 17)
        with pytest.raises(ZeroDivisionError):
            nx.pagerank(live, personalization={0: 0})
        with pytest.raises(nx.NetworkXError, match="is not in the graph"):
            live.remove_edge(0, 2)
        with pytest.raises(nx.NetworkXNotImplemented):
            nx.connected_components(live)
    with (
        LiveGraph(nx.Graph([(1, 1)])) as looped,
        pytest.raises(nx.NetworkXNotImplemented, match="self loops"),
    ):
        nx.core_number(looped)


def test_weights_of_another_name_than_those_that_were_read_are_refused():
    with (
        LiveGraph(nx.Graph([(1, 2, {"weight": 5})])) as live,
        pytest.raises(nx.NetworkXError, match="'weight' and not 'km'"),
    ):
        nx.single_source_dijkstra_path_length(live, 1, weight="km")


def test_what_networkx_is_told_is_what_there_is():
    assert get_info()["functions"].keys() == FUNCTIONS.keys()
    assert "tornado" in nx.utils.backends.backends


def test_a_graph_that_is_dropped_amid_anything_ends_its_loops_and_waits_for_nobody():
    before = set(threading.enumerate())
    live = LiveGraph(nx.path_graph(4))
    assert nx.core_number(live) == {0: 1, 1: 1, 2: 1, 3: 1}
    workers = {
        thread for thread in threading.enumerate() if thread.name.startswith("tornado-worker")
    } - before
    assert workers
    graphs = [live]
    del live
    dropping = threading.Thread(target=lambda: (graphs.clear(), gc.collect()), daemon=True)
    # Whoever submits to a pool has this lock, and may find the graph to be garbage meanwhile.
    with pools._global_shutdown_lock:
        dropping.start()
        dropping.join(60)
        assert not dropping.is_alive()
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()


def test_a_program_ends_whose_graphs_nobody_closed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import networkx as nx\n"
        "from tornado.networkx import LiveGraph\n"
        "kept = LiveGraph(nx.path_graph(4))\n"
        "print(nx.core_number(kept), nx.core_number(nx.path_graph(3), backend='tornado'))\n"
    )
    ended = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=300, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "{0: 1, 1: 1, 2: 1, 3: 1} {0: 1, 1: 1, 2: 1}\n"), (
        ended.stderr
    )


def test_a_forked_process_ends_and_leaves_the_loops_to_the_one_that_has_them(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "import networkx as nx\n"
        "from tornado.networkx import LiveGraph, live_graph\n"
        "kept = LiveGraph(nx.path_graph(4))\n"
        "nx.core_number(kept)\n"
        "closing = live_graph._SESSIONS._closing\n"
        "closing.acquire()  # as when a session is closed just now\n"
        "if not (child := os.fork()):\n"
        "    sys.exit(3)\n"
        "status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "closing.release()\n"
        "print(status, nx.core_number(kept))\n"
    )
    ended = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=300, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "3 {0: 1, 1: 1, 2: 1, 3: 1}\n"), ended.stderr
