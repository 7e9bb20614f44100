"""Records with those of near sources together: lists that are made and looked at one after another then lie side by side."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .graph_module import graph_module

_MOST_BITS: Final = 14  # by which records are moved in one pass; by more of them memory is written everywhere

Records = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int8]]


def by_near_sources(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    operations: NDArray[np.int8],
) -> Records:
    """The same records in an order by the highest bits in which their sources differ.

    Those of the same source stay in their order, and so those of the same edge, which is all that their meaning depends on.

    Parameters
    ----------
    sources, targets : int64[n]
        Ids, at least one; only read, as the others are.
    weights : float64[n]
    operations : int8[n]
    """
    least = int(sources.min())
    span = int(sources.max()) - least
    shift = max(0, span.bit_length() - min(_MOST_BITS, len(sources).bit_length()))
    following = np.zeros((span >> shift) + 2, np.int32)
    columns = sources, targets, weights, operations
    moved = np.empty_like(sources), np.empty_like(targets), np.empty_like(weights), np.empty_like(operations)
    graph_module().move_by_sources(*columns, least, shift, following, *moved)
    return moved
