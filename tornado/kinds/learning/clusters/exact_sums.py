"""Sums of points that owe nothing to the order in which they are made, nor to what was added and taken away meanwhile.

Each product of a weight and a feature is rounded to whole units of its feature, of which there are two kinds, high and low. So many of
them as there are points fit into a float64, which therefore adds them without any rounding. A low unit is about 2**(2 log n - 104) of the
greatest product, n being the number of points: for a million points 64 bits are kept of each, 11 more than a float64 has.

Source: the pre-rounding of Demmel and Nguyen, "Parallel reproducible summation" (2015), with bounds that are known before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_BITS = 52
_MOST_EXPONENT = 900


class ExactSums:
    """Sums of clusters, [k, d], and their weights.

    Parameters
    ----------
    clusters
        k.
    greatest : float64[d + 1]
        At least as great as any product of a feature, and as any weight.
    count
        At least as many as there are points.
    """

    def __init__(self, clusters: int, greatest: NDArray[np.float64], count: int) -> None:
        bits = _MOST_BITS - max(1, int(count).bit_length())
        exponents = np.clip(bits - np.frexp(greatest)[1], -_MOST_EXPONENT, _MOST_EXPONENT)
        self.units = np.ldexp(1.0, exponents)
        """float64[d + 1]: high units in 1, of features and of weights."""
        self.fine = float(2.0**bits)
        """Low units in a high one."""
        self._parts = np.zeros((2, clusters, len(greatest)))

    def add(self, changes: NDArray[np.float64]) -> None:
        """Add high and low sums, float64[2 * k * (d + 1)]."""
        self._parts += changes.reshape(self._parts.shape)

    def copy(self) -> ExactSums:
        """Return others, which are the same now."""
        copied = object.__new__(ExactSums)
        copied.units, copied.fine, copied._parts = self.units, self.fine, self._parts.copy()
        return copied

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each cluster, float64[k]."""
        high, low = self._parts[:, :, -1]
        found: NDArray[np.float64] = (high + low / self.fine) / self.units[-1]
        return found

    @property
    def explained(self) -> float:
        """How much less the inertia is about the means of clusters than about the mean of all points."""
        high, low = self._parts
        sums = (high + low / self.fine) / self.units
        sums = sums[sums[:, -1] > 0.0]
        total = sums.sum(0)
        if not len(sums):
            return 0.0
        squares = (sums[:, :-1] ** 2).sum(1) / sums[:, -1]
        return float(squares.sum() - (total[:-1] ** 2).sum() / total[-1])

    def means(self, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of each cluster, float64[k, d]; of one without weight what stands in `otherwise`."""
        high, low = self._parts
        sums = (high + low / self.fine) / self.units
        means = otherwise.copy()
        has_weight = sums[:, -1] > 0.0
        means[has_weight] = sums[has_weight, :-1] / sums[has_weight, -1:]
        return means
