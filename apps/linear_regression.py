"""Linear regression of a live stream of points: `tornado run linear_regression --points points.csv`."""

from dataclasses import dataclass
from typing import Literal

from tornado import LinearModel


@dataclass(frozen=True, kw_only=True)
class LinearRegression(LinearModel):
    """What number a point has for a label: a linear model with the loss (y - s)^2 / 2.

    ``Ridge`` of scikit-learn with ``alpha = l2 * n`` for n points. All other parameters are those of `LinearModel`.
    """

    loss: Literal["squared"] = "squared"
