"""The state columns of one accumulative loop on one worker, and the names of its counters, totals, flags and messages."""

from typing import NamedTuple

from ...columns import Float64s, Int32s, Int64s, RowInt32s, RowUint8s, RowValues, Uint8s, Uint64s

# Flags of a row.
OWN = 1  # a vertex of this worker; otherwise a ghost. In a branch only those that had been seen at its cut
QUEUED = 2  # waits for its turn to announce
SUBSCRIBED = 4  # ghost: what its owner announces is asked for
TOUCHED = 8  # ghost: the owner has to be told of a change of its out-weight here

# Kinds of messages between the workers of a loop.
UPDATE = 1  # of a producer: what it announces now
DEGREE = 2  # to a producer's owner: by how much the weight of its edges at the sender changed; `number`: their count
SUBSCRIBE, UNSUBSCRIBE = (
    3,
    4,
)  # to a producer's owner: there are edges of it at the sender now, or none any more, which it answers with an UPDATE of 0

# What changed since the lease of a branch, by row.
IN_LIST, OUT_LIST = 1, 2

# Counters.
ROWS_SEEN = 0  # rows whose columns were initialised
WORKER = 1
WORKERS = 2
VERSION = 3  # graph sequence that this loop reads
IS_BRANCH = 4
QUEUE_FIRST = 5  # number of the first entry of the queue, and how many there are
QUEUE_LENGTH = 6
TOUCHED_ROWS = 7
WEIGHTED = 8  # 1: some weight is not 1
UPDATES = 9  # announcements
EDGES_VISITED = 10
VERTICES = 11  # own rows, as of the last time they were added up
DEGREES = 12  # sum of the out-degrees of own rows
IMPOSSIBLE = 13  # messages of a kind that no loop sends, or of a vertex that is not here; a bug of ours
PULLS = 14  # 1: what is heard of a ghost is not passed on to its consumers, since sums are pulled anew, from `packed`
FOLLOWING_ROW = (
    15  # the first row whose out-edges, as the loop found them, were not taken in; ANY_VERSION: none is left
)
ACTIVE = 16  # edges of the rows that were found above their threshold
CURSOR_ROW = 17  # row + 1 of the producer whose consumers are being told; 0: none
CURSOR_POSITION = 18  # in its list
PULL_POSITION = 19  # in the in-list of the row that a sweep is at
HAS_BASES = 20  # 1: vertices have bases of their own, in `own`; else it is 1 of each
SPLIT = 21  # 1: some out-weight has more digits than a float64, in `weight_low` and `weight_least`
PLACING = 22  # 1: a stored snapshot is placed: weights and shares are noted, and nobody hears them before `hear_placed`
LOOP_COUNTERS = 24

# Totals over own rows, float64.
ABSOLUTE = (
    0  # what |r| comes to in the norm, as of the last time it was added up; where that is a sum it is kept up
)
SIGNED = 1  # sum of r
MASS = 2  # sum of x
DRIFT = 3  # how far sums may be from what they are sums of, by rounding, in units of epsilon and of the norm
BASE = 4  # b
FACTOR = 5  # d
THETA = (
    6  # announcing waits until |r| is greater than that, times the out-degree or the base, as the norm says
)
CHANGE = 7  # of the sweep under way: how far the values of announcing rows moved, in the norm
FLOW = 8  # sum of W c, what goes over out-edges before it is damped
RESIDUAL = 9  # sum of |r| that was announced, for the statistics
BASES = 10  # sum of the bases of own rows, as of the last time they were added up
ANNOUNCING_BASES = 11  # of those with out-edges
CURSOR_CHANGE = 12  # of what the producer at the cursor announces
PULL_TOTAL = 13  # of the in-list that a sweep is in, so far, and what that sum has lost
PULL_LOW = 14
LARGEST = 15  # what values come to in the norm, as of the last time they were added up
UNREST = 16  # what announcing all would move in the norm, as of then: as ABSOLUTE, but for capped values
SWEPT_MASS = 17  # of the sweep under way: sum of x
GOAL = 18  # announcing ends where sum |r| + |sum r| is not above that; -inf: with nobody above the threshold
LOOP_TOTALS = 20

OUTBOX = 1 << 22  # messages that an outbox has address space for; the kernel has it emptied long before


class SumColumns(NamedTuple):
    """Arrays of one loop.

    The first five are fields of one record of 32 bytes a row; it is what a fork copies, with `subscribers` and `own`. Of a ghost `share` is
    what was heard last, and `weight` and `degree` are what its owner was not told yet.
    """

    heard: RowValues  # float64[rows], s: sum of w * c over the live in-edges
    share: RowValues  # float64[rows], c: what the vertex announced, or was heard to announce
    weight: RowValues  # float64[rows], W: sum of the weights of the out-edges on all workers
    degree: RowInt32s  # int32[rows], D: how many there are
    flags: RowUint8s  # uint8[rows]

    own: Float64s  # float64[rows], the base, where HAS_BASES
    weight_low: Float64s  # float64[rows], where SPLIT: what a float64 cannot hold of `weight`
    weight_least: Float64s  # float64[rows], where SPLIT: what both cannot hold
    packed: Float64s  # float64[rows], while PULLS: `share` once more, in a fourth of the memory that is read at random
    subscribers: Uint64s  # uint64[rows], bit set of the other workers that hold a ghost of this vertex
    queue: Int32s  # int32[power of two], ring of rows
    touched: Int32s  # int32[list], ghosts
    changed: Uint8s  # uint8[rows], of a branch: which lists of the graph changed since its lease
    out_kind: Uint8s  # uint8[workers * OUTBOX]
    out_id: Int64s  # int64[workers * OUTBOX]
    out_value: Float64s  # float64[workers * OUTBOX]
    out_number: Int64s  # int64[workers * OUTBOX]
    out_length: Int64s  # int64[workers]
    queue_mask: Int64s  # int64[1], entries of the queue - 1
    totals: Float64s  # float64[LOOP_TOTALS]
    counters: Int64s  # int64[LOOP_COUNTERS]
