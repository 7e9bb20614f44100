"""Katz centrality as networkx defines it, within what its certificate says of each value, and graphs on which it has no values."""

import csv
import json
import math

import networkx as nx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.katz import Katz
from tests.apps.served import OF_LINKS, links_in, run_in, served
from tests.apps.test_pagerank import asked, random_records, values_of
from tests.end_to_end.running import NDJSON
from tests.kinds.accumulative.truth import Multigraph, share_off, spectral_radius, walks
from tests.shortened import in_soak
from tornado import EdgeBatch, InvalidArgument
from tornado.engine import SimulationEngine
from tornado.loops import BranchState, Master
from tornado.testing import rmat

WAIT_S = 60
SOLVER = 1e-12
DIVERGED = {"kind": "none", "reason": "diverged"}


def of_networkx(truth, **options):
    """By vertex; a multigraph is not taken there, so weights of parallel edges are added up."""
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(truth.vertices))
    for ends, weights in truth.edges.items():
        if weights:
            graph.add_edge(*ends, weight=math.fsum(weights))
    found = nx.katz_centrality_numpy(graph, weight="weight", **options)
    return {vertex: float(value) for vertex, value in found.items()}


@pytest.mark.parametrize("workers", [1, in_soak(2), 4])
def test_it_is_what_networkx_computes(workers):
    """With weights, self-loops, parallel edges, and vertices without edges; normalised there, it is this over its L2 norm."""
    random, truth = np.random.default_rng(workers), Multigraph()
    with Master(workers=workers) as master:
        loop = master.start(Katz(alpha=1e-3, tolerance=1e-10), "katz")
        offset = 0
        for _ in range(4):
            batch = random_records(random, vertices=50, size=150)
            offset += len(batch)
            loop.admit(batch, "records", offset)
            truth.apply(batch)
        radius = spectral_radius(truth.edges, truth.vertices, 1.0)
        for parameters in ({}, {"alpha": 0.5 / radius}, {"alpha": 0.9 / radius, "beta": 3.0}, {"beta": 1e-6}):
            found, certificate = asked(loop, **parameters)
            options = {"alpha": 1e-3, **parameters}
            assert certificate == {"kind": "bound", "norm": "relative", "bound": certificate["bound"]}
            assert certificate["bound"] <= 1e-10
            expected = of_networkx(truth, normalized=False, **options)
            assert share_off(found, expected) <= certificate["bound"] + SOLVER
            length = math.sqrt(math.fsum(value * value for value in found.values()))
            unit = {vertex: value / length for vertex, value in found.items()}
            assert share_off(unit, of_networkx(truth, **options)) <= 2 * certificate["bound"] + SOLVER


@pytest.mark.parametrize("workers", [1, 2])
def test_each_tolerance_is_kept_while_edges_come(workers):
    edges = rmat(9, seed=workers)
    source, target = edges.src.astype(np.int64), edges.dst.astype(np.int64)
    with Master(workers=workers) as master:
        loop = master.start(Katz(alpha=0.005), "katz")
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
            expected = walks(truth.edges, truth.vertices, 0.005)
            assert share_off(values_of(branch.values()), expected) <= branch.certificate["bound"] + SOLVER
            branch.release()


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], {}),
        ([(1, 1, 0.0)], {1: 1.0}),
        ([(1, 1, 1.0)], {1: 10 / 9}),
        ([(1, 2, 0.0), (3, 4, 0.0)], dict.fromkeys([1, 2, 3, 4], 1.0)),
        ([(1, 2, 1.0), (1, 2, 2.0)], {1: 1.0, 2: 1.3}),
    ],
    ids=["no vertex", "one", "one with itself", "no edges at all", "parallel"],
)
def test_graphs_with_little_in_them(records, expected):
    with Master(workers=2) as master:
        loop = master.start(Katz(tolerance=1e-12), "katz")
        if records:
            source, target, weight = zip(*records, strict=True)
            loop.admit(EdgeBatch.of(source, target, weight), "records", len(records))
        found, certificate = asked(loop)
        assert found == pytest.approx(expected, rel=1e-12)
        assert certificate["bound"] <= 1e-12


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"alpha": 0.0}, "alpha is 0.0 but must be above 0"),
        ({"alpha": -0.1}, "alpha is -0.1"),
        ({"alpha": math.nan}, "alpha is nan"),
        ({"alpha": math.inf}, "alpha is inf"),
        ({"alpha": 1e101}, r"alpha is 1e\+101"),
        ({"beta": 0.0}, "beta is 0.0 but must be above 0"),
        ({"beta": -1.0}, "beta is -1.0"),
        ({"beta": math.inf}, "beta is inf"),
        ({"tolerance": 0.0}, "tolerance is 0.0 but must be at least 1e-13"),
        ({"tolerance": math.nan}, "tolerance is nan"),
        ({"accuracy": 0.0}, "accuracy is 0.0 but must be above 0"),
    ],
)
def test_parameters_that_have_no_answer_are_refused_at_the_start_and_in_a_question(parameters, said):
    with Master(workers=1) as master:
        with pytest.raises(InvalidArgument, match=said):
            master.start(Katz(**parameters), "refused")
        loop = master.start(Katz(), "katz")
        with pytest.raises(InvalidArgument, match=said):
            loop.fork(parameters)


def test_negative_weights_are_refused():
    assert Katz().check(EdgeBatch.of([1, 1], [2, 3], [-1.0, 1.0]))[0].tolist() == [True, False]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_branch_that_is_stopped_states_the_bound_that_it_has(workers):
    edges, truth = rmat(10), Multigraph()
    source, target = edges.src.astype(np.int64), edges.dst.astype(np.int64)
    truth.apply(EdgeBatch.of(source, target))
    expected = walks(truth.edges, truth.vertices, 0.001)
    with Master(None, workers, SimulationEngine(workers, seed=workers)) as master:
        loop = master.start(Katz(alpha=0.001, accuracy=0.4), "katz")
        loop.admit(EdgeBatch.of(source, target), "edges", len(source))
        assert loop.wait_idle(WAIT_S)
        bounds = []
        for iterations in (0, 2, 6):
            branch = loop.fork({"tolerance": 1e-13}, max_iterations=iterations)
            assert branch.wait(WAIT_S)
            assert branch.state is BranchState.STOPPED
            bounds.append(branch.certificate["bound"])
            assert share_off(values_of(branch.values()), expected) <= bounds[-1] + SOLVER
            branch.release()
        assert bounds[0] > bounds[1] > bounds[2]


def test_it_goes_on_after_a_restart_beside_others_and_adopts(tmp_path):
    store = f"lmdb://{tmp_path}/store"
    expected = walks({(1, 2): [1.0], (2, 3): [1.0], (3, 1): [1.0], (3, 4): [1.0]}, {1, 2, 3, 4}, 0.5)
    with tornado.open(store, workers=2) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        hops.insert([1, 2, 3, 3], [2, 3, 1, 4])
        katz = session.start(Katz(alpha=0.5, tolerance=1e-9), name="katz", stream="hops")
        assert share_off(katz.query().values, expected) <= 1e-9 + SOLVER
        assert katz.adopt()["bound"] <= 1e-9
        katz.checkpoint()
    with tornado.open(store, workers=1) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        katz = session.start(Katz(alpha=0.5, tolerance=1e-9), name="katz", stream="hops")
        answer = katz.query()
        assert answer.certificate["norm"] == "relative"
        assert share_off(answer.values, expected) <= 1e-9 + SOLVER
        katz.insert([4], [1], [100.0])
        assert katz.query().result(WAIT_S).certificate == DIVERGED
        hops.checkpoint()  # of what has a fixed point
        katz.remove([4], [1])
        assert share_off(katz.query().values, expected) <= 1e-9 + SOLVER


def test_a_loop_whose_values_have_no_end_is_not_stored_alone(tmp_path):
    with tornado.open(f"lmdb://{tmp_path}/store", workers=1) as session:
        katz = session.start(Katz(alpha=1.0))
        katz.insert([1, 2], [2, 1])
        with pytest.raises(
            InvalidArgument, match="values have no end on this graph, so no snapshot was stored"
        ):
            katz.checkpoint()
        katz.remove([1], [2])
        assert katz.checkpoint() > 0


@pytest.mark.parametrize("engine", ["threads", in_soak("processes")])
def test_a_question_says_that_there_is_no_answer_and_another_alpha_has_one(engine):
    with tornado.open("memory:", workers=2, engine=engine) as session:
        katz = session.start(Katz())
        katz.insert([1, 2, 3, 3], [2, 3, 1, 2])
        answer = katz.query(parameters={"alpha": 0.9}, check=True).result(WAIT_S)
        assert answer.certificate == {**DIVERGED, "checked": False}
        certificate = katz.query(parameters={"alpha": 0.3, "beta": 2.0}, check=True).certificate
        assert certificate["checked"]
        assert 0 <= certificate["check"]["within"] <= certificate["bound"] <= 1e-6
        assert katz.query().check()["checked"]


@pytest.fixture
def edges(tmp_path):
    return links_in(tmp_path)


def test_the_command_line_writes_values_or_says_that_there_are_none(command, tmp_path, edges):
    output = tmp_path / "katz.csv"
    words = (
        "run",
        "katz",
        "--edges",
        edges,
        "--workers",
        2,
        "--store",
        "memory:",
        "--json",
        "--output",
        output,
    )
    code, _, err = command(*words, "--alpha", 0.2, "--tolerance", 1e-9, "--check")
    assert code == 0, err
    with output.open() as lines:
        found = {int(row["vertex"]): float(row["value"]) for row in csv.DictReader(lines)}
    assert share_off(found, walks(OF_LINKS, {1, 2, 3, 5}, 0.2)) <= 1e-9 + SOLVER
    assert command("check", output, "katz", "--edges", edges, "--alpha", 0.2)[0] == 0
    assert command("check", output, "katz", "--edges", edges, "--alpha", 0.21)[0] == 1
    output.unlink()
    code, _, err = command(*words, "--alpha", 0.9)
    assert code == 1, err
    (event,) = [event for line in err.splitlines() if (event := json.loads(line))["event"] == "diverged"]
    assert event["certificate"] == DIVERGED
    assert not output.exists()


def test_a_service_says_that_there_is_no_answer(tmp_path):
    with served(tmp_path, "katz") as (client, url):

        def ask(**question):
            asking = {"loop": "katz", "min_offsets": {"links.csv": 6}, **question}
            return client.post("/v1/queries?wait_s=60", json=asking)

        answer = ask(vertices=[1, 2]).json()
        assert answer["certificate"]["norm"] == "relative"
        answer = ask(parameters={"alpha": 5}).json()
        assert (answer["state"], answer["stopped_by"]) == ("deadline", None)
        assert {name: one for name, one in answer["certificate"].items() if one is not None} == DIVERGED
        assert ask(parameters={"alpha": 0}).status_code == 422
        line = json.dumps({"src": 3, "dst": 1, "weight": 1000})
        assert client.post("/v1/loops/katz/edges", content=line, headers=NDJSON).status_code == 202
        asked_again = run_in(tmp_path, "query", "katz", "--url", url)
        assert asked_again.returncode == 1
        assert "no answer: the values have no end on this graph" in asked_again.stderr
