"""PageRank as networkx defines it, within what its certificate says, and what is not a question or not a graph."""

import csv
import json
import math

import networkx as nx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.pagerank import PageRank
from tests.apps.served import OF_LINKS, links_in, run_in, served
from tests.end_to_end.running import NDJSON
from tests.kinds.accumulative.truth import Multigraph, distance, pagerank
from tornado import EdgeBatch, InvalidArgument
from tornado.engine import SimulationEngine
from tornado.errors import NotSupported
from tornado.kinds.accumulative import main_processor
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
            (
                {"personalisation": (7, 3, 9), "shares": (0.3, 1e9, 0.0)},
                nx.pagerank(graph, personalization={7: 0.3, 3: 1e9}, **exact),
            ),
            (
                {"personalisation": (7, 3), "shares": (0.3, 4.5)},
                nx.pagerank(graph, personalization={7: 0.3, 3: 4.5}, **exact),
            ),
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
        (
            {"personalisation": (1, 2), "shares": (0.0, 0.0)},
            "the shares of all 2 vertices are 0, so the surfer would go",
        ),
        (
            {"personalisation": (1, 2), "shares": (1.0, -1.0)},
            "the share of vertex 2 is -1.0 but must be at least",
        ),
        ({"personalisation": (1,), "shares": (math.inf,)}, "the share of vertex 1 is inf"),
        ({"personalisation": (1,), "shares": (math.nan,)}, "the share of vertex 1 is nan"),
        ({"personalisation": (1, 2), "shares": (1.0,)}, "names 2 vertices, and shares has 1 entries"),
        ({"shares": (1.0,)}, "names 0 vertices, and shares has 1 entries"),
        (
            {"personalisation": (4, 1, 4), "shares": (1.0, 1.0, 2.0)},
            "names vertex 4 twice, with a share each",
        ),
        ({"personalisation": (4,), "shares": ("1",)}, "shares is .* but must be a tuple of numbers"),
        ({"personalisation": (1.5,)}, "personalisation is .* but must be a tuple of integers"),
    ],
)
def test_parameters_that_have_no_answer_are_refused_at_the_start_and_in_a_question(parameters, said):
    with Master(workers=1) as master:
        with pytest.raises(InvalidArgument, match=said):
            master.start(PageRank(**parameters), "refused")
        loop = master.start(PageRank(), "ranks")
        with pytest.raises(InvalidArgument, match=said):
            loop.fork(parameters)


def test_shares_are_those_of_who_is_named_so_often():
    assert (
        PageRank(personalisation=(7, 3), shares=(1, 2)).arguments()
        == PageRank(personalisation=(3, 7, 3)).arguments()
    )
    assert (
        PageRank(personalisation=(7, 3), shares=(1.0, 2.0)).checker()
        == PageRank(personalisation=(3, 7, 3)).checker()
    )


def test_a_column_and_a_file_are_personalisations_of_a_loop_and_of_a_question(tmp_path):
    path = tmp_path / "seeds.csv"
    path.write_text("vertex,weight\n3,0.5\n7,2\n")
    seeds = tornado.personalisation(path)
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(**seeds, tolerance=1e-11))
        ranks.insert([1, 2, 3, 3, 7], [2, 3, 1, 7, 1])
        edges = {(1, 2): [1.0], (2, 3): [1.0], (3, 1): [1.0], (3, 7): [1.0], (7, 1): [1.0]}
        expected = pagerank(edges, {1, 2, 3, 7}, 0.85, (3, 7, 7, 7, 7))
        answer = ranks.query(check=True)
        assert answer.certificate["checked"] is True
        assert distance(answer.values, expected) <= 1e-11 + SOLVER
        for column in (np.array([2, 2, 1]), {"vertex": [1, 2], "weight": [0.1, 0.2]}):
            answer = ranks.query(parameters=tornado.personalisation(column), check=True)
            expected = pagerank(edges, {1, 2, 3, 7}, 0.85, (2, 2, 1))
            assert distance(answer.values, expected) <= 1e-11 + SOLVER
        with pytest.raises(InvalidArgument, match="names 1 vertices, and shares has 2 entries"):
            ranks.query(parameters={"personalisation": [3]})
        assert ranks.query(parameters={"personalisation": [], "shares": []}).values[1] > 0.2
        # Nobody of a question's personalisation was seen: nobody has anything, and it is no error.
        answer = ranks.query(parameters={"personalisation": [10**6], "shares": [1.0]})
        assert set(answer.values.values()) == {0.0}
        many = list(range(100_001))
        with pytest.raises(InvalidArgument, match="has 100001 entries, more than 100000"):
            ranks.query(parameters={"personalisation": many})
        assert (
            ranks.query(parameters={"personalisation": many[:-1], "shares": []}).certificate["bound"] <= 1e-11
        )


def test_shares_of_vertices_with_names_are_theirs(tmp_path):
    path = tmp_path / "seeds.csv"
    path.write_text("vertex,weight\neve,1\nanna,3\n")
    with tornado.open("memory:", workers=2, engine="processes") as session:
        seeds = tornado.personalisation(path, ids="string")
        ranks = session.start(PageRank(**seeds, tolerance=1e-11), ids="string")
        ranks.insert(["anna", "bob", "eve"], ["bob", "eve", "bob"])
        numbers = {"anna": 1, "bob": 2, "eve": 3}
        edges = {(1, 2): [1.0], (2, 3): [1.0], (3, 2): [1.0]}

        def expected(named):
            return {name: pagerank(edges, {1, 2, 3}, 0.85, named)[number] for name, number in numbers.items()}

        assert distance(ranks.query().values, expected((3, 1, 1, 1))) <= 1e-11 + SOLVER
        answer = ranks.query(parameters={"personalisation": ["bob", "anna"], "shares": [1, 2]})
        assert distance(answer.values, expected((2, 1, 1))) <= 1e-11 + SOLVER
        with pytest.raises(tornado.TornadoError, match="is 'nobody', which the input never named"):
            ranks.query(parameters={"personalisation": ["nobody"], "shares": [1]})


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
            # Parts that sweep at once hear of each other only behind that, so few iterations of several may be worse than none.
            assert bounds[0] > bounds[2]
            if workers == 1:
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
def test_a_loop_that_adopts_a_branch_is_as_near_although_edges_came_since(workers, monkeypatch):
    # Pulling would bring it much nearer than it has to be.
    monkeypatch.setattr(main_processor, "DENSE_SHARE", 0)
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


@pytest.fixture
def edges(tmp_path):
    return links_in(tmp_path)


def test_the_command_line_writes_ranks_and_their_bound(tmp_path, edges):
    output = tmp_path / "ranks.csv"
    words = ("--edges", edges, "--workers", 2, "--store", "memory:", "--json")
    parameters = ("--damping", 0.7, "--tolerance", 1e-9, "--personalisation", "1,3")
    done = run_in(tmp_path, "run", "pagerank", *words, *parameters, "--output", output)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stderr.splitlines()]
    (result,) = [event for event in events if event["event"] == "result"]
    with output.open() as lines:
        found = {int(row["vertex"]): float(row["value"]) for row in csv.DictReader(lines)}
    expected = pagerank(OF_LINKS, {1, 2, 3, 5}, 0.7, (1, 3))
    bound = result["certificate"]["bound"]
    assert bound <= 1e-9
    assert distance(found, expected) <= bound + SOLVER
    (quarantine,) = (tmp_path / "data").rglob("*.quarantine.jsonl")
    refused = [json.loads(line)["reason"] for line in quarantine.read_text().splitlines()]
    assert refused == ["weight is not 0 and not from 1e-12 to 1e12"]


def test_a_service_answers_within_the_tolerance_of_the_question(tmp_path):
    with served(tmp_path, "pagerank") as (client, url):
        line = json.dumps({"src": 3, "dst": 5})
        assert client.post("/v1/loops/pagerank/edges", content=line, headers=NDJSON).status_code == 202

        def ask(**question):
            return client.post("/v1/queries?wait_s=60", json={"loop": "pagerank", **question})

        answer = ask(parameters={"tolerance": 1e-11}, min_offsets={"links.csv": 6}).json()
        found = {row["vertex"]: row["value"] for row in answer["result"]["values"]}
        expected = pagerank({**OF_LINKS, (3, 5): [1.0]}, {1, 2, 3, 5}, 0.85)
        assert answer["certificate"]["kind"] == "bound"
        assert distance(found, expected) <= answer["certificate"]["bound"] + SOLVER <= 1.1e-11
        top = ask(top=2, min_offsets={"links.csv": 6}).json()["result"]["values"]
        assert [row["vertex"] for row in top] == sorted(expected, key=expected.get, reverse=True)[:2]
        assert ask(mode="approximate").json()["certificate"] == {"kind": "none"}
        done = run_in(tmp_path, "query", "--mode", "certified", "--top", 1, "--url", url, "--json")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert (document["mode"], document["state"]) == ("certified", "converged")
        assert (
            abs(document["result"]["values"][0]["value"] - max(expected.values()))
            <= document["certificate"]["bound"]
        )
        for parameters in ({"damping": 2}, {"tolerance": 0}, {"personalisation": "x"}):
            assert ask(parameters=parameters).status_code == 422
