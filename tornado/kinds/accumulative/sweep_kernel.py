"""Sweeps over all rows of the compiled loop: values pulled over the in-lists, totals summed anew, rows found that are due; and forks.

A sweep pulls the sum of each vertex anew and has it announce at once, in the order of rows, so that those behind it read what it
announced (Gauss-Seidel). Behind the last one a sweep that only *measures* sums s for the announced c of all rows: from then on the
residual is known, and not only predicted. Sums are compensated there (Neumaier 1974), so that their error does not grow with
the length of a list.

An edge that the branch must see costs a look at its birth, and maybe at graves, only where a list has changed since the lease.
"""

import math

import numba as nb
import numpy as np

from ...columns import prefetch
from ...graph.graph_columns import ANY_VERSION, DELTAS
from ...graph.graves_kernel import grave_at
from .loop_columns import (
    ABSOLUTE,
    ACTIVE,
    ANNOUNCING_BASES,
    BASE,
    BASES,
    CHANGE,
    DEGREES,
    DRIFT,
    EDGES_VISITED,
    FACTOR,
    FLOW,
    GOAL,
    IN_LIST,
    IS_BRANCH,
    LARGEST,
    MASS,
    OUT_LIST,
    OWN,
    PULL_LOW,
    PULL_POSITION,
    PULL_TOTAL,
    QUEUE_FIRST,
    QUEUE_LENGTH,
    QUEUED,
    ROWS_SEEN,
    SIGNED,
    SPLIT,
    SWEPT_MASS,
    THETA,
    UNREST,
    UPDATES,
    VERSION,
    VERTICES,
    WEIGHTED,
    WORKERS,
)
from .row_kernel import (
    added,
    announced,
    base_of,
    enqueue,
    is_due,
    outbox_is_full,
    own_target,
    set_share,
    share_of,
    tell_subscribers,
    worth_unheard,
)
from .stand_in import base, factor, joined, most_worth, scaled

_ROWS_AHEAD = 8  # whose lists memory is asked for before their turn
_LEVELS = 1024  # powers of two, as many above 1 as below
MOST_SURE = 1.0 - 1e-10  # what a quotient must come to before it counts as 1
_MEASURED = 4.0  # roundings of a sum that is compensated, in units of epsilon and of the sum


@nb.njit(cache=True)
def compensated(total, low, term):
    """Add a term to a sum and to what it lost so far, without a branch, whichever of both is greater."""
    total, lost = added(total, term)
    return total, low + lost


@nb.njit(cache=True)
def pull_visible(graph, loop, row, total, low):
    """What comes over the in-edges that a branch sees, where the list has changed since its lease."""
    version = loop.counters[VERSION]
    first = graph.in_start[row]
    for back_slot in range(first, first + graph.in_length[row]):
        producer = np.int64(graph.in_producer[back_slot])
        slot = graph.out_start[producer] + graph.in_position[back_slot]
        if graph.edge_born[slot] <= version:
            total, low = compensated(total, low, graph.edge_weight[slot] * loop.packed[producer])
    grave = grave_at(graph, graph.buried_in[row], version)
    while grave >= 0:
        if graph.grave_born[grave] <= version:
            producer = np.int64(graph.grave_producer[grave])
            total, low = compensated(total, low, graph.grave_weight[grave] * loop.packed[producer])
        grave = grave_at(graph, graph.grave_next_in[grave], version)
    return total + low


@nb.njit(cache=True)
def pull(graph, loop, row, measures, fuel):
    """Go on with the sum of w * c over a vertex's in-edges; returns the fuel left, 0 when there are more of them."""
    totals, counters = loop.totals, loop.counters
    position, length = counters[PULL_POSITION], np.int64(graph.in_length[row])
    if counters[VERSION] != ANY_VERSION and loop.changed[row] & IN_LIST:
        # Also where it has changed since this began: positions mean nothing any more.
        counters[PULL_POSITION] = 0
        loop.heard[row] = pull_visible(graph, loop, row, 0.0, 0.0)
        counters[EDGES_VISITED] += length
        return max(fuel - length, np.int64(1))
    total = low = 0.0
    if position > 0:
        total, low = totals[PULL_TOTAL], totals[PULL_LOW]
    stop = min(length, position + fuel)
    first = graph.in_start[row]
    if counters[WEIGHTED] and measures:
        for back_slot in range(first + position, first + stop):
            share = loop.packed[np.int64(graph.in_producer[back_slot])]
            total, low = compensated(total, low, graph.in_weight[back_slot] * share)
    elif counters[WEIGHTED]:
        for back_slot in range(first + position, first + stop):
            total += graph.in_weight[back_slot] * loop.packed[np.int64(graph.in_producer[back_slot])]
    elif measures:
        for back_slot in range(first + position, first + stop):
            total, low = compensated(total, low, loop.packed[np.int64(graph.in_producer[back_slot])])
    else:
        for back_slot in range(first + position, first + stop):
            total += loop.packed[np.int64(graph.in_producer[back_slot])]
    counters[EDGES_VISITED] += stop - position
    if stop < length:
        counters[PULL_POSITION] = stop
        totals[PULL_TOTAL], totals[PULL_LOW] = total, low
        return np.int64(0)
    counters[PULL_POSITION] = 0
    loop.heard[row] = total + low
    return max(fuel - (stop - position), np.int64(1))


@nb.njit(cache=True, nogil=True)
def sweep(graph, loop, parameters, first, stop, fuel):
    """Pull the sums of rows ``first .. stop`` and let each vertex announce; returns the first row that was not finished.

    What the values moved by, and what they come to, is added to the totals CHANGE, FLOW and SWEPT_MASS, of which the caller
    makes a beginning.
    """
    totals, counters = loop.totals, loop.counters
    change, flow, mass = 0.0, 0.0, 0.0
    several = counters[WORKERS] > 1
    row = first
    while row < stop and fuel > 0:
        if several and outbox_is_full(loop):
            break
        fuel -= 1
        prefetch(graph.in_producer, graph.in_start[min(row + _ROWS_AHEAD, stop - 1)])
        if loop.flags[row] & OWN:
            fuel = pull(graph, loop, row, False, max(fuel, np.int64(1)))
            if counters[PULL_POSITION] > 0:
                break
            target = own_target(loop, row)
            mass += target
            if loop.degree[row] != 0:
                own = base_of(loop, row)
                most = most_worth(own, counters[IS_BRANCH])
                moved = abs(min(target, most) - announced(loop, parameters, row))
                change = joined(change, scaled(moved, own))
                before = loop.share[row]
                set_share(loop, row, share_of(loop, parameters, row, target))
                flow += loop.share[row] * loop.weight[row]
                if several and loop.share[row] != before:
                    tell_subscribers(graph, loop, row)
                counters[UPDATES] += 1
        row += 1
    totals[CHANGE] = joined(totals[CHANGE], change)
    totals[FLOW] += flow
    totals[SWEPT_MASS] += mass
    return row


@nb.njit(cache=True, nogil=True)
def measure(graph, loop, first, stop, fuel):
    """Pull the sums of rows ``first .. stop``, where nobody announces; returns the first row that was not finished."""
    counters = loop.counters
    if first == 0 and counters[PULL_POSITION] == 0:
        loop.totals[DRIFT] = 0.0
    drift = 0.0
    row = first
    while row < stop and fuel > 0:
        fuel -= 1
        prefetch(graph.in_producer, graph.in_start[min(row + _ROWS_AHEAD, stop - 1)])
        if loop.flags[row] & OWN:
            fuel = pull(graph, loop, row, True, max(fuel, np.int64(1)))
            if counters[PULL_POSITION] > 0:
                break
            drift = joined(drift, scaled(_MEASURED * loop.heard[row], base_of(loop, row)))
        row += 1
    loop.totals[DRIFT] = joined(loop.totals[DRIFT], drift)
    return row


@nb.njit(cache=True, nogil=True)
def fill_bases(graph, loop, parameters):
    """Ask the program for the base of each vertex, where they differ."""
    for row in range(loop.counters[ROWS_SEEN]):
        if loop.flags[row] & OWN:
            loop.own[row] = base(graph.ids[row], *parameters)


@nb.njit(cache=True, nogil=True)
def add_up(loop, parameters):
    """Sum the totals anew, over all rows and over no edge, at the base that there is now."""
    totals, counters = loop.totals, loop.counters
    totals[FACTOR] = factor(*parameters)
    absolute, signed, signed_low, mass, mass_low, flow = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    bases, announcing, largest, unrest = 0.0, 0.0, 0.0, 0.0
    vertices, degrees = np.int64(0), np.int64(0)
    for row in range(counters[ROWS_SEEN]):
        if loop.flags[row] & OWN == 0:
            continue
        vertices += 1
        own = base_of(loop, row)
        bases += own
        target = own_target(loop, row)
        largest = joined(largest, scaled(abs(target), own))
        if loop.degree[row] == 0:
            mass, mass_low = compensated(mass, mass_low, worth_unheard(loop, row))
            continue
        announcing += own
        degrees += np.int64(loop.degree[row])
        worth = announced(loop, parameters, row)
        residual = target - worth
        absolute = joined(absolute, scaled(abs(residual), own))
        most = most_worth(own, counters[IS_BRANCH])
        unrest = joined(unrest, scaled(abs(min(target, most) - worth), own))
        signed, signed_low = compensated(signed, signed_low, residual)
        mass, mass_low = compensated(mass, mass_low, worth)
        flow += loop.share[row] * loop.weight[row]
    totals[ABSOLUTE] = absolute
    totals[SIGNED] = signed + signed_low
    totals[MASS] = mass + mass_low
    totals[FLOW] = flow
    totals[LARGEST] = largest
    totals[UNREST] = unrest
    totals[BASES] = bases
    totals[ANNOUNCING_BASES] = announcing
    counters[VERTICES] = vertices
    counters[DEGREES] = degrees


@nb.njit(cache=True, nogil=True)
def put_shares(graph, loop, shares, first):
    """Have vertices announce what they are told to, from row `first` on; returns the first row that was not begun.

    Consumers do not hear of it: sums are older than that until they are measured.
    """
    row = first
    while row < shares.size and not outbox_is_full(loop):
        if loop.flags[row] & OWN and loop.degree[row] != 0 and loop.share[row] != shares[row]:
            set_share(loop, row, shares[row])
            tell_subscribers(graph, loop, row)
        row += 1
    return row


@nb.njit(cache=True, nogil=True)
def announce_scaled(graph, loop, factor, first):
    """Have vertices announce so many times as much, from row `first` on; returns the first row that was not begun.

    Consumers do not hear of it: sums are older than that until they are measured.
    """
    row = first
    while row < loop.counters[ROWS_SEEN] and not outbox_is_full(loop):
        if loop.flags[row] & OWN and loop.degree[row] != 0:
            set_share(loop, row, loop.share[row] * factor)
            tell_subscribers(graph, loop, row)
        row += 1
    return row


@nb.njit(cache=True, nogil=True)
def compare_shares(loop, parameters, kept, mean):
    """Count vertices that announce something by whether as much comes back to them.

    Written are the shares of those to whom it does, and the means with what came back; both are 0 of all rows before.
    """
    back, lost = np.int64(0), np.int64(0)
    for row in range(kept.size):
        if loop.flags[row] & OWN == 0 or loop.degree[row] == 0:
            continue
        worth, brought = announced(loop, parameters, row), loop.totals[FACTOR] * loop.heard[row]
        mean[row] = share_of(loop, parameters, row, 0.5 * (worth + brought))
        if not worth > 0.0:
            continue
        if brought >= MOST_SURE * worth:
            kept[row] = loop.share[row]
            back += 1
        else:
            lost += 1
    return back, lost


@nb.njit(cache=True, nogil=True)
def find_active(loop, parameters):
    """Queue all vertices that are above their threshold, and count their out-edges."""
    active = np.int64(0)
    for row in range(loop.counters[ROWS_SEEN]):
        if loop.degree[row] == 0 or loop.flags[row] & OWN == 0:
            continue
        residual = own_target(loop, row) - announced(loop, parameters, row)
        if is_due(loop, row, residual):
            active += np.int64(loop.degree[row])
            if loop.flags[row] & QUEUED == 0:
                enqueue(loop, row)
    loop.counters[ACTIVE] = active


@nb.njit(cache=True, nogil=True)
def choose_threshold(loop, parameters):
    """Set the threshold as high as it may be so that the goal is met by those above it; count the edges that begin there.

    What is announced comes back in part, so it has to be twice what is too much. Thresholds are powers of two.
    """
    totals = loop.totals
    residuals, degrees = np.zeros(_LEVELS), np.zeros(_LEVELS, np.int64)
    for row in range(loop.counters[ROWS_SEEN]):
        if loop.degree[row] == 0 or loop.flags[row] & OWN == 0:
            continue
        residual = abs(own_target(loop, row) - announced(loop, parameters, row))
        if residual > 0.0:
            level = min(max(math.frexp(residual / loop.degree[row])[1] + _LEVELS // 2, 0), _LEVELS - 1)
            residuals[level] += residual
            degrees[level] += np.int64(loop.degree[row])
    too_much = 2.0 * (totals[ABSOLUTE] + abs(totals[SIGNED]) - totals[GOAL])
    level, above, active = _LEVELS, 0.0, np.int64(0)
    while level > 0 and above < too_much:
        level -= 1
        above += residuals[level]
        active += degrees[level]
    totals[THETA] = math.ldexp(1.0, level - _LEVELS // 2 - 1)
    loop.counters[ACTIVE] = active


@nb.njit(cache=True, nogil=True)
def clear_queue(loop):
    """Let nobody wait to announce."""
    for place in range(loop.counters[QUEUE_LENGTH]):
        row = np.int64(loop.queue[(loop.counters[QUEUE_FIRST] + place) & loop.queue_mask[0]])
        loop.flags[row] &= ~np.uint8(QUEUED)
    loop.counters[QUEUE_LENGTH] = 0


@nb.njit(cache=True, nogil=True)
def fork(graph, loop, branch, all_known):
    """Copy what a branch starts from beside the records of rows: nothing per edge. Its vertices are those that were seen by now.

    all_known
        Whether all rows are of such vertices.
    """
    rows = loop.counters[ROWS_SEEN]
    for place in range(loop.counters[QUEUE_LENGTH]):
        queued = np.int64(loop.queue[(loop.counters[QUEUE_FIRST] + place) & loop.queue_mask[0]])
        branch.flags[queued] &= ~np.uint8(QUEUED)
    for row in range(rows):
        branch.changed[row] = 0
    if loop.counters[SPLIT] or branch.counters[SPLIT]:
        for row in range(rows):
            branch.weight_low[row] = loop.weight_low[row]
            branch.weight_least[row] = loop.weight_least[row]
    if loop.counters[WORKERS] > 1:
        for row in range(rows):
            branch.subscribers[row] = loop.subscribers[row]
    if not all_known:
        for row in range(rows):
            if branch.flags[row] & OWN and graph.known_as[row] == 0:
                branch.flags[row] &= ~np.uint8(OWN)
    branch.totals[DRIFT] = loop.totals[DRIFT]
    branch.totals[BASE] = loop.totals[BASE]
    branch.counters[ROWS_SEEN] = rows
    branch.counters[WEIGHTED] = loop.counters[WEIGHTED]
    branch.counters[SPLIT] = loop.counters[SPLIT]
    branch.counters[IS_BRANCH] = 1


@nb.njit(cache=True, nogil=True)
def note_changes(graph, branch):
    """Note which of the lists that a branch reads the last records have changed."""
    rows = branch.counters[ROWS_SEEN]
    for i in range(graph.counters[DELTAS]):
        producer, consumer = np.int64(graph.delta_producer[i]), np.int64(graph.delta_consumer[i])
        if producer < rows:
            branch.changed[producer] |= OUT_LIST
        if consumer < rows:
            branch.changed[consumer] |= IN_LIST


@nb.njit(cache=True, nogil=True)
def find_greatest(loop, parameters, found):
    """Write the greatest values of own rows, as many as there is room for and in no order; returns how many there are.

    They are kept in a heap, the least of them in front, so most rows cost one comparison.
    """
    room, count = np.int64(found.size), np.int64(0)
    for row in range(loop.counters[ROWS_SEEN]):
        if loop.flags[row] & OWN == 0:
            continue
        value = worth_unheard(loop, row) if loop.degree[row] == 0 else announced(loop, parameters, row)
        if count < room:
            place = count
            count += 1
            while place > 0 and found[(place - 1) >> 1] > value:
                found[place] = found[(place - 1) >> 1]
                place = (place - 1) >> 1
            found[place] = value
        elif value > found[0]:
            place, below = np.int64(0), np.int64(1)
            while below < room:
                if below + 1 < room and found[below + 1] < found[below]:
                    below += 1
                if found[below] >= value:
                    break
                found[place] = found[below]
                place = below
                below = 2 * place + 1
            found[place] = value
    return count


@nb.njit(cache=True, nogil=True)
def read_values(loop, parameters, rows, values):
    """Write what the vertices in some rows are worth; from any thread."""
    for i in range(rows.size):
        row = rows[i]
        if loop.degree[row] == 0:
            values[i] = worth_unheard(loop, row)
        else:
            values[i] = announced(loop, parameters, row)
