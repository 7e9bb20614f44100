"""What happens to one vertex of the compiled loop: it appears, takes an offer, becomes dirty or clean, is queued for a recheck."""

import numba as nb
import numpy as np

from ...graph.graph_columns import ROWS
from ...graph.rows_kernel import row_of
from ...protocol.session_kernel import OPEN_RECORDS
from .loop_columns import (
    BLOCKED,
    CURSOR_BACK,
    CURSOR_KIND,
    CURSOR_NUMBER,
    CURSOR_POSITION,
    CURSOR_ROW,
    DELAY_BOUND,
    DIRTY,
    EPOCH,
    FLOOR,
    HEAP,
    MARKED,
    NEXT_WAVE,
    NO_PARENT,
    OWN,
    QUEUE_SLACK,
    RECHECKS,
    REGATHER,
    ROWS_SEEN,
    SELF_PARENT,
    TOUCHED,
    TOUCHED_KEPT,
    WORKER,
)
from .queue_kernel import count_pending, discount_pending, push_heap
from .stand_in import WORST, better, initial, offer, priority
from .value_kernel import HAS_LABELS, put_row_value, row_value_at, value_at


@nb.njit(cache=True)
def touch(loop, row):
    """Called wherever something of a row changes that a fork copies: copies of the row are out of date."""
    epoch = loop.counters[EPOCH]
    if loop.touched[row] != epoch:
        loop.touched[row] = epoch
        loop.touched_row[loop.counters[TOUCHED] & (TOUCHED_KEPT - 1)] = row
        loop.counters[TOUCHED] += 1


@nb.njit(cache=True)
def admit_rows(graph, session, loop, parameters):
    """Initialise the columns of rows that are new in the graph."""
    for row in range(loop.counters[ROWS_SEEN], graph.counters[ROWS]):
        put_row_value(loop.value, row, WORST)
        put_row_value(loop.candidate, row, WORST)
        loop.parent[row] = NO_PARENT
        loop.reached[row] = loop.counters[FLOOR]
        loop.flags[row] = 0
        loop.touched[row] = 0  # no copy has it
        # What is zero stays untouched: it takes no memory until somebody needs it.
        if loop.subscribers[row]:
            loop.subscribers[row] = np.uint64(0)
        if session.record[row]:
            session.record[row] = 0
        if session.preparing_producers[row]:
            session.preparing_producers[row] = 0
        loop.counters[ROWS_SEEN] = row + 1
        if graph.owner[row] == loop.counters[WORKER]:
            loop.flags[row] = OWN
            value = initial(graph.ids[row], *parameters)
            if better(value, WORST):
                put_row_value(loop.candidate, row, value)
                loop.parent[row] = SELF_PARENT
                mark_dirty(session, loop, row)


@nb.njit(cache=True)
def row_for(graph, session, loop, identifier, parameters):
    """The row of a vertex id, made if there is none; this loop has columns for it."""
    row = row_of(graph, identifier)
    if row >= loop.counters[ROWS_SEEN]:
        admit_rows(graph, session, loop, parameters)
    return row


@nb.njit(cache=True)
def waits_first(session, loop, row):
    """Whether a row that stands in a queue waits there, and was not met in it since the marks in `round_row` were cleared."""
    is_first = loop.flags[row] & DIRTY != 0 and session.record[row] == 0 and loop.round_row[row] == 0
    if is_first:
        loop.round_row[row] = 1
    return is_first


@nb.njit(cache=True)
def is_crowded(loop, queued):
    """Whether a queue has so many entries that most are out of date."""
    return queued >= 2 * loop.counters[ROWS_SEEN] + QUEUE_SLACK


@nb.njit(cache=True)
def enqueue(session, loop, row):
    """Put a dirty vertex into the processing order, by its candidate; an entry by an older one stays, and counts for nothing.

    Where others are improved again and again before their turn comes, as the leaves of a hub are, such entries would come to more than
    there is room for.
    """
    if is_crowded(loop, loop.counters[HEAP]):
        entries = loop.counters[HEAP]
        for place in range(entries):
            loop.round_row[np.int64(loop.heap_row[place])] = 0
        loop.counters[HEAP] = 0
        for place in range(entries):
            key, waiting = loop.heap_key[place], np.int64(loop.heap_row[place])
            if priority(row_value_at(loop.candidate, waiting)) == key and waits_first(session, loop, waiting):
                loop.counters[HEAP] = push_heap(
                    loop.heap_key, loop.heap_row, loop.counters[HEAP], key, waiting
                )
    loop.counters[HEAP] = push_heap(
        loop.heap_key, loop.heap_row, loop.counters[HEAP], priority(row_value_at(loop.candidate, row)), row
    )


@nb.njit(cache=True)
def enqueue_blocked(session, loop, row, iteration):
    """Have a dirty vertex wait for the frontier, or for ever where it is beyond the cap; with room as for `enqueue`."""
    if is_crowded(loop, loop.counters[BLOCKED]):
        entries = loop.counters[BLOCKED]
        for place in range(entries):
            loop.round_row[np.int64(loop.blocked_row[place])] = 0
        loop.counters[BLOCKED] = 0
        for place in range(entries):
            waiting = np.int64(loop.blocked_row[place])
            if waits_first(session, loop, waiting):
                loop.counters[BLOCKED] = push_heap(
                    loop.blocked_key,
                    loop.blocked_row,
                    loop.counters[BLOCKED],
                    np.float64(loop.reached[waiting] + 1),
                    waiting,
                )
    loop.counters[BLOCKED] = push_heap(
        loop.blocked_key, loop.blocked_row, loop.counters[BLOCKED], np.float64(iteration), row
    )


@nb.njit(cache=True)
def mark_dirty(session, loop, row):
    """The candidate of a vertex got better: it has an update to commit."""
    touch(loop, row)
    fresh = loop.flags[row] & DIRTY == 0
    if fresh:
        loop.flags[row] |= DIRTY
        loop.reached[row] = max(loop.reached[row], loop.counters[FLOOR])
        count_pending(loop, loop.reached[row] + 1)
    if loop.counters[DELAY_BOUND] == 1:
        if fresh:
            loop.heap_row[loop.counters[HEAP]] = row
            loop.counters[HEAP] += 1
    elif session.record[row] == 0:
        enqueue(session, loop, row)


@nb.njit(cache=True)
def mark_clean(loop, row):
    """A vertex has no update to commit any more. The caller says that its row was touched."""
    if loop.flags[row] & DIRTY:
        loop.flags[row] &= ~np.uint8(DIRTY)
        discount_pending(loop, loop.reached[row] + 1)


@nb.njit(cache=True)
def raise_reached(loop, row, iteration):
    """The vertex made or gathered a commit of an iteration."""
    if loop.reached[row] < iteration:
        touch(loop, row)
        if loop.flags[row] & DIRTY:
            discount_pending(loop, loop.reached[row] + 1)
            loop.reached[row] = iteration
            count_pending(loop, iteration + 1)
        else:
            loop.reached[row] = iteration


@nb.njit(cache=True)
def feasible_below(loop, row):
    """A producer's value must be strictly better than this to be chosen after a loss (DUAL's feasible distance)."""
    if loop.flags[row] & MARKED:
        return value_at(loop.least, row)
    return row_value_at(loop.value, row)


@nb.njit(cache=True)
def consider(session, loop, row, producer, candidate, producer_value):
    """Take an offer if it is better than what the vertex has. It has raised `reached` already."""
    if not better(candidate, row_value_at(loop.candidate, row)):
        return
    if loop.flags[row] & MARKED and not better(producer_value, value_at(loop.least, row)):
        return
    put_row_value(loop.candidate, row, candidate)
    loop.parent[row] = producer
    mark_dirty(session, loop, row)


@nb.njit(cache=True)
def consider_input(session, loop, row, producer, weight):
    """An offer that comes from a new edge. A vertex gathers no input while it prepares (trap 5)."""
    if session.counters[OPEN_RECORDS] != 0 and session.record[row] != 0:
        loop.flags[row] |= REGATHER
        touch(loop, row)
        return
    producer_value = row_value_at(loop.value, producer)
    if better(producer_value, WORST):
        consider(session, loop, row, producer, offer(producer_value, weight), producer_value)


@nb.njit(cache=True)
def recheck(loop, row, wave):
    """Queue a vertex whose support may be gone."""
    loop.recheck_row[loop.counters[RECHECKS]] = row
    loop.recheck_wave[loop.counters[RECHECKS]] = wave
    loop.counters[RECHECKS] += 1


@nb.njit(cache=True)
def recheck_if_left(loop, row, producer, candidate):
    """Queue a vertex whose parent got better and offers something worse than before, by what does not count first.

    The sum of a lesser length may be rounded to what it was, and come with another facility: what the vertex has is offered by nobody
    any more. Of edges beside each other the others are not meant, whose sums are another number.
    """
    if HAS_LABELS and loop.parent[row] == producer:
        current = row_value_at(loop.candidate, row)
        if better(current, candidate) and priority(current) == priority(candidate):
            recheck(loop, row, loop.counters[NEXT_WAVE])


@nb.njit(cache=True)
def set_cursor(loop, kind, row, number):
    """Begin a scan of a row's list."""
    loop.counters[CURSOR_KIND] = kind
    loop.counters[CURSOR_ROW] = row
    loop.counters[CURSOR_POSITION] = 0
    loop.counters[CURSOR_BACK] = 0
    loop.counters[CURSOR_NUMBER] = number
