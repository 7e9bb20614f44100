"""Which worker a vertex belongs to: a table from buckets of a hash to workers.

It is the one place that decides this. Every kernel, every loop and whoever shares records out asks the same map.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .graph_columns import BUCKETS
from .graph_module import graph_module

_REMEMBERED = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class PartitionMap:
    """See the module.

    Parameters
    ----------
    workers
        How many there are, 1 to 64.
    buckets : uint8[BUCKETS]
        The worker of each bucket; not written.
    """

    workers: int
    buckets: NDArray[np.uint8]

    @classmethod
    def even(cls, workers: int) -> PartitionMap:
        """Buckets dealt out in turn, so that neighbouring ids do not crowd on one worker."""
        return cls(workers, (np.arange(BUCKETS) % workers).astype(np.uint8))

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
            graph_module().owners_of(self.buckets, np.ascontiguousarray(ids, np.int64), owners)
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
