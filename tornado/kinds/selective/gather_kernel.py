"""Gathers of the compiled loop: who may have lost its support chooses anew among all offers, and who got worse says so to those below.

A gather goes over the in-lists of a vertex, with the cursor where the fuel is not enough for them or older versions of edges have to be
looked for, and else all at once. Both weigh the same offers in the same order (`visit_gather` says what is done with each).
"""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import ANY_VERSION
from ...graph.graves_kernel import grave_at
from ...graph.rows_kernel import reverse_of
from ..directions_kernel import consumers_here, hears_back
from .loop_columns import (
    CURSOR_KIND,
    CURSOR_NUMBER,
    CURSOR_PARENT,
    CURSOR_POSITION,
    CURSOR_ROW,
    DELAY_BOUND,
    EDGES_VISITED,
    IDLE,
    INVALIDATE,
    INVALIDATIONS,
    MARKED,
    MARKS,
    NO_PARENT,
    SCAN_GATHER,
    SELF_PARENT,
    SPREADS,
    VERSION,
)
from .queue_kernel import send_all
from .stand_in import WORST, better, initial, offer
from .value_kernel import put_row_value, put_value, row_value_at, value_at
from .vertex_kernel import enqueue, feasible_below, mark_clean, mark_dirty, recheck, set_cursor, touch

# Gathers, and spreads, before their turn: each step of what they read needs what the one before it brought.
_ROWS_AHEAD, _LISTS_AHEAD = 8, 6
_PRODUCERS_AHEAD, _WEIGHTS_AHEAD = 4, 2  # of a gather
_CONSUMERS_AHEAD = 4  # of a spread
_ENTRIES_AHEAD = 4  # of each list


@nb.njit(cache=True)
def visit_gather(loop, row, producer, weight):
    """An offer is weighed in a gather."""
    if producer == row:
        return
    producer_value = row_value_at(loop.value, producer)
    if not better(producer_value, WORST):
        return
    candidate = offer(producer_value, weight)
    if producer == loop.parent[row] and better(candidate, value_at(loop.best, 1)):
        put_value(loop.best, 1, candidate)
    if better(candidate, value_at(loop.best, 0)) and better(producer_value, feasible_below(loop, row)):
        put_value(loop.best, 0, candidate)
        loop.counters[CURSOR_PARENT] = producer


@nb.njit(cache=True)
def scan_in_list(graph, loop, fuel):
    """Go on with the cursor's gather; returns the fuel left, 0 when it is not finished."""
    row = loop.counters[CURSOR_ROW]
    version = loop.counters[VERSION]
    first = graph.in_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(graph.in_length[row])
    stop = min(length, position + fuel)
    for back_slot in range(first + position, first + stop):
        producer = np.int64(graph.in_producer[back_slot])
        slot = graph.out_start[producer] + graph.in_position[back_slot]
        if version == ANY_VERSION or graph.edge_born[slot] <= version:
            visit_gather(loop, row, producer, graph.edge_weight[slot])
    loop.counters[EDGES_VISITED] += stop - position
    fuel -= stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    grave = grave_at(graph, graph.buried_in[row], version)
    while grave >= 0:
        if graph.grave_born[grave] <= version:
            visit_gather(loop, row, np.int64(graph.grave_producer[grave]), graph.grave_weight[grave])
        fuel -= 1
        grave = grave_at(graph, graph.grave_next_in[grave], version)
    loop.counters[CURSOR_POSITION] = -1
    return max(fuel, np.int64(1))


@nb.njit(cache=True)
def begin_gather(graph, loop, row, wave, parameters):
    """Begin to choose anew among all offers; the vertex's own initial value is one of them."""
    set_cursor(loop, SCAN_GATHER, row, wave)
    value = initial(graph.ids[row], *parameters)
    put_value(loop.best, 0, WORST)
    put_value(loop.best, 1, WORST)
    put_value(loop.best, 2, WORST)
    loop.counters[CURSOR_PARENT] = NO_PARENT
    if better(value, WORST):
        put_value(loop.best, 2, value)
        put_value(loop.best, 0, value)
        loop.counters[CURSOR_PARENT] = SELF_PARENT
        if loop.parent[row] == SELF_PARENT:
            put_value(loop.best, 1, value)


@nb.njit(cache=True)
def finish_gather(graph, session, loop):
    """Take the choice over: better and pending, worse and announced by the wave, or as it was."""
    row = loop.counters[CURSOR_ROW]
    wave = loop.counters[CURSOR_NUMBER]
    loop.counters[CURSOR_KIND] = IDLE
    current = row_value_at(loop.candidate, row)
    chosen = value_at(loop.best, 0)
    parent = loop.counters[CURSOR_PARENT]
    supported = value_at(loop.best, 1)
    if better(supported, WORST) and not better(current, supported) and not better(chosen, supported):
        chosen = supported
        parent = np.int64(loop.parent[row])
    if better(row_value_at(loop.value, row), chosen):
        # Worse than what it announced: nobody below keeps what it has, and what is chosen now may itself be about to go. So nothing is
        # chosen before the wave has ended, but what needs no producer.
        chosen = value_at(loop.best, 2)
        parent = np.int64(SELF_PARENT if better(chosen, WORST) else NO_PARENT)
    touch(loop, row)
    loop.parent[row] = parent
    if better(chosen, current):
        put_row_value(loop.candidate, row, chosen)
        mark_dirty(session, loop, row)
        return
    if not better(current, chosen):
        return
    announced = row_value_at(loop.value, row)
    put_row_value(loop.candidate, row, chosen)
    if better(announced, chosen):
        if loop.flags[row] & MARKED == 0:
            loop.flags[row] |= MARKED
            put_value(loop.least, row, announced)
            loop.wave[row] = wave
            loop.marks[loop.counters[MARKS]] = row
            loop.counters[MARKS] += 1
        loop.wave[row] = max(loop.wave[row], wave)
        put_row_value(loop.value, row, chosen)
        loop.counters[INVALIDATIONS] += 1
        if session.record[row] == 0:
            mark_clean(loop, row)
        loop.spread_row[loop.counters[SPREADS]] = row
        loop.spread_wave[loop.counters[SPREADS]] = wave
        loop.counters[SPREADS] += 1
        send_all(loop, loop.subscribers[row], INVALIDATE, graph.ids[row], chosen, wave)
    elif not better(chosen, announced):
        if session.record[row] == 0:
            mark_clean(loop, row)
    elif loop.counters[DELAY_BOUND] != 1 and session.record[row] == 0:
        enqueue(session, loop, row)


@nb.njit(cache=True)
def spread_along(lists, loop, producer, wave):
    """Queue those who live on a producer whose value got worse: a spread in the newest state of the graph, all at once."""
    first = lists.out_start[producer]
    for slot in range(first, first + lists.out_length[producer]):
        consumer = np.int64(lists.edge_consumer[slot])
        if loop.parent[consumer] == producer and consumer != producer:
            recheck(loop, consumer, wave)


@nb.njit(cache=True)
def spread_at_once(graph, loop, producer, wave):
    """Spread along all lists; returns how many entries they have."""
    spread_along(graph, loop, producer, wave)
    if hears_back(loop):
        spread_along(reverse_of(graph), loop, producer, wave)
    return consumers_here(graph, loop, producer)


@nb.njit(cache=True)
def gather_along(lists, loop, row):
    """Weigh all offers of a list in the newest state of the graph, as `visit_gather` does it one by one."""
    best, supported = value_at(loop.best, 0), value_at(loop.best, 1)
    chosen = loop.counters[CURSOR_PARENT]
    parent = np.int64(loop.parent[row])
    limit = feasible_below(loop, row)
    first = lists.in_start[row]
    for back_slot in range(first, first + lists.in_length[row]):
        producer = np.int64(lists.in_producer[back_slot])
        producer_value = row_value_at(loop.value, producer)
        is_feasible = better(producer_value, limit)
        if producer == row or not better(producer_value, WORST) or not (is_feasible or producer == parent):
            continue
        candidate = offer(
            producer_value, lists.edge_weight[lists.out_start[producer] + lists.in_position[back_slot]]
        )
        if producer == parent and better(candidate, supported):
            supported = candidate
        if is_feasible and better(candidate, best):
            best = candidate
            chosen = producer
    put_value(loop.best, 0, best)
    put_value(loop.best, 1, supported)
    loop.counters[CURSOR_PARENT] = chosen


@nb.njit(cache=True)
def producers_here(graph, loop, row):
    """How many entries the lists of those have whom a vertex of this worker hears."""
    count = np.int64(graph.in_length[row])
    if hears_back(loop):
        count += np.int64(reverse_of(graph).in_length[row])
    return count


@nb.njit(cache=True)
def gather_at_once(graph, session, loop, row):
    """Go through all lists of the gather that has begun, and finish it; returns how many entries they have."""
    length = producers_here(graph, loop, row)
    gather_along(graph, loop, row)
    if hears_back(loop):
        gather_along(reverse_of(graph), loop, row)
    finish_gather(graph, session, loop)
    return length


@nb.njit(cache=True)
def fetch_rechecks(graph, loop, place):
    """Have memory fetched for the gathers after that of a place of their stack, each step of what they read some gathers ahead."""
    if place < _ROWS_AHEAD:
        return
    row = np.int64(loop.recheck_row[place - _ROWS_AHEAD])
    prefetch(graph.in_start, row)
    prefetch(loop.flags, row)
    row = np.int64(loop.recheck_row[place - _LISTS_AHEAD])
    prefetch(graph.in_producer, graph.in_start[row])
    prefetch(graph.in_position, graph.in_start[row])
    prefetch(loop.least, row)  # of pairs that of another row, which does no harm
    prefetch(loop.wave, row)
    row = np.int64(loop.recheck_row[place - _PRODUCERS_AHEAD])
    first = graph.in_start[row]
    for back_slot in range(first, first + min(np.int64(graph.in_length[row]), _ENTRIES_AHEAD)):
        producer = np.int64(graph.in_producer[back_slot])
        prefetch(graph.out_start, producer)
        prefetch(loop.flags, producer)
    row = np.int64(loop.recheck_row[place - _WEIGHTS_AHEAD])
    first = graph.in_start[row]
    for back_slot in range(first, first + min(np.int64(graph.in_length[row]), _ENTRIES_AHEAD)):
        slot = graph.out_start[np.int64(graph.in_producer[back_slot])] + graph.in_position[back_slot]
        prefetch(graph.edge_weight, slot)


@nb.njit(cache=True)
def fetch_spreads(graph, loop, place):
    """Likewise for the spreads after that of a place of their stack."""
    if place < _ROWS_AHEAD:
        return
    prefetch(graph.out_start, np.int64(loop.spread_row[place - _ROWS_AHEAD]))
    prefetch(graph.edge_consumer, graph.out_start[np.int64(loop.spread_row[place - _LISTS_AHEAD])])
    row = np.int64(loop.spread_row[place - _CONSUMERS_AHEAD])
    first = graph.out_start[row]
    for slot in range(first, first + min(np.int64(graph.out_length[row]), _ENTRIES_AHEAD)):
        prefetch(loop.flags, np.int64(graph.edge_consumer[slot]))
