"""Certificates against many vectors and an optimum found by other means, and the solvers that end by them."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from tornado.kinds.learning import gap, losses
from tornado.kinds.learning.dual_ascent import DualAscent
from tornado.kinds.learning.shard import Shard

LOSSES = {name: getattr(losses, name) for name in ("HINGE", "SQUARED_HINGE", "SQUARED", "LOGISTIC")}


def points(*, seed=0, rows=400, columns=6, dense=True):
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((rows, columns)) * (random.random((rows, columns)) < 0.7)
    labels = np.where(
        matrix @ random.standard_normal(columns) + random.standard_normal(rows) > 0.3, 1.0, -1.0
    )
    found = []
    for part in np.array_split(np.arange(rows), 3):
        csr = sparse.csr_matrix(matrix[part])
        kept = csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data
        features = np.ascontiguousarray(matrix[part]) if dense else kept
        found.append(Shard(features, labels[part], random.random(len(part)) + 0.5, np.arange(len(part))))
    return found


def solved(shards, loss, l2, *, passes=400, ascent=None):
    weight = sum(float(shard.weights[shard.live].sum()) for shard in shards)
    ascent = ascent or DualAscent(loss, 6, l2, [np.zeros(len(shard.labels)) for shard in shards])
    for number in range(passes):
        for place, shard in enumerate(shards):
            ascent.visit(shard, place, number, weight)
        ascent.end_pass()
    vector = ascent.vector(weight)
    return ascent, vector, gap.totals_of(shards, vector, 0.0, loss, duals=ascent.duals)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("name", LOSSES)
def test_a_solution_proves_itself_and_no_certificate_is_violated_anywhere(name, dense):
    loss, shards, penalty = LOSSES[name], points(dense=dense), gap.Penalty(0.02)
    _, vector, totals = solved(shards, loss, penalty.l2)
    best = gap.gap_of(totals, vector, 0.0, penalty)
    assert best.bound <= 1e-3 * best.primal
    random = np.random.default_rng(1)
    for _ in range(100):
        other = vector + random.standard_normal(6) * 10.0 ** random.uniform(-6, 1)
        found = gap.gap_of(gap.totals_of(shards, other, 0.0, loss), other, 0.0, penalty)
        assert found.primal - best.primal <= found.bound
        assert found.dual <= best.primal


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("l2", "l1"), [(0.02, 0.0), (0.02, 0.01), (0.0, 0.02)])
def test_with_an_intercept_every_dual_is_below_every_primal(name, l2, l1):
    loss, shards, penalty = LOSSES[name], points(seed=2), gap.Penalty(l2, l1, intercept=True)
    random = np.random.default_rng(3)
    found = []
    for _ in range(200):
        vector, intercept = random.standard_normal(6) * random.uniform(0, 1), random.uniform(-1, 1)
        totals = gap.totals_of(shards, vector, intercept, loss)
        found.append(gap.gap_of(totals, vector, intercept, penalty))
    assert max(one.dual for one in found) <= min(one.primal for one in found)


def test_duals_that_are_not_scaled_would_bound_nothing_where_there_is_an_intercept():
    shards = [dataclasses.replace(shard, labels=np.ones(len(shard.labels))) for shard in points()]
    vector = np.zeros(6)
    totals = gap.totals_of(shards, vector, 0.0, losses.HINGE)
    assert gap.gap_of(totals, vector, 0.0, gap.Penalty(10.0)).dual > 0.5  # the optimum with an intercept is 0
    assert gap.gap_of(totals, vector, 0.0, gap.Penalty(10.0, intercept=True)).dual <= 0.0


def test_warm_duals_after_removed_points_are_those_of_the_points_that_are_left():
    shards, l2 = points(), 0.02
    ascent, *_ = solved(shards, losses.LOGISTIC, l2, passes=20)
    ascent.remove(shards[0], 0, np.arange(10))
    left = [dataclasses.replace(shards[0], live=shards[0].live[10:]), *shards[1:]]
    vector = np.zeros(6)
    sums = gap.totals_of(left, vector, 0.0, losses.LOGISTIC, duals=ascent.duals).sums.sum(0)
    np.testing.assert_allclose(ascent.total, sums, rtol=1e-10, atol=1e-10)
    _, vector, totals = solved(left, losses.LOGISTIC, l2, passes=60, ascent=ascent)
    assert gap.gap_of(totals, vector, 0.0, gap.Penalty(l2)).bound < 1e-6
