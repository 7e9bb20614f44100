"""Newton's method for logistic models of several classes: steps are found by conjugate gradients, so no matrix of all weights is needed.

A pass gives the gradient, which is exact, and a certificate. The second derivative decides only how many passes there are, so its
products are summed over a sample of the points, and over more of them where that was of little help (Byrd et al. 2011). Conjugate
gradients go as far as the step is of use (Dembo, Eisenstat and Steihaug 1982); they are preconditioned by one matrix of the features, times what the
second derivative of each class is like beside it, or by its diagonal where features are many. A step that does not lower the objective is
shortened, so it cannot diverge.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import suppress
from typing import Final

import numpy as np

from ....errors import InvalidArgument
from ..rounds import Finished, Method, Round, Stopped
from . import softmax_kernel as names
from .line_search import EXACT, along
from .linear_gap import Gap
from .linear_objective import Vector, frozen
from .softmax_gap import balancing_scales, softmax_gap
from .softmax_objective import MOST_MATRIX, SoftmaxObjective, SoftmaxTotals, bend_size

_LEAST_SAMPLE: Final = 20_000
_SAMPLE_A_FEATURE: Final = 200
_GROWTH: Final = 4.0
_SLOW: Final = 0.3  # of the gradient: what is left of it after a step that was no help
_MOST_PRODUCTS: Final = 250  # for a step
_MOST_INVERSE: Final = 1 << 22  # numbers of the matrices that precondition, where each class has one
_RIDGE: Final = 1e-10


def softmax_newton(
    model: SoftmaxObjective,
    weights: Vector,
    intercepts: Vector,
    *,
    tolerance: float = 1e-6,
    most_passes: int = 200,
    seed: int = 0,
) -> Method:
    """Minimise the objective of a model, of `SoftmaxWork`.

    Parameters
    ----------
    model
        With l1 = 0.
    weights : float64[K, d]
        Where to begin; only read.
    intercepts : float64[K]
        Likewise; of no effect where the model has none.
    tolerance
        It ends when ``bound <= tolerance * primal``; without a penalty, when another step would not lower the objective by more.
    most_passes
        It ends after so many passes, too.
    seed
        Of the samples.

    Returns
    -------
    Finished
        Parameters ``weights`` and ``intercept``, of which the classes have the mean 0; findings ``primal``, ``dual`` and ``bound`` (the last two
        not where nothing is known), ``points``, ``passed_over``, ``passes`` and ``products``.

    Raises
    ------
    InvalidArgument
        There is l1, or arrays have another shape.
    """
    if model.l1 > 0.0:
        raise InvalidArgument(
            f"l1 is {model.l1}, but points have {len(model.classes)} classes, and of more than two no method knows it",
            hint="Leave l1 out, or name two classes.",
        )
    if np.shape(weights) != model.shape or np.shape(intercepts) != model.shape[:1]:
        raise InvalidArgument(f"weights have the shape {np.shape(weights)}, but the model {model.shape}")
    return _Descent(model, tolerance, seed).run(weights, intercepts, most_passes)


class _Place:
    """Weights and intercepts, float64[K, d + 1] or float64[K, d], and what the pass there has found."""

    def __init__(self, model: SoftmaxObjective, vector: Vector, totals: SoftmaxTotals) -> None:
        self.vector, self.totals = vector, totals
        self.weights, self.intercepts = _parted(model, vector)
        self.gap = softmax_gap(totals, self.weights, self.intercepts, model)
        self.hope = softmax_gap(totals, self.weights, self.intercepts, model, is_hope=True)
        self.weight = float(totals.by_class[:, names.CLASS_WEIGHT].sum())
        with np.errstate(all="ignore"):
            self.gradient = np.array(vector)
            self.gradient[:, : model.features] = model.l2 * self.weights + totals.sums / self.weight
            if model.intercept:
                self.gradient[:, -1] = (totals.flows.sum(0) - totals.flows.sum(1)) / self.weight

    def take(self, gap: Gap) -> None:
        """Hear of another certificate."""
        if gap.bound is not None and (self.gap.bound is None or gap.bound < self.gap.bound):
            self.gap = Gap(self.gap.primal, self.gap.primal - gap.bound, gap.bound)


_Asking = Generator[Round, Vector, _Place]
_Asked = Generator[Round, Vector, None]
_Step = Generator[Round, Vector, Vector]


class _Descent:
    def __init__(self, model: SoftmaxObjective, tolerance: float, seed: int) -> None:
        self.model, self.tolerance, self.seed = model, tolerance, seed
        self.share, self.samples, self.passes, self.products = 0.0, 0, 0, 0
        self.best: _Place

    def run(self, weights: Vector, intercepts: Vector, most_passes: int) -> Method:
        model = self.model
        begin = np.column_stack([weights, intercepts]) if model.intercept else np.array(weights, np.float64)
        here = yield from self._at(begin)
        if not here.gap.primal <= math.log(len(model.classes)) * (1.0 + EXACT):
            here = yield from self._at(np.zeros_like(begin))  # far off there may be no curvature to go by
        self.best = here
        with suppress(Stopped):
            yield from self._descend(here, most_passes)
        return self._finished(self.best)

    def _descend(self, here: _Place, most_passes: int) -> _Asked:
        model = self.model
        while here.weight > 0.0 and self.passes < most_passes:
            yield from self._prove(here)
            if self._is_done(here):
                return
            step = yield from self._step(here)
            slope = float(np.vdot(here.gradient, step))
            least = EXACT**2 if model.l2 > 0.0 else self.tolerance
            if -slope <= least * here.gap.primal:
                if self.share >= 1.0 or model.l2 == 0.0:
                    return
                self.share *= _GROWTH
                continue
            there = yield from along(
                self._at,
                here,
                step,
                slope,
                may_pass=lambda: self.passes < most_passes,
                is_exact=self.share >= 1.0,
            )
            if there is None:  # no step is of use
                if self.share >= 1.0:
                    return
                self.share *= _GROWTH
                continue
            if np.linalg.norm(there.gradient) > _SLOW * np.linalg.norm(here.gradient):
                self.share *= _GROWTH
            here = self.best = there

    def _at(self, vector: Vector) -> _Asking:
        # Nothing but the penalty tells how large the means over classes are.
        vector = vector - vector.mean(0)
        weights, intercepts = _parted(self.model, vector)
        total = yield self._pass(weights, intercepts, np.ones(len(vector)))
        return _Place(self.model, vector, SoftmaxTotals.of(total, self.model))

    def _pass(self, weights: Vector, intercepts: Vector, scales: Vector) -> Round:
        self.passes += 1
        return Round("pass", arrays=(frozen(weights), frozen(intercepts), frozen(scales)))

    def _prove(self, here: _Place) -> _Asked:
        """Where it promises to be enough, make another pass with the scales that let intercepts vanish."""
        target = self.tolerance * here.gap.primal
        if self.model.intercept and here.hope.bound is not None and here.hope.bound <= target:
            if self._is_done(here):
                return
            scales = balancing_scales(here.totals.flows)
            total = yield self._pass(here.weights, here.intercepts, scales)
            totals = SoftmaxTotals.of(total, self.model)
            here.take(softmax_gap(totals, here.weights, here.intercepts, self.model, scales))

    def _is_done(self, here: _Place) -> bool:
        return here.gap.bound is not None and here.gap.bound <= self.tolerance * here.gap.primal

    def _step(self, here: _Place) -> _Step:
        """A step of conjugate gradients on the quadratic model of a sample."""
        model = self.model
        rows = float(here.totals.numbers.sum())
        least = max(_LEAST_SAMPLE, _SAMPLE_A_FEATURE * bend_size(model)) / rows
        self.share = min(1.0, max(self.share, least))
        if self.share > 0.5:
            self.share = 1.0
        numbers = (self.share, float(self.seed), float(self.samples))
        self.samples += 1
        found = yield Round("bend", numbers, (frozen(here.weights), frozen(here.intercepts)))
        weight = max(float(found[0]), 1e-300)
        precondition = _Preconditioner(model, found)
        rest = -here.gradient
        near = precondition(rest)
        step, direction = np.zeros_like(rest), near
        begun = left = float(np.vdot(rest, near))
        wanted = self._fraction(here) ** 2 * begun
        for _ in range(_MOST_PRODUCTS):
            if not left > wanted:
                break
            image = yield from self._product(direction, weight)
            bend = float(np.vdot(direction, image))
            if not bend > 0.0:
                break
            step = step + left / bend * direction
            rest = rest - left / bend * image
            near = precondition(rest)
            last, left = left, float(np.vdot(rest, near))
            direction = near + left / last * direction
        return step if step.any() else near

    def _fraction(self, here: _Place) -> float:
        """What may be left of the gradient after a step: no less than what is asked for."""
        if here.gap.bound is None or not here.gap.bound > 0.0:
            return 0.1
        known = here.gap.bound if here.hope.bound is None else here.hope.bound
        return min(0.3, max(0.01, 0.3 * math.sqrt(self.tolerance * here.gap.primal / known)))

    def _product(self, direction: Vector, weight: float) -> _Step:
        model = self.model
        weights, intercepts = _parted(model, direction)
        found = yield Round("product", arrays=(frozen(weights), frozen(intercepts)))
        self.products += 1
        classes, features = model.shape
        image = np.array(direction)
        image[:, :features] *= model.l2
        image[:, :features] += found[: classes * features].reshape(classes, features) / weight
        if model.intercept:
            image[:, -1] = found[classes * features :] / weight
        return image

    def _finished(self, here: _Place) -> Finished:
        gap = here.gap
        findings = {
            "primal": gap.primal,
            "points": float(here.totals.numbers[names.SOFTMAX_ROWS]),
            "passed_over": float(here.totals.numbers[names.SOFTMAX_PASSED_OVER]),
            "passes": float(self.passes),
            "products": float(self.products),
        }
        if gap.bound is not None and gap.dual is not None:
            findings |= {"dual": gap.dual, "bound": gap.bound}
        parameters = {"weights": here.weights, "intercept": here.intercepts}
        is_converged = self._is_done(here) or self.model.l2 == 0.0 or not here.weight > 0.0
        return Finished(parameters, findings, is_converged=is_converged)


class _Preconditioner:
    """About the inverse of the second derivative, of each class by itself: of its matrix, of one of all, or of its diagonal."""

    def __init__(self, model: SoftmaxObjective, found: Vector) -> None:
        classes, size = len(model.classes), bend_size(model)
        weight = max(float(found[0]), 1e-300)
        bends, rest = found[1 : 1 + classes] / weight, found[1 + classes :] / weight
        mean = max(float(bends.mean()), 1e-300)
        shares = np.maximum(bends / mean, 1e-6)
        penalty = np.full(size, model.l2)
        penalty[model.features :] = 0.0
        self._inverse: Vector | None = None
        if size <= MOST_MATRIX:
            upper = rest.reshape(size, size)
            matrix = np.triu(upper) + np.triu(upper, 1).T
            diagonal = np.diagonal(matrix)
            if classes * size * size > _MOST_INVERSE:
                shares = np.ones(1)
            stack = shares[:, None, None] * matrix + np.diag(penalty)
            diagonals = shares[:, None] * diagonal + penalty
            least = _RIDGE * diagonals.max(1, keepdims=True) + 1e-300
            scales = 1.0 / np.sqrt(np.maximum(diagonals, least))
            scaled = stack * scales[:, :, None] * scales[:, None, :]
            scaled[:, np.arange(size), np.arange(size)] = 1.0 + _RIDGE
            with suppress(np.linalg.LinAlgError):
                inverse = np.linalg.inv(scaled) * scales[:, :, None] * scales[:, None, :]
                if np.isfinite(inverse).all():
                    self._inverse = 0.5 * (inverse + inverse.transpose(0, 2, 1))
            self._diagonal = 1.0 / np.maximum(diagonals, least)
        else:
            diagonals = shares[:, None] * rest + penalty
            self._diagonal = 1.0 / np.maximum(diagonals, _RIDGE * diagonals.max(1, keepdims=True) + 1e-300)

    def __call__(self, vector: Vector) -> Vector:
        if self._inverse is None:
            return np.asarray(self._diagonal * vector)
        found = np.matmul(self._inverse, vector[:, :, None])[:, :, 0]
        # Roundings of a matrix that hardly has an inverse may be such that it is not positive.
        return found if np.vdot(found, vector) > 0.0 else np.asarray(self._diagonal * vector)


def _parted(model: SoftmaxObjective, vector: Vector) -> tuple[Vector, Vector]:
    """The weights and the intercepts."""
    if model.intercept:
        return np.ascontiguousarray(vector[:, :-1]), np.ascontiguousarray(vector[:, -1])
    return vector, np.zeros(len(vector))
