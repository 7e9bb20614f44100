"""Points of two classes, for the losses that are of these; see `logistic_kernel` for what a loss kernel has."""

import math

import numba as nb


@nb.njit(cache=True)
def target(label, negative, positive):
    """What the score of a point should be like: -1 or 1 by its class; NaN where it takes no part."""
    if label == positive:
        return 1.0
    return -1.0 if label == negative else math.nan


@nb.njit(cache=True)
def mistake_of(score, goal):
    """How far a score is from what it should be like: 1 where it says the other class, else 0."""
    return 1.0 if (score >= 0.0) != (goal > 0.0) else 0.0


@nb.njit(cache=True)
def side_of(goal, _dual):
    """Which of two sums a point belongs to: 0 where dual variables are not negative, 1 where they are not positive."""
    return 0 if goal > 0.0 else 1
