"""Newton's method for logistic models of several classes: steps are found by conjugate gradients, so no matrix of all weights is needed.

A pass gives the gradient, which is exact, and a certificate. The second derivative decides only how many passes there are, so its
products are summed over a sample of the points, and over more of them where that was of little help (Byrd et al. 2011). Conjugate
gradients go as far as the step is of use (Dembo, Eisenstat and Steihaug 1982); they are preconditioned by one matrix of the features, times what the
second derivative of each class is like beside it, or by its diagonal where features are many. A step that does not lower the objective is
shortened, so it cannot diverge.

With l1 a step is one of the weights that are not 0 or would not stay it, inside the orthant that the steepest descent leads into: there
the penalty is linear, and what would leave it becomes 0 (Andrew and Gao 2007; Byrd, Chin, Nocedal and Oztoprak 2016).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import suppress
from functools import partial
from typing import Final

import numpy as np

from ....errors import InvalidArgument
from ..rounds import Finished, Method, Round, Stopped
from . import softmax_kernel as names
from .line_search import EXACT, along
from .linear_gap import Gap
from .linear_objective import Vector, frozen, shrunk
from .softmax_gap import balancing_scales, softmax_gap
from .softmax_objective import MOST_MATRIX, SoftmaxObjective, SoftmaxTotals, bend_size

_LEAST_SAMPLE: Final = 20_000
_SAMPLE_A_FEATURE: Final = 200
_GROWTH: Final = 4.0
_SLOW: Final = 0.3  # of the gradient: what is left of it after a step that was no help
_MOST_PRODUCTS: Final = 250  # for a step
_MOST_INVERSE: Final = 1 << 22  # numbers of the matrices that precondition, where each class has one
_RIDGE: Final = 1e-10
_PATIENCE: Final = 100  # passes within which the objective becomes less by _NOTHING of it at least
_NOTHING: Final = 1e-10

_quietly = np.errstate(all="ignore")  # what is not finite is found by its certificate
_LEAST_DAMPING: Final = 1e-2
_DAMPED: Final = 10.0


def softmax_newton(
    model: SoftmaxObjective,
    weights: Vector,
    intercepts: Vector,
    *,
    tolerance: float = 1e-6,
    most_passes: int = 2000,
    seed: int = 0,
) -> Method:
    """Minimise the objective of a model, of `SoftmaxWork`.

    Parameters
    ----------
    model
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
        Parameters ``weights`` and ``intercept``, of which the classes have the mean 0 (of weights not with l1); findings ``primal``, ``dual`` and ``bound`` (the last two
        not where nothing is known), ``points``, ``passed_over``, ``passes`` and ``products``.

    Raises
    ------
    InvalidArgument
        Arrays have another shape.
    """
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

    @_quietly
    def ascent(self, model: SoftmaxObjective, means: Vector) -> Vector:
        """The gradient of the objective in coordinates about the means of features; of the slopes at a corner of l1 the least one."""
        if model.l1 == 0.0:
            return self.gradient
        found = np.array(self.gradient)
        slopes = found[:, : model.features]
        if model.intercept:
            slopes -= np.outer(found[:, -1], means)
        corners = shrunk(slopes, model.l1)
        slopes[:] = np.where(self.weights == 0.0, corners, slopes + model.l1 * np.sign(self.weights))
        return found

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
        self.is_at_rest = False  # whether no step is of use any more
        # How many times the second derivative's diagonal is added to it.
        self.damping = _LEAST_DAMPING if model.l1 > 0.0 else 0.0
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
        looked, known = self.passes, here.gap.primal
        while here.weight > 0.0 and self.passes < most_passes:
            yield from self._prove(here)
            if self._is_done(here):
                return
            if self.passes >= looked + _PATIENCE:
                if not known - here.gap.primal > _NOTHING * known:
                    self.is_at_rest = True
                    return
                looked, known = self.passes, here.gap.primal
            face, step = yield from self._step(here)
            slope = float(np.vdot(face.gradient, step))
            least = EXACT**2 if self._certifies else self.tolerance
            if -slope <= least * here.gap.primal:
                if self.share >= 1.0 or not self._certifies:
                    self.is_at_rest = True
                    return
                self.share *= _GROWTH
                continue
            passes = self.passes
            there = yield from along(
                partial(self._at, face=face),
                here,
                face.outside(step),
                slope,
                may_pass=lambda: self.passes < most_passes,
                is_exact=self._is_exact,
            )
            if there is None:  # no step is of use
                if self._is_exact:
                    self.is_at_rest = True
                    return
                self.share *= _GROWTH
                self._damp(is_short=True)
                continue
            self._damp(is_short=self.passes > passes + 1)
            left = there.ascent(self.model, face.means)
            if np.linalg.norm(left) > _SLOW * np.linalg.norm(face.gradient):
                self.share *= _GROWTH
            here = self.best = there

    def _damp(self, *, is_short: bool) -> None:
        """Trust the quadratic model less where a step had to be shortened, and more where it had not (Levenberg and Marquardt).

        Without l1 conjugate gradients go nowhere that nothing bends.
        """
        if self.model.l1 == 0.0:
            return
        found = max(_LEAST_DAMPING, _DAMPED * self.damping) if is_short else self.damping / _DAMPED
        self.damping = min(1.0, found) if found >= _LEAST_DAMPING else 0.0

    @property
    def _is_exact(self) -> bool:
        """Whether no step is better than those of now."""
        return self.share >= 1.0 and (self.model.l1 == 0.0 or self.damping >= 1.0)

    @property
    def _certifies(self) -> bool:
        return self.model.l2 > 0.0 or self.model.l1 > 0.0

    def _at(self, vector: Vector, *, face: _Face | None = None) -> _Asking:
        vector = vector if face is None else face.nearest(vector)
        vector = vector - _least_shift(vector, self.model)
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

    def _step(self, here: _Place) -> Generator[Round, Vector, tuple[_Face, Vector]]:
        """A step of conjugate gradients on the quadratic model of a sample, in the coordinates of a face."""
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
        precondition = _Preconditioner(model, found, self.damping)
        face = _Face(model, here, precondition.means)
        precondition.keep_to(face.moves)
        rest = -face.gradient * face.moves
        near = precondition(rest)
        step, direction = np.zeros_like(rest), near
        begun = left = float(np.vdot(rest, near))
        wanted = self._fraction(here) ** 2 * begun
        for _ in range(_MOST_PRODUCTS):
            if not left > wanted:
                break
            image = face.inside((yield from self._product(face.outside(direction), weight)))
            image = (image + precondition.damping * direction) * face.moves
            bend = float(np.vdot(direction, image))
            if not bend > 0.0:
                break
            step = step + left / bend * direction
            rest = rest - left / bend * image
            near = precondition(rest)
            last, left = left, float(np.vdot(rest, near))
            direction = near + left / last * direction
        return face, face.descending(step if step.any() else near)

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
        is_at_rest = self.is_at_rest and not self._certifies  # nothing more is known of it then
        is_converged = self._is_done(here) or is_at_rest or not here.weight > 0.0
        return Finished(parameters, findings, is_converged=is_converged)


class _Face:
    """Where a step goes: the weights that move, in the orthant that the steepest descent leads into; all of them without l1.

    With l1 and intercepts its coordinates are those of features whose means are 0: else a step of an intercept would be mistaken
    for one of all weights.

    Parameters
    ----------
    means : float64[d]
        Of features; 0 where they are not known.

    Attributes
    ----------
    gradient : float64[K, size]
        See `_Place.ascent`.
    moves : float64[K, size]
        1 of each number that moves, else 0.
    """

    def __init__(self, model: SoftmaxObjective, here: _Place, means: Vector) -> None:
        self.means = means
        self.gradient = here.ascent(model, means)
        self.moves = np.ones_like(here.vector)
        self._is_centred = model.l1 > 0.0 and model.intercept and bool(means.any())
        self._signs: Vector | None = None  # NaN of intercepts, which may have any
        if model.l1 > 0.0:
            self._is_corner = here.vector == 0.0
            self._is_corner[:, model.features :] = False
            self._signs = np.where(self._is_corner, -np.sign(self.gradient), np.sign(here.vector))
            self._signs[:, model.features :] = math.nan
            self.moves = (self._signs != 0.0).astype(np.float64)
            # Where all weights of a feature may move, the least one stays: moved alike they change nothing but the penalty (`_least_shift`).
            alike = np.flatnonzero(self.moves[:, : model.features].all(0))
            self.moves[np.abs(here.vector[:, alike]).argmin(0), alike] = 0.0

    @_quietly
    def outside(self, vector: Vector) -> Vector:
        """A vector of these coordinates as it is in those of the model."""
        if not self._is_centred:
            return vector
        found = np.array(vector)
        found[:, -1] -= vector[:, :-1] @ self.means
        return found

    @_quietly
    def inside(self, gradient: Vector) -> Vector:
        """A gradient by the coordinates of the model as one by these."""
        if not self._is_centred:
            return gradient
        found = np.array(gradient)
        found[:, :-1] -= np.outer(gradient[:, -1], self.means)
        return found

    @_quietly
    def descending(self, step: Vector) -> Vector:
        """A step of which weights that are 0 go nowhere but down the steepest descent."""
        if self._signs is None:
            return step
        is_astray = self._is_corner & (step * self._signs <= 0.0)
        return np.asarray(np.where(is_astray, 0.0, step))

    @_quietly
    def nearest(self, vector: Vector) -> Vector:
        """A vector of the model, with 0 in place of weights that have left the orthant."""
        if self._signs is None:
            return vector
        found = np.asarray(np.where(vector * self._signs <= 0.0, 0.0, vector))
        if self._is_centred:
            found[:, -1] += (vector - found)[:, :-1] @ self.means
        return found


class _Preconditioner:
    """About the inverse of the second derivative, of each class by itself: of its matrix, of one of all, or of its diagonal.

    Parameters
    ----------
    found
        The sums of a ``bend``.
    damping
        How many times its diagonal is added to it.

    Attributes
    ----------
    damping : float64[K, size]
        What is added.
    means : float64[d]
        Of the features, by how much points bend; with l1 it is about them. 0 where there is no matrix, or no intercept.
    """

    @_quietly
    def __init__(self, model: SoftmaxObjective, found: Vector, damping: float) -> None:
        classes, size = len(model.classes), bend_size(model)
        weight = max(float(found[0]), 1e-300)
        bends, rest = found[1 : 1 + classes] / weight, found[1 + classes :] / weight
        mean = max(float(bends.mean()), 1e-300)
        shares = np.maximum(bends / mean, 1e-6)
        penalty = np.full(size, model.l2)
        penalty[model.features :] = 0.0
        self.means = np.zeros(model.features)
        self._inverse: Vector | None = None
        self._stack: Vector | None = None
        if size <= MOST_MATRIX:
            upper = rest.reshape(size, size)
            matrix = np.triu(upper) + np.triu(upper, 1).T
            if model.l1 > 0.0 and model.intercept and matrix[-1, -1] > 0.0:
                self.means = matrix[-1, :-1] / matrix[-1, -1]
                matrix[:-1, :-1] -= np.outer(self.means, matrix[-1, :-1])
                matrix[-1, :-1] = matrix[:-1, -1] = 0.0
            rest = np.maximum(np.diagonal(matrix), 0.0)
            is_large = classes * size * size > _MOST_INVERSE
            if is_large and model.l1 == 0.0:
                shares = np.ones(1)
            if not is_large or model.l1 == 0.0:
                self._stack = shares[:, None, None] * matrix + np.diag(penalty)
        diagonals = shares[:, None] * rest + penalty
        self.damping = damping * diagonals
        diagonals = diagonals + self.damping
        self._diagonal = 1.0 / np.maximum(diagonals, _RIDGE * diagonals.max(1, keepdims=True) + 1e-300)

    @_quietly
    def keep_to(self, moves: Vector) -> None:
        """Be that of the numbers alone that move, see `_Face`."""
        if self._stack is None:
            return
        scales = np.sqrt(self._diagonal) * (moves if len(self._diagonal) == len(moves) else 1.0)
        scaled = self._stack * scales[:, :, None] * scales[:, None, :]
        places = np.arange(scaled.shape[1])
        scaled[:, places, places] = 1.0 + _RIDGE
        with suppress(np.linalg.LinAlgError):
            inverse = np.linalg.inv(scaled) * scales[:, :, None] * scales[:, None, :]
            if np.isfinite(inverse).all():
                self._inverse = 0.5 * (inverse + inverse.transpose(0, 2, 1))

    @_quietly
    def __call__(self, vector: Vector) -> Vector:
        """The product with a vector, 0 where nothing moves in it."""
        if self._inverse is None:
            return np.asarray(self._diagonal * vector)
        found = np.matmul(self._inverse, vector[:, :, None])[:, :, 0]
        # Roundings of a matrix that hardly has an inverse may be such that it is not positive.
        return found if np.vdot(found, vector) > 0.0 else np.asarray(self._diagonal * vector)


def _least_shift(vector: Vector, model: SoftmaxObjective) -> Vector:
    """What is taken off the weights of all classes alike for the least penalty, float64[size]: probabilities do not tell it.

    That of l1 has a median in it (Li and Osher 2009).
    """
    means: Vector = vector.mean(0)
    if model.l1 == 0.0:
        return means
    classes, features = model.shape
    weights = vector[:, :features]
    middle = (classes - 1) // 2
    if model.l2 > 0.0:
        pulls = model.l1 / model.l2 * (1.0 - 2.0 * np.arange(classes + 1) / classes)
        weights = np.concatenate([weights, means[:features] + pulls[:, None]])
        middle = classes
    means[:features] = np.partition(weights, middle, axis=0)[middle]
    return means


def _parted(model: SoftmaxObjective, vector: Vector) -> tuple[Vector, Vector]:
    """The weights and the intercepts."""
    if model.intercept:
        return np.ascontiguousarray(vector[:, :-1]), np.ascontiguousarray(vector[:, -1])
    return vector, np.zeros(len(vector))
