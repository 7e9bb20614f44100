"""Scans of the compiled loop of core numbers: what goes over a list of edges, resumable in the middle of a hub.

One cursor a loop says which scan is under way. A *gather* goes over the neighbours of a vertex, each of which counts once, and counts
their estimates. Of that a vertex is lowered, or raised in a wave. If it has another estimate, a *spread* goes over those who
hear of it here.
"""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import ANY_VERSION, BURIED_FIRST, GRAVE_MASK, SEQUENCE
from ...graph.rows_kernel import reverse_of
from .loop_columns import (
    CURSOR_BACK,
    CURSOR_KIND,
    CURSOR_NEW,
    CURSOR_OLD,
    CURSOR_POSITION,
    CURSOR_ROW,
    EDGES_VISITED,
    HEARS_BACK,
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
    SCAN_WAVE,
    STAMP,
    UPDATE,
    UPDATES,
    VERSION,
    WAVE,
)
from .queue_kernel import join_wave, lose_support, make_dirty, mark, note_raised, send_all

_EDGES_AHEAD = 8  # edges that memory is asked for before their turn


@nb.njit(cache=True)
def consumers_here(graph, loop, row):
    """How many entries the lists of those have who hear of a vertex on this worker."""
    count = np.int64(graph.out_length[row])
    if loop.counters[HEARS_BACK]:
        count += np.int64(reverse_of(graph).out_length[row])
    return count


@nb.njit(cache=True)
def most_in_list(lists, loop, row):
    """No fewer edges than end at a vertex in one of its lists, at the version that is read."""
    count = np.int64(lists.in_length[row])
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
def most_neighbours(graph, loop, row):
    """No fewer than a vertex has neighbours."""
    count = most_in_list(graph, loop, row)
    if loop.counters[HEARS_BACK]:
        count += most_in_list(reverse_of(graph), loop, row)
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
def count_neighbour(loop, row, neighbour, stamp, own):
    """Count a neighbour that was not counted yet; what is above the vertex's own estimate counts as that."""
    if neighbour != row and loop.stamp[neighbour] != stamp:
        loop.stamp[neighbour] = stamp
        loop.counts[min(np.int64(loop.estimate[neighbour]), own)] += 1


@nb.njit(cache=True)
def gather_list(lists, loop, fuel):
    """Go on counting the producers of one list; returns the fuel left, 0 when it is not finished."""
    row, own = loop.counters[CURSOR_ROW], loop.counters[CURSOR_OLD]
    version, stamp = loop.counters[VERSION], loop.counters[STAMP]
    first = lists.in_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(lists.in_length[row])
    stop = min(length, position + fuel)
    latest = version >= lists.counters[SEQUENCE]
    for place in range(first + position, first + stop):
        # Behind the end of the list stands something else, which does no harm.
        prefetch(loop.estimate, np.int64(lists.in_producer[place + _EDGES_AHEAD]))
        producer = np.int64(lists.in_producer[place])
        if latest or lists.edge_born[lists.out_start[producer] + lists.in_position[place]] <= version:
            count_neighbour(loop, row, producer, stamp, own)
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
                count_neighbour(loop, row, np.int64(lists.grave_producer[grave]), stamp, own)
            fuel -= 1
            grave_number = lists.grave_next_in[grave] - 1
    return max(fuel, np.int64(1))


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
def spread_list(lists, loop, fuel):
    """Go on telling of a change those who hear of a vertex, by one list; returns the fuel left, 0 when it is not finished."""
    row, old, new = loop.counters[CURSOR_ROW], loop.counters[CURSOR_OLD], loop.counters[CURSOR_NEW]
    version = loop.counters[VERSION]
    first = lists.out_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(lists.out_length[row])
    stop = min(length, position + fuel)
    latest = version >= lists.counters[SEQUENCE]
    for slot in range(first + position, first + stop):
        prefetch(loop.estimate, np.int64(lists.edge_consumer[slot + _EDGES_AHEAD]))
        if latest or lists.edge_born[slot] <= version:
            hear_change(loop, np.int64(lists.edge_consumer[slot]), old, new)
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
                hear_change(loop, np.int64(lists.grave_consumer[grave]), old, new)
            fuel -= 1
            grave_number = lists.grave_next_out[grave] - 1
    return max(fuel, np.int64(1))


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
def run_cursor(graph, loop, fuel):
    """Finish the scan that the cursor is in and the one it leads to; returns the fuel left, 0 when cut short."""
    while loop.counters[CURSOR_KIND] != IDLE:
        if fuel <= 0:
            return np.int64(0)
        lists = reverse_of(graph) if loop.counters[CURSOR_BACK] else graph
        kind = loop.counters[CURSOR_KIND]
        fuel = spread_list(lists, loop, fuel) if kind == SCAN_SPREAD else gather_list(lists, loop, fuel)
        if fuel == 0:
            return fuel
        if loop.counters[HEARS_BACK] and not loop.counters[CURSOR_BACK]:
            loop.counters[CURSOR_BACK] = 1
            loop.counters[CURSOR_POSITION] = 0
        elif kind == SCAN_LOWER:
            finish_lower(graph, loop)
        elif kind == SCAN_WAVE:
            finish_wave(graph, loop)
        else:
            loop.counters[CURSOR_KIND] = IDLE
    return fuel
