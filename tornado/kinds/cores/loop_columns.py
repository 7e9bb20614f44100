"""The state columns of one loop of core numbers on one worker, and the names of its counters, flags, phases and messages."""

from typing import NamedTuple

import numpy as np

from ...columns import Int32s, Int64s, RowInt32s, RowUint8s, Uint8s, Uint64s

# Flags of a row.
OWN = 1  # a vertex of this worker; otherwise a ghost
SUBSCRIBED = 2  # ghost: its owner was asked for its estimate, and tells of each that differs
DIRTY = 4  # waits to be lowered to what its neighbours support
MARKED = 8  # may be too low, with others of its level that it is joined to: the next wave begins here
WAITING = 16  # waits for its turn in the wave
RAISED = 32  # a wave has raised it, and it has not fallen since: the next wave begins here too

# Kinds of messages between the workers of a loop.
UPDATE, SUBSCRIBE, UNSUBSCRIBE = 1, 2, 3

# Scans that the cursor can be in the middle of.
IDLE, SCAN_LOWER, SCAN_WAVE, SCAN_SPREAD = 0, 1, 2, 3

# Phases, the same on all workers but for what is under way (`coordinator.py`).
REST = 0  # of a main loop: estimates are lowered, and none is marked
LOWER = 1  # estimates are lowered
WAVE = 2  # those that are joined to a marked one rise by one
RAISE_ALL = 3  # all rise to their degree
FINISH = 4  # of a branch

# Counters.
ROWS_SEEN = 0  # rows whose columns were initialised
CURSOR_KIND = 1
CURSOR_ROW = 2
CURSOR_POSITION = 3
CURSOR_BACK = 4  # 1: the scan is in the reverse list
CURSOR_OLD = 5  # the estimate of the row when the scan began; of a spread, the one before
CURSOR_NEW = 6  # of a spread: what it is now
VERSION = 7  # graph sequence that this loop reads
WORKER = 8
WORKERS = 9
UPDATES = 10  # estimates that became others
EDGES_VISITED = 11
IMPOSSIBLE = 12  # messages that no loop sends; a bug of ours
HEARS_BACK = 13  # 1: the graph has reverse lists, whose edges count as well
RESTORING = 14  # 1: values were placed, and what comes are the edges and ghosts that they were computed from
PHASE = 15
MOST = 16  # no estimate is above
STAMP = 17  # number of the last gather
DIRTY_FIRST = 18  # number of the first entry of the queue, and how many there are
DIRTY_LENGTH = 19
WAVE_FIRST = 20
WAVE_LENGTH = 21
MARKS = 22  # rows that are MARKED
RAISED_ROWS = 23  # rows that the last wave raised
RISEN = 24  # of them those that are RAISED still
LOOP_COUNTERS = 32

UNKNOWN = np.iinfo(np.int32).max  # the estimate of a ghost that was not heard yet: none is greater
MOST_STAMPS = np.iinfo(np.int32).max - 1
GREATEST_CORE = UNKNOWN - 1
OUTBOX = 1 << 22  # messages that an outbox has address space for; the kernel has it emptied long before


class CoreColumns(NamedTuple):
    """Arrays of one loop. The first four are fields of one record of 16 bytes a row: what is read of a neighbour lies together.

    A fork copies estimates with their support, flags and `subscribers`.
    """

    estimate: RowInt32s  # int32[rows], of own vertices, and of ghosts as heard last
    support: (
        RowInt32s  # int32[rows], no more than the neighbours that have at least the estimate of an own vertex
    )
    stamp: RowInt32s  # int32[rows], the last gather that counted this row: a neighbour counts once, however many edges there are
    flags: RowUint8s  # uint8[rows]

    subscribers: Uint64s  # uint64[rows], bit set of the other workers that hold a ghost of this vertex
    dirty: Int32s  # int32[power of two], ring of rows
    wave: Int32s  # int32[power of two], likewise
    marks: Int32s  # int32[list], rows
    raised: Int32s  # int32[list], rows
    counts: Int32s  # int32[rows + 1], of the gather under way: how many neighbours have each estimate; all 0 between two
    out_kind: Uint8s  # uint8[workers * OUTBOX]
    out_id: Int64s  # int64[workers * OUTBOX]
    out_value: Int32s  # int32[workers * OUTBOX]
    out_length: Int64s  # int64[workers]
    ring_mask: Int64s  # int64[1], entries of a ring - 1
    counters: Int64s  # int64[LOOP_COUNTERS]
