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
`compile.py`, which makes one module of this file, `graph_kernel` and `session_kernel`.
"""

import numba as nb
import numpy as np

from ..protocol.session_kernel import (
    CLOCK,
    OPEN_RECORDS,
    close_session,
    leave_prepare_list,
    meet,
    open_session,
    pop_pending,
    pop_ready,
    push_if_ready,
    withdraw,
)
from .graph_columns import (
    ANY_VERSION,
    BURIED_FIRST,
    BURIED_NEXT,
    GRAVE_MASK,
    LEASED,
    ROWS,
    SEQUENCE,
    TABLE_MASK,
)
from .graph_kernel import (
    add_row,
    count_missing,
    find_edge,
    find_row,
    hash_id,
    insert_edge,
    remove_edge,
)
from .loop_columns import (
    ACKNOWLEDGE,
    ASKED,
    BLOCKED,
    CURSOR_KIND,
    CURSOR_NUMBER,
    CURSOR_PARENT,
    CURSOR_POSITION,
    CURSOR_ROW,
    CURSOR_SUPPORTED,
    DELAY_BOUND,
    DIRTY,
    EDGES_VISITED,
    FLOOR,
    HEAP,
    HELD,
    HISTORY,
    IDLE,
    IMPOSSIBLE,
    INVALIDATE,
    INVALIDATIONS,
    ITERATION,
    KNOWN,
    LIMIT,
    MARKED,
    MARKS,
    NEVER,
    NEXT_WAVE,
    NO_PARENT,
    OUTBOX,
    OWN,
    PENDING_BASE,
    PENDING_BEYOND,
    PENDING_INSIDE,
    PENDING_LEAST,
    PREPARE,
    PREPARES,
    RECHECKS,
    REGATHER,
    ROUND,
    ROUND_ITERATION,
    ROWS_SEEN,
    SENT_LEAST,
    SCAN_COMMIT,
    SCAN_GATHER,
    SCAN_INPUT,
    SCAN_PREPARE,
    SCAN_READ,
    SCAN_SPREAD,
    SELF_PARENT,
    SOLO,
    SPREADS,
    SUBSCRIBE,
    SUBSCRIBED,
    SUBSCRIBED_REPLY,
    UNSUBSCRIBE,
    UPDATE,
    UPDATES,
    VERSION,
    WAVES,
    WINDOW,
    WORKER,
    WORKERS,
)
from .selective_program import WORST, better, initial, offer, priority

_OUTBOX_SOFT_LIMIT = 1 << 15
_STEP_COST = 8  # fuel for what a step costs beside its edges


# ---------------------------------------------------------------------------------------------------------------- queues


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
def recount_pending(graph, loop):
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
def count_pending(graph, loop, iteration):
    """A vertex became dirty at an iteration. Its flag must be set already."""
    if loop.counters[PENDING_INSIDE] + loop.counters[PENDING_BEYOND] == 0:
        loop.counters[PENDING_BASE] = max(np.int64(0), iteration - WINDOW // 4)
        loop.counters[PENDING_LEAST] = iteration
    place = iteration - loop.counters[PENDING_BASE]
    if place < 0:
        recount_pending(graph, loop)
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
def least_pending(graph, loop):
    """The least iteration at which a dirty vertex of this worker can commit, or NEVER."""
    if loop.counters[PENDING_INSIDE] == 0:
        if loop.counters[PENDING_BEYOND] == 0:
            return NEVER
        recount_pending(graph, loop)
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
    loop.out_value[place] = value
    loop.out_number[place] = number
    loop.out_length[worker] = length + 1
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


# ------------------------------------------------------------------------------------------------------------------ rows


@nb.njit(cache=True)
def owner_of(identifier, workers):
    """The worker that a vertex belongs to (the first content of the partition map: a hash)."""
    if workers == 1:
        return np.int64(0)
    return np.int64((hash_id(identifier) >> np.uint64(40)) % np.uint64(workers))


@nb.njit(cache=True, nogil=True)
def owners_of(identifiers, workers, owners):
    """Write the worker of each vertex id."""
    for i in range(identifiers.size):
        owners[i] = owner_of(identifiers[i], workers)


@nb.njit(cache=True)
def admit_rows(graph, session, loop, parameters):
    """Initialise the columns of rows that are new in the graph."""
    for row in range(loop.counters[ROWS_SEEN], graph.counters[ROWS]):
        loop.value[row] = WORST
        loop.candidate[row] = WORST
        loop.parent[row] = NO_PARENT
        loop.reached[row] = loop.counters[FLOOR]
        loop.flags[row] = 0
        loop.subscribers[row] = np.uint64(0)
        session.record[row] = 0
        session.preparing_producers[row] = 0
        loop.counters[ROWS_SEEN] = row + 1
        if owner_of(graph.ids[row], loop.counters[WORKERS]) == loop.counters[WORKER]:
            loop.flags[row] = OWN
            value = initial(graph.ids[row], *parameters)
            if better(value, WORST):
                loop.candidate[row] = value
                loop.parent[row] = SELF_PARENT
                mark_dirty(graph, session, loop, row)


@nb.njit(cache=True)
def row_for(graph, session, loop, identifier, parameters):
    """The row of a vertex id, made if there is none."""
    row = find_row(graph.ids, graph.table, graph.counters[TABLE_MASK], identifier)
    if row < 0:
        row = add_row(graph, identifier)
    if row >= loop.counters[ROWS_SEEN]:
        admit_rows(graph, session, loop, parameters)
    return row


@nb.njit(cache=True)
def mark_dirty(graph, session, loop, row):
    """The candidate of a vertex got better: it has an update to commit."""
    fresh = loop.flags[row] & DIRTY == 0
    if fresh:
        loop.flags[row] |= DIRTY
        loop.reached[row] = max(loop.reached[row], loop.counters[FLOOR])
        count_pending(graph, loop, loop.reached[row] + 1)
    if loop.counters[DELAY_BOUND] == 1:
        if fresh:
            loop.heap_row[loop.counters[HEAP]] = row
            loop.counters[HEAP] += 1
    elif session.record[row] == 0:
        loop.counters[HEAP] = push_heap(
            loop.heap_key, loop.heap_row, loop.counters[HEAP], priority(loop.candidate[row]), row
        )


@nb.njit(cache=True)
def mark_clean(loop, row):
    """A vertex has no update to commit any more."""
    if loop.flags[row] & DIRTY:
        loop.flags[row] &= ~np.uint8(DIRTY)
        discount_pending(loop, loop.reached[row] + 1)


@nb.njit(cache=True)
def raise_reached(graph, loop, row, iteration):
    """The vertex made or gathered a commit of an iteration."""
    if loop.reached[row] < iteration:
        if loop.flags[row] & DIRTY:
            discount_pending(loop, loop.reached[row] + 1)
            loop.reached[row] = iteration
            count_pending(graph, loop, iteration + 1)
        else:
            loop.reached[row] = iteration


@nb.njit(cache=True)
def feasible_below(loop, row):
    """A producer's value must be strictly better than this to be chosen after a loss (DUAL's feasible distance)."""
    if loop.flags[row] & MARKED:
        return loop.least[row]
    return loop.value[row]


@nb.njit(cache=True)
def consider(graph, session, loop, row, producer, candidate, producer_value):
    """Take an offer if it is better than what the vertex has. It has raised `reached` already."""
    if not better(candidate, loop.candidate[row]):
        return
    if loop.flags[row] & MARKED and not better(producer_value, loop.least[row]):
        return
    loop.candidate[row] = candidate
    loop.parent[row] = producer
    mark_dirty(graph, session, loop, row)


@nb.njit(cache=True)
def consider_input(graph, session, loop, row, producer, weight):
    """An offer that comes from a new edge. A vertex gathers no input while it prepares (trap 5)."""
    if session.record[row] != 0:
        loop.flags[row] |= REGATHER
        return
    producer_value = loop.value[producer]
    if better(producer_value, WORST):
        consider(graph, session, loop, row, producer, offer(producer_value, weight), producer_value)


@nb.njit(cache=True)
def recheck(loop, row, wave):
    """Queue a vertex whose support may be gone."""
    loop.recheck_row[loop.counters[RECHECKS]] = row
    loop.recheck_wave[loop.counters[RECHECKS]] = wave
    loop.counters[RECHECKS] += 1


@nb.njit(cache=True)
def set_cursor(loop, kind, row, number):
    """Begin a scan of a row's list."""
    loop.counters[CURSOR_KIND] = kind
    loop.counters[CURSOR_ROW] = row
    loop.counters[CURSOR_POSITION] = 0
    loop.counters[CURSOR_NUMBER] = number


# ----------------------------------------------------------------------------------------------------------------- scans


@nb.njit(cache=True)
def visit_commit(graph, session, loop, producer, entry, iteration, consumer, weight, born):
    """A commit arrives at a consumer over one edge."""
    if consumer == producer:
        return
    if entry >= 0:
        if born > session.born[entry]:  # inserted after the PREPARE: the edge joins now, as an input
            consider_input(graph, session, loop, consumer, producer, weight)
            return
        leave_prepare_list(session, consumer)
    preparing = np.int64(session.record[consumer]) - 1
    if preparing >= 0 and iteration + 1 >= loop.counters[LIMIT]:
        # Gathered now, it would push the vertex's own commit beyond the delay bound, and waiting would block those who wait
        # for that commit. So the vertex gathers it after the commit.
        session.held[preparing] = max(session.held[preparing], iteration)
        loop.flags[consumer] |= REGATHER
        return
    if loop.counters[DELAY_BOUND] != 1:
        raise_reached(graph, loop, consumer, iteration)
    producer_value = loop.value[producer]
    candidate = offer(producer_value, weight)
    if better(candidate, loop.candidate[consumer]):
        raise_reached(graph, loop, consumer, iteration)
        consider(graph, session, loop, consumer, producer, candidate, producer_value)


@nb.njit(cache=True)
def visit_gather(loop, row, producer, weight):
    """An offer is weighed in a gather."""
    if producer == row:
        return
    producer_value = loop.value[producer]
    if not better(producer_value, WORST):
        return
    candidate = offer(producer_value, weight)
    if producer == loop.parent[row] and better(candidate, loop.best[1]):
        loop.best[1] = candidate
    if better(candidate, loop.best[0]) and better(producer_value, feasible_below(loop, row)):
        loop.best[0] = candidate
        loop.counters[CURSOR_PARENT] = producer


@nb.njit(cache=True)
def visit_out_edge(graph, session, loop, kind, producer, entry, number, consumer, weight, born):
    """One edge of an out-list, in any of the scans that go over one."""
    if kind == SCAN_COMMIT:
        visit_commit(graph, session, loop, producer, entry, number, consumer, weight, born)
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
        raise_reached(graph, loop, consumer, number)
        consider_input(graph, session, loop, consumer, producer, weight)


@nb.njit(cache=True)
def offer_along(graph, session, loop, producer, iteration, first, stop, latest):
    """A commit without a session arrives at the consumers of a stretch of the list: the loop that most time is spent in."""
    producer_value = loop.value[producer]
    synchronous = loop.counters[DELAY_BOUND] == 1
    version = loop.counters[VERSION]
    for slot in range(first, stop):
        if latest or graph.edge_born[slot] <= version:
            consumer = np.int64(graph.edge_consumer[slot])
            if not synchronous and loop.reached[consumer] < iteration and consumer != producer:
                raise_reached(graph, loop, consumer, iteration)
            candidate = offer(producer_value, graph.edge_weight[slot])
            if better(candidate, loop.candidate[consumer]) and consumer != producer:
                raise_reached(graph, loop, consumer, iteration)
                consider(graph, session, loop, consumer, producer, candidate, producer_value)


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
            born = graph.edge_born[slot]
            if born <= version:
                visit_out_edge(
                    graph, session, loop, kind, producer, entry, number, graph.edge_consumer[slot],
                    graph.edge_weight[slot], born,
                )  # fmt: skip
    loop.counters[EDGES_VISITED] += stop - position
    fuel -= stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    if version != ANY_VERSION:
        grave_number = graph.buried_out[producer] - 1
        while grave_number >= graph.counters[BURIED_FIRST]:
            grave = grave_number & graph.counters[GRAVE_MASK]
            if graph.grave_died[grave] <= version:
                break
            if graph.grave_born[grave] <= version:
                visit_out_edge(
                    graph, session, loop, kind, producer, entry, number, graph.grave_consumer[grave],
                    graph.grave_weight[grave], graph.grave_born[grave],
                )  # fmt: skip
            fuel -= 1
            grave_number = graph.grave_next_out[grave] - 1
    loop.counters[CURSOR_POSITION] = -1  # finished
    return max(fuel, np.int64(1))


@nb.njit(cache=True)
def scan_in_list(graph, loop, fuel):
    """Go on with the cursor's gather; returns the fuel left, 0 when it is not finished."""
    row = loop.counters[CURSOR_ROW]
    version = loop.counters[VERSION]
    first = graph.in_start[row]
    position = loop.counters[CURSOR_POSITION]
    length = np.int64(graph.in_length[row])
    stop = min(length, position + fuel)
    for back_slot in range(first + position, first + stop):
        producer = np.int64(graph.in_producer[back_slot])
        slot = graph.out_start[producer] + graph.in_position[back_slot]
        if version == ANY_VERSION or graph.edge_born[slot] <= version:
            visit_gather(loop, row, producer, graph.edge_weight[slot])
    loop.counters[EDGES_VISITED] += stop - position
    fuel -= stop - position
    loop.counters[CURSOR_POSITION] = stop
    if stop < length:
        return np.int64(0)
    if version != ANY_VERSION:
        grave_number = graph.buried_in[row] - 1
        while grave_number >= graph.counters[BURIED_FIRST]:
            grave = grave_number & graph.counters[GRAVE_MASK]
            if graph.grave_died[grave] <= version:
                break
            if graph.grave_born[grave] <= version:
                visit_gather(loop, row, np.int64(graph.grave_producer[grave]), graph.grave_weight[grave])
            fuel -= 1
            grave_number = graph.grave_next_in[grave] - 1
    loop.counters[CURSOR_POSITION] = -1
    return max(fuel, np.int64(1))


@nb.njit(cache=True)
def begin_gather(graph, loop, row, wave, parameters):
    """Begin to choose anew among all offers; the vertex's own initial value is one of them."""
    set_cursor(loop, SCAN_GATHER, row, wave)
    value = initial(graph.ids[row], *parameters)
    loop.best[0] = WORST
    loop.best[1] = WORST
    loop.counters[CURSOR_PARENT] = NO_PARENT
    if better(value, WORST):
        loop.best[0] = value
        loop.counters[CURSOR_PARENT] = SELF_PARENT
        if loop.parent[row] == SELF_PARENT:
            loop.best[1] = value


@nb.njit(cache=True)
def finish_gather(graph, session, loop):
    """Take the choice over: better and pending, worse and announced by the wave, or as it was."""
    row = loop.counters[CURSOR_ROW]
    wave = loop.counters[CURSOR_NUMBER]
    loop.counters[CURSOR_KIND] = IDLE
    current = loop.candidate[row]
    chosen = loop.best[0]
    parent = loop.counters[CURSOR_PARENT]
    supported = loop.best[1]
    if better(supported, WORST) and not better(current, supported) and not better(chosen, supported):
        chosen = supported
        parent = np.int64(loop.parent[row])
    loop.parent[row] = parent
    if better(chosen, current):
        loop.candidate[row] = chosen
        mark_dirty(graph, session, loop, row)
        return
    if not better(current, chosen):
        return
    announced = loop.value[row]
    loop.candidate[row] = chosen
    if better(announced, chosen):
        if loop.flags[row] & MARKED == 0:
            loop.flags[row] |= MARKED
            loop.least[row] = announced
            loop.wave[row] = wave
            loop.marks[loop.counters[MARKS]] = row
            loop.counters[MARKS] += 1
        loop.wave[row] = max(loop.wave[row], wave)
        loop.value[row] = chosen
        loop.counters[INVALIDATIONS] += 1
        if session.record[row] == 0:
            mark_clean(loop, row)
        loop.spread_row[loop.counters[SPREADS]] = row
        loop.spread_wave[loop.counters[SPREADS]] = wave
        loop.counters[SPREADS] += 1
        send_all(loop, loop.subscribers[row], INVALIDATE, graph.ids[row], chosen, wave)
    elif not better(chosen, announced):
        if session.record[row] == 0:
            mark_clean(loop, row)
    elif loop.counters[DELAY_BOUND] != 1 and session.record[row] == 0:
        loop.counters[HEAP] = push_heap(
            loop.heap_key, loop.heap_row, loop.counters[HEAP], priority(chosen), row
        )


@nb.njit(cache=True)
def finish_read(graph, session, loop):
    """All consumers are here: commit in one pass if none of them prepares, else open a session."""
    row = loop.counters[CURSOR_ROW]
    iteration = max(loop.reached[row] + 1, loop.counters[CURSOR_NUMBER])
    loop.counters[CURSOR_KIND] = IDLE
    if loop.counters[CURSOR_SUPPORTED]:
        begin_prepare(graph, session, loop, row)
    else:
        commit(graph, session, loop, row, iteration)


@nb.njit(cache=True)
def begin_prepare(graph, session, loop, row):
    """Take a stamp and ask every consumer (Tornado, section 4.2)."""
    session.counters[CLOCK] += 1
    entry = open_session(session, row, session.counters[CLOCK], graph.ids[row], graph.counters[SEQUENCE])
    workers = loop.subscribers[row]
    session.asked[entry] = workers
    send_all(loop, workers, PREPARE, graph.ids[row], 0.0, session.counters[CLOCK])
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
        owner = owner_of(graph.ids[row], loop.counters[WORKERS])
        send(loop, owner, ACKNOWLEDGE, graph.ids[row], 0.0, session.reached[entry])


@nb.njit(cache=True)
def commit(graph, session, loop, row, iteration):
    """Announce the candidate at an iteration, to the other workers at once and to the consumers here by a scan."""
    residual = 0.0
    if loop.flags[row] & DIRTY:
        if better(loop.candidate[row], loop.value[row]):
            if better(loop.value[row], WORST):
                residual = abs(loop.value[row] - loop.candidate[row])
            else:
                residual = abs(loop.candidate[row])
            loop.value[row] = loop.candidate[row]
        mark_clean(loop, row)
    if loop.flags[row] & MARKED and better(loop.value[row], loop.least[row]):
        loop.least[row] = loop.value[row]
    loop.reached[row] = iteration
    entry = np.int64(session.record[row]) - 1
    workers = loop.subscribers[row]
    if entry >= 0:
        workers |= session.asked[entry]
    if workers != np.uint64(0):
        send_all(loop, workers, UPDATE, graph.ids[row], loop.value[row], iteration)
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
        raise_reached(graph, loop, row, held)
    if loop.flags[row] & REGATHER:
        loop.flags[row] &= ~np.uint8(REGATHER)
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
    send(loop, worker, SUBSCRIBED_REPLY, graph.ids[row], loop.value[row], loop.reached[row])


@nb.njit(cache=True)
def run_cursor(graph, session, loop, fuel):
    """Finish the scan that the cursor is in and those it leads to; returns the fuel left, 0 when cut short."""
    while loop.counters[CURSOR_KIND] != IDLE:
        kind = loop.counters[CURSOR_KIND]
        if loop.counters[CURSOR_POSITION] >= 0:
            if fuel <= 0:
                return np.int64(0)
            if kind == SCAN_GATHER:
                fuel = scan_in_list(graph, loop, fuel)
            else:
                fuel = scan_out_list(graph, session, loop, fuel)
            if fuel == 0:
                return fuel
        if kind == SCAN_GATHER:
            finish_gather(graph, session, loop)
        elif kind == SCAN_READ:
            finish_read(graph, session, loop)
            if loop.counters[CURSOR_KIND] == IDLE:  # it has committed
                set_cursor(
                    loop, SCAN_COMMIT, loop.counters[CURSOR_ROW], loop.reached[loop.counters[CURSOR_ROW]]
                )
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
            recheck(loop, np.int64(row), loop.counters[NEXT_WAVE])
        else:
            loop.marks[kept] = row
            kept += 1
    loop.counters[MARKS] = kept


@nb.njit(cache=True)
def drain(graph, session, loop, parameters, fuel):
    """Finish the scan under way, then all invalidations that can be worked off here; returns the fuel left, 0: not done."""
    fuel = run_cursor(graph, session, loop, fuel)
    while fuel > 0:
        if loop.counters[SPREADS] > 0:
            loop.counters[SPREADS] -= 1
            place = loop.counters[SPREADS]
            set_cursor(loop, SCAN_SPREAD, np.int64(loop.spread_row[place]), loop.spread_wave[place])
        elif loop.counters[RECHECKS] > 0:
            loop.counters[RECHECKS] -= 1
            place = loop.counters[RECHECKS]
            begin_gather(graph, loop, np.int64(loop.recheck_row[place]), loop.recheck_wave[place], parameters)
        elif loop.counters[MARKS] > 0 and loop.counters[SOLO]:
            settle(loop, loop.counters[NEXT_WAVE])
            loop.counters[WAVES] += 1
        else:
            break
        fuel = run_cursor(graph, session, loop, fuel - _STEP_COST if fuel > _STEP_COST else np.int64(1))
        if outbox_is_full(loop):
            return np.int64(0)
    return fuel


# --------------------------------------------------------------------------------------------------------- entry points


@nb.njit(cache=True, nogil=True)
def end_waves(loop, wave):
    """Called when no invalidation of a wave up to `wave` is under way anywhere."""
    settle(loop, wave)
    loop.counters[WAVES] += 1


@nb.njit(cache=True)
def apply_insert(graph, session, loop, producer, consumer, weight):
    """Add an edge, subscribe to its producer if it is the first one here, and make its offer."""
    insert_edge(graph, producer, consumer, weight)
    flags = loop.flags[producer]
    if flags & OWN == 0 and flags & (SUBSCRIBED | ASKED) == 0:
        loop.flags[producer] |= ASKED
        owner = owner_of(graph.ids[producer], loop.counters[WORKERS])
        send(loop, owner, SUBSCRIBE, graph.ids[producer], 0.0, 0)
    elif producer != consumer:
        consider_input(graph, session, loop, consumer, producer, weight)


@nb.njit(cache=True)
def apply_removal(graph, session, loop, producer, slot):
    """Take an edge away; its consumer is rechecked if it may have lived on it."""
    consumer = np.int64(graph.edge_consumer[slot])
    born = graph.edge_born[slot]
    remove_edge(graph, producer, slot)
    if producer != consumer:
        entry = session.record[producer] - 1
        if entry >= 0 and born <= session.born[entry] and withdraw(session, producer, consumer):
            settle_producer(graph, session, loop, producer)
        if loop.parent[consumer] == producer:
            recheck(loop, consumer, loop.counters[NEXT_WAVE])
    if loop.flags[producer] & SUBSCRIBED and graph.out_length[producer] == 0:
        unsubscribe(graph, loop, producer)


@nb.njit(cache=True)
def unsubscribe(graph, loop, row):
    """A ghost has no edges left."""
    loop.flags[row] &= ~np.uint8(SUBSCRIBED)
    loop.value[row] = WORST
    owner = owner_of(graph.ids[row], loop.counters[WORKERS])
    send(loop, owner, UNSUBSCRIBE, graph.ids[row], 0.0, 0)


@nb.njit(cache=True, nogil=True)
def apply_mentions(graph, session, loop, parameters, identifiers):
    """Own vertices that records of the batch name as producers, while their edges belong to other workers."""
    for i in range(identifiers.size):
        loop.flags[row_for(graph, session, loop, identifiers[i], parameters)] |= KNOWN


@nb.njit(cache=True, nogil=True)
def apply_records(graph, session, loop, parameters, sources, targets, weights, operations, first, fuel):
    """Apply records ``first ..`` of an admission batch; returns the index of the first one that was not applied.

    It stops early when the fuel is used up, the outbox is full, or the ring of graves is (the caller enlarges it). No scan may
    be under way.
    """
    room = graph.counters[GRAVE_MASK] - 8
    for i in range(first, sources.size):
        if fuel <= 0 or outbox_is_full(loop):
            return i
        if graph.counters[LEASED] and graph.counters[BURIED_NEXT] - graph.counters[BURIED_FIRST] > room:
            return i
        fuel -= _STEP_COST
        consumer = row_for(graph, session, loop, targets[i], parameters)
        producer = row_for(graph, session, loop, sources[i], parameters)
        graph.counters[SEQUENCE] += 1
        loop.flags[consumer] |= KNOWN
        if loop.flags[producer] & OWN:
            loop.flags[producer] |= KNOWN
        operation = operations[i]
        if operation == 1:
            apply_insert(graph, session, loop, producer, consumer, weights[i])
        elif operation == -1:
            slot = find_edge(graph, producer, consumer, weights[i])
            if slot < 0:
                count_missing(graph)
            else:
                apply_removal(graph, session, loop, producer, slot)
        else:
            slot = find_edge(graph, producer, consumer, np.nan)
            while slot >= 0:
                if (
                    graph.counters[LEASED]
                    and graph.counters[BURIED_NEXT] - graph.counters[BURIED_FIRST] > room
                ):
                    return i
                apply_removal(graph, session, loop, producer, slot)
                slot = find_edge(graph, producer, consumer, np.nan)
            apply_insert(graph, session, loop, producer, consumer, weights[i])
    return sources.size


@nb.njit(cache=True)
def receive_one(graph, session, loop, parameters, sender, kind, identifier, value, number):
    """One message of another worker of this loop."""
    row = row_for(graph, session, loop, identifier, parameters)
    if kind == UPDATE:
        if loop.flags[row] & SUBSCRIBED:
            loop.value[row] = value
        set_cursor(loop, SCAN_COMMIT, row, number)
    elif kind == PREPARE:
        session.counters[CLOCK] = max(session.counters[CLOCK], number)
        open_session(session, row, number, identifier, graph.counters[SEQUENCE])
        set_cursor(loop, SCAN_PREPARE, row, 0)
    elif kind == ACKNOWLEDGE:
        entry = session.record[row] - 1
        session.waiting[entry] -= 1
        session.reached[entry] = max(session.reached[entry], number)
        push_if_ready(session, row)
    elif kind == INVALIDATE:
        if loop.flags[row] & SUBSCRIBED:
            loop.value[row] = value
            loop.spread_row[loop.counters[SPREADS]] = row
            loop.spread_wave[loop.counters[SPREADS]] = number
            loop.counters[SPREADS] += 1
    elif kind == SUBSCRIBE:
        if session.record[row] != 0:
            loop.held_row[loop.counters[HELD]] = row
            loop.held_worker[loop.counters[HELD]] = sender
            loop.counters[HELD] += 1
        else:
            answer_subscription(graph, loop, row, sender)
    elif kind == UNSUBSCRIBE:
        loop.subscribers[row] &= ~(np.uint64(1) << np.uint64(sender))
    elif kind == SUBSCRIBED_REPLY:
        loop.flags[row] &= ~np.uint8(ASKED)
        loop.flags[row] |= SUBSCRIBED
        loop.value[row] = value
        if graph.out_length[row] == 0 and loop.counters[VERSION] == ANY_VERSION:
            unsubscribe(graph, loop, row)
        else:
            set_cursor(loop, SCAN_INPUT, row, number)
    else:
        loop.counters[IMPOSSIBLE] += 1


@nb.njit(cache=True, nogil=True)
def receive(graph, session, loop, parameters, sender, kinds, identifiers, values, numbers, first, fuel):
    """Take in messages ``first ..`` of one bundle; returns the index of the first one that was not begun."""
    i = first
    while True:
        fuel = drain(graph, session, loop, parameters, fuel)
        if fuel <= 0 or i == kinds.size or outbox_is_full(loop):
            return i
        if (
            kinds[i] == UPDATE
            and loop.counters[DELAY_BOUND] == 1
            and least_pending(graph, loop) <= numbers[i]
        ):
            return i  # this worker's own round of that iteration comes first
        receive_one(graph, session, loop, parameters, sender, kinds[i], identifiers[i], values[i], numbers[i])
        fuel -= _STEP_COST
        i += 1


@nb.njit(cache=True)
def commit_round(graph, session, loop, iteration):
    """Synchronous: commit every vertex that is due, all with what they had gathered before the round; scans follow."""
    kept = 0
    count = 0
    for i in range(loop.counters[HEAP]):
        row = np.int64(loop.heap_row[i])
        if loop.flags[row] & DIRTY == 0:
            continue
        if loop.reached[row] + 1 > iteration:
            loop.heap_row[kept] = row
            kept += 1
            continue
        commit(graph, session, loop, row, iteration)
        loop.round_row[count] = row
        count += 1
    loop.counters[HEAP] = kept
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
        length = np.int64(graph.out_length[row])
        if length >= fuel or not latest:
            begin_round_scan(loop)
            return max(fuel, np.int64(1))
        loop.counters[ROUND] -= 1
        first = graph.out_start[row]
        offer_along(graph, session, loop, row, iteration, first, first + length, latest)
        loop.counters[EDGES_VISITED] += length
        fuel -= length + _STEP_COST
    return fuel


@nb.njit(cache=True)
def advance_synchronous(graph, session, loop, parameters, horizon, cap, fuel):
    """Delay bound 1: whole rounds, each when nothing can arrive for it any more."""
    while fuel > 0:
        fuel = drain(graph, session, loop, parameters, fuel)
        if fuel <= 0:
            break
        if loop.counters[ROUND] > 0:
            fuel = scatter_round(graph, session, loop, fuel)
            continue
        iteration = least_pending(graph, loop)
        if iteration >= min(horizon, loop.counters[SENT_LEAST]) or iteration > cap or outbox_is_full(loop):
            return fuel
        commit_round(graph, session, loop, iteration)
    return np.int64(0)


@nb.njit(cache=True)
def commit_at_once(graph, session, loop, row):
    """All consumers are here and none prepares: prepare and commit are two passes over the list, and no message."""
    first = graph.out_start[row]
    stop = first + graph.out_length[row]
    iteration = loop.reached[row] + 1
    for slot in range(first, stop):
        iteration = max(iteration, loop.reached[graph.edge_consumer[slot]])
    commit(graph, session, loop, row, iteration)
    offer_along(graph, session, loop, row, iteration, first, stop, True)
    loop.counters[EDGES_VISITED] += stop - first


@nb.njit(cache=True)
def advance_bounded(graph, session, loop, parameters, others, cap, fuel):
    """Delay bound above 1: vertices in the program's order, each on its own, none further ahead than the bound allows."""
    bound = loop.counters[DELAY_BOUND]
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
                raise_reached(graph, loop, row, session.held[entry])
                session.held[entry] = -1
                recheck(loop, row, loop.counters[NEXT_WAVE])
                push_if_ready(session, row)
                continue
            commit(graph, session, loop, row, iteration)
            set_cursor(loop, SCAN_COMMIT, row, iteration)
            continue
        frontier = min(others, loop.counters[SENT_LEAST], least_pending(graph, loop))
        limit = min(frontier + bound, cap + 1) if frontier < NEVER - bound else cap + 1
        loop.counters[LIMIT] = limit
        while loop.counters[BLOCKED] > 0 and loop.blocked_key[0] < limit:
            row = np.int64(loop.blocked_row[0])
            loop.counters[BLOCKED] = drop_heap_top(loop.blocked_key, loop.blocked_row, loop.counters[BLOCKED])
            if loop.flags[row] & DIRTY and session.record[row] == 0:
                loop.counters[HEAP] = push_heap(
                    loop.heap_key, loop.heap_row, loop.counters[HEAP], priority(loop.candidate[row]), row
                )
        if loop.counters[HEAP] == 0:
            return fuel
        key = loop.heap_key[0]
        row = np.int64(loop.heap_row[0])
        loop.counters[HEAP] = drop_heap_top(loop.heap_key, loop.heap_row, loop.counters[HEAP])
        if loop.flags[row] & DIRTY == 0 or session.record[row] != 0 or priority(loop.candidate[row]) != key:
            continue
        if loop.reached[row] + 1 >= limit:
            loop.counters[BLOCKED] = push_heap(
                loop.blocked_key,
                loop.blocked_row,
                loop.counters[BLOCKED],
                np.float64(loop.reached[row] + 1),
                row,
            )
        elif loop.subscribers[row] != np.uint64(0) or session.preparing_producers[row] > 0:
            begin_prepare(graph, session, loop, row)
        elif (
            session.counters[OPEN_RECORDS] == 0
            and 2 * graph.out_length[row] < fuel
            and loop.counters[VERSION] >= graph.counters[SEQUENCE]
        ):
            fuel -= 2 * np.int64(graph.out_length[row])
            commit_at_once(graph, session, loop, row)
        else:
            loop.counters[CURSOR_SUPPORTED] = 0
            set_cursor(loop, SCAN_READ, row, 0)
    return np.int64(0)


@nb.njit(cache=True, nogil=True)
def advance(graph, session, loop, parameters, others, horizon, cap, fuel):
    """Work off what is pending; returns the fuel left, 0 when there is more to do.

    `others` is the frontier of commits without this worker's own token, `horizon` the first iteration for which updates may
    still arrive from elsewhere; both NEVER where this worker is alone. Nothing commits above `cap`.
    """
    if loop.counters[DELAY_BOUND] == 1:
        return advance_synchronous(graph, session, loop, parameters, horizon, cap, fuel)
    return advance_bounded(graph, session, loop, parameters, others, cap, fuel)


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
def pending_least(graph, loop):
    """The least iteration at which a dirty vertex of this worker can commit, or NEVER."""
    return least_pending(graph, loop)


@nb.njit(cache=True, nogil=True)
def fork(graph, session, loop, branch_session, branch):
    """Copy the state that a branch starts from. No scan and no invalidation may be under way in `loop`.

    The protocol's state is left behind: a vertex that was preparing is dirty in the branch. All waves that are open become
    wave 1, the only one that the branch has.
    """
    rows = loop.counters[ROWS_SEEN]
    for row in range(rows):
        branch.value[row] = loop.value[row]
        branch.candidate[row] = loop.value[row]
    for row in range(rows):
        branch.parent[row] = loop.parent[row]
    for row in range(rows):
        branch.reached[row] = loop.reached[row]
    if loop.counters[WORKERS] > 1:
        for row in range(rows):
            branch.subscribers[row] = loop.subscribers[row]
    branch.counters[ROWS_SEEN] = rows
    for row in range(rows):
        flags = loop.flags[row]
        branch.flags[row] = flags & ~np.uint8(DIRTY | REGATHER)
        if flags & (DIRTY | MARKED | REGATHER):
            if flags & MARKED:
                branch.least[row] = loop.least[row]
                branch.wave[row] = 1
                branch.marks[branch.counters[MARKS]] = row
                branch.counters[MARKS] += 1
            if flags & DIRTY:
                branch.candidate[row] = loop.candidate[row]
                mark_dirty(graph, branch_session, branch, row)
            if flags & REGATHER:
                recheck(branch, np.int64(row), 1)


@nb.njit(cache=True, nogil=True)
def fork_fresh(graph, session, loop, branch_session, branch, parameters):
    """The state of a branch that starts from the beginning, with other parameters; every ghost is subscribed already."""
    rows = loop.counters[ROWS_SEEN]
    branch.counters[ROWS_SEEN] = rows
    for row in range(rows):
        flags = loop.flags[row] & np.uint8(OWN | SUBSCRIBED | ASKED | KNOWN)
        branch.flags[row] = flags
        branch.value[row] = WORST
        branch.candidate[row] = WORST
        branch.parent[row] = NO_PARENT
        branch.reached[row] = branch.counters[FLOOR]
        if loop.counters[WORKERS] > 1:
            branch.subscribers[row] = loop.subscribers[row]
        if flags & OWN:
            value = initial(graph.ids[row], *parameters)
            if better(value, WORST):
                branch.candidate[row] = value
                branch.parent[row] = SELF_PARENT
                mark_dirty(graph, branch_session, branch, row)


@nb.njit(cache=True, nogil=True)
def restore_row(
    graph, session, loop, parameters, identifiers, values, candidates, least, wave, parents, reached
):
    """Give own vertices the state they had in a snapshot, with every choice to be rechecked in wave 1."""
    for i in range(identifiers.size):
        row = row_for(graph, session, loop, identifiers[i], parameters)
        mark_clean(loop, row)
        loop.value[row] = values[i]
        loop.candidate[row] = values[i]
        loop.reached[row] = max(reached[i], loop.counters[FLOOR])
        parent = (
            find_row(graph.ids, graph.table, graph.counters[TABLE_MASK], parents[i])
            if parents[i] >= 0
            else np.int64(parents[i])
        )
        loop.parent[row] = parent
        if wave[i] > 0:
            loop.flags[row] |= MARKED
            loop.least[row] = least[i]
            loop.wave[row] = 1
            loop.marks[loop.counters[MARKS]] = row
            loop.counters[MARKS] += 1
        if better(candidates[i], values[i]):
            loop.candidate[row] = candidates[i]
            mark_dirty(graph, session, loop, row)
        recheck(loop, row, 1)
