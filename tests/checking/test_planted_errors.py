"""Every kind of planted error is found, at the first wrong vertex; the right answers that they are planted into are accepted."""

import math

import networkx as nx
import numpy as np
import pytest

from tests.checking import planted
from tests.checking.planted import answer_of, edges_of
from tests.kinds.counting.naive import clustering
from tests.kinds.rounds.naive import pageranks
from tornado.checking import (
    ClusteringCheck,
    ComponentsCheck,
    CoresCheck,
    Edges,
    PathsCheck,
    RankRoundsCheck,
    RanksCheck,
)
from tornado.errors import InvalidArgument

PATHS = {
    "shortest": (planted.LENGTHS, planted.WRONG_LENGTHS),
    "hops": (planted.HOPS, planted.WRONG_HOPS),
    "widest": (planted.WIDTHS, planted.WRONG_WIDTHS),
    "reachable": (planted.REACHED, planted.WRONG_REACHED),
}
ROADS_APART = 10**15  # so far apart ids are hashed and not looked up in a table


def in_pages(edges, size):
    """The same edges, some at a time, the last first."""
    for first in reversed(range(0, len(edges.sources), size)):
        part = slice(first, first + size)
        yield Edges(edges.sources[part], edges.targets[part], edges.weights[part])


def far_apart(edges):
    return Edges(edges.sources * ROADS_APART, edges.targets * ROADS_APART, edges.weights)


@pytest.mark.parametrize("rule", PATHS)
def test_right_paths_are_accepted(rule):
    values, _ = PATHS[rule]
    finding = PathsCheck((1,), rule).check(answer_of(values), [planted.ROADS])
    assert (finding.fault, finding.vertices, finding.edges) == (None, len(values), len(planted.ROADS.sources))


@pytest.mark.parametrize("rule", PATHS)
def test_neither_pages_nor_ids_nor_the_order_of_rows_make_a_difference(rule):
    values, _ = PATHS[rule]
    check = PathsCheck((ROADS_APART,), rule)
    rows = {vertex * ROADS_APART: value for vertex, value in reversed(values.items())}
    assert check.check(answer_of(rows), in_pages(far_apart(planted.ROADS), 3)).fault is None
    rows[3 * ROADS_APART] = None
    fault = check.check(answer_of(rows), in_pages(far_apart(planted.ROADS), 3)).fault
    assert fault.vertex == 3 * ROADS_APART


def test_ids_may_be_the_least_and_the_greatest_there_are():
    least, greatest = -(2**63), 2**63 - 1
    edges = [edges_of((least, 0, 1.0), (0, greatest, 2.0))]
    check = PathsCheck((least,))
    assert check.check(answer_of({least: 0.0, 0: 1.0, greatest: 3.0}), edges).fault is None
    assert check.check(answer_of({greatest: 2.5, 0: 1.0, least: 0.0}), edges).fault.vertex == greatest
    labels = {greatest: least, 0: least, least: least}
    assert ComponentsCheck().check(answer_of(labels, labels=True), edges).fault is None
    for strange in (greatest - 1, least + 1):
        fault = ComponentsCheck().check(answer_of(labels | {0: strange}, labels=True), edges).fault
        assert fault.vertex == 0


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        pytest.param(rule, error, id=f"{rule}: {error.name}")
        for rule, (_, errors) in PATHS.items()
        for error in errors
    ],
)
def test_a_planted_error_in_paths_is_found(rule, error):
    values, _ = PATHS[rule]
    fault = PathsCheck((1,), rule).check(answer_of(error.into(values)), [planted.ROADS]).fault
    assert fault is not None
    assert fault.vertex == error.first, fault


def test_right_labels_are_accepted():
    assert ComponentsCheck().check(answer_of(planted.LABELS, labels=True), [planted.LINKS]).fault is None


@pytest.mark.parametrize("error", planted.WRONG_LABELS, ids=lambda error: error.name)
def test_a_planted_error_in_labels_is_found(error):
    fault = ComponentsCheck().check(answer_of(error.into(planted.LABELS), labels=True), [planted.LINKS]).fault
    assert fault is not None
    assert fault.vertex == error.first, fault


@pytest.mark.parametrize("error", planted.WRONG_LABELS, ids=lambda error: error.name)
def test_where_any_member_is_a_label_only_another_member_is_no_error(error):
    check = ComponentsCheck(takes_any_member=True)
    fault = check.check(answer_of(error.into(planted.LABELS), labels=True), [planted.LINKS]).fault
    assert (fault is None) == (error.name == "a component is called by another vertex of it")


@pytest.mark.parametrize("labels", [False, True])
def test_right_core_numbers_are_accepted(labels):
    right = answer_of(planted.CORES, labels=labels)
    finding = CoresCheck().check(right, in_pages(planted.FRIENDS, 3))
    assert (finding.fault, finding.vertices, finding.edges) == (None, 11, len(planted.FRIENDS.sources))
    lowered = {vertex: min(number, 2) for vertex, number in planted.CORES.items()}
    assert CoresCheck(2).check(answer_of(lowered, labels=labels), [planted.FRIENDS]).fault is None
    assert CoresCheck(2).check(right, [planted.FRIENDS]).fault.vertex == 1
    assert CoresCheck(4).check(answer_of(lowered, labels=labels), [planted.FRIENDS]).fault.vertex == 1


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("error", planted.WRONG_CORES, ids=lambda error: error.name)
def test_a_planted_error_in_core_numbers_is_found(error, labels):
    answer = answer_of(error.into(planted.CORES), labels=labels)
    fault = CoresCheck().check(answer, in_pages(planted.FRIENDS, 4)).fault
    assert fault is not None
    assert fault.vertex == error.first, fault


@pytest.mark.parametrize("value", [2.5, math.nan, math.inf, -math.inf, 3.0000000000000004])
def test_a_core_number_that_is_no_whole_number_is_found(value):
    fault = CoresCheck().check(answer_of(planted.CORES | {6: value}), [planted.FRIENDS]).fault
    assert fault.vertex == 6


def test_core_numbers_without_edges_and_those_by_an_impossible_parameter():
    assert CoresCheck().check(answer_of({}), []).fault is None
    assert CoresCheck().check(answer_of({1: 0, 2: 0}, labels=True), []).fault is None
    with pytest.raises(InvalidArgument, match="most is -1"):
        CoresCheck(-1).check(answer_of({1: 0}), [])


@pytest.mark.parametrize(
    ("rows", "vertex"),
    [
        pytest.param([(1, 0.0), (2, 1.0), (2, 1.0)], 2, id="a vertex has two rows"),
        pytest.param([(1, 0.0)], 2, id="a vertex with an edge has no row"),
        pytest.param([(2, 1.0)], 1, id="the source has no row"),
        pytest.param([], 1, id="there are no rows"),
    ],
)
@pytest.mark.parametrize(
    "check",
    [PathsCheck((1,)), ComponentsCheck(), RanksCheck(), RankRoundsCheck(3), ClusteringCheck(), CoresCheck()],
    ids=lambda check: type(check).__name__,
)
def test_rows_that_do_not_fit_the_graph_are_found(check, rows, vertex):
    labels = isinstance(check, ComponentsCheck)
    fault = check.check(answer_of(rows, labels=labels), [edges_of((1, 2, 1.0))]).fault
    assert fault.vertex == vertex


def test_a_graph_without_edges_is_checked():
    assert PathsCheck((1,)).check(answer_of({1: 0.0, 2: None}), []).fault is None
    assert PathsCheck((1,)).check(answer_of({1: 0.0, 2: 7.0}), []).fault.vertex == 2
    assert PathsCheck((3,)).check(answer_of({1: None, 2: None}), []).fault is None
    assert ComponentsCheck().check(answer_of({1: 1, 2: 2}, labels=True), []).fault is None
    assert ComponentsCheck().check(answer_of({1: 1, 2: 1}, labels=True), []).fault.vertex == 2


def test_several_sources_are_all_sources():
    check, edges = PathsCheck((1, 7, 99), "reachable"), [planted.ROADS]
    right = planted.REACHED | {7: 1.0, 8: 1.0}
    assert check.check(answer_of(right), edges).fault is None
    assert check.check(answer_of(planted.REACHED), edges).fault.vertex == 7


def test_a_negative_weight_is_refused_and_no_search_runs_for_ever():
    with pytest.raises(InvalidArgument, match="negative"):
        PathsCheck((1,)).check(answer_of({1: 0.0, 2: 1.0}), [edges_of((1, 2, -1.0), (2, 1, -1.0))])
    with pytest.raises(InvalidArgument, match="negative"):
        RanksCheck().check(answer_of({1: 0.5, 2: 0.5}), [edges_of((1, 2, -1.0))])


def test_lengths_that_overflow_are_out_of_reach():
    edges = [edges_of((1, 2, 1e308), (2, 3, 1e308))]
    assert PathsCheck((1,)).check(answer_of({1: 0.0, 2: 1e308, 3: None}), edges).fault is None
    assert PathsCheck((1,)).check(answer_of({1: 0.0, 2: 1e308, 3: 1.7e308}), edges).fault.vertex == 3


# Ranks


def linked():
    """A graph with parallel edges, loops, weights, a vertex without edges of its own, and one without any."""
    graph = nx.MultiDiGraph()
    graph.add_node(40)
    graph.add_weighted_edges_from(
        [
            (s, t, w)
            for s, t, w in zip(*(np.random.default_rng(4).integers(0, 30, 90).reshape(3, 30)), strict=True)
        ]
    )
    graph.add_weighted_edges_from([(1, 2, 1.0), (1, 2, 2.5), (3, 3, 1.0), (5, 39, 2.0), (6, 7, 0.0)])
    return graph


def rows_of(graph):
    return edges_of(*[(s, t, float(w)) for s, t, w in graph.edges(data="weight")])


BOUND = 1e-12


def long_ranks(graph, **options):
    """By networkx, and then made as good as float64 allows."""
    nodes = list(graph)
    start = options.pop("start", None) or dict.fromkeys(nodes, 1.0)
    return nx.pagerank(graph, tol=1e-15, max_iter=5000, nstart=start, **options)


def spoiled(name, ranks, graph):
    """Ranks with an error of a kind, and the vertex that is named where only one can be."""
    first, second = sorted(ranks, key=ranks.get)[-2:]
    without = graph.copy()
    match name:
        case "one value is above":
            return ranks | {first: ranks[first] + 2e-12}
        case "one value is below":
            return ranks | {first: ranks[first] - 2e-12}
        case "two values are exchanged":
            return ranks | {first: ranks[second], second: ranks[first]}
        case "values are not normalised":
            return {vertex: rank * len(ranks) for vertex, rank in ranks.items()}
        case "a value is no number":
            return ranks | {first: math.nan}
        case "a vertex has no rank":
            return ranks | {first: None}
        case "all alike":
            return dict.fromkeys(ranks, 1.0 / len(ranks))
        case "weights count for nothing":
            return long_ranks(graph, weight=None)
        case "parallel edges are one":
            return long_ranks(nx.DiGraph(graph))
        case "loops are left out":
            without.remove_edges_from(list(nx.selfloop_edges(graph)))
        case "an edge that has gone still counts":
            without.add_edge(2, 9, weight=1.0)
        case "the last edge is missing":
            without.remove_edge(5, 39)
        case "dangling ranks are lost":
            return long_ranks(graph, dangling={39: 1.0})
        case "another damping":
            return long_ranks(graph, alpha=0.84)
        case "begins at one vertex":
            return long_ranks(graph, personalization={1: 1.0})
    return long_ranks(without)


KINDS = [
    "one value is above",
    "one value is below",
    "two values are exchanged",
    "values are not normalised",
    "a value is no number",
    "a vertex has no rank",
    "all alike",
    "weights count for nothing",
    "parallel edges are one",
    "loops are left out",
    "an edge that has gone still counts",
    "the last edge is missing",
    "dangling ranks are lost",
    "another damping",
    "begins at one vertex",
]


def test_ranks_of_networkx_are_accepted_within_their_bound():
    graph = linked()
    finding = RanksCheck().check(answer_of(long_ranks(graph), bound=BOUND), in_pages(rows_of(graph), 7))
    assert finding.fault is None
    measured = dict(finding.measured)
    assert 0 < measured["residual"] < measured["within"] <= BOUND


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_error_in_ranks_is_found(kind):
    graph = linked()
    wrong = spoiled(kind, long_ranks(graph), graph)
    fault = RanksCheck().check(answer_of(wrong, bound=BOUND), [rows_of(graph)]).fault
    assert fault is not None
    if kind.startswith(("one value", "a value", "a vertex")):
        right = long_ranks(graph)
        assert fault.vertex in [vertex for vertex in right if right[vertex] != wrong[vertex]]


def test_a_bound_that_rounding_alone_exceeds_is_not_believed():
    graph = linked()
    assert RanksCheck().check(answer_of(long_ranks(graph), bound=1e-17), [rows_of(graph)]).fault is not None


@pytest.mark.parametrize("error", [3e-6, -3e-6])
def test_an_error_counts_by_the_bound_that_is_stated(error):
    graph = linked()
    wrong = long_ranks(graph)
    wrong[1] += error
    found = {
        bound: RanksCheck().check(answer_of(wrong, bound=bound), [rows_of(graph)]).fault is not None
        for bound in (1e-4, abs(error) / 2)
    }
    assert found == {1e-4: False, abs(error) / 2: True}


def test_ranks_that_begin_at_some_vertices():
    graph = linked()
    shares = {1: 3.0, 7: 1.0}
    check = RanksCheck(0.9, tuple(shares.items()))
    ranks = long_ranks(graph, alpha=0.9, personalization=shares)
    assert check.check(answer_of(ranks, bound=BOUND), [rows_of(graph)]).fault is None
    assert RanksCheck(0.9).check(answer_of(ranks, bound=BOUND), [rows_of(graph)]).fault is not None


def test_where_nothing_begins_all_ranks_are_0():
    graph = linked()
    check = RanksCheck(0.5, ((77, 1.0),))
    nowhere = dict.fromkeys(graph, 0.0)
    assert check.check(answer_of(nowhere, bound=BOUND), [rows_of(graph)]).fault is None
    fault = check.check(answer_of(nowhere | {2: 1e-9}, bound=BOUND), [rows_of(graph)]).fault
    assert fault is not None


@pytest.mark.parametrize(
    "check",
    [
        RanksCheck(1.0),
        RanksCheck(-0.1),
        RanksCheck(math.nan),
        RanksCheck(0.5, ((1, -1.0),)),
        RankRoundsCheck(2, 1.0),
        RankRoundsCheck(2, math.nan),
    ],
)
def test_ranks_by_impossible_parameters_are_refused(check):
    with pytest.raises(InvalidArgument):
        check.check(answer_of({1: 0.5, 2: 0.5}, bound=BOUND), [edges_of((1, 2, 1.0))])


# Ranks after rounds

ROUNDS = 6


def weights_of(graph):
    weights = {}
    for source, target, weight in graph.edges(data="weight"):
        weights.setdefault((source, target), []).append(weight)
    return weights


def rounds_of(graph, rounds=ROUNDS, damping=0.85):
    return pageranks(weights_of(graph), list(graph), rounds, damping)


def spoiled_rounds(name, graph):
    """Ranks after rounds with an error of a kind, and the vertex that is wrong first where that is known."""
    ranks, without = rounds_of(graph), graph.copy()
    nodes = list(graph)
    by_rank = sorted(ranks, key=ranks.get)
    match name:
        case "a rank is above":
            return ranks | {nodes[4]: ranks[nodes[4]] * (1 + 1e-12)}, nodes[4]
        case "a rank is below":
            return ranks | {nodes[7]: ranks[nodes[7]] * (1 - 1e-12)}, nodes[7]
        case "the rank of the greatest is off":
            return ranks | {by_rank[-1]: ranks[by_rank[-1]] * (1 + 1e-12)}, by_rank[-1]
        case "two ranks are exchanged":
            changed = {by_rank[-1]: ranks[by_rank[0]], by_rank[0]: ranks[by_rank[-1]]}
            return ranks | changed, min(changed, key=nodes.index)
        case "two ranks are off that sum up to the same":
            changed = {nodes[2]: ranks[nodes[2]] + 1e-12, nodes[5]: ranks[nodes[5]] - 1e-12}
            return ranks | changed, nodes[2]
        case "a rank is no number":
            return ranks | {nodes[3]: math.nan}, nodes[3]
        case "a rank is infinite":
            return ranks | {nodes[3]: math.inf}, nodes[3]
        case "a vertex has no rank after rounds":
            return ranks | {nodes[6]: None}, nodes[6]
        case "ranks sum up to the number of vertices":
            return {vertex: rank * len(ranks) for vertex, rank in ranks.items()}, nodes[0]
        case "a round too few":
            return rounds_of(graph, ROUNDS - 1), None
        case "a round too many":
            return rounds_of(graph, ROUNDS + 1), None
        case "no round":
            return dict.fromkeys(ranks, 1 / len(ranks)), None
        case "another damping of rounds":
            return rounds_of(graph, damping=0.85 + 1e-9), None
        case "ranks to their fixed point":
            return long_ranks(graph, weight=None), None
        case "rounds by weight":
            return nx_rounds(graph), None
        case "parallel edges are one in rounds":
            return rounds_of(nx.MultiDiGraph(nx.DiGraph(graph))), None
        case "ranks are divided by those of vertices with edges":
            total = math.fsum(rank for vertex, rank in ranks.items() if graph.out_degree(vertex))
            return {vertex: rank / total for vertex, rank in ranks.items()}, None
        case "loops are left out of rounds":
            without.remove_edges_from(list(nx.selfloop_edges(graph)))
        case "an edge that has gone still counts in rounds":
            without.add_edge(2, 9, weight=1.0)
        case "the last edge is missing in rounds":
            without.remove_edge(5, 39)
    return rounds_of(without), None


def nx_rounds(graph):
    """As many rounds, each edge by its weight."""
    nodes = list(graph)
    ranks = dict.fromkeys(nodes, 1 / len(nodes))
    totals = dict(graph.out_degree(weight="weight"))
    for _ in range(ROUNDS):
        kept = math.fsum(ranks[vertex] for vertex in nodes if not totals[vertex])
        after = dict.fromkeys(nodes, (0.15 + 0.85 * kept) / len(nodes))
        for source, target, weight in graph.edges(data="weight"):
            if weight:
                after[target] += 0.85 * ranks[source] * weight / totals[source]
        ranks = after
    return ranks


ROUND_KINDS = [
    "a rank is above",
    "a rank is below",
    "the rank of the greatest is off",
    "two ranks are exchanged",
    "two ranks are off that sum up to the same",
    "a rank is no number",
    "a rank is infinite",
    "a vertex has no rank after rounds",
    "ranks sum up to the number of vertices",
    "a round too few",
    "a round too many",
    "no round",
    "another damping of rounds",
    "ranks to their fixed point",
    "rounds by weight",
    "parallel edges are one in rounds",
    "ranks are divided by those of vertices with edges",
    "loops are left out of rounds",
    "an edge that has gone still counts in rounds",
    "the last edge is missing in rounds",
]


def test_ranks_after_rounds_of_a_twin_are_accepted():
    graph = linked()
    verdict = RankRoundsCheck(ROUNDS).check(answer_of(rounds_of(graph)), in_pages(rows_of(graph), 7))
    assert verdict.fault is None
    measured = dict(verdict.measured)
    assert 0 <= measured["difference"] <= measured["rounding"] < 1e-12


@pytest.mark.parametrize("kind", ROUND_KINDS)
def test_a_planted_error_in_ranks_after_rounds_is_found(kind):
    graph = linked()
    wrong, first = spoiled_rounds(kind, graph)
    fault = RankRoundsCheck(ROUNDS).check(answer_of(wrong), [rows_of(graph)]).fault
    assert fault is not None
    assert first in {None, fault.vertex}


@pytest.mark.parametrize("error", [3e-6, -3e-6])
def test_with_a_bound_each_rank_after_rounds_may_be_so_far_off_as_a_share_of_itself(error):
    graph = linked()
    wrong = rounds_of(graph)
    wrong[1] *= 1.0 + error
    wrong[40] *= 1.0 + 2.0 * error
    check, edges = RankRoundsCheck(ROUNDS), [rows_of(graph)]
    assert check.check(answer_of(wrong, bound=2.01 * abs(error)), edges).fault is None
    for bound, first in ((1.99, {40}), (0.99, {1, 40})):
        assert check.check(answer_of(wrong, bound=bound * abs(error)), edges).fault.vertex in first


# Clustering


def knots():
    """A graph with triangles of one and of both directions, parallel edges, loops, pairs without a third, and a vertex alone."""
    graph = nx.gnp_random_graph(24, 0.25, seed=6, directed=True)
    graph = nx.MultiDiGraph(graph)
    graph.add_edges_from([(0, 1), (0, 1), (1, 0), (2, 2), (50, 51), (52, 53), (53, 52), (50, 52)])
    graph.add_node(60)
    nx.set_edge_attributes(graph, 1.0, "weight")
    return graph


def coefficients_of(graph):
    return clustering(weights_of(graph), list(graph))


def spoiled_clustering(name, graph):
    """Coefficients with an error of a kind, and the vertex that is wrong first where that is known."""
    right, without = coefficients_of(graph), graph.copy()
    nodes = [vertex for vertex in graph if 0 < right[vertex] < 1]
    simple = nx.DiGraph(graph)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    plain = simple.to_undirected()
    match name:
        case "a coefficient one ulp above":
            return right | {nodes[3]: math.nextafter(right[nodes[3]], 1)}, nodes[3]
        case "a coefficient one ulp below":
            return right | {nodes[-1]: math.nextafter(right[nodes[-1]], 0)}, nodes[-1]
        case "a vertex with one neighbour has 1":
            return right | {51: 1.0}, 51
        case "a vertex alone is no number":
            return right | {60: math.nan}, 60
        case "a vertex alone has no coefficient":
            return right | {60: None}, 60
        case "two coefficients are exchanged":
            other = next(vertex for vertex in nodes[1:] if right[vertex] != right[nodes[0]])
            return right | {nodes[0]: right[other], other: right[nodes[0]]}, nodes[0]
        case "directions count for nothing":
            return nx.clustering(plain), None
        case "by directed triangles, as networkx counts":
            return nx.clustering(simple), None
        case "neighbours are those that edges go to":
            return only_out(simple), None
        case "an edge counts half":
            return {vertex: value / 2 for vertex, value in right.items()}, nodes[0]
        case "the transitivity of all":
            return dict.fromkeys(right, nx.transitivity(plain)), None
        case "an edge that has gone still counts among neighbours":
            without.add_edge(*next(nx.non_edges(simple.subgraph(range(24)))), weight=1.0)
        case "one direction of a pair is missing":
            without.remove_edge(
                *next((s, t) for s, t in simple.edges if simple.has_edge(t, s) and 1 < s < 24)
            )
    return coefficients_of(without), None


def only_out(graph):
    found = {}
    for vertex in graph:
        others = set(graph.successors(vertex))
        inside = graph.subgraph(others).number_of_edges()
        found[vertex] = inside / (len(others) * (len(others) - 1)) if len(others) > 1 else 0.0
    return found


CLUSTERING_KINDS = [
    "a coefficient one ulp above",
    "a coefficient one ulp below",
    "a vertex with one neighbour has 1",
    "a vertex alone is no number",
    "a vertex alone has no coefficient",
    "two coefficients are exchanged",
    "directions count for nothing",
    "by directed triangles, as networkx counts",
    "neighbours are those that edges go to",
    "an edge counts half",
    "the transitivity of all",
    "an edge that has gone still counts among neighbours",
    "one direction of a pair is missing",
]


def test_right_clustering_is_accepted():
    graph = knots()
    verdict = ClusteringCheck().check(answer_of(coefficients_of(graph)), in_pages(rows_of(graph), 7))
    assert (verdict.fault, verdict.edges) == (None, graph.number_of_edges())


@pytest.mark.parametrize("kind", CLUSTERING_KINDS)
def test_a_planted_error_in_clustering_is_found(kind):
    graph = knots()
    right = coefficients_of(graph)
    wrong, first = spoiled_clustering(kind, graph)
    wrong = {vertex: wrong[vertex] for vertex in right}
    fault = ClusteringCheck().check(answer_of(wrong), [rows_of(graph)]).fault
    assert fault is not None
    assert fault.vertex == next(vertex for vertex in right if wrong[vertex] != right[vertex])
    assert first in {None, fault.vertex}


def test_no_two_kinds_of_errors_have_one_name_and_there_are_many():
    names = [f"{rule}: {error.name}" for rule, (_, errors) in PATHS.items() for error in errors]
    names += [error.name for error in planted.WRONG_LABELS] + KINDS + ROUND_KINDS + CLUSTERING_KINDS
    names += [error.name for error in planted.WRONG_CORES]
    assert len(set(names)) == len(names) >= 60
