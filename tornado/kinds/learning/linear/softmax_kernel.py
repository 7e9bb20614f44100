"""Points of several classes: one pass for the objective of a softmax model and its certificate, second derivatives, batches and scores.

Of a point of class y, with scores s_k and probabilities p_k = e^s_k / sum_j e^s_j, the loss is -ln p_y, and t_k = p_k - [k = y] its slopes
by the scores. They sum to 0, so t_y is taken for minus the sum of the others: for p_y near 1 nothing is lost.
"""

import math

import numba as nb
import numpy as np

from ..counter_kernel import random_below
from .batch_kernel import (
    BATCH_LOSS,
    BATCH_MISTAKES,
    BATCH_PASSED_OVER,
    BATCH_ROWS,
    BATCH_WEIGHT,
    DRAWS,
)
from .dense_kernel import add_outers, add_row, add_rows, add_squares, dot, dot_and_square
from .exponential_kernel import exp_below

# Of each class, with a for the weight of a point of it:
CLASS_WEIGHT = 0  # sum of a
CLASS_LOSS = 1  # sum of a l
CLASS_LENGTHS = 2  # sum of a |x|^2
CLASS_SLOPE_SQUARES = 3  # sum of a |t|^2
CLASS_NUMBERS = 4
# Of all:
SOFTMAX_ROWS = 0  # points that take part
SOFTMAX_PASSED_OVER = 1  # points that do not: their label is none, or no class
SOFTMAX_NUMBERS = 2
SOFTMAX_BLOCK = 128  # points whose rows are added together


@nb.njit(cache=True)
def class_of(label, classes):
    """The place of a label in classes, float64[K], which ascend; -1: it is none of them."""
    low, high = 0, len(classes)
    while low < high:
        middle = (low + high) >> 1
        if classes[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low if low < len(classes) and classes[low] == label else -1


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def spread(own, scores, shares):
    """Write the probability of each class; returns the loss of the class `own`, and the probability that it is another one."""
    largest = scores[0]
    for place in range(1, len(scores)):
        largest = max(largest, scores[place])
    for place in range(len(scores)):
        shares[place] = exp_below(scores[place] - largest)
    others = 0.0
    for place in range(len(scores)):
        if place != own:
            others += shares[place]
    total = others + shares[own]
    lead = scores[own] - largest
    loss = math.log1p(others) if lead == 0.0 else math.log(total) - lead
    for place in range(len(scores)):
        shares[place] /= total
    return loss, others / total


@nb.njit(cache=True, nogil=True, error_model="numpy")
def softmax_pass(
    features, rows, label, weight, classes, vectors, intercepts, scales, by_class, flows, numbers, sums
):
    """Go over the points of a shard once.

    Parameters
    ----------
    features : tuple of ndarray
        See `dense_kernel` and `sparse_kernel`.
    rows : int32[k]
        Of points; only read, as all are that is not said to be written.
    label, weight : float64[used]
    classes : float64[K]
        Labels; they ascend.
    vectors : float64[K, width]
    intercepts, scales : float64[K]
        Scales are of `sums` alone, by the class of a point.
    by_class : float64[K, CLASS_NUMBERS]
        Added to, as all that follow are.
    flows : float64[K, K]
        Of points of class y, the sum of a p_k, at (y, k); 0 at (y, y).
    numbers : float64[SOFTMAX_NUMBERS]
    sums : float64[K, width]
        Sums of a t_k x, each times the scale of the class of x.
    """
    count_of_classes = len(classes)
    scores, shares = np.empty(count_of_classes), np.empty(count_of_classes)
    chosen, factors = np.empty(SOFTMAX_BLOCK, np.int64), np.empty((count_of_classes, SOFTMAX_BLOCK))
    count = 0
    for at in range(len(rows)):
        row = np.int64(rows[at])
        own = class_of(label[row], classes)
        if own < 0:
            numbers[SOFTMAX_PASSED_OVER] += 1.0
        else:
            score, length = dot_and_square(features, row, vectors[0])
            scores[0] = score + intercepts[0]
            for place in range(1, count_of_classes):
                scores[place] = dot(features, row, vectors[place]) + intercepts[place]
            loss, others = spread(own, scores, shares)
            share, squares = weight[row], others * others
            scaled = share * scales[own]
            for place in range(count_of_classes):
                if place != own:
                    part = shares[place]
                    flows[own, place] += share * part
                    squares += part * part
                    factors[place, count] = scaled * part
            factors[own, count] = -scaled * others
            by_class[own, CLASS_WEIGHT] += share
            by_class[own, CLASS_LOSS] += share * loss
            by_class[own, CLASS_LENGTHS] += share * length
            by_class[own, CLASS_SLOPE_SQUARES] += share * squares
            numbers[SOFTMAX_ROWS] += 1.0
            chosen[count] = row
            count += 1
        if count == SOFTMAX_BLOCK or at == len(rows) - 1:
            for place in range(count_of_classes):
                add_rows(features, chosen, factors[place], 0, count, sums, place)
            count = 0


@nb.njit(cache=True, nogil=True, error_model="numpy")
def softmax_bend(
    features, rows, label, weight, classes, vectors, intercepts, has_intercept, kept, shares, total, bends, matrix, squares
):  # fmt: skip
    """Keep what products with the second derivative need, and add up what the like of it is, to begin with; returns how many take part.

    Parameters
    ----------
    kept : int32[len(rows)]
        The rows of points that take part; written.
    shares : float64[len(rows), K]
        Their probabilities; written.
    total : float64[1]
        Added to, as all that follow are: the sum of weights.
    bends : float64[K]
        Sums of a p_k (1 - p_k).
    matrix : float64[size, size] or float64[0, 0]
        Its upper triangle, of sums of a mean(p_k (1 - p_k)) x x, with a 1 behind x where there is an intercept.
    squares : float64[size] or float64[0]
        Its diagonal, where there is no matrix.
    """
    count_of_classes, width = len(classes), vectors.shape[1]
    scores = np.empty(count_of_classes)
    chosen, factors = np.empty(SOFTMAX_BLOCK, np.int64), np.empty(SOFTMAX_BLOCK)
    kept_count, count = 0, 0
    for at in range(len(rows)):
        row = np.int64(rows[at])
        own = class_of(label[row], classes)
        if own >= 0:
            for place in range(count_of_classes):
                scores[place] = dot(features, row, vectors[place]) + intercepts[place]
            spread(own, scores, shares[kept_count])
            kept[kept_count], share, mean = row, weight[row], 0.0
            for place in range(count_of_classes):
                bend = share * shares[kept_count, place] * (1.0 - shares[kept_count, place])
                bends[place] += bend
                mean += bend / count_of_classes
            total[0] += share
            chosen[count], factors[count] = row, mean
            kept_count += 1
            count += 1
        if count == SOFTMAX_BLOCK or at == len(rows) - 1:
            if matrix.shape[0] > 0:
                add_outers(features, chosen, factors, count, has_intercept, matrix)
            else:
                for place in range(count):
                    add_squares(features, chosen[place], factors[place], squares)
                    if has_intercept:
                        squares[width] += factors[place]
            count = 0
    return kept_count


@nb.njit(cache=True, nogil=True, error_model="numpy")
def softmax_product(features, kept, weight, shares, directions, turns, balance, sums):
    """Add up the product of the second derivative with a direction.

    Parameters
    ----------
    kept : int32[n]
    shares : float64[n, K]
        See `softmax_bend`; only read, as all are that are not said to be written.
    directions : float64[K, width]
    turns : float64[K]
        The direction of the intercepts.
    balance : float64[K]
        Added to, as sums is: the product by the intercepts.
    sums : float64[K, width]
    """
    count_of_classes = shares.shape[1]
    moves = np.empty(count_of_classes)
    chosen, factors = np.empty(SOFTMAX_BLOCK, np.int64), np.empty((count_of_classes, SOFTMAX_BLOCK))
    for first in range(0, len(kept), SOFTMAX_BLOCK):
        count = min(SOFTMAX_BLOCK, len(kept) - first)
        for at in range(count):
            row, mean = np.int64(kept[first + at]), 0.0
            for place in range(count_of_classes):
                moves[place] = dot(features, row, directions[place]) + turns[place]
                mean += shares[first + at, place] * moves[place]
            chosen[at] = row
            for place in range(count_of_classes):
                factors[place, at] = weight[row] * shares[first + at, place] * (moves[place] - mean)
                balance[place] += factors[place, at]
        for place in range(count_of_classes):
            add_rows(features, chosen, factors[place], 0, count, sums, place)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def add_softmax_point(
    features, row, label, weight, scale, classes, vectors, intercepts, scores, shares, numbers, sums, slopes
):
    """Add what a point is in a batch; see `batch_kernel`."""
    own = class_of(label[row], classes)
    if own < 0:
        numbers[BATCH_PASSED_OVER] += scale
        return
    best = 0
    for place in range(len(classes)):
        scores[place] = dot(features, row, vectors[place]) + intercepts[place]
        if scores[place] > scores[best]:
            best = place
    loss, others = spread(own, scores, shares)
    share = scale * weight[row]
    numbers[BATCH_WEIGHT] += share
    numbers[BATCH_LOSS] += share * loss
    numbers[BATCH_ROWS] += scale
    if best != own:
        numbers[BATCH_MISTAKES] += share
    for place in range(len(classes)):
        slope = -others if place == own else shares[place]
        slopes[place] += share * slope
        add_row(features, row, share * slope, sums, place)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def sum_softmax_drawn(
    features, born, label, weight, seed, shard, iteration, count, scale, classes, vectors, intercepts, numbers, sums, slopes
):  # fmt: skip
    """Draw points by (seed, shard, iteration), and add up what they are in a batch; returns how many were drawn. See `sum_drawn`.

    Parameters
    ----------
    numbers : float64[BATCH_NUMBERS]
        Added to, as sums and slopes are.
    sums : float64[K, width]
    slopes : float64[K]
        The gradient by the intercepts.
    """
    scores, shares = np.empty(len(classes)), np.empty(len(classes))
    drawn, used = 0, len(born)
    attempt, attempts = 0, count * DRAWS
    while drawn < count and attempt < attempts and used > 0:
        row = random_below(seed, shard, iteration, attempt, used)
        attempt += 1
        if born[row] > 0:
            add_softmax_point(
                features, row, label, weight, scale, classes, vectors, intercepts, scores, shares, numbers, sums, slopes
            )  # fmt: skip
            drawn += 1
    return drawn


@nb.njit(cache=True, nogil=True, error_model="numpy")
def sum_softmax_given(
    features, rows, label, weight, scale, classes, vectors, intercepts, numbers, sums, slopes
):
    """Likewise of given rows, int32[n]."""
    scores, shares = np.empty(len(classes)), np.empty(len(classes))
    for place in range(len(rows)):
        row = np.int64(rows[place])
        add_softmax_point(
            features, row, label, weight, scale, classes, vectors, intercepts, scores, shares, numbers, sums, slopes
        )  # fmt: skip


@nb.njit(cache=True, nogil=True)
def softmax_scores(features, rows, vectors, intercepts, scores):
    """Write the scores of each of the rows, int32[n], by class: float64[n, K]."""
    for place in range(len(rows)):
        for one in range(len(intercepts)):
            scores[place, one] = dot(features, np.int64(rows[place]), vectors[one]) + intercepts[one]
