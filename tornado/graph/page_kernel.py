"""Putting the vertices and edges of a snapshot by page: a counting sort, which keeps the order of entries that share a page."""

import numba as nb


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
