"""The logistic loss ln(1 + exp(-label score)) of two classes; what a loss kernel has is said here.

Beside this one it has `target`, `mistake_of` and `side_of`: those of `class_kernel`, where there are classes.

A loss is convex in the score and its least value is 0, so its conjugate l* is 0 at 0: certificates count on both. A *dual variable* t
is minus a slope; l*(-t) is infinite where t is none (Shalev-Shwartz and Zhang 2013, table 1).
"""

import math

import numba as nb

from .exponential_kernel import exp_below, log_above


@nb.njit(cache=True, nogil=True, forceinline=True, error_model="numpy", fastmath={"contract"})
def value_and_dual(score, goal):
    """The loss at a score, and minus a slope there."""
    margin = goal * score
    small = exp_below(-abs(margin))
    value = log_above(small) + (-margin if margin < 0.0 else 0.0)
    return value, goal * (small if margin > 0.0 else 1.0) / (1.0 + small)


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def curvature(score, _goal):
    """The second derivative by the score, or that of a parabola that is as good."""
    small = exp_below(-abs(score))
    return small / ((1.0 + small) * (1.0 + small))


@nb.njit(cache=True)
def conjugate(dual, goal):
    """l*(-t)."""
    share = dual * goal
    if not 0.0 <= share <= 1.0:
        return math.inf
    if share * (1.0 - share) == 0.0:
        return 0.0
    return share * math.log(share) + (1.0 - share) * math.log1p(-share)


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def ascend(dual, score, bend, goal):
    """The t' that maximises ``-l*(-t') - score t' - bend/2 (t' - t)^2``; `bend` is above 0.

    Of z with |t'| = 1 / (1 + exp(-z)), for Newton's method on |t'| itself makes no way near 0 and 1.
    """
    old, margin = dual * goal, goal * score
    low, high = -margin - bend * (1.0 - old), -margin + bend * old
    place, share, before = -margin, 0.0, math.inf
    for _ in range(100):
        small = exp_below(-abs(place))
        share = (1.0 if place > 0.0 else small) / (1.0 + small)
        slope = place + margin + bend * (share - old)
        if slope > 0.0:
            high = place
        else:
            low = place
        step = slope / (1.0 + bend * small / ((1.0 + small) * (1.0 + small)))
        wanted = place - step
        # Far off the bend says nothing: steps that do not become shorter may go from one end to the other and back for ever.
        if not low <= wanted <= high or abs(step) > 0.5 * before:
            wanted = 0.5 * (low + high)
            step = wanted - place
        place, before = wanted, abs(step)
        if abs(step) <= 1e-7:  # the next one would be as small as its square
            break
    small = exp_below(-abs(place))
    return goal * (1.0 if place > 0.0 else small) / (1.0 + small)
