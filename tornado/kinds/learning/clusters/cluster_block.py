"""The main loop of k-means: centroids are the means of the points that were counted for them (`cluster_steps`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ....points import EvolvingPoints, PointDeltas
from ....value_types import INT64, Ids, ValueArray
from ..patience import Patience
from ..program import Parameters
from ..rounds import ShardWork
from ..shard_reading import drawn_shards
from .cluster_modules import Centroids
from .cluster_steps import BESIDE_FEATURES, MovingClusters, ShardSteps
from .kept_bounds import KeptBounds
from .seeding import uniforms

ANEW: Final = "anew"
"""How often centroids were begun anew: what was counted before is of no use then."""
UNSEARCHED: Final = "unsearched"
"""How many points came and went between the last search for a better basin and the last answer."""
_HEAD: Final = 5  # anew, points that are new, sums of squares and of weights of what was looked at, how many first points
_WINDOW: Final = 8  # steps over which the inertia is averaged
_PATIENCE: Final = 2  # windows without progress
_FIRST: Final = 4  # times the clusters: so many points are waited for, if there are more to come
_quietly = np.errstate(over="ignore", invalid="ignore")  # sums that are not finite are seen, and made anew


class ClusterBlock:
    """See `ParameterBlock`.

    Parameters
    ----------
    begin
        The parameters without centroids.
    clusters
        k.
    seed
        Of the first centroids.
    """

    def __init__(self, begin: Parameters, *, clusters: int, seed: int) -> None:
        self.parameters = begin
        self._clusters = clusters
        self._width = begin["centroids"].shape[1]
        self._seed = seed
        self._moving: MovingClusters | None = None
        self._anew = 0
        self._first = np.empty((0, self._width))
        self._window: list[tuple[float, float]] = []
        self._patience = Patience(_PATIENCE)
        self._patience.end()
        self._has_news = False
        self._unsearched = np.array([math.inf])

    @property
    def is_settled(self) -> bool:
        """Whether points are no nearer to their centroids than some time ago, and no points have come."""
        return self._patience.is_over

    @_quietly
    def step(self, said: Sequence[NDArray[np.float64]]) -> None:
        """Take in what shards have counted; from their first points centroids begin."""
        current = [one for one in said if int(one[0]) == self._anew]
        if any(one[1] for one in said):
            self._patience.begin_anew()
            self._has_news = True
        if self._moving is None:
            self._begin_with([self._first, *(self._points_of(one) for one in current)])
            return
        for one in current:
            self._moving.add(one[_HEAD:])
            self._window.append((float(one[2]), float(one[3])))
        self._set(self._moving.centroids)
        if not self._moving.is_finite:
            self._recover(self._moving.centroids)
        elif len(self._window) >= _WINDOW:
            self._look_back()

    def _recover(self, centroids: NDArray[np.float64]) -> None:
        """Count all points anew, as what made sums infinite may have gone; if none came or went since that was tried, rest."""
        if self._has_news:
            self._begin_at(centroids)
        else:
            self._window.clear()
            self._patience.end()

    def take(self, parameters: Parameters) -> None:
        """See `ParameterBlock`; where centroids are none, or not finite, this one goes on with its own."""
        if are_known(parameters["centroids"]):
            self._unsearched = parameters.get(UNSEARCHED, self._unsearched)
            self._begin_at(parameters["centroids"])

    def restore(self, parameters: Parameters) -> None:
        """See `RestorableBlock`; where there were no centroids it begins with the next points."""
        if are_known(parameters["centroids"]):
            self._anew = int(parameters[ANEW][0])
            self._unsearched = parameters.get(UNSEARCHED, self._unsearched)
            self._begin_at(parameters["centroids"])
            self._patience.end()

    def _points_of(self, said: NDArray[np.float64]) -> NDArray[np.float64]:
        count = int(said[4])
        return said[_HEAD : _HEAD + count * self._width].reshape(count, self._width)

    def _begin_with(self, first: Sequence[NDArray[np.float64]]) -> None:
        self._first = np.unique(np.concatenate(first), axis=0)[: _FIRST * self._clusters]
        if len(self._first) >= self._clusters:
            self._begin_at(_spread(self._first, self._clusters, self._seed))
        else:
            self._patience.end()  # there is nothing to do before more points come

    def _begin_at(self, centroids: NDArray[np.float64]) -> None:
        self._anew += 1
        self._moving, self._has_news = MovingClusters(centroids), False
        self._first = self._first[:0]
        self._patience.begin_anew()
        self._window.clear()
        self._set(self._moving.centroids)

    def _look_back(self) -> None:
        squares, weights = np.sum(self._window, axis=0).tolist()
        self._window.clear()
        self._patience.note(squares / weights if weights > 0.0 else 0.0)

    def _set(self, centroids: NDArray[np.float64]) -> None:
        self.parameters = {
            "centroids": centroids,
            ANEW: np.array([self._anew]),
            UNSEARCHED: self._unsearched,
        }


class ClusterShards:
    """See `DataShards`.

    Parameters
    ----------
    points
        Of the worker.
    clusters
        k.
    batch
        How many points are looked at again in a step, of all shards of the worker.
    seed
        Of the draws.

    Attributes
    ----------
    bounds
        Of the last branch whose answer was adopted.
    """

    def __init__(self, points: EvolvingPoints, *, clusters: int, batch: int, seed: int) -> None:
        self.bounds = KeptBounds()
        self.waiting = 0
        self._points = points
        self._clusters, self._width = clusters, points.points.features
        self._batch, self._seed = batch, seed
        self._steps = self._new_steps()
        self._anew = 0
        self._centroids: Centroids | None = None
        self._changes = np.zeros(clusters * (self._width + BESIDE_FEATURES))
        self._looked = np.zeros(2)  # sums of squares and of weights

    @_quietly
    def hear(self, deltas: PointDeltas) -> None:
        """See `DataShards`."""
        self.waiting += len(deltas)
        if self._centroids is None:
            return  # all are counted when there are some
        for shard in np.unique(deltas.shard).tolist():
            here, view, steps = deltas.shard == shard, self._points.view_shard(shard), self._steps[shard]
            came, went = here & (deltas.sign > 0), here & (deltas.sign < 0)
            self._looked += steps.came(view, deltas.row[came], self._centroids, self._changes)
            steps.went(view, deltas.row[went], self._changes)

    @_quietly
    def say(self, parameters: Parameters, step: int) -> NDArray[np.float64]:
        """See `DataShards`."""
        centroids, anew = parameters["centroids"], int(parameters[ANEW][0])
        said = np.zeros(_HEAD + self._clusters * max(_FIRST * self._width, self._width + BESIDE_FEATURES))
        said[1], self.waiting = self.waiting, 0
        if not len(centroids):
            self._say_first(said)
            return said
        self._centroids = Centroids(centroids, sparse=self._points.points.sparse)
        if anew != self._anew:
            self._count_all(anew)
        else:
            self._look_again(step)
        said[0], said[2:4] = anew, self._looked
        said = said[: _HEAD + len(self._changes)]
        said[_HEAD:] = self._changes
        self._changes[:], self._looked[:] = 0.0, 0.0
        return said

    def take(self, work: ShardWork) -> None:
        """See `DataShards`: later branches begin with the bounds of one that was adopted."""
        self.bounds = work.bounds  # type: ignore[attr-defined]  # it is the work of the same program

    @_quietly
    def restore(self, parameters: Parameters) -> None:
        """See `RestorableShards`: for which cluster each point is counted. None has come or gone since basins were searched."""
        for shard in self._points.shards:
            points = self._points.read_shard(shard)
            self.bounds.of_shard(shard).meet(points.rows, points.born)
        if len(parameters["centroids"]):
            self._centroids = Centroids(parameters["centroids"], sparse=self._points.points.sparse)
            self._count_all(int(parameters[ANEW][0]) + 1)

    def point_values(self) -> tuple[Ids, ValueArray]:
        """The cluster that each live point is counted for; from any thread, so of no particular instant."""
        ids, found = [np.empty(0, np.int64)], [np.empty(0, INT64)]
        for shard, steps in self._steps.copy().items():
            view, which = self._points.view_shard(shard), steps.which
            rows = np.flatnonzero(view.born > 0)
            rows = rows[rows < len(which)]
            rows = rows[which[rows] >= 0]
            ids.append(view.id[rows])
            found.append(which[rows].astype(np.int64))
        return np.concatenate(ids), np.concatenate(found)

    def _new_steps(self) -> dict[int, ShardSteps]:
        declared = self._points.points
        return {shard: ShardSteps(declared.features, sparse=declared.sparse) for shard in self._points.shards}

    def _say_first(self, said: NDArray[np.float64]) -> None:
        """Say some of the points, for centroids to begin with."""
        wanted = _FIRST * self._clusters
        for shard in self._points.shards:
            if not self._points.live_in(shard):
                continue
            points, count = self._points.read_shard(shard), int(said[4])
            batch = replace(points, rows=points.rows[: wanted - count]).batch()
            features = _dense(batch.columns(), len(batch), self._width)
            said[_HEAD + count * self._width : _HEAD + (count + len(batch)) * self._width] = features.ravel()
            said[4] += len(batch)

    def _count_all(self, anew: int) -> None:
        assert self._centroids is not None
        self._anew = anew
        self._steps = self._new_steps()
        self._changes[:], self._looked[:] = 0.0, 0.0
        for shard in self._points.shards:
            points = self._points.read_shard(shard)
            known = self.bounds.of_shard(shard)
            is_known = known.centroids is not None and np.array_equal(known.centroids, self._centroids.rows)
            self._looked += self._steps[shard].count_all(
                points, self._centroids, self._changes, known if is_known else None
            )

    def _look_again(self, step: int) -> None:
        assert self._centroids is not None
        for shard, _, drawn in drawn_shards(self._points, self._batch):
            self._looked += self._steps[shard.shard].look_again(
                shard, self._centroids, self._changes, seed=self._seed, iteration=step, count=drawn
            )


def are_known(centroids: NDArray[np.float64]) -> bool:
    """Whether there are centroids, all of which are finite."""
    return len(centroids) > 0 and bool(np.isfinite(centroids).all())


def _dense(columns: dict[str, NDArray[np.float64]], count: int, width: int) -> NDArray[np.float64]:
    """Features of points as a matrix."""
    if "features" in columns:
        return columns["features"].astype(np.float64)
    matrix = np.zeros((count, width))
    rows = np.repeat(np.arange(count), np.diff(columns["starts"]).astype(np.int64))
    matrix[rows, columns["indices"].astype(np.int64)] = columns["values"]
    return matrix


def _spread(points: NDArray[np.float64], clusters: int, seed: int) -> NDArray[np.float64]:
    """Draw centroids from a few points as k-means++ does."""
    numbers = uniforms(seed, 0, clusters)
    chosen = [int(numbers[0] * len(points))]
    squares = ((points - points[chosen[0]]) ** 2).sum(1)
    for number in numbers[1:]:
        ends = np.cumsum(squares)
        chosen.append(min(int(np.searchsorted(ends, number * ends[-1], side="right")), len(points) - 1))
        squares = np.minimum(squares, ((points - points[chosen[-1]]) ** 2).sum(1))
    return points[chosen]
