"""An edge list: three columns, in the order in which the edges arrive.

What a generator or a data file gives, before it is a stream (`streams.py`) or a built graph (`oracle.py`). Columns keep the
narrowest type their maker chose (a generated graph of 65 million edges is 0.6 GB in 32-bit ids and 8-bit weights, 1.6 GB in
the types of a batch); they are widened only when records are cut from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT


@dataclass(frozen=True, slots=True)
class EdgeList:
    """Directed, weighted edges; parallel ones and self-loops allowed.

    Parameters
    ----------
    src, dst : integer array, shape (m,)
        Ends of each edge. Not copied and never written.
    weight : integer or float array, shape (m,)
        Weight of each edge.
    vertices : int
        Ids lie in [0, vertices) where that is above zero; 0 promises nothing (ids from a file).

    Examples
    --------
    >>> edges = EdgeList(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0]), vertices=3)
    >>> len(edges), edges[1:].src.tolist()
    (2, [1])
    """

    src: NDArray[np.integer]
    dst: NDArray[np.integer]
    weight: NDArray[np.number]
    vertices: int = 0

    def __post_init__(self) -> None:
        if not len(self.src) == len(self.dst) == len(self.weight):
            raise ValueError(
                f"columns of an edge list have lengths {len(self.src)}, {len(self.dst)}, {len(self.weight)}; "
                "they must be equal"
            )

    def __len__(self) -> int:
        return len(self.src)

    def __getitem__(self, which: slice | NDArray[np.integer] | NDArray[np.bool_]) -> EdgeList:
        """Edges at a slice (a view), at positions, or under a mask (copies)."""
        return EdgeList(self.src[which], self.dst[which], self.weight[which], self.vertices)

    def records(self, *, op: int = INSERT) -> EdgeBatch:
        """Return all edges as one batch, every record with the same `op`."""
        return EdgeBatch(
            self.src.astype(np.int64),
            self.dst.astype(np.int64),
            self.weight.astype(np.float64),
            np.full(len(self), op, np.int8),
        )

    def batches(self, size: int) -> Iterator[EdgeBatch]:
        """Yield insertions in order, `size` records at a time: only one batch is ever in wide columns."""
        for start in range(0, len(self), size):
            yield self[start : start + size].records()

    def ids(self) -> NDArray[np.int64]:
        """Return every id that occurs, ascending."""
        return np.unique(np.concatenate([self.src, self.dst]).astype(np.int64))

    def reversed_edges(self) -> EdgeList:
        """Return the same edges, each pointing the other way."""
        return EdgeList(self.dst, self.src, self.weight, self.vertices)


def concatenated(*parts: EdgeList) -> EdgeList:
    """Return edge lists one after the other."""
    return EdgeList(
        np.concatenate([part.src for part in parts]),
        np.concatenate([part.dst for part in parts]),
        np.concatenate([part.weight for part in parts]),
        max(part.vertices for part in parts),
    )


def edge_list(*edges: tuple[int, int, float]) -> EdgeList:
    """Return an edge list written out as (src, dst, weight) triples: for examples and small tests.

    Examples
    --------
    >>> edge_list((1, 2, 0.5), (2, 1, 0.0)).weight.tolist()
    [0.5, 0.0]
    """
    src, dst, weight = zip(*edges, strict=True) if edges else ((), (), ())
    return EdgeList(np.array(src, np.int64), np.array(dst, np.int64), np.array(weight, np.float64))
