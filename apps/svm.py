"""Support vector machine of a live stream of points: `tornado run svm --points points.csv`."""

from dataclasses import dataclass
from typing import Literal

from tornado import LinearModel


@dataclass(frozen=True, kw_only=True)
class SupportVectorMachine(LinearModel):
    """Which of two classes a point is of: a linear model with the loss max(0, 1 - ys).

    ``SVC(kernel="linear")`` of scikit-learn with ``C = 1 / (l2 * n)`` for n points. All other parameters are those of `LinearModel`.
    """

    loss: Literal["hinge"] = "hinge"
