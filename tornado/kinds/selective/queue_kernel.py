"""Queues of the compiled loop: the processing order, the iterations that are pending, statistics by iteration, outboxes.

`pending` counts dirty vertices by iteration in a window, so that the least iteration that can still commit here (this worker's
part of the frontier) is found in constant time; what lies beyond the window is only counted, and looked up when it is needed.
"""

import numba as nb
import numpy as np

from .loop_columns import (
    DIRTY,
    FLOOR,
    HISTORY,
    INVALIDATE,
    NEVER,
    OUTBOX,
    PENDING_BASE,
    PENDING_BEYOND,
    PENDING_INSIDE,
    PENDING_LEAST,
    ROWS_SEEN,
    SENT_LEAST,
    UPDATE,
    WINDOW,
    WORKERS,
)
from .value_kernel import put_value

_OUTBOX_SOFT_LIMIT = 1 << 15


@nb.njit(cache=True)
def push_heap(keys, rows, length, key, row):
    """Binary heap, least key first; returns the new length."""
    place = length
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] <= key:
            break
        keys[place] = keys[above]
        rows[place] = rows[above]
        place = above
    keys[place] = key
    rows[place] = row
    return length + 1


@nb.njit(cache=True)
def drop_heap_top(keys, rows, length):
    """Remove the least entry; returns the new length."""
    length -= 1
    key = keys[length]
    row = rows[length]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= length:
            break
        if below + 1 < length and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[place] = keys[below]
        rows[place] = rows[below]
        place = below
    keys[place] = key
    rows[place] = row
    return length


@nb.njit(cache=True)
def recount_pending(loop):
    """Count the iterations of all dirty vertices anew, in a window that begins a little before the least of them."""
    for place in range(WINDOW):
        loop.pending[place] = 0
    least = NEVER
    for row in range(loop.counters[ROWS_SEEN]):
        if loop.flags[row] & DIRTY:
            least = min(least, loop.reached[row] + 1)
    loop.counters[PENDING_INSIDE] = 0
    loop.counters[PENDING_BEYOND] = 0
    loop.counters[PENDING_BASE] = max(np.int64(0), least - WINDOW // 4)
    loop.counters[PENDING_LEAST] = least
    for row in range(loop.counters[ROWS_SEEN]):
        if loop.flags[row] & DIRTY:
            place = loop.reached[row] + 1 - loop.counters[PENDING_BASE]
            if place < WINDOW:
                loop.pending[place] += 1
                loop.counters[PENDING_INSIDE] += 1
            else:
                loop.counters[PENDING_BEYOND] += 1


@nb.njit(cache=True)
def count_pending(loop, iteration):
    """A vertex became dirty at an iteration. Its flag must be set already."""
    if loop.counters[PENDING_INSIDE] + loop.counters[PENDING_BEYOND] == 0:
        loop.counters[PENDING_BASE] = max(np.int64(0), iteration - WINDOW // 4)
        loop.counters[PENDING_LEAST] = iteration
    place = iteration - loop.counters[PENDING_BASE]
    if place < 0:
        recount_pending(loop)
    elif place < WINDOW:
        loop.pending[place] += 1
        loop.counters[PENDING_INSIDE] += 1
        loop.counters[PENDING_LEAST] = min(loop.counters[PENDING_LEAST], iteration)
    else:
        loop.counters[PENDING_BEYOND] += 1


@nb.njit(cache=True)
def discount_pending(loop, iteration):
    """A vertex that was dirty at an iteration no longer is."""
    place = iteration - loop.counters[PENDING_BASE]
    if place < WINDOW:
        loop.pending[place] -= 1
        loop.counters[PENDING_INSIDE] -= 1
    else:
        loop.counters[PENDING_BEYOND] -= 1


@nb.njit(cache=True)
def least_pending(loop):
    """The least iteration at which a dirty vertex of this worker can commit, or NEVER."""
    if loop.counters[PENDING_INSIDE] == 0:
        if loop.counters[PENDING_BEYOND] == 0:
            return NEVER
        recount_pending(loop)
    place = loop.counters[PENDING_LEAST] - loop.counters[PENDING_BASE]
    while loop.pending[place] == 0:
        place += 1
    loop.counters[PENDING_LEAST] = place + loop.counters[PENDING_BASE]
    return loop.counters[PENDING_LEAST]


@nb.njit(cache=True)
def note_history(loop, iteration, updates, prepares, residual):
    """Add to the statistics of an iteration; an older iteration in the same place is forgotten."""
    place = iteration & (HISTORY - 1)
    if loop.history_iteration[place] != iteration:
        if loop.history_iteration[place] > iteration:
            return
        loop.history_iteration[place] = iteration
        loop.history_updates[place] = 0
        loop.history_prepares[place] = 0
        loop.history_residual[place] = 0.0
    loop.history_updates[place] += updates
    loop.history_prepares[place] += prepares
    loop.history_residual[place] += residual


@nb.njit(cache=True)
def send(loop, worker, kind, identifier, value, number):
    """Append a message to the outbox of another worker."""
    length = loop.out_length[worker]
    place = worker * OUTBOX + length
    loop.out_kind[place] = kind
    loop.out_id[place] = identifier
    put_value(loop.out_value, place, value)
    loop.out_number[place] = number
    loop.out_length[worker] = length + 1
    if kind == INVALIDATE:
        loop.out_wave[worker] = min(loop.out_wave[worker], number)
    due = number + 1 if kind == UPDATE else loop.counters[FLOOR] + 2
    loop.out_least[worker] = min(loop.out_least[worker], due)
    loop.counters[SENT_LEAST] = min(loop.counters[SENT_LEAST], due)


@nb.njit(cache=True)
def send_all(loop, workers, kind, identifier, value, number):
    """Send to every worker of a bit set."""
    worker = 0
    while workers != np.uint64(0):
        if workers & np.uint64(1):
            send(loop, worker, kind, identifier, value, number)
        workers >>= np.uint64(1)
        worker += 1


@nb.njit(cache=True)
def outbox_is_full(loop):
    """Whether the caller should empty the outbox first."""
    for worker in range(loop.counters[WORKERS]):
        if loop.out_length[worker] > _OUTBOX_SOFT_LIMIT:
            return True
    return False
