"""The hinge loss max(0, 1 - label score) of two classes; see `logistic_kernel` for what the functions are."""

import math

import numba as nb


@nb.njit(cache=True, nogil=True, forceinline=True, error_model="numpy", fastmath={"contract"})
def value_and_dual(score, goal):
    """The loss at a score, and minus a slope there."""
    value = 1.0 - goal * score
    value = 0.0 if value <= 0.0 else value  # noqa: FURB136  # what is no number stays none
    return value, 0.0 if value <= 0.0 else goal


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def curvature(_score, _goal):
    """There is none: Newton's method does not apply."""
    return 0.0


@nb.njit(cache=True)
def conjugate(dual, goal):
    """l*(-t)."""
    share = dual * goal
    return -share if 0.0 <= share <= 1.0 else math.inf


@nb.njit(cache=True)
def ascend(dual, score, bend, goal):
    """The t' that maximises ``-l*(-t') - score t' - bend/2 (t' - t)^2``."""
    return goal * min(1.0, max(0.0, dual * goal + (1.0 - goal * score) / bend))
