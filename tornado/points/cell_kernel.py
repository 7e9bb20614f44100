"""Cells of points: found by their id, taken, and free again."""

import numba as nb
import numpy as np

from .point_columns import (
    BLOCK_CLASSES,
    CLASSES_SEARCHED,
    ENTRY_STRIDE,
    EXACT_CLASSES,
    ROW_STRIDE,
    TABLE_MASK,
)
from .shard_kernel import hash_point


@nb.njit(cache=True)
def find_slot(points, identifier, hashed):
    """The slot of the table that a live point has; of one that is not there, ``-1 - slot`` of the slot that is free for it."""
    mask = np.uint64(points.counters[TABLE_MASK])
    slot = np.int64(hashed & mask)
    while True:
        cell = np.int64(points.table[slot]) - 1
        if cell < 0:
            return -1 - slot
        if points.ids[cell] == identifier:
            return slot
        slot = (slot + 1) & np.int64(mask)


@nb.njit(cache=True)
def clear_slot(points, slot):
    """Take a slot out of the table; what came behind it because it was taken moves up, so that all are found."""
    mask = points.counters[TABLE_MASK]
    hole, following = slot, (slot + 1) & mask
    while points.table[following] != 0:
        cell = np.int64(points.table[following]) - 1
        home = np.int64(hash_point(points.ids[cell]) & np.uint64(mask))
        if ((following - home) & mask) >= ((following - hole) & mask):
            points.table[hole] = points.table[following]
            hole = following
        following = (following + 1) & mask
    points.table[hole] = 0


@nb.njit(cache=True)
def take_cell(points, place):
    """A cell of a shard for a point that comes: a free one, else the next."""
    base = place * points.counters[ROW_STRIDE]
    row = points.shard_free[place] - 1
    if row >= 0:
        points.shard_free[place] = points.ids[base + row]
    else:
        row = points.shard_rows[place]
        points.shard_rows[place] = row + 1
    return base + row


@nb.njit(cache=True)
def class_below(length):
    """The class of blocks whose least size is the greatest that is not above a length."""
    if length <= EXACT_CLASSES:
        return length
    power = 6
    while (length >> (power + 1)) != 0:
        power += 1
    return EXACT_CLASSES + (power - 6) * 16 + ((length - (1 << power)) >> (power - 4))


@nb.njit(cache=True)
def class_above(length):
    """The first class of blocks each of which has room for a length."""
    found = class_below(length)
    if length <= EXACT_CLASSES:
        return found
    power = 6 + (found - EXACT_CLASSES) // 16
    is_exact = (length & ((1 << (power - 4)) - 1)) == 0
    return found if is_exact else found + 1


@nb.njit(cache=True)
def put_block(points, place, start, length):
    """A block of entries is idle: it begins with the next one of its class + 1, and then its length where there is room for that."""
    blocks = place * BLOCK_CLASSES + class_below(length)
    entry = place * points.counters[ENTRY_STRIDE] + start
    points.indices[entry] = points.idle_blocks[blocks]
    if length > 1:
        points.indices[entry + 1] = length
    points.idle_blocks[blocks] = start + 1


@nb.njit(cache=True)
def take_entries(points, place, length):
    """Where the entries of a point that comes begin: in the least idle block with room for them, else behind all others.

    What is left of a block is a block again.
    """
    points.entries_used[place] += length
    if length == 0:
        return np.int64(0)
    first = class_above(length)
    for found in range(first, min(first + CLASSES_SEARCHED, BLOCK_CLASSES)):
        start = points.idle_blocks[place * BLOCK_CLASSES + found] - 1
        if start >= 0:
            entry = place * points.counters[ENTRY_STRIDE] + start
            points.idle_blocks[place * BLOCK_CLASSES + found] = np.int64(points.indices[entry])
            size = np.int64(points.indices[entry + 1]) if found > 1 else np.int64(1)
            if size > length:
                put_block(points, place, start + length, size - length)
            return start
    start = points.entries_end[place]
    points.entries_end[place] = start + length
    return start


@nb.njit(cache=True)
def free_entries(points, place, start, length):
    """Give the entries of a point back."""
    points.entries_used[place] -= length
    if length > 0:
        put_block(points, place, start, length)


@nb.njit(cache=True)
def free_cell(points, cell, sparse):
    """Give the row of a point back."""
    place = cell // points.counters[ROW_STRIDE]
    if sparse != 0:
        free_entries(points, place, np.int64(points.entry_start[cell]), np.int64(points.entry_length[cell]))
    points.born[cell] = 0
    points.ids[cell] = points.shard_free[place]
    points.shard_free[place] = cell - place * points.counters[ROW_STRIDE] + 1


@nb.njit(cache=True, nogil=True)
def fill_table(points, table, places):
    """Enter all live points into another table, which has room for them.

    Parameters
    ----------
    points : PointColumns
        Only read.
    table : int32[power of two]
        Zeros; written.
    places : int
        How many shards this worker has.
    """
    mask = np.int64(table.size - 1)
    for place in range(places):
        base = place * points.counters[ROW_STRIDE]
        for cell in range(base, base + points.shard_rows[place]):
            if points.born[cell] > 0:
                slot = np.int64(hash_point(points.ids[cell]) & np.uint64(mask))
                while table[slot] != 0:
                    slot = (slot + 1) & mask
                table[slot] = cell + 1


@nb.njit(cache=True, nogil=True)
def find_points(points, identifiers, shards, rows):
    """The shard and the row of each live point.

    Parameters
    ----------
    points : PointColumns
        Only read.
    identifiers : int64[n]
        Only read.
    shards : int64[n]
        The shard of each; only read.
    rows : int64[n]
        Written; -1: there is no such point.
    """
    for i in range(identifiers.size):
        slot = find_slot(points, identifiers[i], hash_point(identifiers[i]))
        cell = np.int64(points.table[slot]) - 1 if slot >= 0 else np.int64(-1)
        place = points.place_of[shards[i]]
        rows[i] = cell - place * points.counters[ROW_STRIDE] if slot >= 0 else np.int64(-1)
