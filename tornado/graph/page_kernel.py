"""Putting the vertices and edges of a snapshot by page: a counting sort, which keeps the order of entries that share a page.

Edges are moved and not only numbered: a page is then read in one stretch, where numbers would have each page look at all columns.
How many there are need not be counted one by one, since the graph knows how long its lists are.
"""

import numba as nb
import numpy as np

from .graph_columns import BURIED_FIRST, GRAVE_MASK

_DIGIT_BITS = (
    12  # of births that one counting sort looks at: its counts stay in the cache beside the edges of a page
)
_DIGITS = np.uint64(1 << _DIGIT_BITS)
_LOW_BITS = np.uint64((1 << _DIGIT_BITS) - 1)


@nb.njit(cache=True, nogil=True)
def count_in_lists(graph, page_of_row, first, stop, counts):
    """Add to `counts` how many edges there are in the in-lists of rows ``first .. stop``, by the page of the row.

    Parameters
    ----------
    graph : GraphColumns
        Only read.
    page_of_row : uint16[rows]
        Only read.
    counts : int64[pages]
        Written.
    """
    for row in range(first, stop):
        counts[page_of_row[row]] += graph.in_length[row]


@nb.njit(cache=True, nogil=True)
def count_graves(graph, version, page_of_row, first, stop, counts):
    """Add to `counts` the graves ``first .. stop`` whose edges are visible at a version, by the page of their consumers.

    Those that nobody needs any more may be among them; see `count_in_lists`.
    """
    for number in range(max(first, graph.counters[BURIED_FIRST]), stop):
        grave = number & graph.counters[GRAVE_MASK]
        if graph.grave_born[grave] <= version < graph.grave_died[grave]:
            counts[page_of_row[graph.grave_consumer[grave]]] += 1


@nb.njit(cache=True, nogil=True)
def count_by_page(page_of, counts):
    """Add to `counts` how many entries fall to each page.

    Parameters
    ----------
    page_of : uint16[n]
        The page of each entry; only read.
    counts : int64[pages]
        Written.
    """
    for i in range(page_of.size):
        counts[page_of[i]] += 1


@nb.njit(cache=True, nogil=True)
def order_by_page(page_of, first, following, order):
    """Write the numbers of entries to the places that their pages have for them.

    Parameters
    ----------
    page_of : uint16[n]
        The page of each entry; only read.
    first : int
        The number of the first of these entries.
    following : int64[pages]
        The next place of each page; moves on.
    order : int64[all entries]
        Written.
    """
    for i in range(page_of.size):
        page = page_of[i]
        order[following[page]] = first + i
        following[page] += 1


@nb.njit(cache=True, nogil=True)
def move_by_page(
    page_of_row,
    producers,
    consumers,
    weights,
    born,
    following,
    stop,
    to_producers,
    to_consumers,
    to_weights,
    to_born,
):
    """Copy edges to the places that the pages of their consumers have for them.

    Parameters
    ----------
    page_of_row : uint16[rows of the graph]
        Only read.
    producers, consumers : int32[n]
        Only read, as `weights` and `born`.
    weights : float64[n]
    born : int64[n]
    following : int64[pages]
        The next place of each page; moves on.
    stop : int64[pages]
        Where its places end; only read.
    to_producers, to_consumers, to_weights, to_born
        Columns of all edges, of the same types; written.

    Returns
    -------
    int
        How many were copied: less than n where a page has no place for the next one.
    """
    for i in range(consumers.size):
        page = page_of_row[consumers[i]]
        place = following[page]
        if place == stop[page]:
            return i
        following[page] = place + 1
        to_producers[place] = producers[i]
        to_consumers[place] = consumers[i]
        to_weights[place] = weights[i]
        to_born[place] = born[i]
    return consumers.size


@nb.njit(cache=True, nogil=True)
def place_by_birth(born, order, room, places):
    """Find the places of edges in the order of their births: counting sorts by a digit after another, the lowest first.

    Parameters
    ----------
    born : int64[n]
        Only read.
    order, room : int32[n]
        Written: of no use afterwards.
    places : int32[n]
        The place of each edge; written.
    """
    least = most = np.int64(0)
    for i in range(born.size):
        least = born[i] if i == 0 else min(least, born[i])
        most = born[i] if i == 0 else max(most, born[i])
        order[i] = i
    following = np.empty(_DIGITS, np.int32)
    left = np.uint64(most - least)
    shift = np.uint64(0)
    is_last = False
    while not is_last:
        is_last = bool(left < _DIGITS)
        following[:] = 0
        for i in range(born.size):
            following[(np.uint64(born[i] - least) >> shift) & _LOW_BITS] += 1
        place = np.int32(0)
        for digit in range(_DIGITS):
            count = following[digit]
            following[digit] = place
            place += count
        for i in range(born.size):
            edge = order[i]
            own = (np.uint64(born[edge] - least) >> shift) & _LOW_BITS
            if is_last:
                places[edge] = following[own]
            else:
                room[following[own]] = edge
            following[own] += 1
        order, room = room, order
        shift += np.uint64(_DIGIT_BITS)
        left >>= np.uint64(_DIGIT_BITS)


@nb.njit(cache=True, nogil=True)
def name_edges(ids, places, producers, consumers, weights, sources, targets, of_edges):
    """Write edges to their places, with the ids of their ends, into narrow columns.

    Parameters
    ----------
    ids : int64[*]
        Only read.
    places : int32[n]
        Only read, as are the edges: `producers`, `consumers`, `weights`. Producers ascend, so their ids are near each other.
    sources, targets : int32[n]
        Written.
    of_edges : float32[n]
        The weights; written.

    Returns
    -------
    (bool, bool)
        Whether there is an id, and a weight, that these do not have exactly. Such a column is of no use.
    """
    are_wide, weigh_more = False, False
    for i in range(places.size):
        place = places[i]
        source, target, weight = ids[producers[i]], ids[consumers[i]], weights[i]
        sources[place] = source
        targets[place] = target
        of_edges[place] = weight
        are_wide |= sources[place] != source or targets[place] != target
        weigh_more |= of_edges[place] != weight  # NaN as well, whatever its bits say
    return are_wide, weigh_more
