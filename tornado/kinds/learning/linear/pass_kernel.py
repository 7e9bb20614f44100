"""One pass over the points of a shard: all that the objective of a linear model, its gradient and a certificate are made of.

What is summed of each side (0: positive dual variables, 1: negative ones) stands in two numbers side by side.
"""

import math

import numba as nb
import numpy as np

from .class_kernel import side_of, target
from .dense_kernel import add_outers, add_rows, dot, dot_and_square
from .logistic_kernel import conjugate, curvature, value_and_dual

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
BLOCK = 128  # points between which losses are taken together


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def lose(count, scores, goals, losses, duals):
    """Write the loss of each of a block, and minus its slope: a loop of its own, so that it runs many at a time."""
    for place in range(count):
        losses[place], duals[place] = value_and_dual(scores[place], goals[place])


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def add_numbers(count, sides, shares, goals, lengths, losses, duals, numbers):
    """Add what a block is in all numbers but those of given dual variables; `sides` is 1.0 for side 0 and 0.0 for side 1."""
    weight_0, weight_1, loss_0, loss_1 = 0.0, 0.0, 0.0, 0.0
    dual_0, dual_1, length_0, length_1 = 0.0, 0.0, 0.0, 0.0
    dual_squares, targets, target_squares = 0.0, 0.0, 0.0
    for place in range(count):
        of_0 = shares[place] * sides[place]
        of_1 = shares[place] * (1.0 - sides[place])
        dual = abs(duals[place])
        weight_0 += of_0
        weight_1 += of_1
        loss_0 += of_0 * losses[place]
        loss_1 += of_1 * losses[place]
        dual_0 += of_0 * dual
        dual_1 += of_1 * dual
        length_0 += of_0 * lengths[place]
        length_1 += of_1 * lengths[place]
        dual_squares += shares[place] * dual * dual
        targets += shares[place] * goals[place]
        target_squares += shares[place] * goals[place] * goals[place]
    numbers[WEIGHT] += weight_0
    numbers[WEIGHT + 1] += weight_1
    numbers[LOSS] += loss_0
    numbers[LOSS + 1] += loss_1
    numbers[DUALS] += dual_0
    numbers[DUALS + 1] += dual_1
    numbers[LENGTHS] += length_0
    numbers[LENGTHS + 1] += length_1
    numbers[DUAL_SQUARES] += dual_squares
    numbers[TARGETS] += targets
    numbers[TARGET_SQUARES] += target_squares
    numbers[ROWS] += count


@nb.njit(cache=True)
def take_duals(count, rows, held, scores, goals, shares, losses, duals, numbers):
    """Take dual variables that are given, in place of minus the slopes, and add what is known of them alone."""
    for place in range(count):
        dual, goal, share = held[rows[place]], goals[place], shares[place]
        bound, part = conjugate(dual, goal), dual * scores[place]
        if bound == math.inf or math.isnan(bound):
            numbers[INFEASIBLE] += 1.0
            dual = 0.0
        else:
            numbers[EXCESS + side_of(goal, dual)] += share * max(0.0, losses[place] + bound + part)
            numbers[MAGNITUDE] += share * (losses[place] + abs(bound) + abs(part))
        duals[place] = dual


@nb.njit(cache=True, nogil=True, error_model="numpy")
def pass_over(features, rows, label, weight, negative, positive, vector, intercept, held, numbers, sums):
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
    held : float64[used] or float64[0]
        t of each point; without, it is minus the slope at its score.
    numbers : float64[NUMBERS]
        Added to.
    sums : float64[2, width] or float64[1, width]
        Added to: sums of a t x, of each side or of both.
    """
    is_given, is_parted = len(held) > 0, sums.shape[0] > 1
    chosen, ordered = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    columns = np.empty((8, BLOCK))
    scores, goals, shares, lengths = columns[0], columns[1], columns[2], columns[3]
    losses, duals, sides, factors = columns[4], columns[5], columns[6], columns[7]
    for first in range(0, len(rows), BLOCK):
        count = 0
        for place in range(first, min(len(rows), first + BLOCK)):
            row = np.int64(rows[place])
            goal = target(label[row], negative, positive)
            if math.isnan(goal):
                numbers[PASSED_OVER] += 1.0
                continue
            score, length = dot_and_square(features, row, vector)
            chosen[count], goals[count], shares[count] = row, goal, weight[row]
            scores[count], lengths[count] = score + intercept, length
            count += 1
        lose(count, scores, goals, losses, duals)
        if is_given:
            take_duals(count, chosen, held, scores, goals, shares, losses, duals, numbers)
        for place in range(count):
            sides[place] = 1.0 - side_of(goals[place], duals[place])
        add_numbers(count, sides, shares, goals, lengths, losses, duals, numbers)
        for side in range(sums.shape[0]):
            kept = np.int64(0)
            for place in range(count):
                # Not by branches: nobody could guess which way they go.
                ordered[kept] = chosen[place]
                factors[kept] = shares[place] * duals[place]
                is_other = is_parted & (sides[place] != 1.0 - side)
                kept += np.int64(duals[place] != 0.0) * np.int64(not is_other)
            add_rows(features, ordered, factors, 0, kept, sums, side)


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
    chosen, factors = np.empty(BLOCK, np.int64), np.empty(BLOCK)
    count = 0
    for place in range(len(rows)):
        row = np.int64(rows[place])
        goal = target(label[row], negative, positive)
        if not math.isnan(goal):
            total[0] += weight[row]
            bend = weight[row] * curvature(dot(features, row, vector) + intercept, goal)
            if bend > 0.0:
                chosen[count], factors[count] = row, bend
                count += 1
        if count == BLOCK or place == len(rows) - 1:
            add_outers(features, chosen, factors, count, has_intercept, matrix)
            count = 0
