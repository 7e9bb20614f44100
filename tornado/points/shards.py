"""Logical shards: into how many parts points fall, and which worker has which.

There are 16, however many workers there are, and the shard of a point is a function of its id. So what is summed by shard, and then
over shards in their order, has the same bits on any number of workers. It is the one place that decides this for points.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from ..kernel_modules import load_module, module_text
from ..records.point_batch import PointBatch
from . import shard_kernel

SHARDS: Final = shard_kernel.SHARD_COUNT
"""How many shards there are."""


@cache
def shard_module() -> ModuleType:
    """The kernel that finds shards, from disk where it was compiled before."""
    return load_module(module_text("the shards of points", [shard_kernel], {}))


def worker_of_shard(shard: int, workers: int) -> int:
    """Which of so many workers has a shard: they are dealt out in turn."""
    return shard % workers


def shards_of_worker(worker: int, workers: int) -> range:
    """The shards that a worker has, ascending.

    Raises
    ------
    InvalidArgument
        There are more workers than shards.
    """
    require_workers(workers)
    return range(worker, SHARDS, workers)


def require_workers(workers: int) -> None:
    """Refuse so many workers where a stream has points.

    Raises
    ------
    InvalidArgument
        There are more than shards.
    """
    if not 1 <= workers <= SHARDS:
        raise InvalidArgument(
            f"workers is {workers}, but points are shared by 1 to {SHARDS} workers",
            hint=f"Start with at most {SHARDS} workers.",
        )


def shards_of(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The shard of each point.

    Parameters
    ----------
    ids : int64[n]
        Only read.

    Returns
    -------
    int64[n]
    """
    shards = np.empty(len(ids), np.int64)
    shard_module().find_shards(np.ascontiguousarray(ids, np.int64), shards)
    return shards


def owners_of(ids: NDArray[np.int64], workers: int) -> NDArray[np.int64]:
    """The worker of each point, likewise."""
    return shards_of(ids) % workers


def share_out(batch: PointBatch, workers: int) -> list[PointBatch]:
    """Each worker's records of a batch, in the order in which they came.

    Parameters
    ----------
    batch : PointBatch
        Only read. One worker alone gets it as it is, several get slices of one copy.
    workers : int
        How many there are.

    Returns
    -------
    list of PointBatch
        One for each worker, empty ones too.
    """
    if workers == 1:
        return [batch]
    order, first = np.empty(len(batch), np.int64), np.empty(workers + 1, np.int64)
    owners = np.empty(len(batch), np.uint8)
    shard_module().order_by_worker(np.ascontiguousarray(batch.id), workers, owners, first, order)
    together = batch.take(order)
    ends = first.tolist()
    return [together.slice(ends[worker], ends[worker + 1]) for worker in range(workers)]
