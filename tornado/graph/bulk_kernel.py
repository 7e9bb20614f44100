"""Edges of a base, which come in bulk: in-lists grow as they come, out-lists are built at once when all are there.

A base has the edges of near consumers together, so the in-lists that a part of it touches fit the cache; those of one producer are
all over it. Its out-list would be gone to, and be moved, again and again. So edges wait in the order of stretches of producers' rows,
and then each stretch has its lists filled within the cache, in blocks that are as long as they have to be. Until then a row has a
length and no list, and nobody may read any (`EvolvingGraph.end_load`).
"""

import numba as nb
import numpy as np

from .apply_kernel import look_up, note_known
from .bulk_columns import CHUNK, CHUNKS, SEQUENCE_BEFORE, SHIFT
from .graph_columns import CUT, DELTAS, EDGES, OUT_END, PART, ROWS, SEQUENCE, WEIGHTS_IN
from .graph_kernel import move_in_list

_LOWER_HALF = 0xFFFFFFFF


@nb.njit(cache=True)
def next_bulk_place(bulk, stretch):
    """Where the next edge of a stretch waits."""
    place = bulk.following_edge[stretch]
    if place % CHUNK == 0:
        chunk = bulk.bulk_counters[CHUNKS]
        bulk.bulk_counters[CHUNKS] = chunk + 1
        if place:
            bulk.next_chunk[place // CHUNK - 1] = chunk
        else:
            bulk.first_chunk[stretch] = chunk
        place = chunk * CHUNK
    bulk.following_edge[stretch] = place + 1
    return place


@nb.njit(cache=True)
def name_ends(graph, bulk, sources, targets, producers, consumers, positions):
    """The rows of edges, which are counted at both: what place each has in its out-list, and how many come to an in-list."""
    begun = known = 0
    for i in range(sources.size):
        if i == known:
            begun = known
            known = look_up(graph, sources, targets, i, sources.size)
        consumer = np.int64(graph.ahead_consumer[i - begun])
        producer = np.int64(graph.ahead_producer[i - begun])
        note_known(graph, consumer)
        note_known(graph, producer)
        if graph.owner[producer] != graph.counters[PART]:
            graph.counters[CUT] += 1
        producers[i], consumers[i], positions[i] = producer, consumer, graph.out_length[producer]
        graph.out_length[producer] += 1
        bulk.arriving[consumer] += 1


@nb.njit(cache=True, nogil=True)
def load_edges(graph, bulk, sources, targets, weights, producers, consumers, positions):
    """Take in insertions, of which no loop is told; their out-lists are built later.

    `producers`, `consumers` and `positions` are int32[edges], for as long as this takes.
    """
    graph.counters[DELTAS] = 0
    name_ends(graph, bulk, sources, targets, producers, consumers, positions)
    graph.counters[EDGES] += sources.size
    for i in range(sources.size):
        producer, consumer = np.int64(producers[i]), np.int64(consumers[i])
        graph.counters[SEQUENCE] += 1
        back = np.int64(graph.in_length[consumer])
        if bulk.arriving[consumer]:
            if back + bulk.arriving[consumer] > graph.in_capacity[consumer]:
                move_in_list(graph, consumer, back + bulk.arriving[consumer])
            bulk.arriving[consumer] = 0
        back_slot = graph.in_start[consumer] + back
        graph.in_producer[back_slot] = producer
        graph.in_position[back_slot] = positions[i]
        if graph.counters[WEIGHTS_IN]:
            graph.in_weight[back_slot] = weights[i]
        graph.in_length[consumer] = back + 1
        place = next_bulk_place(bulk, producer >> bulk.bulk_counters[SHIFT])
        born = graph.counters[SEQUENCE] - bulk.bulk_counters[SEQUENCE_BEFORE]
        bulk.bulk_ends[place] = producer | consumer << 32
        bulk.bulk_weight[place] = weights[i]
        bulk.bulk_places[place] = back | born << 32


@nb.njit(cache=True)
def make_out_lists(graph, first, stop, following):
    """Room for the out-lists of rows ``first .. stop``, one behind the other; `following` is where their next edges go."""
    for row in range(first, stop):
        if graph.out_length[row]:
            start = graph.counters[OUT_END]
            capacity = max(np.int64(2), np.int64(graph.out_length[row]))
            graph.out_start[row] = following[row - first] = start
            graph.out_capacity[row] = capacity
            graph.counters[OUT_END] = start + capacity


@nb.njit(cache=True, nogil=True)
def build_out_lists(graph, bulk, following):
    """Build the out-lists of all edges that wait. `following` is int64[rows of a stretch]; written."""
    rows = graph.counters[ROWS]
    shift = bulk.bulk_counters[SHIFT]
    for stretch in range((rows + (1 << shift) - 1) >> shift):
        least = stretch << shift
        make_out_lists(graph, least, min(rows, least + (1 << shift)), following)
        chunk = np.int64(bulk.first_chunk[stretch])
        while chunk:
            next_chunk = np.int64(bulk.next_chunk[chunk])
            last = bulk.following_edge[stretch] if next_chunk == 0 else (chunk + 1) * CHUNK
            for place in range(chunk * CHUNK, last):
                producer = (bulk.bulk_ends[place] & _LOWER_HALF) - least
                slot = following[producer]
                following[producer] = slot + 1
                graph.edge_consumer[slot] = bulk.bulk_ends[place] >> 32
                graph.edge_weight[slot] = bulk.bulk_weight[place]
                graph.edge_born[slot] = bulk.bulk_counters[SEQUENCE_BEFORE] + (bulk.bulk_places[place] >> 32)
                graph.edge_back[slot] = bulk.bulk_places[place] & _LOWER_HALF
            chunk = next_chunk
