"""What was put into a loop's sequence since its newest stored snapshot, for workers that take the place of lost ones.

Batches and forks come back in their order. So a restored loop goes through the same versions again, and a branch that was under
way begins from the very cut that its answer names. Where the store is durable the log of the stream has the batches, and only forks
are kept here.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from ..errors import TornadoError
from ..graph import PartitionMap
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from .admission_log import AdmissionLog, in_stretches
from .commands import Fork
from .edge_shares import batch_of
from .share import Share

_log = logging.getLogger(__name__)

_LIMIT_RECORDS = 1 << 23  # some seconds to go through again
_LIMIT_BYTES = 1 << 30
_FORKS_OVER = 64


class Journal:
    """See the module. Used under the lock of the order.

    Parameters
    ----------
    log
        What has the batches; None: they are kept in memory.

    Attributes
    ----------
    records, size_bytes
        How many records are kept, and what they take: 33 bytes an edge, and of points what their features do.
    """

    def __init__(self, log: AdmissionLog | None = None) -> None:
        self._log = log
        self._base = 0  # the version up to which all is forgotten
        self.records = 0
        self.size_bytes = 0
        self._limit = _LIMIT_RECORDS
        self._limit_bytes = _LIMIT_BYTES
        self._forks = 0
        self._entries: deque[tuple[int, list[Share] | Fork]] = deque()

    def add(self, version: int, entry: list[Share] | Fork) -> None:
        """Keep a batch that made a version, as each worker's share, or a fork at a version."""
        if self._log is None or isinstance(entry, Fork):
            self._entries.append((version, entry if isinstance(entry, Fork) else _unapplied(entry)))
        self._forks += isinstance(entry, Fork)
        self._count(entry, 1)

    def _count(self, entry: list[Share] | Fork, sign: int) -> None:
        self.records += sign * _records(entry)
        self.size_bytes += sign * _size_bytes(entry)

    def forget(self, version: int) -> None:
        """Forget the batches up to a version, which is stored, and the forks below it."""
        entries = self._entries
        while entries and (
            entries[0][0] < version or (entries[0][0] == version and not isinstance(entries[0][1], Fork))
        ):
            _, entry = entries.popleft()
            self._count(entry, -1)
            self._forks -= isinstance(entry, Fork)
        self._base = version
        if self._log is not None:
            behind = self._log.size_after(version)
            self.records, self.size_bytes = behind.records, behind.size_bytes

    def share_again(
        self, shares_of: Callable[[RecordBatch], list[Share]], partition: PartitionMap, *, all_of_them: bool
    ) -> None:
        """Share the batches that are kept out in another way.

        Parameters
        ----------
        shares_of
            That way: by another map, or along both directions.
        partition
            The map by which they were shared out.
        all_of_them
            Also those that have both directions already.
        """
        self._entries = deque(
            (
                version,
                entry
                if isinstance(entry, Fork) or (entry[0].is_both_ways and not all_of_them)
                else shares_of(batch_of(entry, partition)),
            )
            for version, entry in self._entries
        )
        if self._log is None:
            self.records = self.size_bytes = 0
            for _, entry in self._entries:
                self._count(entry, 1)

    def drop_forks(self, running: Collection[int]) -> None:
        """Forget forks that are over, when there are many of them."""
        if self._forks > _FORKS_OVER + 2 * len(running):
            self._entries = deque(
                (version, entry)
                for version, entry in self._entries
                if not isinstance(entry, Fork) or entry.number in running
            )
            self._forks = sum(isinstance(entry, Fork) for _, entry in self._entries)

    @property
    def is_full(self) -> bool:
        """Whether so much is kept that a snapshot should be stored, so that it can be forgotten."""
        return self.records > self._limit or self.size_bytes > self._limit_bytes

    def relieve(self, store: Callable[[], tuple[int, int]]) -> None:
        """Have a snapshot stored on a thread of its own.

        Parameters
        ----------
        store
            Does it, and returns how many edges and points the snapshot has, and the bytes of the points: with twice as many
            records or bytes between two of them, a record costs what storing half of one does.
        """
        self._limit, self._limit_bytes = 2 * self.records, 2 * self.size_bytes

        def run() -> None:
            try:
                records, size_bytes = store()
                self._limit = max(_LIMIT_RECORDS, 2 * records)
                self._limit_bytes = max(_LIMIT_BYTES, 2 * size_bytes)
            except TornadoError as error:
                _log.warning("the journal grows, since no snapshot was stored: %s", error)

        threading.Thread(target=run, name="journal", daemon=True).start()

    def replay(
        self, *, until: int, points: Points | None
    ) -> Iterator[tuple[int, list[Share] | RecordBatch | Fork]]:
        """Iterate over what led to a version, and the forks, each with its version.

        Parameters
        ----------
        until
            The version of the stream: the log may have what is about to be posted.
        points
            What its points are declared to be.
        """
        if self._log is None:
            for version, entry in list(self._entries):
                yield version, entry if isinstance(entry, Fork) else _unapplied(entry)
            return
        forks = deque((version, fork) for version, fork in self._entries if isinstance(fork, Fork))
        logged = self._log.replay(after=self._base, points=points)
        behind = (entry for entry in logged if entry.version <= until)
        for stretch in in_stretches(behind, [version for version, _ in forks]):
            while forks and forks[0][0] < stretch.version:
                yield forks.popleft()
            yield stretch.version, stretch.batch
        yield from forks


def _unapplied(shares: list[Share]) -> list[Share]:
    """Shares of one's own: in one process a worker notes in its share how far it is applied, and that vertices have been named."""
    return [replace(share) for share in shares]


def _records(entry: list[Share] | Fork) -> int:
    return 0 if isinstance(entry, Fork) else sum(share.records for share in entry)


def _size_bytes(entry: list[Share] | Fork) -> int:
    if isinstance(entry, Fork):
        return 0
    return sum(share.batch.size_bytes + share.mentioned.nbytes for share in entry)
