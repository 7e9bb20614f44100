"""Points of two classes, for the losses that are of these; see `logistic_kernel` for what a loss kernel has.

Which class a point is of is told by arithmetic, as nobody could guess which way a branch goes.
"""

import math

import numba as nb
import numpy as np


@nb.njit(cache=True)
def target(label, negative, positive):
    """What the score of a point should be like: -1 or 1 by its class; NaN where it takes no part."""
    goal = np.float64(label == positive) - np.float64(label == negative)
    return goal if goal != 0.0 else math.nan


@nb.njit(cache=True)
def mistake_of(score, goal):
    """How far a score is from what it should be like: 1 where it says the other class, else 0."""
    return np.float64((score >= 0.0) != (goal > 0.0))


@nb.njit(cache=True)
def side_of(goal, _dual):
    """Which of two sums a point belongs to: 0 where dual variables are not negative, 1 where they are not positive."""
    return np.int64(not goal > 0.0)
