"""Edges that come in bulk: they wait by stretches of rows, and then the lists of each stretch are filled within the cache.

One by one, each edge goes to two lists that lie anywhere, and moves them again and again as they grow. Here they are counted at both
ends as they come, so that each knows its places, and are put down twice, with those of near consumers and with those of near
producers. When all are there, each stretch has room made for what has come to its lists, once, and is filled. Until then a row has
a length that its lists have not, and nobody may read any (`EvolvingGraph.end_load`).
"""

import numba as nb
import numpy as np

from .apply_kernel import look_up, note_known
from .bulk_columns import CHUNK, SEQUENCE_BEFORE, SHIFT
from .graph_columns import CUT, DELTAS, EDGES, IN_END, OUT_END, PART, ROWS, SEQUENCE, WEIGHTS_IN
from .graph_kernel import move_in_list, move_out_list

_LOWER_HALF = 0xFFFFFFFF
_LEAST_ROOM = 2  # entries of a list that has any
_MORE_ROOM = 2  # a list that had edges before gets a quarter more, as it may grow again


@nb.njit(cache=True)
def next_bulk_place(next_chunk, first_chunk, following, stretch):
    """Where the next edge of a stretch waits."""
    place = following[stretch]
    if place % CHUNK == 0:
        next_chunk[0] += 1
        chunk = np.int64(next_chunk[0])
        if place:
            next_chunk[place // CHUNK - 1] = chunk
        else:
            first_chunk[stretch] = chunk
        place = chunk * CHUNK
    following[stretch] = place + 1
    return place


@nb.njit(cache=True)
def bulk_stop(next_chunk, following, stretch, chunk):
    """Behind the last edge in a chunk of a stretch."""
    return following[stretch] if next_chunk[chunk] == 0 else (chunk + 1) * CHUNK


@nb.njit(cache=True, nogil=True)
def load_edges(graph, bulk, sources, targets, weights):
    """Take in insertions, of which no loop is told; their lists are built later."""
    graph.counters[DELTAS] = 0
    shift = bulk.bulk_counters[SHIFT]
    born = graph.counters[SEQUENCE] - bulk.bulk_counters[SEQUENCE_BEFORE]
    begun = known = cut = 0
    for i in range(sources.size):
        if i == known:
            begun = known
            known = look_up(graph, sources, targets, i, sources.size)
        consumer = np.int64(graph.ahead_consumer[i - begun])
        producer = np.int64(graph.ahead_producer[i - begun])
        note_known(graph, consumer)
        note_known(graph, producer)
        cut += graph.owner[producer] != graph.counters[PART]
        position, back = np.int64(graph.out_length[producer]), np.int64(graph.in_length[consumer])
        graph.out_length[producer] = position + 1
        graph.in_length[consumer] = back + 1
        born += 1

        place = next_bulk_place(bulk.to_next, bulk.to_first, bulk.to_following, consumer >> shift)
        bulk.to_ends[place] = consumer | producer << 32
        bulk.to_position[place] = position
        if graph.counters[WEIGHTS_IN]:
            bulk.to_weight[place] = weights[i]
        place = next_bulk_place(bulk.from_next, bulk.from_first, bulk.from_following, producer >> shift)
        bulk.from_ends[place] = producer | consumer << 32
        bulk.from_weight[place] = weights[i]
        bulk.from_places[place] = back | born << 32
    graph.counters[SEQUENCE] += sources.size
    graph.counters[EDGES] += sources.size
    graph.counters[CUT] += cut


@nb.njit(cache=True)
def count_bulk(ends, next_chunk, first_chunk, following, stretch, least, came):
    """Count what has come to each row of a stretch, whose first is `least`."""
    chunk = np.int64(first_chunk[stretch])
    while chunk:
        for place in range(chunk * CHUNK, bulk_stop(next_chunk, following, stretch, chunk)):
            came[(ends[place] & _LOWER_HALF) - least] += 1
        chunk = np.int64(next_chunk[chunk])


@nb.njit(cache=True)
def make_in_lists(graph, least, came):
    """Make room in the lists of a stretch, and put where its next edge goes in place of how many come to each."""
    for i in range(came.size):
        row = least + i
        if came[i]:
            length = np.int64(graph.in_length[row])
            before = length - came[i]
            if graph.in_capacity[row] == 0:
                graph.in_start[row] = graph.counters[IN_END]
                graph.in_capacity[row] = max(_LEAST_ROOM, length)
                graph.counters[IN_END] += graph.in_capacity[row]
            elif graph.in_capacity[row] < length:
                graph.in_length[row] = before
                move_in_list(graph, row, length + (length >> _MORE_ROOM))
                graph.in_length[row] = length
            came[i] = graph.in_start[row] + before


@nb.njit(cache=True)
def make_out_lists(graph, least, came):
    """Like `make_in_lists`."""
    for i in range(came.size):
        row = least + i
        if came[i]:
            length = np.int64(graph.out_length[row])
            before = length - came[i]
            if graph.out_capacity[row] == 0:
                graph.out_start[row] = graph.counters[OUT_END]
                graph.out_capacity[row] = max(_LEAST_ROOM, length)
                graph.counters[OUT_END] += graph.out_capacity[row]
            elif graph.out_capacity[row] < length:
                graph.out_length[row] = before
                move_out_list(graph, row, length + (length >> _MORE_ROOM))
                graph.out_length[row] = length
            came[i] = graph.out_start[row] + before


@nb.njit(cache=True, nogil=True)
def build_in_lists(graph, bulk, came):
    """Put all edges that wait into in-lists. `came` is int64[rows of a stretch]; written."""
    rows = graph.counters[ROWS]
    shift = bulk.bulk_counters[SHIFT]
    for stretch in range((rows + (1 << shift) - 1) >> shift):
        least = stretch << shift
        following = came[: min(rows - least, 1 << shift)]
        following[:] = 0
        count_bulk(bulk.to_ends, bulk.to_next, bulk.to_first, bulk.to_following, stretch, least, following)
        make_in_lists(graph, least, following)
        chunk = np.int64(bulk.to_first[stretch])
        while chunk:
            for place in range(chunk * CHUNK, bulk_stop(bulk.to_next, bulk.to_following, stretch, chunk)):
                consumer = (bulk.to_ends[place] & _LOWER_HALF) - least
                slot = following[consumer]
                following[consumer] = slot + 1
                graph.in_producer[slot] = bulk.to_ends[place] >> 32
                graph.in_position[slot] = bulk.to_position[place]
                if graph.counters[WEIGHTS_IN]:
                    graph.in_weight[slot] = bulk.to_weight[place]
            chunk = np.int64(bulk.to_next[chunk])


@nb.njit(cache=True, nogil=True)
def build_out_lists(graph, bulk, came):
    """Like `build_in_lists`."""
    rows = graph.counters[ROWS]
    shift = bulk.bulk_counters[SHIFT]
    for stretch in range((rows + (1 << shift) - 1) >> shift):
        least = stretch << shift
        following = came[: min(rows - least, 1 << shift)]
        following[:] = 0
        count_bulk(
            bulk.from_ends, bulk.from_next, bulk.from_first, bulk.from_following, stretch, least, following
        )
        make_out_lists(graph, least, following)
        chunk = np.int64(bulk.from_first[stretch])
        while chunk:
            for place in range(chunk * CHUNK, bulk_stop(bulk.from_next, bulk.from_following, stretch, chunk)):
                producer = (bulk.from_ends[place] & _LOWER_HALF) - least
                slot = following[producer]
                following[producer] = slot + 1
                graph.edge_consumer[slot] = bulk.from_ends[place] >> 32
                graph.edge_weight[slot] = bulk.from_weight[place]
                graph.edge_born[slot] = bulk.bulk_counters[SEQUENCE_BEFORE] + (bulk.from_places[place] >> 32)
                graph.edge_back[slot] = bulk.from_places[place] & _LOWER_HALF
            chunk = np.int64(bulk.from_next[chunk])
