"""Scans of the compiled loop of rounds: what goes over a list of edges, resumable in the middle of a hub.

One cursor a loop says which scan is under way. A *gather* goes over those that a vertex hears, and computes one cell. If that has
another value, a *spread* goes over those who hear of the vertex: their cells of the next round become dirty.
"""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import ANY_VERSION, BURIED_FIRST, GRAVE_MASK, SEQUENCE
from ...graph.rows_kernel import reverse_of
from .loop_columns import (
    CAPACITY,
    CURSOR_BACK,
    CURSOR_ITERATION,
    CURSOR_KIND,
    CURSOR_POSITION,
    CURSOR_ROUND,
    CURSOR_ROW,
    EDGES_VISITED,
    HEARS_BACK,
    IDLE,
    ROUNDS,
    SCAN_GATHER,
    SCAN_SPREAD,
    UPDATE,
    VERSION,
    WORDS,
)
from .queue_kernel import mark_dirty, note_update, send_all
from .stand_in import BOTH_WAYS
from .tally_kernel import begin_hearing, finish_hearing, hear_value

_EDGES_AHEAD = 8  # edges that memory is asked for before their turn


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


@nb.njit(cache=True)
def buried_producers(lists, loop, row):
    """How many of the graves of a list of producers may have to be read."""
    count = np.int64(0)
    version = loop.counters[VERSION]
    if version != ANY_VERSION:
        grave_number = lists.buried_in[row] - 1
        while grave_number >= lists.counters[BURIED_FIRST]:
            grave = grave_number & lists.counters[GRAVE_MASK]
            if lists.grave_died[grave] <= version:
                break
            count += 1
            grave_number = lists.grave_next_in[grave] - 1
    return count


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
    most = np.int64(graph.in_length[row]) + buried_producers(graph, loop, row)
    if hears_back(loop):
        reverse = reverse_of(graph)
        most += np.int64(reverse.in_length[row]) + buried_producers(reverse, loop, row)
    begin_hearing(loop, most)
    set_cursor(loop, SCAN_GATHER, row, number, iteration)


@nb.njit(cache=True)
def gather_list(lists, loop, fuel):
    """Go on hearing the producers of one list; returns the fuel left, 0 when it is not finished."""
    row = loop.counters[CURSOR_ROW]
    before = (loop.counters[CURSOR_ROUND] - 1) * loop.counters[CAPACITY]
    version = loop.counters[VERSION]
    first = lists.in_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(lists.in_length[row])
    stop = min(length, position + fuel)
    latest = version >= lists.counters[SEQUENCE]
    for place in range(first + position, first + stop):
        # Behind the end of the list stands something else, which does no harm.
        prefetch(loop.value, before + np.int64(lists.in_producer[place + _EDGES_AHEAD]))
        producer = np.int64(lists.in_producer[place])
        if latest or lists.edge_born[lists.out_start[producer] + lists.in_position[place]] <= version:
            hear_value(loop, loop.value[before + producer])
    loop.counters[EDGES_VISITED] += stop - position
    fuel -= stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    if version != ANY_VERSION:
        grave_number = lists.buried_in[row] - 1
        while grave_number >= lists.counters[BURIED_FIRST]:
            grave = grave_number & lists.counters[GRAVE_MASK]
            if lists.grave_died[grave] <= version:
                break
            if lists.grave_born[grave] <= version:
                hear_value(loop, loop.value[before + np.int64(lists.grave_producer[grave])])
            fuel -= 1
            grave_number = lists.grave_next_in[grave] - 1
    return max(fuel, np.int64(1))


@nb.njit(cache=True)
def spread_list(lists, loop, fuel):
    """Go on making the next round of those dirty who hear of a vertex, by one list; returns the fuel left, 0: not finished."""
    row = loop.counters[CURSOR_ROW]
    number = loop.counters[CURSOR_ROUND] + 1
    words = loop.counters[WORDS]
    version = loop.counters[VERSION]
    first = lists.out_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(lists.out_length[row])
    stop = min(length, position + fuel)
    latest = version >= lists.counters[SEQUENCE]
    for slot in range(first + position, first + stop):
        prefetch(loop.dirty, words * np.int64(lists.edge_consumer[slot + _EDGES_AHEAD]) + (number >> 6))
        if latest or lists.edge_born[slot] <= version:
            mark_dirty(loop, np.int64(lists.edge_consumer[slot]), number)
    loop.counters[EDGES_VISITED] += stop - position
    fuel -= stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    if version != ANY_VERSION:
        grave_number = lists.buried_out[row] - 1
        while grave_number >= lists.counters[BURIED_FIRST]:
            grave = grave_number & lists.counters[GRAVE_MASK]
            if lists.grave_died[grave] <= version:
                break
            if lists.grave_born[grave] <= version:
                mark_dirty(loop, np.int64(lists.grave_consumer[grave]), number)
            fuel -= 1
            grave_number = lists.grave_next_out[grave] - 1
    return max(fuel, np.int64(1))


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


@nb.njit(cache=True)
def run_cursor(graph, loop, fuel):
    """Finish the scan that the cursor is in and the one it leads to; returns the fuel left, 0 when cut short."""
    while loop.counters[CURSOR_KIND] != IDLE:
        if fuel <= 0:
            return np.int64(0)
        lists = reverse_of(graph) if loop.counters[CURSOR_BACK] else graph
        is_gather = loop.counters[CURSOR_KIND] == SCAN_GATHER
        fuel = gather_list(lists, loop, fuel) if is_gather else spread_list(lists, loop, fuel)
        if fuel == 0:
            return fuel
        if hears_back(loop) and not loop.counters[CURSOR_BACK]:
            loop.counters[CURSOR_BACK] = 1
            loop.counters[CURSOR_POSITION] = 0
        elif is_gather:
            finish_gather(graph, loop)
        else:
            loop.counters[CURSOR_KIND] = IDLE
    return fuel
