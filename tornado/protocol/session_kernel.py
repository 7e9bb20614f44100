"""The three-phase session on arrays, compiled: the twin of `session.py` at (producer, worker) granularity.

A worker holds a *record* for every producer whose session touches it at the moment: its own vertices that are preparing, and
ghosts that are prepared here. Consumers are always vertices of this worker, so a producer's PREPARE is answered once for all
consumers it has here, with the greatest iteration that any of them has reached, as soon as none of those that were preparing
with a smaller stamp still is (Tornado, section 4.2; `session.py` states the rules).

Counts are per edge: a producer that joins a consumer's prepare list over two parallel edges joins it twice and leaves it
twice, so no list has to be searched.
"""

from typing import NamedTuple

import numba as nb
import numpy as np

from ..columns import Int32s, Int64s, Uint64s

RECORDS = 0  # records ever used
FREE_RECORD = 1  # first free record + 1
OPEN_RECORDS = 2  # records in use
PENDING = 3  # entries ever used
FREE_PENDING = 4  # first free entry + 1
CLOCK = 5  # Lamport clock of this worker
READY = 6  # length of the ready stack
SESSION_COUNTERS = 8


class SessionColumns(NamedTuple):
    """Arrays of one worker's sessions in one loop."""

    record: Int32s  # int32[rows], record of the row + 1; 0: no session. For an own vertex: it is preparing
    preparing_producers: Int32s  # int32[rows], length of the vertex's prepare list, counted per edge
    row: Int32s  # int32[records]
    clock: Int64s  # int64[records], Lamport stamp, with `identity` to break ties
    identity: Int64s  # int64[records], vertex id
    waiting: Int32s  # int32[records], workers whose acknowledgement is missing
    pended_on: Int32s  # int32[records], edges to own consumers that prepare with a smaller stamp
    reached: Int64s  # int64[records], greatest iteration acknowledged
    born: Int64s  # int64[records], graph sequence at the PREPARE: later edges are not part of the session
    asked: Uint64s  # uint64[records], bit set of the workers that were sent PREPARE
    held: Int64s  # int64[records], iteration of the latest commit that the vertex must not gather before its own; -1: none
    pending: Int32s  # int32[records], first entry + 1 of the vertex's pending list; next free record + 1 in free ones
    pending_row: Int32s  # int32[entries], the pended producer
    pending_next: Int32s  # int32[entries], next entry + 1
    ready: Int32s  # int32[stack], vertices whose session may commit
    counters: Int64s  # int64[SESSION_COUNTERS]


@nb.njit(cache=True)
def precedes(clock, identity, other_clock, other_identity):
    """Lamport's total order of stamps: the clock, ties broken by vertex id."""
    return clock < other_clock or (clock == other_clock and identity < other_identity)


@nb.njit(cache=True)
def open_session(session, row, clock, identity, born):
    """A record for a producer that starts to prepare here."""
    free = session.counters[FREE_RECORD]
    if free > 0:
        entry = free - 1
        session.counters[FREE_RECORD] = session.pending[entry]
    else:
        entry = session.counters[RECORDS]
        session.counters[RECORDS] += 1
    session.counters[OPEN_RECORDS] += 1
    session.record[row] = entry + 1
    session.row[entry] = row
    session.clock[entry] = clock
    session.identity[entry] = identity
    session.waiting[entry] = 0
    session.pended_on[entry] = 0
    session.reached[entry] = -1
    session.held[entry] = -1
    session.born[entry] = born
    session.asked[entry] = np.uint64(0)
    session.pending[entry] = 0
    return entry


@nb.njit(cache=True)
def close_session(session, row):
    """Give a record back; its pending list must be empty by now."""
    entry = session.record[row] - 1
    session.record[row] = 0
    session.row[entry] = -1
    session.pending[entry] = session.counters[FREE_RECORD]
    session.counters[FREE_RECORD] = entry + 1
    session.counters[OPEN_RECORDS] -= 1


@nb.njit(cache=True)
def is_ready(session, row):
    """Whether a preparing vertex may commit: its waiting list, its pended edges and its prepare list are empty."""
    entry = session.record[row] - 1
    return (
        entry >= 0
        and session.waiting[entry] == 0
        and session.pended_on[entry] == 0
        and session.preparing_producers[row] == 0
    )


@nb.njit(cache=True)
def push_if_ready(session, row):
    """Put a preparing vertex that may commit on the ready stack."""
    if is_ready(session, row):
        session.ready[session.counters[READY]] = row
        session.counters[READY] += 1


@nb.njit(cache=True)
def pop_ready(session):
    """A vertex that may commit now, or -1. One that has lost its readiness since is put back when it gets it again."""
    while session.counters[READY] > 0:
        session.counters[READY] -= 1
        row = session.ready[session.counters[READY]]
        if is_ready(session, row):
            return np.int64(row)
    return np.int64(-1)


@nb.njit(cache=True)
def meet(session, entry, consumer, consumer_reached):
    """A preparing producer meets a consumer over one edge.

    A consumer that prepares with a smaller stamp pends it; any other takes it into its prepare list and acknowledges.
    """
    other = session.record[consumer] - 1
    if other >= 0 and precedes(
        session.clock[other], session.identity[other], session.clock[entry], session.identity[entry]
    ):
        free = session.counters[FREE_PENDING]
        if free > 0:
            place = free - 1
            session.counters[FREE_PENDING] = session.pending_next[place]
        else:
            place = session.counters[PENDING]
            session.counters[PENDING] += 1
        session.pending_row[place] = session.row[entry]
        session.pending_next[place] = session.pending[other]
        session.pending[other] = place + 1
        session.pended_on[entry] += 1
    else:
        session.preparing_producers[consumer] += 1
        session.reached[entry] = max(session.reached[entry], consumer_reached)


@nb.njit(cache=True)
def leave_prepare_list(session, consumer):
    """A producer leaves the prepare list of a consumer, over one edge; the consumer may become ready."""
    session.preparing_producers[consumer] -= 1
    if session.preparing_producers[consumer] == 0:
        push_if_ready(session, consumer)


@nb.njit(cache=True)
def pop_pending(session, row):
    """Take one producer off a vertex's pending list (its row, or -1 when the list is empty)."""
    entry = session.record[row] - 1
    place = session.pending[entry] - 1
    if place < 0:
        return np.int64(-1)
    session.pending[entry] = session.pending_next[place]
    session.pending_next[place] = session.counters[FREE_PENDING]
    session.counters[FREE_PENDING] = place + 1
    return np.int64(session.pending_row[place])


@nb.njit(cache=True)
def withdraw(session, producer, consumer):
    """An edge of a preparing producer is gone. True when that was the last pended edge: it may be acknowledged now."""
    entry = session.record[producer] - 1
    other = session.record[consumer] - 1
    if other >= 0:
        before = np.int64(-1)
        place = np.int64(session.pending[other]) - 1
        while place >= 0:
            following = np.int64(session.pending_next[place])
            if session.pending_row[place] == producer:
                if before < 0:
                    session.pending[other] = following
                else:
                    session.pending_next[before] = following
                session.pending_next[place] = session.counters[FREE_PENDING]
                session.counters[FREE_PENDING] = place + 1
                session.pended_on[entry] -= 1
                return session.pended_on[entry] == 0
            before = place
            place = following - 1
    leave_prepare_list(session, consumer)
    return False
