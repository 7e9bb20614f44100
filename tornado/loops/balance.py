"""Which buckets of vertices move where one worker has far more to do than the others, and when that is worth a pause.

A worker's load is taken to be spread over its buckets evenly, so it is known after a move only how well that fits, and a second
look may move more. What moves lies evenly among its buckets, as few of them have any vertices where these are blocks of ids. It moves
nothing for a load that comes and goes, and ever more seldom where moves do not help.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..clock import Clock
from ..errors import TornadoError
from ..graph import PartitionMap
from .main_loop import MainLoop
from .regular_look import RegularLook
from .stream import RecordStream

_log = logging.getLogger(__name__)

_LOOK_S = 1.0
TOO_MUCH = 1.5  # of the mean: what is looked into
_ENOUGH = 1.1  # of the mean: where a move ends
_FOR_S = 10.0  # for as long as that one worker has too much
_REST_S = 60.0  # from one move to the next; then twice as long, and so on
_LEAST_PER_S = 1000.0  # records and updates, of all workers: a load that is worth a pause


class Moving(Protocol):
    """Whose load is looked at; a `Master`."""

    clock: Clock

    def loads(self) -> list[int]:
        """What each worker has done since it began: records applied and updates committed."""
        ...

    def rebalance(self, loads: Sequence[float]) -> float:
        """Move buckets by the load of each worker; return how long that took."""
        ...


def balanced(
    partition: PartitionMap, loads: Sequence[float], of_streams: Sequence[PartitionMap] = ()
) -> PartitionMap:
    """Return a map by which no worker has more than about 1.1 times the mean load, with the fewest buckets moved; the same, if so already.

    Parameters
    ----------
    loads
        Of each worker, in whatever unit.
    of_streams
        The maps of the streams, each of which may have vertices that were shared out beforehand; none: as `partition`.
    """
    if len(loads) != partition.workers:
        return partition  # they are of others, in the place of which these have come
    load = np.array(loads, np.float64)
    buckets: NDArray[np.uint8] = partition.buckets.copy()
    counts = np.bincount(buckets, minlength=partition.workers)
    each = load / np.maximum(counts, 1)  # of a bucket, by whose it was
    mean = load.mean()
    # What was shared out beforehand is in no bucket.
    if mean <= 0 or all(one.placed is not None for one in of_streams or [partition]):
        return partition
    left = [list(_evenly(np.flatnonzero(buckets == worker))[::-1]) for worker in range(partition.workers)]
    # Those of the worker that has most go first, to the one that has least.
    while load.max() > _ENOUGH * mean:
        giver, taker = int(load.argmax()), int(load.argmin())
        if len(left[giver]) < 2 or load[taker] + each[giver] > load[giver]:
            break
        bucket = left[giver].pop()
        buckets[bucket] = taker
        load[giver] -= each[giver]
        load[taker] += each[giver]
    return replace(partition, buckets=buckets) if (buckets != partition.buckets).any() else partition


def _evenly(buckets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return buckets in such an order that the first of them, however many, lie evenly among all."""
    order = np.zeros(1, np.int64)
    while len(order) < len(buckets):
        order = np.concatenate([2 * order, 2 * order + 1])
    return buckets[order[order < len(buckets)]]


def loads_of(streams: Sequence[RecordStream], loops: Sequence[MainLoop], workers: int) -> list[int]:
    """What each worker has done since it began: records applied, of all streams, and updates committed, of all loops."""
    done = [0] * workers
    for stream in streams:
        if not stream.had_edges:
            continue  # points are shared out by their shards, which stay
        done = [a + b for a, b in zip(done, stream.workers.applied(), strict=False)]
    for loop in loops:
        if loop.error is None and loop.program.declared_points is None:
            done = [a + part.progress().updates for a, part in zip(done, loop.parts(), strict=False)]
    return done


class Balance(RegularLook):
    """Looks at the load every second, and has buckets moved where one worker has too much for a while.

    Parameters
    ----------
    master
        Whose load it is.
    """

    def __init__(self, master: Moving) -> None:
        super().__init__("tornado-balance", _LOOK_S)
        self._master = master
        self._before: list[int] = []
        self._begun: tuple[float, list[int]] | None = (
            None  # since when one has too much, and what all had done by then
        )
        self._looked_s = self._moved_s = -np.inf
        self._rest_s = _REST_S

    def seen(self) -> list[int]:
        """What each worker had done when it looked last; none before that, or alone."""
        return list(self._before)

    def was_kept_from(self, error: TornadoError) -> bool:
        """See `RegularLook`: workers are lost, or a loop is being started."""
        _log.info("no buckets were moved: %s", error)
        return True

    def look(self) -> bool:
        """Look once, some second after the last time; return whether buckets were moved."""
        now_s, done = self._master.clock.monotonic(), self._master.loads()
        before, passed_s = self._before, now_s - self._looked_s
        self._before, self._looked_s = done, now_s
        if len(before) != len(done) or len(done) < 2 or any(a < b for a, b in zip(done, before, strict=True)):
            self._begun = None
            return False
        if not _is_skewed(before, done, passed_s):
            self._begun = None
            return False
        if self._begun is None:
            self._begun = now_s - passed_s, before
        begun_s, first = self._begun
        if now_s - begun_s < _FOR_S or now_s - self._moved_s < self._rest_s:
            return False
        if self._moved_s > -np.inf:
            self._rest_s *= 2  # the last move has not helped, as where a single vertex has much to do
        self._begun, self._moved_s = None, now_s
        loads = [a - b for a, b in zip(done, first, strict=True)]
        pause_s = self._master.rebalance(loads)
        _log.info("buckets moved by the loads %s; the loops stood still for %.2f s", loads, pause_s)
        return True


def _is_skewed(before: Sequence[int], done: Sequence[int], passed_s: float) -> bool:
    did = [a - b for a, b in zip(done, before, strict=True)]
    is_much = sum(did) > _LEAST_PER_S * passed_s
    return is_much and max(did) > TOO_MUCH * sum(did) / len(did)
