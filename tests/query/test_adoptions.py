"""`POST /v1/queries/{id}/adopt`: what a query has found becomes the values of its loop, or it is said why not."""

import gc
import threading
import weakref

import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.pagerank import PageRank
from tests.kinds.accumulative.truth import pagerank_by_powers
from tests.query.conftest import eventually, start_roads
from tests.query.test_http_queries import problem
from tornado.query.request import QueryRequest
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import EdgeList, rmat

TIMEOUT_S = 120
BOUND = 1e-10
POWERS = 2e-15
LITTLE_RANK = 241  # of all vertices of the graph, the one of which another edge changes ranks least


@pytest.fixture
def ranks_of(serve):
    """Starts ranks that a loop keeps badly, of a graph; gives the loop and a client of a service."""
    opened = []

    def make(**where):
        session = tornado.open("memory:", **where)
        opened.append(session)
        ranks = session.start(PageRank(accuracy=0.9, tolerance=BOUND), name="ranks")
        edges = rmat(8)
        ranks.loop.admit(EdgeBatch.of(edges.src.astype(np.int64), edges.dst.astype(np.int64)), "edges", 1)
        assert ranks.wait_idle(TIMEOUT_S)
        return ranks, serve(session.service)

    yield make
    for session in opened:
        session.close()


def ask(client, loop="ranks", **fields):
    answer = client.post("/v1/queries", params={"wait_s": 20}, json={"loop": loop} | fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def adopt(client, query):
    return client.post(f"/v1/queries/{query['id']}/adopt")


def bound_of(ranks):
    """What the values of the main loop are worth, which is true of them."""
    branch = ranks.loop.fork(max_iterations=0, reads_edges=True)
    assert branch.wait(TIMEOUT_S)
    bound, (ids, found) = branch.certificate["bound"], branch.values().arrays()
    pages = list(branch.edges())
    columns = (
        np.concatenate([getattr(page, name) for page in pages]) for name in ("sources", "targets", "weights")
    )
    expected = pagerank_by_powers(EdgeList(*columns), ids, 0.85)
    assert np.abs(found - expected).sum() <= bound + POWERS
    branch.release()
    return bound


@pytest.mark.parametrize("asked", [{}, {"vertices": [1, 2]}, {"parameters": {"tolerance": 1e-12}}])
@pytest.mark.parametrize("where", [{"workers": 1}, {"workers": 2}, {"workers": 2, "engine": "processes"}])
def test_what_a_query_has_found_becomes_the_values_of_its_loop(ranks_of, where, asked):
    ranks, client = ranks_of(**where)
    before = bound_of(ranks)
    assert before > 1e-3
    query = ask(client, **asked)
    ranks.insert([LITTLE_RANK], [2])  # it is valid although edges come
    adopted = adopt(client, query)
    assert adopted.status_code == 200
    assert adopted.json() == query["certificate"]
    assert ranks.wait_idle(TIMEOUT_S)
    assert bound_of(ranks) < before / 2
    assert adopt(client, query).status_code == 200  # as often as one likes


def test_of_answers_of_some_vertices_the_newest_is_adopted_and_older_ones_have_been_given_back(ranks_of):
    ranks, client = ranks_of(workers=1)
    whole, older, newest = ask(client), ask(client, vertices=[2]), ask(client, vertices=[1])
    assert "have been given back" in problem(adopt(client, older), 409, "cannot-adopt")["detail"]
    assert adopt(client, newest).status_code == adopt(client, whole).status_code == 200
    assert ranks.wait_idle(TIMEOUT_S)
    assert bound_of(ranks) <= 2 * BOUND


def test_what_is_not_to_be_adopted_is_refused_with_the_reason(ranks_of):
    ranks, client = ranks_of(workers=2)
    at = ranks.checkpoint()
    before = bound_of(ranks)
    for asked, said in (
        ({"parameters": {"damping": 0.5}}, "other parameters than loop 'ranks': {'damping': 0.5}"),
        ({"at": at}, f"is of the stored snapshot {at}"),
        # Loaded beside the loop, where the same vertices have other rows.
        ({"at": at, "parameters": {"tolerance": 1e-11}}, f"is of the stored snapshot {at}"),
        ({"top": 3}, "ended when the order of the best was proved"),
        ({"mode": "approximate"}, "was asked with mode approximate"),
        ({"max_iterations": 1}, "is deadline, and only what has converged is adopted"),
    ):
        refused = problem(adopt(client, ask(client, **asked)), 409, "cannot-adopt")
        assert said in refused["detail"]
        assert refused["hint"]
    assert ranks.wait_idle(TIMEOUT_S)
    assert bound_of(ranks) == pytest.approx(before)
    problem(client.post("/v1/queries/nobody/adopt"), 404, "unknown-query")
    assert client.get("/v1/queries/nobody/adopt").status_code == 405
    query = ask(client)
    problem(client.post(f"/v1/queries/{query['id']}/adopt?now=1"), 422, "unknown-field")


def test_a_loop_that_adopts_nothing_says_so(serve):
    with tornado.open("memory:", workers=1) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        hops.insert([1], [2])
        client = serve(session.service)
        refused = problem(adopt(client, ask(client, "hops")), 409, "cannot-adopt")
    assert "runs BreadthFirstSearch, a selective program, which adopts nothing" in refused["detail"]


def test_a_branch_of_a_stored_snapshot_is_not_adopted_by_its_rows():
    """It is of a loop beside this one, and row numbers there mean other vertices."""
    with tornado.open("memory:", workers=1) as session:
        ranks = session.start(PageRank(accuracy=0.9))
        ranks.insert([7, 3, 5, 3], [3, 5, 7, 7])
        branch = ranks.loop.fork({"tolerance": 1e-12}, at=ranks.checkpoint())
        assert branch.wait(TIMEOUT_S)
        assert not ranks.loop.adoption.suits(branch)
        with pytest.raises(tornado.InvalidArgument, match="cannot be adopted"):
            ranks.loop.adoption.adopt(branch)


@pytest.fixture
def adopting(fake, open_service, serve):
    """A client of a service over roads whose loop would adopt what its branches have found."""

    def make(**limits):
        loop = start_roads(fake)
        loop.adoption.is_supported = True
        return loop, serve(open_service(fake), **limits)

    return make


def test_a_query_that_runs_or_was_cancelled_is_not_adopted(fake, adopting):
    loop, client = adopting()
    fake.gate.clear()
    query = client.post("/v1/queries", json={"loop": "roads"}).json()
    assert "and only what has converged" in problem(adopt(client, query), 409, "cannot-adopt")["detail"]
    client.delete(f"/v1/queries/{query['id']}")
    assert "is cancelled" in problem(adopt(client, query), 409, "cannot-adopt")["detail"]
    assert loop.adoption.adopted == []


def test_an_adoption_that_hangs_is_503_at_its_deadline_and_health_does_not_wait_for_it(
    fake, adopting, monkeypatch
):
    loop, client = adopting()
    adoptions = client.server._bulkheads.adoptions
    query = ask(client, "roads", vertices=[3])
    fake.answers.clear()
    hanging = threading.Thread(target=adopt, args=(client, query))
    hanging.start()
    try:
        eventually(lambda: adoptions._threads > adoptions._idle)
        assert client.get("/healthz", timeout=30).status_code == 200
        with monkeypatch.context() as patch:
            patch.setattr(adoptions, "deadline_s", 0.2)
            refused = adopt(client, query)
        assert (refused.status_code, refused.json()["code"]) == (503, "unresponsive")
        assert refused.headers["retry-after"] == "1"
    finally:
        fake.answers.set()
        hanging.join()
    eventually(lambda: not adoptions.late())
    assert adopt(client, query).status_code == 200
    assert set(loop.adoption.adopted) == {loop.branches[0]}


def test_values_are_held_until_another_branch_has_converged_and_none_is_held_at_the_end(fake, adopting):
    loop, client = adopting()
    queries = [ask(client, "roads", vertices=[3]) for _ in range(3)]
    eventually(lambda: [branch.released for branch in loop.branches] == [True, True, False])
    client.delete(f"/v1/queries/{queries[-1]['id']}")
    problem(adopt(client, queries[-1]), 404, "unknown-query")
    client.server.service.close()
    eventually(lambda: all(branch.released for branch in loop.branches))


def test_of_a_loop_that_was_removed_nothing_is_held(fake, adopting):
    loop, client = adopting()
    query = ask(client, "roads", vertices=[3])
    service = client.server.service
    del fake.loops["roads"]
    service.forget_loop("roads")
    eventually(lambda: loop.branches[0].released)
    problem(adopt(client, query), 404, "unknown-loop")
    start_roads(fake).adoption.is_supported = True
    refused = problem(adopt(client, query), 409, "cannot-adopt")
    assert "is of another loop that was called 'roads'" in refused["detail"]


def test_a_query_that_is_forgotten_keeps_no_branch(fake, open_service):
    loop = start_roads(fake)
    loop.adoption.is_supported = True
    service = open_service(fake)
    query = service.submit(QueryRequest(loop="roads", vertices=(3,)))
    assert query.wait(TIMEOUT_S)
    service.cancel(query.id)
    gone = weakref.ref(query)
    del query
    gc.collect()
    eventually(lambda: gone() is None)
    assert not service._adoptions._found


def test_the_interface_describes_it(adopting):
    _, client = adopting()
    described = client.get("/openapi.json").json()["paths"]["/v1/queries/{id}/adopt"]["post"]
    schema = described["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/CertificateBody"}
    assert {"4XX", "503"} <= described["responses"].keys()
