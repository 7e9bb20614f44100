"""The state columns of one loop of rounds on one worker, and the names of its counters, flags and message kinds.

A *cell* is a vertex at a round. Cells of one round stand together, a row after another: whoever computes a round reads the one
before it, and nothing else.
"""

from typing import NamedTuple

import numpy as np

from ...columns import Int32s, Int64s, Uint8s, Uint64s, Values

# Flags of a row.
OWN = 1  # a vertex of this worker; otherwise a ghost
SUBSCRIBED = 2  # ghost: its owner was asked for its values, and tells of each that changes

# Kinds of messages between the workers of a loop.
UPDATE, SUBSCRIBE, UNSUBSCRIBE = 1, 2, 3

# Scans that the cursor can be in the middle of.
IDLE, SCAN_GATHER, SCAN_SPREAD = 0, 1, 2

# Counters.
ROWS_SEEN = 0  # rows whose columns were initialised
ROUNDS = 1  # how many a value takes; the values that are shown are those of the last one
CAPACITY = 2  # rows that there is address space for: so many entries lie between a row's cells of two rounds
WORDS = 3  # words of `dirty` a row
PENDING = 4  # dirty cells
CURSOR_KIND = 5
CURSOR_ROW = 6
CURSOR_ROUND = 7
CURSOR_POSITION = 8
CURSOR_BACK = 9  # 1: the scan is in the reverse list
CURSOR_ITERATION = 10
FLOOR = 11  # one less than the iteration that this worker may still send at
CAP = 12  # nothing commits above
VERSION = 13  # graph sequence that this loop reads
WORKER = 14
WORKERS = 15
SENT_LEAST = 16  # the least iteration at which what is in the outboxes causes work
UPDATES = 17  # cells that got another value
EDGES_VISITED = 18
ITERATION = 19  # greatest iteration at which a cell got another value
IMPOSSIBLE = 20  # messages that no loop sends; a bug of ours
HEARS_BACK = 21  # 1: the graph has reverse lists, which this loop hears along too
RESTORING = (
    22  # 1: values were placed, and what comes are the edges and the ghosts that they were computed from
)
TALLY_MASK = 23  # entries of the table of the tally under way - 1
TALLY_MOST = 24  # how often the value that was heard most was heard
POSITION = 25  # the iteration at which a round was computed last
LOOP_COUNTERS = 32

MOST_ROUNDS = 1_000
MOST_CELLS = 1 << 35  # of a main loop, that there is address space for: 400 GB would be written then
MOST_TALLIED = 1 << 32  # entries that a tally has address space for
OUTBOX = 1 << 22  # messages that an outbox has address space for; the kernel has it emptied long before
HISTORY = 1 << 10  # iterations whose statistics are kept
NEVER = np.iinfo(np.int64).max
UNCAPPED = 1 << 60


class RoundsColumns(NamedTuple):
    """Arrays of one loop; the first group is what a fork copies."""

    value: Values  # values[(rounds + 1) * rows], of own vertices as computed last and of ghosts as heard last; round 0 is initial
    dirty: Uint64s  # uint64[rows * words], bit set of the rounds at which the vertex may have another value
    flags: Uint8s  # uint8[rows]
    subscribers: Uint64s  # uint64[rows], bit set of the other workers that hold a ghost of this vertex
    degree: Int32s  # int32[rows], of own vertices: how many edges begin there, where the program shares among them
    queue_row: Int32s  # int32[(rounds + 1) * rows], rows of the dirty cells of each round
    queue_length: Int64s  # int64[rounds + 1]

    every_round: Uint64s  # uint64[words], what `dirty` is of a vertex at all rounds
    tally_value: Values  # values[MOST_TALLIED], open addressing: what was heard, where the count is not 0
    tally_count: Int32s  # int32[MOST_TALLIED], how often; all 0 between two gathers
    gathered: Values  # values[1], of the gather that the cursor is in
    history_iteration: Int64s  # int64[HISTORY]
    history_updates: Int64s  # int64[HISTORY]
    out_kind: Uint8s  # uint8[workers * OUTBOX]
    out_id: Int64s  # int64[workers * OUTBOX]
    out_round: Int32s  # int32[workers * OUTBOX]
    out_value: Values  # values[workers * OUTBOX]
    out_length: Int64s  # int64[workers]
    out_least: Int64s  # int64[workers], least iteration at which what is in the outbox causes work
    counters: Int64s  # int64[LOOP_COUNTERS]
