"""How loops that learn read the points of a worker, as they are or at a version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...points import EvolvingPoints, ShardPoints


def drawn_shards(points: EvolvingPoints, batch: int) -> Iterator[tuple[ShardPoints, int, int]]:
    """Share out the draws of a step to shards, by how many points are live in them.

    Yields the shard as it is (`EvolvingPoints.view_shard`), how many points are live there, and how many are to be drawn, at least one.
    """
    live = {shard: points.live_in(shard) for shard in points.shards}
    everything = sum(live.values())
    for shard, count in live.items():
        if count:
            yield points.view_shard(shard), count, min(count, -(-batch * count // everything))


class ShardsAt(Mapping[int, ShardPoints]):
    """The points at a version, each shard read when it is first asked for: a fork reads none.

    Parameters
    ----------
    points
        Of the worker.
    version
        That is leased.
    """

    def __init__(self, points: EvolvingPoints, version: int) -> None:
        self._points = points
        self._version = version
        self._read: dict[int, ShardPoints] = {}

    def __getitem__(self, shard: int) -> ShardPoints:
        if shard not in self._read:
            self._read[shard] = self._points.read_shard(shard, self._version)
        return self._read[shard]

    def __iter__(self) -> Iterator[int]:
        return iter(self._points.shards)

    def __len__(self) -> int:
        return len(self._points.shards)
