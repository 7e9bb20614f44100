"""The templates of docs/own-learners.md: a loss and a model of one's own, in Python and as apps of the command line."""

import csv
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tornado as tornado_loops
from tests.command.conftest import environment, tornado
from tests.templates.ellipse import Ellipse
from tests.templates.huber import HuberRegression
from tornado.errors import InvalidArgument, NotSupported
from tornado.kinds.learning.linear.own_loss import own_loss

__all__ = ["environment", "tornado"]

TEMPLATES = Path(sys.modules[Ellipse.__module__].__file__).parent
ENGINES = pytest.mark.parametrize("engine", ["threads", "processes"])
FEATURES = 3
CLASSES = {"huber": "HuberRegression", "ellipse": "Ellipse"}


def outliers(count, seed=0):
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(count, FEATURES)) @ random.normal(size=(FEATURES, FEATURES))
    return matrix, matrix @ [1.0, -2.0, 3.0] + 0.5 + 2.0 * random.standard_t(2, size=count)


def huber(vector, matrix, labels, *, l2, width, intercept):
    """The objective, written down plainly."""
    sizes = np.abs(matrix @ vector[:FEATURES] + (vector[-1] if intercept else 0.0) - labels)
    losses = np.where(sizes <= width, 0.5 * sizes**2, width * (sizes - 0.5 * width))
    return losses.mean() + l2 / 2 * vector[:FEATURES] @ vector[:FEATURES]


@ENGINES
@pytest.mark.parametrize("intercept", [True, False])
def test_a_loss_of_ones_own_is_within_its_certificate_of_the_optimum(engine, intercept):
    from scipy.optimize import minimize

    matrix, labels = outliers(1500)
    program = HuberRegression(l2=1e-2, width=1.0, tolerance=1e-9, intercept=intercept)
    with tornado_loops.open(workers=2, engine=engine) as session:
        stream = session.stream("points", schema=tornado_loops.Points(features=FEATURES))
        loop = stream.start(program, "huber")
        stream.insert(ids=range(1500), labels=labels, features=matrix)
        stream.remove(ids=range(300))
        found = loop.query().result()
        assert loop.wait_idle(60)
        nearly = loop.read().values
    vector = np.array([found.values.get(feature, 0.0) for feature in (0, 1, 2, -1)])
    plain = {"l2": 1e-2, "width": 1.0, "intercept": intercept}
    here = huber(vector, matrix[300:], labels[300:], **plain)
    best = minimize(huber_of(matrix[300:], labels[300:], plain), np.zeros(4), tol=1e-12).fun
    assert found.certificate["kind"] == "gap"
    assert found.certificate["bound"] <= 1e-9
    assert found.certificate["primal"] == pytest.approx(here, rel=1e-12)
    assert found.certificate["dual"] <= best * (1 + 1e-12)
    assert here - best <= found.certificate["bound"] * here + 1e-12
    main = np.array([nearly.get(feature, 0.0) for feature in (0, 1, 2, -1)])
    assert huber(main, matrix[300:], labels[300:], **plain) <= 1.05 * best


def huber_of(matrix, labels, plain):
    return lambda vector: huber(vector, matrix, labels, **plain)


@dataclass(frozen=True, kw_only=True)
class OwnLogistic(tornado_loops.OwnLossModel):
    """What is there already, written by a user."""

    loss_of: ClassVar[str] = "margin"

    @staticmethod
    def value(margin: float) -> float:
        return np.log1p(np.exp(-abs(margin))) + max(0.0, -margin)

    @staticmethod
    def slope(margin: float) -> float:
        return -1.0 / (1.0 + np.exp(margin))

    @staticmethod
    def bend(margin: float) -> float:
        small = np.exp(-abs(margin))
        return small / (1.0 + small) ** 2


@pytest.mark.parametrize("l1", [0.0, 1e-2])
def test_a_loss_of_a_margin_is_as_good_as_that_which_is_there(l1):
    matrix, labels = outliers(800)
    labels = (labels > 0.0).astype(float)
    with tornado_loops.open(workers=2) as session:
        stream = session.stream("points", schema=tornado_loops.Points(features=FEATURES))
        penalties = {"l2": 1e-2, "l1": l1, "tolerance": 1e-8}
        own = stream.start(OwnLogistic(**penalties), "own")
        ours = stream.start(tornado_loops.LinearModel(loss="logistic", **penalties), "ours")
        stream.insert(ids=range(800), labels=labels, features=matrix)
        found, expected = own.query().result(), ours.query().result()
    assert found.values == pytest.approx(expected.values, abs=1e-3)
    assert found.certificate["primal"] == pytest.approx(expected.certificate["primal"], rel=2e-8)
    assert found.certificate["bound"] <= 1e-8


def test_without_a_penalty_nothing_is_known():
    matrix, labels = outliers(300)
    with tornado_loops.open(workers=1) as session:
        stream = session.stream("points", schema=tornado_loops.Points(features=FEATURES))
        loop = stream.start(HuberRegression(l2=0.0), "huber")
        stream.insert(ids=range(300), labels=labels, features=matrix)
        assert loop.query().result().certificate == {"kind": "none"}


def test_a_loss_of_ones_own_is_for_few_features():
    with (
        tornado_loops.open(workers=1) as session,
        pytest.raises(NotSupported, match="301 features, but a loss of one's own is for up to 300"),
    ):
        session.stream("wide", schema=tornado_loops.Points(features=301)).start(HuberRegression())


def square(place):
    return 0.5 * place * place


def identity(place):
    return place


def one(place):
    return 1.0


def test_a_square_is_a_loss():
    found = own_loss("Square", square, identity, one, (), is_classifier=False)
    assert (found.distance, found.rise, found.slope) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("functions", "is_classifier", "said"),
    [
        (
            (lambda x: square(x) - 1.0, identity, one),
            False,
            "value of Own is -1 at 0, but must not be below 0",
        ),
        ((square, lambda x: 2.0 * x, one), False, "value of Own rises by .*slope is the derivative of value"),
        ((lambda x: abs(x) ** 0.5, lambda x: 0.0, one), False, "rises by"),
        ((abs, np.sign, lambda x: 0.0), False, "bend of Own is 0 everywhere.*round"),
        ((square, identity, lambda x: -1.0), False, "bend of Own is -1"),
        ((lambda x: 1.0 / x, identity, one), False, "value of Own fails at one of the places"),
        ((lambda x: np.inf if x > 3 else square(x), identity, one), False, "value of Own is inf at"),
        ((lambda x: "much", identity, one), False, "value of Own fails"),
        ((lambda x: square(max(x, 0.0)), lambda x: max(x, 0.0), one), False, "does not rise on both sides"),
        ((square, identity, one), True, "has the slope -?0 at the margin 0, but that is below 0"),
    ],
)
def test_what_is_no_loss_is_refused(functions, is_classifier, said):
    with pytest.raises(InvalidArgument, match=said):
        own_loss("Own", *functions, (), is_classifier=is_classifier)


@dataclass(frozen=True, kw_only=True)
class Unfinished(tornado_loops.OwnLossModel):
    @staticmethod
    def value(residual):
        return residual * residual


@dataclass(frozen=True, kw_only=True)
class Disagreeing(HuberRegression):
    @staticmethod
    def bend(residual):
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Unknown(tornado_loops.OwnLossModel):
    value, slope, bend = (staticmethod(lambda residual, depth: residual),) * 3


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (Unfinished(), "Unfinished has no static method 'slope'"),
        (Disagreeing(), "have other arguments"),
        (Unknown(), "asks for 'depth', which is no field"),
    ],
)
def test_a_loss_that_is_not_whole_is_refused(program, said):
    with tornado_loops.open(workers=1) as session, pytest.raises(InvalidArgument, match=said):
        session.stream("points", schema=tornado_loops.Points(features=1)).start(program)


# A model of one's own


def shapes(values):
    numbers = np.array([values[place] for place in range(FEATURES + FEATURES**2)])
    return numbers[:FEATURES], numbers[FEATURES:].reshape(FEATURES, FEATURES)


@ENGINES
def test_a_main_loop_is_coarser_than_its_branches_which_begin_with_it(engine):
    matrix, _ = outliers(900)
    with tornado_loops.open(workers=2, engine=engine) as session:
        stream = session.stream("points", schema=tornado_loops.Points(features=FEATURES))
        loop = stream.start(Ellipse(ridge=0.5), "ellipse")
        stream.insert(ids=range(900), features=matrix)
        stream.remove(ids=range(300))
        assert loop.wait_idle(60)
        nearly, begun = loop.read().values, loop.query(max_iterations=1).result()
        found = loop.query().result()
        assert loop.wait_idle(60)
        after = loop.read().values
    expected = np.cov(matrix[300:].T, bias=True) + 0.5 * np.eye(FEATURES)
    mean, covariance = shapes(found.values)
    assert mean == pytest.approx(matrix[300:].mean(0))
    assert covariance == pytest.approx(expected)
    assert found.certificate == {"kind": "exact"}
    alone = np.diag(np.diagonal(expected))
    assert shapes(nearly)[1] == pytest.approx(alone)
    assert begun.values == nearly
    assert begun.certificate == {"kind": "none"}
    assert shapes(after)[1] == pytest.approx(alone)  # what was adopted is not newer than what it has heard


def test_the_adapter_goes_both_ways():
    program = Ellipse(ridge=0.5, points=tornado_loops.Points(features=FEATURES))
    main = {"mean": np.arange(3.0), "variances": np.array([1.0, 2.0, 4.0])}
    branch = program.branch_parameters(main)
    assert branch["covariance"].shape == (FEATURES, FEATURES)
    again = program.main_parameters(branch)
    assert {name: array.tolist() for name, array in again.items()} == {
        name: array.tolist() for name, array in main.items()
    }


def test_templates_run_as_apps(tornado, tmp_path):
    matrix, labels = outliers(200)
    lines = [
        ",".join(map(repr, [*row, label]))
        for row, label in zip(matrix.tolist(), labels.tolist(), strict=True)
    ]
    (tmp_path / "points.csv").write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    shared = ["--points", "points.csv", "--workers", "2", "--json", "--output", "-"]
    for name, words in {"huber": ["--label", "y", "--width", "2", "--l2", "0.1"], "ellipse": []}.items():
        (tmp_path / f"{name}.py").write_text((TEMPLATES / f"{name}.py").read_text())
        done = tornado("run", f"{name}.py:{CLASSES[name]}", *words, *shared)
        assert done.code == 0, done.err
        called = {"huber": "feature", "ellipse": "vertex"}[
            name
        ]  # a linear model is read as coefficients first
        values = {row[called]: float(row["value"]) for row in csv.DictReader(io.StringIO(done.out))}
        events = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
        [kind] = [event["certificate"]["kind"] for event in events if event["event"] == "result"]
        assert (kind, len(values)) == {"huber": ("gap", 4), "ellipse": ("exact", 20)}[name]


def test_nothing_verifies_a_loss_of_ones_own():
    with tornado_loops.open("memory:") as session:
        stream = session.stream("points", schema=tornado_loops.Points(features=1))
        loop = stream.start(HuberRegression(l2=1e-2), "huber")
        with pytest.raises(NotSupported, match="names no checker"):
            loop.query(check=True)
