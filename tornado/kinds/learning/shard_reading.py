"""The points of a worker at a version, each shard read when it is first asked for: a fork reads none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...points import EvolvingPoints, ShardPoints


class ShardsAt(Mapping[int, ShardPoints]):
    """See the module.

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
