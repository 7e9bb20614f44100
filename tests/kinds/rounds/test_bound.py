"""The bound of ranks by rounds, against the same rounds in rational arithmetic, while edges come and go."""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import tornado
from apps.pagerank import PageRank, PageRankRounds
from tests.kinds.conformance import WAIT_S, Prefix, values_of
from tests.kinds.rounds.changes import changes
from tests.shortened import shortened
from tornado.certificate import NONE
from tornado.errors import CheckFailed, ResultUnavailable
from tornado.kinds.rounds import kind
from tornado.kinds.rounds.bound import relative_bound_of
from tornado.kinds.rounds.loop_state import RoundsState
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory, mixed, random_multigraph

UNIT = 2.0**-53
DAMPINGS = (0.85, 0.5, 1.0 - UNIT, 1e-200, 0.0, 0.99)


def exact_ranks(edges, vertices, rounds, damping):
    """PageRank after so many rounds, without a rounding."""
    damping, count = Fraction(damping), len(vertices)
    out = Counter()
    for (source, _), weights in edges.items():
        out[source] += len(weights)
    ranks = dict.fromkeys(vertices, Fraction(1, max(1, count)))
    for _ in range(rounds):
        kept = sum((ranks[vertex] for vertex in vertices if not out[vertex]), Fraction())
        after = dict.fromkeys(vertices, (1 - damping + damping * kept) / max(1, count))
        for (source, target), weights in edges.items():
            if weights:
                after[target] += damping * ranks[source] * len(weights) / out[source]
        ranks = after
    return ranks


def most_terms(edges, vertices):
    """The greatest in-degree, and how many have no edge from them."""
    arriving, leaving = Counter(), set()
    for (source, target), weights in edges.items():
        arriving[target] += len(weights)
        if weights:
            leaving.add(source)
    return max(arriving.values(), default=0), len(set(vertices) - leaving)


class Judged:
    """Holds answers against what is right; knows the worst of them."""

    def __init__(self, program, workers):
        self.program, self.workers = program, workers
        self.worst = 0.0  # error, as a share of what the bound allows

    def hold(self, found, certificate, edges, vertices, damping=None):
        damping = self.program.damping if damping is None else damping
        assert certificate == {"kind": "bound", "norm": "relative", "bound": certificate.get("bound")}
        bound, rounds = certificate["bound"], self.program.rounds
        right = exact_ranks(edges, vertices, rounds, damping)
        assert found.keys() == right.keys()
        for vertex, value in found.items():
            off = abs(Fraction(value) - right[vertex])
            assert off <= Fraction(bound) * Fraction(value), (vertex, float(off / right[vertex]), bound)
            self.worst = max(self.worst, float(off / Fraction(value)) / bound)
        terms, kept = most_terms(edges, vertices)
        widest = (rounds + 1) * (terms + kept + 2 * rounds + 10 + self.workers) + 2 * rounds + 8
        assert 0 < bound <= widest * UNIT


@pytest.mark.parametrize("seed", shortened(range(24), 8))
def test_no_rank_is_further_from_the_exact_one_than_its_certificate_says(seed):
    workers, rounds, damping = 1 + seed % 3, (1, 2, 5, 11)[seed % 4], DAMPINGS[seed % len(DAMPINGS)]
    program, prefix, forked, offset = PageRankRounds(rounds, damping), Prefix(), [], 0
    judged = Judged(program, workers)
    with Master(workers=workers) as master:
        loop = master.start(program, "ranks")
        for batch in [*changes(seed, batches=10, size=20), EdgeBatch.mentions(np.array([500, 501]))]:
            offset += len(batch)
            loop.admit(batch, "records", offset)
            prefix.apply(batch)
            edges = {ends: list(weights) for ends, weights in prefix.edges.items()}
            forked += [(loop.fork(), edges, set(prefix.vertices), None)]
        forked += [
            (loop.fork({"damping": other}), edges, set(prefix.vertices), other) for other in (0.3, 0.95)
        ]
        for branch, edges, vertices, other in forked:
            assert branch.wait(WAIT_S)
            assert branch.state is BranchState.CONVERGED, branch.error
            judged.hold(values_of(branch.values()), branch.certificate, edges, vertices, other)
            branch.release()
    assert judged.worst > 1e-3, "the bound is far wider than anything that is seen"


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_stored_keeps_its_bound(workers):
    program, prefix, offset, store = PageRankRounds(6), Prefix(), 0, MemoryStore()
    judged = Judged(program, 2)
    with Master(store, 2) as master:
        loop = master.start(program, "ranks")
        for batch in changes(3, batches=6):
            offset += len(batch)
            loop.admit(batch, "records", offset)
            prefix.apply(batch)
        stored = loop.checkpoint()
        begun = loop.fork()
        assert begun.wait(WAIT_S)
        wanted = begun.certificate
    with Master(store, workers) as master:
        loop = master.start(program, "ranks")
        again = loop.fork(at=stored)
        assert again.wait(WAIT_S)
        assert again.certificate == wanted
        judged.hold(values_of(again.values()), again.certificate, prefix.edges, prefix.vertices)
        anew = loop.fork()
        assert anew.wait(WAIT_S)
        judged.hold(values_of(anew.values()), anew.certificate, prefix.edges, prefix.vertices)


def test_values_that_underflow_on_the_way_are_within_the_bound_too():
    # Each step shares among a thousand, so the cells of later rounds are below the least float.
    steps, shared = 115, 1_000
    ends = [(step, step + 1) for step in range(steps)]
    ends += [(step, 10_000) for step in range(steps) for _ in range(shared - 1)]
    edges = {}
    for pair in ends:
        edges.setdefault(pair, []).append(1.0)
    vertices = {vertex for pair in ends for vertex in pair}
    program = PageRankRounds(112, 1.0 - UNIT)
    with Master(workers=2) as master:
        loop = master.start(program, "ranks")
        loop.admit(EdgeBatch.of(*zip(*ends, strict=True)), "records", len(ends))
        branch = loop.fork()
        assert branch.wait(WAIT_S)
        assert min(part.state.columns.value.min() for part in branch.processors) == 0.0
        Judged(program, 2).hold(values_of(branch.values()), branch.certificate, edges, vertices)


def test_a_graph_without_vertices_and_one_without_edges_have_bounds():
    with Master(workers=2) as master:
        loop = master.start(PageRankRounds(4), "ranks")
        for vertices in (set(), {1, 2, 3}):
            if vertices:
                loop.admit(EdgeBatch.mentions(np.array(sorted(vertices))), "records", 1)
            branch = loop.fork()
            assert branch.wait(WAIT_S)
            Judged(loop.program, 2).hold(values_of(branch.values()), branch.certificate, {}, vertices)


def test_the_bound_of_a_large_graph_is_tiny():
    program, vertices = PageRankRounds(10), 1_000_000
    for terms, kept in ((100_000, 500_000), (vertices // 2, 10_000)):
        bound = relative_bound_of(program.roundings(terms, kept + 4), terms)
        assert 0 < bound < 1e-9


@dataclass(frozen=True)
class Unstated(PageRankRounds):
    """Does not say how its coefficients are rounded."""

    def roundings(self, terms, kept):
        return None


def test_sums_of_a_program_that_does_not_say_how_it_rounds_claim_nothing():
    with Master(workers=1) as master:
        loop = master.start(Unstated(3), "ranks")
        loop.admit(EdgeBatch.of([1, 2], [2, 3]), "records", 2)
        branch = loop.fork()
        assert branch.wait(WAIT_S)
        assert (branch.state, branch.certificate) == (BranchState.CONVERGED, NONE)
        stopped = loop.fork({"damping": 0.2}, max_iterations=1)
        assert stopped.wait(WAIT_S)
        assert (stopped.state, stopped.certificate) == (BranchState.STOPPED, NONE)


def within(certificate):
    assert (certificate["kind"], certificate["norm"]) == ("bound", "relative")
    return certificate["bound"]


def test_the_order_of_the_best_is_proved_but_for_those_who_are_equal():
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(rounds=5))
        ranks.insert([1, 2, 3, 4, 5, 6], [9, 9, 9, 8, 8, 7])
        certificate = ranks.query(top=3).certificate
        assert within(certificate) < 1e-12
        assert certificate["order"] == "proved"
        partial_order = ranks.query(top=4).certificate  # behind 7 those come who are reached by nobody
        assert (partial_order["order"], partial_order["ties"]) == ("partial", [[4, 5]])
        assert "order" not in ranks.query(vertices=[9]).certificate


def test_ranks_with_a_bound_are_followed_and_checked_at_once_or_afterwards():
    records = mixed(random_multigraph(60, 300, seed=4), seed=4)
    graph = EdgeHistory.of(records).at(len(records))
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(rounds=4))
        ranks.loop.admit(records, "test", len(records))
        told = next(ranks.follow())
        assert within(told.certificate) < 1e-12
        assert told.values == ranks.query().values
        checked = ranks.query(check=True).certificate
        assert within(checked) == within(told.certificate)
        assert (checked["checked"], checked["check"]["edges"]) == (True, len(graph))
        assert ranks.query(top=5).check()["checked"] is True


@pytest.mark.parametrize("after", [False, True])
def test_a_rank_beyond_its_own_bound_is_found_though_all_together_are_near(monkeypatch, after):
    right = RoundsState.values_of

    def planted(self, rows):
        values = right(self, rows)
        values[np.argmin(values)] *= 1.0 + 1e-10
        return values

    with tornado.open("memory:", workers=1) as session:
        ranks = session.start(PageRank(rounds=4))
        ranks.insert([1, 2, 3, 3, 4], [2, 3, 1, 4, 9])
        if not after:
            monkeypatch.setattr(RoundsState, "values_of", planted)
            with pytest.raises(CheckFailed, match="after 4 rounds it is"):
                ranks.query(check=True).result(WAIT_S)
            return
        answer = ranks.query()
        values = answer.result()._columns.value
        values[np.argmin(values)] *= 1.0 + 1e-10
        with pytest.raises(CheckFailed, match="other values than a checked answer"):
            answer.check()


def test_one_that_was_stopped_claims_nothing():
    with tornado.open("memory:", workers=1) as session:
        ranks = session.start(PageRank(rounds=9))
        ranks.insert([1, 2, 3], [2, 3, 1])
        answer = ranks.query(parameters={"damping": 0.1}, max_iterations=2)
        assert answer.certificate == NONE
        with pytest.raises(ResultUnavailable, match="stopped before its end"):
            answer.check()


@pytest.mark.parametrize("planted", [lambda *_: UNIT / 8, lambda *given: relative_bound_of(*given) / 1e3])
def test_a_bound_that_is_too_small_is_noticed_here(monkeypatch, planted):
    monkeypatch.setattr(kind, "relative_bound_of", planted)
    with pytest.raises(AssertionError):
        test_no_rank_is_further_from_the_exact_one_than_its_certificate_says(3)


def test_a_bound_grows_with_what_is_added():
    program = PageRankRounds(10)
    bounds = [relative_bound_of(program.roundings(terms, 5), terms) for terms in (1, 10, 1_000, 10**6)]
    assert bounds == sorted(set(bounds))
    assert relative_bound_of(program.roundings(2**53, 5), 2**53) == math.inf
