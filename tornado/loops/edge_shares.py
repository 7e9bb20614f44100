"""How edges are shared out to workers, by the owners of their ends, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..graph import PartitionMap
from ..graph.graph_columns import REVERSE
from ..records.edge_batch import EdgeBatch
from ..records.operations import MENTION
from ..records.record_batch import RecordBatch
from .share import Share


def shares_of(batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool = False) -> list[Share]:
    """Return each worker's share: the records whose target it owns, and the sources that are its own of the others.

    Where the graph has reverse lists, a share has the records of which the worker owns either end.
    """
    alone = batch.op == MENTION
    if partition.workers == 1 and not alone.any():
        return [Share(0, batch, batch.src[:0], is_both_ways=both_ways)]
    owners, namers = partition.owners_of(batch.dst), partition.owners_of(batch.src)
    if alone.any():
        owners[alone] = -1  # of edges; who names a vertex is told as always
    shares = []
    for worker in range(partition.workers):
        own, names = owners == worker, namers == worker
        if both_ways:
            own |= names & ~alone
        mentioned = batch.src.take(np.flatnonzero(names & ~own))
        # Not by `EdgeBatch.take`, which costs more than the columns of a small batch do.
        rows = np.flatnonzero(own)
        edges = EdgeBatch(
            batch.src.take(rows), batch.dst.take(rows), batch.weight.take(rows), batch.op.take(rows)
        )
        shares.append(Share(0, edges, mentioned, is_both_ways=both_ways))
    return shares


def shares_among_known(batch: EdgeBatch, partition: PartitionMap) -> list[Share]:
    """Return each worker's share of edges whose ends are known to their workers, where the graph has no reverse lists."""
    if partition.workers == 1:
        return [Share(0, batch, batch.src[:0])]
    owners = partition.owners_of(batch.dst)
    owned = [batch.take(np.flatnonzero(owners == worker)) for worker in range(partition.workers)]
    return [Share(0, own, own.src[:0]) for own in owned]


def reverse_shares_of(batch: EdgeBatch, partition: PartitionMap) -> list[Share]:
    """Return each worker's share of edges that are in the graph, and that only its reverse lists lack."""
    owners = partition.owners_of(batch.src)
    shares = []
    for worker in range(partition.workers):
        own = batch.take(owners == worker)
        own = replace(own, op=np.full(len(own), REVERSE, np.int8))
        shares.append(Share(0, own, own.src[:0], is_both_ways=True))
    return shares


def mentions_of(ids: NDArray[np.int64], partition: PartitionMap) -> list[Share]:
    """Return each worker's share of vertices that come without an edge."""
    owners = partition.owners_of(ids)
    return [Share(0, EdgeBatch.empty(), ids[owners == worker]) for worker in range(partition.workers)]


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
