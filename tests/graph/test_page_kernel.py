"""Edges of a page in the order of their births: the counting sorts against NumPy's sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.graph.graph_module import graph_module

BIRTHS = [0, 1, 2**12 - 1, 2**12, 2**24, 2**31, 2**32 + 5, 2**62, -(2**40)]


def ordered(born):
    born = np.array(born, np.int64)
    order, room, places = (np.full(len(born), -1, np.int32) for _ in range(3))
    graph_module().place_by_birth(born, order, room, places)
    assert sorted(places.tolist()) == list(range(len(born)))
    return np.argsort(places).tolist()


@given(st.lists(st.one_of(st.sampled_from(BIRTHS), st.integers(-(2**60), 2**60)), max_size=40))
def test_edges_are_ordered_as_a_stable_sort_does_it_whatever_lies_between_their_births(born):
    assert ordered(born) == np.argsort(np.array(born, np.int64), kind="stable").tolist()


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_a_large_page_is_ordered_by_as_many_digits_as_its_births_have(digits):
    random = np.random.default_rng(digits)
    born = 10**12 + random.choice(2 ** (12 * digits), min(5_000, 2 ** (12 * digits)), replace=False)
    assert ordered(born) == np.argsort(born).tolist()
