"""What a pass of dual ascent visits, and in which order.

All points of a worker are visited in one order, however many shards they lie in. Shards one after the other would take hundreds of times
as many passes where points have much in common: those that are visited first take it all upon them, each time the same. So points that
are few are gathered, and an order goes over single points. Of many, which stay where they are, short stretches of shuffled shards take
turns; where they are dense, neighbours stay together, which are fetched together (see `BLOCK_ROWS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ....points import ShardPoints
from .held_duals import HeldDuals
from .linear_objective import Vector, features_of, frozen

BLOCK_ROWS: Final = 64
_GATHERED_BYTES: Final = 32 << 20
_LEAST_PART: Final = 64  # points of a shard that are visited before those of another one
_MOST_PARTS: Final = 4096


@dataclass(slots=True, eq=False)
class Visited:
    """Points that lie together: those of a shard, or all of a worker, gathered.

    Attributes
    ----------
    number : int
        Of the order in which they are visited.
    features : tuple of ndarray
        See `dense_kernel` and `sparse_kernel`.
    rows, fresh : int32[n]
        All that are visited, and those of them that are new.
    label, weight, duals : float64[used]
    means : float64[used] or float64[0]
        Of dual variables, where they are kept.
    """

    number: int
    features: tuple[NDArray[Any], ...]
    rows: NDArray[np.int32]
    fresh: NDArray[np.int32]
    label: Vector
    weight: Vector
    duals: Vector
    block: int
    means: Vector = field(default_factory=lambda: np.empty(0))


class Visits:
    """The points of a worker as passes visit them.

    Parameters
    ----------
    kernel
        Compiled functions.
    shards, held : mapping by shard
        Points, and their dual variables, which are written.
    fresh : mapping of int to int32[n]
        Rows of each shard that are new.
    """

    def __init__(
        self,
        kernel: ModuleType,
        shards: Mapping[int, ShardPoints],
        held: Mapping[int, HeldDuals],
        fresh: Mapping[int, NDArray[np.int32]],
    ) -> None:
        self._kernel, self._shards, self._held = kernel, shards, held
        self._is_gathered = sum(map(_size_bytes, shards.values())) <= _GATHERED_BYTES
        if self._is_gathered:
            self.visited = [_gathered(shards, held, fresh)]
        else:
            self.visited = [_in_place(points, held[shard], fresh[shard]) for shard, points in shards.items()]

    def keep_means(self) -> None:
        """Keep means from now on."""
        for one in self.visited:
            if not len(one.means):
                one.means = np.zeros(len(one.duals))

    def means_of(self, shard: int) -> Vector:
        """The means of a shard's dual variables, by row."""
        if not self._is_gathered:
            return self.visited[list(self._shards).index(shard)].means
        means = np.zeros(len(self._held[shard].duals))
        means[self._shards[shard].rows] = self.visited[0].means[self._places(shard)]
        return means

    def parts(self, task: str, seed: int, number: int) -> list[tuple[int, NDArray[np.int32]]]:
        """Which rows of which of `visited` a pass visits, part by part, in an order that follows from (seed, number)."""
        rows = [one.fresh if task == "fresh" else one.rows for one in self.visited]
        most = sum(map(len, rows))
        length = max(_LEAST_PART, most // _MOST_PARTS)
        parts = []
        for place, one in enumerate(self.visited):
            given = frozen(rows[place])
            ordered = np.empty(len(given), np.int32)
            order = np.empty(-(-len(given) // one.block), np.int64)
            self._kernel.shuffle_rows(given, one.block, seed, one.number, number, order, ordered)
            ordered = frozen(ordered)
            parts += [(place, ordered[first : first + length]) for first in range(0, len(given), length)]
        if len(self.visited) == 1:
            return parts
        shuffled = np.random.Generator(np.random.Philox(key=[seed, number])).permutation(len(parts))
        return [parts[place] for place in shuffled]

    def give_back(self, shard: int) -> None:
        """Write the dual variables of a shard to where they are held."""
        if self._is_gathered:
            self._held[shard].duals[self._shards[shard].rows] = self.visited[0].duals[self._places(shard)]

    def _places(self, shard: int) -> slice:
        first = 0
        for other, points in self._shards.items():
            if other == shard:
                return slice(first, first + len(points))
            first += len(points)
        raise KeyError(shard)


def _size_bytes(points: ShardPoints) -> int:
    """How much of features is visited."""
    values: NDArray[Any] = features_of(points)[-1]
    if values.ndim == 2:
        return len(points) * int(values.shape[1]) * values.itemsize
    lengths: NDArray[np.int32] = features_of(points)[1]
    return int(lengths[points.rows].sum(dtype=np.int64)) * (4 + values.itemsize)


def _in_place(points: ShardPoints, held: HeldDuals, fresh: NDArray[np.int32]) -> Visited:
    block = BLOCK_ROWS if _size_bytes(points) > 1 << 20 else 1
    columns = features_of(points), points.rows, fresh, points.label, points.weight
    return Visited(points.shard, *columns, held.duals, block)


def _gathered(
    shards: Mapping[int, ShardPoints],
    held: Mapping[int, HeldDuals],
    fresh: Mapping[int, NDArray[np.int32]],
) -> Visited:
    is_fresh = []
    for shard, points in shards.items():
        found = np.zeros(len(points.born), np.bool_)
        found[fresh[shard]] = True
        is_fresh.append(found[points.rows])
    label = np.concatenate([points.label[points.rows] for points in shards.values()])
    weight = np.concatenate([points.weight[points.rows] for points in shards.values()])
    duals = np.concatenate([held[shard].duals[points.rows] for shard, points in shards.items()])
    rows = np.arange(len(label), dtype=np.int32)
    return Visited(
        min(shards),
        tuple(map(frozen, _gathered_features(list(shards.values())))),
        frozen(rows),
        frozen(rows[np.concatenate(is_fresh)]),
        frozen(label),
        frozen(weight),
        duals,
        1,
    )


def _gathered_features(shards: list[ShardPoints]) -> tuple[NDArray[Any], ...]:
    if not shards[0].points.sparse:
        return (np.concatenate([features_of(points)[0][points.rows] for points in shards]),)
    batches: list[Any] = [points.batch() for points in shards]
    lengths = np.concatenate([np.diff(batch.starts) for batch in batches])
    starts = np.cumsum(lengths) - lengths
    indices, values = (
        np.concatenate([getattr(batch, name) for batch in batches]) for name in ("indices", "values")
    )
    return starts.astype(np.int32), lengths.astype(np.int32), indices, values
