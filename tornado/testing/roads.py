"""A road network for demonstrations: a town on a grid, where roads close and open again.

Junctions stand on a grid; neighbours are joined by a street in both directions, some streets are missing, and every eighth row
and column is a main road, faster than the streets. Weights are minutes. Distances in such a graph are long (many hops) and a
closure moves only what lies behind it: the opposite of the skewed graphs in `graphs.py`.
"""

from __future__ import annotations

import numpy as np

from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT, REMOVE
from . import splitmix
from .edges import EdgeList

_MAIN_ROAD_EVERY = 8


def road_network(rows: int, columns: int, *, seed: int = 1, missing_share: float = 0.08) -> EdgeList:
    """Generate the roads of a town, both directions of a road next to each other.

    Parameters
    ----------
    rows, columns : int
        Size of the grid; junction (r, c) has the id r * columns + c.
    seed : int
        Chooses the town.
    missing_share : float
        This share of the streets was never built. Main roads always are, so the town hangs together.

    Returns
    -------
    EdgeList
        Weights are minutes, in steps of a hundredth: 1 to 3 on a street, 0.3 to 0.7 on a main road. The roads come in an
        order as if surveyors had walked from the middle of the town outwards.
    """
    if rows < 1 or columns < 1:
        raise ValueError(f"the grid is {rows} x {columns} but needs at least one row and one column")
    ids = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    west_east = np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()])
    north_south = np.stack([ids[:-1].ravel(), ids[1:].ravel()])
    main_row = west_east[0] // columns % _MAIN_ROAD_EVERY == 0
    main_column = north_south[0] % columns % _MAIN_ROAD_EVERY == 0
    ends = np.concatenate([west_east, north_south], axis=1)
    is_main = np.concatenate([main_row, main_column])
    count = ends.shape[1]

    minutes = np.where(
        is_main,
        splitmix.integers(count, 30, 70, splitmix.stream(seed, 0)),
        splitmix.integers(count, 100, 300, splitmix.stream(seed, 1)),
    )
    built = is_main | (splitmix.fractions(count, splitmix.stream(seed, 2)) >= missing_share)
    row, column = np.divmod(ends[0], columns)
    from_middle = np.hypot(row - rows / 2, column - columns / 2)
    order = np.argsort(from_middle, kind="stable")
    order = order[built[order]]

    src = ends[:, order].T.ravel()
    dst = ends[::-1, order].T.ravel()
    return EdgeList(src, dst, np.repeat(minutes[order] / 100.0, 2), rows * columns)


def closures(roads: EdgeList, count: int, *, seed: int = 1) -> EdgeList:
    """Choose roads that close: `count` of them, both directions of each, as edges of the network.

    Parameters
    ----------
    roads : EdgeList
        From `road_network`: both directions of a road stand next to each other.
    count : int
        How many roads; at most all of them.
    seed : int
        Chooses which.
    """
    order = np.arange(len(roads) // 2)
    splitmix.shuffle(order, splitmix.stream(seed, 4))
    chosen = order[:count]
    return roads[np.stack([2 * chosen, 2 * chosen + 1], axis=1).ravel()]


def closing(closed: EdgeList) -> EdgeBatch:
    """Return the records that close these roads."""
    return closed.records(op=REMOVE)


def opening(closed: EdgeList) -> EdgeBatch:
    """Return the records that open these roads again."""
    return closed.records(op=INSERT)
