"""Sums over walks are accepted within their bound, never beyond it, and errors that are planted into them are found."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checking.planted import answer_of, edges_of
from tests.kinds.accumulative.truth import share_off, spectral_radius, walks
from tornado import InvalidArgument
from tornado.checking import SumsCheck

BOUND = 1e-12
# Parallel edges, a loop, weight 0, a vertex that nothing leads to, one that leads nowhere, and one without edges.
EDGES = [
    (1, 2, 1.0),
    (1, 2, 2.0),
    (2, 3, 0.5),
    (3, 1, 4.0),
    (3, 3, 1.5),
    (4, 1, 1.0),
    (2, 5, 3.0),
    (5, 4, 0.0),
]
VERTICES = {1, 2, 3, 4, 5, 6}
CHECKS = {
    "katz": SumsCheck(factor=0.2),
    "with another base": SumsCheck(factor=0.2, base=3.0),
    "absorbed": SumsCheck(factor=1.0, absorption=0.5),
}


def by_ends(rows):
    edges = defaultdict(list)
    for source, target, weight in rows:
        edges[source, target].append(weight)
    return edges


def right_values(check, rows=EDGES, vertices=VERTICES):
    return walks(by_ends(rows), vertices, check.factor, check.base, check.absorption)


def found(check, values, *, rows=EDGES, bound=BOUND):
    return check.check(answer_of(values, bound=bound), [edges_of(*rows)]).fault


@pytest.mark.parametrize("name", CHECKS)
def test_right_values_are_accepted_and_what_was_looked_at_is_said(name):
    check = CHECKS[name]
    pages = [edges_of(*EDGES[:3]), edges_of(*EDGES[3:])]
    verdict = check.check(answer_of(right_values(check), bound=BOUND), pages)
    assert verdict.fault is None
    assert (verdict.vertices, verdict.edges) == (6, 8)
    measured = dict(verdict.measured)
    assert 0 <= measured["residual"] <= measured["within"] <= BOUND


def wrong(kind, check):
    right = right_values(check)
    match kind:
        case "a value too large":
            return right | {3: right[3] * (1 + 1e-9)}
        case "a value too small":
            return right | {3: right[3] * (1 - 1e-9)}
        case "a value that nobody reads too large":
            return right | {5: right[5] + 1e-9}
        case "a vertex without edges has none":
            return right | {6: 0.0}
        case "values exchanged":
            return right | {2: right[3], 3: right[2]}
        case "twice the values":
            return {vertex: 2 * value for vertex, value in right.items()}
        case "values of length 1":
            length = math.hypot(*right.values())
            return {vertex: value / length for vertex, value in right.items()}
        case "no number":
            return right | {4: math.nan}
        case "infinite":
            return right | {4: math.inf}
        case "no value":
            return right | {4: None}
        case "negative":
            return right | {4: -right[4]}
        case "all alike":
            return dict.fromkeys(right, check.base)
        case "weights left out":
            return right_values(check, [(source, target, 1.0) for source, target, weight in EDGES if weight])
        case "parallel edges left out":
            return right_values(check, EDGES[1:])
        case "the loop left out":
            return right_values(check, [row for row in EDGES if row[0] != row[1]])
        case "an edge of weight 0 counted":
            return right_values(check, [*EDGES[:-1], (5, 4, 1.0)])
        case "edges the other way":
            return right_values(check, [(target, source, weight) for source, target, weight in EDGES])
        case "one round too few":
            small = 1e-6 * max(right.values())
            return {vertex: value - small * (value - check.base) for vertex, value in right.items()}
    raise AssertionError(kind)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize(
    "kind",
    [
        "a value too large",
        "a value too small",
        "a value that nobody reads too large",
        "a vertex without edges has none",
        "values exchanged",
        "twice the values",
        "values of length 1",
        "no number",
        "infinite",
        "no value",
        "negative",
        "all alike",
        "weights left out",
        "parallel edges left out",
        "the loop left out",
        "an edge of weight 0 counted",
        "edges the other way",
        "one round too few",
    ],
)
def test_a_planted_error_is_found(kind, name):
    check = CHECKS[name]
    fault = found(check, wrong(kind, check))
    assert fault is not None
    if kind in {"no number", "infinite", "no value", "negative"}:
        said = "has a negative value" if kind == "negative" else "has no value"
        assert (fault.vertex, fault.words) == (4, said)
    else:
        assert "and the bound is 1e-12" in fault.told()


@pytest.mark.parametrize("name", CHECKS)
def test_another_factor_base_or_absorption_is_found(name):
    check = CHECKS[name]
    others = [SumsCheck(check.factor * 0.999, check.base, check.absorption)]
    others += [SumsCheck(check.factor, check.base * 1.001, check.absorption)]
    if check.absorption is not None:
        others += [SumsCheck(check.factor, check.base, 0.501), SumsCheck(check.factor, check.base)]
    for other in others:
        assert found(other, right_values(check)) is not None


def test_where_values_have_no_end_nothing_is_accepted_whatever_the_bound():
    for values in ({1: 1.0, 2: 1.0}, {1: 1e300, 2: 1e300}, {1: -1.0, 2: -1.0}, {1: -0.5, 2: -0.5}):
        assert found(SumsCheck(2.0), values, rows=[(1, 2, 1.0), (2, 1, 1.0)], bound=1e100) is not None


@pytest.mark.parametrize(
    "check",
    [
        SumsCheck(-0.1),
        SumsCheck(math.nan),
        SumsCheck(math.inf),
        SumsCheck(0.1, 0.0),
        SumsCheck(0.1, math.nan),
        SumsCheck(0.1, 1.0, 0.0),
        SumsCheck(0.1, 1.0, -1.0),
    ],
)
def test_sums_by_impossible_parameters_are_refused(check):
    with pytest.raises(InvalidArgument):
        check.check(answer_of({1: 1.0}), [])


def test_negative_weights_are_refused_and_no_vertex_is_right():
    with pytest.raises(InvalidArgument, match="negative"):
        SumsCheck(0.1).check(answer_of({1: 1.0, 2: 1.0}), [edges_of((1, 2, -1.0))])
    assert SumsCheck(0.1).check(answer_of({}), []).fault is None


@settings(deadline=None, max_examples=1500)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.0, 1.0, 0.5, 3.0])), max_size=9
    ),
    check=st.sampled_from([SumsCheck(0.1), SumsCheck(0.4, 2.0), SumsCheck(1.0, 1.0, 0.3)]),
    shares=st.lists(st.sampled_from([0.0, 0.0, 1e-9, -1e-9, 1e-3, -0.1, 0.5]), min_size=5, max_size=5),
    bound=st.sampled_from([1e-12, 1e-8, 1e-2, 0.5, 10.0]),
)
def test_what_is_accepted_is_within_its_bound_and_what_is_right_is_accepted(rows, check, shares, bound):
    edges, vertices = by_ends(rows), set(range(5))
    if spectral_radius(edges, vertices, check.factor, check.absorption) >= 0.99:
        claimed = {vertex: 1.0 + share for vertex, share in enumerate(shares)}
        if spectral_radius(edges, vertices, check.factor, check.absorption) > 1.01:
            assert found(check, claimed, rows=rows, bound=bound) is not None
        return
    right = right_values(check, rows, vertices)
    assert found(check, right, rows=rows, bound=1e-10) is None
    claimed = {
        vertex: value * (1 + share) for (vertex, value), share in zip(right.items(), shares, strict=True)
    }
    if found(check, claimed, rows=rows, bound=bound) is None:
        assert share_off(claimed, right) <= bound * (1 + 1e-9) + 1e-13


def test_the_bound_that_is_recomputed_is_not_far_from_the_error():
    """On a cycle errors of all values alike are errors of the residual times what a value is worth."""
    rows = [(vertex, (vertex + 1) % 10, 1.0) for vertex in range(10)]
    check = SumsCheck(0.9)
    claimed = dict.fromkeys(range(10), 10 * (1 + 1e-4))
    within = dict(check.check(answer_of(claimed, bound=1.0), [edges_of(*rows)]).measured)["within"]
    assert 1e-4 <= within * (1 + 1e-3) <= 1.01e-4
    assert np.isfinite(within)
