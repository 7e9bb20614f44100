"""Answers of what learns from points, verified by a plain pass over the points: formulas of the definitions, no kernel of a method.

*Linear models* say an objective (`primal`) and a number that no weights come below (`dual`). The objective is summed anew from the
weights as they are shown, and is what the answer says; the dual is not above it, and the bound covers the difference. The dual is
tried: the objective is looked at down the slope from the weights, and must nowhere be below it. That does not prove the dual: what is far
too great is found, what is a little too great may not be.

*k-means* says where Lloyd's iterations stay: each point is in the cluster of a centroid that is nearest to it, and their squared distances sum to the
inertia. Whether centroids are the means of their points is not looked at.

Cost: two passes over the points for linear models, one for k-means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDING: Final = 1e-9
"""Of sums, as a share of what is summed. Points are taken as they are stored, and summed in float64 by methods and here."""
_TRIED_STEPS: Final = tuple(10.0**power for power in range(-6, 3))


class Features(Protocol):
    """The features of some points, dense or sparse."""

    def times(self, weights: Floats) -> Floats:
        """float64[n]: the product of each point with weights, float64[d]."""
        ...

    def summed(self, shares: Floats) -> Floats:
        """float64[d]: the sum of all points, each times its share, float64[n]."""
        ...

    def distances(self, centroids: Floats) -> Floats:
        """float64[n, k]: squared distances from centroids, float64[k, d]."""
        ...

    def cluster_sums(self, clusters: NDArray[np.int64], weights: Floats, count: int) -> Floats:
        """float64[count, d]: sums of the points of each cluster, by their weights."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DenseFeatures:
    """`Features` of a matrix, float[n, d]."""

    matrix: NDArray[np.float64 | np.float32]

    def times(self, weights: Floats) -> Floats:
        """See `Features`."""
        return np.asarray(self.matrix.astype(np.float64) @ weights)

    def summed(self, shares: Floats) -> Floats:
        """See `Features`."""
        return np.asarray(shares @ self.matrix.astype(np.float64))

    def distances(self, centroids: Floats) -> Floats:
        """See `Features`."""
        found = np.empty((len(self.matrix), len(centroids)))
        for cluster, centroid in enumerate(centroids):
            found[:, cluster] = ((self.matrix - centroid) ** 2).sum(axis=1)
        return found

    def cluster_sums(self, clusters: NDArray[np.int64], weights: Floats, count: int) -> Floats:
        """See `Features`."""
        found = np.zeros((count, self.matrix.shape[1]))
        np.add.at(found, clusters, self.matrix * weights[:, None])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class SparseFeatures:
    """`Features` of compressed rows: those of point i are entries ``starts[i]`` to ``starts[i + 1]``, of `width` features."""

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64 | np.float32]
    width: int

    def _rows(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def times(self, weights: Floats) -> Floats:
        """See `Features`."""
        products = self.values.astype(np.float64) * weights[self.indices]
        return np.bincount(self._rows(), products, minlength=len(self.starts) - 1).astype(np.float64)

    def summed(self, shares: Floats) -> Floats:
        """See `Features`."""
        products = self.values.astype(np.float64) * shares[self._rows()]
        return np.bincount(self.indices, products, minlength=self.width).astype(np.float64)

    def distances(self, centroids: Floats) -> Floats:
        """See `Features`."""
        squares = np.bincount(
            self._rows(), self.values.astype(np.float64) ** 2, minlength=len(self.starts) - 1
        )
        columns = [squares - 2.0 * self.times(one) + one @ one for one in centroids]
        return np.asarray(np.maximum(np.stack(columns, axis=1), 0.0), np.float64)

    def cluster_sums(self, clusters: NDArray[np.int64], weights: Floats, count: int) -> Floats:
        """See `Features`."""
        rows = self._rows()
        places = clusters[rows] * self.width + self.indices
        products = self.values.astype(np.float64) * weights[rows]
        return np.asarray(
            np.bincount(places, products, minlength=count * self.width).reshape(count, self.width), np.float64
        )


@dataclass(frozen=True, slots=True, eq=False)
class PointPage:
    """Some points: ids int64[n], labels float64[n] (NaN: none), weights float64[n], and features."""

    ids: NDArray[np.int64]
    labels: Floats
    weights: Floats
    features: Features


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
    point
        The id of the first wrong point, where one is to blame.
    """

    method: str
    points: int
    measured: Mapping[str, float] = field(default_factory=dict)
    fault: str | None = None
    point: int | None = None


Pages = Callable[[], Iterator[PointPage]]
"""All points, in any order; can be gone over more than once."""


class PointChecker(Protocol):
    """Verifies answers of a program that learns."""

    def check(self, answer: LearnedAnswer, pages: Pages) -> PointVerdict:
        """Look at all points."""
        ...


@dataclass(frozen=True, slots=True)
class LinearCheck:
    """Verifies linear models; parameters as of the model."""

    loss: str
    l2: float
    l1: float
    intercept: bool

    def check(self, answer: LearnedAnswer, pages: Pages) -> PointVerdict:
        """See `PointChecker`."""
        weights = np.asarray(answer.values[answer.ids >= 0], np.float64)
        intercept = float(answer.values[answer.ids == -1][0]) if self.intercept else 0.0
        positive = math.nan if self.loss == "squared" else float(answer.found["classes"][1])
        method = "the objective is summed anew, and is nowhere below the dual down the slope from the weights"
        points, total, losses = 0, 0.0, 0.0
        slope, slope_of_intercept = np.zeros_like(weights), 0.0
        for page in self._labelled(pages):
            goals = self._goals(page, positive)
            scores = page.features.times(weights) + intercept
            loss, slopes = _loss_of(self.loss, scores, goals)
            points, total = points + len(goals), total + float(page.weights.sum())
            losses += float(page.weights @ loss)
            slope += page.features.summed(page.weights * slopes)
            slope_of_intercept += float(page.weights @ slopes)
        if not total > 0.0:
            return PointVerdict(method, points)
        primal = losses / total + self._penalty(weights)
        descent, down = slope / total + self.l2 * weights, slope_of_intercept / total
        measured = {
            "primal": primal,
            "slope": float(math.sqrt(descent @ descent + down * down * self.intercept)),
        }
        fault = self._fault_of(answer.claimed, primal)
        if fault is None:
            least = min(self._tried(pages, positive, weights, intercept, descent, down, total))
            measured["least"] = min(primal, least)
            slack = ROUNDING * max(abs(primal), 1e-300)
            if least < answer.claimed["dual"] - slack:
                fault = f"the dual is {answer.claimed['dual']!r}, but there are weights whose objective is {least!r}"
        return PointVerdict(method, points, measured, fault)

    def _fault_of(self, claimed: Mapping[str, float], primal: float) -> str | None:
        slack = ROUNDING * max(abs(primal), 1e-300)
        if not abs(claimed["primal"] - primal) <= slack:
            return f"the objective is said to be {claimed['primal']!r}, but the points make it {primal!r}"
        if claimed["dual"] > primal + slack:
            return f"the dual is {claimed['dual']!r}, above the objective {primal!r}"
        if claimed["bound"] * primal < primal - claimed["dual"] - slack:
            return f"the bound is {claimed['bound']!r}, but the objective {primal!r} is further from the dual {claimed['dual']!r}"
        return None

    def _tried(
        self,
        pages: Pages,
        positive: float,
        weights: Floats,
        intercept: float,
        descent: Floats,
        down: float,
        total: float,
    ) -> list[float]:
        """Objectives down the slope, by some lengths of the step."""
        sums = [0.0] * len(_TRIED_STEPS)
        down = down if self.intercept else 0.0
        for page in self._labelled(pages):
            goals = self._goals(page, positive)
            scores, moves = page.features.times(weights) + intercept, page.features.times(descent) + down
            for place, step in enumerate(_TRIED_STEPS):
                sums[place] += float(page.weights @ _loss_of(self.loss, scores - step * moves, goals)[0])
        return [
            found / total + self._penalty(weights - step * descent)
            for found, step in zip(sums, _TRIED_STEPS, strict=True)
        ]

    def _penalty(self, weights: Floats) -> float:
        return float(0.5 * self.l2 * (weights @ weights) + self.l1 * np.abs(weights).sum())

    def _goals(self, page: PointPage, positive: float) -> Floats:
        return page.labels if self.loss == "squared" else np.where(page.labels == positive, 1.0, -1.0)

    def _labelled(self, pages: Pages) -> Iterator[PointPage]:
        for page in pages():
            # A point without a label takes no part, as one of weight 0.
            known = ~np.isnan(page.labels)
            yield PointPage(
                page.ids, np.where(known, page.labels, 0.0), np.where(known, page.weights, 0.0), page.features
            )


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """Verifies clusters."""

    def check(self, answer: LearnedAnswer, pages: Pages) -> PointVerdict:
        """See `PointChecker`."""
        method = (
            "each point is in the cluster of a nearest centroid, and squared distances sum to the inertia"
        )
        centroids = np.asarray(answer.found["centroids"], np.float64)
        points, inertia = 0, 0.0
        for page in pages():
            points += len(page.ids)
            places = np.minimum(np.searchsorted(answer.ids, page.ids), max(0, len(answer.ids) - 1))
            missing = (
                np.flatnonzero(answer.ids[places] != page.ids)
                if len(answer.ids)
                else np.arange(len(page.ids))
            )
            if len(missing):
                return PointVerdict(method, points, {}, "is in no cluster", int(page.ids[missing[0]]))
            clusters = np.asarray(answer.values[places], np.int64)
            distances = page.features.distances(centroids)
            rows = np.arange(len(clusters))
            own, nearest = distances[rows, clusters], distances.min(axis=1)
            wrong = np.flatnonzero(own > nearest + ROUNDING * (1.0 + (centroids**2).sum(axis=1).max() + own))
            if len(wrong):
                row = int(wrong[0])
                fault = f"is in cluster {clusters[row]}, but cluster {int(distances[row].argmin())} is nearer"
                return PointVerdict(method, points, {}, fault, int(page.ids[row]))
            inertia += float(page.weights @ own)
        if points != len(answer.ids):
            return PointVerdict(
                method, points, {}, f"there are {len(answer.ids)} points in clusters, but {points} in all"
            )
        claimed, fault_of_all = answer.claimed["inertia"], None
        if not abs(claimed - inertia) <= 1e-6 * max(inertia, 1e-9):
            fault_of_all = f"the inertia is said to be {claimed!r}, but the points make it {inertia!r}"
        return PointVerdict(method, points, {"inertia": inertia}, fault_of_all)


def _loss_of(loss: str, scores: Floats, goals: Floats) -> tuple[Floats, Floats]:
    """The loss at each score, and its slope (one of them, at a corner)."""
    if loss == "squared":
        return 0.5 * (scores - goals) ** 2, scores - goals
    margins = scores * goals
    if loss == "logistic":
        return np.logaddexp(0.0, -margins), -goals * np.exp(-np.logaddexp(0.0, margins))
    short = np.maximum(0.0, 1.0 - margins)
    if loss == "hinge":
        return short, -goals * (short > 0.0)
    return short**2, -2.0 * goals * short
