"""One worker's part of an admission batch, whatever kind of program it is for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import PartitionMap
from ..ingest.records import MENTION, EdgeBatch


@dataclass(slots=True)
class Share:
    """One worker's part of an admission batch."""

    version: int
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]
    operations: NDArray[np.int8]
    mentioned: NDArray[
        np.int64
    ]  # own vertices that records of other workers' shares name, or that come without an edge
    following: int = 0  # index of the first record that was not applied

    @property
    def records(self) -> int:
        """How many it has, for who counts them: vertices count where they come without edges."""
        return len(self.sources) or len(self.mentioned)


def shares_of(batch: EdgeBatch, partition: PartitionMap) -> list[Share]:
    """Return each worker's share: the records whose target it owns, and the sources that are its own of the others."""
    alone = batch.op == MENTION
    if partition.workers == 1 and not alone.any():
        return [Share(0, batch.src, batch.dst, batch.weight, batch.op, batch.src[:0])]
    owners, namers = partition.owners_of(batch.dst), partition.owners_of(batch.src)
    shares = []
    for worker in range(partition.workers):
        own = (owners == worker) & ~alone
        mentioned = batch.src[(namers == worker) & ~own]
        shares.append(Share(0, batch.src[own], batch.dst[own], batch.weight[own], batch.op[own], mentioned))
    return shares
