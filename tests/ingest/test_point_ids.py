"""Ids of points whose sources give none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.naive_points import id_at as naive_id
from tornado.errors import InvalidArgument
from tornado.ingest import point_ids
from tornado.ingest.point_ids import MOST_POSITION, check_sources, id_at, ids_at, names_at


@given(st.text(), st.integers(0, MOST_POSITION))
def test_an_id_is_what_the_rule_says(source, position):
    if not source.isprintable():
        return
    assert id_at(source, position) == naive_id(source, position, strings=False) < 0
    assert ids_at(source, np.array([position])).tolist() == [id_at(source, position)]


def test_ids_never_change():
    assert id_at("a9a.libsvm", 1) == -1296085202807816191
    assert id_at("http", 17) == -1139377582936948719


def test_ids_of_texts_are_texts():
    assert names_at("a.csv", np.array([3, 5])).to_pylist() == ["a.csv:3", "a.csv:5"]


@pytest.mark.parametrize("position", [-1, MOST_POSITION + 1])
def test_a_position_that_does_not_fit_is_refused(position):
    with pytest.raises(InvalidArgument, match="position is"):
        id_at("a", position)
    with pytest.raises(InvalidArgument, match="position is"):
        ids_at("a", np.array([1, position]))


def test_sources_that_would_share_their_ids_are_refused(monkeypatch):
    check_sources(["a.csv", "b.csv", "a.csv"])
    monkeypatch.setattr(point_ids, "_first_id", lambda source: -(1 << 63))
    with pytest.raises(InvalidArgument, match=r"'a\.csv' and 'b\.csv' would have the same ids"):
        check_sources(["a.csv", "b.csv"])
