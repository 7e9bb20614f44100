"""Chains of graves: removed edges that an older version of the graph still has, newest first behind each end (`graph_columns`).

Whoever reads a list at a version reads its chain too: ``grave = grave_at(lists, lists.buried_in[row], version)``, and for as long as
that is not -1, the grave where its edge was born by then, and ``grave = grave_at(lists, lists.grave_next_in[grave], version)``.
"""

import numba as nb
import numpy as np

from .graph_columns import ANY_VERSION, BURIED_FIRST, GRAVE_MASK


@nb.njit(cache=True)
def grave_at(lists, link, version):
    """The grave that a link of a chain leads to; -1 where that edge, and so all behind it, was gone at a version."""
    number = link - 1
    if version == ANY_VERSION or number < lists.counters[BURIED_FIRST]:
        return np.int64(-1)
    grave = number & lists.counters[GRAVE_MASK]
    return np.int64(grave) if lists.grave_died[grave] > version else np.int64(-1)


@nb.njit(cache=True)
def most_producers(lists, row, version):
    """No fewer than the edges that end at a row in one list, at a version."""
    count = np.int64(lists.in_length[row])
    grave = grave_at(lists, lists.buried_in[row], version)
    while grave >= 0:
        count += 1
        grave = grave_at(lists, lists.grave_next_in[grave], version)
    return count
