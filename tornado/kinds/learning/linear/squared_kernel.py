"""The squared loss (label - score)^2 / 2 of any label; see `logistic_kernel` for what the functions are."""

import math

import numba as nb


@nb.njit(cache=True)
def target(label, _negative, _positive):
    """The label itself; NaN where it is no finite number, and the point takes no part."""
    return label if abs(label) < math.inf else math.nan


@nb.njit(cache=True)
def side_of(_goal, dual):
    """Which of two sums a point belongs to."""
    return 0 if dual >= 0.0 else 1


@nb.njit(cache=True, nogil=True, forceinline=True, error_model="numpy", fastmath={"contract"})
def value_and_dual(score, goal):
    """The loss at a score, and minus its slope there."""
    lack = goal - score
    return 0.5 * lack * lack, lack


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def curvature(_score, _goal):
    """The second derivative by the score."""
    return 1.0


@nb.njit(cache=True)
def conjugate(dual, goal):
    """l*(-t)."""
    return dual * (0.5 * dual - goal)


@nb.njit(cache=True)
def ascend(dual, score, bend, goal):
    """The t' that maximises ``-l*(-t') - score t' - bend/2 (t' - t)^2``."""
    return (goal - score + bend * dual) / (1.0 + bend)
