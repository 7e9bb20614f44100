"""Sums over walks that are checked: right ones within their bound, as shares of each value, and those that are further off than they say."""

from dataclasses import replace

import pytest

import tornado
from apps.absorbing_walk import AbsorbingWalk
from apps.katz import Katz
from tests.query.test_checked_ranks import TIMEOUT_S, feed, is_within, plant
from tornado.errors import CheckFailed
from tornado.kinds.accumulative.part_values import NormalisedValues
from tornado.query.query import QueryState

PROGRAMS = {"katz": Katz(alpha=0.002), "absorbing_walk": AbsorbingWalk(absorption=10.0)}


@pytest.mark.parametrize(("engine", "workers"), [("threads", 1), ("threads", 2), ("processes", 2)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_values_are_accepted_whatever_is_asked(engine, workers, name):
    with tornado.open("memory:", workers=workers, engine=engine) as session:
        sums = session.start(PROGRAMS[name])
        feed(sums)
        others = {"katz": [{"alpha": 1e-5}, {"beta": 7.0}], "absorbing_walk": [{"absorption": 100.0}]}[name]
        for parameters in ({}, {"tolerance": 1e-11}, {"tolerance": 0.3}, *others):
            certificate = sums.query(parameters=parameters, check=True).certificate
            assert is_within(certificate), parameters
            assert certificate["norm"] == "relative"
            assert certificate["bound"] <= parameters.get("tolerance", 1e-6)
        assert is_within(sums.query(top=3, check=True).certificate)
        assert is_within(sums.query(vertices=[1, 2], check=True).certificate)


@pytest.mark.parametrize("error", [1e-5, -1e-5])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_that_are_further_off_than_they_say_are_refused(monkeypatch, name, error):
    plant(monkeypatch, NormalisedValues, error)
    with tornado.open("memory:", workers=2) as session:
        wrong = session.start(PROGRAMS[name])
        feed(wrong)
        asked = wrong.query(parameters={"tolerance": 1e-8}, check=True)
        with pytest.raises(CheckFailed, match=r"values are within .* of themselves, and the bound is"):
            asked.result(TIMEOUT_S)
        assert asked.state is QueryState.FAILED
        monkeypatch.undo()
        assert is_within(wrong.query(parameters={"tolerance": 1e-8}, check=True).certificate)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_checked_afterwards_and_as_stored(name):
    with tornado.open("memory:", workers=2) as session:
        sums = session.start(PROGRAMS[name])
        feed(sums)
        answers = [sums.query(), sums.query(top=5), sums.query(vertices=[5, 1, 10**12])]
        for answer in answers:
            assert is_within(answer.check())
        version = sums.checkpoint()
        sums.insert([1], [2])
        assert is_within(sums.query(at=version, check=True).certificate)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bound_of_stopped_values_is_checked_as_well(name):
    with tornado.open("memory:", workers=1) as session:
        sums = session.start(replace(PROGRAMS[name], accuracy=0.3))
        feed(sums)
        assert sums.loop.wait_idle(TIMEOUT_S)
        answer = sums.query(max_iterations=1, parameters={"tolerance": 1e-13}, check=True).result(TIMEOUT_S)
        assert answer.state is QueryState.DEADLINE
        assert is_within(answer.certificate)
        assert answer.certificate["bound"] > 1e-13


def test_what_differs_by_more_than_both_bounds_is_found_afterwards():
    with tornado.open("memory:", workers=1) as session:
        sums = session.start(PROGRAMS["katz"])
        feed(sums)
        answer = sums.query(parameters={"tolerance": 1e-9})
        columns = answer.result()._columns
        columns.value[7] *= 1 + 1e-7
        with pytest.raises(CheckFailed, match="other values than a checked answer"):
            answer.check()
