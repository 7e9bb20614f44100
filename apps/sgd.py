"""A linear model of a live stream of points, of the loss that is named: `tornado run sgd --loss logistic --points points.csv`."""

from dataclasses import dataclass, field
from typing import Literal

from tornado import LinearModel


@dataclass(frozen=True, kw_only=True)
class StochasticGradientDescent(LinearModel):
    """Mini-batch gradient descent while points come, as in the Tornado paper, and the optimum of exactly these points when asked.

    ``SGDClassifier`` and ``SGDRegressor`` of scikit-learn have the same objective, and call `l2` alpha. All other parameters are those
    of `LinearModel`.

    Parameters
    ----------
    loss
        ``hinge`` max(0, 1 - ys), ``squared_hinge`` max(0, 1 - ys)^2, ``logistic`` ln(1 + e^-ys), or ``squared`` (y - s)^2 / 2.
    """

    loss: Literal["hinge", "squared_hinge", "logistic", "squared"] = field()
