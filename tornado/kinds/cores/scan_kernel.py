"""What the scans of the compiled loop of core numbers do (`kinds/list_kernel.py`).

A gather goes over the neighbours of a vertex, each of which counts once, and counts their estimates. Of that a vertex is lowered, or
raised in a wave. If it has another estimate, a spread goes over those who hear of it here.
"""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graves_kernel import most_producers
from ...graph.rows_kernel import reverse_of
from ..directions_kernel import hears_back
from .loop_columns import (
    CURSOR_BACK,
    CURSOR_KIND,
    CURSOR_NEW,
    CURSOR_OLD,
    CURSOR_POSITION,
    CURSOR_ROW,
    IDLE,
    MOST,
    MOST_STAMPS,
    OWN,
    PHASE,
    RAISE_ALL,
    RAISED,
    RISEN,
    ROWS_SEEN,
    SCAN_LOWER,
    SCAN_SPREAD,
    STAMP,
    UPDATE,
    UPDATES,
    VERSION,
    WAVE,
)
from .queue_kernel import join_wave, lose_support, make_dirty, mark, note_raised, send_all


@nb.njit(cache=True)
def most_neighbours(graph, loop, row):
    """No fewer than a vertex has neighbours."""
    count = most_producers(graph, row, loop.counters[VERSION])
    if hears_back(loop):
        count += most_producers(reverse_of(graph), row, loop.counters[VERSION])
    return min(count, loop.counters[ROWS_SEEN] - 1)


@nb.njit(cache=True)
def set_cursor(loop, kind, row, old, new):
    """Begin a scan of a row's lists."""
    loop.counters[CURSOR_KIND] = kind
    loop.counters[CURSOR_ROW] = row
    loop.counters[CURSOR_POSITION] = 0
    loop.counters[CURSOR_BACK] = 0
    loop.counters[CURSOR_OLD] = old
    loop.counters[CURSOR_NEW] = new


@nb.njit(cache=True)
def begin_gather(loop, row, kind):
    """Begin to count the estimates of a vertex's neighbours, as far as its own."""
    if loop.counters[STAMP] >= MOST_STAMPS:
        for each in range(loop.counters[ROWS_SEEN]):
            loop.stamp[each] = 0
        loop.counters[STAMP] = 0
    loop.counters[STAMP] += 1
    # Nobody has more neighbours than there are rows; what is stored might say so.
    loop.estimate[row] = min(np.int64(loop.estimate[row]), loop.counters[ROWS_SEEN])
    set_cursor(loop, kind, row, np.int64(loop.estimate[row]), 0)


@nb.njit(cache=True)
def gather_terms(loop):
    """See `list_kernel`: who counts, by which stamp, and its own estimate."""
    return loop.counters[CURSOR_ROW], loop.counters[STAMP], loop.counters[CURSOR_OLD]


@nb.njit(cache=True)
def await_producer(loop, terms, producer):  # noqa: ARG001
    """See `list_kernel`."""
    prefetch(loop.estimate, producer)


@nb.njit(cache=True)
def hear_producer(loop, terms, neighbour):
    """Count a neighbour that was not counted yet; what is above the vertex's own estimate counts as that."""
    row, stamp, own = terms
    if neighbour != row and loop.stamp[neighbour] != stamp:
        loop.stamp[neighbour] = stamp
        loop.counts[min(np.int64(loop.estimate[neighbour]), own)] += 1


@nb.njit(cache=True)
def hear_change(loop, row, old, new):
    """A neighbour has another estimate. It matters where it counted for the vertex's own one, or may help it to the next."""
    if loop.flags[row] & OWN == 0:
        return
    own = np.int64(loop.estimate[row])
    if new < old:
        if new < own <= old:
            lose_support(loop, row)
    elif old <= own < new and own < loop.counters[MOST]:
        if loop.counters[PHASE] == WAVE:
            if loop.flags[row] & RAISED == 0:
                join_wave(loop, row)
        elif loop.counters[PHASE] != RAISE_ALL:
            mark(loop, row)


@nb.njit(cache=True)
def spread_terms(loop):
    """See `list_kernel`: the estimates before and now."""
    return loop.counters[CURSOR_OLD], loop.counters[CURSOR_NEW]


@nb.njit(cache=True)
def await_consumer(loop, terms, consumer):  # noqa: ARG001
    """See `list_kernel`."""
    prefetch(loop.estimate, consumer)


@nb.njit(cache=True)
def tell_consumer(loop, terms, consumer):
    """Tell one that hears of a vertex of its change."""
    old, new = terms
    hear_change(loop, consumer, old, new)


@nb.njit(cache=True)
def change_estimate(graph, loop, row, old, new):
    """Give a vertex another estimate, and tell whoever hears of it."""
    loop.estimate[row] = new
    loop.counters[UPDATES] += 1
    send_all(loop, loop.subscribers[row], UPDATE, graph.ids[row], new)
    set_cursor(loop, SCAN_SPREAD, row, old, new)


@nb.njit(cache=True)
def finish_lower(graph, loop):
    """The neighbours are counted: the vertex falls to the greatest number that so many of them have, or more."""
    row, own = loop.counters[CURSOR_ROW], loop.counters[CURSOR_OLD]
    loop.counters[CURSOR_KIND] = IDLE
    supported, above = own, np.int64(loop.counts[own])
    while above < supported:
        supported -= 1
        above += np.int64(loop.counts[supported])
    for value in range(own + 1):
        loop.counts[value] = 0
    loop.support[row] = above
    if supported < own:
        if loop.flags[row] & RAISED:
            loop.flags[row] &= ~np.uint8(RAISED)
            loop.counters[RISEN] -= 1
        change_estimate(graph, loop, row, own, supported)


@nb.njit(cache=True)
def finish_wave(graph, loop):
    """The neighbours are counted: the vertex rises by one if more of them than it has are at its level or above."""
    row, own = loop.counters[CURSOR_ROW], loop.counters[CURSOR_OLD]
    loop.counters[CURSOR_KIND] = IDLE
    above = np.int64(loop.counts[own])
    for value in range(own + 1):
        loop.counts[value] = 0
    if above > own and own < loop.counters[MOST]:
        note_raised(loop, row)
        loop.support[row] = 0  # who rises beside it is not known yet
        make_dirty(loop, row)
        change_estimate(graph, loop, row, own, own + 1)


@nb.njit(cache=True)
def finish_gather(graph, loop):
    """See `list_kernel`: the vertex is lowered, or raised in a wave."""
    if loop.counters[CURSOR_KIND] == SCAN_LOWER:
        finish_lower(graph, loop)
    else:
        finish_wave(graph, loop)
