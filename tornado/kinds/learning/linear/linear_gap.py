"""How far above its optimum the objective of a linear model is at most, of one pass over the points.

For dual variables t_i and v = 1/W sum a_i t_i x_i, weak duality is a sum of Fenchel and Young's inequalities, of which no term is
negative: with h(w) = l2/2 |w|^2 + l1 |w|_1 and r = 1/W sum a_i t_i,

    P(w, b) - P* <= 1/W sum a_i (l(s_i) + l*(-t_i) + t_i s_i) + (h(w) + h*(v) - v w) + (b* - b) r.

So nothing large is subtracted from anything large. Where t are minus the slopes the first sum is 0, and without l1 the rest is
|grad P|^2 / (2 l2). Where there is an intercept, r must vanish, or what is known of b* bounds its part: of two bounds the better one is
taken, that of t as they are and that of t scaled down on the side that has more (l*(-c t) <= c l*(-t) for c in [0, 1], since l* is
convex and 0 at 0). Where h* is infinite beyond |v_j| <= l1, all t are scaled (Fercoq, Gramfort and Salmon 2015).

Roundings are bounded by sums of magnitudes (Higham 2002, section 3.1), and are part of the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from . import pass_kernel as names
from .linear_objective import LinearObjective, PenalisedModel, Vector, shrunk
from .own_loss import OwnLoss

_ROUNDING: Final = 2.0**-53
_NEGLIGIBLE: Final = 1e-12
LEAST_WEIGHT: Final = 1e-280
"""Of all points together: of less, sums are of numbers so small that their roundings are no share of them."""


@dataclass(frozen=True, slots=True)
class Gap:
    """``primal - optimum <= bound``, so ``dual = primal - bound`` is not above the optimum; None where nothing is known."""

    primal: float
    dual: float | None
    bound: float | None


@dataclass(frozen=True, slots=True, eq=False)
class PassTotals:
    """What a pass has summed over all points.

    Attributes
    ----------
    numbers : float64[NUMBERS]
        See `pass_kernel`.
    sums : float64[sides, d]
        Of a t x.
    """

    numbers: Vector
    sums: Vector

    @classmethod
    def of(cls, totals: Vector, model: LinearObjective) -> PassTotals:
        """The totals of a round ``pass``."""
        return cls(totals[: names.NUMBERS], totals[names.NUMBERS :].reshape(model.sides, model.features))

    @property
    def rows(self) -> int:
        """How many points take part."""
        return int(self.numbers[names.ROWS])

    @property
    def passed_over(self) -> int:
        """How many do not, having no label or that of another class."""
        return int(self.numbers[names.PASSED_OVER])

    @property
    def weight(self) -> float:
        """W."""
        return self._of_both(names.WEIGHT)

    def of_sides(self, name: int) -> Vector:
        """A number of each side, float64[2]."""
        return self.numbers[name : name + 2]

    def _of_both(self, name: int) -> float:
        return float(self.of_sides(name).sum())

    @property
    def loss(self) -> float:
        """The sum of weighted losses."""
        return self._of_both(names.LOSS)

    @property
    def length(self) -> float:
        """The square root of the sum of a |x|^2."""
        return math.sqrt(self._of_both(names.LENGTHS))


def nearest(reached: Vector, vector: Vector, model: PenalisedModel) -> tuple[Vector, Vector]:
    """The w at which h(w) - v w is least, for v that is `reached`, and what l1 makes of a vector being elsewhere, by number; l2 is above 0."""
    best = shrunk(reached, model.l1) / model.l2
    # Where `best` is 0, v may take the place of its sign times l1.
    slope = np.where(best != 0.0, np.sign(best) * model.l1, reached)
    return best, bent(slope, vector, model)


def bent(slope: Vector, vector: Vector, model: PenalisedModel) -> Vector:
    """``l1 |w| - slope w`` by number, of slopes that are nowhere above l1."""
    return np.maximum(0.0, model.l1 * np.abs(vector) - slope * vector)


def share_within(reached: Vector, error: float, model: PenalisedModel) -> float:
    """By how much dual variables are scaled so that no |v_j| is above l1, wherever within the error it is."""
    largest = float(np.abs(reached).max(initial=0.0)) + error
    return min(1.0, model.l1 / largest * (1.0 - 8.0 * _ROUNDING)) if largest > 0.0 else 1.0


def is_near(gap: Gap, totals: PassTotals, tolerance: float) -> bool:
    """Whether ``bound <= tolerance * primal``, or below 1e-12 of the mean of y^2: where the optimum is 0 there is nothing to be relative to."""
    if gap.bound is None:
        return False
    if totals.rows == 0 or gap.bound <= tolerance * gap.primal:
        return True
    return gap.bound <= _NEGLIGIBLE * float(totals.numbers[names.TARGET_SQUARES]) / totals.weight


def objective_of(totals: PassTotals, vector: Vector, model: LinearObjective) -> float:
    """P(w, b)."""
    return totals.loss / totals.weight + penalty_of(vector, model)


def penalty_of(vector: Vector, model: PenalisedModel) -> float:
    """h(w)."""
    return model.l2 / 2 * squared(vector) + model.l1 * float(np.abs(vector).sum())


def squared(vector: Vector) -> float:
    """|v|^2. Not by a library of linear algebra: its threads would wait for each other where all processors have work."""
    return float(np.square(vector).sum())


def gradient_of(totals: PassTotals, vector: Vector, model: LinearObjective) -> Vector:
    """The gradient of the objective without l1 by w and, where there is an intercept, by b; of totals without given duals."""
    with np.errstate(all="ignore"):
        by_vector = model.l2 * vector - totals.sums.sum(0) / totals.weight
        plus, minus = totals.of_sides(names.DUALS)
        return np.append(by_vector, (minus - plus) / totals.weight) if model.intercept else by_vector


def gap_of(totals: PassTotals, vector: Vector, intercept: float, model: LinearObjective) -> Gap:
    """How far the objective is above its optimum at most.

    Parameters
    ----------
    totals
        Of a pass at (w, b).
    vector : float64[d]
        w; only read.
    intercept
        b.
    """
    with np.errstate(all="ignore"):  # what is not finite is found at the end
        return _gap_of(totals, vector, intercept, model)


def _gap_of(totals: PassTotals, vector: Vector, intercept: float, model: LinearObjective) -> Gap:
    if totals.rows == 0 or not totals.weight > 0.0:
        return Gap(0.0, 0.0, 0.0)
    primal = objective_of(totals, vector, model)
    known = np.isfinite(totals.numbers).all() and np.isfinite(totals.sums).all() and math.isfinite(primal)
    if not known or totals.numbers[names.INFEASIBLE] > 0.0 or totals.weight < LEAST_WEIGHT:
        return Gap(primal, None, None)
    if model.l2 == 0.0 and model.l1 == 0.0:
        return Gap(primal, None, None)
    bound = primal  # losses are not negative, so neither is the optimum
    certificate = _Certificate(totals, vector, intercept, model, primal)
    for _ in range(2):  # how near the optimum is makes known how large it is
        bound = min(bound, certificate.bound(bound))
    return Gap(primal, primal - bound, bound)


class _Certificate:
    """The bound of `gap_of`, step by step."""

    def __init__(
        self, totals: PassTotals, vector: Vector, intercept: float, model: LinearObjective, primal: float
    ) -> None:
        self.totals, self.vector, self.intercept, self.model, self.primal = (
            totals, vector, intercept, model, primal,
        )  # fmt: skip
        self.weight = totals.weight
        self.norm = math.sqrt(squared(vector))
        self.duals = totals.of_sides(names.DUALS)
        # One unit of each magnitude for each term of its sum, and some for what a term is made of.
        self.unit = 2.0 * _ROUNDING * (totals.rows + 32.0)
        self.row_unit = 2.0 * _ROUNDING * (model.features + 16.0)
        self.dual_length = math.sqrt(float(totals.numbers[names.DUAL_SQUARES]))
        self.error = (self.unit + self.row_unit) * self.dual_length * totals.length / self.weight  # of |v|
        self.slack = self._slack()

    def bound(self, known: float) -> float:
        """A bound, given another one."""
        parts = [np.ones(2)]
        if self.model.intercept:
            least = float(self.duals.min())
            parts.append(np.array([least / dual if dual > 0.0 else 0.0 for dual in self.duals]))
        found = [self._bound_of(part, known, rescaled=False) for part in parts if self.model.l2 > 0.0]
        found += [self._bound_of(part, known, rescaled=True) for part in parts if self.model.l1 > 0.0]
        return min(found)

    def _bound_of(self, scales: Vector, known: float, *, rescaled: bool) -> float:
        """With t scaled on each side, and so far that no |v_j| is above l1 where that is asked for."""
        sums = self.totals.sums
        reached = (scales[0] * sums[0] + scales[1] * sums[1] if len(sums) > 1 else sums[0]) / self.weight
        if rescaled:
            share = share_within(reached, self.error, self.model)
            scales, reached = scales * share, reached * share
        losses, excess = self.totals.of_sides(names.LOSS), self.totals.of_sides(names.EXCESS)
        of_points = float((1.0 - scales) @ losses + scales @ excess) / self.weight
        of_vector = self._free(reached) if rescaled else self._conjugate(reached)
        return of_points + of_vector + self._of_intercept(scales, known) + self.slack

    def _conjugate(self, reached: Vector) -> float:
        """h(w) + h*(v) - v w, each feature without cancellation, and what an error of v makes of it; l2 is above 0."""
        l2, l1 = self.model.l2, self.model.l1
        vector = self.vector
        best, elsewhere = nearest(reached, vector, self.model)
        distance = math.sqrt(squared(vector - best))
        error = self.error + 2.0 * _ROUNDING * (math.sqrt(squared(reached)) + l1 * math.sqrt(len(vector)))
        rounded = 4.0 * _ROUNDING * l1 * float(np.abs(vector).sum())
        return float(
            l2 / 2 * distance * distance * (1.0 + self._vector_unit)
            + elsewhere.sum()
            + distance * error
            + error * error / (2.0 * l2)
            + rounded
        )

    def _free(self, reached: Vector) -> float:
        """Likewise where h* is 0, as no |v_j| is above l1."""
        l2, l1, vector = self.model.l2, self.model.l1, self.vector
        elsewhere = bent(reached, vector, self.model)
        rounded = self._vector_unit * l1 * float(np.abs(vector).sum())
        return float(elsewhere.sum() + l2 / 2 * self.norm**2) + self.norm * self.error + rounded

    @property
    def _vector_unit(self) -> float:
        return 4.0 * _ROUNDING * (len(self.vector) + 8.0)

    def _of_intercept(self, scales: Vector, known: float) -> float:
        """|b* - b| |r|."""
        if not self.model.intercept:
            return 0.0
        plus, minus = scales * self.duals
        left = abs(plus - minus) + (self.unit + self.row_unit) * (plus + minus)
        if left == 0.0:
            return 0.0
        return float(left / self.weight * (abs(self.intercept) + self._largest_intercept(known)))

    def _largest_intercept(self, known: float) -> float:
        """A bound of |b*|: where it is too large, the losses of one class alone are more than the objective here."""
        model, primal, totals = self.model, self.primal, self.totals
        best = math.inf  # of |w*|
        if model.l2 > 0.0:
            best = math.sqrt(2.0 * primal / model.l2)
            if math.isfinite(known):
                best = min(best, self.norm + math.sqrt(2.0 * known / model.l2))
        if model.l1 > 0.0:
            best = min(best, primal / model.l1)
        lengths, weights = totals.of_sides(names.LENGTHS), totals.of_sides(names.WEIGHT)
        own = model.loss if isinstance(model.loss, OwnLoss) else None
        if own is not None and not own.is_classifier:  # sum a l >= rise (sum a |x w* + b* - y| - W distance)
            of_labels = math.sqrt(float(totals.numbers[names.TARGET_SQUARES]) / self.weight)
            length = totals.length / math.sqrt(self.weight)
            apart = primal / own.rise + own.distance + of_labels + length * best
            return apart * (1.0 + 4.0 * self.unit)
        if not model.is_classifier:  # b* is the mean of y - x w*
            mean = abs(float(totals.numbers[names.TARGETS])) / self.weight
            length = totals.length / math.sqrt(self.weight)
            rounded = abs(self.intercept) + self.norm * length + math.sqrt(2.0 * totals.loss / self.weight)
            return mean + self.unit * rounded + length * best * (1.0 + self.unit)
        if not (weights > 0.0).all():
            return math.inf
        # l(s, y) >= -y s for each of the losses, and -rise y s for one that a user has written.
        rise = 1.0 if own is None else own.rise
        sides = np.sqrt(lengths / weights) * best + primal * self.weight / (rise * weights)
        return float(sides.max()) * (1.0 + 2.0 * self.unit)

    def _slack(self) -> float:
        """Roundings of sums over points, and of the scores that losses are taken at."""
        totals, weight = self.totals, self.weight
        magnitude = 2.0 * self.primal + float(totals.numbers[names.MAGNITUDE]) / weight
        # By Cauchy and Schwarz: no loss has a slope whose square is above 1 + 4 l.
        slopes = self.dual_length + math.sqrt(weight + 4.0 * totals.loss)
        if isinstance(
            self.model.loss, OwnLoss
        ):  # those at a score and beside it, where they may be on two sides of a corner
            slopes = 2.0 * self.dual_length + math.sqrt(weight) * self.model.loss.slope
        scores = totals.length * self.norm + math.sqrt(weight) * abs(self.intercept)
        return self.unit * magnitude + self.row_unit * slopes * scores / weight
