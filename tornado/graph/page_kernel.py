"""Putting the vertices and edges of a snapshot by page: a counting sort, which keeps the order of entries that share a page.

Edges are moved and not only numbered: a page is then read in one stretch, where numbers would have each page look at all columns.
"""

import numba as nb
import numpy as np

_DIGIT_BITS = (
    11  # of births that one counting sort looks at: its counts stay in the cache beside the edges of a page
)
_DIGITS = 1 << _DIGIT_BITS
_BIRTH_BITS = 64  # to shift a number by as many or more is not defined


@nb.njit(cache=True, nogil=True)
def count_by_page(page_of_row, rows, counts):
    """Add to `counts` how many entries fall to each page.

    Parameters
    ----------
    page_of_row : uint16[rows of the graph]
        Only read.
    rows : int32[n]
        The row of each entry; only read.
    counts : int64[pages]
        Written.
    """
    for i in range(rows.size):
        counts[page_of_row[rows[i]]] += 1


@nb.njit(cache=True, nogil=True)
def order_by_page(page_of_row, rows, first, following, order):
    """Write the numbers of entries to the places that their pages have for them.

    Parameters
    ----------
    page_of_row : uint16[rows of the graph]
        Only read.
    rows : int32[n]
        The row of each entry; only read.
    first : int
        The number of the first of these entries.
    following : int64[pages]
        The next place of each page; moves on.
    order : int64[all entries]
        Written.
    """
    for i in range(rows.size):
        page = page_of_row[rows[i]]
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
    to_producers, to_consumers, to_weights, to_born
        Columns of all edges, of the same types; written.
    """
    for i in range(consumers.size):
        page = page_of_row[consumers[i]]
        place = following[page]
        following[page] = place + 1
        to_producers[place] = producers[i]
        to_consumers[place] = consumers[i]
        to_weights[place] = weights[i]
        to_born[place] = born[i]


@nb.njit(cache=True, nogil=True)
def order_by_birth(born, order, room):
    """The numbers of edges in the order of their births: counting sorts by a digit after another, the lowest first.

    Parameters
    ----------
    born : int64[n]
        Only read.
    order, room : int32[n]
        Written.

    Returns
    -------
    int32[n]
        One of these two.
    """
    least = most = np.int64(0)
    for i in range(born.size):
        least = born[i] if i == 0 else min(least, born[i])
        most = born[i] if i == 0 else max(most, born[i])
        order[i] = i
    following = np.empty(_DIGITS, np.int64)
    shift = 0
    while shift < _BIRTH_BITS and (most - least) >> shift:
        following[:] = 0
        for i in range(born.size):
            following[((born[i] - least) >> shift) & (_DIGITS - 1)] += 1
        place = np.int64(0)
        for digit in range(_DIGITS):
            count = following[digit]
            following[digit] = place
            place += count
        for i in range(born.size):
            edge = order[i]
            digit = ((born[edge] - least) >> shift) & (_DIGITS - 1)
            room[following[digit]] = edge
            following[digit] += 1
        order, room = room, order
        shift += _DIGIT_BITS
    return order


@nb.njit(cache=True, nogil=True)
def name_edges(ids, order, producers, consumers, weights, sources, targets, of_edges):
    """Write edges in an order, with the ids of their ends, into narrow columns.

    Parameters
    ----------
    ids : int64[*]
        Only read.
    order : int32[n]
        Only read, as are the edges that it numbers: `producers`, `consumers`, `weights`.
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
    for i in range(order.size):
        edge = order[i]
        source, target, weight = ids[producers[edge]], ids[consumers[edge]], weights[edge]
        sources[i] = source
        targets[i] = target
        of_edges[i] = weight
        are_wide |= sources[i] != source or targets[i] != target
        weigh_more |= of_edges[i] != weight  # NaN as well, whatever its bits say
    return are_wide, weigh_more
