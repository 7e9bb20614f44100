"""The squared hinge loss max(0, 1 - label score)^2 of two classes; see `logistic_kernel` for what the functions are."""

import math

import numba as nb


@nb.njit(cache=True, nogil=True, forceinline=True, error_model="numpy", fastmath={"contract"})
def value_and_dual(score, goal):
    """The loss at a score, and minus its slope there."""
    lack = 1.0 - goal * score
    lack = 0.0 if lack <= 0.0 else lack  # noqa: FURB136  # what is no number stays none
    return lack * lack, 2.0 * goal * lack


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def curvature(score, goal):
    """The generalised second derivative (Mangasarian 2002)."""
    return 2.0 if goal * score < 1.0 else 0.0


@nb.njit(cache=True)
def conjugate(dual, goal):
    """l*(-t)."""
    share = dual * goal
    return share * (share / 4.0 - 1.0) if share >= 0.0 else math.inf


@nb.njit(cache=True)
def ascend(dual, score, bend, goal):
    """The t' that maximises ``-l*(-t') - score t' - bend/2 (t' - t)^2``."""
    return goal * max(0.0, (1.0 - goal * score + bend * dual * goal) / (0.5 + bend))
