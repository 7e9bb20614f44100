"""Which rows of a shard are visible at a version, in the order in which their points came; and blocks of entries slid together.

The order depends on the records alone, and not on which rows were free when: so a sum in it has the same bits wherever it is taken.
"""

import numba as nb
import numpy as np

from .cell_kernel import put_block
from .point_columns import (
    ANY_VERSION,
    BLOCK_CLASSES,
    BURIED_FIRST,
    ENTRY_STRIDE,
    GRAVE_MASK,
    RADIX,
    RADIX_BITS,
    ROW_STRIDE,
)


@nb.njit(cache=True)
def sort_rows(keys, rows, count, other_keys, other_rows, starts):
    """Sort rows by their keys, which are not negative: a radix sort from the lowest digit, so in time that grows with the rows.

    Parameters
    ----------
    keys, other_keys : int64[most]
        The first `count` are sorted; written, and the others are used meanwhile.
    rows, other_rows : int32[most]
        Likewise.
    starts : int64[RADIX + 1]
        Written.
    """
    least, greatest = keys[0], keys[0]
    for i in range(count):
        least, greatest = min(least, keys[i]), max(greatest, keys[i])
    shift, passes = 0, 0
    while ((greatest - least) >> shift) != 0:
        starts[:] = 0
        for i in range(count):
            starts[(((keys[i] - least) >> shift) & (RADIX - 1)) + 1] += 1
        for digit in range(RADIX):
            starts[digit + 1] += starts[digit]
        for i in range(count):
            digit = ((keys[i] - least) >> shift) & (RADIX - 1)
            other_keys[starts[digit]] = keys[i]
            other_rows[starts[digit]] = rows[i]
            starts[digit] += 1
        keys[:count] = other_keys[:count]
        rows[:count] = other_rows[:count]
        shift += RADIX_BITS
        passes += 1
    return passes


@nb.njit(cache=True, nogil=True)
def rows_at(points, place, version, keys, rows, other_keys, other_rows, starts):
    """Write the rows of a shard that are visible at a version, in the order of their births; returns how many.

    Parameters
    ----------
    points : PointColumns
        Only read.
    place : int
        Of the shard.
    version : int
        One that is leased, the newest one, or ANY_VERSION.
    rows : int32[rows of the shard]
        Written.
    keys, other_keys : int64[rows of the shard]
        Used meanwhile, as the next two are.
    other_rows : int32[rows of the shard]
    starts : int64[RADIX + 1]
    """
    base = place * points.counters[ROW_STRIDE]
    count = 0
    newest = np.int64(0)
    is_sorted = True
    for row in range(points.shard_rows[place]):
        born = points.born[base + row]
        if 0 < born <= version:
            keys[count], rows[count] = born, row
            is_sorted = is_sorted and born > newest
            newest = born
            count += 1
    if version != ANY_VERSION:
        number = points.shard_buried[place] - 1
        while number >= points.counters[BURIED_FIRST]:
            grave = number & points.counters[GRAVE_MASK]
            if points.grave_died[grave] <= version:
                break
            cell = np.int64(points.grave_cell[grave])
            born = -points.born[cell]
            if born <= version:
                keys[count], rows[count] = born, cell - base
                is_sorted = False
                count += 1
            number = points.grave_next[grave] - 1
    if not is_sorted:
        sort_rows(keys, rows, count, other_keys, other_rows, starts)
    return count


@nb.njit(cache=True, nogil=True)
def merge_blocks(points, place, keys, rows, other_keys, other_rows, starts):
    """Make one block of idle entries of a shard of those that lie side by side; returns where its entries end. Nothing is moved.

    Parameters
    ----------
    points : PointColumns
        Written.
    place : int
        Of the shard.
    keys, other_keys : int64[rows of the shard]
        Used meanwhile, as the next ones are.
    rows, other_rows : int32[rows of the shard]
    starts : int64[RADIX + 1]
    """
    base = place * points.counters[ROW_STRIDE]
    count = 0
    for row in range(points.shard_rows[place]):
        if points.born[base + row] != 0 and points.entry_length[base + row] > 0:
            keys[count], rows[count] = np.int64(points.entry_start[base + row]), row
            count += 1
    if count > 0:
        sort_rows(keys, rows, count, other_keys, other_rows, starts)
    for block in range(BLOCK_CLASSES):
        points.idle_blocks[place * BLOCK_CLASSES + block] = 0
    end = np.int64(0)
    for i in range(count):
        if keys[i] > end:
            put_block(points, place, end, keys[i] - end)
        end = keys[i] + np.int64(points.entry_length[base + np.int64(rows[i])])
    points.entries_end[place] = end
    return end


@nb.njit(cache=True, nogil=True)
def slide_entries(points, place, keys, rows, other_keys, other_rows, starts):
    """Slide the entries of a shard together; returns how many there are. No version of it is leased, and no point buried.

    Parameters
    ----------
    points : PointColumns
        Written.
    place : int
        Of the shard.
    keys, other_keys : int64[rows of the shard]
        Used meanwhile, as the next ones are.
    rows, other_rows : int32[rows of the shard]
    starts : int64[RADIX + 1]
    """
    base = place * points.counters[ROW_STRIDE]
    entries = place * points.counters[ENTRY_STRIDE]
    count = 0
    for row in range(points.shard_rows[place]):
        if points.born[base + row] > 0 and points.entry_length[base + row] > 0:
            keys[count], rows[count] = np.int64(points.entry_start[base + row]), row
            count += 1
    if count > 0:
        sort_rows(keys, rows, count, other_keys, other_rows, starts)
    end = np.int64(0)
    for i in range(count):
        cell = base + np.int64(rows[i])
        start, length = np.int64(points.entry_start[cell]), np.int64(points.entry_length[cell])
        if start != end:
            for entry in range(length):
                points.indices[entries + end + entry] = points.indices[entries + start + entry]
                points.features[entries + end + entry] = points.features[entries + start + entry]
            points.entry_start[cell] = end
        end += length
    points.entries_end[place] = end
    for block in range(BLOCK_CLASSES):
        points.idle_blocks[place * BLOCK_CLASSES + block] = 0
    return end
