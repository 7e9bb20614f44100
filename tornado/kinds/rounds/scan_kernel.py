"""What the scans of the compiled loop of rounds do (`kinds/list_kernel.py`).

A gather goes over those that a vertex hears, and computes one cell. If that has another value, a spread goes over those who hear of
the vertex: their cells of the next round become dirty.
"""

import numba as nb

from ...columns import prefetch
from ...graph.graves_kernel import most_producers
from ...graph.rows_kernel import reverse_of
from ..directions_kernel import hears_back
from .loop_columns import (
    CAPACITY,
    CURSOR_BACK,
    CURSOR_ITERATION,
    CURSOR_KIND,
    CURSOR_POSITION,
    CURSOR_ROUND,
    CURSOR_ROW,
    IDLE,
    ROUNDS,
    SCAN_GATHER,
    SCAN_SPREAD,
    UPDATE,
    VERSION,
    WORDS,
)
from .queue_kernel import mark_dirty, note_update, send_all
from .tally_kernel import begin_hearing, finish_hearing, hear_value


@nb.njit(cache=True)
def set_cursor(loop, kind, row, number, iteration):
    """Begin a scan of a row's lists."""
    loop.counters[CURSOR_KIND] = kind
    loop.counters[CURSOR_ROW] = row
    loop.counters[CURSOR_ROUND] = number
    loop.counters[CURSOR_POSITION] = 0
    loop.counters[CURSOR_BACK] = 0
    loop.counters[CURSOR_ITERATION] = iteration


@nb.njit(cache=True)
def begin_gather(graph, loop, row, number, iteration):
    """Begin to compute a cell."""
    most = most_producers(graph, row, loop.counters[VERSION])
    if hears_back(loop):
        most += most_producers(reverse_of(graph), row, loop.counters[VERSION])
    begin_hearing(loop, most)
    set_cursor(loop, SCAN_GATHER, row, number, iteration)


@nb.njit(cache=True)
def gather_terms(loop):
    """See `list_kernel`: where the cells of the round before stand."""
    return ((loop.counters[CURSOR_ROUND] - 1) * loop.counters[CAPACITY],)


@nb.njit(cache=True)
def await_producer(loop, terms, producer):
    """See `list_kernel`."""
    prefetch(loop.value, terms[0] + producer)


@nb.njit(cache=True)
def hear_producer(loop, terms, producer):
    """Hear what a producer had a round before."""
    hear_value(loop, loop.value[terms[0] + producer])


@nb.njit(cache=True)
def spread_terms(loop):
    """See `list_kernel`: the round that gets dirty, and how many words the bits of a row take."""
    return loop.counters[CURSOR_ROUND] + 1, loop.counters[WORDS]


@nb.njit(cache=True)
def await_consumer(loop, terms, consumer):
    """See `list_kernel`."""
    number, words = terms
    prefetch(loop.dirty, words * consumer + (number >> 6))


@nb.njit(cache=True)
def tell_consumer(loop, terms, consumer):
    """The next round of one that hears of a vertex gets dirty."""
    mark_dirty(loop, consumer, terms[0])


@nb.njit(cache=True)
def finish_gather(graph, loop):
    """The cell is computed. Another value is told to whoever hears of the vertex; nobody hears of the last round."""
    row, number = loop.counters[CURSOR_ROW], loop.counters[CURSOR_ROUND]
    iteration = loop.counters[CURSOR_ITERATION]
    capacity = loop.counters[CAPACITY]
    value = finish_hearing(loop, row, number)
    loop.counters[CURSOR_KIND] = IDLE
    place = number * capacity + row
    if value == loop.value[place]:
        return
    loop.value[place] = value
    note_update(loop, iteration)
    if number < loop.counters[ROUNDS]:
        send_all(loop, loop.subscribers[row], UPDATE, graph.ids[row], number, value, iteration + 1)
        set_cursor(loop, SCAN_SPREAD, row, number, iteration)
