"""A user's loss of a residual, score minus label, of any label; see `logistic_kernel` for what the functions are, and `real_kernel` for the others."""

import math

import numba as nb

from .own_stand_in_kernel import own_bend, own_slope, own_value


@nb.njit(cache=True)
def value_and_dual(score, goal):
    """The loss at a score, NaN where it is below 0, and minus its slope there."""
    place = score - goal
    value = float(own_value(place))
    return value if value >= 0.0 else math.nan, -own_slope(place)


@nb.njit(cache=True)
def curvature(score, goal):
    """The second derivative by the score."""
    return float(own_bend(score - goal))


@nb.njit(cache=True)
def conjugate(_dual, _goal):
    """Unknown, so no dual variables are given."""
    return math.inf


@nb.njit(cache=True)
def ascend(dual, _score, _bend, _goal):
    """Unknown: dual ascent does not apply."""
    return dual
