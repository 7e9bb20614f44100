"""What comes into the compiled loop of core numbers: edges that came and went in the graph, messages of the other workers.

An edge that went makes those dirty that it counted for. One that came may raise its ends, so these are marked: an end only where
the other one has as much or more, since what is below its level does not help it to the next.
"""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import ANY_VERSION, DELTAS, ROWS, TABLE_MASK
from ...graph.rows_kernel import find_row, reverse_of, row_of
from ..directions_kernel import consumers_here
from ..list_kernel import run_cursor
from .loop_columns import (
    HEARS_BACK,
    IMPOSSIBLE,
    MOST,
    OWN,
    PHASE,
    RAISE_ALL,
    RESTORING,
    ROWS_SEEN,
    SCAN_SPREAD,
    SUBSCRIBE,
    SUBSCRIBED,
    UNKNOWN,
    UNSUBSCRIBE,
    UPDATE,
    VERSION,
    WORKER,
)
from .queue_kernel import lose_support, mark, outbox_is_full, send
from .scan_kernel import set_cursor

_DELTAS_AHEAD = 32  # edges that memory is asked for before their turn
_RECORD_COST = 8  # fuel for a message, beside the edges it makes the loop visit


@nb.njit(cache=True)
def has_edges(graph, loop, row):
    """Whether edges end or begin at an own vertex now."""
    count = np.int64(graph.in_length[row])
    if loop.counters[HEARS_BACK]:
        count += np.int64(reverse_of(graph).in_length[row])
    return count > 0


@nb.njit(cache=True)
def admit_rows(graph, loop):
    """Initialise the columns of rows that are new in the graph."""
    for row in range(loop.counters[ROWS_SEEN], graph.counters[ROWS]):
        is_own = graph.owner[row] == loop.counters[WORKER]
        loop.estimate[row] = 0 if is_own else UNKNOWN
        loop.support[row] = 0
        loop.stamp[row] = 0
        loop.flags[row] = OWN if is_own else 0
        loop.subscribers[row] = np.uint64(0)
        loop.counters[ROWS_SEEN] = row + 1
        if is_own and loop.counters[RESTORING] == 0 and has_edges(graph, loop, row):
            mark(loop, row)


@nb.njit(cache=True)
def tell_owner(graph, loop, row, kind):
    """Ask the owner of a ghost for its estimate, or ask for no more of them."""
    if kind == SUBSCRIBE:
        loop.flags[row] |= SUBSCRIBED
        loop.estimate[row] = UNKNOWN  # what was heard before may be too low by now
    else:
        loop.flags[row] &= ~np.uint8(SUBSCRIBED)
    send(loop, np.int64(graph.owner[row]), kind, graph.ids[row], 0)


@nb.njit(cache=True)
def hear_deltas(graph, lists, loop):
    """Take in what came into some lists of the graph and what went."""
    count = lists.counters[DELTAS]
    for i in range(count):
        ahead = min(i + _DELTAS_AHEAD, count - 1)
        prefetch(loop.estimate, np.int64(lists.delta_producer[ahead]))
        prefetch(loop.estimate, np.int64(lists.delta_consumer[ahead]))
        producer, consumer = np.int64(lists.delta_producer[i]), np.int64(lists.delta_consumer[i])
        flags, came = loop.flags[producer], lists.delta_sign[i] > 0
        if came:
            if flags & (OWN | SUBSCRIBED) == 0:
                tell_owner(graph, loop, producer, SUBSCRIBE)
        elif flags & SUBSCRIBED and consumers_here(graph, loop, producer) == 0:
            tell_owner(graph, loop, producer, UNSUBSCRIBE)
        if loop.counters[RESTORING] or producer == consumer:
            continue
        own = np.int64(loop.estimate[consumer])
        counts = np.int64(loop.estimate[producer]) >= own
        if not came:
            if counts:
                lose_support(loop, consumer)
        # Who rises to its degree later tells nobody here.
        elif own < loop.counters[MOST] and (counts or loop.counters[PHASE] == RAISE_ALL):
            mark(loop, consumer)


@nb.njit(cache=True, nogil=True)
def hear_edges(graph, loop):
    """Take in the rows and edges that came, and the edges that went, by the last records applied. No scan may be under way."""
    admit_rows(graph, loop)
    hear_deltas(graph, graph, loop)
    if loop.counters[HEARS_BACK]:
        hear_deltas(graph, reverse_of(graph), loop)


@nb.njit(cache=True, nogil=True)
def hear_rows(graph, loop, first, fuel):
    """Take in a graph that was there before this loop: ask for the estimates of neighbours elsewhere, from row `first`.

    Returns the first row that was not looked at.
    """
    admit_rows(graph, loop)
    row = first
    while row < graph.counters[ROWS] and fuel > 0 and not outbox_is_full(loop):
        if loop.flags[row] & (OWN | SUBSCRIBED) == 0 and consumers_here(graph, loop, row) > 0:
            tell_owner(graph, loop, row, SUBSCRIBE)
        fuel -= 1
        row += 1
    return row


@nb.njit(cache=True)
def row_for(graph, loop, identifier):
    """The row of a vertex id, or -1. A main loop may hear of a vertex before the record that names it; a branch may not."""
    if loop.counters[VERSION] == ANY_VERSION:
        row = row_of(graph, identifier)
        if row >= loop.counters[ROWS_SEEN]:
            admit_rows(graph, loop)
        return row
    row = find_row(graph.ids, graph.table, graph.counters[TABLE_MASK], identifier)
    return row if row < loop.counters[ROWS_SEEN] else np.int64(-1)


@nb.njit(cache=True)
def hear_estimate(loop, row, value):
    """A neighbour elsewhere has another estimate."""
    old = np.int64(loop.estimate[row])
    loop.estimate[row] = value
    if value == old or loop.counters[RESTORING]:
        return
    # Where all rise to their degree, nobody needs the others for it.
    if value < old or loop.counters[PHASE] != RAISE_ALL:
        set_cursor(loop, SCAN_SPREAD, row, old, value)


@nb.njit(cache=True)
def receive_one(graph, loop, sender, kind, identifier, value):
    """One message of another worker of this loop."""
    row = row_for(graph, loop, identifier)
    if row < 0 or (loop.flags[row] & OWN == 0) != (kind == UPDATE):
        loop.counters[IMPOSSIBLE] += 1
    elif kind == UPDATE:
        hear_estimate(loop, row, value)
    elif kind == SUBSCRIBE:
        loop.subscribers[row] |= np.uint64(1) << np.uint64(sender)
        send(loop, sender, UPDATE, identifier, np.int64(loop.estimate[row]))
    elif kind == UNSUBSCRIBE:
        loop.subscribers[row] &= ~(np.uint64(1) << np.uint64(sender))
    else:
        loop.counters[IMPOSSIBLE] += 1


@nb.njit(cache=True, nogil=True)
def receive(graph, loop, sender, kinds, identifiers, values, first, fuel):
    """Take in messages ``first ..`` of one bundle; returns the index of the first one that was not begun.

    It may end with a cursor in the middle of a list: who calls it comes again before anything behind the messages counts.
    """
    i = first
    while True:
        fuel = run_cursor(graph, loop, fuel)
        if fuel <= 0 or i == kinds.size or outbox_is_full(loop):
            return i
        receive_one(graph, loop, sender, kinds[i], identifiers[i], np.int64(values[i]))
        fuel -= _RECORD_COST
        i += 1
