"""Top k with a proof of order: answered when the order is certain, and what is said of it is right whatever the exact values are."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tornado
from apps.absorbing_walk import AbsorbingWalk
from apps.bfs import BreadthFirstSearch
from apps.katz import Katz
from apps.pagerank import PageRank
from tests.kinds.accumulative.test_conservation import records
from tests.kinds.accumulative.truth import Multigraph, pagerank, spectral_radius, walks
from tornado.engine import SimulationEngine
from tornado.errors import CheckFailed
from tornado.kinds.accumulative import loop_columns as names
from tornado.loops import BranchState, Master
from tornado.query.order import is_contradicted, order_of, ties_of
from tornado.query.query import QueryState
from tornado.query.request import QueryRequest
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import rmat

TIMEOUT_S = 120
SOLVER = 1e-14

# Whole numbers, so that their differences and sums are exact.
WHOLE = st.lists(st.integers(0, 12), min_size=1, max_size=8)


@given(WHOLE, st.integers(0, 6), st.data())
def test_no_values_within_the_bound_are_in_another_order_than_was_proved(drawn, bound, data):
    values, k = sorted(drawn, reverse=True), data.draw(st.integers(1, len(drawn)))
    exact, left = list(values), bound
    for place in data.draw(st.permutations(range(len(values)))):
        moved = data.draw(st.integers(-left, left))
        exact[place] += moved
        left -= abs(moved)
    order = order_of(np.array(values[: k + 1], float), bound)
    ties = order.get("ties", [])
    assert (order["order"] == "proved") == (not ties)
    tied = {place for first, last in ties for place in range(first, last)}
    for place in range(1, k + 1):
        if place not in tied:
            assert min(exact[:place]) > max(exact[place:], default=-math.inf)
    assert not is_contradicted(range(k), ties, dict(enumerate(exact)), 0.0)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.integers(0, 15), st.data())
def test_no_values_that_are_each_within_a_share_of_themselves_are_in_another_order_than_was_proved(
    drawn, sixteenths, data
):
    values, k = sorted(drawn, reverse=True), data.draw(st.integers(1, len(drawn)))
    off = [data.draw(st.sampled_from([-sixteenths, 0, sixteenths])) for _ in values]
    exact = [
        value * (16 + one) for value, one in zip(values, off, strict=True)
    ]  # in sixteenths, so without rounding
    order = order_of(np.array(values[: k + 1], float), sixteenths / 16, "relative")
    ties = order.get("ties", [])
    tied = {place for first, last in ties for place in range(first, last)}
    for place in range(1, k + 1):
        if place not in tied:
            assert min(exact[:place]) > max(exact[place:], default=-math.inf)
    for place in tied:  # they may be the other way round, or alike
        assert values[place - 1] * (16 - sixteenths) <= values[place] * (16 + sixteenths)
    assert not is_contradicted(range(k), ties, dict(enumerate(map(float, exact))), 0.0, "relative")


@given(WHOLE, st.integers(0, 6))
def test_of_two_that_are_tied_either_may_come_first(drawn, bound):
    values = sorted(drawn, reverse=True)
    for first, last in ties_of(np.array(values, float), bound):
        for place in range(first, last):
            gap = values[place - 1] - values[place]
            assert gap <= bound  # so one of them may be that much less, and then it is not before the other


@pytest.mark.parametrize(
    ("values", "bound", "order"),
    [
        ([], 0.0, {"order": "proved"}),
        ([1.0], 2.0, {"order": "proved"}),
        ([3.0, 2.0], 1.0, {"order": "partial", "ties": [[1, 2]]}),
        ([3.0, 2.0], 0.99, {"order": "proved"}),
        ([4.0, 4.0, 3.0, 2.0, 2.0, 2.0], 0.0, {"order": "partial", "ties": [[1, 2], [4, 6]]}),
        ([0.0, 0.0, 0.0], 0.0, {"order": "partial", "ties": [[1, 3]]}),
        ([3.0, math.nan, 1.0], 0.1, {"order": "partial", "ties": [[1, 3]]}),
    ],
)
def test_places_are_counted_from_1(values, bound, order):
    assert order_of(np.array(values), bound) == order


def test_what_was_proved_is_contradicted_by_values_that_are_surely_otherwise():
    values = {"a": 5.0, "b": 4.0, "c": 4.5, "d": 1.0}
    assert not is_contradicted(["a", "c", "b"], [], values, 0.1)
    assert not is_contradicted(["a", "b"], [[2, 3]], values, 0.1)  # b may be behind c
    assert is_contradicted(["a", "b"], [], values, 0.1)  # c is before b
    assert not is_contradicted(["a", "b"], [], values, 0.5)  # or as good
    assert is_contradicted(["b", "a"], [[2, 3]], values, 0.1)


def test_the_greatest_values_of_a_part_are_found_however_many_are_wanted():
    with Master(workers=1) as master:
        loop = master.start(PageRank(accuracy=1e-6), "ranks")
        edges = rmat(7)
        loop.admit(EdgeBatch.of(edges.src.astype(np.int64), edges.dst.astype(np.int64)), "edges", 1)
        assert loop.wait_idle(TIMEOUT_S)
        (part,) = loop.parts()
        values = np.empty(part.state.rows_seen)
        rows = np.arange(len(values))
        part.kernel.read_values(part.state.addresses, part.arguments, rows, values)
        expected = np.sort(values)[::-1]
        for wanted in (1, 2, 3, 7, 50, len(values), len(values) + 5):
            found = np.full(wanted, np.nan)
            count = part.kernel.find_greatest(part.state.addresses, part.arguments, found)
            assert count == min(wanted, len(values))
            assert np.array_equal(np.sort(found[:count])[::-1], expected[:count])


def is_right(answer, exact, k, tolerance):
    """Whether the answer says nothing of the order that is wrong; returns whether it came before its values."""
    certificate, found = answer.certificate, list(answer.values)
    bound = certificate["bound"]
    assert answer.state is QueryState.CONVERGED
    assert len(found) == min(k, len(exact))
    assert sum(abs(answer.values[vertex] - exact[vertex]) for vertex in found) <= bound + SOLVER
    ties = certificate.get("ties", [])
    assert (certificate["order"] == "proved") == (not ties)
    assert not ties or bound <= tolerance
    tied = {place for first, last in ties for place in range(first, last)}
    rest = max((value for vertex, value in exact.items() if vertex not in found), default=-1.0)
    shown = [exact[vertex] for vertex in found] + [rest]
    for place, (before, after) in enumerate(pairwise(shown), 1):
        assert before > after or place in tied, (place, certificate)
        if place in tied:
            assert abs(before - after) <= 2 * bound + SOLVER
    return bound > tolerance


@pytest.mark.parametrize(
    "where", [{"workers": 1}, {"workers": 2}, {"workers": 4}, {"workers": 2, "engine": "processes"}]
)
def test_the_order_of_the_best_is_that_of_the_exact_values_while_edges_come_and_go(where):
    chance, alive, truth, expected, asked = random.Random(11), [], Multigraph(), {}, []
    with tornado.open("memory:", **where) as session:
        ranks = session.start(PageRank(accuracy=0.05, tolerance=1e-10))
        offset = 0
        for _ in range(25):
            batch = records(chance, alive, vertices=40, size=30)
            offset += len(batch)
            ranks.loop.admit(batch, "test", offset)
            truth.apply(batch)
            expected[offset] = pagerank(truth.edges, truth.vertices, 0.85)
            k = chance.choice([1, 3, 10, 60])
            asked.append((ranks.query(top=k), k))
            if chance.random() < 0.5:
                asked[-1][0].result(TIMEOUT_S)
        before = 0
        for query, k in asked:
            answer = query.result(TIMEOUT_S)
            exact = expected[answer.snapshot.offsets["test"]]
            before += is_right(answer, exact, k, 1e-10)
        assert before >= 5  # answered before the values had converged


@pytest.mark.parametrize("seed", range(12))
def test_it_is_in_any_schedule(seed):
    chance, truth, alive = random.Random(seed), Multigraph(), []
    workers, bound = chance.choice([1, 2, 3, 4]), chance.choice([1, 2, 64, None])
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        loop = master.start(PageRank(accuracy=0.1, tolerance=1e-9), "ranks", delay_bound=bound)
        for number in range(1, 6):
            batch = records(chance, alive, vertices=15, size=20)
            loop.admit(batch, "test", number)
            truth.apply(batch)
            master.engine.step(chance.randrange(60))
            k = chance.choice([1, 4, 30])
            named = chance.choice([(), (3,)])
            branch = loop.fork({"personalisation": named}, top=k)
            exact = pagerank(truth.edges, truth.vertices, 0.85, named)
            assert branch.wait(TIMEOUT_S)
            assert branch.error is None
            ids, values = branch.values().top(k + 1)
            certificate = branch.certificate | order_of(values, branch.certificate["bound"])
            # Whoever stops it before has proved what it was to prove.
            if branch.state is BranchState.STOPPED:
                assert certificate["order"] == "proved"
            else:
                assert certificate["bound"] <= 1e-9
            ties = certificate.get("ties", [])
            assert not is_contradicted(ids[:k].tolist(), ties, exact, SOLVER)
            branch.release()


@pytest.mark.parametrize(
    "program", [Katz(alpha=2e-3, accuracy=0.5, tolerance=1e-9), AbsorbingWalk(accuracy=0.5)]
)
def test_so_it_is_where_each_value_has_a_bound_of_its_own(program):
    assert sum(answered_before_its_values(seed, program) for seed in range(12)) >= 5


def answered_before_its_values(seed, program):
    """How many branches ended when the order was proved, all of which said nothing that is wrong."""
    chance, truth, alive, before = random.Random(seed), Multigraph(), [], 0
    workers, bound = chance.choice([1, 2, 3, 4]), chance.choice([1, 2, 64, None])
    factor, absorption = (program.alpha, None) if isinstance(program, Katz) else (1.0, program.absorption)
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        loop = master.start(program, "sums", delay_bound=bound)
        for number in range(1, 6):
            batch = records(chance, alive, vertices=15, size=20)
            loop.admit(batch, "test", number)
            truth.apply(batch)
            master.engine.step(chance.randrange(60))
            k = chance.choice([1, 2, 4, 30])
            branch = loop.fork(top=k)
            assert branch.wait(TIMEOUT_S)
            assert branch.error is None
            if spectral_radius(truth.edges, truth.vertices, factor, absorption) >= 1:
                assert branch.certificate == {"kind": "none", "reason": "diverged"}
                continue
            exact = walks(truth.edges, truth.vertices, factor, absorption=absorption)
            ids, values = branch.values().top(k + 1)
            certificate = branch.certificate | order_of(values, branch.certificate["bound"], "relative")
            found = dict(zip(ids.tolist(), values.tolist(), strict=True))
            assert all(
                abs(found[one] - exact[one]) <= (certificate["bound"] + 1e-12) * found[one] for one in found
            )
            if branch.state is BranchState.STOPPED:
                before += 1
                assert certificate["order"] == "proved"
            else:
                assert certificate["bound"] <= program.tolerance
            ties = certificate.get("ties", [])
            assert not is_contradicted(ids[:k].tolist(), ties, exact, SOLVER)
            branch.release()
    return before


def test_a_service_answers_katz_when_the_order_is_proved_and_says_so():
    with tornado.open("memory:", workers=2) as session:
        katz = session.start(Katz(alpha=0.2, accuracy=0.5, tolerance=1e-10))
        around = list(range(1, 31))
        katz.insert(around, around[1:] + around[:1])
        katz.insert(around, [99] * 30)
        katz.insert(around[:10], [98] * 10)
        best = katz.query(top=2)
        assert best.certificate["order"] == "proved"
        assert best.certificate["norm"] == "relative"
        assert best.certificate["bound"] > 1e-10
        assert list(best.values) == [99, 98]
        assert best.check()["checked"] is True
        tied = katz.query(top=3)
        assert tied.certificate["ties"] == [[3, 4]]  # the ring is all alike
        assert tied.certificate["bound"] <= 1e-10
        assert katz.query(top=1, mode="certified").certificate["order"] in {"proved", "partial"}
        assert katz.query(vertices=[99, 1], top=2).certificate["order"] == "proved"


def test_it_visits_fewer_edges_than_values_that_have_converged():
    edges = rmat(11)
    with Master(None, 1, SimulationEngine(1, seed=1)) as master:
        loop = master.start(PageRank(tolerance=1e-9), "ranks")
        loop.admit(EdgeBatch.of(edges.src.astype(np.int64), edges.dst.astype(np.int64)), "edges", 1)
        assert loop.wait_idle(TIMEOUT_S)
        visited = {}
        for top in (None, 20):
            branch = loop.fork(top=top)
            assert branch.wait(TIMEOUT_S)
            (part,) = branch.processors
            visited[top] = int(part.state.counters[names.EDGES_VISITED])
            branch.release()
        assert visited[20] <= 0.8 * visited[None]


@pytest.fixture
def ring():
    """Ranks of a ring, which are all alike, and of a vertex that all of it leads to."""
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(accuracy=0.5, tolerance=1e-7), name="ranks")
        around = list(range(1, 31))
        ranks.insert(around, around[1:] + around[:1])
        ranks.insert(around, [99] * 30)
        yield ranks


def test_what_is_closer_than_the_tolerance_is_tied(ring):
    certificate = ring.query(top=5).certificate
    assert certificate["bound"] <= 1e-7
    assert (certificate["order"], certificate["ties"]) == ("partial", [[2, 6]])
    assert ring.query(top=1).certificate["order"] == "proved"
    assert ring.query(top=31).certificate["ties"] == [[2, 31]]  # and nobody is left
    assert ring.query(top=31, vertices=[*range(1, 31), 99]).certificate["ties"] == [[2, 31]]
    assert ring.query(vertices=[99, 4], top=1).certificate["order"] == "proved"
    assert "order" not in ring.query(vertices=[99, 4]).certificate
    assert "order" not in ring.query().certificate
    assert "order" not in ring.read(top=2).certificate


def test_an_answer_that_does_not_wait_says_what_of_the_order_is_proved_already(ring):
    assert ring.wait_idle(TIMEOUT_S)
    for asked in ({"mode": "certified"}, {"max_iterations": 1, "parameters": {"damping": 0.5}}):
        answer = ring.query(top=3, **asked).result(TIMEOUT_S)
        certificate = answer.certificate
        assert certificate["ties"][-1][1] == 4
        assert certificate["bound"] > 1e-7
    # It was stopped, but for what it was asked for it need not go on.
    best = ring.query(top=1, max_iterations=1, parameters={"damping": 0.5}).result(TIMEOUT_S)
    assert (best.state, best.certificate["order"]) == (QueryState.CONVERGED, "proved")


def test_of_more_than_are_ordered_and_of_named_vertices_the_values_converge():
    with tornado.open("memory:", workers=1) as session:
        ranks = session.start(PageRank(accuracy=0.5, tolerance=1e-9))
        edges = rmat(11)
        ranks.loop.admit(EdgeBatch.of(edges.src.astype(np.int64), edges.dst.astype(np.int64)), "edges", 1)
        assert ranks.query(top=1).certificate["bound"] > 1e-9
        version = ranks.checkpoint()
        for asked in ({"top": 1_001}, {"top": 1, "vertices": [1, 2]}, {"top": 1, "at": version}):
            answer = ranks.query(**asked).result(TIMEOUT_S)
            assert answer.certificate["bound"] <= 1e-9, asked
            assert answer.certificate["order"] in {"proved", "partial"}


def test_only_who_asks_for_an_order_that_is_proved_has_a_branch_of_its_own():
    asked = [
        QueryRequest(loop="ranks"),
        QueryRequest(loop="ranks", top=3),
        QueryRequest(loop="ranks", top=4),
        QueryRequest(loop="ranks", top=3, ends_with_order=True),
        QueryRequest(loop="ranks", top=4, ends_with_order=True),
    ]
    assert [asked[0].branch_key() == one.branch_key() for one in asked] == [True, True, True, False, False]
    assert asked[3].branch_key() != asked[4].branch_key()


def test_an_exact_answer_says_nothing_of_its_order():
    with tornado.open("memory:", workers=1) as session:
        hops = session.start(BreadthFirstSearch(source=1))
        hops.insert([1, 2], [2, 3])
        assert hops.query(top=2).certificate == {"kind": "exact"}


def test_it_is_checked_as_others_are(ring):
    ring.insert([4, 5, 5], [7, 7, 7])
    assert ring.query(top=2, check=True).certificate["checked"] is True
    answer = ring.query(top=2)
    assert answer.certificate["order"] == "proved"
    assert answer.check()["checked"] is True
    # As near as that, but said to be in an order in which it is not.
    answer = ring.query(top=2)
    columns = answer.result()._columns
    columns.vertex[:] = columns.vertex[::-1].copy()
    columns.value[:] = columns.value[::-1].copy()
    with pytest.raises(CheckFailed, match="other values than a checked answer"):
        answer.check()


def test_an_answer_that_ended_before_its_values_is_not_adopted(ring):
    # Ranks that are all alike may be right at once.
    ring.insert([4, 4, 5, 6, 7, 7, 20], [5, 9, 9, 9, 8, 30, 4])
    branch = ring.loop.fork(top=1)
    assert branch.wait(TIMEOUT_S)
    assert branch.state is BranchState.STOPPED
    assert not ring.loop.adoption.suits(branch)


def test_it_is_answered_over_http_and_described(ring, serve):
    client = serve(ring._service)
    question = {"loop": "ranks", "top": 3}
    body = client.post("/v1/queries", params={"wait_s": 20}, json=question).json()
    assert (body["state"], body["stopped_by"]) == ("converged", None)
    assert body["result"]["values"][0]["vertex"] == 99
    assert body["certificate"]["ties"] == [[2, 4]]
    assert client.get(f"/v1/queries/{body['id']}").json()["certificate"] == body["certificate"]
    shown = client.get("/openapi.json").json()["components"]["schemas"]["CertificateBody"]["properties"]
    assert {"order", "ties"} <= shown.keys()
