"""A linear model of Huber's loss, which outliers move little: `tornado run huber.py:HuberRegression --width 1.35 --l2 0.001 --points points.csv`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tornado import OwnLossModel


@dataclass(frozen=True, kw_only=True)
class HuberRegression(OwnLossModel):
    """Squares of small residuals, and of large ones their size (Huber 1964).

    Parameters
    ----------
    width
        Up to which a residual is small.
    """

    loss_of: ClassVar[Literal["residual", "margin"]] = "residual"

    width: float = 1.35

    @staticmethod
    def value(residual: float, width: float) -> float:
        """The loss of a residual, score minus label."""
        size = abs(residual)
        return 0.5 * residual * residual if size <= width else width * (size - 0.5 * width)

    @staticmethod
    def slope(residual: float, width: float) -> float:
        """Its derivative."""
        return min(width, max(-width, residual))

    @staticmethod
    def bend(residual: float, width: float) -> float:
        """The derivative of that."""
        return 1.0 if abs(residual) <= width else 0.0
