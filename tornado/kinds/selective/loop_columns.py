"""The state columns of one selective loop on one worker, and the names of its counters, flags and message kinds."""

from typing import NamedTuple

import numpy as np

from ...columns import (
    Float64s,
    Int32s,
    Int64s,
    RowInt32s,
    RowInt64s,
    RowUint8s,
    RowUint16s,
    RowValues,
    Uint8s,
    Uint64s,
    Values,
)

# Flags of a row.
OWN = 1  # a vertex of this worker; otherwise a ghost
DIRTY = 2  # has a candidate that was not committed yet
MARKED = 4  # was made worse by a wave that has not ended
REGATHER = 8  # got an input while it was preparing
SUBSCRIBED = 16  # ghost: the producer's broadcasts arrive
ASKED = 32  # ghost: a subscription is under way

# Kinds of messages between the workers of a loop; `number` is an iteration, a clock or a wave.
PREPARE, ACKNOWLEDGE, UPDATE, INVALIDATE, SUBSCRIBE, UNSUBSCRIBE, SUBSCRIBED_REPLY = 1, 2, 3, 4, 5, 6, 7

# Scans that the cursor can be in the middle of.
IDLE, SCAN_READ, SCAN_COMMIT, SCAN_PREPARE, SCAN_SPREAD, SCAN_GATHER, SCAN_INPUT = 0, 1, 2, 3, 4, 5, 6

# Counters.
HEAP = 0  # entries of the processing order
BLOCKED = 1  # entries that wait for the delay bound
RECHECKS = 2
SPREADS = 3
MARKS = 4
ROUND = 5  # vertices of the synchronous round that is being scattered
ROUND_ITERATION = 6
HELD = 7  # subscriptions that wait for a commit
CURSOR_KIND = 8
CURSOR_ROW = 9
CURSOR_POSITION = 10
CURSOR_NUMBER = 11  # iteration or wave of the scan
CURSOR_PARENT = 12
CURSOR_SUPPORTED = 13
NEXT_WAVE = 14  # the wave that a removal joins
FLOOR = 15  # one less than the iteration that this worker may still send at
DELAY_BOUND = 16
VERSION = 17  # graph sequence that this loop reads
WORKER = 18
WORKERS = 19
SOLO = 20  # 1: the only worker, which may end waves by itself
UPDATES = 21
PREPARES = 22
PENDING_BASE = 23
PENDING_LEAST = 24  # no pending iteration inside the window is smaller
PENDING_INSIDE = 25
PENDING_BEYOND = 26
EDGES_VISITED = 27
WAVES = 28  # waves that ended here
ROWS_SEEN = 29  # rows whose columns were initialised
IMPOSSIBLE = 30  # invariants found broken; a bug of ours
ITERATION = 31  # greatest iteration committed here
INVALIDATIONS = 32
CAP = 35  # nothing commits above
LIMIT = 34  # frontier + delay bound, as last known: nothing commits at or above
ALWAYS_PREPARES = 36  # 1: also where the last allowed iteration would do without
OVERTAKEN = 37  # such commits that came to a consumer whose iteration was greater already
SENT_LEAST = 33  # the least iteration at which what is in the outboxes causes work
CURSOR_BACK = 38  # 1: the scan is in the reverse list
HEARS_BACK = 39  # 1: the graph has reverse lists, which this loop hears along too
EPOCH = 40  # counts copies: of a main loop those made of it, of a branch's columns those made into them
TOUCHED = 41  # rows that were touched since there are these columns, each at most once an epoch
ASKS = 42  # 0: vertices go by their values alone, commit behind what they have gathered, and ask nobody
CORRECTIONS = 43  # commits of a better value in place of one that was announced: without removals, work that was in vain
# While a loop takes in a graph of which it has the fixed point: 1, and the values that it waits for, with which no edge offers anything
# better; 0: what comes is weighed.
AT_REST = 44
LOOP_COUNTERS = 45

QUEUE_SLACK = 1 << 16  # entries of queues that there is room for beside those by rows and edges
WINDOW = 1 << 16  # iterations counted one by one in `pending`
OUTBOX = 1 << 22  # messages that an outbox has address space for; the kernel has it emptied long before
HISTORY = 1 << 10  # iterations whose statistics are kept
TOUCHED_KEPT = 1 << 18  # of the rows that were touched, so many of the last are known
LAST_EPOCH = (1 << 16) - 1  # that a row's record has room for
NEVER = np.iinfo(np.int64).max
UNBOUNDED = 1 << 60
NO_PARENT = -1
SELF_PARENT = -2


class LoopColumns(NamedTuple):
    """Arrays of one loop; the first group is what a fork copies.

    A value is one float64, or two numbers of one type one after another (`value_kernel`, `pair_kernel`). A row's `least` and
    `wave` count while it is MARKED, so a fork copies them for those rows only; `candidate` differs from `value` while it is DIRTY.
    """

    # Fields of one record a row, so that an edge touches one cache line for each end.
    value: RowValues  # values[rows], what the producer announced last (own vertices and ghosts)
    candidate: RowValues  # values[rows], what the vertex would commit now
    parent: RowInt32s  # int32[rows], row of the producer that the candidate (or value) came from
    reached: RowInt64s  # int64[rows], greatest iteration of a commit that the vertex made or gathered
    flags: RowUint8s  # uint8[rows]
    touched: RowUint16s  # uint16[rows], the last epoch in which one of these changed; of these columns alone, never copied
    subscribers: Uint64s  # uint64[rows], bit set of the other workers that hold a ghost of this vertex

    least: Values  # values[rows], best value announced since it was last settled (DUAL's feasible distance)
    wave: Int64s  # int64[rows], the last wave that made it worse

    touched_row: Int32s  # int32[TOUCHED_KEPT], a ring: the rows that were touched last
    heap_key: Float64s  # float64[heap], priority
    heap_row: Int32s  # int32[heap]
    blocked_key: Float64s  # float64[heap], iteration
    blocked_row: Int32s  # int32[heap]
    recheck_row: Int32s  # int32[stack], vertices whose support may be gone
    recheck_wave: Int64s  # int64[stack]
    spread_row: Int32s  # int32[stack], producers whose value got worse
    spread_wave: Int64s  # int64[stack]
    marks: Int32s  # int32[list], MARKED rows
    round_row: Int32s  # int32[list]
    held_row: Int32s  # int32[list]
    held_worker: Int32s  # int32[list]
    pending: Int32s  # int32[WINDOW], dirty vertices by iteration
    history_iteration: Int64s  # int64[HISTORY]
    history_updates: Int64s  # int64[HISTORY]
    history_prepares: Int64s  # int64[HISTORY]
    history_residual: Float64s  # float64[HISTORY]
    out_kind: Uint8s  # uint8[workers * OUTBOX]
    out_id: Int64s  # int64[workers * OUTBOX]
    out_value: Values  # values[workers * OUTBOX]
    out_number: Int64s  # int64[workers * OUTBOX]
    out_length: Int64s  # int64[workers]
    out_least: Int64s  # int64[workers], least iteration at which what is in the outbox causes work
    out_wave: Int64s  # int64[workers], least wave of the invalidations in the outbox
    counters: Int64s  # int64[LOOP_COUNTERS]
    best: Values  # values[3], of the gather that the cursor is in: best feasible candidate, support by the parent, own initial value
