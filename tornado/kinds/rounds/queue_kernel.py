"""Queues of the compiled loop of rounds: which cells are dirty, by round; when a round is due; statistics; outboxes."""

import numba as nb
import numpy as np

from .loop_columns import (
    CAPACITY,
    CURSOR_ITERATION,
    CURSOR_KIND,
    FLOOR,
    HISTORY,
    IDLE,
    ITERATION,
    NEVER,
    OUTBOX,
    PENDING,
    POSITION,
    ROUNDS,
    SENT_LEAST,
    UPDATES,
    WORDS,
    WORKERS,
)

_OUTBOX_SOFT_LIMIT = 1 << 15


@nb.njit(cache=True)
def push_cell(loop, row, number):
    """Queue a cell that has become dirty."""
    length = loop.queue_length[number]
    loop.queue_row[number * loop.counters[CAPACITY] + length] = row
    loop.queue_length[number] = length + 1
    loop.counters[PENDING] += 1


@nb.njit(cache=True)
def mark_dirty(loop, row, number):
    """A vertex may have another value at a round."""
    place = row * loop.counters[WORDS] + (number >> 6)
    bit = np.uint64(1) << np.uint64(number & 63)
    if loop.dirty[place] & bit == np.uint64(0):
        loop.dirty[place] |= bit
        push_cell(loop, row, number)


@nb.njit(cache=True)
def mark_every_round(loop, row):
    """A vertex may have another value at every round: its neighbours are others now."""
    first = row * loop.counters[WORDS]
    for word in range(loop.counters[WORDS]):
        missing = loop.every_round[word] & ~loop.dirty[first + word]
        loop.dirty[first + word] |= missing
        number = word * 64
        while missing != np.uint64(0):
            if missing & np.uint64(1):
                push_cell(loop, row, number)
            missing >>= np.uint64(1)
            number += 1


@nb.njit(cache=True)
def take_cell(loop, number):
    """Take a dirty cell of a round, which is clean from now on; return its row."""
    length = loop.queue_length[number] - 1
    row = np.int64(loop.queue_row[number * loop.counters[CAPACITY] + length])
    loop.queue_length[number] = length
    loop.counters[PENDING] -= 1
    loop.dirty[row * loop.counters[WORDS] + (number >> 6)] &= ~(np.uint64(1) << np.uint64(number & 63))
    return row


@nb.njit(cache=True)
def least_round(loop):
    """The least round with a dirty cell, or 0."""
    for number in range(1, loop.counters[ROUNDS] + 1):
        if loop.queue_length[number] > 0:
            return number
    return 0


@nb.njit(cache=True)
def due(loop, number):
    """The least iteration at which this worker may still compute a round, not before those that it has computed.

    Iterations count rounds on and on: of n rounds, round k is computed at k - 1, n + k - 1, 2n + k - 1 and so on. So what the
    cells of a round cause comes one iteration later, in the round behind it.
    """
    now = max(loop.counters[FLOOR] + 1, loop.counters[POSITION])
    return now + (number - 1 - now) % loop.counters[ROUNDS]


@nb.njit(cache=True)
def least_pending(loop):
    """The least iteration at which there is work on this worker, or NEVER."""
    number = least_round(loop)
    least = due(loop, number) if number > 0 else NEVER
    if loop.counters[CURSOR_KIND] != IDLE:
        least = min(least, loop.counters[CURSOR_ITERATION])
    return least


@nb.njit(cache=True)
def note_update(loop, iteration):
    """Count a cell that got another value; what was counted of an older iteration in the same place is forgotten."""
    loop.counters[UPDATES] += 1
    loop.counters[ITERATION] = max(loop.counters[ITERATION], iteration)
    place = iteration & (HISTORY - 1)
    if loop.history_iteration[place] != iteration:
        if loop.history_iteration[place] > iteration:
            return
        loop.history_iteration[place] = iteration
        loop.history_updates[place] = 0
    loop.history_updates[place] += 1


@nb.njit(cache=True)
def send(loop, worker, kind, identifier, number, value, due_at):
    """Append a message to the outbox of another worker; it causes work at an iteration."""
    length = loop.out_length[worker]
    place = worker * OUTBOX + length
    loop.out_kind[place] = kind
    loop.out_id[place] = identifier
    loop.out_round[place] = number
    loop.out_value[place] = value
    loop.out_length[worker] = length + 1
    loop.out_least[worker] = min(loop.out_least[worker], due_at)
    loop.counters[SENT_LEAST] = min(loop.counters[SENT_LEAST], due_at)


@nb.njit(cache=True)
def send_all(loop, workers, kind, identifier, number, value, due_at):
    """Send to every worker of a bit set."""
    worker = 0
    while workers != np.uint64(0):
        if workers & np.uint64(1):
            send(loop, worker, kind, identifier, number, value, due_at)
        workers >>= np.uint64(1)
        worker += 1


@nb.njit(cache=True)
def outbox_is_full(loop):
    """Whether the caller should empty the outbox first."""
    for worker in range(loop.counters[WORKERS]):
        if loop.out_length[worker] > _OUTBOX_SOFT_LIMIT:
            return True
    return False
