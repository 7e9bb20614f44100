"""Linear models in loops: at random instants of a stream with removals, each answer is within its own certificate of the optimum."""

import gzip
import os
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import tornado
from tornado.errors import InvalidArgument, UnknownVertex
from tornado.kinds.learning.linear.linear_program import LinearModel
from tornado.query.query import QueryState
from tornado.records.point_schema import Points

TIMEOUT_S = 60
SLACK = 1e-12  # of roundings of the oracle's objective
FEATURES = 5


def losses_of(loss, scores, labels):
    margins = scores * labels
    if loss == "logistic":
        return np.logaddexp(0.0, -margins)
    if loss == "hinge":
        return np.maximum(0.0, 1.0 - margins)
    if loss == "squared_hinge":
        return np.maximum(0.0, 1.0 - margins) ** 2
    return 0.5 * (labels - scores) ** 2


def objective(loss, l2, matrix, labels, weights, vector, intercept):
    found = losses_of(loss, matrix @ vector + intercept, labels)
    return weights @ found / weights.sum() + l2 / 2 * vector @ vector


def optimum(loss, l2, matrix, labels, weights, *, intercept):
    """The least objective, by scikit-learn."""
    linear_model, svm = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.svm")
    strength = 1.0 / (l2 * weights.sum())
    if loss == "logistic":
        model = linear_model.LogisticRegression(
            C=strength, tol=1e-10, solver="newton-cholesky", fit_intercept=intercept
        )
    elif loss == "squared":
        model = linear_model.Ridge(alpha=1.0 / strength, tol=1e-12, fit_intercept=intercept)
    elif loss == "hinge":
        model = svm.SVC(kernel="linear", C=strength, tol=1e-8)
    else:
        model = svm.LinearSVC(C=strength, tol=1e-10, max_iter=100_000, fit_intercept=False, dual=False)
    model.fit(matrix, labels, sample_weight=weights)
    return objective(
        loss, l2, matrix, labels, weights, model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    )


class Feed:
    """Feeds a stream with points that come, go and are replaced, and knows which are live."""

    def __init__(self, stream, seed, features=FEATURES, *, real=False):
        self.stream, self.random, self.live = stream, np.random.default_rng(seed), {}
        self.direction, self.real = self.random.standard_normal(features), real
        self.following, self.versions = 0, {}

    def come(self, count):
        ids = np.arange(self.following, self.following + count) * 31
        self.following += count
        matrix = self.random.standard_normal((count, len(self.direction)))
        scores = matrix @ self.direction + 0.7 + self.random.standard_normal(count)
        labels = scores if self.real else np.where(scores > 0.0, 1.0, -1.0)
        weights = self.random.uniform(0.5, 2.0, count)
        version = self.stream.insert(ids=ids, labels=labels, features=matrix, weights=weights)
        self.live |= dict(zip(ids.tolist(), zip(matrix, labels, weights, strict=True), strict=True))
        self.versions[version] = self.live.copy()

    def go(self, count):
        ids = self.random.choice(list(self.live), count, replace=False)
        version = self.stream.remove(ids=ids)
        for identity in ids.tolist():
            del self.live[identity]
        self.versions[version] = self.live.copy()

    def columns(self, version=None):
        live = self.live if version is None else self.versions[version]
        matrix, labels, weights = (np.array(column) for column in zip(*live.values(), strict=True))
        return matrix, labels, weights


def check(result, program, columns):
    """Of an answer: what it says of itself is true, and it is as near as was asked for."""
    matrix, labels, weights = columns
    certificate = result.certificate
    assert certificate["kind"] == "gap"
    assert certificate["bound"] <= program.tolerance
    vector = np.array([result.values[feature] for feature in range(matrix.shape[1])])
    found = objective(program.loss, program.l2, matrix, labels, weights, vector, result.values.get(-1, 0.0))
    least = optimum(program.loss, program.l2, matrix, labels, weights, intercept=program.intercept)
    assert certificate["primal"] == pytest.approx(found, rel=1e-11)
    assert certificate["dual"] <= least * (1 + SLACK)
    assert found - least <= certificate["bound"] * found + SLACK * found


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "hinge"])
@pytest.mark.parametrize(
    ("workers", "delay_bound", "engine"),
    [(1, 1, "threads"), (2, 4, "threads"), (4, 64, "threads"), (2, None, "threads"), (2, 64, "processes")],
)
def test_each_answer_is_within_its_certificate_of_the_optimum_of_its_points(
    loss, workers, delay_bound, engine
):
    program = LinearModel(
        loss=loss, l2=1e-3, intercept=loss != "squared_hinge", tolerance=1e-2 if loss == "hinge" else 1e-7
    )
    with tornado.open(workers=workers, engine=engine) as session:
        stream = session.stream("points", schema=tornado.Points(features=FEATURES))
        loop = stream.start(program, "model", delay_bound)
        feed = Feed(stream, seed=workers, real=loss == "squared")
        asked = []
        for _ in range(2 if loss == "hinge" else 6):
            feed.come(300)
            feed.go(60)
            asked.append(loop.query())
        for query in asked:
            result = query.result(TIMEOUT_S)
            check(result, program, feed.columns(result.snapshot.version))
        assert loop.wait_idle(TIMEOUT_S)
        values = loop.read().values
        matrix, labels, weights = feed.columns()
        vector = np.array([values[feature] for feature in range(FEATURES)])
        near = objective(loss, program.l2, matrix, labels, weights, vector, values.get(-1, 0.0))
        least = optimum(loss, program.l2, matrix, labels, weights, intercept=program.intercept)
        assert near < 1.3 * least


def test_answers_of_one_cut_have_the_same_bits_on_any_number_of_workers():
    found = set()
    for workers in (1, 2, 3):
        with tornado.open(workers=workers) as session:
            stream = session.stream("points", schema=tornado.Points(features=FEATURES))
            loop = stream.start(LinearModel(loss="logistic", l2=1e-2))
            feed = Feed(stream, seed=9)
            feed.come(500)
            result = loop.query(parameters={"l2": 1e-3}).result(TIMEOUT_S)  # which begins from nothing
            found.add(np.array([*result.values.values()]).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize(("loss", "tolerance"), [("logistic", 1e-6), ("hinge", 1e-2)])
def test_real_data_that_are_sparse(loss, tolerance):
    folder = os.environ.get("TORNADO_TEST_DATA")
    path = Path(folder or ".") / "a9a-test.libsvm.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    with gzip.open(path, "rt") as lines:
        records = [line.split() for line in islice(lines, 4000 if loss == "hinge" else None)]
    labels = np.array([float(record[0]) for record in records])
    rows = [
        {int(entry.split(":")[0]) - 1: float(entry.split(":")[1]) for entry in record[1:]}
        for record in records
    ]
    matrix = np.zeros((len(rows), 123))
    for row, entries in enumerate(rows):
        matrix[row, list(entries)] = list(entries.values())
    weights = np.ones(len(rows))
    program = LinearModel(loss=loss, l2=1.0 / len(rows), tolerance=tolerance)
    with tornado.open(workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=123, sparse=True))
        loop = stream.start(program)
        stream.insert(ids=range(len(rows)), labels=labels, features=rows)
        check(loop.query().result(TIMEOUT_S), program, (matrix, labels, weights))
        stream.remove(ids=range(1000))
        check(loop.query().result(TIMEOUT_S), program, (matrix[1000:], labels[1000:], weights[1000:]))


# What could go wrong


def started(session, program, **points):
    stream = session.stream("points", schema=tornado.Points(**({"features": 2} | points)))
    return stream, stream.start(program, "model")


def test_classes_are_found_named_or_refused():
    with tornado.open(workers=2) as session:
        stream, loop = started(session, LinearModel(loss="logistic", l2=0.1))
        stream.insert(ids=[1, 2, 3], labels=[3, 7, 7], features=[[0, 1], [1, 0], [1, 1]])
        above = loop.query().values
        assert above[0] > 0  # the greater one is positive
        stream.insert(ids=[4], labels=[5], features=[[1, 1]])
        of_three = loop.query().result(TIMEOUT_S)
        assert len(of_three.values) == 9
        hinge = stream.start(LinearModel(loss="hinge", l2=0.1), "hinge")
        with pytest.raises(InvalidArgument, match="labels 3, 5 and 7, but the loss hinge is of two classes"):
            hinge.query().result(TIMEOUT_S)
        session.remove("hinge")
        named = LinearModel(loss="logistic", l2=0.1, classes=(3, 7))
        with pytest.raises(InvalidArgument, match="which has the record point 4, label 5"):
            stream.start(named, "named")
        stream.remove(ids=[4])
        values = stream.start(named, "named").query().result(TIMEOUT_S).values
        assert values == pytest.approx(above, abs=1e-4)
        with pytest.raises(
            InvalidArgument, match=r"entry 1 is \+ point 6, label 9: a label is one of the classes 3 and 7"
        ):
            stream.insert(ids=[5, 6], labels=[3, 9], features=[[1, 1], [1, 1]])
        stream.insert(ids=[5], labels=[None], features=[[1, 1]])


def test_there_are_answers_for_no_points_for_one_class_and_for_constant_features():
    with tornado.open(workers=2) as session:
        stream, loop = started(session, LinearModel(loss="logistic", l2=0.1))
        nothing = loop.query().result(TIMEOUT_S)
        assert nothing.values == {-1: 0.0, 0: 0.0, 1: 0.0}
        stream.insert(ids=[1, 2], labels=[1, 1], features=[[1, 5], [2, 5]])
        alone = loop.query(deadline_s=5).result(TIMEOUT_S)  # its intercept has no end
        assert alone.certificate["kind"] in {"none", "gap"}
        stream.insert(ids=[3], labels=[-1], features=[[-1, 5]])
        assert loop.query().result(TIMEOUT_S).certificate["bound"] <= 1e-3


def test_without_penalty_nothing_is_certified():
    with tornado.open(workers=1) as session:
        stream, loop = started(session, LinearModel(loss="squared", l2=0.0))
        stream.insert(ids=range(4), labels=[1, 3, 2, 5], features=[[0, 1], [1, 0], [1, 1], [3, 1]])
        result = loop.query().result(TIMEOUT_S)
        assert result.certificate["kind"] == "none"


@pytest.mark.parametrize("labels", [(1, -1), (1, 2, 3)])
def test_without_penalty_it_is_over_where_no_step_lowers_the_objective_and_not_before(labels):
    random = np.random.default_rng(5)
    features = random.standard_normal((500, 2))
    drawn = random.choice(labels, 500)  # no weights tell them apart
    with tornado.open(workers=1) as session:
        stream, loop = started(session, LinearModel(loss="logistic", l2=0.0, tolerance=1e-6))
        stream.insert(ids=range(500), labels=drawn, features=features)
        assert loop.query(max_iterations=2).result(TIMEOUT_S).state is QueryState.DEADLINE
        assert loop.query().result(TIMEOUT_S).state is QueryState.CONVERGED
        # Of points on a line there are weights, but no best ones: ever greater ones are better.
        stream.remove(ids=range(500))
        apart = np.arange(len(labels) * 2.0) // 2
        stream.insert(
            ids=range(len(apart)),
            labels=np.array(labels)[apart.astype(int)],
            features=np.column_stack([apart, apart**2]),
        )
        assert loop.query(max_iterations=4).result(TIMEOUT_S).state is QueryState.DEADLINE


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", [LinearModel(loss="hinge"), tornado.KMeans(clusters=2)], ids=repr)
@pytest.mark.parametrize("size", [1e154, 1e200, 1e308])
def test_of_features_whose_squares_are_no_numbers_nothing_is_claimed(program, size):
    with tornado.open(workers=1) as session:
        stream = session.stream("points", schema=Points(2))
        loop = stream.start(program, "model")
        stream.insert(ids=range(3), labels=[1, -1, 1], features=[[1, 2], [3, 4], [size, 1]])
        result = loop.query(deadline_s=20).result(TIMEOUT_S)
        if result.certificate["kind"] == "stationary":
            assert np.isfinite(result.certificate["inertia"])
        elif result.certificate["kind"] == "gap":
            assert 0.0 <= result.certificate["dual"] <= result.certificate["primal"] < np.inf
        assert (result.state is QueryState.CONVERGED) == (result.certificate["kind"] == "stationary")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (LinearModel(l2=0.0), "l2 is 0.0, but a model of the hinge loss and 2 features needs one above 0"),
        (LinearModel(loss="cubic"), "loss is 'cubic', but there are hinge, squared_hinge, logistic, squared"),
        (LinearModel(l2=-1.0), "l2 is -1.0, but a penalty is 0 or more"),
        (LinearModel(classes=(1.0,)), "there are two, or none named"),
        (LinearModel(classes=(1.0, 1.0)), "needs two labels"),
        (LinearModel(tolerance=0.0), "tolerance is 0.0, but it is above 0"),
        (LinearModel(rate=float("nan")), "rate is nan"),
        (LinearModel(seed=-1), "seed is -1, but it is 0 or more"),
        (LinearModel(rule="clever"), "rule is 'clever'"),
        (LinearModel(points=Points(features=3)), "is for Points"),
        (LinearModel(loss=None), "LinearModel.loss is None but must be a string"),
        (LinearModel(intercept="no"), "LinearModel.intercept is 'no' but must be true or false"),
    ],
)
def test_bad_parameters_are_refused(program, said):
    with tornado.open(workers=1) as session:
        stream = session.stream("points", schema=tornado.Points(features=2))
        with pytest.raises(InvalidArgument, match=said):
            stream.start(program)


def test_a_rate_that_diverges_is_mended():
    with tornado.open(workers=1) as session:
        stream, loop = started(session, LinearModel(loss="squared", l2=1e-3, rate=1e6))
        random = np.random.default_rng(1)
        matrix = random.standard_normal((1000, 2))
        stream.insert(ids=range(1000), labels=matrix @ [1.0, 2.0], features=matrix)
        assert loop.wait_idle(TIMEOUT_S)
        assert np.isfinite(list(loop.read().values.values())).all()
        assert loop.query().result(TIMEOUT_S).certificate["bound"] <= 1e-3


def test_a_question_cannot_take_away_a_penalty_that_its_method_needs():
    with tornado.open(workers=1) as session:
        stream, loop = started(session, LinearModel(loss="hinge", l2=0.1))
        stream.insert(ids=[1, 2], labels=[1, -1], features=[[1, 5], [2, 5]])
        with pytest.raises(
            InvalidArgument, match=r"l2 is 0.0, but a model of the hinge loss and 2 features needs"
        ):
            loop.query(l2=0.0).result(TIMEOUT_S)


def test_features_that_a_model_has_not_are_called_so():
    with tornado.open(workers=1) as session:
        stream, loop = started(session, LinearModel(loss="squared", l2=0.1))
        stream.insert(ids=[1, 2], labels=[1, -1], features=[[1, 5], [2, 5]])
        with pytest.raises(UnknownVertex, match="the model has no feature 7, 8; an intercept is -1"):
            loop.query(vertices=[7, 8]).result(TIMEOUT_S)
        clusters = stream.start(tornado.KMeans(clusters=1))
        with pytest.raises(UnknownVertex, match="no point of this snapshot has the id 77") as refused:
            clusters.query(vertices=[77]).result(TIMEOUT_S)
        assert "edge" not in str(refused.value.hint)
