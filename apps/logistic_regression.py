"""Logistic regression of a live stream of points: `tornado run logistic_regression --points points.csv`."""

from dataclasses import dataclass
from typing import Literal

from tornado import LinearModel


@dataclass(frozen=True, kw_only=True)
class LogisticRegression(LinearModel):
    """Which of two or more classes a point is of: a linear model with the loss ln(1 + e^-ys), so 1 / (1 + e^-s) is how likely the positive one is.

    Where points have more than two labels, each class has weights of its own (multinomial).
    ``LogisticRegression`` of scikit-learn with ``C = 1 / (l2 * n)`` for n points. All other parameters are those of `LinearModel`.
    """

    loss: Literal["logistic"] = "logistic"
