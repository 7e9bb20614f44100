"""Scans of the compiled loop: everything that goes over a list of edges, resumable in the middle of a hub.

One cursor a loop says which scan is under way and how far it is. What a scan leads to is decided when it is finished: a gather
ends in a choice, a reading pass in a commit or a PREPARE, a PREPARE in readiness or an acknowledgement.
"""

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import SEQUENCE
from ...graph.graves_kernel import grave_at
from ...graph.rows_kernel import reverse_of
from ...protocol.session_kernel import (
    CLOCK,
    OPEN_RECORDS,
    close_session,
    leave_prepare_list,
    meet,
    open_session,
    pop_pending,
    push_if_ready,
)
from ..directions_kernel import consumers_here, hears_back
from .gather_kernel import (
    begin_gather,
    fetch_rechecks,
    fetch_spreads,
    finish_gather,
    gather_at_once,
    producers_here,
    scan_in_list,
    spread_at_once,
)
from .loop_columns import (
    ACKNOWLEDGE,
    ASKS,
    CORRECTIONS,
    CURSOR_BACK,
    CURSOR_KIND,
    CURSOR_NUMBER,
    CURSOR_POSITION,
    CURSOR_ROW,
    CURSOR_SUPPORTED,
    DELAY_BOUND,
    DIRTY,
    EDGES_VISITED,
    HELD,
    IDLE,
    ITERATION,
    LIMIT,
    MARKED,
    MARKS,
    NEXT_WAVE,
    OVERTAKEN,
    OWN,
    PREPARE,
    PREPARES,
    RECHECKS,
    REGATHER,
    SCAN_COMMIT,
    SCAN_GATHER,
    SCAN_PREPARE,
    SCAN_READ,
    SCAN_SPREAD,
    SOLO,
    SPREADS,
    SUBSCRIBED_REPLY,
    UPDATE,
    UPDATES,
    VERSION,
    WAVES,
)
from .queue_kernel import note_history, outbox_is_full, send, send_all
from .stand_in import WORST, better, offer
from .value_kernel import HAS_LABELS, change, put_row_value, put_value, row_value_at, size_of, value_at
from .vertex_kernel import (
    consider,
    consider_input,
    enqueue_blocked,
    mark_clean,
    raise_reached,
    recheck,
    recheck_if_left,
    set_cursor,
    touch,
)

_STEP_COST = 8  # fuel for what a step costs beside its edges
_EDGES_AHEAD = 8  # edges that memory is asked for before their turn


@nb.njit(cache=True)
def must_hold(session, loop, consumer, iteration):
    """Whether a vertex must leave a commit for after its own.

    Gathered while it prepares, it would push the vertex's own commit beyond the delay bound, and waiting for the frontier would
    block those who wait for that commit.
    """
    return session.record[consumer] != 0 and iteration + 1 >= loop.counters[LIMIT]


@nb.njit(cache=True)
def hold_or_raise(session, loop, consumer, iteration):
    """A commit of an iteration has come to a vertex: it counts now, or after the vertex's own commit."""
    if must_hold(session, loop, consumer, iteration):
        preparing = session.record[consumer] - 1
        session.held[preparing] = max(session.held[preparing], iteration)
    else:
        raise_reached(loop, consumer, iteration)


@nb.njit(cache=True)
def visit_commit(session, loop, producer, entry, iteration, consumer, weight, born):
    """A commit arrives at a consumer over one edge."""
    if consumer == producer:
        return
    if entry >= 0:
        if born > session.born[entry]:  # inserted after the PREPARE: the edge joins now, as an input
            consider_input(session, loop, consumer, producer, weight)
            if session.record[consumer] == 0:
                recheck_if_left(loop, consumer, producer, offer(row_value_at(loop.value, producer), weight))
            return
        leave_prepare_list(session, consumer)
    if must_hold(session, loop, consumer, iteration):
        hold_or_raise(session, loop, consumer, iteration)
        loop.flags[consumer] |= REGATHER
        touch(loop, consumer)
        return
    if loop.counters[DELAY_BOUND] != 1:
        raise_reached(loop, consumer, iteration)
    producer_value = row_value_at(loop.value, producer)
    candidate = offer(producer_value, weight)
    if better(candidate, row_value_at(loop.candidate, consumer)):
        raise_reached(loop, consumer, iteration)
        consider(session, loop, consumer, producer, candidate, producer_value)
    else:
        recheck_if_left(loop, consumer, producer, candidate)


@nb.njit(cache=True)
def visit_out_edge(session, loop, kind, producer, entry, number, consumer, weight, born):
    """One edge of an out-list, in any of the scans that go over one."""
    if kind == SCAN_COMMIT:
        visit_commit(session, loop, producer, entry, number, consumer, weight, born)
    elif consumer == producer:
        return
    elif kind == SCAN_SPREAD:
        if loop.parent[consumer] == producer:
            recheck(loop, consumer, number)
    elif kind == SCAN_READ:
        loop.counters[CURSOR_NUMBER] = max(loop.counters[CURSOR_NUMBER], loop.reached[consumer])
        if session.record[consumer] != 0:
            loop.counters[CURSOR_SUPPORTED] = 1  # a consumer prepares: one pass is not enough
    elif kind == SCAN_PREPARE:
        meet(session, entry, consumer, loop.reached[consumer])
    else:
        hold_or_raise(session, loop, consumer, number)
        consider_input(session, loop, consumer, producer, weight)


@nb.njit(cache=True)
def offer_along(graph, session, loop, producer, iteration, first, stop, latest):
    """A commit without a session arrives at the consumers of a stretch of the list: the loop that most time is spent in."""
    producer_value = row_value_at(loop.value, producer)
    synchronous = loop.counters[DELAY_BOUND] == 1
    # Where nobody is asked, an iteration counts for those only who take the offer: their way is as long.
    is_counted = loop.counters[ASKS] and not synchronous
    version = loop.counters[VERSION]
    for slot in range(first, stop):
        # Behind the end of the list stands something else, which does no harm.
        following = np.int64(graph.edge_consumer[slot + _EDGES_AHEAD])
        prefetch(loop.flags, following)
        if latest or graph.edge_born[slot] <= version:
            consumer = np.int64(graph.edge_consumer[slot])
            candidate = offer(producer_value, graph.edge_weight[slot])
            takes = better(candidate, row_value_at(loop.candidate, consumer)) and consumer != producer
            if takes or (is_counted and consumer != producer):
                if loop.reached[consumer] < iteration:
                    raise_reached(loop, consumer, iteration)
                elif loop.reached[consumer] > iteration and not synchronous:
                    loop.counters[OVERTAKEN] += 1
            if takes:
                consider(session, loop, consumer, producer, candidate, producer_value)
            elif HAS_LABELS and consumer != producer:
                recheck_if_left(loop, consumer, producer, candidate)


@nb.njit(cache=True)
def offer_to_all(graph, session, loop, producer, iteration):
    """A commit without a session arrives at all consumers here, in the newest state of the graph."""
    first = graph.out_start[producer]
    offer_along(graph, session, loop, producer, iteration, first, first + graph.out_length[producer], True)
    if hears_back(loop):
        reverse = reverse_of(graph)
        first = reverse.out_start[producer]
        offer_along(
            reverse, session, loop, producer, iteration, first, first + reverse.out_length[producer], True
        )


@nb.njit(cache=True)
def reached_by_consumers(graph, loop, row, iteration):
    """The greatest iteration of those who hear of a vertex here, or the one that is given."""
    first = graph.out_start[row]
    for slot in range(first, first + graph.out_length[row]):
        iteration = max(iteration, loop.reached[graph.edge_consumer[slot]])
    if hears_back(loop):
        reverse = reverse_of(graph)
        first = reverse.out_start[row]
        for slot in range(first, first + reverse.out_length[row]):
            iteration = max(iteration, loop.reached[reverse.edge_consumer[slot]])
    return iteration


@nb.njit(cache=True)
def scan_out_list(graph, session, loop, fuel):
    """Go on with the cursor's scan of an out-list; returns the fuel left, 0 when the scan is not finished."""
    kind = loop.counters[CURSOR_KIND]
    producer = loop.counters[CURSOR_ROW]
    number = loop.counters[CURSOR_NUMBER]
    version = loop.counters[VERSION]
    entry = np.int64(session.record[producer]) - 1
    first = graph.out_start[producer]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(graph.out_length[producer])
    stop = min(length, position + fuel)
    latest = version >= graph.counters[SEQUENCE]
    if kind == SCAN_READ and latest and session.counters[OPEN_RECORDS] == 0:
        for slot in range(first + position, first + stop):
            number = max(number, loop.reached[graph.edge_consumer[slot]])
        loop.counters[CURSOR_NUMBER] = number
    elif kind == SCAN_COMMIT and session.counters[OPEN_RECORDS] == 0:
        offer_along(graph, session, loop, producer, number, first + position, first + stop, latest)
    else:
        for slot in range(first + position, first + stop):
            prefetch(loop.flags, np.int64(graph.edge_consumer[slot + _EDGES_AHEAD]))  # see `offer_along`
            born = graph.edge_born[slot]
            if born <= version:
                visit_out_edge(
                    session, loop, kind, producer, entry, number, graph.edge_consumer[slot],
                    graph.edge_weight[slot], born,
                )  # fmt: skip
    loop.counters[EDGES_VISITED] += stop - position
    fuel -= stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    grave = grave_at(graph, graph.buried_out[producer], version)
    while grave >= 0:
        if graph.grave_born[grave] <= version:
            visit_out_edge(
                session, loop, kind, producer, entry, number, graph.grave_consumer[grave],
                graph.grave_weight[grave], graph.grave_born[grave],
            )  # fmt: skip
        fuel -= 1
        grave = grave_at(graph, graph.grave_next_out[grave], version)
    loop.counters[CURSOR_POSITION] = -1  # finished
    return max(fuel, np.int64(1))


@nb.njit(cache=True)
def put_off(session, loop, row, iteration):
    """A dirty vertex must commit at an iteration beyond the bound, or later: it waits for the frontier."""
    raise_reached(loop, row, iteration - 1)
    enqueue_blocked(session, loop, row, iteration)


@nb.njit(cache=True)
def finish_read(graph, session, loop):
    """All consumers are here: commit in one pass if none of them prepares, else open a session."""
    row = loop.counters[CURSOR_ROW]
    iteration = max(loop.reached[row] + 1, loop.counters[CURSOR_NUMBER])
    loop.counters[CURSOR_KIND] = IDLE
    if loop.counters[CURSOR_SUPPORTED]:
        begin_prepare(graph, session, loop, row)
    elif iteration >= loop.counters[LIMIT]:
        put_off(session, loop, row, iteration)
    else:
        commit(graph, session, loop, row, iteration)
        set_cursor(loop, SCAN_COMMIT, row, iteration)


@nb.njit(cache=True)
def begin_prepare(graph, session, loop, row):
    """Take a stamp and ask every consumer (Tornado, section 4.2)."""
    session.counters[CLOCK] += 1
    entry = open_session(session, row, session.counters[CLOCK], graph.ids[row], graph.counters[SEQUENCE])
    workers = loop.subscribers[row]
    session.asked[entry] = workers
    send_all(loop, workers, PREPARE, graph.ids[row], WORST, session.counters[CLOCK])
    while workers != np.uint64(0):
        session.waiting[entry] += np.int32(workers & np.uint64(1))
        workers >>= np.uint64(1)
    loop.counters[PREPARES] += 1
    note_history(loop, loop.reached[row] + 1, 0, 1, 0.0)
    set_cursor(loop, SCAN_PREPARE, row, 0)


@nb.njit(cache=True)
def finish_prepare(graph, session, loop):
    """Every consumer here was met: an own vertex may be ready, a ghost may be acknowledged."""
    row = loop.counters[CURSOR_ROW]
    loop.counters[CURSOR_KIND] = IDLE
    settle_producer(graph, session, loop, row)


@nb.njit(cache=True)
def settle_producer(graph, session, loop, row):
    """A producer's session may have all it waits for on this worker."""
    entry = session.record[row] - 1
    if loop.flags[row] & OWN:
        push_if_ready(session, row)
    elif session.pended_on[entry] == 0:
        send(loop, np.int64(graph.owner[row]), ACKNOWLEDGE, graph.ids[row], WORST, session.reached[entry])


@nb.njit(cache=True)
def commit(graph, session, loop, row, iteration):
    """Announce the candidate at an iteration, to the other workers at once and to the consumers here by a scan."""
    residual = 0.0
    touch(loop, row)
    if loop.flags[row] & DIRTY:
        if better(row_value_at(loop.candidate, row), row_value_at(loop.value, row)):
            if better(row_value_at(loop.value, row), WORST):
                loop.counters[CORRECTIONS] += 1
                residual = change(row_value_at(loop.value, row), row_value_at(loop.candidate, row))
            else:
                residual = size_of(row_value_at(loop.candidate, row))
            put_row_value(loop.value, row, row_value_at(loop.candidate, row))
        mark_clean(loop, row)
    if loop.flags[row] & MARKED and better(row_value_at(loop.value, row), value_at(loop.least, row)):
        put_value(loop.least, row, row_value_at(loop.value, row))
    loop.reached[row] = iteration
    entry = np.int64(session.record[row]) - 1
    workers = loop.subscribers[row]
    if entry >= 0:
        workers |= session.asked[entry]
    if workers != np.uint64(0):
        send_all(loop, workers, UPDATE, graph.ids[row], row_value_at(loop.value, row), iteration)
    loop.counters[UPDATES] += 1
    loop.counters[ITERATION] = max(loop.counters[ITERATION], iteration)
    note_history(loop, iteration, 1, 0, residual)


@nb.njit(cache=True)
def finish_commit(graph, session, loop):
    """The commit is out: answer the producers and subscribers that waited for it, and gather the inputs that did."""
    row = loop.counters[CURSOR_ROW]
    loop.counters[CURSOR_KIND] = IDLE
    entry = np.int64(session.record[row]) - 1
    if entry < 0:
        return
    if loop.flags[row] & OWN:
        producer = pop_pending(session, row)
        while producer >= 0:
            other = session.record[producer] - 1
            session.preparing_producers[row] += 1
            session.reached[other] = max(session.reached[other], loop.reached[row])
            session.pended_on[other] -= 1
            if session.pended_on[other] == 0:
                settle_producer(graph, session, loop, producer)
            producer = pop_pending(session, row)
    held = session.held[entry]
    close_session(session, row)
    if loop.flags[row] & OWN:
        raise_reached(loop, row, held)
    if loop.flags[row] & REGATHER:
        loop.flags[row] &= ~np.uint8(REGATHER)  # its commit has touched the row, and no fork came between
        recheck(loop, row, loop.counters[NEXT_WAVE])
    if loop.flags[row] & OWN and loop.counters[HELD] > 0:
        answer_held(graph, loop, row)


@nb.njit(cache=True)
def answer_held(graph, loop, row):
    """Answer the subscriptions to a vertex that came while it prepared."""
    kept = 0
    for i in range(loop.counters[HELD]):
        if loop.held_row[i] == row:
            answer_subscription(graph, loop, row, np.int64(loop.held_worker[i]))
        else:
            loop.held_row[kept] = loop.held_row[i]
            loop.held_worker[kept] = loop.held_worker[i]
            kept += 1
    loop.counters[HELD] = kept


@nb.njit(cache=True)
def answer_subscription(graph, loop, row, worker):
    """From now on the worker hears of this vertex, beginning with what it announced last."""
    loop.subscribers[row] |= np.uint64(1) << np.uint64(worker)
    touch(loop, row)
    send(loop, worker, SUBSCRIBED_REPLY, graph.ids[row], row_value_at(loop.value, row), loop.reached[row])


@nb.njit(cache=True)
def run_cursor(graph, session, loop, fuel):
    """Finish the scan that the cursor is in and those it leads to; returns the fuel left, 0 when cut short."""
    while loop.counters[CURSOR_KIND] != IDLE:
        kind = loop.counters[CURSOR_KIND]
        if loop.counters[CURSOR_POSITION] >= 0:
            if fuel <= 0:
                return np.int64(0)
            lists = reverse_of(graph) if loop.counters[CURSOR_BACK] else graph
            if kind == SCAN_GATHER:
                fuel = scan_in_list(lists, loop, fuel)
            else:
                fuel = scan_out_list(lists, session, loop, fuel)
            if fuel == 0:
                return fuel
            if hears_back(loop) and not loop.counters[CURSOR_BACK]:
                loop.counters[CURSOR_BACK] = 1
                loop.counters[CURSOR_POSITION] = 0
                continue
        if kind == SCAN_GATHER:
            finish_gather(graph, session, loop)
        elif kind == SCAN_READ:
            finish_read(graph, session, loop)
        elif kind == SCAN_COMMIT:
            finish_commit(graph, session, loop)
        elif kind == SCAN_PREPARE:
            finish_prepare(graph, session, loop)
        else:
            loop.counters[CURSOR_KIND] = IDLE
    return fuel


@nb.njit(cache=True)
def settle(loop, wave):
    """The waves up to `wave` have ended: their vertices may choose among all offers again."""
    kept = 0
    for i in range(loop.counters[MARKS]):
        row = loop.marks[i]
        if loop.wave[row] <= wave:
            loop.flags[row] &= ~np.uint8(MARKED)
            touch(loop, np.int64(row))
            recheck(loop, np.int64(row), loop.counters[NEXT_WAVE])
        else:
            loop.marks[kept] = row
            kept += 1
    loop.counters[MARKS] = kept


@nb.njit(cache=True)
def drain(graph, session, loop, parameters, fuel):
    """Finish the scan under way, then all invalidations that can be worked off here; returns the fuel left, 0: not done."""
    fuel = run_cursor(graph, session, loop, fuel)
    # Then every edge counts, and a list that the fuel is enough for needs no cursor.
    latest = loop.counters[VERSION] >= graph.counters[SEQUENCE]
    # All gathers that wait, then all spreads that these have led to: so it is known which come next, and memory is fetched for them.
    gathers = True
    while fuel > 0:
        gathers = loop.counters[RECHECKS] > 0 and (gathers or loop.counters[SPREADS] == 0)
        if gathers:
            loop.counters[RECHECKS] -= 1
            place = loop.counters[RECHECKS]
            row = np.int64(loop.recheck_row[place])
            fetch_rechecks(graph, loop, place)
            begin_gather(graph, loop, row, loop.recheck_wave[place], parameters)
            if latest and producers_here(graph, loop, row) < fuel:
                length = gather_at_once(graph, session, loop, row)
                loop.counters[EDGES_VISITED] += length
                fuel -= length
        elif loop.counters[SPREADS] > 0:
            loop.counters[SPREADS] -= 1
            place = loop.counters[SPREADS]
            row = np.int64(loop.spread_row[place])
            fetch_spreads(graph, loop, place)
            if latest and consumers_here(graph, loop, row) < fuel:
                length = spread_at_once(graph, loop, row, loop.spread_wave[place])
                loop.counters[EDGES_VISITED] += length
                fuel -= length
            else:
                set_cursor(loop, SCAN_SPREAD, row, loop.spread_wave[place])
        elif loop.counters[MARKS] > 0 and loop.counters[SOLO]:
            settle(loop, loop.counters[NEXT_WAVE])
            loop.counters[WAVES] += 1
        else:
            break
        fuel = run_cursor(graph, session, loop, fuel - _STEP_COST)
        if fuel <= 0 or outbox_is_full(loop):
            return np.int64(0)
    return fuel
