"""One worker's side of k-means: how its shards answer the rounds of `lloyd`.

Sums of points are sums of whole numbers (see `exact_sums`), so a pass may answer with what changed since the last one, and no order and
no history makes a difference to a bit of what they come to. Squares are summed in the order in which points came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....points import SHARDS, ShardPoints, SparseShardPoints
from ....value_types import Ids
from ..rounds import Round
from .cluster_modules import Centroids, Rows, cluster_module, fixed, rows_of_shard
from .kept_bounds import KeptBounds, ShardBounds
from .point_samples import sample_of

_AHEAD = 8.0  # moves like the last one before rows to watch are found anew: they get shorter by and by
_CANDIDATE = 4  # numbers that tell of a far point: its square, the two halves of its id, its row


class ClusterWork:
    """See the module. Its tasks are the methods whose names begin with an underscore and say what they answer.

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
        self._near = {shard: np.empty(len(points.born)) for shard, points in self.shards.items()}
        self._next_near: dict[int, NDArray[np.float64]] = {}
        self._held: dict[int, tuple[ShardBounds, NDArray[np.float64], NDArray[np.float64]]] = {}
        self._asked: Round | None = None
        self._asked_of_sample: tuple[Round | None, Round] = (None, Round(""))
        self._sample: ClusterWork | None = None
        self._centroids: Centroids
        self._units: NDArray[np.float64]
        self._moves: dict[int, tuple[Any, ...]] = {}
        self._entries = sum(
            len(points.values) if isinstance(points, SparseShardPoints) else len(points) * self._width
            for points in self.shards.values()
        )

    def assigned(self) -> tuple[Ids, NDArray[np.int64]]:
        """The points that the last pass met, and the cluster of each, int64[n]: copies, a shard behind another."""
        count = sum(map(len, self.shards.values()))
        ids, clusters = np.empty(count, np.int64), np.empty(count, np.int64)
        place = 0
        for shard, points in self.shards.items():
            bounds = self.bounds.of_shard(shard)
            bounds.make_room(len(points.born))
            place += self._kernel.list_assigned(
                points.rows, points.id, points.born, bounds.met, bounds.which, ids[place:], clusters[place:]
            )
        return ids[:place], clusters[:place]

    def width(self, asked: Round) -> int:
        """How many numbers a shard answers with; see `add`."""
        asked, sample = self._of_sample(asked)
        if sample is not None:
            return sample.width(asked)
        shapes = [len(array) for array in asked.arrays]
        widths: dict[str, Callable[[], int]] = {
            "measure": lambda: self._width + 3,
            "assign": lambda: 2 * shapes[0] * (self._width + 1) + 1,
            "sizes": lambda: int(asked.numbers[0]) * (2 * self._width + 3),
            "sums": lambda: 2 * shapes[0] * (self._width + 1),
            "inertia": lambda: shapes[0],
            "farthest": lambda: SHARDS * int(asked.numbers[0]) * _CANDIDATE,
            "fetch": lambda: len(asked.numbers) // 2 * self._width,
            "masses": lambda: SHARDS,
            "draw": lambda: len(asked.numbers) // 2 * self._width,
            "trial": lambda: shapes[0] * SHARDS,
            "spread": lambda: shapes[0] + SHARDS,
            "swaps": lambda: shapes[0] * (int(asked.numbers[0]) + 1),
            "sample": lambda: 0,
            "hold": lambda: 0,
            "go_back": lambda: 0,
        }
        return widths[asked.task]()

    def add(self, asked: Round, shard: int, total: NDArray[np.float64]) -> None:
        """Add the answer of a shard: what the methods named after the tasks say."""
        asked, sample = self._of_sample(asked)
        if sample is not None:
            sample.add(asked, shard, total)
            return
        if asked is not self._asked:
            self._asked = asked
            if asked.arrays:
                self._centroids = Centroids(asked.arrays[0], sparse=self._sparse)
                self._units = fixed(asked.arrays[-1])
            self._moves.clear()
            if asked.task == "sample":
                self._take_sample(int(asked.numbers[0]))
        points = self.shards[shard]
        if (len(points) and asked.task != "sample") or asked.task == "measure":  # of none left, all went
            getattr(self, f"_{asked.task}")(asked, points, total)

    def _of_sample(self, asked: Round) -> tuple[Round, ClusterWork | None]:
        """What is asked, and of the sample, where it is."""
        before, _, task = asked.task.rpartition(".")
        if not before:
            return asked, None
        if asked is not self._asked_of_sample[0]:
            self._asked_of_sample = asked, replace(asked, task=task)
        assert self._sample is not None
        return self._asked_of_sample[1], self._sample

    def _measure(self, _asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """The greatest |weight * feature| of each feature, the greatest weight, how many points there are, and how many came or went.

        Came or went since bounds were kept.
        """
        greatest = np.zeros(self._width + 1)
        self._kernel.find_greatest(self._rows[points.shard], points.rows, points.weight, greatest)
        total[:-2] += greatest
        total[-2] += len(points)
        bounds = self.bounds.of_shard(points.shard)
        bounds.make_room(len(points.born))
        before, kept = self._kernel.keep_met(points.rows, points.born, bounds.met)
        total[-1] += before + len(points) - 2 * kept

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
        if is_first:
            rows, bounds.watched = points.rows, None
        else:
            rows = self._watched(points, bounds, float(moved.max()))
        total[-1] += self._kernel.assign(
            self._rows[points.shard], rows, points.born, points.weight, centroids.rows, centroids.across, centroids.norms,
            bounds.drift, bounds.fall, halves, centroids.wider, centroids.blur, centroids.reach, self._units, fine, int(is_first), bounds.met,
            bounds.which, bounds.upper, bounds.lower, total[:size], total[size:-1],
        )  # fmt: skip
        bounds.centroids = centroids.rows
        if is_first:
            bounds.drift[:] = 0.0
            bounds.fall[:] = 0.0

    def _watched(self, points: ShardPoints, bounds: ShardBounds, move: float) -> NDArray[np.int32]:
        """The rows to look at where centroids went at most `move` now: those that may change in a while, found as seldom as that allows."""
        known, most = self._centroids, float(max(bounds.drift.max(), bounds.fall.max()))
        if bounds.watched is None or most > bounds.watched_to or known.reach > bounds.watched_reach:
            bounds.watched_to, bounds.watched_reach = most + _AHEAD * move, 2.0 * known.reach
            clusters = len(known.rows)
            farthest, none = np.full(clusters, bounds.watched_to), np.zeros(clusters)
            watched = np.empty(len(points), np.int32)
            count = self._kernel.find_unsure(
                points.rows, bounds.which, bounds.upper, bounds.lower, farthest, farthest, none, known.wider, known.blur,
                bounds.watched_reach, watched,
            )  # fmt: skip
            bounds.watched = fixed(watched[:count].copy(), np.int32)
        return bounds.watched

    def _moves_from(self, before: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """How far each centroid went at most and any other one, and half the distances between them; the same for many shards."""
        centroids = self._centroids
        if id(before) not in self._moves:
            clusters, width = before.shape
            moved, others, halves = np.empty(clusters), np.empty(clusters), np.zeros(clusters)
            self._kernel.measure_moves(before, centroids.rows, centroids.wider, moved, others)
            if not np.isfinite(moved).all():  # nothing is known of distances to where some were or are
                moved[:] = others[:] = np.inf
            if clusters * clusters * width <= self._entries:
                self._kernel.measure_halves(centroids.rows, centroids.wider, halves)
            self._moves[id(before)] = (moved, others, halves, before)
        return self._moves[id(before)][:3]

    def _sizes(self, asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """The greatest |weight * feature| and weight of each cluster, and their sums, [k, d + 1] each, and its points, [k].

        Numbers: k.
        """
        clusters = int(asked.numbers[0])
        size = clusters * (self._width + 1)
        self._kernel.find_sizes(
            self._rows[points.shard], points.rows, points.weight, self.bounds.of_shard(points.shard).which, total[:size], total[size:-clusters],
            total[-clusters:],
        )  # fmt: skip

    def _sums(self, asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """High and low sums of all points as they are assigned, [k, d + 1] each.

        Arrays: centroids; of each cluster low units in a high one, and units.
        """
        size = len(total) // 2
        self._kernel.sum_exactly(
            self._rows[points.shard], points.rows, points.weight, self.bounds.of_shard(points.shard).which, self._units,
            fixed(asked.arrays[1]), total[:size], total[size:],
        )  # fmt: skip

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

    def _masses(self, _asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """The weight of each shard, [SHARDS]; from now on each point is 1 away from centroids."""
        near = self._near[points.shard]
        near[:] = 1.0
        total[points.shard] += self._kernel.sum_near(points.rows, points.weight, near)

    def _draw(self, asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """Features of points, [n, d].

        Arrays: a centroid to note first, or none. Numbers: 1 where there is one, 2 where it is the first; then of each draw the
        shard, and the sum of weighted squares above which it is.
        """
        shard, near = points.shard, self._near[points.shard]
        before, *named = asked.numbers
        if asked.arrays:
            known = self._centroids
            is_first = int(before == 2.0)
            self._kernel.approach(self._rows[shard], points.rows, known.rows, known.norms, is_first, near)
        for place in range(len(named) // 2):
            if named[2 * place] == shard:
                row = self._kernel.find_row(points.rows, points.weight, near, named[2 * place + 1])
                copies = total[place * self._width : (place + 1) * self._width]
                self._kernel.copy_rows(self._rows[shard], np.array([row], np.int32), copies)

    def _trial(self, asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """What the weighted squares would sum up to with each candidate, [n, SHARDS].

        Arrays: candidates. Numbers: whether there is no centroid yet.
        """
        known, shard = self._centroids, points.shard
        totals = np.zeros(len(known.rows))
        self._kernel.try_each(
            self._rows[shard], points.rows, points.weight, known.rows, known.across, known.norms, int(asked.numbers[0]),
            self._near[shard], totals,
        )  # fmt: skip
        total[shard::SHARDS] += totals

    def _spread(self, _asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """The inertia of each cluster, and of each shard, [k + SHARDS]. Arrays: centroids."""
        known, shard, clusters = self._centroids, points.shard, len(self._centroids.rows)
        if shard not in self._next_near:
            self._next_near[shard] = np.empty(len(points.born))
        near = self._near[shard]
        self._kernel.spread(
            self._rows[shard], points.rows, points.weight, known.rows, known.across, known.norms,
            self.bounds.of_shard(shard).which, near, self._next_near[shard], total[:clusters],
        )  # fmt: skip
        total[clusters + shard] += self._kernel.sum_near(points.rows, points.weight, near)

    def _swaps(self, asked: Round, points: ShardPoints, total: NDArray[np.float64]) -> None:
        """The inertia with each candidate, and what each cluster adds to it that goes, [n, 1 + k]. Arrays: candidates. Numbers: k."""
        known, shard = self._centroids, points.shard
        self._kernel.try_swaps(
            self._rows[shard], points.rows, points.weight, known.rows, known.across, known.norms,
            self.bounds.of_shard(shard).which, self._near[shard], self._next_near[shard], total, int(asked.numbers[0]) + 1,
        )  # fmt: skip

    def _take_sample(self, stride: int) -> None:
        """Have every `stride`-th point in a sample of its own."""
        self._sample = ClusterWork([sample_of(points, stride) for points in self.shards.values()])

    def _hold(self, _asked: Round, points: ShardPoints, _total: NDArray[np.float64]) -> None:
        """Nothing; what is assigned can be gone back to."""
        shard = points.shard
        bounds = self.bounds.of_shard(shard).copy()
        self._held[shard] = bounds, self._near[shard].copy(), self._next_near[shard].copy()

    def _go_back(self, _asked: Round, points: ShardPoints, _total: NDArray[np.float64]) -> None:
        """Nothing."""
        shard = points.shard
        bounds, self._near[shard], self._next_near[shard] = self._held.pop(shard)
        self.bounds.put(shard, bounds)

    def _squares(self, points: ShardPoints) -> NDArray[np.float64]:
        """The squared distance of each row to its centroid, by row; those that are not visible have any."""
        near = self._near[points.shard]
        which = self.bounds.of_shard(points.shard).which
        self._kernel.square_of_each(
            self._rows[points.shard], points.rows, self._centroids.rows, self._centroids.norms, which, near
        )
        return near
