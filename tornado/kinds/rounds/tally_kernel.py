"""How a vertex's next value is made of those of its neighbours where it is the one that most of them have, and of such the least.

What is heard is counted in a table of open addressing, which has room for twice as many values as there are neighbours. So a
vertex costs its neighbours, hubs too, and a count can be left in the middle of a hub.
"""

import numba as nb
import numpy as np

from ...graph.rows_kernel import hash_id
from .loop_columns import CAPACITY, TALLY_MASK, TALLY_MOST


@nb.njit(cache=True)
def begin_hearing(loop, most):
    """Begin with nothing heard; at most so many values are going to be."""
    size = np.int64(4)
    while size < 2 * most:
        size *= 2
    loop.counters[TALLY_MASK] = size - 1
    loop.counters[TALLY_MOST] = 0


@nb.njit(cache=True)
def hear_value(loop, value):
    """A neighbour has a value. Of those that were heard most often so far, the least is kept."""
    mask = loop.counters[TALLY_MASK]
    place = np.int64(hash_id(value) & np.uint64(mask))
    while loop.tally_count[place] != 0 and loop.tally_value[place] != value:
        place = (place + 1) & mask
    loop.tally_value[place] = value
    count = np.int64(loop.tally_count[place]) + 1
    loop.tally_count[place] = count
    most = loop.counters[TALLY_MOST]
    if count > most:
        loop.counters[TALLY_MOST] = count
        loop.gathered[0] = value
    elif count == most and value < loop.gathered[0]:
        loop.gathered[0] = value


@nb.njit(cache=True)
def finish_hearing(loop, row, number):
    """What the vertex has at a round: without neighbours what it had a round before. Leaves the table empty."""
    for place in range(loop.counters[TALLY_MASK] + 1):
        loop.tally_count[place] = 0
    if loop.counters[TALLY_MOST] > 0:
        return loop.gathered[0]
    return loop.value[(number - 1) * loop.counters[CAPACITY] + row]
