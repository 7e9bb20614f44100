"""One worker's part of an admission batch, whatever kind of program it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import PartitionMap
from ..graph.graph_columns import REVERSE
from ..records.edge_batch import EdgeBatch
from ..records.operations import MENTION


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
    is_both_ways: bool = False  # whether it has the records of which the worker owns either end

    @property
    def records(self) -> int:
        """How many it has, for who counts them: vertices count where they come without edges."""
        return len(self.sources) or len(self.mentioned)


def shares_of(batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool = False) -> list[Share]:
    """Return each worker's share: the records whose target it owns, and the sources that are its own of the others.

    Where the graph has reverse lists, a share has the records of which the worker owns either end.
    """
    alone = batch.op == MENTION
    if partition.workers == 1 and not alone.any():
        columns = (batch.src, batch.dst, batch.weight, batch.op, batch.src[:0])
        return [Share(0, *columns, is_both_ways=both_ways)]
    owners, namers = partition.owners_of(batch.dst), partition.owners_of(batch.src)
    shares = []
    for worker in range(partition.workers):
        own = (owners == worker) & ~alone
        if both_ways:
            own |= (namers == worker) & ~alone
        mentioned = batch.src[(namers == worker) & ~own]
        columns = (batch.src[own], batch.dst[own], batch.weight[own], batch.op[own], mentioned)
        shares.append(Share(0, *columns, is_both_ways=both_ways))
    return shares


def batch_of(shares: Sequence[Share]) -> EdgeBatch:
    """Return a batch that has these shares, of one direction; records with one target are in their order."""
    sources, targets, weights, operations = (
        np.concatenate([getattr(share, name) for share in shares])
        for name in ("sources", "targets", "weights", "operations")
    )
    mentioned = np.concatenate([share.mentioned for share in shares])
    none = np.zeros(len(mentioned))
    return EdgeBatch(
        np.concatenate([sources, mentioned]),
        np.concatenate([targets, mentioned]),
        np.concatenate([weights, none]),
        np.concatenate([operations, np.full(len(mentioned), MENTION, np.int8)]),
    )


def reverse_shares_of(batch: EdgeBatch, partition: PartitionMap) -> list[Share]:
    """Return each worker's share of edges that are in the graph, and that only its reverse lists lack."""
    owners = partition.owners_of(batch.src)
    shares = []
    for worker in range(partition.workers):
        own = owners == worker
        operations = np.full(int(own.sum()), REVERSE, np.int8)
        columns = (batch.src[own], batch.dst[own], batch.weight[own], operations, batch.src[:0])
        shares.append(Share(0, *columns, is_both_ways=True))
    return shares
