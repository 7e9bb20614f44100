"""One worker's side of k-means: how its shards answer the rounds of `lloyd`.

Sums of points are sums of whole numbers (see `exact_sums`), so a pass may answer with what changed since the last one, and no order and
no history makes a difference to a bit of what they come to. Squares are summed in the order in which points came.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...points import SHARDS, ShardPoints, SparseShardPoints
from .cluster_modules import Centroids, Rows, cluster_module, fixed, rows_of_shard
from .kept_bounds import KeptBounds
from .rounds import Round

_CANDIDATE = 4  # numbers that tell of a far point: its square, the two halves of its id, its row


class ClusterWork:
    """See the module. Tasks: ``measure``, ``assign``, ``inertia``, ``farthest``, ``fetch``.

    Parameters
    ----------
    shards
        The points of the shards of this worker, at the version that is asked about.
    bounds
        Written; left out: none are known.
    """

    def __init__(self, shards: Iterable[ShardPoints], bounds: KeptBounds | None = None) -> None:
        self.shards = {points.shard: points for points in shards}
        self.bounds = KeptBounds() if bounds is None else bounds
        first = next(iter(self.shards.values()))
        self._width = first.points.features
        self._sparse = first.points.sparse
        self._kernel = cluster_module(sparse=self._sparse)
        self._rows: dict[int, Rows] = {shard: rows_of_shard(points) for shard, points in self.shards.items()}
        self._near: dict[int, NDArray[np.float64]] = {}
        self._asked: Round | None = None
        self._centroids: Centroids
        self._moves: dict[int, tuple[Any, ...]] = {}
        self._entries = sum(
            len(points.values) if isinstance(points, SparseShardPoints) else len(points) * self._width
            for points in self.shards.values()
        )

    def assigned(self, shard: int) -> NDArray[np.int32]:
        """The cluster of each visible point of a shard, in their order; after a method has ended, a copy."""
        return self.bounds.of_shard(shard).which[self.shards[shard].rows]

    def width(self, asked: Round) -> int:
        """How many numbers a shard answers with; see `add`."""
        if asked.task == "measure":
            return self._width + 2
        if asked.task == "assign":
            return 2 * len(asked.arrays[0]) * (self._width + 1) + 1
        if asked.task == "inertia":
            return len(asked.arrays[0])
        if asked.task == "farthest":
            return SHARDS * int(asked.numbers[0]) * _CANDIDATE
        assert asked.task == "fetch"
        return len(asked.numbers) // 2 * self._width

    def add(self, asked: Round, shard: int, total: NDArray[np.float64]) -> None:
        """Add the answer of a shard: what the methods named after the tasks say."""
        if asked is not self._asked:
            self._asked = asked
            if asked.arrays:
                self._centroids = Centroids(asked.arrays[0], sparse=self._sparse)
            self._moves.clear()
        points = self.shards[shard]
        if len(points):
            getattr(self, f"_{asked.task}")(asked, points, total)

    def _measure(self, _asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """The greatest |weight * feature| of each feature, the greatest weight, how many points there are."""
        greatest = np.zeros(self._width + 1)
        self._kernel.find_greatest(self._rows[points.shard], points.rows, points.weight, greatest)
        total[:-1] += greatest
        total[-1] += len(points)

    def _assign(self, asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """High and low sums, [k, d + 1] each, and how many points changed.

        Arrays: centroids, units. Numbers: whether it is the first time, low units in a high one.
        """
        centroids, bounds = self._centroids, self.bounds.of_shard(points.shard)
        bounds.make_room(len(points.born))
        if bounds.centroids is None or bounds.centroids.shape != centroids.rows.shape:
            bounds.forget(len(centroids.rows))
            bounds.centroids = centroids.rows
        moved, others, halves = self._moves_from(bounds.centroids)
        bounds.drift += moved
        bounds.fall += others
        is_first, fine = asked.numbers
        size = len(total) // 2
        total[-1] += self._kernel.assign(
            self._rows[points.shard], points.rows, points.born, points.weight, centroids.rows, centroids.across, centroids.norms,
            bounds.drift, bounds.fall, halves, centroids.wider, centroids.blur, centroids.reach, fixed(asked.arrays[1]), fine, int(is_first), bounds.met,
            bounds.which, bounds.upper, bounds.lower, total[:size], total[size:-1],
        )  # fmt: skip
        bounds.centroids = centroids.rows
        if is_first:
            bounds.drift[:] = 0.0
            bounds.fall[:] = 0.0

    def _moves_from(self, before: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """How far each centroid went at most and any other one, and half the distances between them; the same for many shards."""
        centroids = self._centroids
        if id(before) not in self._moves:
            clusters, width = before.shape
            moved, others, halves = np.empty(clusters), np.empty(clusters), np.zeros(clusters)
            self._kernel.measure_moves(before, centroids.rows, centroids.wider, moved, others)
            if clusters * clusters * width <= self._entries:
                self._kernel.measure_halves(centroids.rows, centroids.wider, halves)
            self._moves[id(before)] = (moved, others, halves, before)
        return self._moves[id(before)][:3]

    def _inertia(self, _asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """The inertia of each cluster, as points are assigned. Arrays: centroids."""
        near, bounds = self._squares(points), self.bounds.of_shard(points.shard)
        self._kernel.sum_by_cluster(points.rows, points.weight, bounds.which, near, total)

    def _farthest(self, asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """The points of weight that are farthest from their centroids, of equally far ones those of the least ids.

        Arrays: centroids. Numbers: how many. Each shard has a place of its own: [SHARDS, how many, (square, upper and lower half of
        the id, row)].
        """
        near = self._squares(points)[points.rows]
        rows = points.rows[(points.weight[points.rows] > 0.0) & (near > 0.0)]
        squares, ids = self._near[points.shard][rows], points.id[rows]
        chosen = np.lexsort((ids, -squares))[: int(asked.numbers[0])]
        found = total.reshape(SHARDS, -1, _CANDIDATE)[points.shard]
        found[: len(chosen), 0] = squares[chosen]
        found[: len(chosen), 1] = ids[chosen] >> 32
        found[: len(chosen), 2] = ids[chosen] & 0xFFFFFFFF
        found[: len(chosen), 3] = rows[chosen]

    def _fetch(self, asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """Features of points, [n, d]. Numbers: shard and row of each."""
        named = np.array(asked.numbers).reshape(-1, 2)
        for place in np.flatnonzero(named[:, 0] == points.shard):
            copies = total[place * self._width : (place + 1) * self._width]
            self._kernel.copy_rows(
                self._rows[points.shard], named[place : place + 1, 1].astype(np.int32), copies
            )

    def _squares(self, points: ShardPoints) -> NDArray[np.float64]:
        """The squared distance of each row to its centroid, by row; those that are not visible have any."""
        near = self._near.get(points.shard)
        if near is None:
            near = self._near[points.shard] = np.empty(len(points.born))
        which = self.bounds.of_shard(points.shard).which
        self._kernel.square_of_each(
            self._rows[points.shard], points.rows, self._centroids.rows, self._centroids.norms, which, near
        )
        return near
