"""An answer is accepted if and only if it is the right one: on all small graphs that hypothesis comes upon, by plain definitions."""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checking.planted import answer_of, edges_of
from tornado.checking import ComponentsCheck, CoresCheck, LabelsCheck, PathsCheck

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


@settings(deadline=None, max_examples=1500)
@given(
    rule=st.sampled_from(sorted(LONGER)),
    sources=st.sets(st.sampled_from(VERTICES), max_size=2),
    edges=EDGES,
    data=st.data(),
)
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


@settings(deadline=None, max_examples=1500)
@given(edges=EDGES, most=st.integers(0, 3), data=st.data())
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


def subsets(vertices):
    return [
        set(members) for count in range(1, len(vertices) + 1) for members in combinations(vertices, count)
    ]
