"""Dual variables of the points of one shard, which come and go.

A dual variable stands in the row of its point, beside the version that the point came with: where another point has taken the row, it is
known to be of the one before, and is taken for 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....points import ShardPoints
from .ascent_kernel import BALANCE, BALANCE_NUMBERS
from .linear_objective import LinearObjective, Vector, features_of, frozen


def add_duals(
    model: LinearObjective,
    points: ShardPoints,
    rows: NDArray[np.int32],
    duals: Vector,
    total: Vector,
    *,
    sign: float = 1.0,
) -> None:
    """Add the sum of a t, and of a t x, of some rows, times `sign`, to a total, float64[1 + features]."""
    balance = np.zeros(BALANCE_NUMBERS)
    here = frozen(rows.astype(np.int32, copy=False))
    sums = total[1:].reshape(1, -1)
    model.kernel.sum_duals(features_of(points), here, points.weight, duals, sign, sums, balance)
    total[0] += balance[BALANCE]


class HeldDuals:
    """Dual variables by row of a shard; whoever holds them alone writes them, and a fork has a copy.

    Attributes
    ----------
    duals : float64[rows]
        t of each point; 0 where there is none. Rows behind the last have 0.
    born : int64[rows]
        The version that the point of t came with; 0: none.
    """

    def __init__(self) -> None:
        self.duals: Vector = np.zeros(0)
        self.born: NDArray[np.int64] = np.zeros(0, np.int64)

    def copy(self) -> HeldDuals:
        """One that is written by itself."""
        found = HeldDuals()
        found.duals, found.born = self.duals.copy(), self.born.copy()
        return found

    def align(self, points: ShardPoints) -> tuple[NDArray[np.int32], int]:
        """Make room for all rows, and hold dual variables of the visible points and of no others.

        Returns
        -------
        fresh : int32[n]
            Rows whose points had none: they have 0 now.
        lost : int
            How many dual variables that were not 0 are let go: whoever keeps a sum of all of them has to sum again.
        """
        self._make_room(len(points.born))
        rows = points.rows
        # A point that is buried, and still visible at this version, has its birth negated.
        births = np.abs(points.born[rows])
        fresh = rows[births != self.born[rows]]
        kept = np.zeros(len(self.duals), np.bool_)
        kept[rows] = True
        kept[fresh] = False
        lost = int(np.count_nonzero(self.duals[~kept]))
        self.duals[~kept] = 0.0
        self.born[~kept] = 0
        self.born[rows] = births
        return fresh, lost

    def take_out(
        self, model: LinearObjective, points: ShardPoints, rows: NDArray[np.int32], total: Vector
    ) -> bool:
        """Subtract what points that went are in a sum, and forget their dual variables.

        Returns whether that could be done: not where a dual variable is of another point, which had the row before. Nothing is changed then.

        Parameters
        ----------
        points
            Of the shard, where what stood in those rows can be read still.
        rows : int32[n]
        total : float64[1 + features]
            sum of a t, and of a t x; written.
        """
        self._make_room(len(points.born))
        is_of_another = self.born[rows] != np.abs(points.born[rows])
        if self.duals[rows[is_of_another]].any():
            return False
        add_duals(model, points, rows, self.duals, total, sign=-1.0)
        self.duals[rows] = 0.0
        self.born[rows] = 0
        return True

    def _make_room(self, rows: int) -> None:
        if rows > len(self.duals):
            more = rows + rows // 8 - len(self.duals)
            self.duals = np.concatenate([self.duals, np.zeros(more)])
            self.born = np.concatenate([self.born, np.zeros(more, np.int64)])
