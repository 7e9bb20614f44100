"""Sums of points that owe nothing to the order in which they are made, nor to what was added and taken away meanwhile.

Each product of a weight and a feature is rounded to whole units of its feature, of which there are two kinds, high and low. So many of
them as there are points fit into a float64, which therefore adds them without any rounding. A low unit is about 2**(2 log n - 104) of the
greatest product, n being the number of points: for a million points 64 bits are kept of each, 11 more than a float64 has.

That is the greatest product of all clusters, since points go from one to another. Beside one that is far greater a low unit may be too much for
a cluster whose own products are small: `ExactSums.coarseness` tells. Sums whose units are of each cluster hold there, for as long as no point goes elsewhere.

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
    greatest : float64[d + 1] or float64[k, d + 1]
        At least as great as any product of a feature, and as any weight: of all clusters, or of each.
    count : float64[1] or float64[k]
        At least as many as there are points, likewise.
    """

    def __init__(self, clusters: int, greatest: NDArray[np.float64], count: NDArray[np.float64]) -> None:
        bits = _MOST_BITS - np.maximum(1, np.frexp(count)[1])
        if greatest.ndim > 1:
            bits = bits[:, None]
        exponents = np.clip(bits - np.frexp(greatest)[1], -_MOST_EXPONENT, _MOST_EXPONENT)
        self.units = np.ldexp(1.0, exponents)
        """float64[d + 1] or float64[k, d + 1]: high units in 1, of features and of weights."""
        self.fine = np.ldexp(1.0, bits)
        """float64[1] or float64[k, 1]: low units in a high one."""
        self._low = np.where(greatest > 0.0, np.ldexp(1.0, -exponents - bits), 0.0)
        self._parts = np.zeros((2, clusters, greatest.shape[-1]))

    def add(self, changes: NDArray[np.float64]) -> None:
        """Add high and low sums, float64[2 * k * (d + 1)]."""
        self._parts += changes.reshape(self._parts.shape)

    def copy(self) -> ExactSums:
        """Return others, which are the same now."""
        copied = object.__new__(ExactSums)
        copied.units, copied.fine, copied._low = self.units, self.fine, self._low
        copied._parts = self._parts.copy()
        return copied

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each cluster, float64[k]."""
        high, low = self._parts[:, :, -1]
        found: NDArray[np.float64] = (high + low / self.fine.ravel()) / self.units[..., -1]
        return found

    @property
    def explained(self) -> float:
        """How much less the inertia is about the means of clusters than about the mean of all points."""
        sums = self._sums
        sums = sums[sums[:, -1] > 0.0]
        total = sums.sum(0)
        if not len(sums):
            return 0.0
        squares = (sums[:, :-1] ** 2).sum(1) / sums[:, -1]
        return float(squares.sum() - (total[:-1] ** 2).sum() / total[-1])

    def means(self, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of each cluster, float64[k, d]; of one without weight what stands in `otherwise`."""
        sums = self._sums
        means = otherwise.copy()
        has_weight = sums[:, -1] > 0.0
        means[has_weight] = sums[has_weight, :-1] / sums[has_weight, -1:]
        return means

    def coarseness(self, sizes: NDArray[np.float64] | None = None) -> float:
        """How much a low unit is at most of the sum of the sizes of products of a feature, or of weights, in any cluster.

        As each product is rounded by half a low unit, a mean of n points is wrong by so much of their mean size, times n / 2, and no more.

        Parameters
        ----------
        sizes : float64[k, d + 1], optional
            The sums of sizes. Left out: they are at least what the sums are, and nothing is known of a sum that is 0.

        Returns
        -------
        float
            Infinite where it is not known, or a sum is beyond what a float64 holds.
        """
        sums = self._sums
        if not np.isfinite(sums).all():
            return np.inf
        low = np.broadcast_to(self._low, sums.shape)
        has_any = low > 0.0 if sizes is None else sizes > 0.0
        whole = np.abs(sums) if sizes is None else sizes
        with np.errstate(divide="ignore", over="ignore"):
            return float((low[has_any] / whole[has_any]).max(initial=0.0))

    @property
    def _sums(self) -> NDArray[np.float64]:
        """Of features and of weights, float64[k, d + 1]."""
        high, low = self._parts
        found: NDArray[np.float64] = (high + low / self.fine) / self.units
        return found
