"""What comes into the compiled loop of rounds: edges that came and went in the graph, messages of the other workers."""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import ANY_VERSION, DELTAS, ROWS, TABLE_MASK
from ...graph.rows_kernel import find_row, reverse_of, row_of
from ..directions_kernel import consumers_here, hears_back
from ..list_kernel import run_cursor
from .loop_columns import (
    CAPACITY,
    FLOOR,
    HEARS_BACK,
    IMPOSSIBLE,
    OWN,
    RESTORING,
    ROUNDS,
    ROWS_SEEN,
    SCAN_SPREAD,
    SUBSCRIBE,
    SUBSCRIBED,
    UNSUBSCRIBE,
    UPDATE,
    VERSION,
    WORDS,
    WORKER,
)
from .queue_kernel import mark_every_round, outbox_is_full, send
from .scan_kernel import set_cursor
from .stand_in import COUNTS_OUT, initial

_DELTAS_AHEAD = 32  # edges that memory is asked for before their turn
_RECORD_COST = 8  # fuel for a message, beside the edges it makes the loop visit


@nb.njit(cache=True)
def put_initial(graph, loop, row, parameters):
    """Give a row its initial value at every round, as a vertex has that nobody is heard by."""
    value = initial(graph.ids[row], *parameters)
    for number in range(loop.counters[ROUNDS] + 1):
        loop.value[number * loop.counters[CAPACITY] + row] = value


@nb.njit(cache=True)
def count_out(graph, loop, row):
    """Count the edges that begin at an own vertex; where there are no reverse lists, as many end there."""
    if loop.counters[HEARS_BACK]:
        loop.degree[row] = reverse_of(graph).in_length[row]
    else:
        loop.degree[row] = graph.in_length[row]


@nb.njit(cache=True)
def count_deltas(graph, lists, loop):
    """Count the edges anew that begin at vertices where one came or went: what these share is another amount."""
    for i in range(lists.counters[DELTAS]):
        row = np.int64(lists.delta_consumer[i])
        count_out(graph, loop, row)
        if loop.counters[RESTORING] == 0:
            mark_every_round(loop, row)


@nb.njit(cache=True)
def admit_rows(graph, loop, parameters):
    """Initialise the columns of rows that are new in the graph."""
    for row in range(loop.counters[ROWS_SEEN], graph.counters[ROWS]):
        put_initial(graph, loop, row, parameters)
        for word in range(loop.counters[WORDS]):
            loop.dirty[row * loop.counters[WORDS] + word] = np.uint64(0)
        loop.flags[row] = 0
        loop.subscribers[row] = np.uint64(0)
        loop.counters[ROWS_SEEN] = row + 1
        if graph.owner[row] == loop.counters[WORKER]:
            loop.flags[row] = OWN
            mark_every_round(loop, row)
            if COUNTS_OUT:
                count_out(graph, loop, row)


@nb.njit(cache=True)
def tell_owner(graph, loop, row, kind):
    """Ask the owner of a ghost for its values, or ask for no more of them."""
    if kind == SUBSCRIBE:
        loop.flags[row] |= SUBSCRIBED
    else:
        loop.flags[row] &= ~np.uint8(SUBSCRIBED)
    send(loop, np.int64(graph.owner[row]), kind, graph.ids[row], 0, loop.value[row], loop.counters[FLOOR] + 2)


@nb.njit(cache=True)
def hear_deltas(graph, lists, loop):
    """Take in what came into some lists of the graph and what went."""
    count = lists.counters[DELTAS]
    words = loop.counters[WORDS]
    for i in range(count):
        ahead = min(i + _DELTAS_AHEAD, count - 1)
        prefetch(loop.flags, np.int64(lists.delta_producer[ahead]))
        prefetch(loop.dirty, words * np.int64(lists.delta_consumer[ahead]))
        producer, consumer = np.int64(lists.delta_producer[i]), np.int64(lists.delta_consumer[i])
        flags = loop.flags[producer]
        if lists.delta_sign[i] > 0:
            if flags & (OWN | SUBSCRIBED) == 0:
                tell_owner(graph, loop, producer, SUBSCRIBE)
        elif flags & SUBSCRIBED and consumers_here(graph, loop, producer) == 0:
            tell_owner(graph, loop, producer, UNSUBSCRIBE)
        if loop.counters[RESTORING] == 0:
            mark_every_round(loop, consumer)


@nb.njit(cache=True, nogil=True)
def hear_edges(graph, loop, parameters):
    """Take in the rows and edges that came, and the edges that went, by the last records applied. No scan may be under way."""
    admit_rows(graph, loop, parameters)
    hear_deltas(graph, graph, loop)
    if hears_back(loop):
        hear_deltas(graph, reverse_of(graph), loop)
    if COUNTS_OUT:
        count_deltas(graph, reverse_of(graph) if loop.counters[HEARS_BACK] else graph, loop)


@nb.njit(cache=True, nogil=True)
def hear_rows(graph, loop, parameters, first, fuel):
    """Take in a graph that was there before this loop: ask for the values of producers elsewhere, from row `first`.

    Returns the first row that was not looked at.
    """
    admit_rows(graph, loop, parameters)
    row = first
    while row < graph.counters[ROWS] and fuel > 0 and not outbox_is_full(loop):
        if loop.flags[row] & (OWN | SUBSCRIBED) == 0 and consumers_here(graph, loop, row) > 0:
            tell_owner(graph, loop, row, SUBSCRIBE)
        fuel -= 1
        row += 1
    return row


@nb.njit(cache=True)
def row_for(graph, loop, identifier, parameters):
    """The row of a vertex id, or -1. A main loop may hear of a vertex before the record that names it; a branch may not."""
    if loop.counters[VERSION] == ANY_VERSION:
        row = row_of(graph, identifier)
        if row >= loop.counters[ROWS_SEEN]:
            admit_rows(graph, loop, parameters)
        return row
    row = find_row(graph.ids, graph.table, graph.counters[TABLE_MASK], identifier)
    return row if row < loop.counters[ROWS_SEEN] else np.int64(-1)


@nb.njit(cache=True)
def answer_subscription(graph, loop, row, worker):
    """From now on the worker hears of this vertex, beginning with all that it has."""
    loop.subscribers[row] |= np.uint64(1) << np.uint64(worker)
    for number in range(1, loop.counters[ROUNDS]):
        value = loop.value[number * loop.counters[CAPACITY] + row]
        send(loop, worker, UPDATE, graph.ids[row], number, value, loop.counters[FLOOR] + 2)


@nb.njit(cache=True)
def receive_one(graph, loop, parameters, sender, kind, identifier, number, value):
    """One message of another worker of this loop."""
    row = row_for(graph, loop, identifier, parameters)
    if row < 0:
        loop.counters[IMPOSSIBLE] += 1
    elif kind == UPDATE and 0 < number < loop.counters[ROUNDS]:
        place = number * loop.counters[CAPACITY] + row
        if loop.value[place] != value:
            loop.value[place] = value
            if loop.counters[RESTORING] == 0:
                set_cursor(loop, SCAN_SPREAD, row, number, loop.counters[FLOOR] + 1)
    elif kind == SUBSCRIBE:
        answer_subscription(graph, loop, row, sender)
    elif kind == UNSUBSCRIBE:
        loop.subscribers[row] &= ~(np.uint64(1) << np.uint64(sender))
    else:
        loop.counters[IMPOSSIBLE] += 1


@nb.njit(cache=True, nogil=True)
def receive(graph, loop, parameters, sender, kinds, identifiers, rounds, values, first, fuel):
    """Take in messages ``first ..`` of one bundle; returns the index of the first one that was not begun."""
    i = first
    while True:
        fuel = run_cursor(graph, loop, fuel)
        if fuel <= 0 or i == kinds.size or outbox_is_full(loop):
            return i
        receive_one(graph, loop, parameters, sender, kinds[i], identifiers[i], np.int64(rounds[i]), values[i])
        fuel -= _RECORD_COST
        i += 1
