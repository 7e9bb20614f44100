"""Steps of a main loop that learns clusters: each looks at some rows, and says what changes for which cluster.

The rule: a point is counted for the cluster that it was nearest to when it was last looked at. The centroid of a cluster is the mean of the
points counted for it, which are live, so it stays true however many come and go: a point that is removed takes its share away exactly once,
from the cluster that it was counted for, and one that is nearer to another centroid takes its share there. A cluster that loses its last
point stays where it is, with weight 0, until a point is nearest to it: that one then is its mean. Where every point is looked at and none
changes, the centroids are a fixed point of Lloyd's iterations.

So there is no rate. It is the mini-batch step of Sculley ("Web-scale k-means clustering", 2010) with a memory of what each point brought,
which the steps of MacQueen (1967) have in their limit; without it a removed point cannot be forgotten.

What is left out: sums are plain float64, so removals leave a rounding of about 1e-16 of what was added; `MovingClusters.start_anew`
with the answer of a branch, or `ShardSteps.count_all`, ends it. Where sums went beyond what a float64 holds it alone helps, since none
comes back from there (`MovingClusters.is_finite`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ....points import ShardPoints
from .cluster_modules import Centroids, Rows, cluster_module, fixed, rows_of_shard
from .kept_bounds import ShardBounds

SparseFeatures = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.floating]]
"""CSR: where the entries of each point begin, int64[n + 1]; their features, and their values."""
BESIDE_FEATURES: Final = 2
"""Numbers of a cluster beside its sums: its weight, and how many points it has."""


class MovingClusters:
    """The centroids of a main loop, and the sums that they are made of.

    Parameters
    ----------
    centroids : float64[k, d]
        Where to begin, copied; no point is counted.

    Attributes
    ----------
    centroids : float64[k, d]
        Of each cluster the mean of its points; another array after each `add`, so it may be sent. A cluster whose sums are not finite
        stays where it was.
    """

    def __init__(self, centroids: NDArray[np.float64]) -> None:
        self.start_anew(centroids)

    def start_anew(self, centroids: NDArray[np.float64]) -> None:
        """Go to other centroids; no point is counted any more, until the shards count theirs again (`ShardSteps.count_all`)."""
        clusters, width = centroids.shape
        self._counted = np.zeros((clusters, width + BESIDE_FEATURES))
        self.centroids = fixed(np.array(centroids, np.float64))

    @property
    def sizes(self) -> NDArray[np.float64]:
        """The weight of each cluster, float64[k]."""
        return self._counted[:, -2].copy()

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many points each cluster has, int64[k]."""
        return self._counted[:, -1].astype(np.int64)

    @property
    def is_finite(self) -> bool:
        """Whether all sums are finite."""
        return bool(np.isfinite(self._counted).all())

    def add(self, changes: NDArray[np.float64]) -> None:
        """Take in what steps have changed, float64[k * (d + 2)]: in any order, as whole numbers tell when a cluster is empty."""
        self._counted += changes.reshape(self._counted.shape)
        # What is left of the sums of no points is rounding.
        self._counted[self._counted[:, -1] == 0.0, :-1] = 0.0
        moved, has_weight = self.centroids.copy(), self._counted[:, -2] > 0.0
        moved[has_weight] = self._counted[has_weight, :-2] / self._counted[has_weight, -2:-1]
        if not self.is_finite:
            is_lost = ~(np.isfinite(self._counted).all(1) & np.isfinite(moved).all(1))
            moved[is_lost] = self.centroids[is_lost]
        self.centroids = fixed(moved)


class ShardSteps:
    """One shard's side: for which cluster each of its rows is counted.

    Of what one call of `EvolvingPoints.apply` changed all that came is told first, and then all that went.

    Each step adds what changes to `changes`, float64[k * (d + 2)] as `MovingClusters.add` takes it, by centroids as they are known here:
    those of another time do no harm but that points are counted for another cluster than the nearest.

    Parameters
    ----------
    width
        d.
    sparse
        Whether points are.
    """

    def __init__(self, width: int, *, sparse: bool) -> None:
        self._width = width
        self._kernel = cluster_module(sparse=sparse)
        self._which = np.full(0, -1, np.int32)

    @property
    def which(self) -> NDArray[np.int32]:
        """The cluster that each row is counted for, -1: none; another array where there are more rows."""
        return self._which

    def came(
        self, points: ShardPoints, rows: NDArray[np.int32], centroids: Centroids, changes: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Count points that came; of the rows of `points` only the given ones are looked at.

        Returns
        -------
        inertia, weight : float
            The sum of their weighted squares to the nearest centroid, before they are counted, and of their weights: the ratio
            tells whether the clusters still fit what comes.
        """
        self._make_room(points)
        self._which[rows] = -1
        return self._look_at(points, rows, centroids, changes)

    def went(self, points: ShardPoints, rows: NDArray[np.int32], changes: NDArray[np.float64]) -> None:
        """Count points no more that went; what they had can still be read in their rows (`PointDeltas`)."""
        self._make_room(points)
        taken = fixed(rows, np.int32)
        self._kernel.take_away(rows_of_shard(points), taken, points.weight, self._width, self._which, changes)

    def look_again(
        self,
        points: ShardPoints,
        centroids: Centroids,
        changes: NDArray[np.float64],
        *,
        seed: int,
        iteration: int,
        count: int,
    ) -> tuple[float, float]:
        """Look at some live points again, drawn by (seed, shard, iteration); returns as `came` does."""
        self._make_room(points)
        rows = np.empty(count, np.int32)
        found = self._kernel.draw_live(points.born, seed, points.shard, iteration, rows)
        return self._look_at(points, rows[:found], centroids, changes)

    def count_all(
        self,
        points: ShardPoints,
        centroids: Centroids,
        changes: NDArray[np.float64],
        bounds: ShardBounds | None = None,
    ) -> tuple[float, float]:
        """Count every visible point anew, after `MovingClusters.start_anew`.

        Parameters
        ----------
        bounds
            Those of the branch that found the centroids: its points need not be compared with all centroids once more.
        """
        self._make_room(points)
        self._which[:] = -1
        rows = points.rows
        if bounds is not None and bounds.centroids is not None and len(bounds.met):
            known = rows[rows < len(bounds.met)]
            known = known[bounds.met[known] == np.abs(points.born[known])]
            self._kernel.count_as_known(
                rows_of_shard(points), fixed(known, np.int32), points.weight, self._width, bounds.which, self._which, changes
            )  # fmt: skip
            rows = rows[self._which[rows] < 0]
        return self._look_at(points, rows, centroids, changes)

    def _look_at(
        self, points: ShardPoints, rows: NDArray[np.int32], centroids: Centroids, changes: NDArray[np.float64]
    ) -> tuple[float, float]:
        found: tuple[float, float] = self._kernel.look_at(
            rows_of_shard(points), fixed(rows, np.int32), points.weight, centroids.rows, centroids.across, centroids.norms,
            self._which, changes,
        )  # fmt: skip
        return found

    def _make_room(self, points: ShardPoints) -> None:
        room, rows = len(self._which), len(points.born)
        if rows > room:
            more = max(rows, room + room // 4) - room
            self._which = np.concatenate([self._which, np.full(more, -1, np.int32)])


def assign_batch(
    features: NDArray[np.floating] | SparseFeatures, centroids: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest centroid of points, the least of several.

    Parameters
    ----------
    features : float32[n, d] or float64[n, d], or CSR
        Only read, as `centroids` is.
    centroids : float64[k, d]

    Returns
    -------
    clusters : int64[n]
    distances : float64[n]
        Not squared.
    """
    is_sparse = isinstance(features, tuple)
    rows: Rows
    if isinstance(features, tuple):
        starts, indices, values = features
        first, lengths = fixed(starts[:-1], np.int32), fixed(np.diff(starts), np.int32)
        count = len(first)
        rows = (first, lengths, fixed(indices, np.int32), fixed(values, values.dtype.type))
    else:
        count = len(features)
        rows = fixed(features, features.dtype.type)
    clusters, squares = np.empty(count, np.int64), np.empty(count)
    known = Centroids(centroids, sparse=is_sparse)
    cluster_module(sparse=is_sparse).find_nearest(
        rows, known.rows, known.across, known.norms, clusters, squares
    )
    return clusters, np.sqrt(squares)
