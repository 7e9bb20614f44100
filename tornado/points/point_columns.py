"""The columns of one worker's part of an evolving set of points, and the names of its counters.

Each shard that the worker has takes a stretch of every column, as long as that of any other: the shard at *place* p has *cells*
``p * ROW_STRIDE .. (p + 1) * ROW_STRIDE``, and its row r is the cell ``p * ROW_STRIDE + r``. Address space is reserved for all of them,
and memory comes with the first touch. A row stays where it is, and what a lease may read of it is not written.
"""

from typing import NamedTuple

from ..columns import Float64s, Int8s, Int32s, Int64s, Values

SEQUENCE = 0  # records applied so far; a version of the points is a value of this counter
MISSING = 1  # removals of a point that is not there
DELTAS = 2  # points that came and went by the last call that applied records
BURIED_FIRST = 3  # number of the oldest grave that is not reclaimed
BURIED_NEXT = 4  # number of the next grave
OLDEST = 5  # the oldest version that is leased; ANY_VERSION where none is
TABLE_MASK = 6  # entries of the id table - 1
GRAVE_MASK = 7  # entries of the ring of graves - 1
ROW_STRIDE = 8  # cells between two shards
ENTRY_STRIDE = 9  # entries between two shards
WIDTH = 10  # features of a point
LIVE = 11  # points that are live
POINT_COUNTERS = 16

MOST_DELTAS = 1 << 14
AHEAD = (
    64  # records that are looked up before the first of them is applied, so that memory is waited for once
)
BLOCK_CLASSES = 512
CLASSES_SEARCHED = 128  # above that of a length, before entries are put behind all others
EXACT_CLASSES = 64  # idle blocks of up to so many entries are found by their very size
ANY_VERSION = (1 << 63) - 1  # reads the newest state: every live point, no graves
RADIX_BITS = 11
RADIX = 1 << RADIX_BITS


class PointColumns(NamedTuple):
    """Arrays of one worker's points.

    A point that is removed is *buried*: its row stays as it is, its birth is negated, and a ring of graves says when it died,
    chained newest first for each shard. When no lease needs it, its row is free for another point.
    """

    # By cell.
    ids: Int64s  # int64[cells]; of a free row: the next free row of the shard + 1
    label: Float64s  # float64[cells]
    weight: Float64s  # float64[cells]
    born: Int64s  # int64[cells], sequence number of the record that inserted it; negative: buried; 0: free
    entry_start: Int32s  # int32[cells], of sparse points: where its entries begin in those of the shard
    entry_length: Int32s  # int32[cells]
    # Dense: [cells, WIDTH]. Sparse: by entry, see `cell_kernel` for blocks that are idle.
    features: Values
    indices: Int32s  # int32[entries]
    # By place of a shard.
    shard_rows: Int64s  # int64[places], rows that were ever in use
    shard_live: Int64s  # int64[places], points that are live
    shard_free: Int64s  # int64[places], first free row + 1
    shard_buried: Int64s  # int64[places], number of the newest grave + 1
    entries_end: Int64s  # int64[places], first entry that was never used
    entries_used: Int64s  # int64[places], entries that live and buried points have
    idle_blocks: Int64s  # int64[places * BLOCK_CLASSES], where the first idle block of each class begins + 1
    place_of: Int64s  # int64[SHARD_COUNT], the place of each shard, -1: another worker has it
    table: Int32s  # int32[power of two], open addressing: cell of a live point + 1, 0 is free
    grave_cell: Int32s  # int32[ring, a power of two]
    grave_died: Int64s  # int64[ring]
    grave_next: Int64s  # int64[ring], number of the next older grave of the shard + 1
    delta_sign: Int8s  # int8[MOST_DELTAS], 1: the point came, -1: it went
    delta_shard: Int32s  # int32[MOST_DELTAS]
    delta_row: Int32s  # int32[MOST_DELTAS]
    counters: Int64s  # int64[POINT_COUNTERS]
