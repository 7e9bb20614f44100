"""Ranks and what else is computed of a graph's structure, beside plain rivals: these are right, and the benchmarks notice who is not."""

import re
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from benchmarks import peers, rank_tables, ranks
from benchmarks.catalogue import run_entry
from benchmarks.harness import Kind, Report, Settings, WrongAnswer
from benchmarks.measuring import churn_of
from benchmarks.plain_ranks import exact_ranks, in_lists, iterations_needed, joined_vertices
from benchmarks.plain_ranks import ranks as power_iteration
from benchmarks.plain_structure import clustering, core_numbers, labels, neighbour_lists
from tornado.testing import EdgeList, random_multigraph, rmat

SMOKE = Settings(scale=8, workers=(1, 2), smoke=True, hold_s=0.4, limit_s=60.0)


@pytest.fixture(scope="module")
def graph():
    """The edges that live at first, of a small graph; some vertices have none."""
    return churn_of(ranks.plain_graph(SMOKE), SMOKE).live()


@pytest.fixture(scope="module")
def pairs(graph):
    return graph[graph.src < graph.dst]


def in_networkx(edges, kind):
    of = kind()
    of.add_nodes_from(range(edges.vertices))
    of.add_edges_from(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    return of


def by_number(values):
    return np.array([values[vertex] for vertex in range(len(values))])


@pytest.mark.parametrize("seed", [None, 0, 7])
def test_the_power_iteration_finds_what_networkx_finds(graph, seed):
    at_seed = None if seed is None else {seed: 1.0}
    expected = nx.pagerank(in_networkx(graph, nx.DiGraph), tol=1e-15, max_iter=1_000, personalization=at_seed)
    assert np.abs(exact_ranks(in_lists(graph), seed=seed) - by_number(expected)).sum() < 1e-12


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-9])
def test_the_power_iteration_is_as_near_as_its_bound_says_and_not_much_nearer(graph, tolerance):
    lists = in_lists(graph)
    exact = exact_ranks(lists)
    found, iterations = power_iteration(lists, tolerance)
    assert np.abs(found - exact).sum() <= tolerance
    assert 0 < iterations_needed(lists, tolerance, exact) <= iterations
    again, more = power_iteration(lists, tolerance, found)
    assert np.abs(again - exact).sum() <= tolerance
    assert more == 1


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_the_power_iteration_is_as_near_as_its_bound_says_from_ranks_of_another_graph(tolerance):
    edges = rmat(9)
    lists = in_lists(edges)
    exact = exact_ranks(lists)
    before = exact_ranks(in_lists(edges[: len(edges) // 2]))
    kept = before.copy()
    found, iterations = power_iteration(lists, tolerance, before)
    assert np.abs(found - exact).sum() <= tolerance
    assert iterations > 1
    assert np.array_equal(before, kept)


def test_ids_that_no_edge_names_are_left_out_and_the_ranks_are_those_of_the_others():
    edges = random_multigraph(60, 150, seed=3)
    edges = EdgeList(edges.src.astype(np.int32), edges.dst.astype(np.int32), np.ones(150), 70)
    ids, joined = joined_vertices(edges)
    assert np.array_equal(ids, np.unique(np.concatenate([edges.src, edges.dst])))
    assert joined.vertices == len(ids) < 60
    assert np.array_equal(ids[joined.src], edges.src)
    assert np.array_equal(ids[joined.dst], edges.dst)
    graph = nx.MultiDiGraph()
    graph.add_edges_from(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    expected = nx.pagerank(graph, tol=1e-15, max_iter=1_000)
    found = dict(zip(ids.tolist(), exact_ranks(in_lists(joined)), strict=True))
    assert found.keys() == expected.keys()
    assert sum(abs(found[vertex] - rank) for vertex, rank in expected.items()) < 1e-12


def test_peeling_finds_the_core_numbers_of_networkx(pairs):
    expected = by_number(nx.core_number(in_networkx(pairs, nx.Graph)))
    assert expected.max() > 3
    assert np.array_equal(core_numbers(neighbour_lists(pairs)), expected)


def test_triangles_give_the_clustering_of_networkx(pairs):
    expected = by_number(nx.clustering(in_networkx(pairs, nx.Graph)))
    assert expected.max() > 0
    assert np.abs(clustering(neighbour_lists(pairs)) - expected).max() < 1e-12


def test_labels_are_those_of_the_definition(pairs):
    neighbours = in_networkx(pairs, nx.Graph).adj
    expected = list(range(pairs.vertices))
    for _ in range(3):
        before = expected
        expected = [
            min(
                Counter(before[other] for other in neighbours[vertex]).items(),
                key=lambda found: (-found[1], found[0]),
                default=(before[vertex], 1),
            )[0]
            for vertex in range(pairs.vertices)
        ]
    assert np.array_equal(labels(neighbour_lists(pairs), 3), expected)


@pytest.mark.parametrize("name", ["ranks", "rank_peers", "structure"])
def test_the_real_system_passes_the_smoke_run_of(name):
    report = run_entry(name, SMOKE)
    assert report.failure is None
    known = {figure.name.strip() for figure in report.figures}
    # Those of peers stand beside a full run only.
    shown = {
        reference.partition("|")[0].strip()
        for made in rank_tables.TABLES
        for reference in re.findall(rf"\{{\{{{name}-\d+: (.+?)\}}\}}", made())
        if not any(peer in reference for peer in (peers.DIFFERENTIAL, *peers.PAGERANK_20_S))
    }
    assert len(shown) > 5
    assert shown - known == set()


def test_ranks_that_are_farther_off_than_their_certificate_says_are_noticed():
    exact = np.full(4, 0.25)
    found = np.array([0.2501, 0.2499, 0.25, 0.25])
    values = SimpleNamespace(arrays=lambda: (np.arange(4), found))

    def branch(bound):
        return SimpleNamespace(certificate={"kind": "bound", "bound": bound}, values=lambda: values)

    ranks.require_certified("near enough", branch(3e-4), exact)
    with pytest.raises(WrongAnswer, match=r"0\.0002 off, but the bound is 0\.0001"):
        ranks.require_certified("not near", branch(1e-4), exact)
    with pytest.raises(WrongAnswer, match="no bound"):
        ranks.bound_of("nothing", SimpleNamespace(certificate=None))


class Certifying:
    """States one bound after another, of no changes at all."""

    def __init__(self, *bounds, is_idle=True):
        self._bounds = iter(bounds)
        self._is_idle = is_idle

    def admit(self, batch):
        """Nothing is done with it."""

    def wait_idle(self, timeout_s):
        if not self._is_idle and timeout_s == 1.0:
            raise TimeoutError

    @contextmanager
    def answered(self, timeout_s, *, max_iterations):
        assert (timeout_s, max_iterations) == (10.0, 0)
        yield SimpleNamespace(certificate={"kind": "bound", "bound": next(self._bounds)})


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (Certifying(1e-4, 9e-4, 2e-4), 9e-4),
        (Certifying(1e-4, 5e-3), 5e-3),
        (Certifying(1e-4, 1e-4, 1e-4, is_idle=False), np.inf),
    ],
    ids=["held", "one certificate is beyond the limit", "the loop lags"],
)
def test_a_rate_is_held_where_no_certificate_exceeds_the_limit_and_the_loop_keeps_up(system, expected):
    churn = SimpleNamespace(next_batch=lambda size: size)
    clock = SimpleNamespace(left_s=lambda: 10.0)
    assert ranks._hold(system, churn, 1_000, 1e-3, 0.3, clock) == expected


def test_a_peer_stands_beside_as_it_was_measured_and_scaled():
    report = Report("ranks", "?", Settings(scale=20), {})
    peers.compare(report, "GraphX", "from scratch", 14.7, "s", 2.0, 0.5, at_least=10)
    was, scaled, over = report.figures
    assert (was.value, scaled.value, over.value, over.met) == (14.7, 29.4, 58.8, True)
    assert {was.kind, scaled.kind, over.kind} == {Kind.UNKEPT}
