"""The workers of a stream: which vertex belongs to which of them, and how many records each has that were posted to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..graph import PartitionMap
from ..records.edge_batch import EdgeBatch
from ..records.record_batch import RecordBatch
from .host import Admit, Command, LoopHost, UseBlocks
from .share import Share


class StreamWorkers:
    """See the module.

    Parameters
    ----------
    stream
        The number of the stream.
    hosts
        The workers, in their order; the same sequence when others have taken their place.
    partition
        Which worker a vertex belongs to.

    Attributes
    ----------
    remember
        Has the store remember the map; called before a snapshot is stored.
    """

    def __init__(self, stream: int, hosts: Sequence[LoopHost], partition: PartitionMap) -> None:
        self.remember: Callable[[], object] = lambda: None
        self._stream = stream
        self._hosts = hosts
        self.partition = partition
        self._posted = [0] * len(hosts)
        self._applied = [0] * len(hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    def backlog(self) -> int:
        """How many records are posted and not applied."""
        return sum(self._posted) - sum(self._applied)

    def applied(self) -> list[int]:
        """How many records each has applied since it began."""
        return list(self._applied)

    def waiting(self) -> list[int]:
        """How many records are posted to each and not applied."""
        return [
            posted - applied for posted, applied in zip(list(self._posted), list(self._applied), strict=False)
        ]

    def post(self, command: Command) -> None:
        """Hand a command to every worker."""
        for host in self._hosts:
            host.post(command)

    def post_shares(self, shares: Sequence[Share], version: int) -> None:
        """Hand each worker its share of what made a version; from then on the map is not open any more."""
        if self.partition.is_open:
            self.partition = replace(self.partition, is_open=False)
        for worker, (host, share) in enumerate(zip(self._hosts, shares, strict=True)):
            self._posted[worker] += share.records
            share.version = version
            host.post(Admit(self._stream, share))

    def settle(self, batch: RecordBatch) -> None:
        """Decide by the first edges which vertex belongs to whom, where that is open; under the order, before they are posted."""
        if self.partition.is_open and isinstance(batch, EdgeBatch) and len(batch):
            self.partition = self.partition.settled(batch.src, batch.dst)
            if self.partition.block_bits:
                self.post(UseBlocks(self._stream, self.partition.block_bits))

    def count_applied(self, worker: int, records: int) -> None:
        """Take records that a worker has applied off the backlog."""
        self._applied[worker] += records

    def begin_again(self, partition: PartitionMap, *, keeps_placement: bool = False) -> None:
        """Set the backlog to nothing, for workers that have taken the place of others, with a map of theirs; placed as before or not."""
        self.partition = self.partition.on(partition) if keeps_placement else partition
        self._posted, self._applied = [0] * len(self), [0] * len(self)
