"""Ranks that are checked: right ones within their bound, and those that are further from the right ones than they say."""

import random

import numpy as np
import pytest

import tornado
from apps.label_propagation import LabelPropagation
from apps.pagerank import PageRank
from tornado.errors import CheckFailed
from tornado.kinds.accumulative.part_values import NormalisedValues
from tornado.kinds.rounds.loop_state import RoundsState
from tornado.query.query import QueryState
from tornado.testing import Mix, mixed, random_multigraph

TIMEOUT_S = 120
RECORDS = mixed(random_multigraph(200, 1500, seed=9, zero_share=0.2), seed=9, mix=Mix())


def plant(monkeypatch, kind, error):
    """Have the first value of each part be another one, in answers."""
    right = kind.values_of

    def values_of(self, rows):
        values = right(self, rows)
        values[:1] += error
        return values

    monkeypatch.setattr(kind, "values_of", values_of)


def feed(loop, records=RECORDS):
    loop.loop.admit(records, "test", len(records))


def is_within(certificate):
    check = certificate["check"]
    return certificate["checked"] and 0 <= check["residual"] <= check["within"] <= certificate["bound"]


@pytest.mark.parametrize(("engine", "workers"), [("threads", 1), ("threads", 2), ("processes", 2)])
def test_right_ranks_are_accepted_whatever_is_asked(engine, workers):
    with tornado.open("memory:", workers=workers, engine=engine) as session:
        ranks = session.start(PageRank())
        feed(ranks)
        for parameters in (
            {},
            {"tolerance": 1e-13},
            {"damping": 0.0},
            {"damping": 0.99, "tolerance": 1e-11},
            {"personalisation": [3, 1, 3]},
            {"personalisation": [3, 10**12], "damping": 0.5},
            {"personalisation": [10**12]},
        ):
            certificate = ranks.query(parameters=parameters, check=True).certificate
            assert is_within(certificate), parameters
            if parameters != {
                "personalisation": [10**12]
            }:  # which nobody has seen: all are 0, and that is all that is known
                assert certificate["bound"] <= parameters.get("tolerance", 1e-6)
        assert is_within(ranks.query(top=3, check=True).certificate)
        assert is_within(ranks.query(vertices=[1, 2], check=True).certificate)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("error", [1e-6, -1e-6])
def test_ranks_that_are_further_off_than_they_say_are_refused(monkeypatch, workers, error):
    plant(monkeypatch, NormalisedValues, error)
    with tornado.open("memory:", workers=workers) as session:
        wrong = session.start(PageRank(tolerance=1e-8))
        feed(wrong)
        for parameters in ({}, {"personalisation": [3, 1]}):
            asked = wrong.query(parameters=parameters, check=True)
            with pytest.raises(CheckFailed, match=r"all ranks together are within .* and the bound is"):
                asked.result(TIMEOUT_S)
            assert asked.state is QueryState.FAILED
        monkeypatch.undo()
        assert is_within(wrong.query(check=True).certificate)


@pytest.mark.parametrize(
    "records",
    [
        [],
        [(1, 1, 0.0)],
        [(1, 1, 1.0)],
        [(1, 2, 0.0), (3, 4, 0.0)],
        [(1, 2, 1e-12), (1, 3, 1e12), (3, 1, 1.0)],
    ],
    ids=["no vertex", "one", "one with itself", "no out-edges at all", "light beside heavy"],
)
@pytest.mark.parametrize("damping", [0.0, 0.85, 0.999])
def test_ranks_of_graphs_with_little_in_them_are_accepted(records, damping):
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(damping=damping, tolerance=1e-10))
        if records:
            ranks.insert(*map(list, zip(*records, strict=True)))
        assert ranks.query(check=True).certificate["checked"] is True


@pytest.mark.parametrize("seed", range(8))
def test_weights_that_are_far_apart_leave_nothing_behind_as_they_come_and_go(seed):
    generator = random.Random(seed)
    damping = (0.85, 0.99)[seed % 2]
    with tornado.open("memory:", workers=1 + seed % 2) as session:
        ranks = session.start(PageRank(damping=damping, tolerance=1e-8))
        live = []
        for _ in range(20):
            if live and generator.random() < 0.35:
                source, target, _ = live.pop(generator.randrange(len(live)))
                ranks.remove([source], [target])
            else:
                live.append(
                    (generator.randrange(3), generator.randrange(3), 10.0 ** generator.choice([-12, 0, 12]))
                )
                ranks.insert(*([number] for number in live[-1]))
            if generator.random() < 0.3:
                assert ranks.query(check=True).result(TIMEOUT_S).certificate["bound"] <= 1e-8


def test_a_hub_is_accepted_at_the_least_tolerance():
    leaves = np.arange(1, 2_001)
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(tolerance=1e-13))
        ranks.insert(leaves, np.zeros_like(leaves))
        ranks.insert(np.zeros_like(leaves[::2]), leaves[::2])
        assert is_within(ranks.query(check=True).certificate)


def test_the_bound_of_stopped_ranks_is_checked_as_well():
    with tornado.open("memory:", workers=1) as session:
        ranks = session.start(PageRank(accuracy=0.9))
        feed(ranks)
        answer = ranks.query(max_iterations=1, parameters={"tolerance": 1e-12}, check=True).result(TIMEOUT_S)
        assert answer.state is QueryState.DEADLINE
        assert is_within(answer.certificate)
        assert answer.certificate["bound"] > 1e-12


def test_ranks_are_checked_afterwards_and_as_stored():
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(tolerance=1e-9))
        feed(ranks)
        answers = [ranks.query(), ranks.query(top=5), ranks.query(vertices=[5, 1, 10**12])]
        for answer in answers:
            assert is_within(answer.check())
            assert "checked" not in answer.certificate
        version = ranks.checkpoint()
        ranks.insert([1], [2])
        assert is_within(ranks.query(at=version, check=True).certificate)
        assert is_within(ranks.query(at=version, parameters={"damping": 0.3}, check=True).certificate)
        for answer in answers:
            assert is_within(answer.check())


def test_what_differs_by_more_than_both_bounds_is_found_afterwards():
    with tornado.open("memory:", workers=1) as session:
        ranks = session.start(PageRank(tolerance=1e-9))
        feed(ranks)
        answer = ranks.query()
        columns = answer.result()._columns
        columns.value[7] += 1e-7
        with pytest.raises(CheckFailed, match="other values than a checked answer"):
            answer.check()


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_labels_are_accepted_or_refused(monkeypatch, workers, undirected):
    with tornado.open("memory:", workers=workers) as session:
        stream = session.stream("links", undirected=undirected)
        labels = stream.start(LabelPropagation(rounds=6))
        stream.insert([1, 2, 3, 3, 9], [2, 3, 1, 3, 9])
        stream.add_vertices([20])
        for certificate in (
            labels.query(check=True).certificate,
            labels.query(at=labels.checkpoint(), check=True).certificate,
        ):
            assert (certificate["kind"], certificate["checked"]) == ("exact", True)
        plant(monkeypatch, RoundsState, 1)
        with pytest.raises(CheckFailed, match=r"vertex \d+ has the label \d+, but after 6 rounds it is \d+"):
            labels.query(check=True).result(TIMEOUT_S)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_ranks_after_rounds_are_accepted_or_refused(monkeypatch, workers, undirected):
    with tornado.open("memory:", workers=workers) as session:
        stream = session.stream("links", undirected=undirected)
        ranks = stream.start(PageRank(rounds=6, damping=0.9))
        stream.insert(RECORDS.src, RECORDS.dst)
        stream.remove(RECORDS.src[::3], RECORDS.dst[::3])
        stream.add_vertices([10**6])
        for certificate in (
            ranks.query(check=True).certificate,
            ranks.query(parameters={"damping": 0.0}, check=True).certificate,
            ranks.query(top=3, check=True).certificate,
            ranks.query(at=ranks.checkpoint(), check=True).certificate,
        ):
            assert (certificate["kind"], certificate["norm"], certificate["checked"]) == (
                "bound",
                "relative",
                True,
            )
            assert 0 < certificate["bound"] < 1e-11
            assert 0 <= certificate["check"]["difference"] <= certificate["check"]["rounding"] < 1e-11
        for error in (1e-9, -1e-9):
            plant(monkeypatch, RoundsState, error)
            with pytest.raises(
                CheckFailed, match=r"vertex -?\d+ has [\d.e-]+, but after 6 rounds it is [\d.e-]+, and"
            ):
                ranks.query(check=True).result(TIMEOUT_S)
            monkeypatch.undo()


def test_ranks_after_rounds_are_checked_afterwards_up_to_rounding():
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRank(rounds=8))
        feed(ranks)
        answers = [ranks.query(), ranks.query(top=5), ranks.query(vertices=[5, 1, 10**12])]
        # The same sums, added in another order, may end in other bits.
        values = answers[0].result()._columns.value
        values[:] = np.nextafter(values, 1.0)
        for answer in answers:
            assert answer.check()["checked"] is True
        wrong = ranks.query()
        wrong.result()._columns.value[3] += 1e-9
        with pytest.raises(CheckFailed, match="other values than a checked answer"):
            wrong.check()
