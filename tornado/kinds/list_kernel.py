"""Scans over the lists of a row at the version that a compiled loop reads, resumable in the middle of a hub.

One cursor a loop says which scan is under way. A *gather* goes over the producers of a row, a *spread* over its consumers: first in the
lists, then among the graves, and where the loop hears both ways over the reverse lists after that. What is done with each of them,
and at the end of a gather, says the kind (`scan_kernel.py` of its room).
"""

import numba as nb
import numpy as np

from ..graph.graph_columns import SEQUENCE
from ..graph.graves_kernel import grave_at
from ..graph.rows_kernel import reverse_of
from .directions_kernel import hears_back
from .stand_in_kernel import (
    CURSOR_BACK,
    CURSOR_KIND,
    CURSOR_POSITION,
    CURSOR_ROW,
    EDGES_VISITED,
    IDLE,
    SCAN_SPREAD,
    VERSION,
    await_consumer,
    await_producer,
    finish_gather,
    gather_terms,
    hear_producer,
    spread_terms,
    tell_consumer,
)

_EDGES_AHEAD = 8  # edges that memory is asked for before their turn


@nb.njit(cache=True)
def gather_list(lists, loop, fuel):
    """Go on hearing the producers of one list; returns the fuel left, 0 when it is not finished."""
    row, version = loop.counters[CURSOR_ROW], loop.counters[VERSION]
    terms = gather_terms(loop)
    first = lists.in_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(lists.in_length[row])
    stop = min(length, position + fuel)
    latest = version >= lists.counters[SEQUENCE]
    for place in range(first + position, first + stop):
        # Behind the end of the list stands something else, which does no harm.
        await_producer(loop, terms, np.int64(lists.in_producer[place + _EDGES_AHEAD]))
        producer = np.int64(lists.in_producer[place])
        if latest or lists.edge_born[lists.out_start[producer] + lists.in_position[place]] <= version:
            hear_producer(loop, terms, producer)
    loop.counters[EDGES_VISITED] += stop - position
    fuel -= stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    grave = grave_at(lists, lists.buried_in[row], version)
    while grave >= 0:
        if lists.grave_born[grave] <= version:
            hear_producer(loop, terms, np.int64(lists.grave_producer[grave]))
        fuel -= 1
        grave = grave_at(lists, lists.grave_next_in[grave], version)
    return max(fuel, np.int64(1))


@nb.njit(cache=True)
def spread_list(lists, loop, fuel):
    """Go on telling the consumers of one list; returns the fuel left, 0 when it is not finished."""
    row, version = loop.counters[CURSOR_ROW], loop.counters[VERSION]
    terms = spread_terms(loop)
    first = lists.out_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(lists.out_length[row])
    stop = min(length, position + fuel)
    latest = version >= lists.counters[SEQUENCE]
    for slot in range(first + position, first + stop):
        await_consumer(loop, terms, np.int64(lists.edge_consumer[slot + _EDGES_AHEAD]))
        if latest or lists.edge_born[slot] <= version:
            tell_consumer(loop, terms, np.int64(lists.edge_consumer[slot]))
    loop.counters[EDGES_VISITED] += stop - position
    fuel -= stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    grave = grave_at(lists, lists.buried_out[row], version)
    while grave >= 0:
        if lists.grave_born[grave] <= version:
            tell_consumer(loop, terms, np.int64(lists.grave_consumer[grave]))
        fuel -= 1
        grave = grave_at(lists, lists.grave_next_out[grave], version)
    return max(fuel, np.int64(1))


@nb.njit(cache=True)
def run_cursor(graph, loop, fuel):
    """Finish the scan that the cursor is in and the one it leads to; returns the fuel left, 0 when cut short."""
    while loop.counters[CURSOR_KIND] != IDLE:
        if fuel <= 0:
            return np.int64(0)
        lists = reverse_of(graph) if loop.counters[CURSOR_BACK] else graph
        is_spread = loop.counters[CURSOR_KIND] == SCAN_SPREAD
        fuel = spread_list(lists, loop, fuel) if is_spread else gather_list(lists, loop, fuel)
        if fuel == 0:
            return fuel
        if hears_back(loop) and not loop.counters[CURSOR_BACK]:
            loop.counters[CURSOR_BACK] = 1
            loop.counters[CURSOR_POSITION] = 0
        elif is_spread:
            loop.counters[CURSOR_KIND] = IDLE
        else:
            finish_gather(graph, loop)
    return fuel
