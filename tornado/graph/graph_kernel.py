"""Operations on one worker's evolving multigraph: rows, edges in and out, edges at an older version.

An edge is visible at version s when ``born <= s < died``, with the sequence numbers of the records that inserted and removed
it. Live edges are in the lists; an edge that was removed while somebody holds a lease is in a grave. A reader at version s
skips the edges of a list that were born after s, then follows the row's chain of graves, newest first, and stops at the first
that died at or before s. So nothing is copied for a reader, and without leases a removal costs nothing extra.

Applying records changes the graph once, and writes *delta columns*: which edges came and went, in order. Every loop on the graph
consumes them before the next records are applied, so all loops stand at one version.

The kernels are plain functions over arrays (see `graph_columns`), compiled once for all programs (`graph_module`);
`evolving_graph.EvolvingGraph` is their owner and keeps room for them.
"""

import numba as nb
import numpy as np

from ..columns import prefetch
from .graph_columns import (
    BURIED_FIRST,
    BURIED_NEXT,
    COMPACTING,
    CUT,
    EDGES,
    GRAVE_MASK,
    GROWING,
    IN_END,
    IN_IDLE,
    LEASED,
    OUT_END,
    OUT_IDLE,
    PART,
    ROWS,
    SEQUENCE,
    SIZE_CLASSES,
    WEIGHED_ROWS,
    WEIGHTS_IN,
)
from .rows_kernel import bucket_of, find_row, hash_id, own_slot, place_row

_ROWS_AHEAD = 16  # whose places in the table are fetched before their turn
_FIRST_ROOM = 4  # entries of a list at least that grows while much is coming
_SHORT = 8  # lists that have twice the room then; of longer ones that would be memory, which costs more than moving them
_BLOCK = 64  # entries compared at once while an edge is searched; the compiler turns the comparison into vector instructions


@nb.njit(cache=True, nogil=True)
def find_rows(ids, table, identifiers, rows):
    """Write the row of each vertex id (or -1) into `rows`."""
    for i in range(identifiers.size):
        rows[i] = find_row(ids, table, table.size - 1, identifiers[i])


@nb.njit(cache=True, nogil=True)
def fill_table(ids, table, rows):
    """Enter rows ``0 .. rows`` into a new, empty table."""
    mask = table.size - 1
    for row in range(rows):
        prefetch(table, own_slot(mask, ids[min(row + _ROWS_AHEAD, rows - 1)]))
        place_row(ids, table, mask, row)


@nb.njit(cache=True)
def capacity_of(size_class):
    """Entries of a block of a size class: 2, 3, 4, 6, 8, 12, 16 and so on."""
    if size_class & 1:
        return np.int64(3) << (size_class >> 1)
    return np.int64(2) << (size_class >> 1)


@nb.njit(cache=True)
def class_for(entries):
    """The smallest size class that holds so many entries."""
    size_class = 0
    while capacity_of(size_class) < entries:
        size_class += 1
    return size_class


@nb.njit(cache=True)
def give_out_block(graph, start, entries):
    """Put entries of the edge columns on the idle lists, in blocks as large as they come."""
    if graph.counters[COMPACTING]:
        return
    while entries >= 2:
        size_class = 0
        while size_class + 1 < SIZE_CLASSES and capacity_of(size_class + 1) <= entries:
            size_class += 1
        graph.edge_born[start] = graph.out_idle[size_class]
        graph.out_idle[size_class] = start + 1
        graph.counters[OUT_IDLE] += capacity_of(size_class)
        start += capacity_of(size_class)
        entries -= capacity_of(size_class)


@nb.njit(cache=True)
def take_out_block(graph, size_class):
    """A block of the edge columns: an idle one, a part of a larger idle one, or a new one at the end."""
    wanted = capacity_of(size_class)
    last = size_class + 1
    if graph.counters[OUT_IDLE] * 8 > graph.counters[OUT_END]:
        last = SIZE_CLASSES
    for found in range(size_class, last):
        start = graph.out_idle[found] - 1
        if start >= 0:
            graph.out_idle[found] = graph.edge_born[start]
            graph.counters[OUT_IDLE] -= capacity_of(found)
            if found > size_class:
                give_out_block(graph, start + wanted, capacity_of(found) - wanted)
            return start
    start = graph.counters[OUT_END]
    graph.counters[OUT_END] += wanted
    return start


@nb.njit(cache=True)
def give_in_block(graph, start, entries):
    """Like `give_out_block`, for the in-list columns; the link is kept in the two halves of the block's first entry."""
    if graph.counters[COMPACTING]:
        return
    while entries >= 2:
        size_class = 0
        while size_class + 1 < SIZE_CLASSES and capacity_of(size_class + 1) <= entries:
            size_class += 1
        link = graph.in_idle[size_class]
        graph.in_producer[start] = np.int32(link & 0x7FFFFFFF)
        graph.in_position[start] = np.int32(link >> 31)
        graph.in_idle[size_class] = start + 1
        graph.counters[IN_IDLE] += capacity_of(size_class)
        start += capacity_of(size_class)
        entries -= capacity_of(size_class)


@nb.njit(cache=True)
def take_in_block(graph, size_class):
    """Like `take_out_block`, for the in-list columns."""
    wanted = capacity_of(size_class)
    last = size_class + 1
    if graph.counters[IN_IDLE] * 8 > graph.counters[IN_END]:
        last = SIZE_CLASSES
    for found in range(size_class, last):
        start = graph.in_idle[found] - 1
        if start >= 0:
            graph.in_idle[found] = np.int64(graph.in_producer[start]) | (
                np.int64(graph.in_position[start]) << 31
            )
            graph.counters[IN_IDLE] -= capacity_of(found)
            if found > size_class:
                give_in_block(graph, start + wanted, capacity_of(found) - wanted)
            return start
    start = graph.counters[IN_END]
    graph.counters[IN_END] += wanted
    return start


@nb.njit(cache=True)
def room_for(graph, length):
    """How many entries a list gets that is full. A short one of a graph that grows is not moved for each edge more."""
    # Where there is an edge for a vertex at most, as in a chain or a tree, most lists stay as short as they begin.
    if (
        graph.counters[GROWING]
        and length < _SHORT
        and (length or graph.counters[EDGES] >= graph.counters[ROWS])
    ):
        return max(np.int64(_FIRST_ROOM), 2 * length)
    return length + 1 if length < 2 else length + (length >> 2) + 1


@nb.njit(cache=True)
def move_out_list(graph, row, entries):
    """Move a producer's out-list to a block for at least so many entries."""
    length = np.int64(graph.out_length[row])
    size_class = class_for(entries)
    start = take_out_block(graph, size_class)
    old = graph.out_start[row]
    for i in range(length):
        graph.edge_consumer[start + i] = graph.edge_consumer[old + i]
        graph.edge_weight[start + i] = graph.edge_weight[old + i]
        graph.edge_born[start + i] = graph.edge_born[old + i]
        graph.edge_back[start + i] = graph.edge_back[old + i]
    if graph.out_capacity[row] > 0:
        give_out_block(graph, old, np.int64(graph.out_capacity[row]))
    graph.out_start[row] = start
    graph.out_capacity[row] = capacity_of(size_class)


@nb.njit(cache=True)
def move_in_list(graph, row, entries):
    """Like `move_out_list`, for a consumer's in-list."""
    length = np.int64(graph.in_length[row])
    size_class = class_for(entries)
    start = take_in_block(graph, size_class)
    old = graph.in_start[row]
    for i in range(length):
        graph.in_producer[start + i] = graph.in_producer[old + i]
        graph.in_position[start + i] = graph.in_position[old + i]
    if graph.counters[WEIGHTS_IN]:
        for i in range(length):
            graph.in_weight[start + i] = graph.in_weight[old + i]
    if graph.in_capacity[row] > 0:
        give_in_block(graph, old, np.int64(graph.in_capacity[row]))
    graph.in_start[row] = start
    graph.in_capacity[row] = capacity_of(size_class)


@nb.njit(cache=True)
def insert_edge(graph, producer, consumer, weight):
    """Append an edge with the current sequence number as its birth."""
    if graph.out_length[producer] == graph.out_capacity[producer]:
        move_out_list(graph, producer, room_for(graph, np.int64(graph.out_length[producer])))
    if graph.in_length[consumer] == graph.in_capacity[consumer]:
        move_in_list(graph, consumer, room_for(graph, np.int64(graph.in_length[consumer])))
    position = graph.out_length[producer]
    back = graph.in_length[consumer]
    slot = graph.out_start[producer] + position
    graph.edge_consumer[slot] = consumer
    graph.edge_weight[slot] = weight
    graph.edge_born[slot] = graph.counters[SEQUENCE]
    graph.edge_back[slot] = back
    back_slot = graph.in_start[consumer] + back
    graph.in_producer[back_slot] = producer
    graph.in_position[back_slot] = position
    if graph.counters[WEIGHTS_IN]:
        graph.in_weight[back_slot] = weight
    graph.out_length[producer] = position + 1
    graph.in_length[consumer] = back + 1
    graph.counters[EDGES] += 1
    if graph.owner[producer] != graph.counters[PART]:
        graph.counters[CUT] += 1


@nb.njit(cache=True, nogil=True)
def weigh_in_lists(graph, fuel):
    """Put weights into in-lists that do not have them; returns whether all have them now. Lists that change keep theirs."""
    row = graph.counters[WEIGHED_ROWS]
    while row < graph.counters[ROWS] and fuel > 0:
        first = graph.in_start[row]
        for back_slot in range(first, first + graph.in_length[row]):
            slot = graph.out_start[graph.in_producer[back_slot]] + graph.in_position[back_slot]
            graph.in_weight[back_slot] = graph.edge_weight[slot]
        fuel -= graph.in_length[row] + 1
        row += 1
    graph.counters[WEIGHED_ROWS] = row
    return row == graph.counters[ROWS]


@nb.njit(cache=True)
def next_match(column, first, stop, wanted):
    """The first position in ``first .. stop`` that holds `wanted`, or `stop`."""
    wanted = np.int32(wanted)
    while first + _BLOCK <= stop:
        hit = False
        for i in range(_BLOCK):
            if column[first + i] == wanted:
                hit = True
        if hit:
            break
        first += _BLOCK
    while first < stop and column[first] != wanted:
        first += 1
    return first


@nb.njit(cache=True)
def find_edge(graph, producer, consumer, weight):
    """The slot of the oldest edge between two rows (of that weight; NaN: of any), or -1. Searches the shorter list."""
    oldest = np.int64(-1)
    any_weight = np.isnan(weight)
    if graph.out_length[producer] <= graph.in_length[consumer]:
        first = graph.out_start[producer]
        stop = first + graph.out_length[producer]
        slot = next_match(graph.edge_consumer, first, stop, consumer)
        while slot < stop:
            matches = any_weight or graph.edge_weight[slot] == weight
            if matches and (oldest < 0 or graph.edge_born[slot] < graph.edge_born[oldest]):
                oldest = slot
            slot = next_match(graph.edge_consumer, slot + 1, stop, consumer)
    else:
        first = graph.in_start[consumer]
        stop = first + graph.in_length[consumer]
        back_slot = next_match(graph.in_producer, first, stop, producer)
        while back_slot < stop:
            slot = graph.out_start[producer] + graph.in_position[back_slot]
            matches = any_weight or graph.edge_weight[slot] == weight
            if matches and (oldest < 0 or graph.edge_born[slot] < graph.edge_born[oldest]):
                oldest = slot
            back_slot = next_match(graph.in_producer, back_slot + 1, stop, producer)
    return oldest


@nb.njit(cache=True)
def bury(graph, producer, slot):
    """Keep a copy of an edge that is about to leave the lists, for readers of older versions."""
    number = graph.counters[BURIED_NEXT]
    graph.counters[BURIED_NEXT] = number + 1
    grave = number & graph.counters[GRAVE_MASK]
    consumer = graph.edge_consumer[slot]
    graph.grave_producer[grave] = producer
    graph.grave_consumer[grave] = consumer
    graph.grave_weight[grave] = graph.edge_weight[slot]
    graph.grave_born[grave] = graph.edge_born[slot]
    graph.grave_died[grave] = graph.counters[SEQUENCE]
    graph.grave_next_out[grave] = graph.buried_out[producer]
    graph.grave_next_in[grave] = graph.buried_in[consumer]
    graph.buried_out[producer] = number + 1
    graph.buried_in[consumer] = number + 1


@nb.njit(cache=True)
def remove_edge(graph, producer, slot):
    """Take the edge at a slot out of both lists; the last entry of each list takes its place."""
    if graph.counters[LEASED]:
        bury(graph, producer, slot)
    consumer = graph.edge_consumer[slot]
    back_slot = graph.in_start[consumer] + graph.edge_back[slot]

    graph.out_length[producer] -= 1
    last = graph.out_start[producer] + graph.out_length[producer]
    if slot != last:
        graph.edge_consumer[slot] = graph.edge_consumer[last]
        graph.edge_weight[slot] = graph.edge_weight[last]
        graph.edge_born[slot] = graph.edge_born[last]
        graph.edge_back[slot] = graph.edge_back[last]
        moved = graph.in_start[graph.edge_consumer[slot]] + graph.edge_back[slot]
        graph.in_position[moved] = slot - graph.out_start[producer]

    graph.in_length[consumer] -= 1
    last = graph.in_start[consumer] + graph.in_length[consumer]
    if back_slot != last:
        graph.in_producer[back_slot] = graph.in_producer[last]
        graph.in_position[back_slot] = graph.in_position[last]
        if graph.counters[WEIGHTS_IN]:
            graph.in_weight[back_slot] = graph.in_weight[last]
        moved = graph.out_start[graph.in_producer[back_slot]] + graph.in_position[back_slot]
        graph.edge_back[moved] = back_slot - graph.in_start[consumer]
    graph.counters[EDGES] -= 1
    if graph.owner[producer] != graph.counters[PART]:
        graph.counters[CUT] -= 1

    if graph.out_length[producer] == 0:
        give_out_block(graph, graph.out_start[producer], np.int64(graph.out_capacity[producer]))
        graph.out_capacity[producer] = 0
    if graph.in_length[consumer] == 0:
        give_in_block(graph, graph.in_start[consumer], np.int64(graph.in_capacity[consumer]))
        graph.in_capacity[consumer] = 0


@nb.njit(cache=True, nogil=True)
def edges_at(graph, version, producers, consumers, weights, born):
    """Write the edges visible at a version (rows, weights, births) into the given arrays; returns how many there are."""
    count = 0
    for row in range(graph.counters[ROWS]):
        first = graph.out_start[row]
        for slot in range(first, first + graph.out_length[row]):
            if graph.edge_born[slot] <= version:
                producers[count] = row
                consumers[count] = graph.edge_consumer[slot]
                weights[count] = graph.edge_weight[slot]
                born[count] = graph.edge_born[slot]
                count += 1
    for number in range(graph.counters[BURIED_FIRST], graph.counters[BURIED_NEXT]):
        grave = number & graph.counters[GRAVE_MASK]
        if graph.grave_born[grave] <= version < graph.grave_died[grave]:
            producers[count] = graph.grave_producer[grave]
            consumers[count] = graph.grave_consumer[grave]
            weights[count] = graph.grave_weight[grave]
            born[count] = graph.grave_born[grave]
            count += 1
    return count


@nb.njit(cache=True, nogil=True)
def edges_of_rows(graph, version, first, stop, producers, consumers, weights, born):
    """Like `edges_at`, for the producers ``first .. stop`` and as far as there is room; returns (next row, edges written).

    A row is read whole or not at all, so a graph may be read a stretch at a time while it changes, under a lease.
    """
    count = 0
    for row in range(first, stop):
        before = count
        start = graph.out_start[row]
        for slot in range(start, start + graph.out_length[row]):
            if graph.edge_born[slot] <= version:
                if count == producers.size:
                    return row, before
                producers[count] = row
                consumers[count] = graph.edge_consumer[slot]
                weights[count] = graph.edge_weight[slot]
                born[count] = graph.edge_born[slot]
                count += 1
        number = graph.buried_out[row] - 1
        while number >= graph.counters[BURIED_FIRST]:
            grave = number & graph.counters[GRAVE_MASK]
            if graph.grave_died[grave] <= version:
                break
            if graph.grave_born[grave] <= version:
                if count == producers.size:
                    return row, before
                producers[count] = row
                consumers[count] = graph.grave_consumer[grave]
                weights[count] = graph.grave_weight[grave]
                born[count] = graph.grave_born[grave]
                count += 1
            number = graph.grave_next_out[grave] - 1
    return stop, count


@nb.njit(cache=True, nogil=True)
def slide_out_lists(graph, rows, starts, first, position, fuel):
    """Slide the out-lists of `rows` (in the order of their starts) down to `position`; returns (next row, next position).

    A list that has moved since `starts` was taken is skipped. Blocks shrink to what their lists need.
    """
    for i in range(first, rows.size):
        row = rows[i]
        if graph.out_capacity[row] == 0 or graph.out_start[row] != starts[i]:
            continue
        if fuel <= 0:
            return i, position
        capacity = max(np.int64(2), np.int64(graph.out_length[row]))
        old = graph.out_start[row]
        if old != position:
            for j in range(graph.out_length[row]):
                graph.edge_consumer[position + j] = graph.edge_consumer[old + j]
                graph.edge_weight[position + j] = graph.edge_weight[old + j]
                graph.edge_born[position + j] = graph.edge_born[old + j]
                graph.edge_back[position + j] = graph.edge_back[old + j]
            graph.out_start[row] = position
        graph.out_capacity[row] = capacity
        position += capacity
        fuel -= graph.out_length[row] + 8
    return rows.size, position


@nb.njit(cache=True, nogil=True)
def slide_in_lists(graph, rows, starts, first, position, fuel):
    """Like `slide_out_lists`, for the in-lists."""
    for i in range(first, rows.size):
        row = rows[i]
        if graph.in_capacity[row] == 0 or graph.in_start[row] != starts[i]:
            continue
        if fuel <= 0:
            return i, position
        capacity = max(np.int64(2), np.int64(graph.in_length[row]))
        old = graph.in_start[row]
        if old != position:
            for j in range(graph.in_length[row]):
                graph.in_producer[position + j] = graph.in_producer[old + j]
                graph.in_position[position + j] = graph.in_position[old + j]
            if graph.counters[WEIGHTS_IN]:
                for j in range(graph.in_length[row]):
                    graph.in_weight[position + j] = graph.in_weight[old + j]
            graph.in_start[row] = position
        graph.in_capacity[row] = capacity
        position += capacity
        fuel -= graph.in_length[row] + 8
    return rows.size, position


@nb.njit(cache=True, nogil=True)
def free_out_entries(graph, start, entries):
    """Put the hole that a compaction left on the idle lists of the edge columns."""
    graph.counters[COMPACTING] = 0
    give_out_block(graph, start, entries)
    graph.counters[COMPACTING] = 1


@nb.njit(cache=True, nogil=True)
def free_in_entries(graph, start, entries):
    """Like `free_out_entries`, for the in-lists."""
    graph.counters[COMPACTING] = 0
    give_in_block(graph, start, entries)
    graph.counters[COMPACTING] = 1


@nb.njit(cache=True, nogil=True)
def owners_of(buckets, block_bits, identifiers, owners):
    """Write the worker of each vertex id, by the table of a partition map."""
    for i in range(identifiers.size):
        owners[i] = buckets[bucket_of(identifiers[i], block_bits)]


@nb.njit(cache=True, nogil=True)
def pages_of(identifiers, pages, places):
    """Write the page of a stored snapshot that each vertex id falls to; `pages` is how many there are."""
    for i in range(identifiers.size):
        places[i] = np.int64((hash_id(identifiers[i]) >> np.uint64(40)) % np.uint64(pages))
