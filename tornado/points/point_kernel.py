"""Applying records to one worker's points, and telling whoever learns from them what came and what went.

Nothing that was there before a call is overwritten by it, but for rows that were free: a point that is removed or replaced is
buried, and its row is free for others from the next call on, where no lease needs it. So what the deltas of a call name can be read
until the next one, that which went as well.
"""

import numba as nb
import numpy as np

from ..columns import prefetch
from .cell_kernel import clear_slot, find_slot, free_cell, take_cell, take_entries
from .point_columns import (
    AHEAD,
    BURIED_FIRST,
    BURIED_NEXT,
    DELTAS,
    ENTRY_STRIDE,
    GRAVE_MASK,
    LIVE,
    MISSING,
    MOST_DELTAS,
    OLDEST,
    ROW_STRIDE,
    SEQUENCE,
    TABLE_MASK,
    WIDTH,
)
from .shard_kernel import SHARD_SHIFT, hash_point

NO_POINT, FOREIGN = -1, -2  # in place of a cell: the record is a removal, or belongs to another worker


@nb.njit(cache=True, nogil=True)
def reclaim(points, fuel, sparse):
    """Free the rows of points that died before the oldest version that is leased, up to `fuel` of them.

    Parameters
    ----------
    points : PointColumns
        Written.
    fuel : int
        How many.
    sparse : int
        1: points are sparse.
    """
    number = points.counters[BURIED_FIRST]
    stop = min(points.counters[BURIED_NEXT], number + fuel)
    while number < stop:
        grave = number & points.counters[GRAVE_MASK]
        if points.grave_died[grave] > points.counters[OLDEST]:
            break
        free_cell(points, np.int64(points.grave_cell[grave]), sparse)
        number += 1
    points.counters[BURIED_FIRST] = number


@nb.njit(cache=True)
def has_no_room(points):
    """Whether there may be no room for what a replacement leaves behind."""
    if points.counters[DELTAS] + 2 > MOST_DELTAS:
        return True
    return points.counters[BURIED_NEXT] - points.counters[BURIED_FIRST] > points.counters[GRAVE_MASK]


@nb.njit(cache=True)
def tell(points, sign, shard, row):
    """Write a delta."""
    delta = points.counters[DELTAS]
    points.delta_sign[delta] = sign
    points.delta_shard[delta] = shard
    points.delta_row[delta] = row
    points.counters[DELTAS] = delta + 1


@nb.njit(cache=True)
def bury(points, shard, place, cell):
    """A point dies by the record that is applied."""
    number = points.counters[BURIED_NEXT]
    grave = number & points.counters[GRAVE_MASK]
    points.born[cell] = -points.born[cell]
    points.grave_cell[grave] = cell
    points.grave_died[grave] = points.counters[SEQUENCE]
    points.grave_next[grave] = points.shard_buried[place]
    points.shard_buried[place] = number + 1
    points.counters[BURIED_NEXT] = number + 1
    points.counters[LIVE] -= 1
    points.shard_live[place] -= 1
    tell(points, -1, shard, cell - place * points.counters[ROW_STRIDE])


@nb.njit(cache=True)
def settle(points, shard, place, identifier, hashed, operation):
    """Take away what a record takes the place of, and return the cell of the point that comes, or `NO_POINT`."""
    points.counters[SEQUENCE] += 1
    slot = find_slot(points, identifier, hashed)
    if slot >= 0:
        bury(points, shard, place, np.int64(points.table[slot]) - 1)
    if operation == -1:
        if slot >= 0:
            clear_slot(points, slot)
        else:
            points.counters[MISSING] += 1
        return np.int64(NO_POINT)
    cell = take_cell(points, place)
    points.table[slot if slot >= 0 else -1 - slot] = cell + 1
    points.ids[cell] = identifier
    points.born[cell] = points.counters[SEQUENCE]
    points.counters[LIVE] += 1
    points.shard_live[place] += 1
    tell(points, 1, shard, cell - place * points.counters[ROW_STRIDE])
    return cell


@nb.njit(cache=True)
def take_in(points, identifier, label, weight, operation):
    """Apply a record but for its features, and return the cell that they go to; `NO_POINT` or `FOREIGN` where they go nowhere."""
    hashed = hash_point(identifier)
    shard = np.int64(hashed >> np.uint64(SHARD_SHIFT))
    place = points.place_of[shard]
    if place < 0:
        return np.int64(FOREIGN)
    cell = settle(points, shard, place, identifier, hashed, operation)
    if cell >= 0:
        points.label[cell] = label
        points.weight[cell] = weight
    return cell


@nb.njit(cache=True)
def look_up(points, identifiers, first, stop):
    """Have fetched what finding the next records touches: each pass asks for what the one behind it needs, of all at once."""
    stop = min(stop, first + AHEAD)
    mask = np.uint64(points.counters[TABLE_MASK])
    for i in range(first, stop):
        prefetch(points.table, np.int64(hash_point(identifiers[i]) & mask))
    for i in range(first, stop):
        cell = np.int64(points.table[np.int64(hash_point(identifiers[i]) & mask)]) - 1
        prefetch(points.ids, max(np.int64(0), cell))
    return stop


@nb.njit(cache=True, nogil=True)
def apply_dense(points, identifiers, labels, weights, operations, features, first, stop):
    """Apply records ``first .. stop`` of dense points, and write what changed into the delta columns.

    Returns the index of the first record that was not applied: it stops early when the delta columns or the ring of graves are full.
    Where a record belongs to another worker, it stops there and returns ``-1 - index``.

    Parameters
    ----------
    points : PointColumns
        Written.
    identifiers : int64[n]
        Only read, as the others are.
    labels, weights : float64[n]
    operations : int8[n]
    features : float32[n, WIDTH] or float64[n, WIDTH]
    first, stop : int
    """
    points.counters[DELTAS] = 0
    width = points.counters[WIDTH]
    known = first
    for i in range(first, stop):
        if has_no_room(points):
            return i
        if i == known:
            known = look_up(points, identifiers, i, stop)
        cell = take_in(points, identifiers[i], labels[i], weights[i], operations[i])
        if cell == FOREIGN:
            return -1 - i
        if cell >= 0:
            base = cell * width
            for feature in range(width):
                points.features[base + feature] = features[i, feature]
    return stop


@nb.njit(cache=True, nogil=True)
def apply_sparse(points, identifiers, labels, weights, operations, starts, indices, values, first, stop):
    """Likewise of sparse points, whose features are entries ``starts[i] .. starts[i + 1]``.

    Parameters
    ----------
    points : PointColumns
        Written.
    identifiers : int64[n]
        Only read, as the others are.
    labels, weights : float64[n]
    operations : int8[n]
    starts : int64[n + 1]
    indices : int32[nnz]
    values : float32[nnz] or float64[nnz]
    first, stop : int
    """
    points.counters[DELTAS] = 0
    known = first
    for i in range(first, stop):
        if has_no_room(points):
            return i
        if i == known:
            known = look_up(points, identifiers, i, stop)
        cell = take_in(points, identifiers[i], labels[i], weights[i], operations[i])
        if cell == FOREIGN:
            return -1 - i
        if cell >= 0:
            place, length = cell // points.counters[ROW_STRIDE], starts[i + 1] - starts[i]
            start = take_entries(points, place, length)
            points.entry_start[cell] = start
            points.entry_length[cell] = length
            base = place * points.counters[ENTRY_STRIDE] + start
            for entry in range(length):
                points.indices[base + entry] = indices[starts[i] + entry]
                points.features[base + entry] = values[starts[i] + entry]
    return stop
