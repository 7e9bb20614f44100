"""The points of one worker at a version, by page, for whoever stores them.

Pages are of one shard each, and have its points in the order in which they came: so shards that are read from them are what they were,
on any number of workers. Nothing is copied before a page is asked for: the version is leased until nobody has these pages any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from ..points import EvolvingPoints, ShardPoints
from ..points.shard_points import SparseShardPoints

PAGE_BYTES: Final = 1 << 22
_BESIDE_BYTES: Final = 25  # id, label, weight and operation of a point


class PointPagesView(Protocol):
    """One worker's points of a snapshot that is to be stored."""

    def sizes(self) -> list[tuple[int, int, int]]:
        """Of each shard of the worker that has points: its number, how many points it has, and how many pages."""
        ...

    def page_points(self, shard: int, number: int) -> bytes:
        """A page, counted from 0: insertions, as `RecordBatch.encode` writes them."""
        ...


class PointPages:
    """See the module and `PointPagesView`. It is told of the version, and reads which points it has, on the thread of the worker.

    Parameters
    ----------
    on_end
        Called with the points and the lease, from any thread, when nobody has this any more.
    """

    def __init__(self, on_end: Callable[[tuple[EvolvingPoints, int]], None]) -> None:
        self._on_end = on_end
        self._points: EvolvingPoints | None = None
        self._version = 0
        self._left: list[int] = []
        self._pages: dict[int, list[ShardPoints]] = {}

    def begin(self, points: EvolvingPoints | None) -> None:
        """Lease the version of the points, where there are any."""
        if points is None:
            return
        lease, self._version = points.lease()
        finalize(self, self._on_end, (points, lease)).atexit = False
        self._points, self._left = points, list(points.shards)

    def read(self) -> bool:
        """Read which points a shard has; return whether that was the last one."""
        if self._left:
            assert self._points is not None
            shard = self._left.pop(0)
            found = _pages_of(self._points.read_shard(shard, self._version))
            if found:
                self._pages[shard] = found
        return not self._left

    def sizes(self) -> list[tuple[int, int, int]]:
        """See `PointPagesView`."""
        return [(shard, sum(map(len, pages)), len(pages)) for shard, pages in self._pages.items()]

    def page_points(self, shard: int, number: int) -> bytes:
        """See `PointPagesView`."""
        return self._pages[shard][number].batch().encode()


def _pages_of(points: ShardPoints) -> list[ShardPoints]:
    """The same points in stretches, each of about the bytes of a page."""
    if not len(points):
        return []
    value_bytes = points.points.value_type.itemsize
    sizes: NDArray[np.int64] = np.full(len(points), _BESIDE_BYTES, np.int64)
    if isinstance(points, SparseShardPoints):
        sizes += 8 + points.lengths[points.rows] * (4 + value_bytes)
    else:
        sizes += points.points.features * value_bytes
    numbers = (np.cumsum(sizes) - sizes) // PAGE_BYTES
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    ends = [*firsts[1:], len(points)]
    return [
        replace(points, rows=points.rows[first:end], is_whole=False)
        for first, end in zip(firsts, ends, strict=True)
    ]
