"""Points of linear models, objectives written down plainly, and small problems that are hard in one way or another."""

import gzip
import math
import os

import numpy as np
from scipy.optimize import minimize

from tests.real_data import DATA_VARIABLE, locate
from tornado.kinds.learning.linear.linear_objective import LinearObjective
from tornado.points import EvolvingPoints
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

LOSSES = ("hinge", "squared_hinge", "logistic", "squared")
CLASSES = (-1.0, 1.0)


def stream_of(matrix, labels, weights=None, *, sparse=False, dtype="float64"):
    """Evolving points, whose ids are the numbers of the rows."""
    points = EvolvingPoints(Points(matrix.shape[1], sparse=sparse, dtype=dtype))
    points.apply_all(batch_of(points, range(len(labels)), matrix, labels, weights))
    return points


def batch_of(points, ids, matrix, labels, weights=None):
    rows = [{column: row[column] for column in np.flatnonzero(row).tolist()} for row in matrix]
    features = rows if points.points.sparse else matrix
    return PointBatch.of(points.points, ids=list(ids), labels=labels, features=features, weights=weights)


def removal_of(points, ids):
    return PointBatch.of(points.points, ids=list(ids), op="-")


def shards_of_stream(points):
    return {shard.shard: shard for shard in points.read()}


def model_of(loss, features, l2, l1=0.0, *, intercept=False, sparse=False, classes=CLASSES):
    return LinearObjective(
        loss,
        features,
        l2,
        l1,
        intercept=intercept,
        sparse=sparse,
        classes=classes if loss != "squared" else (math.nan, math.nan),
    )


def losses_at(loss, scores, labels):
    margins = labels * scores
    return {
        "hinge": np.maximum(0.0, 1.0 - margins),
        "squared_hinge": np.maximum(0.0, 1.0 - margins) ** 2,
        "logistic": np.logaddexp(0.0, -margins),
        "squared": 0.5 * (labels - scores) ** 2,
    }[loss]


def objective(model, matrix, labels, weights, vector, intercept=0.0):
    """P(w, b), of labels -1 and 1."""
    losses = losses_at(model.loss, matrix @ vector + intercept, labels)
    penalty = model.l2 / 2 * vector @ vector + model.l1 * np.abs(vector).sum()
    return float(weights @ losses / weights.sum() + penalty)


def low_point(model, matrix, labels, weights):
    """A vector and an intercept whose objective is low, by other means: not by gradients alone, since some have none."""
    features = matrix.shape[1]

    def at(place):
        intercept = place[-1] if model.intercept else 0.0
        return objective(model, matrix, labels, weights, place[:features], intercept)

    begin = np.zeros(features + model.intercept)
    place = minimize(at, begin, method="BFGS", options={"gtol": 1e-9}).x
    place = minimize(at, place, method="Powell", options={"xtol": 1e-10, "ftol": 1e-14}).x
    return place[:features], float(place[-1]) if model.intercept else 0.0


def small_case(seed):
    """Points that are few, of odd weights, doubled, constant, of one class, of features that differ in scale."""
    random = np.random.default_rng(seed)
    rows, features = int(random.integers(1, 30)), int(random.integers(1, 5))
    matrix = random.standard_normal((rows, features)) * 10.0 ** random.integers(-2, 3)
    if random.random() < 0.3:
        matrix[:, 0] = random.choice([0.0, 1.0, 100.0])
    if random.random() < 0.3 and features > 1:
        matrix[:, 1] = matrix[:, 0]
    if random.random() < 0.3:
        matrix[rows // 2 :] = matrix[: rows - rows // 2]
    labels = np.where(
        matrix @ random.standard_normal(features) + random.standard_normal(rows) > 0.0, 1.0, -1.0
    )
    if random.random() < 0.15:
        labels[:] = random.choice(CLASSES)
    weights = 10.0 ** random.uniform(-3, 3, rows) if random.random() < 0.5 else np.ones(rows)
    l2 = float(10.0 ** random.uniform(-9, 1)) if random.random() < 0.8 else 0.0
    l1 = float(10.0 ** random.uniform(-4, 0)) if l2 == 0.0 or random.random() < 0.3 else 0.0
    return matrix, labels, weights, {"l2": l2, "l1": l1, "intercept": bool(random.random() < 0.6)}


def a9a():
    """The test part of a9a (Platt 1998): float64[16281, 123] of zeros and ones, and labels."""
    folder = locate(os.environ.get(DATA_VARIABLE))
    matrix, labels = np.zeros((16281, 123)), np.zeros(16281)
    with gzip.open(folder / "a9a-test.libsvm.gz", "rt") as lines:
        for row, line in enumerate(lines):
            label, *entries = line.split()
            labels[row] = float(label)
            matrix[row, [int(entry.split(":")[0]) - 1 for entry in entries]] = 1.0
    return matrix, labels
