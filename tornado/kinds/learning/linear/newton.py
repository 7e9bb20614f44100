"""Newton's method for linear models of few features, with a second derivative that is sampled, kept, and corrected as it goes.

A pass gives the gradient, which is exact, and a certificate; the second derivative decides only how many passes there are. So it is
summed over a sample, kept warm from question to question, and corrected by what gradients say of it (Broyden, Fletcher, Goldfarb and
Shanno; Nocedal and Wright 2006, section 6.1); where that does not do, it is sampled again from more points, in the end from all. A
step that does not lower the objective is shortened, so it cannot diverge. With l1 the quadratic model is minimised by coordinate
descent (Lee, Sun and Saunders 2014).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Final

import numpy as np

from ....errors import InvalidArgument
from ....kernel_modules import load_module, module_text
from ..rounds import Finished, Method, Round, Stopped
from . import quadratic_kernel
from .line_search import EXACT, along
from .linear_gap import Gap, PassTotals, gap_of, gradient_of, is_near
from .linear_objective import LinearObjective, Vector, frozen
from .own_loss import OwnLoss
from .pass_kernel import TARGET_SQUARES

_LEAST_SAMPLE: Final = 20_000
_SAMPLE_A_FEATURE: Final = 200
_SAMPLE_SHARE: Final = 0.2
_NEAR: Final = 0.1  # of the objective: a bound that the second derivative is near its last value within
_SLOW: Final = 0.3  # of the gradient: what is left of it after a step that was no help
_SWEEPS: Final = 2000


def newton(
    model: LinearObjective,
    weights: Vector,
    intercept: float = 0.0,
    *,
    hessian: Vector | None = None,
    tolerance: float = 1e-6,
    most_rounds: int = 200,
    seed: int = 0,
) -> Method:
    """Minimise the objective of a model, of `LinearWork`.

    Parameters
    ----------
    model
        Of any loss but the hinge.
    weights : float64[d]
        Where to begin; only read.
    intercept
        Likewise; of no effect where the model has none.
    hessian : float64[k, k], optional
        What an earlier call has found, of the same features.
    tolerance
        It ends when ``bound <= tolerance * primal``, see `is_near`; without penalties, when another step would not lower the objective by more.
    most_rounds
        It ends after so many passes, too.
    seed
        Of the samples.

    Returns
    -------
    Finished
        Parameters ``weights``, ``intercept`` (float64[1]) and ``hessian``; findings ``primal``, ``dual`` and ``bound`` (the last two not
        where nothing is known), ``points``, ``passed_over`` and ``passes``.

    Raises
    ------
    InvalidArgument
        The loss is the hinge, or arrays have another shape.
    """
    if model.loss == "hinge":
        raise InvalidArgument("the hinge loss has no second derivative; use dual ascent")
    size = model.features + model.intercept
    if np.shape(weights) != (model.features,) or (hessian is not None and np.shape(hessian) != (size, size)):
        raise InvalidArgument(
            f"weights have the shape {np.shape(weights)}, but the model {model.features} features"
        )
    return _Descent(model, tolerance, seed).run(weights, intercept, hessian, most_rounds)


class _Place:
    """A vector and what the pass there has found."""

    def __init__(self, model: LinearObjective, vector: Vector, totals: PassTotals) -> None:
        self.vector, self.totals = vector, totals
        self.weights, self.intercept = _parted(model, vector)
        self.gap: Gap = gap_of(totals, self.weights, self.intercept, model)
        self.gradient = gradient_of(totals, self.weights, model) if totals.weight > 0.0 else np.zeros(0)


_Asking = Generator[Round, Vector, _Place]
_Asked = Generator[Round, Vector, None]


class _Descent:
    def __init__(self, model: LinearObjective, tolerance: float, seed: int) -> None:
        self.model, self.tolerance, self.seed = model, tolerance, seed
        self.share, self.samples, self.passes = 0.0, 0, 0
        self.curvature: Vector | None = None  # of losses alone
        self.is_cold = True  # whether nothing was sampled near the end
        self.is_fresh = False  # whether it was sampled where we are
        self.is_at_rest = False  # whether no step is of use any more
        self.best: _Place

    def run(self, weights: Vector, intercept: float, hessian: Vector | None, most_rounds: int) -> Method:
        model = self.model
        begin = np.append(weights, intercept) if model.intercept else np.array(weights, np.float64)
        here = yield from self._at(begin)
        if not here.gap.primal <= _loss_at_zero(here.totals, model) * (1.0 + EXACT):
            # Far off there may be no curvature to go by; at zero all points have some.
            here, hessian = (yield from self._at(np.zeros_like(begin))), None
        self.is_cold = hessian is None
        if hessian is not None and np.isfinite(hessian).all():
            self.curvature = np.array(hessian, np.float64)
        self.best = here
        with suppress(Stopped):
            yield from self._descend(here, most_rounds)
        return self._finished(self.best)

    def _descend(self, here: _Place, most_rounds: int) -> _Asked:
        while not self._is_done(here) and self.passes < most_rounds:
            if self.curvature is None:
                yield from self._sample(here)
            step, slope = self._step(here)
            if self._is_tiny(slope, here):
                if self.is_fresh or self.model.l1 > 0.0 or not self._certifies:
                    self.is_at_rest = True
                    break
                yield from self._sample(here)
                continue
            there = yield from along(
                self._at,
                here,
                step,
                slope,
                may_pass=lambda: self.passes < most_rounds,
                is_exact=self.is_fresh,
            )
            if there is None:  # no step is of use
                if self.is_fresh and self.share >= 1.0:
                    self.is_at_rest = True
                    break
                yield from self._sample(here)
                continue
            yield from self._learn(here, there)
            here = self.best = there

    @property
    def _certifies(self) -> bool:
        return self.model.l2 > 0.0 or self.model.l1 > 0.0

    def _at(self, vector: Vector) -> _Asking:
        weights, intercept = _parted(self.model, vector)
        totals = yield Round("pass", arrays=(frozen(weights), frozen(np.array([intercept]))))
        self.passes += 1
        return _Place(self.model, vector, PassTotals.of(totals, self.model))

    def _is_done(self, here: _Place) -> bool:
        return is_near(here.gap, here.totals, self.tolerance)

    def _is_tiny(self, slope: float, here: _Place) -> bool:
        """Whether a step promises nothing that could be seen, or that was asked for."""
        least = EXACT**2 if self._certifies else self.tolerance
        return -slope <= least * here.gap.primal

    def _sample(self, here: _Place) -> _Asked:
        """Sum the second derivative of losses here, over few points at first, and over more and more of them."""
        rows, size = here.totals.rows + here.totals.passed_over, len(here.vector)
        if self.model.loss == "squared":
            self.share = 1.0  # it is the same everywhere, so once is enough
        else:
            least = max(_LEAST_SAMPLE, _SAMPLE_A_FEATURE * size) / rows
            more = max(_SAMPLE_SHARE, 4.0 * self.share) if self.samples else least
            self.share = min(1.0, max(least, more))
        if self.share > 0.5:
            self.share = 1.0
        numbers = (self.share, float(self.seed), float(self.samples))
        arrays = frozen(here.weights), frozen(np.array([here.intercept]))
        found = yield Round("curvature", numbers, arrays)
        self.samples += 1
        upper = found[1:].reshape(size, size) / max(found[0], 1e-300)
        self.curvature, self.is_fresh = np.triu(upper) + np.triu(upper, 1).T, True

    def _step(self, here: _Place) -> tuple[Vector, float]:
        """The step that minimises the quadratic model, and how fast the objective changes along it at first."""
        model, gradient = self.model, here.gradient
        assert self.curvature is not None
        matrix = self.curvature.copy()
        diagonal = np.einsum("ii->i", matrix)
        diagonal[: model.features] += model.l2
        largest = float(diagonal.max(initial=0.0)) or 1.0
        diagonal += 1e-12 * diagonal + 1e-300 + 1e-14 * largest * (diagonal <= 1e-14 * largest)
        if model.l1 == 0.0:
            step = -solved(matrix, gradient)
            return step, float(gradient @ step)
        step = _penalised_step(matrix, gradient, here.weights, model)
        moved = np.abs((here.vector + step)[: model.features]) - np.abs(here.weights)
        return step, float(gradient @ step) + model.l1 * float(moved.sum())

    def _learn(self, here: _Place, there: _Place) -> _Asked:
        """Correct the second derivative by two gradients, and sample it again where the step was of little use."""
        self.is_fresh = False
        if self._is_done(there):
            return
        model, moved = self.model, there.vector - here.vector
        changed = there.gradient - here.gradient
        changed[: model.features] -= model.l2 * moved[: model.features]
        assert self.curvature is not None
        if model.l1 == 0.0:
            slow = np.linalg.norm(there.gradient) > _SLOW * np.linalg.norm(here.gradient)
        else:
            bounds = here.gap.bound, there.gap.bound
            slow = bounds[0] is None or bounds[1] is None or bounds[1] > _SLOW * bounds[0]
        # What was sampled far away is of use on the way; what is kept for other questions had better be of where this one ends.
        bound = there.gap.bound
        arrives = self.is_cold and bound is not None and bound <= _NEAR * there.gap.primal
        if (slow or arrives) and not (model.loss == "squared" and self.share >= 1.0):
            self.is_cold = self.is_cold and not arrives
            yield from self._sample(there)
            return
        image = self.curvature @ moved
        old, new = float(moved @ image), float(moved @ changed)
        if old > 0.0 and new > 1e-6 * old:
            self.curvature += np.outer(changed, changed) / new - np.outer(image, image) / old

    def _finished(self, here: _Place) -> Finished:
        gap, totals, model = here.gap, here.totals, self.model
        vector, intercept, primal = here.weights, here.intercept, gap.primal
        if not totals.weight > 0.0:
            vector, intercept, primal = np.zeros(model.features), 0.0, 0.0
        findings = {
            "primal": primal,
            "points": float(totals.rows),
            "passed_over": float(totals.passed_over),
            "passes": float(self.passes),
        }
        if gap.bound is not None and gap.dual is not None:
            findings |= {"dual": gap.dual, "bound": gap.bound}
        size = model.features + model.intercept
        hessian = np.zeros((size, size)) if self.curvature is None else self.curvature
        parameters = {"weights": vector, "intercept": np.array([intercept]), "hessian": hessian}
        is_at_end = self.is_at_rest or not totals.weight > 0.0
        is_converged = self._is_done(here) or (is_at_end and not self._certifies)
        return Finished(parameters, findings, is_converged=is_converged)


@cache
def _quadratic_module() -> ModuleType:
    return load_module(module_text("coordinate descent on a quadratic model", [quadratic_kernel], {}))


def _loss_at_zero(totals: PassTotals, model: LinearObjective) -> float:
    """The objective where the weights and the intercept are 0; infinite where there are no points."""
    if not totals.weight > 0.0:
        return math.inf
    if isinstance(model.loss, OwnLoss):
        return math.inf  # nobody has looked
    if model.is_classifier:
        return math.log(2.0) if model.loss == "logistic" else 1.0
    return 0.5 * float(totals.numbers[TARGET_SQUARES]) / totals.weight


def _parted(model: LinearObjective, vector: Vector) -> tuple[Vector, float]:
    """The weights and the intercept."""
    return (vector[:-1], float(vector[-1])) if model.intercept else (vector, 0.0)


def _penalised_step(matrix: Vector, gradient: Vector, weights: Vector, model: LinearObjective) -> Vector:
    """The p that minimises ``gradient p + p matrix p / 2 + l1 |w + p|_1``, of which the intercept is eliminated first.

    Else features that are constant and the intercept would take a part of each other's way, for thousands of sweeps.
    """
    size = model.features
    step = np.zeros(size)
    inner, slopes = matrix[:size, :size], gradient[:size]
    if model.intercept:
        ratio = matrix[:size, size] / matrix[size, size]
        smallest = 1e-12 * np.diagonal(inner)
        inner, slopes = inner - np.outer(ratio, matrix[size, :size]), slopes - ratio * gradient[size]
        np.fill_diagonal(inner, np.maximum(np.diagonal(inner), smallest))
    _quadratic_module().descend(frozen(inner), frozen(slopes), frozen(weights), model.l1, step, _SWEEPS)
    if model.intercept:
        step = np.append(step, -(gradient[size] + matrix[size, :size] @ step) / matrix[size, size])
    return step


def solved(matrix: Vector, gradient: Vector) -> Vector:
    """Solve for a positive definite matrix of any scales, float64[k, k]; what roundings make indefinite is made definite."""
    scales = 1.0 / np.sqrt(np.diagonal(matrix))
    scaled = matrix * np.outer(scales, scales)
    ridge = 0.0
    while True:
        try:
            factor = np.linalg.cholesky(scaled + ridge * np.eye(len(scales)))
        except np.linalg.LinAlgError:
            ridge = max(10.0 * ridge, 1e-14)
            continue
        half = np.linalg.solve(factor, scales * gradient)
        return np.asarray(scales * np.linalg.solve(factor.T, half))
