"""The compiled loops behind `cores.py`: who is next to whom, and peeling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit


@njit(cache=True, nogil=True)
def count_ends(sources: NDArray[np.int32], targets: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
    """Count, behind the place of each vertex, the edges that it is an end of, without loops."""
    for e in range(len(sources)):
        if sources[e] != targets[e]:
            offsets[sources[e] + 1] += 1
            offsets[targets[e] + 1] += 1


@njit(cache=True, nogil=True)
def place_ends(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    following: NDArray[np.int64],
    neighbours: NDArray[np.int32],
) -> None:
    """Write the other ends of those edges."""
    for e in range(len(sources)):
        u, v = sources[e], targets[e]
        if u != v:
            neighbours[following[u]] = v
            following[u] += 1
            neighbours[following[v]] = u
            following[v] += 1


@njit(cache=True, nogil=True)
def keep_distinct(
    offsets: NDArray[np.int64], neighbours: NDArray[np.int32], degrees: NDArray[np.int32]
) -> None:
    """Have each neighbour stand once at the beginning of a vertex's part of the list, and count them."""
    seen_by = np.full(len(degrees), -1, np.int32)
    for v in range(len(degrees)):
        end = offsets[v]
        for at in range(offsets[v], offsets[v + 1]):
            u = neighbours[at]
            if seen_by[u] != v:
                seen_by[u] = v
                neighbours[end] = u
                end += 1
        degrees[v] = end - offsets[v]


@njit(cache=True, nogil=True)
def are_supported(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    degrees: NDArray[np.int32],
    numbers: NDArray[np.int32],
) -> bool:
    """Whether every vertex has as many neighbours with its number or more as the number says."""
    for v in range(len(numbers)):
        count = 0
        for at in range(offsets[v], offsets[v] + degrees[v]):
            count += numbers[neighbours[at]] >= numbers[v]
        if count < numbers[v]:
            return False
    return True


@njit(cache=True, nogil=True)
def come_off(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    degrees: NDArray[np.int32],
    numbers: NDArray[np.int32],
    order: NDArray[np.int64],
    most: int,
) -> bool:
    """Whether all vertices come off in the order of their numbers, each with no more neighbours left than its number.

    Parameters
    ----------
    order
        The vertices by their numbers, ascending.
    most
        Those with this number need not come off.
    """
    left = degrees.copy()
    is_queued = np.zeros(len(numbers), np.bool_)
    queue = np.empty(len(numbers), np.int32)
    first = end = begin = 0
    while begin < len(order):
        number = numbers[order[begin]]
        if number == most:
            return True
        stop = begin
        while stop < len(order) and numbers[order[stop]] == number:
            v = order[stop]
            if left[v] <= number and not is_queued[v]:
                is_queued[v] = True
                queue[end] = v
                end += 1
            stop += 1
        while first < end:
            v = queue[first]
            first += 1
            for at in range(offsets[v], offsets[v] + degrees[v]):
                u = neighbours[at]
                left[u] -= 1
                if numbers[u] == number and left[u] <= number and not is_queued[u]:
                    is_queued[u] = True
                    queue[end] = u
                    end += 1
        if end != stop:
            return False
        begin = stop
    return True


@njit(cache=True, nogil=True)
def core_numbers(
    offsets: NDArray[np.int64], neighbours: NDArray[np.int32], degrees: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The core numbers, by taking off a vertex with the fewest neighbours again and again (Batagelj and Zaveršnik 2003)."""
    count = len(degrees)
    left = degrees.copy()
    greatest = 0
    for v in range(count):
        greatest = max(greatest, left[v])
    begins = np.zeros(greatest + 2, np.int64)  # where those with so many neighbours left stand
    for v in range(count):
        begins[left[v] + 1] += 1
    for number in range(greatest + 1):
        begins[number + 1] += begins[number]
    order, places = np.empty(count, np.int32), np.empty(count, np.int64)
    following = begins.copy()
    for v in range(count):
        places[v] = following[left[v]]
        order[places[v]] = v
        following[left[v]] += 1
    for at_order in range(count):
        v = order[at_order]
        for at in range(offsets[v], offsets[v] + degrees[v]):
            u = neighbours[at]
            if left[u] > left[v]:
                place = begins[left[u]]
                other = order[place]
                order[place], order[places[u]] = u, other
                places[other], places[u] = places[u], place
                begins[left[u]] += 1
                left[u] -= 1
    return left
