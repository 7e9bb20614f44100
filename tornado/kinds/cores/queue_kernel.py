"""Queues of the compiled loop of core numbers: who is to be lowered, who waits in the wave, who is marked; and outboxes."""

import numba as nb
import numpy as np

from .loop_columns import (
    DIRTY,
    DIRTY_FIRST,
    DIRTY_LENGTH,
    MARKED,
    MARKS,
    OUTBOX,
    RAISED,
    RAISED_ROWS,
    RISEN,
    ROWS_SEEN,
    WAITING,
    WAVE_FIRST,
    WAVE_LENGTH,
    WORKERS,
)

_OUTBOX_SOFT_LIMIT = 1 << 15


@nb.njit(cache=True)
def make_dirty(loop, row):
    """A vertex may have more than its neighbours support."""
    if loop.flags[row] & DIRTY == 0:
        loop.flags[row] |= DIRTY
        place = (loop.counters[DIRTY_FIRST] + loop.counters[DIRTY_LENGTH]) & loop.ring_mask[0]
        loop.dirty[place] = row
        loop.counters[DIRTY_LENGTH] += 1


@nb.njit(cache=True)
def lose_support(loop, row):
    """A neighbour that may have counted for a vertex does not any more.

    How many count is never said too high: parallel edges may each take one away, and who begins to count is not added. So a
    vertex is looked at again at the latest when it has to fall.
    """
    support = np.int64(loop.support[row]) - 1
    loop.support[row] = support
    if support < np.int64(loop.estimate[row]):
        make_dirty(loop, row)


@nb.njit(cache=True)
def take_dirty(loop):
    """The row that has been dirty for longest, which is clean from now on."""
    row = np.int64(loop.dirty[loop.counters[DIRTY_FIRST] & loop.ring_mask[0]])
    loop.counters[DIRTY_FIRST] += 1
    loop.counters[DIRTY_LENGTH] -= 1
    loop.flags[row] &= ~np.uint8(DIRTY)
    return row


@nb.njit(cache=True)
def order_dirty(loop):
    """Have dirty rows wait in the order of their estimates, the least first, where none was raised by a wave.

    So who is likeliest to fall does before those that count on it look at their neighbours.
    """
    first, length, mask = loop.counters[DIRTY_FIRST], loop.counters[DIRTY_LENGTH], loop.ring_mask[0]
    greatest = np.int64(0)
    for place in range(length):
        row = np.int64(loop.dirty[(first + place) & mask])
        loop.raised[place] = row  # the list of those that a wave raised has nothing in it
        value = min(np.int64(loop.estimate[row]), loop.counters[ROWS_SEEN])
        loop.counts[value] += 1
        greatest = max(greatest, value)
    before = np.int64(0)
    for value in range(greatest + 1):
        count = np.int64(loop.counts[value])
        loop.counts[value] = before
        before += count
    for place in range(length):
        row = np.int64(loop.raised[place])
        value = min(np.int64(loop.estimate[row]), loop.counters[ROWS_SEEN])
        loop.dirty[(first + np.int64(loop.counts[value])) & mask] = row
        loop.counts[value] += 1
    for value in range(greatest + 1):
        loop.counts[value] = 0


@nb.njit(cache=True)
def join_wave(loop, row):
    """Let a vertex have its turn in the wave."""
    if loop.flags[row] & WAITING == 0:
        loop.flags[row] |= WAITING
        place = (loop.counters[WAVE_FIRST] + loop.counters[WAVE_LENGTH]) & loop.ring_mask[0]
        loop.wave[place] = row
        loop.counters[WAVE_LENGTH] += 1


@nb.njit(cache=True)
def take_waiting(loop):
    """The row that has waited in the wave for longest."""
    row = np.int64(loop.wave[loop.counters[WAVE_FIRST] & loop.ring_mask[0]])
    loop.counters[WAVE_FIRST] += 1
    loop.counters[WAVE_LENGTH] -= 1
    loop.flags[row] &= ~np.uint8(WAITING)
    return row


@nb.njit(cache=True)
def mark(loop, row):
    """The next wave begins at a vertex."""
    if loop.flags[row] & MARKED == 0:
        loop.flags[row] |= MARKED
        loop.marks[loop.counters[MARKS]] = row
        loop.counters[MARKS] += 1


@nb.njit(cache=True)
def note_raised(loop, row):
    """The wave has raised a vertex."""
    loop.flags[row] |= RAISED
    loop.raised[loop.counters[RAISED_ROWS]] = row
    loop.counters[RAISED_ROWS] += 1
    loop.counters[RISEN] += 1


@nb.njit(cache=True)
def send(loop, worker, kind, identifier, value):
    """Append a message to the outbox of another worker."""
    length = loop.out_length[worker]
    place = worker * OUTBOX + length
    loop.out_kind[place] = kind
    loop.out_id[place] = identifier
    loop.out_value[place] = value
    loop.out_length[worker] = length + 1


@nb.njit(cache=True)
def send_all(loop, workers, kind, identifier, value):
    """Send to every worker of a bit set."""
    worker = 0
    while workers != np.uint64(0):
        if workers & np.uint64(1):
            send(loop, worker, kind, identifier, value)
        workers >>= np.uint64(1)
        worker += 1


@nb.njit(cache=True)
def outbox_is_full(loop):
    """Whether the caller should empty the outbox first."""
    for worker in range(loop.counters[WORKERS]):
        if loop.out_length[worker] > _OUTBOX_SOFT_LIMIT:
            return True
    return False
