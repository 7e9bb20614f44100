"""What happens to one row of the compiled loop: it appears, hears, is worth something, gets another out-weight, tells others.

A vertex is worth x = c * divisor(W) if it has out-edges, and b * base + d * s otherwise; its residual is r = b * base + d * s - x,
which is 0 without out-edges. Nothing of that is stored but s, c and W. So who changes one of these keeps the totals by what x and r
were before and are behind it.
"""

import numba as nb
import numpy as np

from ...graph.graph_columns import ROWS
from ...graph.rows_kernel import row_of
from .loop_columns import (
    ABSOLUTE,
    BASE,
    DEGREE,
    DEGREES,
    DRIFT,
    FACTOR,
    HAS_BASES,
    IMPOSSIBLE,
    IS_BRANCH,
    MASS,
    OUTBOX,
    OWN,
    PULLS,
    QUEUE_FIRST,
    QUEUE_LENGTH,
    QUEUED,
    ROWS_SEEN,
    SIGNED,
    SPLIT,
    THETA,
    TOUCHED,
    TOUCHED_ROWS,
    UPDATE,
    WORKER,
    WORKERS,
)
from .stand_in import base, divisor, most_worth, scaled, threshold

_OUTBOX_SOFT_LIMIT = 1 << 15


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


@nb.njit(cache=True)
def tell_subscribers(graph, loop, row):
    """Tell every worker that holds a ghost of this vertex what it announces now."""
    workers = loop.subscribers[row]
    worker = 0
    while workers != np.uint64(0):
        if workers & np.uint64(1):
            send(loop, worker, UPDATE, graph.ids[row], loop.share[row], 0)
        workers >>= np.uint64(1)
        worker += 1


@nb.njit(cache=True)
def outbox_is_full(loop):
    """Whether the caller should empty the outbox first."""
    for worker in range(loop.counters[WORKERS]):
        if loop.out_length[worker] > _OUTBOX_SOFT_LIMIT:
            return True
    return False


@nb.njit(cache=True)
def base_of(loop, row):
    """The base of a vertex: a column of it is read only where they differ."""
    return loop.own[row] if loop.counters[HAS_BASES] else 1.0


@nb.njit(cache=True)
def own_target(loop, row):
    """What a vertex would be worth by what it has heard: b * base + d * s."""
    return loop.totals[BASE] * base_of(loop, row) + loop.totals[FACTOR] * loop.heard[row]


@nb.njit(cache=True)
def worth_unheard(loop, row):
    """What a vertex without out-edges is worth: its target, but of a sum that lost its digits and is negative by that nothing counts."""
    heard = max(loop.heard[row], 0.0)
    return loop.totals[BASE] * base_of(loop, row) + loop.totals[FACTOR] * heard


@nb.njit(cache=True)
def announced(loop, parameters, row):
    """What a vertex with out-edges is worth, by what it has announced."""
    return loop.share[row] * divisor(loop.weight[row], *parameters)


@nb.njit(cache=True)
def share_of(loop, parameters, row, worth):
    """What a vertex announces that is worth so much: never less than nothing, and nothing that could not be summed.

    Exact sums are never negative. One is that lost its digits, as 1e24 came and went, until it is pulled anew.
    """
    most = most_worth(base_of(loop, row), loop.counters[IS_BRANCH])
    sound = min(worth, most) if worth > 0.0 else 0.0
    return sound / divisor(loop.weight[row], *parameters)


@nb.njit(cache=True)
def set_share(loop, row, share):
    """A vertex announces, or was heard to announce."""
    loop.share[row] = share
    if loop.counters[PULLS]:
        loop.packed[row] = share


@nb.njit(cache=True)
def is_due(loop, row, residual):
    """Whether a vertex with out-edges has passed its threshold."""
    return abs(residual) > threshold(loop.totals[THETA], loop.degree[row], base_of(loop, row))


@nb.njit(cache=True)
def enqueue(loop, row):
    """Let a vertex announce when its turn comes."""
    loop.flags[row] |= QUEUED
    place = (loop.counters[QUEUE_FIRST] + loop.counters[QUEUE_LENGTH]) & loop.queue_mask[0]
    loop.queue[place] = row
    loop.counters[QUEUE_LENGTH] += 1


@nb.njit(cache=True)
def consider(loop, row, residual):
    """Queue a vertex whose residual has passed its threshold: a hub must not scatter for each record that touches it."""
    if is_due(loop, row, residual) and loop.flags[row] & QUEUED == 0:
        enqueue(loop, row)


@nb.njit(cache=True)
def drift_of(loop, row, delta):
    """What a sum may have lost by an addition, which is in it, in units of epsilon and of the norm."""
    return scaled(abs(loop.heard[row]) + 2.0 * abs(delta), base_of(loop, row))


@nb.njit(cache=True)
def hear(loop, parameters, row, delta):
    """The sum of a vertex of this worker changes."""
    if loop.degree[row] == 0:
        loop.heard[row] += delta
        if loop.flags[row] & OWN:
            loop.totals[MASS] += loop.totals[FACTOR] * delta
    else:
        old = own_target(loop, row) - announced(loop, parameters, row)
        loop.heard[row] += delta
        new = own_target(loop, row) - announced(loop, parameters, row)
        loop.totals[ABSOLUTE] += abs(new) - abs(old)
        loop.totals[SIGNED] += new - old
        consider(loop, row, new)
    loop.totals[DRIFT] += drift_of(loop, row, delta)


@nb.njit(cache=True)
def added(a, b):
    """Add two numbers: their sum as it is rounded, and what it lost (Knuth's two-sum)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


@nb.njit(cache=True)
def add_weight(loop, row, change):
    """Add to an out-weight as exactly as three float64 can, of which each begins where the one before it ends.

    All are needed: of weights from 1e-12 to 1e12 a sum has more digits than two of them, and where those of 1e12 went, an
    out-weight of 1e-12 would be wrong in its ninth digit, and all that is announced by it.
    """
    weight, rest = added(loop.weight[row], change)
    if rest == 0.0 and loop.counters[SPLIT] == 0:
        loop.weight[row] = weight
        return
    loop.counters[SPLIT] = 1
    low, least = added(loop.weight_low[row], rest)
    least += loop.weight_least[row]
    weight, low = added(weight, low)
    low, least = added(low, least)
    loop.weight[row], loop.weight_low[row] = added(weight, low)
    loop.weight_least[row] = least


@nb.njit(cache=True)
def forget_weight(loop, row):
    """There are no edges."""
    loop.weight[row] = 0.0
    if loop.counters[SPLIT]:
        loop.weight_low[row] = 0.0
        loop.weight_least[row] = 0.0


@nb.njit(cache=True)
def touch_ghost(loop, row, change, edges):
    """The edges of a producer that another worker owns weigh more or less: it is told when this worker sends next."""
    if loop.flags[row] & TOUCHED == 0:
        loop.flags[row] |= TOUCHED
        loop.touched[loop.counters[TOUCHED_ROWS]] = row
        loop.counters[TOUCHED_ROWS] += 1
    add_weight(loop, row, change)
    loop.degree[row] += edges


@nb.njit(cache=True)
def tell_owner(graph, loop, row):
    """Tell the owner of a ghost by how much the weight of its edges here has changed, which is known to it from then on."""
    owner = np.int64(graph.owner[row])
    if loop.degree[row] != 0 or loop.weight[row] != 0.0:
        send(loop, owner, DEGREE, graph.ids[row], loop.weight[row], np.int64(loop.degree[row]))
        if loop.counters[SPLIT]:
            for part in (loop.weight_low[row], loop.weight_least[row]):
                if part != 0.0:
                    send(loop, owner, DEGREE, graph.ids[row], part, 0)
    forget_weight(loop, row)
    loop.degree[row] = 0


@nb.njit(cache=True)
def tell_owners(graph, loop):
    """Tell the owners of ghosts by how much the weight of their edges here has changed."""
    for place in range(loop.counters[TOUCHED_ROWS]):
        row = np.int64(loop.touched[place])
        tell_owner(graph, loop, row)
        loop.flags[row] &= ~np.uint8(TOUCHED)
    loop.counters[TOUCHED_ROWS] = 0


@nb.njit(cache=True)
def touch_producer(graph, loop, parameters, row, change, edges):
    """The out-edges of a vertex of this worker weigh more or less: c stays, x and r take it up, and nobody is told now.

    With the first out-edge the vertex announces its base, and what it has heard waits: announced over that edge alone, it would count
    as much again for each that follows, and grow so with every vertex on the way of edges that come at one time. With the last one
    it stops.
    """
    totals = loop.totals
    if loop.degree[row] == 0:
        if edges == 0:
            return  # the low part of a weight that is gone
        loop.counters[DEGREES] += edges
        add_weight(loop, row, change)
        loop.degree[row] = edges
        set_share(loop, row, share_of(loop, parameters, row, totals[BASE] * base_of(loop, row)))
        target, now = own_target(loop, row), announced(loop, parameters, row)
        totals[ABSOLUTE] += abs(target - now)
        totals[SIGNED] += target - now
        totals[MASS] += now - target
        consider(loop, row, target - now)
        tell_subscribers(graph, loop, row)
        return
    target = own_target(loop, row)
    worth = announced(loop, parameters, row)
    old = target - worth
    loop.degree[row] += edges
    loop.counters[DEGREES] += edges
    if loop.degree[row] == 0:
        totals[ABSOLUTE] -= abs(old)
        totals[SIGNED] -= old
        totals[MASS] += old
        forget_weight(loop, row)
        set_share(loop, row, 0.0)
        tell_subscribers(graph, loop, row)
        return
    add_weight(loop, row, change)
    now = announced(loop, parameters, row)
    new = target - now
    totals[ABSOLUTE] += abs(new) - abs(old)
    totals[SIGNED] += new - old
    totals[MASS] += now - worth
    consider(loop, row, new)


@nb.njit(cache=True)
def admit_rows(graph, loop, parameters):
    """Initialise the columns of rows that are new in the graph: without edges a vertex is worth its base."""
    for row in range(loop.counters[ROWS_SEEN], graph.counters[ROWS]):
        loop.heard[row] = 0.0
        set_share(loop, row, 0.0)
        loop.weight[row] = 0.0  # with what is split off, which is fresh memory
        loop.degree[row] = 0
        loop.flags[row] = 0
        loop.subscribers[row] = np.uint64(0)
        if graph.owner[row] == loop.counters[WORKER]:
            loop.flags[row] = OWN
            if loop.counters[HAS_BASES]:
                loop.own[row] = base(graph.ids[row], *parameters)
            loop.totals[MASS] += own_target(loop, row)
        loop.counters[ROWS_SEEN] = row + 1


@nb.njit(cache=True)
def row_for(graph, loop, parameters, identifier):
    """The row of a vertex id; this loop has columns for it. -1 in a branch that has none: it cannot have heard of it."""
    row = row_of(graph, identifier)
    if row >= loop.counters[ROWS_SEEN]:
        if loop.counters[IS_BRANCH]:
            loop.counters[IMPOSSIBLE] += 1
            return np.int64(-1)
        admit_rows(graph, loop, parameters)
    return np.int64(row)
