"""`mode: certified`: what a loop has, at once, and how far that is from the exact values at most."""

import math
import random

import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.core_number import CoreNumber
from apps.katz import Katz
from apps.label_propagation import LabelPropagation
from apps.local_clustering import LocalClustering
from apps.pagerank import PageRank
from tests.kinds.accumulative.test_conservation import records
from tests.kinds.accumulative.truth import Multigraph, distance, pagerank
from tests.loops.general_programs import Paths
from tests.query.test_http_queries import problem
from tornado.engine import SimulationEngine
from tornado.errors import CheckFailed
from tornado.kinds.accumulative import loop_columns as names
from tornado.kinds.accumulative.part_values import NormalisedValues
from tornado.loops import BranchState, Master
from tornado.query.query import QueryState
from tornado.query.request import Mode, QueryRequest
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import rmat

TIMEOUT_S = 120
SOLVER = 1e-14


@pytest.mark.parametrize(
    "where", [{"workers": 1}, {"workers": 2}, {"workers": 4}, {"workers": 2, "engine": "processes"}]
)
def test_whatever_the_loop_has_is_no_further_from_the_truth_than_it_says(where):
    chance, alive, truth, expected, asked = random.Random(7), [], Multigraph(), {}, []
    with tornado.open("memory:", **where) as session:
        ranks = session.start(PageRank(accuracy=0.1))
        offset = 0
        for _ in range(40):
            batch = records(chance, alive, vertices=30, size=25)
            offset += len(batch)
            ranks.loop.admit(batch, "test", offset)
            truth.apply(batch)
            expected[offset] = pagerank(truth.edges, truth.vertices, 0.85)
            if chance.random() < 0.5:
                asked.append((ranks.query(mode="certified"), offset))
                if chance.random() < 0.5:  # those that are asked at once share a branch
                    asked[-1][0].result(TIMEOUT_S)
        for query, offset in asked:
            answer = query.result(TIMEOUT_S)
            assert answer.state is QueryState.CONVERGED
            assert answer.snapshot.offsets["test"] >= offset
            found = distance(answer.values, expected[answer.snapshot.offsets["test"]])
            assert found <= answer.certificate["bound"] + SOLVER
        bounds = [query.certificate["bound"] for query, _ in asked]
        assert min(bounds) < 0.5  # of 2, which would say nothing
        assert max(bounds) > 1e-6  # or the loop was never behind


@pytest.fixture
def idle_loop():
    """A loop that is kept badly, and has nothing to do; not told of its end."""
    edges = rmat(8)
    with Master(None, 1, SimulationEngine(1, seed=3)) as master:
        loop = master.start(PageRank(accuracy=0.5, tolerance=1e-9), "ranks")
        loop.admit(EdgeBatch.of(edges.src.astype(np.int64), edges.dst.astype(np.int64)), "edges", 1)
        assert loop.wait_idle(TIMEOUT_S)
        yield loop


def certified(loop, **parameters):
    """A branch of no iterations, and how many edges it visited and vertices it let announce."""
    branch = loop.fork(parameters, max_iterations=0)
    assert branch.wait(TIMEOUT_S)
    (part,) = branch.processors
    return branch, int(part.state.counters[names.EDGES_VISITED]), int(part.state.counters[names.UPDATES])


def test_no_edge_is_visited_for_it_and_nothing_announced_whatever_the_bound_is(idle_loop):
    held = idle_loop.approximation().arrays()[1].copy()
    branch, visited, announced = certified(idle_loop)
    assert (visited, announced) == (0, 0)
    assert branch.state is BranchState.STOPPED
    assert 1e-3 < branch.certificate["bound"] < 2
    assert branch.values().arrays()[1] == pytest.approx(held, rel=1e-14)


@pytest.mark.parametrize("workers", [1, 2])
def test_where_sums_are_mostly_rounding_they_are_made_anew_and_still_nothing_is_announced(workers):
    edges, truth = rmat(8), Multigraph()
    batch = EdgeBatch.of(edges.src.astype(np.int64), edges.dst.astype(np.int64))
    truth.apply(batch)
    with Master(None, workers, SimulationEngine(workers, seed=workers)) as master:
        loop = master.start(PageRank(accuracy=0.01, tolerance=1e-6), "ranks")
        loop.admit(batch, "edges", 1)
        assert loop.wait_idle(TIMEOUT_S)
        for part in loop.parts():
            part.state.totals[names.DRIFT] = 1e18  # as if so much had been added and taken away
        branch = loop.fork(max_iterations=0)
        assert branch.wait(TIMEOUT_S)
        counters = [part.state.counters for part in branch.processors]
        assert sum(one[names.UPDATES] for one in counters) == 0
        assert sum(one[names.EDGES_VISITED] for one in counters) == len(batch)  # each once
        found = dict(zip(*(column.tolist() for column in branch.values().arrays()), strict=True))
        expected = pagerank(truth.edges, truth.vertices, 0.85)
        assert distance(found, expected) <= branch.certificate["bound"] + SOLVER < 0.05


def test_the_loop_does_not_adopt_what_it_has(idle_loop):
    found = idle_loop.fork()
    assert found.wait(TIMEOUT_S)
    idle_loop.adoption.adopt(found)
    assert idle_loop.wait_idle(TIMEOUT_S)
    branch, *_ = certified(idle_loop, tolerance=1e-3)
    assert branch.state is BranchState.CONVERGED
    assert not idle_loop.adoption.suits(branch)


def feed(loop, seed=5):
    chance = random.Random(seed)
    ends = [[chance.randrange(40) for _ in range(300)] for _ in range(2)]
    loop.insert(*ends)


def test_a_tolerance_changes_nothing_and_what_changes_values_is_refused():
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(accuracy=0.5, personalisation=(1, 2)))
        feed(ranks)
        assert ranks.wait_idle(TIMEOUT_S)
        asked = [{}, {"tolerance": 1e-12}, {"tolerance": 0.9, "accuracy": 1e-3}, {"personalisation": (2, 1)}]
        answers = [ranks.query(mode="certified", parameters=one).result(TIMEOUT_S) for one in asked]
        for answer in answers:
            assert answer.equals(answers[0])
            assert (answer.state, answer.certificate) == (QueryState.CONVERGED, answers[0].certificate)
        for parameters in ({"damping": 0.5}, {"personalisation": (3,)}):
            with pytest.raises(tornado.InvalidArgument, match="mode is certified, but loop 'page_rank' has"):
                ranks.query(mode="certified", parameters=parameters)
        with pytest.raises(tornado.InvalidArgument, match="tolerance is 0"):
            ranks.query(mode="certified", parameters={"tolerance": 0.0})


def test_an_answer_says_whether_it_began_with_what_the_loop_has(serve):
    """Parameters that keep the state useful begin warm; what cannot is said to be a cold start."""
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(), name="ranks")
        feed(ranks)
        session.start(Katz(alpha=1e-3), name="katz", stream="ranks")
        session.start(BreadthFirstSearch(source=1), name="hops", stream="ranks")
        session.start(LabelPropagation(rounds=2), name="labels", stream="ranks")
        session.start(CoreNumber(), name="cores", stream="ranks")
        session.start(LocalClustering(), name="clustering", stream="ranks")
        version = ranks.checkpoint()
        client = serve(session.service)

        def ask(loop, **fields):
            body = client.post("/v1/queries", params={"wait_s": 20}, json={"loop": loop} | fields).json()
            assert body["state"] == "converged", body
            return body["start"]

        warm = [{}, {"tolerance": 1e-9}, {"personalisation": [1, 2], "shares": [1, 3]}, {"damping": 0.5}]
        assert [ask("ranks", parameters=one) for one in warm] == ["warm"] * 4
        assert [ask("katz", parameters=one) for one in ({}, {"alpha": 1e-4}, {"beta": 2.0})] == ["warm"] * 3
        assert ask("ranks", mode="certified") == "warm"
        assert ask("ranks", mode="approximate") is None
        assert [ask("hops", parameters=one) for one in ({}, {"source": 1}, {"source": 2})] == [
            "warm",
            "warm",
            "cold",
        ]
        assert [ask("cores", parameters=one) for one in ({}, {"most": 3})] == ["warm", "cold"]
        assert [ask("labels"), ask("clustering")] == ["warm", "cold"]
        assert [ask("hops", at=version), ask("hops", at=version, parameters={"source": 2})] == [
            "warm",
            "cold",
        ]
        assert ranks.query(parameters={"damping": 0.5}).result(TIMEOUT_S).status.start == "warm"
        shown = client.get("/openapi.json").json()["components"]["schemas"]["QueryStatusBody"]["properties"]
        assert "start" in shown


def test_a_personalisation_that_is_near_that_of_the_loop_visits_fewer_edges_than_one_that_is_not():
    edges = rmat(10)
    batch, truth = EdgeBatch.of(edges.src.astype(np.int64), edges.dst.astype(np.int64)), Multigraph()
    truth.apply(batch)
    first, second = np.unique(batch.src)[:2].tolist()
    expected = pagerank(truth.edges, truth.vertices, 0.85, (first, second, second))
    wanted = {"personalisation": (first, second), "shares": (1.0, 2.0), "tolerance": 1e-4}
    visited = {}
    for begins_with in ((1.0, 2.0001), (2.0, 1.0)):
        with Master(None, 1, SimulationEngine(1, seed=2)) as master:
            program = PageRank(personalisation=(first, second), shares=begins_with, accuracy=1e-7)
            loop = master.start(program, "ranks")
            loop.admit(batch, "edges", 1)
            assert loop.wait_idle(TIMEOUT_S)
            branch = loop.fork(wanted)
            assert branch.wait(TIMEOUT_S)
            assert branch.start == "warm"
            (part,) = branch.processors
            visited[begins_with] = int(part.state.counters[names.EDGES_VISITED])
            ids, values = branch.values().arrays()
            found = dict(zip(ids.tolist(), values.tolist(), strict=True))
            assert distance(found, expected) <= branch.certificate["bound"] + SOLVER <= 1e-4 + SOLVER
    assert visited[1.0, 2.0001] < visited[2.0, 1.0] / 2


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (BreadthFirstSearch(source=1), "BreadthFirstSearch, a selective program, whose values have no bound"),
        (LabelPropagation(rounds=2), "LabelPropagation, a program of rounds, whose values have no bound"),
        (Paths(source=1), "Paths, a general program, whose values have no bound"),
    ],
)
def test_where_nothing_is_known_before_the_end_it_is_refused_with_what_to_do(serve, program, said):
    with tornado.open("memory:", workers=1) as session:
        loop = session.start(program, name="asked")
        loop.insert([1], [2])
        with pytest.raises(tornado.InvalidArgument, match=said):
            loop.query(mode="certified")
        client = serve(session.service)
        refused = problem(
            client.post("/v1/queries", json={"loop": "asked", "mode": "certified"}), 422, "invalid-argument"
        )
    assert said in refused["detail"]
    assert refused["hint"] == "Ask with mode exact, or with mode approximate for the values as they are."


def test_it_is_asked_over_http_as_other_questions_are(serve):
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(accuracy=0.5), name="ranks")
        feed(ranks)
        client = serve(session.service)

        def ask(**fields):
            question = {"loop": "ranks", "mode": "certified"} | fields
            return client.post("/v1/queries", params={"wait_s": 20}, json=question)

        body = ask(min_offsets={"insert": 300}).json()
        assert (body["mode"], body["state"], body["stopped_by"]) == ("certified", "converged", None)
        assert (body["certificate"]["kind"], body["certificate"]["norm"]) == ("bound", "l1")
        assert 1e-6 < body["certificate"]["bound"] < 2
        assert math.fsum(row["value"] for row in body["result"]["values"]) == pytest.approx(1)
        assert len(ask(top=3).json()["result"]["values"]) == 3
        assert len(ask(vertices=[1, 2]).json()["result"]["values"]) == 2
        checked = ask(check=True).json()["certificate"]
        assert checked["checked"] is True
        assert checked["check"]["within"] <= checked["bound"]
        for fields in ({"at": 1}, {"max_iterations": 1}):
            refused = problem(ask(**fields), 422, "invalid-argument")
            assert "takes no at and no max_iterations" in refused["detail"]
        refused = problem(client.post(f"/v1/queries/{body['id']}/adopt"), 409, "cannot-adopt")
        assert "was asked with mode certified: it has the values that the loop had" in refused["detail"]
        shown = client.get("/openapi.json").json()["components"]["schemas"]["QueryStatusBody"]
        assert shown["properties"]["mode"]["enum"] == ["exact", "approximate", "certified"]


def test_it_is_checked_as_others_are(monkeypatch):
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(accuracy=0.1))
        feed(ranks)
        assert ranks.wait_idle(TIMEOUT_S)
        answer = ranks.query(mode="certified")
        assert answer.check()["checked"] is True  # by an exact answer
        assert "checked" not in answer.certificate
        ranks.checkpoint()
        ranks.insert([1], [2])
        assert answer.check()["checked"] is True
        right = NormalisedValues.values_of

        def wrong(self, rows):
            values = right(self, rows)
            values[:1] += 2.0
            return values

        monkeypatch.setattr(NormalisedValues, "values_of", wrong)
        with pytest.raises(CheckFailed, match="all ranks together are within"):
            ranks.query(mode="certified", check=True).result(TIMEOUT_S)


def test_a_mode_that_is_none_is_refused():
    with tornado.open("memory:", workers=1) as session:
        ranks = session.start(PageRank())
        for mode in ("approximate", "perfect", None, []):
            with pytest.raises(tornado.InvalidArgument, match="but must be 'exact' or 'certified'"):
                ranks.query(mode=mode)


def test_nobody_who_asks_for_a_bound_shares_a_branch_with_who_asks_for_more():
    keys = {
        QueryRequest(loop="ranks", mode=mode, max_iterations=most).branch_key()
        for mode, most in ((Mode.EXACT, None), (Mode.EXACT, 1), (Mode.CERTIFIED, None))
    }
    assert len(keys) == 3
