"""Logistic models of several classes: against scikit-learn's optimum, with classes that come and go, and verified by a plain pass."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import tornado
from tests.kinds.learning.linear_cases import shards_of_stream, stream_of
from tests.kinds.learning.method_runs import run, same
from tornado.checking.learners import LearnedAnswer
from tornado.checking.linear_models import LinearCheck
from tornado.checking.point_pages import DenseFeatures, PointPage
from tornado.errors import InvalidArgument
from tornado.kinds.learning.linear.softmax_gap import balancing_scales, softmax_gap
from tornado.kinds.learning.linear.softmax_newton import softmax_newton
from tornado.kinds.learning.linear.softmax_objective import SoftmaxObjective, SoftmaxTotals, SoftmaxWork
from tornado.kinds.learning.rounds import Round, joined, partial_sums, run_alone
from tornado.points import SHARDS, shards_of_worker

TIMEOUT_S = 120
LABELS = np.array([-3.0, 0.0, 2.0, 7.0])


def drawn(rows=600, features=5, seed=0, labels=LABELS):
    """Points of four classes, of which the last one is rare, and their weights."""
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((rows, features)) * (random.random((rows, features)) < 0.8)
    scores = matrix @ random.standard_normal((features, len(labels))) + random.gumbel(
        size=(rows, len(labels))
    )
    scores[:, -1] -= 2.0
    return matrix, labels[scores.argmax(1)], random.random(rows) + 0.5


def objective(weights, heights, matrix, labels, shares, classes, l2, l1=0.0):
    """As it is defined."""
    scores = matrix @ weights.T + heights
    own = scores[np.arange(len(labels)), np.searchsorted(classes, labels)]
    losses = np.logaddexp.reduce(scores, axis=1) - own
    penalty = 0.5 * l2 * float(np.square(weights).sum()) + l1 * float(np.abs(weights).sum())
    return float(np.average(losses, weights=shares)) + penalty


def penalised(matrix, labels, shares, l2, l1, *, intercept, steps=4000):
    """Weights and intercepts by the accelerated proximal gradient method (Beck and Teboulle 2009): slow, and a few lines."""
    classes = np.unique(labels)
    own = (labels[:, None] == classes).astype(float)
    columns = np.column_stack([matrix, np.ones(len(labels))]) if intercept else matrix
    parts = shares / shares.sum()
    length = 1.0 / (0.5 * np.linalg.eigvalsh((columns * parts[:, None]).T @ columns)[-1] + l2)
    features = matrix.shape[1]
    here = ahead = np.zeros((len(classes), columns.shape[1]))
    pace = 1.0
    for _ in range(steps):
        scores = columns @ ahead.T
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        slope = ((chances - own) * parts[:, None]).T @ columns
        slope[:, :features] += l2 * ahead[:, :features]
        there = ahead - length * slope
        shrunk = np.maximum(np.abs(there[:, :features]) - length * l1, 0.0)
        there[:, :features] = np.sign(there[:, :features]) * shrunk
        if np.vdot(ahead - there, there - here) > 0.0:
            pace = 1.0  # it has overshot (O'Donoghue and Candes 2015)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
        ahead = there + (pace - 1.0) / following * (there - here)
        here, pace = there, following
    return here[:, :features], here[:, features] if intercept else np.zeros(len(classes))


def rival(matrix, labels, shares, l2, *, intercept):
    """scikit-learn's weights and intercepts at its tightest."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    model = linear_model.LogisticRegression(
        C=1.0 / (l2 * shares.sum()), fit_intercept=intercept, tol=1e-12, max_iter=10_000, solver="newton-cg"
    )
    model.fit(matrix, labels, sample_weight=shares)
    return model


def parameters_of(answer, classes, features):
    """Weights float64[K, d] and intercepts float64[K] of the values of an answer."""
    values = answer.values
    weights = np.array([[values[k * features + j] for j in range(features)] for k in range(classes)])
    return weights, np.array([values.get(-1 - k, 0.0) for k in range(classes)])


@pytest.mark.parametrize(
    ("workers", "sparse", "intercept", "delay_bound"),
    [(1, False, True, 1), (2, True, True, 4), (4, False, False, 64), (1, True, False, 64)],
)
def test_answers_are_within_their_certificate_of_scikit_learns_optimum(
    workers, sparse, intercept, delay_bound
):
    matrix, labels, shares = drawn()
    with tornado.open("memory:", workers=workers) as session:
        stream = session.stream("points", schema=tornado.Points(features=5, sparse=sparse))
        program = tornado.LinearModel(loss="logistic", l2=1e-3, intercept=intercept, tolerance=1e-7)
        loop = stream.start(program, "model", delay_bound=delay_bound)
        features = scipy.sparse.csr_matrix(matrix) if sparse else matrix
        stream.insert(ids=np.arange(600), labels=labels, features=features, weights=shares)
        for first in (0, 200):
            if first:
                stream.remove(ids=np.arange(first))
            known = matrix[first:], labels[first:], shares[first:]
            answer = loop.query(check=True).result(TIMEOUT_S)
            certificate = answer.certificate
            assert certificate["kind"] == "gap" and certificate["bound"] <= 1e-7
            assert certificate["checked"] is True and certificate["check"]["proved"] is True
            found = objective(*parameters_of(answer, 4, 5), *known, LABELS, 1e-3)
            assert found == pytest.approx(certificate["primal"], rel=1e-12)
            best = rival(*known, 1e-3, intercept=intercept)
            optimum = objective(best.coef_, best.intercept_, *known, LABELS, 1e-3)
            assert certificate["dual"] <= optimum * (1.0 + 1e-12)
            assert found - optimum <= certificate["bound"] * found + 1e-12
            rows = answer.predict(features[first:])
            assert (rows == best.predict(known[0])).mean() > 0.999


@pytest.mark.parametrize(("workers", "sparse", "l2"), [(1, False, 1e-3), (2, True, 0.0), (4, False, 0.0)])
def test_with_l1_answers_are_proved_and_many_weights_are_0(workers, sparse, l2):
    matrix, labels, shares = drawn()
    with tornado.open("memory:", workers=workers) as session:
        stream = session.stream("points", schema=tornado.Points(features=5, sparse=sparse))
        program = tornado.LinearModel(loss="logistic", l2=l2, l1=1e-2, tolerance=1e-7)
        loop = stream.start(program, "model")
        features = scipy.sparse.csr_matrix(matrix) if sparse else matrix
        stream.insert(ids=np.arange(600), labels=labels, features=features, weights=shares)
        for first in (0, 200):
            if first:
                stream.remove(ids=np.arange(first))
            answer = loop.query(check=True).result(TIMEOUT_S)
            certificate = answer.certificate
            assert certificate["bound"] <= 1e-7 and certificate["check"]["proved"] is True
            known = matrix[first:], labels[first:], shares[first:]
            weights, heights = parameters_of(answer, 4, 5)
            found = objective(weights, heights, *known, LABELS, l2, 1e-2)
            assert found == pytest.approx(certificate["primal"], rel=1e-12)
            best, height = penalised(*known, l2, 1e-2, intercept=True)
            optimum = objective(best, height, *known, LABELS, l2, 1e-2)
            assert certificate["dual"] <= optimum * (1.0 + 1e-12) and found <= optimum * (1.0 + 2e-7)
            # Without l2 it is the same whether a feature weighs more in all classes alike.
            assert weights - weights.mean(0) == pytest.approx(best - best.mean(0), abs=5e-3)
            assert (weights == 0.0).any()


def test_classes_come_and_go():
    matrix, labels, shares = drawn()
    with tornado.open("memory:", workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=5))
        loop = stream.start(tornado.LinearModel(loss="logistic", l2=1e-2, tolerance=1e-6), "model")
        sent = []
        for count in (1, 2, 3, 4, 3, 2):
            wanted = np.isin(labels, LABELS[:count])
            stream.remove(ids=[one for one in sent if not wanted[one]])
            stream.insert(
                ids=np.flatnonzero(wanted),
                labels=labels[wanted],
                features=matrix[wanted],
                weights=shares[wanted],
            )
            sent = np.flatnonzero(wanted).tolist()
            answer = loop.query(deadline_s=TIMEOUT_S).result(TIMEOUT_S)
            if count == 1:
                assert answer.certificate["kind"] == "none"  # of one class an intercept has no end
                continue
            assert len(answer.values) == (6 if count == 2 else 6 * count)
            table = answer.table("coefficients")
            assert table.column_names == (
                ["feature", "value"] if count == 2 else ["class", "feature", "value"]
            )
            best = rival(matrix[wanted], labels[wanted], shares[wanted], 1e-2, intercept=True)
            if count == 2:
                weights = np.array([[answer.values[j] for j in range(5)]])
            else:
                weights, _ = parameters_of(answer, count, 5)
            assert weights == pytest.approx(best.coef_, abs=5e-3)
            assert set(loop.predict(matrix[wanted])) <= set(LABELS[:count].tolist())


@pytest.mark.parametrize("classes", [2, 3])
def test_of_weights_next_to_nothing_nothing_is_claimed(classes):
    """Their sums have roundings that are no small share of them."""
    with tornado.open("memory:") as session:
        stream = session.stream("points", schema=tornado.Points(features=1))
        loop = stream.start(tornado.LinearModel(loss="logistic", intercept=False, l1=0.01), "model")
        labels = np.arange(17) % classes
        stream.insert(
            ids=range(17), labels=labels, features=np.full((17, 1), 1e-9), weights=np.full(17, 1e-322)
        )
        answer = loop.query(check=True).result(TIMEOUT_S)
        assert answer.state.value == "deadline" and answer.certificate["kind"] == "none"
        stream.insert(
            ids=range(17), labels=labels, features=np.full((17, 1), 1e-9), weights=np.full(17, 1e-270)
        )
        answer = loop.query(check=True).result(TIMEOUT_S)
        assert answer.state.value == "converged"
        assert answer.certificate["primal"] == pytest.approx(np.log(classes), rel=1e-9)


def test_predictions_have_a_label_and_its_probability():
    matrix, labels, shares = drawn()
    with tornado.open("memory:") as session:
        stream = session.stream("points", schema=tornado.Points(features=5))
        loop = stream.start(tornado.LinearModel(loss="logistic", l2=1e-2, tolerance=1e-8), "model")
        stream.insert(ids=np.arange(600), labels=labels, features=matrix, weights=shares)
        answer = loop.query(points=matrix[:50]).result(TIMEOUT_S)
        best = rival(matrix, labels, shares, 1e-2, intercept=True)
        predicted = answer.predictions
        scores = np.sort(best.decision_function(matrix[:50]), axis=1)
        assert predicted["label"].tolist() == best.predict(matrix[:50]).tolist()
        assert predicted["probability"] == pytest.approx(best.predict_proba(matrix[:50]).max(1), abs=1e-4)
        assert predicted["margin"] == pytest.approx(scores[:, -1] - scores[:, -2], abs=1e-3)
        assert loop.wait_idle(TIMEOUT_S)
        assert (loop.predict(matrix) == labels).mean() > 0.9 * (best.predict(matrix) == labels).mean()


def test_a_restart_goes_on_from_what_was_stored(tmp_path):
    matrix, labels, shares = drawn()

    def opened():
        session = tornado.open(f"lmdb://{tmp_path}", workers=2)
        stream = session.stream("points", schema=tornado.Points(features=5))
        return (
            session,
            stream,
            stream.start(tornado.LinearModel(loss="logistic", l2=1e-2, tolerance=1e-8), "model"),
        )

    session, stream, loop = opened()
    with session:
        stream.insert(ids=np.arange(600), labels=labels, features=matrix, weights=shares)
        first = loop.query().result(TIMEOUT_S)
    session, stream, loop = opened()
    with session:
        again = loop.query().result(TIMEOUT_S)
        assert len(again.values) == 24
        assert [again.values[key] for key in first.values] == pytest.approx(
            [*first.values.values()], abs=1e-4
        )
        assert (again.predict(matrix) == first.predict(matrix)).mean() > 0.99


@pytest.mark.parametrize("l1", [0.0, 1e-2])
def test_the_bits_are_the_same_on_any_number_of_workers(l1):
    matrix, labels, shares = drawn()
    shards = shards_of_stream(stream_of(matrix, labels, shares))
    model = SoftmaxObjective(5, 1e-3, l1, True, tuple(LABELS))

    def method():
        return softmax_newton(model, np.zeros((4, 5)), np.zeros(4), tolerance=1e-9)

    alone = run_alone(method(), SoftmaxWork(model, shards))
    owned = [shards_of_worker(worker, 3) for worker in range(3)]
    works = [SoftmaxWork(model, {shard: shards[shard] for shard in own}) for own in owned]
    found, _ = run(method(), works)
    same(found, alone)


def hard(shape, *, intercept):
    """Points that are hard for l1 in one way, and the tolerance that is reached."""
    matrix, labels, shares = drawn(rows=400, features=6, seed=3)
    random = np.random.default_rng(4)
    if shape == "offsets":
        return matrix + (1000.0 if intercept else 3.0), labels, shares, 1e-5
    if shape == "far from 0":
        return matrix + 10.0 * random.normal(size=6), labels, shares, 1e-3
    if shape == "scales":
        return matrix * 10.0 ** random.uniform(-3.0, 3.0, 6), labels, shares, 1e-6
    if shape == "copies":
        return (
            np.hstack([matrix, matrix, matrix + 1e-6 * random.normal(size=matrix.shape)]),
            labels,
            shares,
            1e-3,
        )
    if shape == "a plane parts them":
        return matrix, LABELS[(matrix @ random.normal(size=(6, 4))).argmax(1)], shares, 1e-6
    return (
        np.hstack([matrix, random.normal(size=(400, 500))]),
        labels,
        shares,
        1e-6,
    )  # more features than points


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [0.0, 1e-4])
@pytest.mark.parametrize("shape", ["offsets", "far from 0", "scales", "copies", "a plane parts them", "wide"])
def test_l1_comes_to_its_end_in_every_shape(shape, l2, intercept):
    matrix, labels, shares, tolerance = hard(shape, intercept=intercept)
    classes = np.unique(labels)
    model = SoftmaxObjective(matrix.shape[1], l2, 3e-3, intercept, tuple(classes.tolist()))
    begin = np.zeros((len(classes), matrix.shape[1])), np.zeros(len(classes))
    shards = shards_of_stream(stream_of(matrix, labels, shares))
    found = run_alone(softmax_newton(model, *begin, tolerance=tolerance), SoftmaxWork(model, shards))
    assert found.is_converged and found.findings["bound"] <= tolerance * found.findings["primal"]
    again = softmax_newton(
        model, found.parameters["weights"], found.parameters["intercept"], tolerance=tolerance
    )
    assert run_alone(again, SoftmaxWork(model, shards)).findings["passes"] <= 2


@pytest.mark.parametrize("l1", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("seed", range(6))
def test_no_weights_have_an_objective_below_the_dual(seed, l1):
    random = np.random.default_rng(seed)
    l2 = 10.0 ** -random.integers(0, 6)
    matrix, labels, shares = drawn(rows=80, features=3, seed=seed)
    classes = np.unique(labels)
    matrix = matrix * 10.0 ** random.integers(-3, 3)
    shards = shards_of_stream(stream_of(matrix, labels, shares))
    model = SoftmaxObjective(3, l2, l1, True, tuple(classes.tolist()))
    shape = len(classes), 3
    begin = random.standard_normal(shape)
    found = run_alone(
        softmax_newton(model, begin, np.zeros(len(classes)), tolerance=1e-2), SoftmaxWork(model, shards)
    )
    tight = run_alone(
        softmax_newton(model, begin, np.zeros(len(classes)), tolerance=1e-9), SoftmaxWork(model, shards)
    )
    best = tight.parameters["weights"], tight.parameters["intercept"]
    if l1 == 0.0:
        other = rival(matrix, labels, shares, l2, intercept=True)
        best = other.coef_, other.intercept_
    optimum = objective(*best, matrix, labels, shares, classes, l2, l1)
    assert found.findings["dual"] <= optimum * (1.0 + 1e-9)
    assert found.findings["primal"] >= optimum * (1.0 - 1e-9)
    assert found.findings["bound"] <= 1e-2 * found.findings["primal"]


@pytest.mark.parametrize(("l2", "l1"), [(0.0, 1e-2), (1e-3, 1e-2), (1e-1, 1e-3), (1e-2, 0.0)])
@pytest.mark.parametrize("intercept", [True, False])
def test_far_from_the_optimum_no_dual_is_above_it_nor_proved(l2, l1, intercept):
    matrix, labels, shares = drawn(rows=150, features=4)
    shards = shards_of_stream(stream_of(matrix, labels, shares))
    model = SoftmaxObjective(4, l2, l1, intercept, tuple(LABELS))
    work = SoftmaxWork(model, shards)
    best = run_alone(softmax_newton(model, np.zeros((4, 4)), np.zeros(4), tolerance=1e-10), work)
    optimum, random = best.findings["primal"], np.random.default_rng(0)
    page = PointPage(np.arange(150), labels, shares, DenseFeatures(matrix))
    for case, noise in enumerate(np.geomspace(1e-4, 3.0, 30)):
        weights = best.parameters["weights"] + noise * random.normal(size=(4, 4))
        weights *= random.random((4, 4)) < 0.7
        if case % 3 == 0:
            weights = best.parameters["weights"] * (1.0 + noise)  # where no slope is above l1
        heights = best.parameters["intercept"] + noise * random.normal(size=4) * intercept
        asked = Round("pass", arrays=(weights, heights, np.ones(4)))
        totals = SoftmaxTotals.of(joined(partial_sums(work, asked, range(SHARDS))), model)
        gap = softmax_gap(totals, weights, heights, model)
        assert gap.primal >= optimum * (1.0 - 1e-9)
        assert gap.dual is not None and gap.dual <= optimum * (1.0 + 1e-9)
        claimed = {"primal": gap.primal, "dual": optimum * (1.0 + 1e-6)}
        claimed["bound"] = (gap.primal - claimed["dual"]) / gap.primal
        values = np.concatenate([heights[::-1][: 4 * intercept], weights.ravel()])
        answer = LearnedAnswer(np.arange(-4 * intercept, 16), values, {"classes": LABELS}, claimed)
        verdict = LinearCheck("logistic", l2, l1, intercept).check(answer, lambda: iter([page]))
        assert verdict.fault is not None or verdict.measured["proved"] is False
        assert verdict.measured.get("dual", 0.0) <= optimum * (1.0 + 1e-9)


def test_scales_that_balance_are_stationary():
    flows = np.random.default_rng(0).random((5, 5)) ** 8
    np.fill_diagonal(flows, 0.0)
    scales = balancing_scales(flows)
    assert scales @ flows == pytest.approx(scales * flows.sum(1), rel=1e-12)
    assert scales.max() == 1.0 and scales.min() > 0.0


@pytest.mark.parametrize("l1", [0.0, 1e-2])
@pytest.mark.parametrize(
    ("name", "planted", "said"),
    [
        (None, 1.0, None),
        ("primal", 0.999, "is said to be"),
        ("dual", 1.0005, "the dual is"),
        ("values", 1.02, "is said to be"),
        ("labels", 9.0, "none of the classes"),
    ],
)
def test_a_planted_error_is_found(name, planted, said, l1):
    matrix, labels, shares = drawn(rows=200)
    model = SoftmaxObjective(5, 1e-2, l1, True, tuple(LABELS))
    shards = shards_of_stream(stream_of(matrix, labels, shares))
    found = run_alone(
        softmax_newton(model, np.zeros((4, 5)), np.zeros(4), tolerance=1e-6), SoftmaxWork(model, shards)
    )
    findings = found.findings
    claimed = {
        "primal": findings["primal"],
        "dual": findings["dual"],
        "bound": findings["bound"] / findings["primal"],
    }
    values = np.concatenate([found.parameters["intercept"][::-1], found.parameters["weights"].ravel()])
    answer = LearnedAnswer(np.arange(-4, 20), values, {"classes": LABELS}, claimed)
    if name == "values":
        answer = replace(answer, values=values * planted)
    elif name == "labels":
        labels[7] = planted
    elif name:
        claimed[name] *= planted
    page = PointPage(np.arange(200), labels, shares, DenseFeatures(matrix))
    verdict = LinearCheck("logistic", 1e-2, l1, True).check(answer, lambda: iter([page]))
    if said is None:
        assert verdict.fault is None and verdict.measured["proved"] is True
    else:
        assert said in verdict.fault


def test_what_several_classes_cannot_be_is_refused():
    matrix, labels, _ = drawn(rows=60)
    with tornado.open("memory:") as session:
        stream = session.stream("points", schema=tornado.Points(features=5))
        with pytest.raises(InvalidArgument, match="two, or none named"):
            stream.start(tornado.LinearModel(loss="hinge", classes=(1, 2, 3)))
        hinge = stream.start(tornado.LinearModel(loss="hinge", l2=0.1), "hinge")
        stream.insert(ids=np.arange(60), labels=labels, features=matrix)
        with pytest.raises(InvalidArgument, match="but the loss hinge is of two classes"):
            hinge.query().result(TIMEOUT_S)
        named = stream.start(tornado.LinearModel(loss="logistic", l2=0.1, classes=tuple(LABELS)), "named")
        with pytest.raises(InvalidArgument, match="classes -3, 0, 2 and 7"):
            stream.insert(ids=[100], labels=[1.0], features=matrix[:1])
        assert len(named.query().result(TIMEOUT_S).values) == 24
