"""Which worker a vertex belongs to: a table from buckets of ids to workers.

It is the one place that decides this. Every kernel, every loop and whoever shares records out asks the same map. An id falls to a
bucket by its hash; or where ids that lie near each other are those that edges join, as on roads that are numbered along them, blocks of
ids are dealt out in turn. Then few edges cross, and what crosses is what workers wait for. Or somebody has shared vertices out beforehand
(`placed_vertices.py`), and only those that are not among them fall to buckets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ..config import VertexPlacement
from ..errors import InvalidArgument
from .graph_columns import BUCKETS
from .graph_module import graph_module
from .placed_vertices import PlacedVertices

_REMEMBERED = 1 << 17
_EDGES_THAT_SHOW = 1 << 10  # fewer say nothing about all the others
_NEAR = 4  # is a quarter of a block
_WIDEST = 1 << 62  # ids of hashes, say
_LOCAL_FROM = 0.75  # so many of the first edges join ids that are near
_BLOCKS_EACH = 4  # stripes of each worker, so that all have something to do wherever something happens
_LEAST_WORKERS = 2  # that there are stripes for, where they may become more


@dataclass(frozen=True, slots=True, eq=False)
class PartitionMap:
    """See the module.

    Parameters
    ----------
    workers
        How many there are, 1 to 64.
    buckets : uint8[BUCKETS]
        The worker of each bucket; not written.
    block_bits
        Ids that differ in these lowest bits only are in one bucket; 0: each falls to one by its hash.
    is_open
        Whether the first edges decide by which of both, see `settled`.
    always_blocks
        Whether they decide only how large blocks are.
    blocks_for
        How many workers blocks are small enough for.
    placed
        Vertices that were shared out beforehand; None: none were.
    """

    workers: int
    buckets: NDArray[np.uint8]
    block_bits: int = 0
    is_open: bool = False
    always_blocks: bool = False
    blocks_for: int = _LEAST_WORKERS
    placed: PlacedVertices | None = None

    @classmethod
    def even(cls, workers: int) -> PartitionMap:
        """Buckets dealt out in turn, so that neighbouring ids do not crowd on one worker."""
        return cls(workers, (np.arange(BUCKETS) % workers).astype(np.uint8))

    @classmethod
    def by(cls, placement: VertexPlacement | PlacedVertices, workers: int) -> PartitionMap:
        """The map that a stream begins with.

        Raises
        ------
        InvalidArgument
            When there is no such placement.
        """
        even = cls.even(workers)
        if isinstance(placement, PlacedVertices):
            return replace(even, placed=placement)
        if placement not in get_args(VertexPlacement):
            raise InvalidArgument(
                f"the placement is {placement!r} but must be one of {', '.join(get_args(VertexPlacement))}, or a file",
                hint="Leave it out, and the first edges decide.",
            )
        return replace(even, is_open=placement != "hash", always_blocks=placement == "blocks")

    @classmethod
    def of_fields(
        cls,
        workers: int,
        buckets: NDArray[np.uint8],
        block_bits: int,
        is_open: bool,  # noqa: FBT001  as `fields` has them
        ids: NDArray[np.int64],
        parts: NDArray[np.uint16],
    ) -> PartitionMap:
        """The map of these `fields`, of so many workers."""
        placed = PlacedVertices.of(ids, parts.astype(np.int64)) if len(ids) else None
        return cls(workers, np.array(buckets), block_bits, is_open, placed=placed)

    def fields(self) -> tuple[NDArray[np.uint8], int, bool, NDArray[np.int64], NDArray[np.uint16]]:
        """What workers in other processes have to know of it."""
        placed = self.placed
        named = (
            (np.empty(0, np.int64), np.empty(0, np.uint16)) if placed is None else (placed.ids, placed.parts)
        )
        return self.buckets, self.block_bits, self.is_open, *named

    def on(self, other: PartitionMap) -> PartitionMap:
        """The same for other workers: with the buckets of theirs, and smaller blocks where they are more, so that each has some."""
        more = (other.workers - 1) // self.blocks_for
        return replace(
            self,
            workers=other.workers,
            buckets=other.buckets,
            block_bits=max(1, self.block_bits - more.bit_length()) if self.block_bits else 0,
            blocks_for=max(self.blocks_for, other.workers),
        )

    def settled(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> PartitionMap:
        """Return a map that is not open, by the first edges: in blocks where most of them join ids that lie near each other.

        Parameters
        ----------
        sources, targets : int64[n]
            Ends of the edges; only read.
        """
        settled = replace(self, is_open=False, blocks_for=max(_LEAST_WORKERS, self.workers))
        if len(sources) < _EDGES_THAT_SHOW and not self.always_blocks:
            return settled
        span = int(max(sources.max(), targets.max())) - int(min(sources.min(), targets.min()))
        if span >= _WIDEST:
            return settled
        bits = max(1, (span // (_BLOCKS_EACH * settled.blocks_for)).bit_length() - 1)
        if self.always_blocks:
            return replace(settled, block_bits=bits)
        near = np.abs(sources - targets) <= max(1, (1 << bits) // _NEAR)
        return replace(settled, block_bits=bits) if near.mean() >= _LOCAL_FROM else settled

    def owners_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The worker of each vertex.

        Parameters
        ----------
        ids : int64[n]
            Only read.

        Returns
        -------
        int64[n]
        """
        owners = np.zeros(len(ids), np.int64)
        if self.workers > 1:
            graph_module().owners_of(
                self.buckets, self.block_bits, np.ascontiguousarray(ids, np.int64), owners
            )
            if self.placed is not None:
                owners = self.placed.owners_of(ids, self.workers, owners)
        return owners

    def owner_of(self, vertex: int) -> int:
        """The worker of one vertex."""
        return 0 if self.workers == 1 else _owner_of(self, vertex)


@lru_cache(maxsize=_REMEMBERED)
def _owner_of(partition: PartitionMap, vertex: int) -> int:
    return int(partition.owners_of(np.array([vertex], np.int64))[0])


def pages_of(ids: NDArray[np.int64], pages: int) -> NDArray[np.int64]:
    """The page of a stored snapshot that each vertex falls to, from 0; whoever owns the vertex.

    Parameters
    ----------
    ids : int64[n]
        Only read.
    pages
        How many there are.

    Returns
    -------
    int64[n]
    """
    places = np.empty(len(ids), np.int64)
    graph_module().pages_of(np.ascontiguousarray(ids, np.int64), pages, places)
    return places
