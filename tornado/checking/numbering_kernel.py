"""The compiled loops behind `numbering.py`: from ids to rows, by a table of all ids in between or by hashing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit


@njit(cache=True, nogil=True)
def fill_table(ids: NDArray[np.int64], least: int, table: NDArray[np.int32]) -> int:
    """Write each row to the place of its id; return the first row whose id an earlier one has, or -1."""
    for row in range(len(ids)):
        if table[ids[row] - least] >= 0:
            return row
        table[ids[row] - least] = row
    return -1


@njit(cache=True, nogil=True)
def look_up_table(
    least: int, table: NDArray[np.int32], names: NDArray[np.int64], rows: NDArray[np.int32]
) -> None:
    """Write the row of each id, -1 where there is none."""
    for i in range(len(names)):
        # Compared first: a difference of ids that lie far apart would overflow.
        if names[i] < least or names[i] > least + (len(table) - 1):
            rows[i] = -1
        else:
            rows[i] = table[names[i] - least]


@njit(cache=True, nogil=True)
def fill_places(ids: NDArray[np.int64], places: NDArray[np.int32]) -> int:
    """As `fill_table`, into places that are found by hashing (linear probing, at most half of them taken)."""
    mask = np.uint64(len(places) - 1)
    for row in range(len(ids)):
        mixed = np.uint64(ids[row])
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        at = (mixed ^ (mixed >> np.uint64(33))) & mask
        while places[at] >= 0:
            if ids[places[at]] == ids[row]:
                return row
            at = (at + np.uint64(1)) & mask
        places[at] = row
    return -1


@njit(cache=True, nogil=True)
def look_up_places(
    ids: NDArray[np.int64],
    places: NDArray[np.int32],
    names: NDArray[np.int64],
    rows: NDArray[np.int32],
) -> None:
    """As `look_up_table`, where `fill_places` put the rows."""
    mask = np.uint64(len(places) - 1)
    for i in range(len(names)):
        mixed = np.uint64(names[i])
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        at = (mixed ^ (mixed >> np.uint64(33))) & mask
        while places[at] >= 0 and ids[places[at]] != names[i]:
            at = (at + np.uint64(1)) & mask
        rows[i] = places[at]
