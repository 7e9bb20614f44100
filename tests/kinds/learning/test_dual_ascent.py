"""Dual ascent against scikit-learn's optimum, on points that come and go, and with several workers."""

import math

import numpy as np
import pytest

from tests.kinds.learning import linear_cases as cases
from tests.kinds.learning.method_runs import run
from tornado.errors import InvalidArgument
from tornado.kinds.learning.linear import visits
from tornado.kinds.learning.linear.dual_ascent import AscentWork, dual_ascent
from tornado.kinds.learning.linear.held_duals import HeldDuals
from tornado.kinds.learning.linear.newton import newton
from tornado.kinds.learning.rounds import Round, Stopped, joined, partial_sums, run_alone
from tornado.points import SHARDS, shards_of_worker


def points(seed=0, rows=2000, features=6):
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((rows, features)) * (random.random((rows, features)) < 0.7)
    scores = matrix @ random.standard_normal(features) + random.standard_normal(rows)
    return matrix, np.where(scores > 0.4, 1.0, -1.0), random.random(rows) + 0.5


def nothing_held():
    return {shard: HeldDuals() for shard in range(SHARDS)}


def solved(model, shards, held=None, **given):
    held = nothing_held() if held is None else held
    return worked(model, shards, held, **given)[0]


def worked(model, shards, held, total=None, **given):
    """What is found, and the work that it took."""
    work = AscentWork(model, shards, held, total)
    return run_alone(dual_ascent(model, **given), work), work


def sum_of(model, shards, held):
    """What the total has to be."""
    return joined(partial_sums(AscentWork(model, shards, held), Round("sum"), range(SHARDS)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", cases.LOSSES)
def test_the_optimum_is_that_of_other_methods(loss, intercept, sparse):
    matrix, labels, weights = points()
    model = cases.model_of(loss, 6, 1e-2, intercept=intercept, sparse=sparse)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights, sparse=sparse))
    tolerance = 1e-4 if loss == "hinge" else 1e-7
    found = solved(model, shards, tolerance=tolerance)
    assert found.is_converged
    assert found.findings["bound"] <= tolerance * found.findings["primal"]
    if loss == "hinge":
        svm = pytest.importorskip("sklearn.svm")
        strength = 1.0 / (model.l2 * weights.sum())
        make = svm.SVC(C=strength, kernel="linear", tol=1e-8) if intercept else None
        make = make or svm.LinearSVC(C=strength, loss="hinge", tol=1e-9, max_iter=10**6, fit_intercept=False)
        make.fit(matrix, labels, sample_weight=weights)
        place = make.coef_.ravel(), float(make.intercept_[0]) if intercept else 0.0
        optimum = cases.objective(model, matrix, labels, weights, *place)
    else:
        method = newton(model, np.zeros(6), tolerance=1e-10)
        optimum = run_alone(method, AscentWork(model, shards, nothing_held())).findings["primal"]
    assert found.findings["dual"] <= optimum * (1 + 1e-9)
    assert found.findings["primal"] - optimum <= found.findings["bound"] + 1e-9 * optimum
    primal = cases.objective(
        model, matrix, labels, weights, found.parameters["weights"], found.parameters["intercept"][0]
    )
    assert found.findings["primal"] == pytest.approx(primal, rel=1e-12)


def test_a9a_with_the_hinge():
    matrix, labels = cases.a9a()
    model = cases.model_of("hinge", 123, 1.0 / len(labels), sparse=True)
    shards = cases.shards_of_stream(cases.stream_of(matrix, labels, sparse=True))
    found = solved(model, shards, tolerance=1e-2)
    assert found.is_converged
    svm = pytest.importorskip("sklearn.svm")
    theirs = svm.LinearSVC(loss="hinge", fit_intercept=False, tol=1e-3, max_iter=10**5).fit(matrix, labels)
    optimum = cases.objective(model, matrix, labels, np.ones(len(labels)), theirs.coef_.ravel())
    assert found.findings["dual"] <= optimum
    assert found.findings["primal"] <= optimum * 1.01


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_no_certificate_of_a_small_case_is_violated(loss):
    ended = 0
    for seed in range(60):
        matrix, labels, weights, penalties = cases.small_case(seed)
        penalties["l2"] = max(penalties["l2"], 1e-5)
        model = cases.model_of(loss, matrix.shape[1], **penalties)
        shards = cases.shards_of_stream(cases.stream_of(matrix, labels, weights))
        found = solved(model, shards, tolerance=1e-3, most_rounds=150)
        low = cases.objective(
            model, matrix, labels, weights, *cases.low_point(model, matrix, labels, weights)
        )
        assert found.findings["dual"] <= low * (1 + 1e-9), f"seed {seed}"
        ended += found.is_converged
    assert ended >= 25


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_points_that_come_and_go_leave_a_total_that_is_right(loss):
    matrix, labels, weights = points()
    model = cases.model_of(loss, 6, 1e-2)
    stream = cases.stream_of(matrix[:1900], labels[:1900], weights[:1900])
    held = nothing_held()
    _, first = worked(model, cases.shards_of_stream(stream), held, tolerance=1e-3)
    total = sum_of(model, cases.shards_of_stream(stream), held)
    if loss == "logistic":  # of the hinge means take the place of dual variables
        assert first.total == pytest.approx(total, rel=1e-10, abs=1e-10)
    gone = np.arange(150, dtype=np.int64)
    shards, rows = stream.rows_of(gone)
    for shard, seen in cases.shards_of_stream(stream).items():
        held[shard].take_out(model, seen, rows[shards == shard].astype(np.int32), total)
    stream.apply_all(cases.removal_of(stream, gone))
    stream.apply_all(cases.batch_of(stream, range(1900, 2000), matrix[1900:], labels[1900:], weights[1900:]))
    now = cases.shards_of_stream(stream)
    work = AscentWork(model, now, held)
    work.total = total
    _, count, fresh = joined(partial_sums(work, Round("align"), range(SHARDS)))
    assert (count, fresh) == (1850, 100)
    assert work.total is total  # no dual variables were lost
    assert total == pytest.approx(sum_of(model, now, held), rel=1e-10, abs=1e-10)
    copies = {shard: one.copy() for shard, one in held.items()}
    warm, used = worked(model, now, copies, total, tolerance=1e-3)
    if loss == "logistic":
        assert used.total == pytest.approx(sum_of(model, now, copies), rel=1e-10, abs=1e-10)
    cold = solved(model, now, tolerance=1e-3)
    assert warm.is_converged
    assert warm.findings["passes"] <= cold.findings["passes"]
    assert warm.findings["points"] == 1850
    assert warm.findings["dual"] <= cold.findings["primal"]
    assert cold.findings["dual"] <= warm.findings["primal"]


def test_a_dual_of_a_point_that_was_replaced_unnoticed_is_let_go_and_the_total_summed_again():
    matrix, labels, weights = points(rows=300)
    model = cases.model_of("logistic", 6, 1e-2)
    stream = cases.stream_of(matrix, labels, weights)
    held = nothing_held()
    _, first = worked(model, cases.shards_of_stream(stream), held)
    stream.apply_all(cases.removal_of(stream, range(40)))
    stream.apply_all(cases.batch_of(stream, range(500, 530), -matrix[:30], labels[:30], weights[:30]))
    now = cases.shards_of_stream(stream)
    for shard, one in held.items():
        aligned = one.copy()
        fresh, _ = aligned.align(now[shard])
        assert not aligned.duals[fresh].any()
        assert np.count_nonzero(aligned.duals) <= len(now[shard])
    again, work = worked(model, now, held, first.total, tolerance=1e-6)
    assert again.is_converged
    assert work.total == pytest.approx(sum_of(model, now, held), rel=1e-9, abs=1e-9)


def test_a_point_in_the_row_of_another_is_not_taken_out_in_its_place():
    matrix, labels, weights = points(rows=300)
    model = cases.model_of("logistic", 6, 1e-2)
    stream, held = cases.stream_of(matrix, labels, weights), nothing_held()
    _, work = worked(model, cases.shards_of_stream(stream), held)
    total = work.total.copy()
    stream.apply_all(cases.removal_of(stream, range(40)))  # which nobody hears of
    others = np.arange(500, 800, dtype=np.int64)
    stream.apply_all(cases.batch_of(stream, others, -matrix, labels, weights))
    shards, rows = stream.rows_of(others)
    done = [
        held[shard].take_out(model, seen, rows[shards == shard].astype(np.int32), total)
        for shard, seen in cases.shards_of_stream(stream).items()
    ]
    assert not all(done)
    assert (total == work.total).all()  # none of these points was in it


def test_a_version_that_is_leased_has_its_duals_although_points_were_removed_since():
    matrix, labels, weights = points(rows=300)
    model = cases.model_of("logistic", 6, 1e-2)
    stream = cases.stream_of(matrix, labels, weights)
    held = nothing_held()
    solved(model, cases.shards_of_stream(stream), held)
    lease, version = stream.lease()
    stream.apply_all(cases.removal_of(stream, range(40)))
    for shard in stream.read(version):
        fresh, lost = held[shard.shard].align(shard)
        assert (len(fresh), lost) == (0, 0)
    stream.release(lease)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_points_that_stay_where_they_are_have_the_same_optimum(loss, sparse, monkeypatch):
    matrix, labels, weights = points(rows=4000)
    model = cases.model_of(loss, 6, 1e-2, intercept=True, sparse=sparse)
    stream = cases.stream_of(matrix, labels, weights, sparse=sparse)
    stream.apply_all(cases.removal_of(stream, range(500)))
    shards = cases.shards_of_stream(stream)
    gathered = solved(model, shards, tolerance=1e-4)
    monkeypatch.setattr(visits, "_GATHERED_BYTES", 0)
    monkeypatch.setattr(visits, "_LEAST_PART", 1)
    held = nothing_held()
    found, work = worked(model, shards, held, tolerance=1e-4)
    assert found.is_converged
    assert found.findings["dual"] <= gathered.findings["primal"]
    assert gathered.findings["dual"] <= found.findings["primal"]
    assert loss == "hinge" or work.total == pytest.approx(sum_of(model, shards, held), rel=1e-9, abs=1e-9)


def test_each_row_is_visited_once_in_an_order_that_follows_from_the_seed(monkeypatch):
    matrix, labels, weights = points(rows=900)
    model = cases.model_of("hinge", 6, 1e-2)
    shards, held = cases.shards_of_stream(cases.stream_of(matrix, labels, weights)), nothing_held()
    fresh = {shard: held[shard].align(seen)[0] for shard, seen in shards.items()}
    for gathered_bytes in (0, 1 << 20):
        monkeypatch.setattr(visits, "_GATHERED_BYTES", gathered_bytes)
        made = visits.Visits(model.kernel, shards, held, fresh)
        orders = [
            [(place, row) for place, rows in made.parts("ascend", *counter) for row in rows.tolist()]
            for counter in ((1, 1), (1, 1), (1, 2), (2, 1))
        ]
        assert orders[0] == orders[1]
        assert len({tuple(order) for order in orders}) == 3
        assert all(len(set(order)) == 900 == len(order) for order in orders)


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("loss", cases.LOSSES)
def test_several_workers_find_the_same_optimum(loss, workers):
    matrix, labels, weights = points()
    model = cases.model_of(loss, 6, 1e-2, intercept=loss == "logistic")
    shards, held = cases.shards_of_stream(cases.stream_of(matrix, labels, weights)), nothing_held()
    owned = [shards_of_worker(worker, workers) for worker in range(workers)]
    works = [AscentWork(model, {shard: shards[shard] for shard in own}, held) for own in owned]
    found, _ = run(dual_ascent(model, tolerance=1e-3, workers=workers), works)
    alone = solved(model, shards, tolerance=1e-3)
    assert found.is_converged
    assert found.findings["dual"] <= alone.findings["primal"]
    assert alone.findings["dual"] <= found.findings["primal"]
    if loss != "hinge":
        total = sum(work.total for work in works)
        assert total == pytest.approx(sum_of(model, shards, held), rel=1e-9, abs=1e-9)


def test_duals_of_another_loss_do_no_harm():
    matrix, labels, weights = points(rows=500)
    shards, held = cases.shards_of_stream(cases.stream_of(matrix, labels, weights)), nothing_held()
    _, other = worked(cases.model_of("squared", 6, 1e-2), shards, held)
    found, _ = worked(cases.model_of("hinge", 6, 1e-2), shards, held, other.total, tolerance=1e-3)
    assert found.is_converged


def test_no_points_and_points_without_labels_have_the_optimum_zero():
    model = cases.model_of("hinge", 2, 0.1, intercept=True)
    for labels in ([], [math.nan, 5.0]):
        stream = cases.stream_of(np.ones((len(labels), 2)), np.array(labels))
        found = solved(model, cases.shards_of_stream(stream))
        assert found.is_converged
        assert not found.parameters["weights"].any()


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidArgument, match="l2 is 0"):
        dual_ascent(cases.model_of("hinge", 2, 0.0, 0.1))


def test_what_is_proved_is_answered_also_where_it_is_stopped_while_duals_settle():
    settled = 0
    for seed in range(8):
        matrix, labels, weights = points(seed=seed)
        model = cases.model_of("hinge", 6, 1e-3, intercept=True)
        work = AscentWork(
            model, cases.shards_of_stream(cases.stream_of(matrix, labels, weights)), nothing_held()
        )
        method = dual_ascent(model, tolerance=1e-2)
        asked, found = next(method), None
        try:
            while asked.task != "settle":
                asked = method.send(joined(partial_sums(work, asked, range(SHARDS))))
            settled += 1
            method.throw(Stopped())
        except StopIteration as ended:
            found = ended.value
        assert found.is_converged
        assert found.findings["bound"] <= 1e-2 * found.findings["primal"]
    assert settled
