"""Which worker a vertex of a general loop belongs to: a hash, so that neighbouring ids do not crowd on one worker."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_REMEMBERED = 1 << 17


def owners_of(ids: NDArray[np.int64], workers: int) -> NDArray[np.int64]:
    """The worker of each vertex.

    Parameters
    ----------
    ids : int64[n]
        Only read.
    workers
        How many there are.

    Returns
    -------
    int64[n]
    """
    mixed = ids.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    owners: NDArray[np.int64] = ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(workers)).astype(np.int64)
    return owners


@lru_cache(maxsize=_REMEMBERED)
def owner_of(vertex: int, workers: int) -> int:
    """The worker of one vertex."""
    return 0 if workers == 1 else int(owners_of(np.array([vertex], np.int64), workers)[0])
