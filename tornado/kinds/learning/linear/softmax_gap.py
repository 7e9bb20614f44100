"""How far above its optimum the objective of a softmax model is at most, of one pass over the points.

The dual variables of a point of class y are the slopes t = p - e_y of its loss, of any probabilities p (Boehning 1992). With
v_k = 1/W sum a_i t_ik x_i and r_k = 1/W sum a_i t_ik, Fenchel's and Young's inequalities give for p of the weights w themselves

    P(w, b) - P* <= h(w) + h*(-v) + v w + r (b - b*),

where h(w) = l2/2 |w|^2 + l1 |w|_1 is what is penalised: without l1 it begins as |l2 w + v|^2 / (2 l2). Where h* is infinite beyond
|v_kj| <= l1, all t are scaled (Fercoq, Gramfort and Salmon 2015).

And r must vanish. The t of all points of a class y are scaled by some c_y from 0 to 1: their p are mixed with e_y then, and since the relative
entropy of a mixture is not above the mixture of the relative entropies, what that costs is at most (1 - c_y) times the losses of the class.
With T_yk = sum a_i p_ik over the points of class y,

    W r_k = sum_y c_y T_yk - c_k sum_j T_kj,

which vanishes where c is the stationary distribution of a Markov chain that goes from y to k at the rate T_yk. It is computed without any
subtraction (Grassmann, Taksar and Heyman 1985), and its largest number is made 1. Of two classes this is the bound of `linear_gap`.

Roundings are bounded by sums of magnitudes (Higham 2002, section 3.1), and are part of the bound; what is left of r is counted with a
bound of how far apart the b* can be.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from . import softmax_kernel as names
from .linear_gap import LEAST_WEIGHT, Gap, bent, nearest, penalty_of, share_within, squared
from .linear_objective import Vector
from .softmax_objective import SoftmaxObjective, SoftmaxTotals

_ROUNDING: Final = 2.0**-53


def softmax_gap(
    totals: SoftmaxTotals,
    weights: Vector,
    intercepts: Vector,
    model: SoftmaxObjective,
    scales: Vector | None = None,
    *,
    is_hope: bool = False,
) -> Gap:
    """How far the objective is above its optimum at most.

    Parameters
    ----------
    totals
        Of a pass at (w, b).
    weights : float64[K, d]
        Only read, as all are.
    intercepts : float64[K]
    scales : float64[K], optional
        Those that the sums of the pass have been scaled by; without, by 1.
    is_hope
        Find what might be proved by a pass with `balancing_scales`, in place of what is.
    """
    with np.errstate(all="ignore"):  # what is not finite is found at the end
        return _Certificate(totals, weights, intercepts, model, scales, is_hope=is_hope).gap()


def softmax_objective(totals: SoftmaxTotals, weights: Vector, model: SoftmaxObjective) -> float:
    """P(w, b)."""
    weight, loss = totals.by_class[:, [names.CLASS_WEIGHT, names.CLASS_LOSS]].sum(0).tolist()
    return float(loss / weight + penalty_of(weights, model)) if weight > 0.0 else 0.0


def balancing_scales(flows: Vector) -> Vector:
    """The c in [0, 1] with ``c @ flows == c * flows.sum(1)`` but for roundings, the largest of them 1.

    Parameters
    ----------
    flows : float64[K, K]
        Not negative, and 0 on the diagonal; only read. 1 for all where it has no such c, or not one.

    Examples
    --------
    >>> balancing_scales(np.array([[0.0, 4.0], [2.0, 0.0]])).tolist()
    [0.5, 1.0]
    """
    rates = np.array(flows)
    classes = len(rates)
    with np.errstate(all="ignore"):
        out = np.zeros(classes)
        for last in range(classes - 1, 0, -1):
            out[last] = rates[last, :last].sum()
            rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last] / out[last])
        found = np.ones(classes)
        for place in range(1, classes):
            found[place] = found[:place] @ rates[:place, place] / out[place]
        found /= found.max()
    return np.minimum(found, 1.0) if np.isfinite(found).all() else np.ones(classes)


class _Certificate:
    def __init__(
        self,
        totals: SoftmaxTotals,
        weights: Vector,
        intercepts: Vector,
        model: SoftmaxObjective,
        scales: Vector | None,
        *,
        is_hope: bool,
    ) -> None:
        self.is_hope = is_hope
        self.totals, self.weights, self.intercepts, self.model = totals, weights, intercepts, model
        self.shares = totals.by_class[:, names.CLASS_WEIGHT]
        self.losses = totals.by_class[:, names.CLASS_LOSS]
        self.lengths = totals.by_class[:, names.CLASS_LENGTHS]
        self.slopes = totals.by_class[:, names.CLASS_SLOPE_SQUARES]
        self.weight = float(self.shares.sum())
        self.primal = softmax_objective(totals, weights, model)
        self.given = np.ones(len(model.classes)) if scales is None else scales
        self.norm = math.sqrt(squared(weights))
        rows = float(totals.numbers[names.SOFTMAX_ROWS])
        # One unit of each magnitude for each term of its sum, and some for what a term is made of.
        self.unit = 2.0 * _ROUNDING * (rows + len(model.classes) + 32.0)
        self.row_unit = 2.0 * _ROUNDING * (model.features + len(model.classes) + 32.0)
        self.size_unit = 4.0 * _ROUNDING * (weights.size + 8.0)

    def gap(self) -> Gap:
        primal = self.primal
        if not self.weight > 0.0:
            return Gap(0.0, 0.0, 0.0)
        totals = (self.totals.by_class, self.totals.flows, self.totals.sums)
        is_finite = all(np.isfinite(one).all() for one in totals) and math.isfinite(primal)
        if not is_finite or self.weight < LEAST_WEIGHT:
            return Gap(primal, None, None)
        is_penalised = self.model.l2 > 0.0 or self.model.l1 > 0.0
        if not is_penalised or (self.model.intercept and not (self.shares > 0.0).all()):
            return Gap(primal, None, None)
        tried = [self.given]
        if self.model.intercept:
            tried.append(balancing_scales(self.totals.flows))
        bound = primal  # losses are not negative, so neither is the optimum
        for _ in range(2):  # how near the optimum is makes known how large it is
            bound = min([bound, *(self._bound(scales, bound) for scales in tried)])
        return Gap(primal, primal - bound, bound)

    def _bound(self, scales: Vector, known: float) -> float:
        """A bound of duals so scaled on each class, given another one; the better one of those that there are."""
        reached, error = self._reached(scales)
        found = []
        if self.model.l2 > 0.0:
            found.append(self._bound_of(scales, self._conjugate(reached, error), known))
        if self.model.l1 > 0.0:
            share = share_within(reached, error, self.model)
            found.append(self._bound_of(scales * share, self._free(reached * share, error), known))
        return min(found)

    def _bound_of(self, scales: Vector, of_weights: float, known: float) -> float:
        of_points = float((1.0 - scales) @ self.losses) / self.weight
        return of_points + of_weights + self._of_intercepts(scales, known) + self._slack()

    def _reached(self, scales: Vector) -> tuple[Vector, float]:
        """-v, of the scales that the sums are of, and how far it may be from those of these scales and of no roundings."""
        reached = -self.totals.sums / self.weight
        moved = np.zeros(len(scales)) if self.is_hope else np.abs(scales - self.given)
        apart = float(moved @ np.sqrt(self.slopes * self.lengths)) / self.weight
        rounded = (self.unit + self.row_unit) * float(np.sqrt(self.slopes * self.lengths).sum()) / self.weight
        own = 8.0 * _ROUNDING * (self.model.l2 * self.norm + math.sqrt(squared(reached)))
        return reached, apart * (1.0 + self.unit) + rounded + own

    def _conjugate(self, reached: Vector, error: float) -> float:
        """h(w) + h*(u) - u w of u that is `reached`, each weight without cancellation, and what its error makes of it; l2 is above 0."""
        l2 = self.model.l2
        best, elsewhere = nearest(reached, self.weights, self.model)
        distance = l2 * math.sqrt(squared(self.weights - best)) * (1.0 + self.size_unit)
        error += 4.0 * _ROUNDING * self.model.l1 * math.sqrt(self.weights.size)
        return (distance + error) ** 2 / (2.0 * l2) + self._sum_of_corners(elsewhere)

    def _free(self, reached: Vector, error: float) -> float:
        """Likewise where h* is 0, as no |u_kj| is above l1."""
        of_norm = self.model.l2 / 2 * self.norm**2 * (1.0 + self.size_unit) + self.norm * error
        return of_norm + self._sum_of_corners(bent(reached, self.weights, self.model))

    def _sum_of_corners(self, elsewhere: Vector) -> float:
        if self.model.l1 == 0.0:
            return 0.0
        return float(elsewhere.sum()) + self.size_unit * self.model.l1 * float(np.abs(self.weights).sum())

    def _of_intercepts(self, scales: Vector, known: float) -> float:
        """``r (b - b*)``, of r that sum to 0."""
        if not self.model.intercept:
            return 0.0
        flows = self.totals.flows
        come, go = scales @ flows, scales * flows.sum(1)
        left = np.abs(come - go) + (self.unit + self.row_unit) * (come + go)
        apart = float(np.ptp(self.intercepts)) + self._widest(known)
        return float(0.5 * left.sum() / self.weight * apart)

    def _widest(self, known: float) -> float:
        """A bound of b*_j - b*_k: where one is too large, the losses of one class alone are more than the objective here.

        A loss is at least s_j - s_y, for any j.
        """
        model, primal = self.model, self.primal
        best = math.inf  # a bound of |w*|
        if model.l2 > 0.0:
            best = min(math.sqrt(2.0 * primal / model.l2), self.norm + math.sqrt(2.0 * known / model.l2))
        if model.l1 > 0.0:
            best = min(best, primal / model.l1)
        of_class = math.sqrt(2.0) * best * np.sqrt(self.lengths / self.shares)
        return float((of_class + primal * self.weight / self.shares).max()) * (1.0 + 2.0 * self.unit)

    def _slack(self) -> float:
        """Roundings of sums over points, and of the scores that losses are taken at."""
        # By Cauchy and Schwarz; the slopes of a loss are at most sqrt(2) long.
        slopes = math.sqrt(2.0 * self.weight)
        lengths = math.sqrt(float(self.lengths.sum()))
        scores = lengths * self.norm + math.sqrt(self.weight) * math.sqrt(squared(self.intercepts))
        rounded = self.size_unit * self.primal
        return self.unit * 2.0 * self.primal + rounded + self.row_unit * slopes * scores / self.weight
