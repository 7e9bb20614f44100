"""The squared loss (label - score)^2 / 2 of any label; see `logistic_kernel` for what the functions are, and `real_kernel` for the others."""

import numba as nb


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
