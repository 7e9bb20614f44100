"""Stochastic gradients of models of several classes, and what these say of points; the twin of `minibatch.MiniBatches`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....points import ShardPoints
from ....records.point_batch import PointBatch
from .linear_objective import LinearObjective, Vector, features_of, frozen
from .minibatch import BATCH_NUMBERS, MiniBatches, features_of_batch
from .softmax_objective import SoftmaxObjective


class SoftmaxBatches:
    """See `MiniBatches`. Answers are added to ``float64[BATCH_NUMBERS + K * features + K]``, see `BatchTotals`."""

    def __init__(self, model: SoftmaxObjective) -> None:
        self.model = model
        self._kernel = model.kernel

    def width(self) -> int:
        """How many numbers an answer has."""
        classes, features = self.model.shape
        return BATCH_NUMBERS + classes * (features + 1)

    def add_drawn(
        self,
        points: ShardPoints,
        weights: Vector,
        intercept: Vector,
        total: Vector,
        *,
        count: int,
        seed: int,
        iteration: int,
        scale: float = 1.0,
    ) -> int:
        """Add what points are that are drawn of those that are live now, each counting `scale`; returns how many."""
        columns = features_of(points), points.born, points.label, points.weight
        counter = seed, points.shard, iteration, count
        there = self.model.labels, frozen(weights), frozen(intercept)
        drawn: int = self._kernel.sum_softmax_drawn(
            *columns, *counter, float(scale), *there, *self._sums(total)
        )
        return drawn

    def add_given(
        self,
        points: ShardPoints,
        rows: NDArray[np.int32],
        weights: Vector,
        intercept: Vector,
        total: Vector,
        *,
        scale: float = 1.0,
    ) -> None:
        """Add what these rows are, each counting `scale`."""
        columns = features_of(points), frozen(rows.astype(np.int32, copy=False)), points.label, points.weight
        there = self.model.labels, frozen(weights), frozen(intercept)
        self._kernel.sum_softmax_given(*columns, float(scale), *there, *self._sums(total))

    def scores(self, batch: PointBatch, weights: Vector, intercept: Vector) -> Vector:
        """The score of each point of a batch by class: ``x w_k + b_k``, float64[n, K]."""
        scores = np.empty((len(batch), len(self.model.classes)))
        rows = frozen(np.arange(len(batch), dtype=np.int32))
        self._kernel.softmax_scores(
            features_of_batch(batch), rows, frozen(weights), frozen(intercept), scores
        )
        return scores

    def _sums(self, total: Vector) -> tuple[Vector, Vector, Vector]:
        classes, features = self.model.shape
        stop = BATCH_NUMBERS + classes * features
        sums = total[BATCH_NUMBERS:stop].reshape(classes, features)
        return total[:BATCH_NUMBERS], sums, total[stop:]


def batches_of(model: LinearObjective | SoftmaxObjective) -> MiniBatches | SoftmaxBatches:
    """The batches of a model of two classes, of none, or of more."""
    return SoftmaxBatches(model) if isinstance(model, SoftmaxObjective) else MiniBatches(model)


def softmax_classes_at(scores: Vector, model: SoftmaxObjective) -> Vector:
    """The label of the greatest score of each point, float64[n]; of equal ones the least label."""
    return np.asarray(model.labels[scores.argmax(1)])


def softmax_probabilities_at(scores: Vector) -> Vector:
    """How probable each class is, float64[n, K]."""
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(shares / shares.sum(1, keepdims=True))


def softmax_margins_at(scores: Vector) -> Vector:
    """By how much the greatest score of each point is above the next, float64[n]."""
    ordered = np.partition(scores, -2, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])
