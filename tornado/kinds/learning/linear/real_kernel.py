"""Points of any label, for the losses that are of these; see `logistic_kernel` for what a loss kernel has."""

import math

import numba as nb


@nb.njit(cache=True)
def target(label, _negative, _positive):
    """The label itself; NaN where it is no finite number, and the point takes no part."""
    return label if abs(label) < math.inf else math.nan


@nb.njit(cache=True)
def mistake_of(score, goal):
    """How far a score is from what it should be like."""
    return abs(score - goal)


@nb.njit(cache=True)
def side_of(_goal, dual):
    """Which of two sums a point belongs to."""
    return 0 if dual >= 0.0 else 1
