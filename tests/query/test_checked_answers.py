"""Answers that are checked on their own version of the graph: in Python and over HTTP, on all workers, while edges come and go."""

import gc
import math
import threading
import weakref
from dataclasses import dataclass

import httpx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.connected_components import ConnectedComponents
from apps.core_number import CoreNumber
from apps.label_propagation import LabelPropagation
from apps.local_clustering import LocalClustering
from apps.pagerank import PageRank
from apps.reachability import Reachability
from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.loops.skewed import Skewed
from tests.promised import within
from tests.shortened import in_soak
from tornado import GeneralProgram, PathsCheck
from tornado.clock import SYSTEM_CLOCK
from tornado.errors import CheckFailed, InvalidArgument, NotSupported, ResultUnavailable, WorkerLost
from tornado.graph import EdgesByPage
from tornado.loops.branch import Branch
from tornado.query.branch_scheduler import BranchScheduler
from tornado.query.query import Query, QueryState
from tornado.query.request import Mode, QueryRequest
from tornado.testing import EdgeHistory, Mix, mixed, random_multigraph

TIMEOUT_S = 120
VERTICES = 300
# Parallel edges, loops, weights of 0, removals and replacements; and some vertices without any edge.
RECORDS = mixed(random_multigraph(VERTICES, 2500, seed=5, zero_share=0.3), seed=5, mix=Mix())
ISOLATED = np.arange(1000, 1005)
PROGRAMS = {
    "sssp": ShortestPaths(source=1),
    "bfs": BreadthFirstSearch(source=1),
    "widest_path": WidestPath(source=1),
    "reachability": Reachability(sources=(1, 7)),
    "connected_components": ConnectedComponents(),
    "label_propagation": LabelPropagation(rounds=4),
    "local_clustering": LocalClustering(),
    "pagerank": PageRank(tolerance=1e-9),
    "pagerank by rounds": PageRank(rounds=4),
    "core_number": CoreNumber(),
}


@dataclass(frozen=True)
class Unproven(ShortestPaths):
    """Nothing verifies its answers."""

    def checker(self) -> None:
        """None."""
        return


@dataclass(frozen=True)
class Plain(GeneralProgram):
    """A general program that names a checker."""

    def init(self, vertex):
        return 0.0

    def gather(self, vertex, producer, value, weights):
        return False

    def scatter(self, vertex):
        pass

    def value(self, state):
        return state

    def checker(self):
        return PathsCheck((1,))


def feed(loop, records=RECORDS, size=400):
    for first in range(0, len(records), size):
        loop.loop.admit(records.slice(first, first + size), "test", min(first + size, len(records)))


def check_certificate(certificate, edges, vertices=None):
    if "difference" in certificate.get("check", {}):  # ranks by rounds
        assert (certificate["kind"], certificate["norm"]) == ("bound", "relative")
        assert 0 <= certificate["check"]["difference"] <= certificate["check"]["rounding"] < 1e-10
    elif certificate["kind"] == "bound":
        assert 0 < certificate["check"]["residual"] <= certificate["check"]["within"] <= certificate["bound"]
    else:
        assert certificate["kind"] == "exact"
    assert certificate["checked"] is True
    assert certificate["check"]["edges"] == edges
    if vertices is not None:
        assert certificate["check"]["vertices"] == vertices
    assert certificate["check"]["method"]


@pytest.mark.parametrize(("engine", "workers"), [("threads", 1), ("threads", 2), ("processes", 2)])
def test_right_answers_of_every_app_are_checked_and_found_right(engine, workers):
    left = len(EdgeHistory.of(RECORDS).at(len(RECORDS)))
    seen = len(np.unique(np.concatenate([RECORDS.src, RECORDS.dst, ISOLATED])))
    with tornado.open("memory:", workers=workers, engine=engine) as session:
        stream = session.stream("roads")
        loops = {name: stream.start(program, name=name) for name, program in PROGRAMS.items()}
        feed(loops["sssp"])
        stream.add_vertices(ISOLATED)
        for loop in loops.values():
            check_certificate(loop.query(check=True).certificate, left, seen)
            check_certificate(loop.query(vertices=[1, 2], check=True).certificate, left, seen)
            check_certificate(loop.query(top=3, check=True).certificate, left, seen)
        for name in ("sssp", "bfs", "widest_path"):
            other = loops[name].query(parameters={"source": 9}, check=True)
            check_certificate(other.certificate, left, seen)
        never_seen = loops["sssp"].query(parameters={"source": 10**12}, check=True)
        check_certificate(never_seen.certificate, left, seen)
        assert set(never_seen.values.values()) == {math.inf}


@pytest.mark.parametrize("workers", [1, 2])
def test_answers_on_undirected_streams_are_checked(workers):
    with tornado.open("memory:", workers=workers) as session:
        stream = session.stream("roads", undirected=True)
        loops = {name: stream.start(program, name=name) for name, program in PROGRAMS.items()}
        stream.insert([1, 2, 5], [2, 3, 5], [1.0, 0.0, 1.0])
        for loop in loops.values():
            certificate = loop.query(check=True).certificate
            assert certificate["checked"] is True, loop
            assert certificate["check"]["vertices"] == 4


def test_a_graph_of_nothing_is_checked():
    with tornado.open("memory:", workers=2) as session:
        loop = session.start(ShortestPaths(source=1))
        check_certificate(loop.query(check=True).certificate, 0, 0)


@pytest.mark.parametrize("engine", ["threads", in_soak("processes")])
def test_answers_are_checked_at_their_own_version_while_edges_keep_coming(engine):
    edges = random_multigraph(VERTICES, 6000, seed=8, zero_share=0.3)
    with tornado.open("memory:", workers=2, engine=engine) as session:
        stream = session.stream("roads")
        loops = [stream.start(program, name=name) for name, program in PROGRAMS.items()]
        records = mixed(edges, seed=8)
        history = EdgeHistory.of(records)
        ended = threading.Event()

        def go_on():
            feed(loops[0], records, size=40)
            ended.set()

        feeding = threading.Thread(target=go_on)
        feeding.start()
        versions = set()
        while not ended.is_set() or len(versions) < 5:
            for loop in loops:
                answer = loop.query(check=True).result(TIMEOUT_S)
                prefix = answer.snapshot.offsets.get("test", 0)
                check_certificate(answer.certificate, len(history.at(prefix)))
                versions.add((loop.name, answer.snapshot.version))
        feeding.join()
        assert len(versions) >= 5


def test_stored_snapshots_are_checked_too():
    with tornado.open("memory:", workers=2) as session:
        loop = session.start(ShortestPaths(source=1))
        feed(loop)
        left = len(EdgeHistory.of(RECORDS).at(len(RECORDS)))
        version = loop.checkpoint()
        loop.insert([1], [2], [0.0])
        check_certificate(loop.query(at=version, check=True).certificate, left)
        check_certificate(loop.query(at=version, parameters={"source": 9}, check=True).certificate, left)
        check_certificate(loop.query(check=True).certificate, left + 1)


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_wrong_answer_is_a_failed_query_that_names_a_wrong_vertex(engine):
    with tornado.open("memory:", workers=2, engine=engine) as session:
        wrong = session.start(Skewed(source=1), name="wrong")
        wrong.insert([1, 2, 3], [2, 3, 4], [1.0, 0.0, 1.5])
        asked = wrong.query(vertices=[1], check=True)  # right, as far as it goes
        with pytest.raises(CheckFailed, match=r"vertex 2 has 1\.0000000000000002, but .* is 1\.0") as caught:
            asked.result(TIMEOUT_S)
        assert (asked.state, caught.value.vertex, caught.value.code) == (QueryState.FAILED, 2, "check-failed")
        assert asked.status().has_result is False
        # Who did not ask for a check is answered, and the loop goes on.
        assert wrong.query(vertices=[4]).values[4] > 2.5
        with pytest.raises(CheckFailed):
            wrong.query(check=True).result(TIMEOUT_S)


def test_a_wrong_vertex_is_called_by_its_string():
    with tornado.open("memory:", workers=1) as session:
        wrong = session.start(Skewed(source="anna"), name="wrong", ids="string")
        wrong.insert(["anna"], ["ben"], [1.0])
        with pytest.raises(CheckFailed, match="vertex ben has") as caught:
            wrong.query(check=True).result(TIMEOUT_S)
        assert caught.value.vertex == "ben"


def test_what_nothing_verifies_is_refused_before_it_runs():
    with tornado.open("memory:", workers=1) as session:
        loop = session.start(Unproven(source=1))
        with pytest.raises(NotSupported, match="Unproven names no checker"):
            loop.query(check=True)
        with pytest.raises(NotSupported, match="names no checker"):
            loop.query().check()
        general = session.start(Plain())
        general.insert([1], [2])
        with pytest.raises(NotSupported, match="of which no edges are read"):
            general.query(check=True)
        with pytest.raises(InvalidArgument, match="or check"):
            session.service.submit(QueryRequest(loop=loop.name, mode=Mode.APPROXIMATE, check=True))


def test_an_answer_that_is_kept_holds_no_edges(monkeypatch):
    readers, real = [], EdgesByPage.__init__

    def made(self, *arguments):
        real(self, *arguments)
        readers.append(weakref.ref(self))

    monkeypatch.setattr(EdgesByPage, "__init__", made)
    with tornado.open("memory:", workers=2) as session:
        loop = session.start(ShortestPaths(source=1))
        feed(loop)
        kept = loop.query(check=True)
        assert len(kept.values) > VERTICES / 2
        gc.collect()
        assert [reader() for reader in readers] == [None, None]


def test_whether_to_check_is_said_by_true_or_false():
    with tornado.open("memory:", workers=1) as session:
        loop = session.start(ShortestPaths(source=1))
        with pytest.raises(InvalidArgument, match="check is 'no' but must be True or False"):
            loop.query(check="no")


def test_what_was_stopped_is_not_checked_and_says_so():
    with tornado.open("memory:", workers=1) as session:
        loop = session.start(ShortestPaths(source=1))
        loop.insert(np.arange(1, 3000), np.arange(2, 3001))
        answer = loop.query(max_iterations=1, parameters={"source": 2}, check=True).result(TIMEOUT_S)
        assert answer.state is QueryState.DEADLINE
        assert answer.certificate == {"kind": "none", "side": "upper", "checked": False}


def test_only_questions_that_ask_for_a_check_share_a_checked_branch():
    asked = [QueryRequest(loop="x", check=check).branch_key() for check in (True, False, True)]
    assert asked[0] == asked[2] != asked[1]
    with tornado.open("memory:", workers=2) as session:
        loop = session.start(ShortestPaths(source=1))
        feed(loop)
        queries = [loop.query(vertices=[number], check=number % 2 == 0) for number in range(1, 13)]
        found = [query.result(TIMEOUT_S).certificate.get("checked", False) for query in queries]
        assert found == [False, True] * 6


def test_of_checked_branches_one_runs_at_a_time():
    scheduler = BranchScheduler(branches=8, queued=8)

    def place(source, check):
        request = QueryRequest(loop="x", parameters={"source": source}, check=check)
        query = Query(str(source), request, 30.0, clock=SYSTEM_CLOCK)
        return scheduler.place(query, memory_allows=True, retry_after_s=1.0)

    (first, first_starts), (second, second_starts) = place(1, check=True), place(2, check=True)
    _, third_starts = place(3, check=False)
    assert (first_starts, second_starts, third_starts) == (True, False, True)
    assert scheduler.next_waiting() is None
    scheduler.end(first)
    assert scheduler.next_waiting() is second


def test_workers_that_are_lost_during_a_check_cost_only_time(monkeypatch):
    real, losses = Branch.edges, [WorkerLost("gone"), WorkerLost("gone again")]

    def edges(self):
        if losses:
            raise losses.pop()
        return real(self)

    monkeypatch.setattr(Branch, "edges", edges)
    with tornado.open("memory:", workers=2) as session:
        loop = session.start(ShortestPaths(source=1))
        loop.insert([1], [2], [1.0])
        check_certificate(loop.query(check=True).certificate, 1)
    assert not losses


def test_an_answer_can_be_checked_afterwards_while_its_version_is_there():
    with tornado.open("memory:", workers=2) as session:
        loop = session.start(ShortestPaths(source=1))
        loop.insert([1, 2], [2, 3], [1.0, 2.0])
        checked, answer, named = loop.query(check=True), loop.query(), loop.query(vertices=[3, 99])
        assert checked.check() == checked.certificate
        check_certificate(answer.check(), 2, 3)
        check_certificate(named.check(), 2, 3)
        assert "checked" not in answer.certificate
        version = loop.checkpoint()
        loop.insert([1], [3], [1.0])
        assert answer.snapshot.version == version
        check_certificate(answer.check(), 2, 3)
        newer = loop.query()
        newer.result()
        loop.insert([1], [4], [1.0])
        with pytest.raises(ResultUnavailable, match="has changed since"):
            newer.check()
        stopped = loop.query(max_iterations=1, parameters={"source": 2})
        if stopped.result().state is QueryState.DEADLINE:
            with pytest.raises(ResultUnavailable, match="stopped before its end"):
                stopped.check()


def test_over_http_the_certificate_says_what_was_checked_and_a_failed_check_is_a_problem():
    with tornado.open("memory:", workers=2) as session:
        right = session.start(ShortestPaths(source=1), name="right")
        wrong = session.stream("right").start(Skewed(source=1), name="wrong")
        right.insert([1, 2], [2, 3], [1.0, 2.0])
        unproven = session.stream("right").start(Unproven(source=1), name="unproven")
        with httpx.Client(base_url=session.serve().url, timeout=TIMEOUT_S) as client:

            def ask(loop, **fields):
                question = {"loop": loop.name, "check": True, **fields}
                return client.post("/v1/queries", json=question, params={"wait_s": within(20)})

            body = ask(right, vertices=[3]).json()
            assert body["state"] == "converged"
            check_certificate(body["certificate"], 2, 3)
            assert body["result"]["values"] == [{"vertex": 3, "value": 3.0}]
            assert client.get(f"/v1/queries/{body['id']}").json()["certificate"] == body["certificate"]
            body = ask(wrong, vertices=[3]).json()
            assert (body["state"], body["certificate"], body.get("result")) == ("failed", None, None)
            assert (body["error"]["code"], body["error"]["status"]) == ("check-failed", 500)
            assert "vertex 2" in body["error"]["detail"]
            refused = ask(unproven)
            assert (refused.status_code, refused.json()["code"]) == (501, "not-supported")
            assert ask(right, mode="approximate").status_code == 422
            assert ask(right, check="yes").status_code == 422
            described = client.get("/openapi.json").json()["components"]["schemas"]
            assert {"checked", "check"} <= set(described["CertificateBody"]["properties"])
