"""Bounds of distances that outlive a branch: for each row of a shard its cluster, and how far centroids are at most and at least.

They are true of the centroids that they were worked out for, and of others when moved by how far those went (`cluster_kernel.assign`);
of a row whose point is another one than then, they say nothing, which its birth tells. So whoever has them may take them to any later
version of the same points: they change how long an assignment takes, and no bit of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class ShardBounds:
    """Of one shard; 20 bytes a row.

    Attributes
    ----------
    met : int64[room]
        The birth of the point that each row was assigned for; 0: none.
    which : int32[room]
    upper, lower : float32[room]
        See `cluster_kernel.assign`.
    drift, fall : float64[k]
    centroids : float64[k, d] or None
        Those that the bounds are true of. Never written.
    watched : int32[n] or None
        The rows that alone may have to change while no drift and no fall is greater than `watched_to`, and no `reach` than
        `watched_reach`: few, where centroids have come near to where they will be. Never written.
    """

    met: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    which: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    upper: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    lower: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    drift: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    fall: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    centroids: NDArray[np.float64] | None = None
    watched: NDArray[np.int32] | None = None
    watched_to: float = 0.0
    watched_reach: float = 0.0

    def make_room(self, rows: int) -> None:
        """Have room for so many rows, of which none that is new was met."""
        room = len(self.met)
        if rows > room:
            more = max(rows, room + room // 4) - room
            self.met = np.concatenate([self.met, np.zeros(more, np.int64)])
            self.which = np.concatenate([self.which, np.full(more, -1, np.int32)])
            self.upper = np.concatenate([self.upper, np.zeros(more, np.float32)])
            self.lower = np.concatenate([self.lower, np.zeros(more, np.float32)])

    def meet(self, rows: NDArray[np.int32], born: NDArray[np.int64]) -> None:
        """Note that points were there, by rows, though there are no bounds for them: with the first centroids they are forgotten."""
        self.make_room(len(born))
        self.met[rows] = born[rows]

    def forget(self, clusters: int) -> None:
        """No row was met, and bounds will be of so many clusters."""
        self.met[:] = 0
        self.which[:] = -1
        self.drift, self.fall = np.zeros(clusters), np.zeros(clusters)

    def copy(self) -> ShardBounds:
        """Return another one that is written by itself."""
        return ShardBounds(
            met=self.met.copy(), which=self.which.copy(), upper=self.upper.copy(), lower=self.lower.copy(), drift=self.drift.copy(),
            fall=self.fall.copy(), centroids=self.centroids, watched=self.watched, watched_to=self.watched_to,
            watched_reach=self.watched_reach,
        )  # fmt: skip


class KeptBounds:
    """Of some shards, by number; of one that is not known there are none yet.

    A main loop keeps one between branches, gives each branch a `copy`, and takes over that of a branch whose answer it adopts.
    """

    def __init__(self) -> None:
        self._shards: dict[int, ShardBounds] = {}

    def of_shard(self, shard: int) -> ShardBounds:
        """Return those of a shard, as they are kept."""
        return self._shards.setdefault(shard, ShardBounds())

    def put(self, shard: int, bounds: ShardBounds) -> None:
        """Keep others of a shard instead."""
        self._shards[shard] = bounds

    def copy(self) -> KeptBounds:
        """Return others that are written by themselves."""
        copied = KeptBounds()
        copied._shards = {shard: bounds.copy() for shard, bounds in self._shards.items()}
        return copied

    @property
    def nbytes(self) -> int:
        """What they take, in bytes."""
        return 20 * sum(len(bounds.met) for bounds in self._shards.values())
