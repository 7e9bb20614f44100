"""Visits of absorbed walks, by a dense solve, by their closed form where edges go both ways, and by walking."""

import math
from random import Random

import numpy as np
import pytest

import tornado
from apps.absorbing_walk import AbsorbingWalk
from tests.apps.test_pagerank import asked, random_records
from tests.kinds.accumulative.truth import Multigraph, share_off, walks
from tests.shortened import in_soak
from tornado import EdgeBatch, InvalidArgument
from tornado.loops import Master
from tornado.testing import rmat

SOLVER = 1e-12


@pytest.mark.parametrize("workers", [in_soak(1), 2, in_soak(4)])
def test_values_are_the_column_sums_of_the_fundamental_matrix(workers):
    random, truth = np.random.default_rng(workers), Multigraph()
    with Master(workers=workers) as master:
        loop = master.start(AbsorbingWalk(tolerance=1e-9), "visits")
        offset = 0
        for _ in range(5):
            batch = random_records(random, vertices=50, size=150)
            offset += len(batch)
            loop.admit(batch, "records", offset)
            truth.apply(batch)
            for absorption in (1.0, 0.2, 30.0):
                found, certificate = asked(loop, absorption=absorption)
                assert certificate == {"kind": "bound", "norm": "relative", "bound": certificate["bound"]}
                assert certificate["bound"] <= 1e-9
                expected = walks(truth.edges, truth.vertices, 1.0, absorption=absorption)
                assert share_off(found, expected) <= certificate["bound"] + SOLVER


def test_every_walk_ends_somewhere():
    edges, truth = rmat(8), Multigraph()
    batch = EdgeBatch.of(edges.src.astype(np.int64), edges.dst.astype(np.int64))
    truth.apply(batch)
    with Master(workers=2) as master:
        loop = master.start(AbsorbingWalk(absorption=0.5, tolerance=1e-9), "visits")
        loop.admit(batch, "edges", len(batch))
        found, certificate = asked(loop)
    out_weight = dict.fromkeys(found, 0.0)
    for (source, _), weights in truth.edges.items():
        out_weight[source] += math.fsum(weights)
    ended = math.fsum(value * 0.5 / (out_weight[vertex] + 0.5) for vertex, value in found.items())
    assert ended == pytest.approx(len(found), rel=certificate["bound"] + SOLVER)


def test_where_edges_go_both_ways_a_value_is_1_and_the_weight_over_the_absorption():
    with tornado.open("memory:", workers=2) as session:
        roads = session.stream("roads", undirected=True)
        visits = roads.start(AbsorbingWalk(absorption=2.0, tolerance=1e-10))
        roads.insert([1, 2, 3, 1], [2, 3, 1, 4], [1.0, 4.0, 2.0, 0.5])
        roads.add_vertices([9])
        certificate = visits.query(check=True).certificate
        assert certificate["checked"]
        expected = {1: 1 + 3.5 / 2, 2: 1 + 5 / 2, 3: 1 + 6 / 2, 4: 1 + 0.5 / 2, 9: 1.0}
        assert visits.query().values == pytest.approx(expected, rel=1e-9)


def test_it_is_what_comes_of_walking():
    """The definition, step by step: one walk from each vertex, again and again."""
    edges = {1: [(2, 3.0), (1, 1.0)], 2: [(3, 1.0)], 3: [], 4: [(1, 2.0), (3, 2.0)]}
    random, visits, times = Random(1), dict.fromkeys(edges, 0), 20_000
    for _ in range(times):
        for first in edges:
            at = first
            while at is not None:
                visits[at] += 1
                choices = [*edges[at], (None, 0.5)]
                at = random.choices([one for one, _ in choices], [weight for _, weight in choices])[0]
    with Master(workers=1) as master:
        loop = master.start(AbsorbingWalk(absorption=0.5), "visits")
        rows = [(source, target, weight) for source, out in edges.items() for target, weight in out]
        loop.admit(EdgeBatch.of(*zip(*rows, strict=True)), "edges", len(rows))
        found, _ = asked(loop)
    assert found == pytest.approx({vertex: count / times for vertex, count in visits.items()}, rel=0.03)


@pytest.mark.parametrize("absorption", [0.0, -1.0, math.nan, math.inf, 1e13, 1e-13])
def test_an_absorption_with_which_walks_do_not_end_is_refused(absorption):
    with (
        Master(workers=1) as master,
        pytest.raises(InvalidArgument, match=r"absorption is .* but must be above 0"),
    ):
        master.start(AbsorbingWalk(absorption=absorption), "refused")
