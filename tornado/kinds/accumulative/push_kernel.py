"""Announcing, and what comes into the compiled loop: edges that came and went in the graph, messages of the other workers.

Vertices wait in a queue, first in, first out, once their residual has passed their threshold. A vertex announces by adding what it has
changed by, times the weight, to the sum of each consumer; on other workers the same is done with the difference to what was heard
before. What travels is the absolute value. So a cut that keeps messages under way conserves mass with nothing added to it.

An entry point stops within its fuel (edges visited), also in the middle of a hub: a cursor says who is being told, and the graph does
not change before all of them are (`finish_cursor`).
"""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import ANY_VERSION, DELTAS, ROWS
from ...graph.graves_kernel import grave_at
from ...graph.rows_kernel import fetch_named
from .loop_columns import (
    ABSOLUTE,
    CURSOR_CHANGE,
    CURSOR_POSITION,
    CURSOR_ROW,
    DEGREE,
    DEGREES,
    DRIFT,
    EDGES_VISITED,
    FOLLOWING_ROW,
    GOAL,
    IMPOSSIBLE,
    MASS,
    OUT_LIST,
    OWN,
    PLACING,
    PULLS,
    QUEUE_FIRST,
    QUEUE_LENGTH,
    QUEUED,
    RESIDUAL,
    ROWS_SEEN,
    SIGNED,
    SUBSCRIBE,
    SUBSCRIBED,
    UNSUBSCRIBE,
    UPDATE,
    UPDATES,
    VERSION,
    WEIGHTED,
)
from .row_kernel import (
    add_weight,
    admit_rows,
    announced,
    drift_of,
    hear,
    is_due,
    outbox_is_full,
    own_target,
    row_for,
    send,
    set_share,
    share_of,
    tell_owner,
    tell_owners,
    tell_subscribers,
    touch_ghost,
    touch_producer,
)

_DELTAS_AHEAD = 32  # edges that memory is asked for before their turn
_EDGES_AHEAD = 16
_QUEUED_AHEAD = 4  # in the queue, what there is of them
_LISTS_AHEAD = 2  # and the beginnings of their lists
ROW_COST = 8  # fuel for a row or a message, beside the edges it makes the loop visit


@nb.njit(cache=True)
def begin_scatter(loop, row, change):
    """What a producer announces has changed by so much: its consumers here are told, see `run_cursor`."""
    if change != 0.0:
        loop.counters[CURSOR_ROW] = row + 1
        loop.counters[CURSOR_POSITION] = 0
        loop.totals[CURSOR_CHANGE] = change


@nb.njit(cache=True)
def run_cursor(graph, loop, parameters, fuel):
    """Go on telling consumers; returns the fuel left, 0 when there are more of them."""
    row = loop.counters[CURSOR_ROW] - 1
    if row < 0:
        return fuel
    if fuel <= 0:
        return np.int64(0)
    change = loop.totals[CURSOR_CHANGE]
    version = loop.counters[VERSION]
    latest = version == ANY_VERSION or loop.changed[row] & OUT_LIST == 0
    first = graph.out_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(graph.out_length[row])
    stop = min(length, position + fuel)
    for slot in range(first + position, first + min(stop, position + _EDGES_AHEAD)):
        prefetch(loop.heard, np.int64(graph.edge_consumer[slot]))
    for slot in range(first + position, first + stop):
        # Behind the end of the list stands something else, which does no harm.
        prefetch(loop.heard, np.int64(graph.edge_consumer[slot + _EDGES_AHEAD]))
        if latest or graph.edge_born[slot] <= version:
            hear(loop, parameters, np.int64(graph.edge_consumer[slot]), graph.edge_weight[slot] * change)
    loop.counters[EDGES_VISITED] += stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    if not latest:
        grave = grave_at(graph, graph.buried_out[row], version)
        while grave >= 0:
            if graph.grave_born[grave] <= version:
                consumer = np.int64(graph.grave_consumer[grave])
                hear(loop, parameters, consumer, graph.grave_weight[grave] * change)
            grave = grave_at(graph, graph.grave_next_out[grave], version)
    loop.counters[CURSOR_ROW] = 0
    return max(fuel - (stop - position), np.int64(1))


@nb.njit(cache=True, nogil=True)
def finish_cursor(graph, loop, parameters):
    """Tell the consumers that are left, however long it takes, so that the graph may change."""
    run_cursor(graph, loop, parameters, np.int64(1) << 60)


@nb.njit(cache=True)
def is_enough(loop):
    """Whether the residuals have come down to the goal."""
    totals = loop.totals
    return totals[ABSOLUTE] + abs(totals[SIGNED]) <= totals[GOAL]


@nb.njit(cache=True, nogil=True)
def announce(graph, loop, parameters, fuel):
    """Let queued vertices announce; returns the fuel left, 0 where it was used up or an outbox is to be emptied first."""
    totals, counters = loop.totals, loop.counters
    while True:
        fuel = run_cursor(graph, loop, parameters, fuel)
        if counters[CURSOR_ROW] == 0 and (counters[QUEUE_LENGTH] == 0 or is_enough(loop)):
            return max(fuel, np.int64(1))
        if fuel <= 0 or outbox_is_full(loop):
            return np.int64(0)
        row = np.int64(loop.queue[counters[QUEUE_FIRST] & loop.queue_mask[0]])
        # Behind the end of the queue stand rows as well, that have announced.
        ahead = np.int64(loop.queue[(counters[QUEUE_FIRST] + _QUEUED_AHEAD) & loop.queue_mask[0]])
        prefetch(loop.heard, ahead)
        prefetch(graph.out_start, ahead)
        prefetch(graph.out_length, ahead)
        ahead = np.int64(loop.queue[(counters[QUEUE_FIRST] + _LISTS_AHEAD) & loop.queue_mask[0]])
        prefetch(graph.edge_consumer, graph.out_start[ahead])
        prefetch(graph.edge_weight, graph.out_start[ahead])
        counters[QUEUE_FIRST] += 1
        counters[QUEUE_LENGTH] -= 1
        loop.flags[row] &= ~np.uint8(QUEUED)
        fuel -= ROW_COST
        if loop.degree[row] == 0:
            continue
        target, worth = own_target(loop, row), announced(loop, parameters, row)
        residual = target - worth
        if not is_due(loop, row, residual):
            continue
        before = loop.share[row]
        loop.share[row] = share_of(loop, parameters, row, target)
        now = announced(loop, parameters, row)
        totals[ABSOLUTE] += abs(target - now) - abs(residual)
        totals[SIGNED] += worth - now
        totals[MASS] += now - worth
        totals[RESIDUAL] += abs(residual)
        counters[UPDATES] += 1
        tell_subscribers(graph, loop, row)
        begin_scatter(loop, row, loop.share[row] - before)


@nb.njit(cache=True)
def subscribe(graph, loop, row):
    """Ask for what a producer elsewhere announces, if it was not asked yet."""
    if loop.flags[row] & SUBSCRIBED == 0:
        loop.flags[row] |= SUBSCRIBED
        send(loop, np.int64(graph.owner[row]), SUBSCRIBE, graph.ids[row], 0.0, 0)


@nb.njit(cache=True)
def hear_new_edge(graph, loop, parameters, producer, consumer, weight):
    """An edge came: it adds to the producer's out-weight, and what the producer announced counts at once."""
    if loop.flags[producer] & OWN:
        touch_producer(graph, loop, parameters, producer, weight, 1)
    else:
        touch_ghost(loop, producer, weight, 1)
        subscribe(graph, loop, producer)
    hear(loop, parameters, consumer, weight * loop.share[producer])


@nb.njit(cache=True)
def hear_lost_edge(graph, loop, parameters, producer, consumer, weight):
    """An edge went, and what came over it; a producer without edges here is not heard any more."""
    hear(loop, parameters, consumer, -weight * loop.share[producer])
    if loop.flags[producer] & OWN:
        touch_producer(graph, loop, parameters, producer, -weight, -1)
        return
    touch_ghost(loop, producer, -weight, -1)


@nb.njit(cache=True, nogil=True)
def hear_edges(graph, loop, parameters):
    """Take in the rows and edges that came, and the edges that went, by the last records applied; a weight of 0 is no edge."""
    admit_rows(graph, loop, parameters)
    # Of a graph of which nothing is taken in yet there is nothing to hear.
    count = graph.counters[DELTAS] if loop.counters[FOLLOWING_ROW] > 0 else 0
    for i in range(count):
        ahead = min(i + _DELTAS_AHEAD, count - 1)
        prefetch(loop.heard, np.int64(graph.delta_producer[ahead]))
        prefetch(loop.heard, np.int64(graph.delta_consumer[ahead]))
        producer, consumer = np.int64(graph.delta_producer[i]), np.int64(graph.delta_consumer[i])
        weight = graph.delta_weight[i]
        if weight != 1.0:
            loop.counters[WEIGHTED] = 1
        if weight == 0.0 or producer >= loop.counters[FOLLOWING_ROW]:
            continue
        if graph.delta_sign[i] > 0:
            hear_new_edge(graph, loop, parameters, producer, consumer, weight)
        else:
            hear_lost_edge(graph, loop, parameters, producer, consumer, weight)
    # Only now, when all of the deltas are heard, says the length of its list whether a ghost has edges left.
    for i in range(count):
        producer = np.int64(graph.delta_producer[i])
        if loop.flags[producer] & SUBSCRIBED and graph.out_length[producer] == 0:
            loop.flags[producer] &= ~np.uint8(SUBSCRIBED)
            set_share(loop, producer, 0.0)
            send(loop, np.int64(graph.owner[producer]), UNSUBSCRIBE, graph.ids[producer], 0.0, 0)
    tell_owners(graph, loop)


@nb.njit(cache=True, nogil=True)
def hear_rows(graph, loop, parameters, fuel):
    """Take in some of a graph that was there before this loop; returns whether that was all.

    Edges of producers that are not taken in yet are not heard of as they come and go: they are in the lists, or not.
    """
    admit_rows(graph, loop, parameters)
    row = loop.counters[FOLLOWING_ROW]
    while row < graph.counters[ROWS] and fuel > 0 and not outbox_is_full(loop):
        first = graph.out_start[row]
        for slot in range(first, first + graph.out_length[row]):
            weight = graph.edge_weight[slot]
            if weight != 1.0:
                loop.counters[WEIGHTED] = 1
            if weight != 0.0:
                consumer = np.int64(graph.edge_consumer[slot])
                hear_new_edge(graph, loop, parameters, row, consumer, weight)
        fuel -= ROW_COST + graph.out_length[row]
        row += 1
    finished = row == graph.counters[ROWS]
    loop.counters[FOLLOWING_ROW] = ANY_VERSION if finished else row
    tell_owners(graph, loop)
    return finished


@nb.njit(cache=True, nogil=True)
def weigh_rows(graph, loop, parameters, fuel):
    """Like `hear_rows`, where a snapshot is placed: producers get their out-weights, and nobody hears before `hear_placed`."""
    admit_rows(graph, loop, parameters)
    row = loop.counters[FOLLOWING_ROW]
    while row < graph.counters[ROWS] and fuel > 0 and not outbox_is_full(loop):
        edges = 0
        first = graph.out_start[row]
        for slot in range(first, first + graph.out_length[row]):
            weight = graph.edge_weight[slot]
            if weight != 1.0:
                loop.counters[WEIGHTED] = 1
            if weight != 0.0:
                edges += 1
                add_weight(loop, row, weight)
        loop.degree[row] += edges
        if loop.flags[row] & OWN:
            loop.counters[DEGREES] += edges
        elif edges > 0:
            loop.flags[row] |= SUBSCRIBED  # as the owner takes it, see `note_weight`
            tell_owner(graph, loop, row)
        fuel -= ROW_COST + graph.out_length[row]
        row += 1
    finished = row == graph.counters[ROWS]
    loop.counters[FOLLOWING_ROW] = ANY_VERSION if finished else row
    return finished


@nb.njit(cache=True)
def note_weight(loop, sender, row, change, edges):
    """A worker has weighed its edges of a vertex of this one while a snapshot is placed, and is to be told what the vertex announces."""
    add_weight(loop, row, change)
    loop.degree[row] += edges
    loop.counters[DEGREES] += edges
    loop.subscribers[row] |= np.uint64(1) << np.uint64(sender)


@nb.njit(cache=True)
def receive_one(graph, loop, parameters, sender, kind, identifier, value, number):
    """One message of another worker of this loop."""
    row = row_for(graph, loop, parameters, identifier)
    if row < 0:
        return
    if kind == UPDATE:
        if loop.flags[row] & SUBSCRIBED:
            change = value - loop.share[row]
            set_share(loop, row, value)
            if not loop.counters[PULLS] and not loop.counters[PLACING]:
                begin_scatter(loop, row, change)
    elif kind == DEGREE and loop.counters[PLACING]:
        note_weight(loop, sender, row, value, number)
    elif kind == DEGREE:
        touch_producer(graph, loop, parameters, row, value, number)
    elif kind == SUBSCRIBE:
        loop.subscribers[row] |= np.uint64(1) << np.uint64(sender)
        if loop.share[row] != 0.0:  # as the other one has it
            send(loop, sender, UPDATE, identifier, loop.share[row], 0)
    elif kind == UNSUBSCRIBE:
        loop.subscribers[row] &= ~(np.uint64(1) << np.uint64(sender))
        if loop.share[row] != 0.0:
            # It may have subscribed again by now, and take what was announced before for what it asks for.
            send(loop, sender, UPDATE, identifier, 0.0, 0)
    else:
        loop.counters[IMPOSSIBLE] += 1


@nb.njit(cache=True, nogil=True)
def receive(graph, loop, parameters, sender, kinds, identifiers, values, numbers, first, fuel):
    """Take in messages ``first ..`` of one bundle; returns the index of the first one that was not begun.

    It may end with a cursor in the middle of a list: who calls it comes again before anything behind the messages counts.
    """
    i = first
    while True:
        fuel = run_cursor(graph, loop, parameters, fuel)
        if i == kinds.size:
            return i
        # Between the parts of one weight it may be 0 that is not, and somebody would be asked to announce by that.
        is_further_part = (
            i > first and kinds[i - 1] == kinds[i] == DEGREE and identifiers[i - 1] == identifiers[i]
        )
        if not is_further_part and (fuel <= 0 or outbox_is_full(loop)):
            return i
        row = fetch_named(graph, identifiers, i)
        prefetch(loop.heard, row)
        prefetch(loop.packed, row)
        receive_one(graph, loop, parameters, sender, kinds[i], identifiers[i], values[i], numbers[i])
        fuel -= ROW_COST
        i += 1


@nb.njit(cache=True, nogil=True)
def place_values(graph, loop, parameters, values, first, fuel):
    """Have vertices announce what they were worth, from row `first` on; returns the first row that was not begun."""
    row = first
    while True:
        fuel = run_cursor(graph, loop, parameters, fuel)
        if fuel <= 0 or row == values.size or outbox_is_full(loop):
            return row
        if loop.flags[row] & OWN and loop.degree[row] != 0:
            before = loop.share[row]
            set_share(loop, row, share_of(loop, parameters, row, values[row]))
            tell_subscribers(graph, loop, row)
            if not loop.counters[PLACING]:
                begin_scatter(loop, row, loop.share[row] - before)
        fuel -= ROW_COST
        row += 1


@nb.njit(cache=True, nogil=True)
def hear_placed(graph, loop, first, fuel):
    """Have consumers hear what was placed, from row `first` on; returns the first row that was not begun.

    Lists are gone through in their order, whoever owns the producers; totals are to be added up behind it.
    """
    row, rows, drift = first, loop.counters[ROWS_SEEN], 0.0
    while row < rows and fuel > 0:
        share = loop.share[row]
        fuel -= ROW_COST
        if share != 0.0:
            start = graph.out_start[row]
            for slot in range(start, start + graph.out_length[row]):
                prefetch(loop.heard, np.int64(graph.edge_consumer[slot + _EDGES_AHEAD]))
                consumer = np.int64(graph.edge_consumer[slot])
                change = graph.edge_weight[slot] * share
                loop.heard[consumer] += change
                drift += drift_of(loop, consumer, change)
            loop.counters[EDGES_VISITED] += graph.out_length[row]
            fuel -= graph.out_length[row]
        row += 1
    loop.totals[DRIFT] += drift
    return row
