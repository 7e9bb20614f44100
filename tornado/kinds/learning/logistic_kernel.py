"""The logistic loss ln(1 + exp(-label score)) of two classes; what a loss kernel has is said here.

A loss is convex in the score and its least value is 0, so its conjugate l* is 0 at 0: certificates count on both. A *dual variable* t
is minus a slope; l*(-t) is infinite where t is none (Shalev-Shwartz and Zhang 2013, table 1).
"""

import math

import numba as nb


@nb.njit(cache=True)
def target(label, negative, positive):
    """What the score of a point should be like: -1 or 1 by its class; NaN where it takes no part."""
    if label == positive:
        return 1.0
    return -1.0 if label == negative else math.nan


@nb.njit(cache=True)
def side_of(goal, _dual):
    """Which of two sums a point belongs to: 0 where dual variables are not negative, 1 where they are not positive."""
    return 0 if goal > 0.0 else 1


@nb.njit(cache=True)
def value_and_dual(score, goal):
    """The loss at a score, and minus a slope there."""
    margin = goal * score
    small = math.exp(-abs(margin))
    value = math.log1p(small) + max(-margin, 0.0)
    return value, goal * (small if margin > 0.0 else 1.0) / (1.0 + small)


@nb.njit(cache=True)
def curvature(score, _goal):
    """The second derivative by the score, or that of a parabola that is as good."""
    small = math.exp(-abs(score))
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


@nb.njit(cache=True)
def ascend(dual, score, bend, goal):
    """The t' that maximises ``-l*(-t') - score t' - bend/2 (t' - t)^2``; `bend` is above 0."""
    old, margin, low, high = dual * goal, goal * score, 0.0, 1.0
    share = min(max(old, 1e-12), 1.0 - 1e-12)
    for _ in range(30):  # Newton's steps, kept between the bounds of a bisection
        slope = math.log(share / (1.0 - share)) + margin + bend * (share - old)
        if slope > 0.0:
            high = share
        else:
            low = share
        wanted = share - slope / (1.0 / (share * (1.0 - share)) + bend)
        if not low < wanted < high:
            wanted = 0.5 * (low + high)
        step = abs(wanted - share)
        share = wanted
        if step <= 1e-10 * share + 1e-14:
            break
    return goal * share
