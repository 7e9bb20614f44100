"""Stochastic gradients of linear models: of mini-batches and of new points, and the rules of how far to go along them.

A batch is determined by (seed, shard, iteration) and the points. Where each shard counts its draws by its live points over how many were
drawn, sums over shards are unbiased estimates of those over all points; so are weights, losses and gradients, each by itself.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidArgument
from ....loops.part import Predicted
from ....points import ShardPoints
from ....records.point_batch import DensePointBatch, PointBatch, SparsePointBatch
from . import batch_kernel as names
from .linear_objective import LinearObjective, PenalisedModel, Vector, features_of, frozen, shrunk

BATCH_NUMBERS: Final = names.BATCH_NUMBERS
_LEAST_RATE: Final = 0.01  # of the first one
_LOW_RATE: Final = 0.25  # likewise: at this one no steps diverge that did not at the first
_DRIFT: Final = 1.25  # of the least objective: no noise of batches is as much
_PROGRESS: Final = 0.99


class Batches(ABC):
    """What batches of the points of a shard are, at weights and intercepts; no state but the model.

    Answers are added to ``float64[width()]``, see `BatchTotals`.

    Parameters
    ----------
    sum_drawn, sum_given
        Kernels of the model, see `batch_kernel`.
    """

    def __init__(self, sum_drawn: Callable[..., int], sum_given: Callable[..., None]) -> None:
        self._sum_drawn, self._sum_given = sum_drawn, sum_given

    @abstractmethod
    def width(self) -> int:
        """How many numbers an answer has."""

    def add_drawn(
        self,
        points: ShardPoints,
        weights: Vector,
        intercept: float | Vector,
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
        return self._sum_drawn(
            *columns, *counter, float(scale), *self._there(weights, intercept), *self._sums(total)
        )

    def add_given(
        self,
        points: ShardPoints,
        rows: NDArray[np.int32],
        weights: Vector,
        intercept: float | Vector,
        total: Vector,
        *,
        scale: float = 1.0,
    ) -> None:
        """Add what these rows are, each counting `scale`."""
        columns = features_of(points), frozen(rows.astype(np.int32, copy=False)), points.label, points.weight
        self._sum_given(*columns, float(scale), *self._there(weights, intercept), *self._sums(total))

    @abstractmethod
    def _there(self, weights: Vector, intercept: float | Vector) -> tuple[Any, ...]:
        """Classes, weights and intercepts, as kernels take them."""

    @abstractmethod
    def _sums(self, total: Vector) -> tuple[Vector, ...]:
        """The parts of an answer, as kernels take them."""


class MiniBatches(Batches):
    """Those of a model of two classes, or of none. An intercept is a number, or one in an array."""

    def __init__(self, model: LinearObjective) -> None:
        self.model = model
        super().__init__(model.kernel.sum_drawn, model.kernel.sum_given)

    def width(self) -> int:
        """See `Batches`: BATCH_NUMBERS + features."""
        return BATCH_NUMBERS + self.model.features

    def scores(self, batch: PointBatch, weights: Vector, intercept: float | Vector) -> Vector:
        """The score of each point of a batch: ``x w + b``, float64[n]."""
        scores = np.empty(len(batch))
        rows = frozen(np.arange(len(batch), dtype=np.int32))
        self.model.kernel.score_rows(features_of_batch(batch), rows, *_place(weights, intercept), scores)
        return scores

    def _there(self, weights: Vector, intercept: float | Vector) -> tuple[float, float, Vector, float]:
        negative, positive = self.model.classes
        return float(negative), float(positive), *_place(weights, intercept)

    def _sums(self, total: Vector) -> tuple[Vector, Vector]:
        return total[:BATCH_NUMBERS], total[BATCH_NUMBERS:].reshape(1, self.model.features)


def _place(weights: Vector, intercept: float | Vector) -> tuple[Vector, float]:
    return frozen(weights), float(intercept[0] if isinstance(intercept, np.ndarray) else intercept)


def features_of_batch(batch: PointBatch) -> tuple[NDArray[Any], ...]:
    """The features of a batch as kernels take them."""
    if isinstance(batch, DensePointBatch):
        return (frozen(batch.features),)
    assert isinstance(batch, SparsePointBatch)
    starts, lengths = batch.starts[:-1].astype(np.int32), np.diff(batch.starts).astype(np.int32)
    return frozen(starts), frozen(lengths), frozen(batch.indices), frozen(batch.values)


def classes_at(scores: Vector, model: LinearObjective) -> Vector:
    """The label that each score stands for, float64[n]: of the positive class from 0 on, NaN of NaN; without classes, the score."""
    negative, positive = model.classes
    if not model.is_classifier:
        return scores
    return np.where(np.isnan(scores), math.nan, np.where(scores >= 0.0, positive, negative))


def probabilities_at(scores: Vector) -> Vector:
    """How probable the positive class is by a logistic model, float64[n]."""
    small = np.exp(-np.abs(scores))
    return np.asarray(np.where(scores >= 0.0, 1.0, small) / (1.0 + small))


@dataclass(frozen=True, slots=True, eq=False)
class BatchTotals:
    """Sums over the points of a batch.

    Attributes
    ----------
    weight, loss : float
        Of all points, and of their weighted losses.
    points, passed_over : float
        How many take part, and how many have no label or that of another class.
    mistakes : float
        The weight of those that are of the other class than their score says; without classes, the sum of how far scores are from labels.
    squares : float
        Without classes, the sum of the squares of that.
    slopes : float64[features + 1] or float64[K * features + K]
        The gradient of `loss` by the weights and by the intercept, or by those of each class.
    """

    weight: float
    loss: float
    points: float
    passed_over: float
    mistakes: float
    squares: float
    slopes: Vector

    @classmethod
    def of(cls, total: Vector, *, by_class: bool = False) -> BatchTotals:
        """What was added to `total`; by class where each has weights of its own."""
        numbers = total[:BATCH_NUMBERS].tolist()
        slopes = total[BATCH_NUMBERS:]
        if not by_class:
            slopes = np.append(slopes, numbers[names.BATCH_SLOPE])
        return cls(
            numbers[names.BATCH_WEIGHT],
            numbers[names.BATCH_LOSS],
            numbers[names.BATCH_ROWS],
            numbers[names.BATCH_PASSED_OVER],
            numbers[names.BATCH_MISTAKES],
            numbers[names.BATCH_SQUARES],
            slopes,
        )

    @property
    def mean_loss(self) -> float:
        """0 where there are no points."""
        return self.loss / self.weight if self.weight > 0.0 else 0.0

    def joined(self, other: BatchTotals) -> BatchTotals:
        """Of the points of both."""
        mine = [getattr(self, one.name) + getattr(other, one.name) for one in fields(self)]
        return BatchTotals(*mine)

    def predicted(self, *, is_classifier: bool) -> Predicted:
        """What the points of the batch were predicted like."""
        if is_classifier:
            return Predicted(self.weight, self.loss, self.mistakes, math.nan, math.nan)
        return Predicted(self.weight, self.loss, math.nan, self.mistakes, self.squares)

    def gradient(self, weights: Vector, model: PenalisedModel) -> Vector:
        """The gradient of the objective but for l1, of the shape of `slopes`; 0 by intercepts where the model has none."""
        found = self.slopes / self.weight if self.weight > 0.0 else np.zeros(len(self.slopes))
        found[: weights.size] += model.l2 * weights.ravel()
        if not model.intercept:
            found[weights.size :] = 0.0
        return found


def stepped(
    model: PenalisedModel, weights: Vector, intercept: Vector, gradient: Vector, rates: float | Vector
) -> tuple[Vector, Vector]:
    """Go a step down: w and b. With l1 it is a proximal one, so weights become 0 (Duchi and Singer 2009).

    Parameters
    ----------
    weights, intercept
        float64[features] and float64[1], or float64[K, features] and float64[K]; only read.
    gradient
        See `BatchTotals.gradient`.
    rates : float, or of the shape of the gradient
        See `StepRule`.
    """
    moved = np.append(weights.ravel(), intercept) - rates * gradient
    found = moved[: weights.size]
    if model.l1 > 0.0:
        found = shrunk(found, model.l1 * (rates if isinstance(rates, float) else rates[: weights.size]))
    return found.reshape(weights.shape), moved[weights.size :]


class StepRule(Protocol):
    """How far to go along a gradient. What a rule has learnt is `state`, float64, to be stored and given back."""

    state: Vector

    def rates(self, gradient: Vector) -> float | Vector:
        """The rate of the next step, or one for each number of the gradient; a step is taken with it."""
        ...

    def judge(self, objective: float) -> bool:
        """Hear the objective at one vector, measured at a closed iteration; False: it is not finite, so the steps diverged."""
        ...

    def begin_anew(self) -> None:
        """Hear that what is minimised is another function now."""
        ...


class FixedRate:
    """Always the same rate."""

    def __init__(self, rate: float) -> None:
        self._rate = _checked_rate(rate)
        self.state: Vector = np.empty(0)

    def rates(self, gradient: Vector) -> float:  # noqa: ARG002  # every rule is asked alike
        """The rate."""
        return self._rate

    def judge(self, objective: float) -> bool:
        """Only whether it is finite."""
        return math.isfinite(objective)

    def begin_anew(self) -> None:
        """That changes nothing."""


class DecayingRate:
    """``rate / (1 + decay t)`` at step t = 0, 1, … (Robbins and Monro 1951). The state is t."""

    def __init__(self, rate: float, *, decay: float) -> None:
        self._rate = _checked_rate(rate)
        if not 0.0 <= decay < math.inf:
            raise InvalidArgument(f"decay is {decay}, but it is 0 or more")
        self._decay = decay
        self.state: Vector = np.zeros(1)

    def rates(self, gradient: Vector) -> float:  # noqa: ARG002  # every rule is asked alike
        """The rate of the next step."""
        step = float(self.state[0])
        self.state = np.array([step + 1.0])
        return self._rate / (1.0 + self._decay * step)

    def judge(self, objective: float) -> bool:
        """Only whether it is finite."""
        return math.isfinite(objective)

    def begin_anew(self) -> None:
        """That changes nothing."""


class Adagrad:
    """A rate for each number: ``rate / sqrt(sum of its squared slopes)`` (Duchi, Hazan and Singer 2011). The state is the sums."""

    def __init__(self, rate: float, *, features: int, least: float = 1e-10) -> None:
        self._rate, self._least = _checked_rate(rate), least
        self.state: Vector = np.zeros(features + 1)

    def rates(self, gradient: Vector) -> Vector:
        """The rates of the next step."""
        known = self.state if len(self.state) == len(gradient) else 0.0  # there are other classes now
        self.state = known + gradient * gradient
        return self._rate / (np.sqrt(self.state) + self._least)

    def judge(self, objective: float) -> bool:
        """Only whether it is finite."""
        return math.isfinite(objective)

    def begin_anew(self) -> None:
        """That changes nothing."""


class BoldDriver:
    """10 % less where the objective rises, 10 % more where it falls by less than 1 %, and at least 1 % of the first rate.

    The paper stops there. But of batches an objective rises as often as it falls, so the rate comes to little while points come, and
    a drift would hardly be followed. So the first rate is taken again where the objective is a quarter above the least one at a rate that
    cannot be the reason; if nothing became better since the last time, at half of it. Where the objective is not finite the first rate
    becomes half of what the rate was, and objectives are forgotten: whoever asks goes back to what was known. The state is the rate,
    the last objective, the first rate, the least objective, and that of when the first rate was taken.
    """

    def __init__(self, rate: float) -> None:
        self.state: Vector = np.array([_checked_rate(rate), math.nan, rate, math.inf, math.inf])

    def rates(self, gradient: Vector) -> float:  # noqa: ARG002  # every rule is asked alike
        """The rate."""
        return float(self.state[0])

    def judge(self, objective: float) -> bool:
        """Change the rate by how the objective changed."""
        rate, last, first, least, begun = self.state.tolist()
        if not math.isfinite(objective):
            self._begin(0.5 * rate, math.inf)
            return False
        if objective > _DRIFT * least and rate < _LOW_RATE * first:
            self._begin(first if least < _PROGRESS * begun else 0.5 * first, objective)
            return True
        if objective > last:
            rate *= 0.9
        elif objective > 0.99 * last:
            rate *= 1.1
        rate = max(rate, _LEAST_RATE * first)
        self.state = np.array([rate, objective, first, min(least, objective), begun])
        return True

    def begin_anew(self) -> None:
        """The rate is at least the first one, and objectives are forgotten."""
        self._begin(float(self.state[2]), math.inf)

    def _begin(self, first: float, begun: float) -> None:
        self.state = np.array([first, math.nan, first, begun, begun])


def _checked_rate(rate: float) -> float:
    if not 0.0 < rate < math.inf:
        raise InvalidArgument(f"rate is {rate}, but it is above 0")
    return float(rate)
