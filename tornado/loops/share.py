"""One worker's part of an admission batch, whatever kind of program and of records it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import PartitionMap
from ..records.edge_batch import EdgeBatch
from ..records.record_batch import RecordBatch


@dataclass(slots=True)
class Share:
    """One worker's part of an admission batch.

    Attributes
    ----------
    version
        The one that the batch makes.
    batch
        The records that are the worker's, in their order.
    mentioned
        Own vertices that records of other workers' shares name, or that come alone.
    following
        Index of the first record that was not applied.
    is_both_ways
        Whether it has the records of which the worker owns either end.
    """

    version: int
    batch: RecordBatch
    mentioned: NDArray[np.int64]
    following: int = 0
    is_both_ways: bool = False

    @property
    def records(self) -> int:
        """How many it has, for who counts them: vertices count where they come alone."""
        return len(self.batch) or len(self.mentioned)

    @property
    def is_applied(self) -> bool:
        """Whether all of its records are."""
        return self.following == len(self.batch)


def batch_of(shares: Sequence[Share], partition: PartitionMap) -> RecordBatch:
    """Return a batch that has each record of these shares once; edges with one target, and records of a point, are in their order.

    Parameters
    ----------
    partition
        By which they were made: of an edge that several have, the worker of its target counts.
    """
    first, *others = [_own(share, worker, partition) for worker, share in enumerate(shares)]
    if isinstance(first, EdgeBatch):
        others += [EdgeBatch.mentions(share.mentioned) for share in shares]
    return first.concat([first, *others])


def _own(share: Share, worker: int, partition: PartitionMap) -> RecordBatch:
    batch = share.batch
    if not isinstance(batch, EdgeBatch):
        return batch
    own = partition.owners_of(batch.dst) == worker
    return batch if own.all() else batch.take(own)
