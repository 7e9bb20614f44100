"""What checkers of learners are asked, and say; and the checker of clusters.

They take a plain pass over the points: formulas of the definitions, no kernel of a method. `linear_models` has that of linear models.

*k-means* says where Lloyd's iterations stay. So each point is in the cluster of a centroid that is nearest to it, each centroid is the
mean of its points (where they have a weight), and the squared distances sum to the inertia; each as near as rounding allows.

Cost: one pass over the points, and for each page its points times the clusters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from .point_pages import BESIDE, UNIT, Floats, Pages, PointPage

_METHOD: Final = "each point is in the cluster of a nearest centroid, centroids are the means of their points, and squared distances sum to the inertia"


@dataclass(frozen=True, slots=True, eq=False)
class LearnedAnswer:
    """What is to be verified: values as they are shown, ascending by id; what the program found beside; and the certificate's numbers."""

    ids: NDArray[np.int64]
    values: NDArray[np.float64 | np.int64]
    found: Mapping[str, Floats]
    claimed: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PointVerdict:
    """What was looked at, and what is wrong: None where nothing is.

    Attributes
    ----------
    measured
        Numbers that were found, by name, and whether something is proved.
    point
        The id of the first wrong point, where one is to blame.
    """

    method: str
    points: int
    measured: Mapping[str, float | bool] = field(default_factory=dict)
    fault: str | None = None
    point: int | None = None


class PointChecker(Protocol):
    """Verifies answers of a program that learns."""

    def check(self, answer: LearnedAnswer, pages: Pages) -> PointVerdict:
        """Look at all points."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """Verifies clusters."""

    def check(self, answer: LearnedAnswer, pages: Pages) -> PointVerdict:
        """See `PointChecker`."""
        sums = _ClusterSums(np.asarray(answer.found["centroids"], np.float64))
        for page in pages():
            found = _clusters_of(answer, page)
            if isinstance(found, int):
                return PointVerdict(_METHOD, sums.points, {}, "is in no cluster", found)
            wrong = sums.add(page, found)
            if wrong is not None:
                point, fault = wrong
                return PointVerdict(_METHOD, sums.points, {}, fault, point)
        fault_of_all = sums.fault_of(answer.claimed["inertia"])
        if sums.points != len(answer.ids):
            fault_of_all = f"there are {len(answer.ids)} points in clusters, but {sums.points} in all"
        return PointVerdict(_METHOD, sums.points, {"inertia": sums.inertia}, fault_of_all)


def _clusters_of(answer: LearnedAnswer, page: PointPage) -> NDArray[np.int64] | int:
    """The cluster of each point, int64[n], or the id of one that has none."""
    places = np.minimum(np.searchsorted(answer.ids, page.ids), max(0, len(answer.ids) - 1))
    is_missing = answer.ids[places] != page.ids if len(answer.ids) else np.ones(len(page.ids), np.bool_)
    if is_missing.any():
        return int(page.ids[is_missing][0])
    return np.asarray(answer.values[places], np.int64)


class _ClusterSums:
    """What all points come to, a page after another.

    Parameters
    ----------
    centroids : float64[k, d]
    """

    def __init__(self, centroids: Floats) -> None:
        self._centroids = centroids
        self._sums, self._sizes = np.zeros_like(centroids), np.zeros_like(centroids)
        self._weights, self._counts = np.zeros(len(centroids)), np.zeros(len(centroids))
        self.points, self.inertia, self._rounding = 0, 0.0, 0.0

    def add(self, page: PointPage, clusters: NDArray[np.int64]) -> tuple[int, str] | None:
        """Add a page; return the id of a point that is in the wrong cluster, and what is wrong."""
        count = len(self._centroids)
        self.points += len(clusters)
        strange = np.flatnonzero((clusters < 0) | (clusters >= count))
        if len(strange):
            row = int(strange[0])
            return int(page.ids[row]), f"is in cluster {clusters[row]}, but there are {count}"
        distances, roundings = page.features.distances(self._centroids)
        rows = np.arange(len(clusters))
        own, nearest = distances[rows, clusters], distances.argmin(axis=1)
        slack = roundings[rows, clusters] + roundings[rows, nearest]
        wrong = np.flatnonzero(own > distances[rows, nearest] + slack)
        if len(wrong):
            row = int(wrong[0])
            return int(
                page.ids[row]
            ), f"is in cluster {clusters[row]}, but cluster {int(nearest[row])} is nearer"
        self.inertia += float(page.weights @ own)
        self._rounding += float(page.weights @ roundings[rows, clusters])
        sums, sizes = page.features.cluster_sums(clusters, page.weights, count)
        self._sums += sums
        self._sizes += sizes
        self._weights += np.bincount(clusters, page.weights, minlength=count)
        self._counts += np.bincount(clusters, minlength=count)
        return None

    def fault_of(self, claimed: float) -> str | None:
        """What is wrong with the centroids, or with the inertia that is claimed."""
        has_weight = self._weights > 0.0
        weights = self._weights[has_weight, None]
        means, sizes = self._sums[has_weight] / weights, self._sizes[has_weight] / weights
        slack = UNIT * (self._counts[has_weight, None] + BESIDE) * sizes
        apart = np.abs(means - self._centroids[has_weight]) - slack
        if (apart > 0.0).any():
            place, feature = np.unravel_index(int(apart.argmax()), apart.shape)
            cluster = int(np.flatnonzero(has_weight)[place])
            return (
                f"cluster {cluster} has {float(self._centroids[cluster, feature])!r} for feature {int(feature)} of its centroid, but the mean "
                f"of its points is {float(means[place, feature])!r}"
            )
        slack_of_all = self._rounding + UNIT * (self.points + BESIDE) * self.inertia
        if not abs(claimed - self.inertia) <= slack_of_all:
            return f"the inertia is said to be {claimed!r}, but the points make it {self.inertia!r}"
        return None
