"""What a kind gives to the kernels that several kinds share, so that they can be imported, read and checked.

The `compile.py` of a kind puts its own constants (`loop_columns.py`) and functions (`scan_kernel.py`) in their place.
"""

import numba as nb
import numpy as np

BOTH_WAYS = True  # whether a vertex may hear of those that its edges end at, too

# Places of counters.
VERSION = 0
EDGES_VISITED = 1
HEARS_BACK = 2
CURSOR_KIND = 3  # IDLE, SCAN_SPREAD, or a gather of the kind
CURSOR_ROW = 4
CURSOR_POSITION = 5  # in the list
CURSOR_BACK = 6  # 1: over the reverse list

IDLE = 0
SCAN_SPREAD = 1


@nb.njit(cache=True)
def gather_terms(loop):
    """What a gather counts by, the same for all of a list: whole numbers."""
    return (loop.counters[CURSOR_ROW],)


@nb.njit(cache=True)
def await_producer(loop, terms, producer):
    """Ask memory for what `hear_producer` reads."""


@nb.njit(cache=True)
def hear_producer(loop, terms, producer):
    """A gather comes to a producer."""


@nb.njit(cache=True)
def finish_gather(graph, loop):  # noqa: ARG001
    """All producers were heard: the cursor gets idle, or begins to spread."""
    loop.counters[CURSOR_KIND] = np.int64(IDLE)


@nb.njit(cache=True)
def spread_terms(loop):
    """What a spread tells, the same for all of a list: whole numbers."""
    return (loop.counters[CURSOR_ROW],)


@nb.njit(cache=True)
def await_consumer(loop, terms, consumer):
    """Ask memory for what `tell_consumer` reads."""


@nb.njit(cache=True)
def tell_consumer(loop, terms, consumer):
    """A spread comes to a consumer."""
