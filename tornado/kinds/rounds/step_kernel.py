"""The compiled loop of programs that count rounds: a value at every round, each made of those of the neighbours one round before.

Source: the synchronous loop of Tornado (SIGMOD 2016, section 4.2, B = 1), with the state of every round kept. Laws:

- a cell (a vertex at a round) is a function of cells of the round before, and of the edges. So no cell depends on itself, the
  fixed point is unique, and computing dirty cells in any order reaches it; the least round first computes each once;
- a cell that is not dirty has, at every moment between calls, what follows from the values that this worker has heard and from
  the edges of its version. So only what may differ is computed again, and a removal is a change as any other;
- a round is computed when nothing of an earlier one can arrive any more.

Every function returns within its fuel (edges visited); a scan that was cut short is resumed by the next call before anything
else, and the graph must not change until then. The program's function `initial` is put in by `compile.py`, which makes one module
of this file and those it imports from.
"""

import numba as nb
import numpy as np

from ..list_kernel import run_cursor
from .loop_columns import (
    CAP,
    CAPACITY,
    CURSOR_KIND,
    IDLE,
    OWN,
    PENDING,
    POSITION,
    ROUNDS,
    ROWS_SEEN,
    SENT_LEAST,
    WORDS,
    WORKERS,
)
from .queue_kernel import due, least_pending, least_round, mark_every_round, outbox_is_full, take_cell
from .record_kernel import put_initial
from .scan_kernel import begin_gather

_STEP_COST = 8  # fuel for what a cell costs beside its edges


@nb.njit(cache=True, nogil=True)
def advance(graph, loop, horizon, fuel):
    """Compute dirty cells, the least round first; returns the fuel left, 0 when there is more to do.

    `horizon` is the first iteration for which something may still arrive from elsewhere, NEVER where this worker is alone.
    Nothing commits above the cap.
    """
    while fuel > 0:
        fuel = run_cursor(graph, loop, fuel)
        if fuel <= 0:
            break
        number = least_round(loop)
        if number == 0:
            return fuel
        iteration = due(loop, number)
        if iteration >= min(horizon, loop.counters[SENT_LEAST]) or iteration > loop.counters[CAP]:
            return fuel
        if outbox_is_full(loop):
            break
        loop.counters[POSITION] = iteration
        # None of this round becomes dirty meanwhile, so it is not asked again which one is the least.
        while fuel > 0 and loop.queue_length[number] > 0 and not outbox_is_full(loop):
            begin_gather(graph, loop, take_cell(loop, number), number, iteration)
            fuel = run_cursor(graph, loop, fuel - _STEP_COST if fuel > _STEP_COST else np.int64(1))
    return np.int64(0)


@nb.njit(cache=True, nogil=True)
def finish_scans(graph, loop, fuel):
    """Finish the scan under way here; returns whether none is left."""
    run_cursor(graph, loop, fuel)
    return loop.counters[CURSOR_KIND] == IDLE


@nb.njit(cache=True, nogil=True)
def finish_cursor(graph, loop):
    """Finish the scan under way, however long it takes, so that the graph may change."""
    run_cursor(graph, loop, np.int64(1) << 60)


@nb.njit(cache=True, nogil=True)
def pending_least(loop):
    """The least iteration at which there is work on this worker, or NEVER."""
    return least_pending(loop)


@nb.njit(cache=True)
def copy_who_hears(loop, branch):
    """Copy which vertices are whose, and who hears of them."""
    rows = loop.counters[ROWS_SEEN]
    branch.counters[ROWS_SEEN] = rows
    for row in range(rows):
        branch.flags[row] = loop.flags[row]
        branch.degree[row] = loop.degree[row]
    for row in range(rows):
        branch.subscribers[row] = loop.subscribers[row] if loop.counters[WORKERS] > 1 else np.uint64(0)


@nb.njit(cache=True, nogil=True)
def fork(loop, branch):
    """Copy the state that a branch starts from: all cells, and which of them are dirty. No scan may be under way in `loop`."""
    copy_who_hears(loop, branch)
    rows = loop.counters[ROWS_SEEN]
    for number in range(loop.counters[ROUNDS] + 1):
        to, of = number * branch.counters[CAPACITY], number * loop.counters[CAPACITY]
        for row in range(rows):
            branch.value[to + row] = loop.value[of + row]
        for place in range(loop.queue_length[number]):
            branch.queue_row[to + place] = loop.queue_row[of + place]
        branch.queue_length[number] = loop.queue_length[number]
    for place in range(rows * loop.counters[WORDS]):
        branch.dirty[place] = loop.dirty[place]
    branch.counters[PENDING] = loop.counters[PENDING]
    branch.counters[POSITION] = loop.counters[POSITION]


@nb.njit(cache=True, nogil=True)
def fork_fresh(graph, loop, branch, parameters):
    """The state of a branch that starts from the beginning, with other parameters; every ghost is subscribed already."""
    copy_who_hears(loop, branch)
    for number in range(branch.counters[ROUNDS] + 1):
        branch.queue_length[number] = 0
    branch.counters[PENDING] = 0
    for row in range(branch.counters[ROWS_SEEN]):
        put_initial(graph, branch, row, parameters)
        for word in range(branch.counters[WORDS]):
            branch.dirty[row * branch.counters[WORDS] + word] = np.uint64(0)
        if branch.flags[row] & OWN:
            mark_every_round(branch, row)
