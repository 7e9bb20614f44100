"""Points as checkers of learners read them: pages of plain arrays, and the few products of their features that definitions are made of.

Every product says how much rounding can make of it (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1): a sum of
n terms is off by at most about n units of the sum of their magnitudes. So what is let pass follows the size of what is summed, and a
wrong answer about small features is as wrong as one about large ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

UNIT: Final = 2.0**-52
"""Twice the rounding of one operation: one for who answered, one for who checks."""
BESIDE: Final = 16.0
"""Operations beside the sums."""


class Features(Protocol):
    """The features of some points, dense or sparse."""

    @property
    def terms(self) -> int:
        """Of how many terms a product of a point is at most."""
        ...

    def times(self, weights: Floats) -> Floats:
        """float64[n]: the product of each point with weights, float64[d]."""
        ...

    def magnitudes(self, weights: Floats) -> Floats:
        """float64[n]: the same of the magnitudes of both."""
        ...

    def summed(self, shares: Floats) -> Floats:
        """float64[d]: the sum of all points, each times its share, float64[n]."""
        ...

    def distances(self, centroids: Floats) -> tuple[Floats, Floats]:
        """float64[n, k] twice: squared distances from centroids, float64[k, d], and how far rounding can have moved each."""
        ...

    def cluster_sums(self, clusters: NDArray[np.int64], weights: Floats, count: int) -> tuple[Floats, Floats]:
        """float64[count, d] twice: sums of the points of each cluster, by their weights, and of their magnitudes."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DenseFeatures:
    """`Features` of a matrix, float[n, d]."""

    matrix: NDArray[np.float64 | np.float32]

    @property
    def terms(self) -> int:
        """See `Features`."""
        return int(self.matrix.shape[1])

    def times(self, weights: Floats) -> Floats:
        """See `Features`."""
        return np.asarray(self.matrix.astype(np.float64) @ weights)

    def magnitudes(self, weights: Floats) -> Floats:
        """See `Features`."""
        return np.asarray(np.abs(self.matrix.astype(np.float64)) @ np.abs(weights))

    def summed(self, shares: Floats) -> Floats:
        """See `Features`."""
        return np.asarray(shares @ self.matrix.astype(np.float64))

    def distances(self, centroids: Floats) -> tuple[Floats, Floats]:
        """See `Features`."""
        found = np.empty((len(self.matrix), len(centroids)))
        for cluster, centroid in enumerate(centroids):
            found[:, cluster] = ((self.matrix - centroid) ** 2).sum(axis=1)
        return found, UNIT * (self.terms + BESIDE) * found

    def cluster_sums(self, clusters: NDArray[np.int64], weights: Floats, count: int) -> tuple[Floats, Floats]:
        """See `Features`."""
        products = self.matrix.astype(np.float64) * weights[:, None]
        columns = [np.bincount(clusters, column, minlength=count) for column in products.T]
        sizes = [np.bincount(clusters, np.abs(column), minlength=count) for column in products.T]
        return np.stack(columns, axis=1), np.stack(sizes, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class SparseFeatures:
    """`Features` of compressed rows: those of point i are entries ``starts[i]`` to ``starts[i + 1]``, of `width` features."""

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64 | np.float32]
    width: int

    @property
    def terms(self) -> int:
        """See `Features`."""
        return int(np.diff(self.starts).max(initial=0))

    def times(self, weights: Floats) -> Floats:
        """See `Features`."""
        return self._by_point(self.values.astype(np.float64) * weights[self.indices])

    def magnitudes(self, weights: Floats) -> Floats:
        """See `Features`."""
        return self._by_point(np.abs(self.values.astype(np.float64) * weights[self.indices]))

    def summed(self, shares: Floats) -> Floats:
        """See `Features`."""
        products = self.values.astype(np.float64) * shares[self._rows()]
        return np.bincount(self.indices, products, minlength=self.width).astype(np.float64)

    def distances(self, centroids: Floats) -> tuple[Floats, Floats]:
        """See `Features`: features that a point does not name are 0, so squares of lengths are subtracted from each other."""
        lengths = self._by_point(self.values.astype(np.float64) ** 2)[:, None]
        others = (centroids**2).sum(axis=1)
        products = np.stack([self.times(one) for one in centroids], axis=1)
        found = np.maximum(lengths - 2.0 * products + others, 0.0)
        return found, 2.0 * UNIT * (self.width + BESIDE) * (lengths + others)

    def cluster_sums(self, clusters: NDArray[np.int64], weights: Floats, count: int) -> tuple[Floats, Floats]:
        """See `Features`."""
        rows = self._rows()
        places = clusters[rows] * self.width + self.indices
        products = self.values.astype(np.float64) * weights[rows]
        shape = count, self.width
        sums, sizes = (
            np.bincount(places, entries, minlength=count * self.width).reshape(shape).astype(np.float64)
            for entries in (products, np.abs(products))
        )
        return sums, sizes

    def _rows(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def _by_point(self, entries: Floats) -> Floats:
        return np.bincount(self._rows(), entries, minlength=len(self.starts) - 1).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class PointPage:
    """Some points: ids int64[n], labels float64[n] (NaN: none), weights float64[n], and features."""

    ids: NDArray[np.int64]
    labels: Floats
    weights: Floats
    features: Features


Pages = Callable[[], Iterator[PointPage]]
"""All points, in any order, but in the same one whenever they are gone over: that can be done more than once."""
