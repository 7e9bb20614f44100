"""Losses of linear models by their definitions, in plain NumPy, and their conjugates; for checkers.

With a score s and a goal y, which is 1 or -1 by the class of a point, or the label of the squared loss: hinge max(0, 1 - ys), squared hinge
max(0, 1 - ys)^2, logistic ln(1 + e^-ys), squared (y - s)^2 / 2. The conjugate is l*(u) = sup_s (us - l(s)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def steepest(slope: Floats, weights: Floats, l1: float) -> Floats:
    """The slope of an objective with a penalty of magnitudes, given that of the rest: of those at a corner the least one."""
    at_corner = np.sign(slope) * np.maximum(np.abs(slope) - l1, 0.0)
    return np.where(weights == 0.0, at_corner, slope + l1 * np.sign(weights))


def is_smooth(loss: str) -> bool:
    """Whether it has a slope everywhere."""
    return loss != "hinge"


def loss_of(loss: str, scores: Floats, goals: Floats) -> tuple[Floats, Floats]:
    """The loss at each score, and its slope (one of them, at a corner); float64[n] each."""
    if loss == "squared":
        return 0.5 * (scores - goals) ** 2, scores - goals
    margins = scores * goals
    if loss == "logistic":
        return np.logaddexp(0.0, -margins), -goals * np.exp(-np.logaddexp(0.0, margins))
    short = np.maximum(0.0, 1.0 - margins)
    if loss == "hinge":
        return short, -goals * (short > 0.0)
    return short**2, -2.0 * goals * short


def minus_conjugate(loss: str, duals: Floats, goals: Floats) -> Floats:
    """-l*(-t) of each dual variable t, float64[n]; minus infinity where that is no dual variable of the loss.

    Examples
    --------
    >>> minus_conjugate("hinge", np.array([0.5, -0.5, 2.0]), np.array([1.0, -1.0, 1.0])).tolist()
    [0.5, 0.5, -inf]
    """
    if loss == "squared":
        return duals * (goals - 0.5 * duals)
    shares = duals * goals  # from 0 on, to 1 but for the squared hinge
    if loss == "squared_hinge":
        return np.where(shares >= 0.0, shares * (1.0 - 0.25 * shares), -np.inf)
    is_dual = (shares >= 0.0) & (shares <= 1.0)
    if loss == "hinge":
        return np.where(is_dual, shares, -np.inf)
    inside = np.where(is_dual, shares, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nan_to_num(inside * np.log(inside)) - np.nan_to_num((1.0 - inside) * np.log1p(-inside))
    return np.where(is_dual, entropy, -np.inf)
