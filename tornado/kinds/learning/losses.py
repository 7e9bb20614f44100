"""Losses of a score and a label, with their conjugates (Shalev-Shwartz and Zhang, 2013, table 1).

A loss is convex in the score s, and has the least value 0, so its conjugate is 0 at 0: `gap` counts on that. Of two classes the labels
are -1 and 1. A dual variable t is minus a slope; `conjugate(t, y)` is l*(-t), infinite where t is no such thing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from numba import njit


@dataclass(frozen=True, slots=True)
class Loss:
    """Compiled functions of floats; those of one's own take their place.

    Attributes
    ----------
    value, slope
        Of (score, label): the loss, and one of its slopes in the score.
    conjugate
        Of (dual variable t, label): l*(-t).
    ascend
        Of (t, score, curvature q, label): the t' that maximises -l*(-t') - (score) t' - q/2 (t' - t)^2.
    """

    value: Callable[[float, float], float]
    slope: Callable[[float, float], float]
    conjugate: Callable[[float, float], float]
    ascend: Callable[[float, float, float, float], float]


@njit
def _hinge(score: float, label: float) -> float:
    return max(0.0, 1.0 - label * score)


@njit
def _hinge_slope(score: float, label: float) -> float:
    return -label if label * score < 1.0 else 0.0


@njit
def _hinge_conjugate(dual: float, label: float) -> float:
    share = dual * label
    return -share if 0.0 <= share <= 1.0 else math.inf


@njit
def _hinge_ascend(dual: float, score: float, curvature: float, label: float) -> float:
    return label * min(1.0, max(0.0, dual * label + (1.0 - label * score) / curvature))


@njit
def _squared_hinge(score: float, label: float) -> float:
    return max(0.0, 1.0 - label * score) ** 2


@njit
def _squared_hinge_slope(score: float, label: float) -> float:
    return -2.0 * label * max(0.0, 1.0 - label * score)


@njit
def _squared_hinge_conjugate(dual: float, label: float) -> float:
    share = dual * label
    return share * (share / 4.0 - 1.0) if share >= 0.0 else math.inf


@njit
def _squared_hinge_ascend(dual: float, score: float, curvature: float, label: float) -> float:
    wanted = (1.0 - label * score + curvature * dual * label) / (0.5 + curvature)
    return label * max(0.0, wanted)


@njit
def _squared(score: float, label: float) -> float:
    return 0.5 * (label - score) ** 2


@njit
def _squared_slope(score: float, label: float) -> float:
    return score - label


@njit
def _squared_conjugate(dual: float, label: float) -> float:
    return dual * (dual / 2.0 - label)


@njit
def _squared_ascend(dual: float, score: float, curvature: float, label: float) -> float:
    return (label - score + curvature * dual) / (1.0 + curvature)


@njit
def _logistic(score: float, label: float) -> float:
    margin = label * score
    return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)


@njit
def _logistic_slope(score: float, label: float) -> float:
    small = math.exp(-abs(score))
    return -label * (small if label * score > 0.0 else 1.0) / (1.0 + small)


@njit
def _logistic_conjugate(dual: float, label: float) -> float:
    share = dual * label
    if share < 0.0 or share > 1.0:
        return math.inf
    if share in (0.0, 1.0):
        return 0.0
    return share * math.log(share) + (1.0 - share) * math.log1p(-share)


@njit
def _logistic_ascend(dual: float, score: float, curvature: float, label: float) -> float:
    old, margin, low, high = dual * label, label * score, 0.0, 1.0
    share = min(max(old, 1e-12), 1.0 - 1e-12)
    for _ in range(30):  # Newton, kept between the bounds of a bisection
        slope = math.log(share / (1.0 - share)) + margin + curvature * (share - old)
        if slope > 0.0:
            high = share
        else:
            low = share
        wanted = share - slope / (1.0 / (share * (1.0 - share)) + curvature)
        if not low < wanted < high:
            wanted = 0.5 * (low + high)
        if abs(wanted - share) <= 1e-10 * share + 1e-14:
            return label * wanted
        share = wanted
    return label * share


HINGE = Loss(_hinge, _hinge_slope, _hinge_conjugate, _hinge_ascend)
SQUARED_HINGE = Loss(_squared_hinge, _squared_hinge_slope, _squared_hinge_conjugate, _squared_hinge_ascend)
SQUARED = Loss(_squared, _squared_slope, _squared_conjugate, _squared_ascend)
LOGISTIC = Loss(_logistic, _logistic_slope, _logistic_conjugate, _logistic_ascend)
