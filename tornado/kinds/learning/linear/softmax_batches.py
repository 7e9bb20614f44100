"""Stochastic gradients of models of several classes, and what these say of points."""

from __future__ import annotations

import numpy as np

from ....records.point_batch import PointBatch
from .linear_objective import LinearObjective, Vector, frozen
from .minibatch import BATCH_NUMBERS, Batches, MiniBatches, features_of_batch
from .softmax_objective import SoftmaxObjective


class SoftmaxBatches(Batches):
    """Those of a model of more classes."""

    def __init__(self, model: SoftmaxObjective) -> None:
        self.model = model
        super().__init__(model.kernel.sum_softmax_drawn, model.kernel.sum_softmax_given)

    def width(self) -> int:
        """See `Batches`: BATCH_NUMBERS + K * features + K."""
        classes, features = self.model.shape
        return BATCH_NUMBERS + classes * (features + 1)

    def scores(self, batch: PointBatch, weights: Vector, intercept: Vector) -> Vector:
        """The score of each point of a batch by class: ``x w_k + b_k``, float64[n, K]."""
        scores = np.empty((len(batch), len(self.model.classes)))
        rows = frozen(np.arange(len(batch), dtype=np.int32))
        self.model.kernel.softmax_scores(
            features_of_batch(batch), rows, frozen(weights), frozen(intercept), scores
        )
        return scores

    def _there(self, weights: Vector, intercept: float | Vector) -> tuple[Vector, Vector, Vector]:
        return self.model.labels, frozen(weights), frozen(np.asarray(intercept))

    def _sums(self, total: Vector) -> tuple[Vector, Vector, Vector]:
        classes, features = self.model.shape
        stop = BATCH_NUMBERS + classes * features
        sums = total[BATCH_NUMBERS:stop].reshape(classes, features)
        return total[:BATCH_NUMBERS], sums, total[stop:]


def batches_of(model: LinearObjective | SoftmaxObjective) -> Batches:
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
