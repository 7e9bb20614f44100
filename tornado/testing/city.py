"""A town at the size of a country's: junctions on a grid, with lakes, two rivers that few bridges cross, main roads and motorways.

What makes roads hard for a recomputation and easy for a repair is in it: distances are long (thousands of junctions), detours are far
where a river has to be crossed, and one closed bridge moves only what lies behind it. Everything is a function of the seed, and is
computed for all junctions at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import splitmix
from .edges import EdgeList

_MAIN_ROAD_EVERY = 8
_MOTORWAY_EVERY = 120
_BRIDGE_EVERY = 90
_LAKES = 12
_MISSING_SHARE = 0.08


@dataclass(frozen=True, slots=True, eq=False)
class City:
    """See the module.

    Attributes
    ----------
    roads : EdgeList
        Both directions of a road stand next to each other; weights are minutes, in steps of a hundredth. They come as if surveyors had
        walked from the middle outwards.
    water : bool[rows, columns]
        Where there is no junction; that of row r and column c has the id r * columns + c.
    bridges : int64[n, 2]
        The ends of the roads that cross a river.
    """

    roads: EdgeList
    water: NDArray[np.bool_]
    bridges: NDArray[np.int64]

    @property
    def junctions(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(~self.water))

    def nearest_junction(self, row: int, column: int) -> int:
        """The id of the junction of two main roads that is nearest to a place."""
        rows, columns = np.nonzero(~self.water[::_MAIN_ROAD_EVERY, ::_MAIN_ROAD_EVERY])
        rows, columns = rows * _MAIN_ROAD_EVERY, columns * _MAIN_ROAD_EVERY
        found = int(np.argmin((rows - row) ** 2 + (columns - column) ** 2))
        return int(rows[found] * self.water.shape[1] + columns[found])


def city(rows: int, columns: int, *, seed: int = 1) -> City:
    """Generate a town.

    Parameters
    ----------
    rows, columns : int
        Size of the grid, of which water takes some percent.
    seed : int
        Chooses the town.
    """
    if rows < 2 or columns < 2:
        raise ValueError(f"the grid is {rows} x {columns} but needs at least two rows and two columns")
    top, bottom = _river(columns, rows, 0.36, splitmix.stream(seed, 0))
    left, right = _river(rows, columns, 0.70, splitmix.stream(seed, 1))
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    wet = (row >= top) & (row <= bottom) | (column >= left[:, None]) & (column <= right[:, None])
    wet |= _lakes(row, column, splitmix.stream(seed, 2))
    ids = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    streets = np.concatenate(
        [
            np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()], axis=1),
            np.stack([ids[:-1].ravel(), ids[1:].ravel()], axis=1),
        ]
    )
    is_dry = ~wet.ravel()
    streets = streets[is_dry[streets].all(axis=1)]
    lines = np.where(streets[:, 1] == streets[:, 0] + 1, streets[:, 0] // columns, streets[:, 0] % columns)
    is_motorway, is_main = lines % _MOTORWAY_EVERY == 0, lines % _MAIN_ROAD_EVERY == 0
    count = len(streets)
    minutes = splitmix.integers(count, 100, 300, splitmix.stream(seed, 3))
    minutes = np.where(is_main, splitmix.integers(count, 30, 70, splitmix.stream(seed, 4)), minutes)
    minutes = np.where(is_motorway, splitmix.integers(count, 8, 16, splitmix.stream(seed, 5)), minutes)
    built = is_main | is_motorway
    built |= splitmix.fractions(count, splitmix.stream(seed, 6)) >= _MISSING_SHARE
    bridges = _bridges(top, bottom, left, right, wet)
    span = np.abs(bridges[:, 1] - bridges[:, 0])
    span = np.where(span % columns == 0, span // columns, span)
    ends = np.concatenate([streets[built], bridges])
    minutes = np.concatenate([minutes[built], 40 * span])
    from_middle = np.hypot(ends[:, 0] // columns - rows / 2, ends[:, 0] % columns - columns / 2)
    order = np.argsort(from_middle, kind="stable")
    ends, minutes = ends[order], minutes[order]
    roads = EdgeList(ends.ravel(), ends[:, ::-1].ravel(), np.repeat(minutes / 100.0, 2), rows * columns)
    return City(roads, wet, bridges)


def _river(length: int, extent: int, share: float, start: np.uint64) -> tuple[NDArray[np.int64], ...]:
    """From bank to bank at each place along a river that winds at a share of the extent across it."""
    phases = splitmix.fractions(3, start) * 2 * np.pi
    along = np.arange(length) / length * 2 * np.pi
    waves = (
        np.sin(along + phases[0]) + 0.5 * np.sin(3 * along + phases[1]) + 0.25 * np.sin(7 * along + phases[2])
    )
    middle = (extent * (share + 0.04 * waves)).astype(np.int64)
    width = max(1, extent // 120)
    return np.clip(middle - width, 1, extent - 2), np.clip(middle + width, 1, extent - 2)


def _lakes(row: NDArray[np.int64], column: NDArray[np.int64], start: np.uint64) -> NDArray[np.bool_]:
    """Round lakes; none in the middle of the town."""
    rows, columns = len(row), column.shape[1]
    drawn = splitmix.fractions(3 * _LAKES, start).reshape(_LAKES, 3)
    wet = np.zeros((rows, columns), np.bool_)
    for down, across, size in drawn:
        radius = (0.015 + 0.035 * size) * min(rows, columns)
        wet |= (row - down * rows) ** 2 + (column - across * columns) ** 2 < radius**2
    wet[(row - rows / 2) ** 2 + (column - columns / 2) ** 2 < (0.08 * min(rows, columns)) ** 2] = False
    return wet


def _bridges(
    top: NDArray[np.int64],
    bottom: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    wet: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Roads from bank to bank, at main roads, one in so many junctions; only where both banks are dry."""
    rows, columns = wet.shape
    at = np.arange(0, columns, max(_MAIN_ROAD_EVERY, min(_BRIDGE_EVERY, columns // 6)))
    at = at // _MAIN_ROAD_EVERY * _MAIN_ROAD_EVERY
    first = np.stack([(top[at] - 1) * columns + at, (bottom[at] + 1) * columns + at], axis=1)
    at = np.arange(0, rows, max(_MAIN_ROAD_EVERY, min(_BRIDGE_EVERY, rows // 6)))
    at = at // _MAIN_ROAD_EVERY * _MAIN_ROAD_EVERY
    second = np.stack([at * columns + left[at] - 1, at * columns + right[at] + 1], axis=1)
    found = np.concatenate([first, second])
    dry: NDArray[np.bool_] = ~wet.ravel()[found].any(axis=1)
    return found[dry]
