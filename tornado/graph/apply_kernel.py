"""Applying the records of an admission batch to one worker's graph, and telling the loops on it what came and what went.

Rows of the next records are looked up, and what applying them touches is fetched, before the first of them is applied: memory is
waited for once for many records, and not several times for each.
"""

import numba as nb
import numpy as np

from ..columns import prefetch
from .graph_columns import (
    AHEAD,
    BURIED_FIRST,
    BURIED_NEXT,
    DELTAS,
    GRAVE_MASK,
    KNOWN_ROWS,
    LEASED,
    MISSING,
    MOST_DELTAS,
    PART,
    REVERSE,
    REVERSED,
    ROWS,
    SEQUENCE,
)
from .graph_kernel import find_edge, insert_edge, remove_edge
from .rows_kernel import probable_row, reverse_of, row_of, row_of_probable, row_to_fetch, table_slot


@nb.njit(cache=True)
def note_known(graph, row):
    """A record names a vertex: from now on it was seen, if it lives here."""
    if graph.known_as[row] == 0 and graph.owner[row] == graph.counters[PART]:
        graph.counters[KNOWN_ROWS] += 1
        graph.known_as[row] = graph.counters[KNOWN_ROWS]


@nb.njit(cache=True)
def fetch_rows(graph, identifiers, first):
    """Have memory fetched that looking up the rows of the next vertices reads: of all of them at once."""
    stop = min(identifiers.size, first + AHEAD)
    for i in range(first, stop):
        prefetch(graph.table, table_slot(graph, identifiers[i]))
    for i in range(first, stop):
        prefetch(graph.ids, row_to_fetch(graph, identifiers[i]))


@nb.njit(cache=True, nogil=True)
def apply_mentions(graph, identifiers):
    """Vertices that are named without an edge that ends here."""
    for i in range(identifiers.size):
        if i % AHEAD == 0:
            fetch_rows(graph, identifiers, i)
        note_known(graph, row_of(graph, identifiers[i]))


@nb.njit(cache=True, nogil=True)
def make_rows(graph, identifiers):
    """Rows for vertex ids that may have none, in their order."""
    for i in range(identifiers.size):
        if i % AHEAD == 0:
            fetch_rows(graph, identifiers, i)
        row_of(graph, identifiers[i])


@nb.njit(cache=True, nogil=True)
def move_by_sources(
    sources,
    targets,
    weights,
    operations,
    least,
    shift,
    following,
    to_sources,
    to_targets,
    to_weights,
    to_operations,
):
    """Copy records to where those of near sources are together, which keeps the order of records that have the same: a counting sort.

    Parameters
    ----------
    sources, targets : int64[n]
        Ids; only read, as `weights` and `operations`.
    weights : float64[n]
    operations : int8[n]
    least, shift : int
        Sources are near that are the same in all but the lowest `shift` bits of what they are above the `least` of them.
    following : int32[m]
        Zeros, and two more than the greatest such number; written.
    to_sources, to_targets, to_weights, to_operations
        Of the same types; written.
    """
    first, bits = np.uint64(least), np.uint64(shift)  # the distance of two ids has 64 bits
    for i in range(sources.size):
        following[np.int64((np.uint64(sources[i]) - first) >> bits) + 1] += 1
    for place in range(1, following.size):
        following[place] += following[place - 1]
    for i in range(sources.size):
        near = np.int64((np.uint64(sources[i]) - first) >> bits)
        place = following[near]
        following[near] = place + 1
        to_sources[place] = sources[i]
        to_targets[place] = targets[i]
        to_weights[place] = weights[i]
        to_operations[place] = operations[i]


@nb.njit(cache=True)
def write_delta(graph, sign, producer, consumer, weight, born):
    """Tell the loops on this graph of an edge that came or went."""
    place = graph.counters[DELTAS]
    graph.delta_sign[place] = sign
    graph.delta_producer[place] = producer
    graph.delta_consumer[place] = consumer
    graph.delta_weight[place] = weight
    graph.delta_born[place] = born
    graph.counters[DELTAS] = place + 1


@nb.njit(cache=True)
def add_edge(graph, producer, consumer, weight):
    """Insert an edge and tell of it."""
    insert_edge(graph, producer, consumer, weight)
    write_delta(graph, 1, producer, consumer, weight, graph.counters[SEQUENCE])


@nb.njit(cache=True)
def take_edge(graph, producer, slot):
    """Remove an edge and tell of it."""
    consumer = np.int64(graph.edge_consumer[slot])
    write_delta(graph, -1, producer, consumer, graph.edge_weight[slot], graph.edge_born[slot])
    remove_edge(graph, producer, slot)


@nb.njit(cache=True)
def is_full(graph):
    """Whether a removal and an insertion might find no room for what they leave behind."""
    if graph.counters[DELTAS] + 2 > MOST_DELTAS:
        return True
    graves = graph.counters[BURIED_NEXT] - graph.counters[BURIED_FIRST]
    return graph.counters[LEASED] != 0 and graves > graph.counters[GRAVE_MASK] - 8


@nb.njit(cache=True)
def change_edge(graph, producer, consumer, weight, operation):
    """Apply one record to the lists; False where there was no room for all that it leaves behind, and it has to be applied again."""
    if operation == 1:
        add_edge(graph, producer, consumer, weight)
    elif operation == -1:
        slot = find_edge(graph, producer, consumer, weight)
        if slot < 0:
            graph.counters[MISSING] += 1
        else:
            take_edge(graph, producer, slot)
    else:
        slot = find_edge(graph, producer, consumer, np.nan)
        while slot >= 0:
            if is_full(graph):
                return False
            take_edge(graph, producer, slot)
            slot = find_edge(graph, producer, consumer, np.nan)
        add_edge(graph, producer, consumer, weight)
    return True


@nb.njit(cache=True)
def look_up(graph, sources, targets, first, stop):
    """Look up the rows of the next records, as many as there is room for.

    Each pass asks memory for what the one behind it needs, of all records at once.
    """
    stop = min(stop, first + AHEAD)
    for i in range(first, stop):
        slots = table_slot(graph, sources[i]), table_slot(graph, targets[i])
        graph.ahead_producer[i - first], graph.ahead_consumer[i - first] = slots
        prefetch(graph.table, slots[0])
        prefetch(graph.table, slots[1])
    for i in range(stop - first):
        producer, consumer = (
            probable_row(graph, graph.ahead_producer[i]),
            probable_row(graph, graph.ahead_consumer[i]),
        )
        graph.ahead_producer[i], graph.ahead_consumer[i] = producer, consumer
        prefetch(graph.ids, max(np.int64(0), producer))
        prefetch(graph.ids, max(np.int64(0), consumer))
    for i in range(first, stop):
        producer = row_of_probable(graph, graph.ahead_producer[i - first], sources[i])
        consumer = row_of_probable(graph, graph.ahead_consumer[i - first], targets[i])
        graph.ahead_producer[i - first], graph.ahead_consumer[i - first] = producer, consumer
    return stop


@nb.njit(cache=True)
def look_ahead(graph, sources, targets, first, stop):
    """Likewise, and have the ends of their lists fetched: all that applying them touches."""
    stop = look_up(graph, sources, targets, first, stop)
    for i in range(stop - first):
        consumer = np.int64(graph.ahead_consumer[i])
        slot = graph.in_start[consumer] + graph.in_length[consumer]
        prefetch(graph.in_producer, slot)
        prefetch(graph.in_position, slot)
        producer = np.int64(graph.ahead_producer[i])
        slot = graph.out_start[producer] + graph.out_length[producer]
        prefetch(graph.edge_consumer, slot)
        prefetch(graph.edge_weight, slot)
        prefetch(graph.edge_born, slot)
        prefetch(graph.edge_back, slot)
    return stop


@nb.njit(cache=True, nogil=True)
def apply_records(graph, sources, targets, weights, operations, first, stop):
    """Apply records ``first .. stop`` of an admission batch and write what changed into the delta columns.

    Returns the index of the first record that was not applied: it stops early when the delta columns are full, or the ring of
    graves is (the caller enlarges it). No scan of any loop may be under way, and every loop has consumed the deltas before.
    """
    graph.counters[DELTAS] = 0
    begun = known = first
    for i in range(first, stop):
        if is_full(graph):
            return i
        if i == known:
            begun = known
            known = look_ahead(graph, sources, targets, i, stop)
        consumer = np.int64(graph.ahead_consumer[i - begun])
        producer = np.int64(graph.ahead_producer[i - begun])
        graph.counters[SEQUENCE] += 1
        note_known(graph, consumer)
        note_known(graph, producer)
        if not change_edge(graph, producer, consumer, weights[i], operations[i]):
            return i
    return stop


@nb.njit(cache=True, nogil=True)
def apply_both_ways(graph, sources, targets, weights, operations, first, stop):
    """Like `apply_records`, where a share has the records of which the worker owns either end, and each end has its list.

    The operation REVERSE is of an edge that is in the lists where its target lives, and not yet in the reverse ones here.
    """
    reverse = reverse_of(graph)
    graph.counters[DELTAS] = 0
    is_reversed = (
        graph.counters[REVERSED] != 0
    )  # the lists may be gone, and shares that were made for them still come
    if is_reversed:
        reverse.counters[DELTAS] = 0
    part = graph.counters[PART]
    begun = known = first
    for i in range(first, stop):
        if is_full(graph) or (is_reversed and is_full(reverse)):
            return i
        if i == known:
            begun = known
            known = look_ahead(graph, sources, targets, i, stop)
        consumer = np.int64(graph.ahead_consumer[i - begun])
        producer = np.int64(graph.ahead_producer[i - begun])
        graph.counters[SEQUENCE] += 1
        note_known(graph, consumer)
        note_known(graph, producer)
        operation = operations[i]
        changed = True
        if graph.owner[consumer] == part and operation != REVERSE:
            changed = change_edge(graph, producer, consumer, weights[i], operation)
        if changed and graph.owner[producer] == part and is_reversed:
            reverse.counters[SEQUENCE] = graph.counters[SEQUENCE]
            reverse.counters[ROWS] = graph.counters[ROWS]
            operation = np.int8(1) if operation == REVERSE else operation
            changed = change_edge(reverse, consumer, producer, weights[i], operation)
        if not changed:
            return i
    return stop
