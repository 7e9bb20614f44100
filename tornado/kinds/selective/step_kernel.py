"""The compiled loop of selective programs: a value is chosen among offers, and an input can be taken back.

Source: the three-phase protocol of Tornado (SIGMOD 2016, section 4.2) on (producer, worker) granularity, and for removals the
feasibility condition of DUAL (Garcia-Luna-Aceves 1993) with numbered invalidation waves. Laws, at every moment between calls:

- a vertex's candidate is the offer of its parent at the value that the parent announced last, or the parent's loss is queued;
- a value only gets worse by a wave, and a vertex that a wave made worse takes no offer of a producer whose value is not
  strictly better than the best one that it announced itself since it was last settled. So no value is ever derived from
  itself, and nothing counts to infinity;
- the caller's program is monotone: an offer is never better than the value it is made from.

Every function returns within its fuel (edges visited); a scan that was cut short is resumed by the next call before anything
else, and the graph must not change until then. `PROGRAM` functions (offer, better, priority, initial) are put in by
`compile.py`, which makes one
module of this file and those it imports from.
"""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import SEQUENCE
from ...protocol.session_kernel import OPEN_RECORDS, pop_ready, push_if_ready
from ..directions_kernel import consumers_here
from .loop_columns import (
    ALWAYS_PREPARES,
    ASKED,
    ASKS,
    BLOCKED,
    CAP,
    CURSOR_SUPPORTED,
    DELAY_BOUND,
    DIRTY,
    EDGES_VISITED,
    EPOCH,
    FLOOR,
    HEAP,
    LIMIT,
    MARKED,
    MARKS,
    NEVER,
    NEXT_WAVE,
    NO_PARENT,
    OWN,
    RECHECKS,
    REGATHER,
    ROUND,
    ROUND_ITERATION,
    ROWS_SEEN,
    SCAN_COMMIT,
    SCAN_READ,
    SELF_PARENT,
    SENT_LEAST,
    SUBSCRIBED,
    TOUCHED,
    TOUCHED_KEPT,
    UNBOUNDED,
    VERSION,
    WAVES,
    WORKERS,
)
from .queue_kernel import drop_heap_top, least_pending, outbox_is_full
from .scan_kernel import (
    begin_prepare,
    commit,
    drain,
    offer_to_all,
    put_off,
    reached_by_consumers,
    run_cursor,
    settle,
)
from .stand_in import WORST, better, initial, priority
from .value_kernel import HAS_LABELS, put_row_value, put_value, row_value_at, value_at
from .vertex_kernel import enqueue, mark_dirty, raise_reached, recheck, set_cursor, touch

_STEP_COST = 8  # fuel for what a step costs beside its edges
_ROWS_AHEAD = 16  # rows that memory is asked for before their turn


@nb.njit(cache=True, nogil=True)
def end_waves(loop, wave):
    """Called when no invalidation of a wave up to `wave` is under way anywhere."""
    settle(loop, wave)
    loop.counters[WAVES] += 1


@nb.njit(cache=True)
def commit_round(graph, session, loop, iteration):
    """Synchronous: commit every vertex that is due, all with what they had gathered before the round; scans follow.

    Where others are told of more vertices than there is room for, the rest commit behind the scans. Who has heard of something better
    by then is due in the next round.
    """
    kept = 0  # those that are not due, at the beginning
    count = 0
    stop = loop.counters[HEAP]
    while kept < stop and not outbox_is_full(loop):
        row = np.int64(loop.heap_row[stop - 1])
        if loop.flags[row] & DIRTY == 0:
            stop -= 1
        elif loop.reached[row] + 1 > iteration:
            loop.heap_row[stop - 1] = loop.heap_row[kept]
            loop.heap_row[kept] = row
            kept += 1
        else:
            commit(graph, session, loop, row, iteration)
            loop.round_row[count] = row
            count += 1
            stop -= 1
    loop.counters[HEAP] = stop
    loop.counters[ROUND] = count
    loop.counters[ROUND_ITERATION] = iteration


@nb.njit(cache=True)
def begin_round_scan(loop):
    """Scatter the next vertex that the round has committed."""
    loop.counters[ROUND] -= 1
    row = np.int64(loop.round_row[loop.counters[ROUND]])
    set_cursor(loop, SCAN_COMMIT, row, loop.counters[ROUND_ITERATION])


@nb.njit(cache=True)
def scatter_round(graph, session, loop, fuel):
    """Scatter the vertices that the round has committed, as long as their lists are short enough to need no cursor."""
    latest = loop.counters[VERSION] >= graph.counters[SEQUENCE]
    iteration = loop.counters[ROUND_ITERATION]
    while loop.counters[ROUND] > 0:
        row = np.int64(loop.round_row[loop.counters[ROUND] - 1])
        length = consumers_here(graph, loop, row)
        if length >= fuel or not latest:
            begin_round_scan(loop)
            return max(fuel, np.int64(1))
        loop.counters[ROUND] -= 1
        offer_to_all(graph, session, loop, row, iteration)
        loop.counters[EDGES_VISITED] += length
        fuel -= length + _STEP_COST
    return fuel


@nb.njit(cache=True)
def advance_synchronous(graph, session, loop, parameters, horizon, fuel):
    """Delay bound 1: whole rounds, each when nothing can arrive for it any more."""
    while fuel > 0:
        fuel = drain(graph, session, loop, parameters, fuel)
        if fuel <= 0:
            break
        if loop.counters[ROUND] > 0:
            fuel = scatter_round(graph, session, loop, fuel)
            continue
        iteration = least_pending(loop)
        if iteration >= min(horizon, loop.counters[SENT_LEAST]) or iteration > loop.counters[CAP]:
            return fuel
        if outbox_is_full(loop):
            return np.int64(0)
        commit_round(graph, session, loop, iteration)
    return np.int64(0)


@nb.njit(cache=True)
def commit_at_once(graph, session, loop, row):
    """All consumers are here and none prepares: prepare and commit are two passes over the list, and no message."""
    iteration = reached_by_consumers(graph, loop, row, loop.reached[row] + 1)
    loop.counters[EDGES_VISITED] += consumers_here(graph, loop, row)
    if iteration >= loop.counters[LIMIT]:
        put_off(session, loop, row, iteration)
        return
    commit(graph, session, loop, row, iteration)
    offer_to_all(graph, session, loop, row, iteration)


@nb.njit(cache=True)
def advance_bounded(graph, session, loop, parameters, others, fuel):
    """Delay bound above 1: vertices in the program's order, each on its own, none further ahead than the bound allows."""
    bound = loop.counters[DELAY_BOUND]
    cap = loop.counters[CAP]
    has_last = bound < UNBOUNDED and not loop.counters[ALWAYS_PREPARES]
    while fuel > 0:
        fuel = drain(graph, session, loop, parameters, fuel)
        if fuel <= 0:
            break
        if outbox_is_full(loop):
            return np.int64(0)
        fuel -= _STEP_COST
        row = pop_ready(session)
        if row >= 0:
            entry = session.record[row] - 1
            iteration = max(loop.reached[row] + 1, session.reached[entry])
            if 0 <= session.held[entry] < iteration:  # it may be gathered after all, and then must be
                raise_reached(loop, row, session.held[entry])
                session.held[entry] = -1
                recheck(loop, row, loop.counters[NEXT_WAVE])
                push_if_ready(session, row)
                continue
            commit(graph, session, loop, row, iteration)
            set_cursor(loop, SCAN_COMMIT, row, iteration)
            continue
        frontier = min(others, loop.counters[SENT_LEAST], least_pending(loop))
        limit = min(frontier + bound, cap + 1) if frontier < NEVER - bound else cap + 1
        loop.counters[LIMIT] = limit
        while loop.counters[BLOCKED] > 0 and loop.blocked_key[0] < limit:
            row = np.int64(loop.blocked_row[0])
            loop.counters[BLOCKED] = drop_heap_top(loop.blocked_key, loop.blocked_row, loop.counters[BLOCKED])
            if loop.flags[row] & DIRTY and session.record[row] == 0:
                enqueue(session, loop, row)
        if loop.counters[HEAP] == 0:
            return fuel
        key = loop.heap_key[0]
        row = np.int64(loop.heap_row[0])
        loop.counters[HEAP] = drop_heap_top(loop.heap_key, loop.heap_row, loop.counters[HEAP])
        if (
            loop.flags[row] & DIRTY == 0
            or session.record[row] != 0
            or priority(row_value_at(loop.candidate, row)) != key
        ):
            continue
        if loop.reached[row] + 1 >= limit:
            put_off(session, loop, row, loop.reached[row] + 1)
        elif has_last and loop.subscribers[row] != np.uint64(0) and session.counters[OPEN_RECORDS] == 0:
            # Consumers elsewhere would have to be asked for their iterations; none is above the last that is allowed (section 4.4).
            commit(graph, session, loop, row, limit - 1)
            set_cursor(loop, SCAN_COMMIT, row, limit - 1)
        elif loop.subscribers[row] != np.uint64(0) or session.preparing_producers[row] > 0:
            begin_prepare(graph, session, loop, row)
        elif (
            session.counters[OPEN_RECORDS] == 0
            and 2 * consumers_here(graph, loop, row) < fuel
            and loop.counters[VERSION] >= graph.counters[SEQUENCE]
        ):
            fuel -= 2 * consumers_here(graph, loop, row)
            commit_at_once(graph, session, loop, row)
        else:
            loop.counters[CURSOR_SUPPORTED] = 0
            set_cursor(loop, SCAN_READ, row, 0)
    return np.int64(0)


@nb.njit(cache=True)
def fetch_following(graph, loop):
    """Have memory fetched for those who are likely to be next: the list of the best vertex, and the rows of those below it."""
    best = np.int64(loop.heap_row[0])  # an old one where the queue is empty, which does no harm
    first = graph.out_start[best]
    prefetch(graph.edge_consumer, first)
    prefetch(graph.edge_weight, first)
    for place in range(1, 3):
        row = np.int64(loop.heap_row[place])
        prefetch(graph.out_start, row)
        prefetch(loop.flags, row)


@nb.njit(cache=True)
def advance_freely(graph, session, loop, parameters, fuel):
    """No bound, and nobody is asked: the best vertex first, each one iteration behind what it has gathered.

    On one worker that is Dijkstra's order. Several exchange what they have found between two calls, so that one goes ahead of the others
    by no more than its fuel.
    """
    cap = loop.counters[CAP]
    latest = loop.counters[VERSION] >= graph.counters[SEQUENCE]
    while fuel > 0:
        fuel = drain(graph, session, loop, parameters, fuel)
        if fuel <= 0:
            break
        while fuel > 0:
            if loop.counters[HEAP] == 0:
                return fuel
            if outbox_is_full(loop):
                return np.int64(0)
            key = loop.heap_key[0]
            row = np.int64(loop.heap_row[0])
            loop.counters[HEAP] = drop_heap_top(loop.heap_key, loop.heap_row, loop.counters[HEAP])
            fetch_following(graph, loop)
            if loop.flags[row] & DIRTY == 0 or priority(row_value_at(loop.candidate, row)) != key:
                continue
            iteration = loop.reached[row] + 1
            if iteration > cap:
                put_off(session, loop, row, iteration)
                continue
            commit(graph, session, loop, row, iteration)
            length = consumers_here(graph, loop, row)
            if not latest or length >= fuel:
                set_cursor(loop, SCAN_COMMIT, row, iteration)
                break
            offer_to_all(graph, session, loop, row, iteration)
            loop.counters[EDGES_VISITED] += length
            fuel -= length + _STEP_COST
            if HAS_LABELS and loop.counters[RECHECKS] > 0:
                break
    return np.int64(0)


@nb.njit(cache=True, nogil=True)
def advance(graph, session, loop, parameters, others, horizon, fuel):
    """Work off what is pending; returns the fuel left, 0 when there is more to do.

    `others` is the frontier of commits without this worker's own token, `horizon` the first iteration for which updates may
    still arrive from elsewhere; both NEVER where this worker is alone. Nothing commits above the cap.
    """
    if loop.counters[DELAY_BOUND] == 1:
        return advance_synchronous(graph, session, loop, parameters, horizon, fuel)
    if loop.counters[ASKS] == 0 and loop.counters[ALWAYS_PREPARES] == 0:
        return advance_freely(graph, session, loop, parameters, fuel)
    return advance_bounded(graph, session, loop, parameters, others, fuel)


@nb.njit(cache=True, nogil=True)
def finish_scans(graph, session, loop, parameters, fuel):
    """Finish the scans, the invalidations and the synchronous round under way here; returns whether none is left."""
    while fuel > 0:
        fuel = drain(graph, session, loop, parameters, fuel)
        if fuel > 0:
            if loop.counters[ROUND] == 0:
                return True
            begin_round_scan(loop)
    return False


@nb.njit(cache=True, nogil=True)
def finish_cursor(graph, session, loop):
    """Finish the scan under way, however long it takes, so that the graph may change."""
    run_cursor(graph, session, loop, np.int64(1) << 60)


@nb.njit(cache=True, nogil=True)
def pending_least(loop):
    """The least iteration at which a dirty vertex of this worker can commit, or NEVER."""
    return least_pending(loop)


@nb.njit(cache=True)
def copy_row(loop, branch, row, count):
    """Copy what a branch starts from of a row; where that is not all of it, note the row as one of `count`. Returns how many."""
    value = row_value_at(loop.value, row)
    put_row_value(branch.value, row, value)
    put_row_value(branch.candidate, row, value)
    branch.parent[row] = loop.parent[row]
    branch.reached[row] = loop.reached[row]
    flags = loop.flags[row]
    branch.flags[row] = flags & ~np.uint8(DIRTY | REGATHER)
    if loop.counters[WORKERS] > 1:
        branch.subscribers[row] = loop.subscribers[row]
    # The branch will have something else there, so the row counts as touched; one that comes a second time was.
    if flags & (DIRTY | MARKED | REGATHER) and branch.touched[row] != branch.counters[EPOCH]:
        touch(branch, row)
        branch.round_row[count] = row
        count += 1
    return count


@nb.njit(cache=True)
def copy_touched(touched, loop, branch, first, stop, known, count):
    """Copy the rows below `known` that stand in the list of rows touched of one of the two. Returns how many are noted."""
    for place in range(first, stop):
        ahead = np.int64(touched.touched_row[(place + _ROWS_AHEAD) & (TOUCHED_KEPT - 1)])
        prefetch(loop.flags, ahead)
        prefetch(branch.flags, ahead)
        row = np.int64(touched.touched_row[place & (TOUCHED_KEPT - 1)])
        if row < known:
            count = copy_row(loop, branch, row, count)
    return count


@nb.njit(cache=True, nogil=True)
def fork(loop, branch_session, branch, known, loop_since, branch_since):
    """Copy the state that a branch starts from. No scan and no invalidation may be under way in `loop`.

    Rows below `known` were copied before, and are the same but for those that either side has touched since (see `TOUCHED`);
    0: all are copied. The protocol's state is left behind: a vertex that was preparing is dirty in the branch. All waves that are
    open become wave 1, the only one that the branch has.
    """
    rows = loop.counters[ROWS_SEEN]
    touched = branch.counters[TOUCHED]  # what is noted comes behind
    count = copy_touched(branch, loop, branch, branch_since, touched, known, np.int64(0))
    count = copy_touched(loop, loop, branch, loop_since, loop.counters[TOUCHED], known, count)
    for row in range(known, rows):
        branch.touched[row] = 0
        count = copy_row(loop, branch, row, count)
    branch.counters[ROWS_SEEN] = rows
    for place in range(count):
        special = np.int64(branch.round_row[place])
        flags = loop.flags[special]
        if flags & MARKED:
            put_value(branch.least, special, value_at(loop.least, special))
            branch.wave[special] = 1
            branch.marks[branch.counters[MARKS]] = special
            branch.counters[MARKS] += 1
        if flags & DIRTY:
            put_row_value(branch.candidate, special, row_value_at(loop.candidate, special))
            mark_dirty(branch_session, branch, special)
        if flags & REGATHER:
            recheck(branch, special, 1)


@nb.njit(cache=True, nogil=True)
def fork_fresh(graph, loop, branch_session, branch, parameters):
    """The state of a branch that starts from the beginning, with other parameters; every ghost is subscribed already."""
    rows = loop.counters[ROWS_SEEN]
    branch.counters[ROWS_SEEN] = rows
    for row in range(rows):
        flags = loop.flags[row] & np.uint8(OWN | SUBSCRIBED | ASKED)
        branch.flags[row] = flags
        put_row_value(branch.value, row, WORST)
        put_row_value(branch.candidate, row, WORST)
        branch.parent[row] = NO_PARENT
        branch.reached[row] = branch.counters[FLOOR]
        if loop.counters[WORKERS] > 1:
            branch.subscribers[row] = loop.subscribers[row]
        if flags & OWN:
            value = initial(graph.ids[row], *parameters)
            if better(value, WORST):
                put_row_value(branch.candidate, row, value)
                branch.parent[row] = SELF_PARENT
                mark_dirty(branch_session, branch, row)
