"""Objective, gradient and duality gap of a linear model, of one pass over the points.

With W the sum of weights a_i, P(w, b) = 1/W sum a_i l(x_i w + b, y_i) + l2/2 |w|^2 + l1 |w|_1. For any t, and v = 1/W sum a_i t_i x_i,

    D(t) = -1/W sum a_i l*(-t_i) - sum_j max(0, |v_j| - l1)^2 / (2 l2)  <=  P*,

where there is an intercept only if sum a_i t_i = 0: so the t of the sign that has more are scaled by what makes the sums equal. With
l2 = 0, all are scaled until |v_j| <= l1 (Fercoq, Gramfort and Salmon 2015). Where l* is 0 at 0 and c is in [0, 1], l*(-c t) <= c l*(-t)
by convexity, so scaling needs no second pass. Roundings are counted as those of plain sums: one unit of each sum of magnitudes for each
of its terms. What scaling leaves of sum a_i t_i is counted at the intercept, of which the greatest is taken to be 1024 (1 + |b|).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .losses import Loss
from .shard import Shard, add, dot

_ROUNDING = 2.0**-53


@dataclass(frozen=True, slots=True)
class Penalty:
    """l2/2 |w|^2 + l1 |w|_1, and whether there is an intercept, which is not penalised."""

    l2: float
    l1: float = 0.0
    intercept: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the points. `numbers`: weight, loss, conjugates and |duals| of duals above 0, the same below 0, rows; `sums`: [2, d]."""

    numbers: NDArray[np.float64]
    sums: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gap:
    """``primal - optimum <= bound``. `dual` and `bound` are None where nothing is known."""

    primal: float
    dual: float | None
    bound: float | None


@njit(nogil=True)
def _pass(  # type: ignore[no-untyped-def]
    features, labels, weights, live, vector, intercept, duals, value, slope, conjugate, numbers, sums
) -> None:
    for row in live:
        label, weight = labels[row], weights[row]
        score = dot(features, row, vector) + intercept
        numbers[0] += weight
        numbers[1] += weight * value(score, label)
        dual = duals[row] if len(duals) else -slope(score, label)
        side = 0 if dual >= 0.0 else 1
        numbers[2 + side] += weight * conjugate(dual, label)
        numbers[4 + side] += weight * abs(dual)
        numbers[6] += 1.0
        if dual != 0.0:
            add(features, row, weight * dual, sums[side])


def totals_of(
    shards: Sequence[Shard],
    vector: NDArray[np.float64],
    intercept: float,
    loss: Loss,
    *,
    duals: Sequence[NDArray[np.float64]] | None = None,
) -> Totals:
    """Go once over all points; each shard is summed by itself, and added in their order.

    Parameters
    ----------
    vector
        w, float64 [d].
    duals
        t of each row of each shard; without, they are minus the slopes at w, and the gradient is of `gradient_of`.
    """
    numbers, sums, nothing = np.zeros(7), np.zeros((2, len(vector))), np.empty(0)
    for place, shard in enumerate(shards):
        of_one: Any = np.zeros(7), np.zeros((2, len(vector)))
        columns = shard.features, shard.labels, shard.weights, shard.live
        given = nothing if duals is None else duals[place]
        _pass(*columns, vector, float(intercept), given, loss.value, loss.slope, loss.conjugate, *of_one)
        numbers += of_one[0]
        sums += of_one[1]
    return Totals(numbers, sums)


def gradient_of(
    totals: Totals, vector: NDArray[np.float64], penalty: Penalty
) -> tuple[NDArray[np.float64], float]:
    """Return the gradient of the smooth part by w [d] and by the intercept, from totals without given duals."""
    weight = totals.numbers[0]
    by_intercept = (totals.numbers[5] - totals.numbers[4]) / weight
    return penalty.l2 * vector - totals.sums.sum(0) / weight, float(by_intercept)


def gap_of(totals: Totals, vector: NDArray[np.float64], intercept: float, penalty: Penalty) -> Gap:
    """Return the objective at w, and how far above the optimum it is at most."""
    weight, loss, above, below, plus, minus, rows = (float(number) for number in totals.numbers)
    l2, l1 = penalty.l2, penalty.l1
    primal = loss / weight + l2 / 2 * float(vector @ vector) + l1 * float(np.abs(vector).sum())
    if l2 <= 0.0 and l1 <= 0.0:
        return Gap(primal, None, None)
    scales = np.ones(2)
    if penalty.intercept:
        scales = np.array([min(plus, minus) / side if side > 0.0 else 0.0 for side in (plus, minus)])
    reached = np.abs(scales @ totals.sums) / weight
    conjugates = float(scales @ np.array([above, below])) if scales.any() else 0.0
    if l2 > 0.0:
        dual = -conjugates / weight - float((np.maximum(reached - l1, 0.0) ** 2).sum()) / (2 * l2)
    else:
        largest = float(reached.max(initial=0.0))
        dual = -conjugates / weight * (1.0 if largest <= l1 else l1 / largest * (1 - 8 * _ROUNDING))
    dual = max(dual, 0.0)  # losses are not negative, so neither is the optimum
    magnitude = primal + (abs(above) + abs(below)) / weight
    if l2 > 0.0:
        magnitude += float(reached @ reached) / l2
    left = 1024.0 * (1.0 + abs(intercept)) * (plus + minus) / weight if penalty.intercept else 0.0
    slack = 4.0 * _ROUNDING * (rows + len(vector) + 16.0) * magnitude + 8.0 * _ROUNDING * left
    if not np.isfinite(primal) or not np.isfinite(dual):
        return Gap(primal, None, None)
    return Gap(primal, dual - slack, max(0.0, primal - dual) + slack)
