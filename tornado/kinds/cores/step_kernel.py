"""The compiled loop of core numbers: estimates that fall to what the neighbours support, and waves that raise them.

Source: Montresor, De Pellegrini and Miorandi, "Distributed k-core decomposition" (arXiv 1103.5320), and Lü et al. 2016: from estimates
that are nowhere too low, each vertex takes over and over the greatest number h such that h of its neighbours have h or more. In
any order this ends at the core numbers. Here estimates may also have to rise, as edges come. Laws, at every moment between calls:

- *Marks.* Call a set X of vertices of one level k *liftable* where each has more than k neighbours in X or above k. Every liftable set
  of neighbours has a vertex that is MARKED or RAISED, or one whose neighbour rose and that was not told yet. So where nobody is
  marked, nobody rises, all is told and nobody falls, the estimates are the core numbers: else, for the least k whose core is not
  where it should be, what is missing from it would be liftable.
- An edge that came makes a set liftable only through an end that has no more than the other one, which is marked. One that went
  makes none so. A vertex x that falls to k makes none so either: a liftable set with x would have been one without it before.
- *A wave* raises each vertex that it comes to by one, at most once, if it has enough neighbours at its level or above to be in a
  liftable set at all; from there it goes to those of the same level. Behind it a liftable set has a vertex that rose, or it had been
  one before. Those that fall back are no part of one. So waves follow each other for as long as somebody stays up.
- *Raising all* to their degree leaves no liftable set, as nobody has more neighbours than that. It costs as much as beginning
  anew, and is done where much is marked.

None of this needs phases (`coordinator.py`) to be right, only to come to an end: a vertex that fell before it heard of a rise is marked.

Every function returns within its fuel (edges visited), but for what goes over rows and no edge; a scan that was cut short is resumed by
the next call before anything else, and the graph must not change until then.
"""

import numba as nb
import numpy as np

from ..list_kernel import run_cursor
from .loop_columns import (
    CURSOR_KIND,
    DIRTY_FIRST,
    DIRTY_LENGTH,
    IDLE,
    MARKED,
    MARKS,
    MOST,
    OWN,
    RAISED,
    RAISED_ROWS,
    RISEN,
    ROWS_SEEN,
    SCAN_LOWER,
    SCAN_WAVE,
    SUBSCRIBED,
    UNKNOWN,
    UPDATE,
    UPDATES,
    WAVE_FIRST,
    WAVE_LENGTH,
    WORKERS,
)
from .queue_kernel import (
    join_wave,
    make_dirty,
    mark,
    order_dirty,
    outbox_is_full,
    send_all,
    take_dirty,
    take_waiting,
)
from .scan_kernel import begin_gather, most_neighbours

_STEP_COST = 8  # fuel for what a vertex costs beside its edges


@nb.njit(cache=True, nogil=True)
def lower(graph, loop, fuel):
    """Lower dirty vertices; returns the fuel left, 0 where it was used up or an outbox is to be emptied first."""
    while True:
        fuel = run_cursor(graph, loop, fuel)
        if loop.counters[CURSOR_KIND] == IDLE and loop.counters[DIRTY_LENGTH] == 0:
            return max(fuel, np.int64(1))
        if fuel <= 0 or outbox_is_full(loop):
            return np.int64(0)
        begin_gather(loop, take_dirty(loop), SCAN_LOWER)
        fuel = max(fuel - _STEP_COST, np.int64(1))


@nb.njit(cache=True, nogil=True)
def spread_wave(graph, loop, fuel):
    """Let vertices have their turn in the wave; returns the fuel left, 0 where it was used up or an outbox is to be emptied first."""
    while True:
        fuel = run_cursor(graph, loop, fuel)
        if loop.counters[CURSOR_KIND] == IDLE and loop.counters[WAVE_LENGTH] == 0:
            return max(fuel, np.int64(1))
        if fuel <= 0 or outbox_is_full(loop):
            return np.int64(0)
        row = take_waiting(loop)
        if loop.flags[row] & RAISED == 0:
            begin_gather(loop, row, SCAN_WAVE)
        fuel = max(fuel - _STEP_COST, np.int64(1))


@nb.njit(cache=True)
def let_marked_wait(loop):
    """Have those wait in a new wave that are marked, and those that the last one raised and that are still up."""
    for place in range(loop.counters[RAISED_ROWS]):
        row = np.int64(loop.raised[place])
        if loop.flags[row] & RAISED:
            loop.flags[row] &= ~np.uint8(RAISED)
            join_wave(loop, row)
    for place in range(loop.counters[MARKS]):
        row = np.int64(loop.marks[place])
        loop.flags[row] &= ~np.uint8(MARKED)
        join_wave(loop, row)
    loop.counters[RAISED_ROWS] = loop.counters[RISEN] = loop.counters[MARKS] = 0


@nb.njit(cache=True, nogil=True)
def begin_wave(loop):
    """Begin a wave at those that are marked."""
    let_marked_wait(loop)


@nb.njit(cache=True, nogil=True)
def begin_raising(loop):
    """Forget who was marked, since all are going to be raised."""
    let_marked_wait(loop)
    while loop.counters[WAVE_LENGTH] > 0:
        take_waiting(loop)


@nb.njit(cache=True, nogil=True)
def raise_all(graph, loop, first, fuel):
    """Raise vertices to their degree, from row `first` on; returns the first row that was not looked at."""
    row = first
    while row < loop.counters[ROWS_SEEN] and fuel > 0 and not outbox_is_full(loop):
        fuel -= 2
        if loop.flags[row] & OWN:
            degree = min(most_neighbours(graph, loop, row), loop.counters[MOST])
            if degree > loop.estimate[row]:
                loop.estimate[row] = degree
                loop.support[row] = 0
                loop.counters[UPDATES] += 1
                send_all(loop, loop.subscribers[row], UPDATE, graph.ids[row], degree)
                make_dirty(loop, row)
        row += 1
    if row == loop.counters[ROWS_SEEN]:
        order_dirty(loop)
    return row


@nb.njit(cache=True, nogil=True)
def finish_scans(graph, loop, fuel):
    """Finish the scan under way here; returns whether none is left."""
    run_cursor(graph, loop, fuel)
    return loop.counters[CURSOR_KIND] == IDLE


@nb.njit(cache=True, nogil=True)
def finish_cursor(graph, loop):
    """Finish the scan under way, however long it takes, so that the graph may change."""
    run_cursor(graph, loop, np.int64(1) << 60)


@nb.njit(cache=True)
def copy_who_hears(loop, branch):
    """Copy which vertices are whose, and who hears of them."""
    rows = loop.counters[ROWS_SEEN]
    branch.counters[ROWS_SEEN] = rows
    for row in range(rows):
        branch.flags[row] = loop.flags[row] & np.uint8(OWN | SUBSCRIBED)
    for row in range(rows):
        branch.subscribers[row] = loop.subscribers[row] if loop.counters[WORKERS] > 1 else np.uint64(0)


@nb.njit(cache=True, nogil=True)
def fork(loop, branch):
    """Copy the state that a branch starts from. Whoever waits in the wave, or was raised by it, is marked there.

    No scan may be under way in `loop`. Where all were being raised the caller begins that anew.
    """
    copy_who_hears(loop, branch)
    for row in range(loop.counters[ROWS_SEEN]):
        branch.estimate[row] = loop.estimate[row]
        branch.support[row] = loop.support[row]
    counters, mask = loop.counters, loop.ring_mask[0]
    for place in range(counters[DIRTY_LENGTH]):
        make_dirty(branch, np.int64(loop.dirty[(counters[DIRTY_FIRST] + place) & mask]))
    for place in range(counters[WAVE_LENGTH]):
        mark(branch, np.int64(loop.wave[(counters[WAVE_FIRST] + place) & mask]))
    for place in range(counters[MARKS]):
        mark(branch, np.int64(loop.marks[place]))
    for place in range(counters[RAISED_ROWS]):
        if loop.flags[np.int64(loop.raised[place])] & RAISED:
            mark(branch, np.int64(loop.raised[place]))


@nb.njit(cache=True, nogil=True)
def fork_fresh(loop, branch):
    """The state of a branch that begins anew, with other parameters: everybody is to be raised; every ghost is subscribed already."""
    copy_who_hears(loop, branch)
    for row in range(loop.counters[ROWS_SEEN]):
        branch.estimate[row] = 0 if branch.flags[row] & OWN else UNKNOWN
        branch.support[row] = 0
