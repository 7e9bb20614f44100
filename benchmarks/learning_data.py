"""Points that benchmarks of learning generate, and the objective of linear models in plain NumPy, by which all are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROWS_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Points with labels.

    Attributes
    ----------
    features : float64[n, d] or csr matrix of float64
    labels : float64[n]
        -1 or 1.
    """

    features: Any
    labels: Floats

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, first: int, stop: int) -> Labelled:
        """Return some of them."""
        return Labelled(self.features[first:stop], self.labels[first:stop])


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many points there are, of how many features."""

    points: int
    features: int
    non_zeros: int = 0


def dense(sizes: Sizes, *, seed: int) -> Labelled:
    """Draw dense points: two thirds of the features normal, a third skewed; a noisy linear law; mean squared norm 1."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((sizes.points, sizes.features))
    law = random.standard_normal(sizes.features)
    features[:, ::3] = np.abs(features[:, ::3]) ** 1.5
    features -= features.mean(0)
    noise = 0.8 * random.standard_normal(sizes.points)
    labels = np.where(features @ law / np.sqrt(sizes.features) + noise > 0, 1.0, -1.0)
    features /= np.sqrt(np.square(features).sum(1).mean())
    return Labelled(features, labels)


def scattered(sizes: Sizes, *, seed: int) -> Labelled:
    """Draw sparse points: few features are frequent, as words are; a noisy linear law; all of norm 1."""
    from scipy import sparse

    random = np.random.default_rng(seed)
    width = (sizes.points, sizes.non_zeros)
    columns = np.minimum((sizes.features * random.random(width) ** 3).astype(np.int64), sizes.features - 1)
    starts = np.arange(sizes.points + 1) * sizes.non_zeros
    values = np.abs(random.standard_normal(columns.size))
    shape = (sizes.points, sizes.features)
    features = sparse.csr_matrix((values, columns.ravel(), starts), shape)
    features.sum_duplicates()
    scores = features @ random.standard_normal(sizes.features)
    labels = np.where(scores + 0.3 * scores.std() * random.standard_normal(sizes.points) > 0, 1.0, -1.0)
    norms = np.sqrt(np.asarray(features.multiply(features).sum(1)).ravel())
    features = (sparse.diags(1.0 / norms) @ features).tocsr()
    return Labelled(features, labels)


def gathered(sizes: Sizes, clusters: int, *, seed: int) -> Floats:
    """Draw points of a mixture of three times as many normal laws as there are clusters; float64[n, d]."""
    random = np.random.default_rng(seed)
    means = 1.6 * random.standard_normal((3 * clusters, sizes.features))
    which = random.integers(0, len(means), sizes.points)
    return means[which] + random.standard_normal((sizes.points, sizes.features))


def objective(points: Labelled, loss: str, l2: float, weights: Floats) -> float:
    """Return the mean loss and l2/2 |w|^2 of weights without an intercept."""
    margins = points.labels * (points.features @ weights)
    losses = np.maximum(0.0, 1.0 - margins) if loss == "hinge" else np.logaddexp(0.0, -margins)
    return float(losses.mean() + 0.5 * l2 * (weights @ weights))


def inertia(features: Floats, centroids: Floats) -> float:
    """Return the sum of the squared distances of points from the nearest centroid, by differences."""
    total = 0.0
    for first in range(0, len(features), _ROWS_AT_ONCE):
        rows = features[first : first + _ROWS_AT_ONCE]
        nearest = np.full(len(rows), np.inf)
        for centroid in centroids:
            np.minimum(nearest, np.square(rows - centroid).sum(1), out=nearest)
        total += float(nearest.sum())
    return total
