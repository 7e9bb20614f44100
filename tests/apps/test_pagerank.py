"""PageRank as networkx defines it, within what its certificate says, and what is not a question or not a graph."""

import csv
import json
import math
import subprocess
import sys

import httpx
import networkx as nx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.pagerank import PageRank
from tests.end_to_end.running import CHECKOUT, NDJSON, environment_in
from tests.kinds.accumulative.truth import Multigraph, distance, pagerank
from tornado import EdgeBatch, InvalidArgument
from tornado.engine import SimulationEngine
from tornado.errors import NotSupported
from tornado.loops import BranchState, Master
from tornado.testing import rmat

WAIT_S = 60
SOLVER = 1e-14


def values_of(values):
    ids, found = values.arrays()
    return dict(zip(ids.tolist(), found.tolist(), strict=True))


def asked(loop, **parameters):
    """Values and certificate of a branch that has converged."""
    branch = loop.fork(parameters)
    assert branch.wait(WAIT_S)
    assert branch.error is None
    assert branch.state is BranchState.CONVERGED
    found = values_of(branch.values()), branch.certificate
    branch.release()
    return found


def random_records(random, *, vertices, size):
    source, target = random.integers(0, vertices, (2, size))
    weight = random.choice([1.0, 0.5, 2.0, 100.0, 0.0], size)
    operation = random.choice(np.array([1, 1, 1, 1, -1, 2], np.int8), size)
    return EdgeBatch(source, target, weight, operation)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_it_is_what_networkx_computes(workers):
    """With weights, self-loops, parallel edges, vertices without out-edges and a personalisation."""
    random, truth = np.random.default_rng(workers), Multigraph()
    with Master(workers=workers) as master:
        loop = master.start(PageRank(tolerance=1e-10), "ranks")
        offset = 0
        for _ in range(4):
            batch = random_records(random, vertices=50, size=150)
            offset += len(batch)
            loop.admit(batch, "records", offset)
            truth.apply(batch)
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(truth.vertices)
        for ends, weights in truth.edges.items():
            graph.add_weighted_edges_from((*ends, weight) for weight in weights if weight)
        named = {3: 2, 7: 1}
        exact = {"max_iter": 100_000, "tol": 1e-15}
        for parameters, expected in (
            ({}, nx.pagerank(graph, **exact)),
            ({"damping": 0.6}, nx.pagerank(graph, 0.6, **exact)),
            ({"personalisation": (3, 7, 3)}, nx.pagerank(graph, personalization=named, **exact)),
        ):
            found, certificate = asked(loop, **parameters)
            assert certificate["kind"], certificate["norm"] == ("bound", "l1")
            assert certificate["bound"] <= 1e-10
            assert distance(found, expected) <= certificate["bound"] + 1e-12  # networkx stops at N * tol
            assert math.fsum(found.values()) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("workers", [1, 2])
def test_each_tolerance_is_kept_while_edges_come(workers):
    edges = rmat(9, seed=workers)
    source, target = edges.src.astype(np.int64), edges.dst.astype(np.int64)
    with Master(workers=workers) as master:
        loop = master.start(PageRank(), "ranks")
        forked = []
        for first in range(0, len(source), 1000):
            part = slice(first, first + 1000)
            loop.admit(EdgeBatch.of(source[part], target[part]), "edges", first + 1000)
            forked += [
                (first + 1000, tolerance, loop.fork({"tolerance": tolerance}))
                for tolerance in (1e-2, 1e-5, 1e-9, 1e-12)
            ]
        for count, tolerance, branch in forked:
            assert branch.wait(WAIT_S)
            truth = Multigraph()
            truth.apply(EdgeBatch.of(source[:count], target[:count]))
            assert branch.state is BranchState.CONVERGED
            assert branch.certificate["bound"] <= tolerance
            expected = pagerank(truth.edges, truth.vertices, 0.85)
            assert distance(values_of(branch.values()), expected) <= branch.certificate["bound"] + SOLVER
            branch.release()


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], {}),
        ([(1, 1, 0.0)], {1: 1.0}),
        ([(1, 1, 1.0)], {1: 1.0}),
        ([(1, 2, 0.0), (3, 4, 0.0)], dict.fromkeys([1, 2, 3, 4], 0.25)),
    ],
    ids=["no vertex", "one", "one with itself", "no out-edges at all"],
)
def test_graphs_with_little_in_them(records, expected):
    with Master(workers=2) as master:
        loop = master.start(PageRank(tolerance=1e-12), "ranks")
        if records:
            source, target, weight = zip(*records, strict=True)
            loop.admit(EdgeBatch.of(source, target, weight), "records", len(records))
        found, certificate = asked(loop)
        assert found == pytest.approx(expected, abs=1e-14)
        assert certificate["bound"] <= 1e-12


def test_while_nobody_of_the_personalisation_was_seen_every_value_is_0():
    with Master(workers=2) as master:
        loop = master.start(PageRank(personalisation=(9,)), "ranks")
        loop.admit(EdgeBatch.of([1, 2], [2, 1]), "records", 2)
        assert asked(loop) == ({1: 0.0, 2: 0.0}, {"kind": "bound", "norm": "l1", "bound": 0.0})
        loop.admit(EdgeBatch.of([9], [1]), "records", 3)
        found, _ = asked(loop)
        assert found[9] == pytest.approx(0.15, abs=1e-6)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"damping": 1.0}, "damping is 1.0 but must be from 0 to below 1"),
        ({"damping": -0.1}, "damping is -0.1"),
        ({"damping": math.nan}, "damping is nan"),
        ({"tolerance": 0.0}, "tolerance is 0.0 but must be at least 1e-13"),
        ({"tolerance": -1.0}, "tolerance is -1.0"),
        ({"tolerance": math.nan}, "tolerance is nan"),
        ({"damping": 0.9999, "tolerance": 1e-12}, "tolerance is 1e-12 but must be at least 1e-10"),
        ({"accuracy": 0.0}, "accuracy is 0.0 but must be above 0"),
    ],
)
def test_parameters_that_have_no_answer_are_refused_at_the_start_and_in_a_question(parameters, said):
    with Master(workers=1) as master:
        with pytest.raises(InvalidArgument, match=said):
            master.start(PageRank(**parameters), "refused")
        loop = master.start(PageRank(), "ranks")
        with pytest.raises(InvalidArgument, match=said):
            loop.fork(parameters)


def test_weights_that_cannot_be_shared_out_are_refused():
    weights = [-1.0, 1e-13, 1e13, 0.0, 1e-12, 1e12, 1.0]
    batch = EdgeBatch.of([1] * 7, range(7), weights)
    assert PageRank().check(batch)[0].tolist() == [True] * 3 + [False] * 4


def test_a_branch_that_is_stopped_states_the_bound_that_it_has():
    edges = rmat(10)
    source, target = edges.src.astype(np.int64), edges.dst.astype(np.int64)
    truth = Multigraph()
    truth.apply(EdgeBatch.of(source, target))
    expected = pagerank(truth.edges, truth.vertices, 0.85)
    for workers in (1, 3):
        with Master(None, workers, SimulationEngine(workers, seed=workers)) as master:
            loop = master.start(PageRank(accuracy=0.5), "ranks")
            loop.admit(EdgeBatch.of(source, target), "edges", len(source))
            bounds = []
            for iterations in (0, 2, 6):
                branch = loop.fork({"tolerance": 1e-13}, max_iterations=iterations)
                assert branch.wait(WAIT_S)
                assert branch.state is BranchState.STOPPED
                bounds.append(branch.certificate["bound"])
                assert distance(values_of(branch.values()), expected) <= bounds[-1] + SOLVER
                branch.release()
            assert bounds[0] > bounds[1] > bounds[2]


def test_it_reads_a_stream_beside_others_and_goes_on_after_a_restart(tmp_path):
    store = f"lmdb://{tmp_path}/store"
    with tornado.open(store, workers=2) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        hops.insert([1, 2, 3, 3], [2, 3, 1, 4])
        ranks = session.start(PageRank(tolerance=1e-9), name="ranks", stream="hops")
        before = ranks.query()
        assert hops.query().values == {1: 0.0, 2: 1.0, 3: 2.0, 4: 3.0}
        assert before.certificate["bound"] <= 1e-9
        ranks.checkpoint()
        held = before.values
    with tornado.open(store, workers=1) as session:
        session.start(BreadthFirstSearch(source=1), name="hops")
        ranks = session.start(PageRank(tolerance=1e-9), name="ranks", stream="hops")
        assert ranks.query().values == pytest.approx(held, abs=2e-9)
        ranks.remove([3], [4])
        expected = pagerank({(1, 2): [1.0], (2, 3): [1.0], (3, 1): [1.0]}, {1, 2, 3, 4}, 0.85)
        assert ranks.query().values == pytest.approx(expected, abs=2e-9)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_loop_that_adopts_a_branch_is_as_near_although_edges_came_since(workers):
    edges, truth = rmat(9), Multigraph()
    source, target = edges.src.astype(np.int64), edges.dst.astype(np.int64)
    more = EdgeBatch.of([1, 2, 3], [4, 5, 6])
    with Master(None, workers, SimulationEngine(workers, seed=workers)) as master:
        loop = master.start(PageRank(accuracy=0.9, tolerance=1e-11), "ranks")
        loop.admit(EdgeBatch.of(source, target), "edges", len(source))
        branch = loop.fork()
        assert branch.wait(WAIT_S)
        loop.admit(more, "edges", len(source) + 3)
        for batch in (EdgeBatch.of(source, target), more):
            truth.apply(batch)

        def bound():
            now = loop.fork(max_iterations=0)
            assert now.wait(WAIT_S)
            expected = pagerank(truth.edges, truth.vertices, 0.85)
            assert distance(values_of(now.values()), expected) <= now.certificate["bound"] + SOLVER
            return now.certificate["bound"]

        assert loop.wait_idle(WAIT_S)
        before = bound()
        loop.adoption.adopt(branch)
        assert loop.wait_idle(WAIT_S)
        assert bound() < before / 10
        other = loop.fork({"damping": 0.5})
        assert other.wait(WAIT_S)
        with pytest.raises(InvalidArgument, match="cannot be adopted"):
            loop.adoption.adopt(other)
        loop.adoption.takes_all = True
        assert loop.fork().wait(WAIT_S)
        assert loop.wait_idle(WAIT_S)
        assert bound() <= 1e-10


def test_a_session_adopts_and_a_selective_loop_does_not():
    with tornado.open("memory:", workers=2, engine="processes") as session:
        ranks = session.start(PageRank(accuracy=0.5, tolerance=1e-10))
        ranks.insert([1, 2, 3, 3, 4], [2, 3, 1, 4, 4])
        assert ranks.adopt()["bound"] <= 1e-10
        hops = session.start(BreadthFirstSearch(source=1))
        with pytest.raises(NotSupported, match="a selective program, which adopts nothing"):
            hops.adopt()


EDGES = "src,dst,weight\n1,2,1\n2,3,2\n2,1,1\n3,1,5\n4,1,-3\n5,1,1\n"
OF_EDGES = {(1, 2): [1.0], (2, 3): [2.0], (2, 1): [1.0], (3, 1): [5.0], (5, 1): [1.0]}


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text(EDGES)
    return path


def command(*words):
    return [sys.executable, "-m", "tornado", *map(str, words)]


def test_the_command_line_writes_ranks_and_their_bound(tmp_path, edges):
    output = tmp_path / "ranks.csv"
    words = ("--edges", edges, "--workers", 2, "--store", "memory:", "--json")
    parameters = ("--damping", 0.7, "--tolerance", 1e-9, "--personalisation", "1,3")
    done = subprocess.run(
        command("run", "pagerank", *words, *parameters, "--output", output),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=CHECKOUT,
        env=environment_in(tmp_path),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stderr.splitlines()]
    (result,) = [event for event in events if event["event"] == "result"]
    with output.open() as lines:
        found = {int(row["vertex"]): float(row["value"]) for row in csv.DictReader(lines)}
    expected = pagerank(OF_EDGES, {1, 2, 3, 5}, 0.7, (1, 3))
    bound = result["certificate"]["bound"]
    assert bound <= 1e-9
    assert distance(found, expected) <= bound + SOLVER
    (quarantine,) = (tmp_path / "data").rglob("*.quarantine.jsonl")
    refused = [json.loads(line)["reason"] for line in quarantine.read_text().splitlines()]
    assert refused == ["weight is not 0 and not from 1e-12 to 1e12"]


def test_a_service_answers_within_the_tolerance_of_the_question(tmp_path, edges):
    process = subprocess.Popen(
        command("run", "pagerank", "--edges", edges, "--store", "memory:", "--http", "127.0.0.1:0", "--json"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env=environment_in(tmp_path),
    )
    try:
        url = next(event["url"] for line in process.stderr if (event := json.loads(line))["event"] == "ready")
        with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
            line = json.dumps({"src": 3, "dst": 5})
            assert client.post("/v1/loops/pagerank/edges", content=line, headers=NDJSON).status_code == 202

            def ask(**question):
                return client.post("/v1/queries?wait_s=60", json={"loop": "pagerank", **question})

            answer = ask(parameters={"tolerance": 1e-11}, min_offsets={"links.csv": 6}).json()
            found = {row["vertex"]: row["value"] for row in answer["result"]["values"]}
            expected = pagerank({**OF_EDGES, (3, 5): [1.0]}, {1, 2, 3, 5}, 0.85)
            assert answer["certificate"]["kind"] == "bound"
            assert distance(found, expected) <= answer["certificate"]["bound"] + SOLVER <= 1.1e-11
            top = ask(top=2, min_offsets={"links.csv": 6}).json()["result"]["values"]
            assert [row["vertex"] for row in top] == sorted(expected, key=expected.get, reverse=True)[:2]
            assert ask(mode="approximate").json()["certificate"] == {"kind": "none"}
            asked = command("query", "--mode", "certified", "--top", 1, "--url", url, "--json")
            done = subprocess.run(
                asked,
                capture_output=True,
                text=True,
                timeout=120,
                cwd=CHECKOUT,
                env=environment_in(tmp_path),
                check=False,
            )
            assert done.returncode == 0, done.stderr
            document = json.loads(done.stdout)
            assert (document["mode"], document["state"]) == ("certified", "converged")
            assert (
                abs(document["result"]["values"][0]["value"] - max(expected.values()))
                <= document["certificate"]["bound"]
            )
            for parameters in ({"damping": 2}, {"tolerance": 0}, {"personalisation": "x"}):
                assert ask(parameters=parameters).status_code == 422
    finally:
        process.terminate()
        process.communicate(timeout=60)
