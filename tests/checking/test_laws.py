"""An answer is accepted if and only if it is the right one: on all small graphs that hypothesis comes upon, by plain definitions."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checking.planted import answer_of, edges_of
from tests.kinds.counting.naive import clustering
from tornado.checking import (
    ClusteringCheck,
    ComponentsCheck,
    CoresCheck,
    LabelsCheck,
    PathsCheck,
    RankRoundsCheck,
)

VERTICES = range(5)
WEIGHTS = st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.1, 0.2, 1e16])
EDGES = st.lists(st.tuples(st.sampled_from(VERTICES), st.sampled_from(VERTICES), WEIGHTS), max_size=9)
LONGER = {
    "shortest": lambda value, weight: value + weight,
    "hops": lambda value, weight: value + 1.0,
    "widest": min,
    "reachable": lambda value, weight: value,
}
BEGINS = {"shortest": 0.0, "hops": 0.0, "widest": math.inf, "reachable": 1.0}


def right_values(rule, sources, edges):
    """By trying every edge, as often as there are vertices."""
    best = {vertex: BEGINS[rule] if vertex in sources else None for vertex in VERTICES}
    prefers = max if rule == "widest" else min
    for _ in VERTICES:
        for source, target, weight in edges:
            if best[source] is not None:
                brought = LONGER[rule](best[source], weight)
                best[target] = brought if best[target] is None else prefers(best[target], brought)
    return best


PATHS = given(
    rule=st.sampled_from(sorted(LONGER)),
    sources=st.sets(st.sampled_from(VERTICES), max_size=2),
    edges=EDGES,
    data=st.data(),
)


@settings(deadline=None, max_examples=500)
@PATHS
def test_paths_are_accepted_if_and_only_if_they_are_right(rule, sources, edges, data):
    right = right_values(rule, sources, edges)
    check, pages = PathsCheck(tuple(sources), rule), [edges_of(*edges)]
    assert check.check(answer_of(right), pages).fault is None
    # Values that come up on such graphs: the likeliest to seem right.
    likely = [*right.values(), 0.0, 1.0, 2.0, 3.0, 0.1, 0.1 + 0.2, 1e16, math.inf, None]
    claimed = {vertex: data.draw(st.sampled_from([right[vertex], *likely])) for vertex in VERTICES}
    shown = {
        vertex: None if value == (-math.inf if rule == "widest" else math.inf) else value
        for vertex, value in claimed.items()
    }
    fault = check.check(answer_of(shown), pages).fault
    wrong = [vertex for vertex in VERTICES if shown[vertex] != right[vertex]]
    assert (None if fault is None else fault.vertex) == (wrong[0] if wrong else None)


def right_sources(sources, edges):
    """Of each vertex the least pair of length and source that an edge brings from one that has its own."""
    best = {vertex: (0.0, vertex) if vertex in sources else None for vertex in VERTICES}
    for _ in range(len(VERTICES) ** 2):
        lengths = {vertex: None if pair is None else pair[0] for vertex, pair in best.items()}
        least = {vertex: 0.0 if vertex in sources else math.inf for vertex in VERTICES}
        for source, target, weight in edges:
            if lengths[source] is not None:
                least[target] = min(least[target], lengths[source] + weight)
        brought = {vertex: [(0.0, vertex)] if vertex in sources else [] for vertex in VERTICES}
        for source, target, weight in edges:
            if best[source] is not None:
                brought[target].append((best[source][0] + weight, best[source][1]))
        best = {
            vertex: min((pair for pair in pairs if pair[0] == least[vertex] < math.inf), default=None)
            for vertex, pairs in brought.items()
        }
    return best


@settings(deadline=None, max_examples=500)
@given(
    sources=st.sets(st.sampled_from(VERTICES), max_size=3),
    edges=st.lists(
        st.tuples(
            st.sampled_from(VERTICES),
            st.sampled_from(VERTICES),
            st.sampled_from([0.0, 1e-20, 0.1, 0.2, 0.3, 0.1 + 0.2, 1.0, 1e308]),
        ),
        max_size=14,
    ),
    takes_any=st.booleans(),
    data=st.data(),
)
def test_sources_are_accepted_if_and_only_if_they_are_right(sources, edges, takes_any, data):
    right = right_sources(sources, edges)
    check = PathsCheck(tuple(sources), names_sources=True, takes_any_source=takes_any)
    answer = answer_of({vertex: None if pair is None else pair[0] for vertex, pair in right.items()})
    own = np.array(
        [math.nan if right[vertex] is None else right[vertex][1] for vertex in answer.ids.tolist()]
    )
    assert check.check(replace(answer, beside=own), [edges_of(*edges)]).fault is None
    claimed = np.array([data.draw(st.sampled_from([one, *VERTICES, math.nan])) for one in own.tolist()])
    fault = check.check(replace(answer, beside=claimed), [edges_of(*edges)]).fault
    is_other = (claimed != own) & ~np.isnan(own)
    if not takes_any:
        wrong = answer.ids[is_other].tolist()
        assert (None if fault is None else fault.vertex) == (wrong[0] if wrong else None)
    elif fault is not None:
        assert is_other.any()
    assert check.check(answer, [edges_of(*edges)]).method.endswith("not looked at which source that is")


@pytest.mark.soak
@settings(deadline=None, max_examples=5000)
@PATHS
def test_so_are_paths_in_the_long_run(rule, sources, edges, data):
    test_paths_are_accepted_if_and_only_if_they_are_right.hypothesis.inner_test(rule, sources, edges, data)


@settings(deadline=None, max_examples=500)
@given(edges=EDGES, rounds=st.integers(0, 4), is_undirected=st.booleans(), data=st.data())
def test_labels_after_rounds_are_accepted_if_and_only_if_they_are_right(edges, rounds, is_undirected, data):
    if is_undirected:
        edges = [*edges, *[(target, source, weight) for source, target, weight in edges if source != target]]
    right = {vertex: vertex for vertex in VERTICES}
    for _ in range(rounds):
        heard = {vertex: Counter() for vertex in VERTICES}
        for source, target, _ in edges:
            heard[target][right[source]] += 1
            if not is_undirected:
                heard[source][right[target]] += 1
        right = {
            vertex: min(votes, key=lambda label, votes=votes: (-votes[label], label))
            if votes
            else right[vertex]
            for vertex, votes in heard.items()
        }
    check, pages = LabelsCheck(rounds), [edges_of(*edges)]

    def found(labels):
        answer = replace(answer_of(labels, labels=True), is_undirected=is_undirected)
        return check.check(answer, pages).fault

    assert found(right) is None
    claimed = {vertex: data.draw(st.sampled_from([right[vertex], *VERTICES, None])) for vertex in VERTICES}
    wrong = [vertex for vertex in VERTICES if claimed[vertex] != right[vertex]]
    fault = found(claimed)
    assert (None if fault is None else fault.vertex) == (wrong[0] if wrong else None)


@settings(deadline=None, max_examples=500)
@given(
    edges=st.lists(st.tuples(st.sampled_from(VERTICES), st.sampled_from(VERTICES), WEIGHTS), max_size=18),
    data=st.data(),
)
def test_clustering_is_accepted_if_and_only_if_it_is_right(edges, data):
    right = clustering({(source, target): [1.0] for source, target, _ in edges}, VERTICES)
    check, pages = ClusteringCheck(), [edges_of(*edges)]
    assert check.check(answer_of(right), pages).fault is None
    likely = [*right.values(), 0.0, 1.0, 0.5, 1 / 3, math.nextafter(1 / 3, 1), math.inf, None]
    claimed = {vertex: data.draw(st.sampled_from([right[vertex], *likely])) for vertex in VERTICES}
    fault = check.check(answer_of(claimed), pages).fault
    wrong = [vertex for vertex in VERTICES if claimed[vertex] != right[vertex]]
    assert (None if fault is None else fault.vertex) == (wrong[0] if wrong else None)


def ranks_after(edges, rounds, damping):
    """As LDBC writes it down; without any rounding where numbers are fractions."""
    targets = {vertex: [target for source, target, _ in edges if source == vertex] for vertex in VERTICES}
    count = len(VERTICES)
    ranks = dict.fromkeys(VERTICES, 1 / type(damping)(count))
    for _ in range(rounds):
        kept = sum(ranks[vertex] for vertex in VERTICES if not targets[vertex])
        after = dict.fromkeys(VERTICES, (1 - damping + damping * kept) / count)
        for vertex, others in targets.items():
            for other in others:
                after[other] += damping * ranks[vertex] / len(others)
        ranks = after
    return ranks


@settings(deadline=None, max_examples=500)
@given(
    edges=EDGES,
    rounds=st.integers(0, 6),
    damping=st.sampled_from([0.0, 0.5, 0.85, 0.99]),
    wrong=st.sampled_from(VERTICES),
    off=st.sampled_from([1e-12, -1e-12, 1e-3]),
)
def test_ranks_after_rounds_are_accepted_if_and_only_if_they_are_right_up_to_rounding(
    edges, rounds, damping, wrong, off
):
    exact = ranks_after(edges, rounds, Fraction(damping))
    check, pages = RankRoundsCheck(rounds, damping), [edges_of(*edges)]
    for right in (exact, ranks_after(edges, rounds, damping), ranks_after(edges[::-1], rounds, damping)):
        verdict = check.check(answer_of({vertex: float(rank) for vertex, rank in right.items()}), pages)
        assert verdict.fault is None
        assert dict(verdict.measured)["difference"] <= dict(verdict.measured)["rounding"] <= 1e-13
    claimed = {vertex: float(rank) for vertex, rank in exact.items()}
    claimed[wrong] += off
    assert check.check(answer_of(claimed), pages).fault.vertex == wrong


def test_in_whatever_order_a_hub_adds_its_rank_is_right():
    leaves = range(1, 8)
    edges = [(leaf, 0, 1.0) for leaf in leaves] + [
        (leaf, other, 1.0) for leaf in leaves for other in range(1, leaf)
    ]
    ids, damping = range(8), 0.85
    there, degrees = set(edges), Counter(source for source, _, _ in edges)
    before = dict.fromkeys(ids, 1 / 8)
    check, found = RankRoundsCheck(1, damping), set()
    for order in permutations(leaves):
        ranks = {}
        for vertex in ids:
            heard = [leaf for leaf in order if (leaf, vertex, 1.0) in there]
            brought = 0.0
            for leaf in heard:
                brought += before[leaf] / degrees[leaf]
            ranks[vertex] = (1 - damping) / 8 + damping * before[0] / 8 + damping * brought
        if ranks[0] not in found:
            found.add(ranks[0])
            assert check.check(answer_of(ranks), [edges_of(*edges)]).fault is None
    assert len(found) > 1  # it does depend on the order


@settings(deadline=None, max_examples=500)
@given(edges=EDGES, data=st.data())
def test_labels_are_accepted_if_and_only_if_they_are_right(edges, data):
    right = {vertex: vertex for vertex in VERTICES}
    for _ in VERTICES:
        for source, target, _ in edges:
            right[source] = right[target] = min(right[source], right[target])
    check, pages = ComponentsCheck(), [edges_of(*edges)]
    assert check.check(answer_of(right, labels=True), pages).fault is None
    claimed = {vertex: data.draw(st.sampled_from([right[vertex], *VERTICES, 77])) for vertex in VERTICES}
    fault = check.check(answer_of(claimed, labels=True), pages).fault
    wrong = [vertex for vertex in VERTICES if claimed[vertex] != right[vertex]]
    assert (None if fault is None else fault.vertex) == (wrong[0] if wrong else None)


CORE_NUMBERS = given(edges=EDGES, most=st.integers(0, 3), data=st.data())


@settings(deadline=None, max_examples=500)
@CORE_NUMBERS
def test_core_numbers_are_accepted_if_and_only_if_they_are_right(edges, most, data):
    neighbours = {vertex: set() for vertex in VERTICES}
    for source, target, _ in edges:
        if source != target:
            neighbours[source].add(target)
            neighbours[target].add(source)
    right = dict.fromkeys(VERTICES, 0)
    for members in subsets(VERTICES):
        number = min(len(neighbours[vertex] & members) for vertex in members)
        for vertex in members:
            right[vertex] = max(right[vertex], number)
    if most:
        right = {vertex: min(number, most) for vertex, number in right.items()}
    check, pages = CoresCheck(most), [edges_of(*edges)]
    for labels in (True, False):
        assert check.check(answer_of(right, labels=labels), pages).fault is None
    claimed = {
        vertex: data.draw(st.sampled_from([right[vertex], *right.values(), 0, 1, 2, 3, 4, None]))
        for vertex in VERTICES
    }
    wrong = [vertex for vertex in VERTICES if claimed[vertex] != right[vertex]]
    for labels in (True, False):
        fault = check.check(answer_of(claimed, labels=labels), pages).fault
        assert (None if fault is None else fault.vertex) == (wrong[0] if wrong else None)


@pytest.mark.soak
@settings(deadline=None, max_examples=5000)
@CORE_NUMBERS
def test_so_are_core_numbers_in_the_long_run(edges, most, data):
    test_core_numbers_are_accepted_if_and_only_if_they_are_right.hypothesis.inner_test(edges, most, data)


def subsets(vertices):
    return [
        set(members) for count in range(1, len(vertices) + 1) for members in combinations(vertices, count)
    ]
