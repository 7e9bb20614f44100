"""One pass over the points of a shard: all that the objective of a linear model, its gradient and a certificate are made of.

What is summed of each side (0: positive dual variables, 1: negative ones) stands in two numbers side by side.
"""

import math

import numba as nb
import numpy as np

from .dense_kernel import add_outer, add_row, dot, dot_and_square
from .logistic_kernel import conjugate, curvature, side_of, target, value_and_dual

# Of each side, with a for the weight of a point, t for its dual variable:
WEIGHT = 0  # sum of a
LOSS = 2  # sum of a l(s)
EXCESS = 4  # sum of a (l(s) + l*(-t) + t s), which is never negative, and 0 where t is minus a slope at s
DUALS = 6  # sum of a |t|
LENGTHS = 8  # sum of a |x|^2
# Of both:
DUAL_SQUARES = 10  # sum of a t^2
TARGETS = 11  # sum of a y
MAGNITUDE = 12  # sum of a (|l(s)| + |l*(-t)| + |t s|), where t is given
ROWS = 13  # points that take part
PASSED_OVER = 14  # points that do not: their label is none, or no class
INFEASIBLE = 15  # dual variables that are none
TARGET_SQUARES = 16  # sum of a y^2
NUMBERS = 17


@nb.njit(cache=True, nogil=True)
def pass_over(features, rows, label, weight, negative, positive, vector, intercept, duals, numbers, sums):
    """Go over the points of a shard once.

    Parameters
    ----------
    features : tuple of ndarray
        See `dense_kernel` and `sparse_kernel`.
    rows : int32[k]
        Of points; only read, as all are that is not said to be written.
    label, weight : float64[used]
    negative, positive : float
        Labels of the two classes.
    vector : float64[width]
    intercept : float
    duals : float64[used] or float64[0]
        t of each point; without, it is minus the slope at its score.
    numbers : float64[NUMBERS]
        Added to.
    sums : float64[2, width] or float64[1, width]
        Added to: sums of a t x, of each side or of both.
    """
    is_given = len(duals) > 0
    is_parted = sums.shape[0] > 1
    for place in range(len(rows)):
        row = np.int64(rows[place])
        goal = target(label[row], negative, positive)
        if math.isnan(goal):
            numbers[PASSED_OVER] += 1.0
            continue
        share = weight[row]
        score, length = dot_and_square(features, row, vector)
        score += intercept
        loss, dual = value_and_dual(score, goal)
        if is_given:
            dual = duals[row]
            bound = conjugate(dual, goal)
            if bound == math.inf:
                numbers[INFEASIBLE] += 1.0
                continue
        side = side_of(goal, dual)
        if is_given:
            numbers[EXCESS + side] += share * max(0.0, loss + bound + dual * score)
            numbers[MAGNITUDE] += share * (loss + abs(bound) + abs(dual * score))
        numbers[WEIGHT + side] += share
        numbers[LOSS + side] += share * loss
        numbers[DUALS + side] += share * abs(dual)
        numbers[LENGTHS + side] += share * length
        numbers[DUAL_SQUARES] += share * dual * dual
        numbers[TARGETS] += share * goal
        numbers[TARGET_SQUARES] += share * goal * goal
        numbers[ROWS] += 1.0
        if dual != 0.0:
            add_row(features, row, share * dual, sums, side if is_parted else 0)


@nb.njit(cache=True, nogil=True)
def sum_losses(features, rows, label, weight, negative, positive, vector, intercept, numbers):
    """Add weights, losses, how many points take part, and how many do not, to `numbers`, float64[4]."""
    for place in range(len(rows)):
        row = np.int64(rows[place])
        goal = target(label[row], negative, positive)
        if math.isnan(goal):
            numbers[3] += 1.0
        else:
            loss, _ = value_and_dual(dot(features, row, vector) + intercept, goal)
            numbers[0] += weight[row]
            numbers[1] += weight[row] * loss
            numbers[2] += 1.0


@nb.njit(cache=True, nogil=True)
def sum_curvatures(
    features, rows, label, weight, negative, positive, vector, intercept, has_intercept, total, matrix
):
    """Add up what the second derivative of the losses is made of.

    Parameters
    ----------
    total : float64[1]
        Added to: the sum of weights.
    matrix : float64[width + has_intercept, width + has_intercept]
        Its upper triangle is added to.
    """
    for place in range(len(rows)):
        row = np.int64(rows[place])
        goal = target(label[row], negative, positive)
        if not math.isnan(goal):
            total[0] += weight[row]
            bend = weight[row] * curvature(dot(features, row, vector) + intercept, goal)
            if bend > 0.0:
                add_outer(features, row, bend, has_intercept, matrix)
