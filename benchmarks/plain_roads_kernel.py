"""The compiled steps of `plain_roads.py`."""

import numba as nb
import numpy as np


@nb.njit(cache=True)
def push(keys, rows, length, key, row):
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
def drop(keys, rows, length):
    """Remove the least entry; returns the new length."""
    length -= 1
    key, row, place = keys[length], rows[length], 0
    while 2 * place + 1 < length:
        below = 2 * place + 1
        if below + 1 < length and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[place], rows[place] = keys[below], rows[below]
        place = below
    keys[place], rows[place] = key, row
    return length


@nb.njit(cache=True)
def settle(offsets, targets, weights, distance, parent, keys, rows, length):
    """Dijkstra from what the heap has."""
    while length > 0:
        key, row = keys[0], rows[0]
        length = drop(keys, rows, length)
        if key > distance[row]:
            continue
        for edge in range(offsets[row], offsets[row + 1]):
            target = targets[edge]
            offered = key + weights[edge]
            if offered < distance[target]:
                distance[target] = offered
                parent[target] = row
                length = push(keys, rows, length, offered, target)


@nb.njit(cache=True)
def begin(offsets, targets, weights, source, distance, parent, keys, rows):
    """All distances from a source."""
    distance[:] = np.inf
    parent[:] = -1
    distance[source] = 0.0
    length = push(keys, rows, 0, 0.0, source)
    settle(offsets, targets, weights, distance, parent, keys, rows, length)


@nb.njit(cache=True)
def close(
    offsets, targets, weights, back_offsets, back_sources, back_edges, distance, parent, closed, sources,
    doomed, is_doomed, keys, rows,
):  # fmt: skip
    """Edges have closed: invalidate the subtrees below them, gather around these, go on by Dijkstra."""
    count = 0
    for place in range(closed.size):
        weights[closed[place]] = np.inf
        target = targets[closed[place]]
        if parent[target] == sources[place] and not is_doomed[target]:
            is_doomed[target] = True
            doomed[count] = target
            count += 1
    seen = 0
    while seen < count:
        row = doomed[seen]
        seen += 1
        for edge in range(offsets[row], offsets[row + 1]):
            target = targets[edge]
            if parent[target] == row and not is_doomed[target]:
                is_doomed[target] = True
                doomed[count] = target
                count += 1
    length = 0
    for place in range(count):
        row = doomed[place]
        least, chosen = np.inf, -1
        for back in range(back_offsets[row], back_offsets[row + 1]):
            source = back_sources[back]
            if not is_doomed[source]:
                offered = distance[source] + weights[back_edges[back]]
                if offered < least:
                    least, chosen = offered, source
        distance[row], parent[row] = least, chosen
        if least < np.inf:
            length = push(keys, rows, length, least, row)
    for place in range(count):
        is_doomed[doomed[place]] = False
    settle(offsets, targets, weights, distance, parent, keys, rows, length)
