"""What comes into the compiled loop: edges that came and went in the graph, messages of the other workers."""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import ANY_VERSION, DELTAS, ROWS, SEQUENCE
from ...graph.rows_kernel import fetch_named, reverse_of
from ...protocol.session_kernel import CLOCK, OPEN_RECORDS, open_session, push_if_ready, withdraw
from ..directions_kernel import consumers_here, hears_back
from .loop_columns import (
    ACKNOWLEDGE,
    ASKED,
    AT_REST,
    CAP,
    DELAY_BOUND,
    EDGES_VISITED,
    HELD,
    IMPOSSIBLE,
    INVALIDATE,
    NEXT_WAVE,
    OWN,
    PREPARE,
    SCAN_COMMIT,
    SCAN_INPUT,
    SCAN_PREPARE,
    SPREADS,
    SUBSCRIBE,
    SUBSCRIBED,
    SUBSCRIBED_REPLY,
    UNSUBSCRIBE,
    UPDATE,
    VERSION,
)
from .queue_kernel import least_pending, outbox_is_full, send
from .scan_kernel import answer_subscription, drain, offer_to_all, settle_producer
from .stand_in import WORST, better
from .value_kernel import put_row_value, row_value_at, value_of_message
from .vertex_kernel import (
    admit_rows,
    consider_input,
    recheck,
    row_for,
    set_cursor,
    touch,
)

_DELTAS_AHEAD = 32  # edges that memory is asked for before their turn
RECORD_COST = 8  # fuel for a record or a message, beside the edges it makes the loop visit


@nb.njit(cache=True)
def hear_new_edge(graph, session, loop, producer, consumer, weight):
    """Subscribe to an edge's producer if it is the first one here, and weigh its offer."""
    flags = loop.flags[producer]
    if flags & OWN == 0 and flags & (SUBSCRIBED | ASKED) == 0:
        loop.flags[producer] |= ASKED
        touch(loop, producer)
        send(loop, np.int64(graph.owner[producer]), SUBSCRIBE, graph.ids[producer], WORST, 0)
    elif producer != consumer:
        consider_input(session, loop, consumer, producer, weight)


@nb.njit(cache=True)
def hear_lost_edge(graph, session, loop, producer, consumer, born):
    """The consumer is rechecked if it may have lived on the edge, and a producer without edges here is not heard any more."""
    if producer != consumer:
        entry = session.record[producer] - 1
        if entry >= 0 and born <= session.born[entry] and withdraw(session, producer, consumer):
            settle_producer(graph, session, loop, producer)
        if loop.parent[consumer] == producer:
            recheck(loop, consumer, loop.counters[NEXT_WAVE])
    if loop.flags[producer] & SUBSCRIBED and consumers_here(graph, loop, producer) == 0:
        unsubscribe(graph, loop, producer)


@nb.njit(cache=True)
def unsubscribe(graph, loop, row):
    """A ghost has no edges left."""
    touch(loop, row)
    loop.flags[row] &= ~np.uint8(SUBSCRIBED)
    put_row_value(loop.value, row, WORST)
    send(loop, np.int64(graph.owner[row]), UNSUBSCRIBE, graph.ids[row], WORST, 0)


@nb.njit(cache=True)
def hear_deltas(graph, lists, session, loop):
    """Take in what came into some lists of the graph and what went."""
    count = lists.counters[DELTAS]
    for i in range(count):
        ahead = min(i + _DELTAS_AHEAD, count - 1)
        prefetch(loop.flags, np.int64(lists.delta_producer[ahead]))
        prefetch(loop.flags, np.int64(lists.delta_consumer[ahead]))
        producer, consumer = np.int64(lists.delta_producer[i]), np.int64(lists.delta_consumer[i])
        if lists.delta_sign[i] > 0:
            hear_new_edge(graph, session, loop, producer, consumer, lists.delta_weight[i])
        else:
            hear_lost_edge(graph, session, loop, producer, consumer, lists.delta_born[i])


@nb.njit(cache=True, nogil=True)
def hear_edges(graph, session, loop, parameters):
    """Take in the rows and edges that came, and the edges that went, by the last records applied. No scan may be under way."""
    admit_rows(graph, session, loop, parameters)
    hear_deltas(graph, graph, session, loop)
    if hears_back(loop):
        hear_deltas(graph, reverse_of(graph), session, loop)


@nb.njit(cache=True)
def hear_newest_of(graph, session, loop, producer, heard):
    """Weigh what a producer offers along its edges that were born after `heard`; returns how many edges were looked at."""
    if not better(row_value_at(loop.value, producer), WORST):
        return np.int64(0)
    first, length = graph.out_start[producer], np.int64(graph.out_length[producer])
    for slot in range(first, first + length):
        consumer = np.int64(graph.edge_consumer[slot])
        if graph.edge_born[slot] > heard and consumer != producer:
            consider_input(session, loop, consumer, producer, graph.edge_weight[slot])
    return length


@nb.njit(cache=True, nogil=True)
def hear_rows(graph, session, loop, parameters, heard, first, fuel):
    """Take in edges that were not heard of one by one, from row `first`: ask for the values of producers elsewhere.

    Those born after `heard` came in bulk, while the loop had values. Of a graph that was there before the loop there are none: what
    producers here have to offer follows from their own initial values. Returns the first row that was not looked at.
    """
    admit_rows(graph, session, loop, parameters)
    row = first
    while row < graph.counters[ROWS] and fuel > 0 and not outbox_is_full(loop):
        flags = loop.flags[row]
        if flags & (OWN | SUBSCRIBED):
            if heard < graph.counters[SEQUENCE]:
                fuel -= hear_newest_of(graph, session, loop, row, heard)
        elif flags & ASKED == 0 and consumers_here(graph, loop, row) > 0:
            loop.flags[row] |= ASKED
            touch(loop, row)
            send(loop, np.int64(graph.owner[row]), SUBSCRIBE, graph.ids[row], WORST, 0)
            if loop.counters[AT_REST]:
                loop.counters[AT_REST] += 1
        fuel -= 1
        row += 1
    return row


@nb.njit(cache=True)
def receive_one(graph, session, loop, parameters, sender, kind, identifier, value, number):
    """One message of another worker of this loop."""
    row = row_for(graph, session, loop, identifier, parameters)
    if kind == UPDATE:
        if loop.flags[row] & SUBSCRIBED:
            put_row_value(loop.value, row, value)
            touch(loop, row)
        set_cursor(loop, SCAN_COMMIT, row, number)
    elif kind == PREPARE:
        session.counters[CLOCK] = max(session.counters[CLOCK], number)
        open_session(session, row, number, identifier, graph.counters[SEQUENCE])
        set_cursor(loop, SCAN_PREPARE, row, 0)
    elif kind == ACKNOWLEDGE:
        entry = session.record[row] - 1
        if entry < 0 or session.waiting[entry] == 0:  # nobody was asked
            loop.counters[IMPOSSIBLE] += 1
            return
        session.waiting[entry] -= 1
        session.reached[entry] = max(session.reached[entry], number)
        push_if_ready(session, row)
    elif kind == INVALIDATE:
        if loop.flags[row] & SUBSCRIBED:
            put_row_value(loop.value, row, value)
            touch(loop, row)
            loop.spread_row[loop.counters[SPREADS]] = row
            loop.spread_wave[loop.counters[SPREADS]] = number
            loop.counters[SPREADS] += 1
    elif kind == SUBSCRIBE:
        if session.record[row] != 0:
            loop.held_row[loop.counters[HELD]] = row
            loop.held_worker[loop.counters[HELD]] = sender
            loop.counters[HELD] += 1
        else:
            answer_subscription(graph, loop, row, sender)
    elif kind == UNSUBSCRIBE:
        loop.subscribers[row] &= ~(np.uint64(1) << np.uint64(sender))
        touch(loop, row)
    elif kind == SUBSCRIBED_REPLY:
        touch(loop, row)
        loop.flags[row] &= ~np.uint8(ASKED)
        loop.flags[row] |= SUBSCRIBED
        put_row_value(loop.value, row, value)
        is_at_rest = loop.counters[AT_REST] > 0
        if is_at_rest:
            loop.counters[AT_REST] -= 1
        if consumers_here(graph, loop, row) == 0 and loop.counters[VERSION] == ANY_VERSION:
            unsubscribe(graph, loop, row)
        elif not is_at_rest and (number > 0 or better(value, WORST)):
            set_cursor(loop, SCAN_INPUT, row, number)
    else:
        loop.counters[IMPOSSIBLE] += 1


@nb.njit(cache=True)
def take_short_update(graph, session, loop, parameters, identifier, value, iteration, fuel):
    """Take in an update whose consumers here are few and in no session, without a cursor; its cost, or -1: not of that kind."""
    if session.counters[OPEN_RECORDS] != 0 or loop.counters[VERSION] < graph.counters[SEQUENCE]:
        return np.int64(-1)
    row = row_for(graph, session, loop, identifier, parameters)
    length = consumers_here(graph, loop, row)
    if length >= fuel:
        return np.int64(-1)
    if loop.flags[row] & SUBSCRIBED:
        put_row_value(loop.value, row, value)
        touch(loop, row)
    offer_to_all(graph, session, loop, row, iteration)
    loop.counters[EDGES_VISITED] += length
    return length


@nb.njit(cache=True, nogil=True)
def receive(graph, session, loop, parameters, sender, kinds, identifiers, values, numbers, first, fuel):
    """Take in messages ``first ..`` of one bundle; returns the index of the first one that was not begun."""
    synchronous = loop.counters[DELAY_BOUND] == 1
    i = first
    while True:
        fuel = drain(graph, session, loop, parameters, fuel)
        while i < kinds.size and fuel > 0 and kinds[i] == UPDATE:
            prefetch(loop.flags, fetch_named(graph, identifiers, i))
            if synchronous and least_pending(loop) <= min(numbers[i], loop.counters[CAP]):
                return i  # this worker's own round of that iteration comes first
            cost = take_short_update(
                graph,
                session,
                loop,
                parameters,
                identifiers[i],
                value_of_message(values, i),
                numbers[i],
                fuel,
            )
            if cost < 0:
                break
            fuel -= cost + RECORD_COST
            i += 1
        if fuel <= 0 or i == kinds.size or outbox_is_full(loop):
            return i
        prefetch(loop.flags, fetch_named(graph, identifiers, i))
        receive_one(
            graph,
            session,
            loop,
            parameters,
            sender,
            kinds[i],
            identifiers[i],
            value_of_message(values, i),
            numbers[i],
        )
        fuel -= RECORD_COST
        i += 1
