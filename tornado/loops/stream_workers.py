"""The workers of a stream: which vertex belongs to which of them, and how many records each has that were posted to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue

from ..errors import Unresponsive
from ..graph import PartitionMap
from ..records.edge_batch import EdgeBatch
from ..records.record_batch import RecordBatch
from .commands import Admit, Command, Expect, LookAround, LoopHost, UseBlocks
from .share import Share
from .surroundings import Surroundings, together


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
        self._held = [0] * len(hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    def backlog(self) -> int:
        """How many records are posted and not applied."""
        return sum(self._posted) - sum(self._applied)

    def applied(self) -> list[int]:
        """How many records each has applied since it began."""
        return list(self._applied)

    def held(self) -> int:
        """How many edges and points they hold, as far as they have applied what was posted."""
        return sum(self._held)

    def waiting(self) -> list[int]:
        """How many records are posted to each and not applied."""
        return [
            posted - applied for posted, applied in zip(list(self._posted), list(self._applied), strict=False)
        ]

    def post(self, command: Command) -> None:
        """Hand a command to every worker."""
        for host in self._hosts:
            host.post(command)

    def expect(self, edges: int) -> None:
        """Have workers make room for a graph of so many edges, before the first loop begins; none: it does not begin after all."""
        self.post(Expect(self._stream, self.partition, edges // len(self._hosts)))

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

    def around(self, vertex: int, *, most: int, timeout_s: float) -> Surroundings:
        """Read the edges around a vertex, as they are about now.

        Parameters
        ----------
        most
            In each direction.
        timeout_s
            How long each worker may take until it says its part, beside the others.

        Raises
        ------
        Unresponsive
            When a worker does not.
        NotSupported
            When the loops of the stream are programs in plain Python.
        """
        answers: SimpleQueue[Surroundings | Exception] = SimpleQueue()
        hosts = list(self._hosts)
        for host in hosts:
            host.post(LookAround(self._stream, vertex, most, lambda _, found: answers.put(found)))
        parts = list[Surroundings]()
        for _ in hosts:
            try:
                found = answers.get(timeout=timeout_s)
            except Empty:
                raise Unresponsive(
                    f"{len(parts)} of {len(hosts)} workers have said within {timeout_s:g} s what is around vertex {vertex}"
                ) from None
            if isinstance(found, Exception):
                raise found
            parts.append(found)
        return together(parts, most)

    def count_applied(self, worker: int, records: int, held: int) -> None:
        """Take records that a worker has applied off the backlog; with them it holds so many edges and points."""
        self._applied[worker] += records
        self._held[worker] = held

    def begin_again(self, partition: PartitionMap, *, keeps_placement: bool = False) -> None:
        """Set the backlog to nothing, for workers that have taken the place of others, with a map of theirs; placed as before or not."""
        self.partition = self.partition.on(partition) if keeps_placement else partition
        self._posted, self._applied, self._held = ([0] * len(self) for _ in range(3))
