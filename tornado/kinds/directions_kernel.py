"""Along which lists of the graph a compiled loop hears: of the edges as they are, and the other way round too."""

import numba as nb
import numpy as np

from ..graph.rows_kernel import reverse_of
from .stand_in_kernel import BOTH_WAYS, HEARS_BACK


@nb.njit(cache=True)
def hears_back(loop):
    """Whether the loop hears along the reverse lists as well."""
    return BOTH_WAYS and loop.counters[HEARS_BACK] != 0


@nb.njit(cache=True)
def consumers_here(graph, loop, row):
    """How many entries the lists of those have who hear of a vertex on this worker."""
    count = np.int64(graph.out_length[row])
    if hears_back(loop):
        count += np.int64(reverse_of(graph).out_length[row])
    return count
