"""Rows of one worker's graph: a vertex id is looked up once, when it comes in, and is a row from then on.

A row stands for a vertex of this worker or for a ghost, a producer that another worker owns. Which worker that is says the
partition map (`partition.PartitionMap`): a table from buckets of ids to workers.
"""

import numba as nb
import numpy as np

from ..columns import columns_like, prefetch
from .graph_columns import BLOCK_BITS, BUCKET_SHIFT, BUCKETS, ROWS, TABLE_MASK

_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # between two states of SplitMix64
# Vertices before their turn: each needs what the one before it brought.
_NAMES_AHEAD, _NAMED_AHEAD, _THEIR_LISTS_AHEAD = 24, 12, 4


@nb.njit(cache=True)
def hash_id(identifier):
    """A 64-bit mix of a vertex id (the finaliser of SplitMix64)."""
    mixed = np.uint64(identifier)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@nb.njit(cache=True)
def bucket_of(identifier, block_bits):
    """The bucket of the partition map that a vertex id falls to: blocks of ids are dealt out in turn, single ids by their hash."""
    if block_bits:
        return (np.int64(identifier) >> np.int64(block_bits)) & np.int64(BUCKETS - 1)
    return np.int64(hash_id(identifier) >> np.uint64(BUCKET_SHIFT))


@nb.njit(cache=True)
def own_slot(mask, identifier):
    """Where the table is looked at first for a vertex id: ids that count up have places near each other, each its own.

    So have those that count up in their higher bits, as of clocks and of shards.
    """
    bits = np.uint64(identifier)
    return np.int64((bits ^ (bits >> np.uint64(20)) ^ (bits >> np.uint64(40))) & np.uint64(mask))


@nb.njit(cache=True)
def next_slot(mask, identifier, looks):
    """Where it is looked at after so many looks: by the random numbers that SplitMix64 makes of the id.

    Neither one place after another nor those of the next id: of ids that count up whole stretches are taken.
    """
    seed = np.int64(np.uint64(identifier) + np.uint64(looks) * _GAMMA)  # of one type, or it is compiled twice
    return np.int64(hash_id(seed) & np.uint64(mask))


@nb.njit(cache=True)
def find_row(ids, table, mask, identifier):
    """The row of a vertex id, or -1. Safe beside one thread that adds rows."""
    slot, looks = own_slot(mask, identifier), 0
    while True:
        row = table[slot] - 1
        if row < 0:
            return -1
        if ids[row] == identifier:
            return np.int64(row)
        looks += 1
        slot = next_slot(mask, identifier, looks)


@nb.njit(cache=True)
def place_row(ids, table, mask, row):
    """Enter an existing row into a table that has room for it."""
    slot, looks = own_slot(mask, ids[row]), 0
    while table[slot] != 0:
        looks += 1
        slot = next_slot(mask, ids[row], looks)
    table[slot] = row + 1


@nb.njit(cache=True)
def table_slot(graph, identifier):
    """Where the table is looked at first for a vertex id."""
    return own_slot(graph.counters[TABLE_MASK], identifier)


@nb.njit(cache=True)
def probable_row(graph, slot):
    """The row that the table has where a vertex id is looked for first; -1: none. Mostly that of the id."""
    return np.int64(graph.table[slot]) - 1


@nb.njit(cache=True)
def row_to_fetch(graph, identifier):
    """The row of a vertex id mostly, for fetching memory ahead."""
    return max(np.int64(0), probable_row(graph, table_slot(graph, identifier)))


@nb.njit(cache=True)
def fetch_named(graph, identifiers, place):
    """Have memory fetched of the ids behind a place, which are looked up in turn: places in the table, rows, and beginnings of lists.

    Returns the row of which the caller may have fetched what its loop has of it.
    """
    last = identifiers.size - 1
    prefetch(graph.table, table_slot(graph, identifiers[min(place + _NAMES_AHEAD, last)]))
    row = row_to_fetch(graph, identifiers[min(place + _NAMED_AHEAD, last)])
    prefetch(graph.ids, row)
    next_list = graph.out_start[row_to_fetch(graph, identifiers[min(place + _THEIR_LISTS_AHEAD, last)])]
    prefetch(graph.edge_consumer, next_list)
    prefetch(graph.edge_weight, next_list)
    return row


@nb.njit(cache=True)
def add_row(graph, identifier):
    """A new row for a vertex id that has none."""
    row = graph.counters[ROWS]
    graph.counters[ROWS] = row + 1
    graph.ids[row] = identifier
    graph.owner[row] = graph.buckets[bucket_of(identifier, graph.counters[BLOCK_BITS])]
    place_row(graph.ids, graph.table, graph.counters[TABLE_MASK], row)
    return row


@nb.njit(cache=True)
def reverse_of(graph):
    """The lists of the same edges the other way round, where there are any; rows are those of the graph."""
    return columns_like(graph, graph.reverse)


@nb.njit(cache=True)
def row_of(graph, identifier):
    """The row of a vertex id, made if there is none."""
    row = find_row(graph.ids, graph.table, graph.counters[TABLE_MASK], identifier)
    return add_row(graph, identifier) if row < 0 else row


@nb.njit(cache=True)
def row_of_probable(graph, row, identifier):
    """Likewise, where `row` was found by `probable_row`."""
    return np.int64(row) if row >= 0 and graph.ids[row] == identifier else row_of(graph, identifier)
