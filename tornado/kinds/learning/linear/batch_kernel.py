"""Losses and slopes of some points of a shard: those of a mini-batch, or given ones; and scores of any points.

Draws are with replacement, each of all live points with the same chance. A row that is not live is drawn again, so nothing need be
kept of which rows are live, and what is removed changes no chance of the others (a reservoir has no such law).
"""

import math

import numba as nb
import numpy as np

from ....columns import prefetch
from ..counter_kernel import random_below
from .class_kernel import mistake_of, target
from .dense_kernel import add_row, dot, fetch_row
from .logistic_kernel import value_and_dual

# With a for the weight of a point:
BATCH_WEIGHT = 0  # sum of a
BATCH_LOSS = 1  # sum of a l(s)
BATCH_SLOPE = 2  # sum of a l'(s): the gradient by the intercept
BATCH_ROWS = 3  # points that take part
BATCH_PASSED_OVER = 4  # points that do not: their label is none, or no class
BATCH_MISTAKES = (
    5  # sum of a over the points that are of the other class than the score says; of labels, of a |s - y|
)
BATCH_SQUARES = 6  # sum of a (s - y)^2, of labels
BATCH_NUMBERS = 7
AHEAD = 16  # draws whose rows are fetched beforehand
DRAWS = 64  # attempts for each point that is to be drawn: where fewer than one row of so many is live, fewer points are drawn


@nb.njit(cache=True)
def add_point(features, row, label, weight, scale, negative, positive, vector, intercept, numbers, sums):
    """Add what a point is in a batch."""
    goal = target(label[row], negative, positive)
    if math.isnan(goal):
        numbers[BATCH_PASSED_OVER] += scale
        return
    score = dot(features, row, vector) + intercept
    loss, dual = value_and_dual(score, goal)
    share = scale * weight[row]
    mistake = mistake_of(score, goal)
    numbers[BATCH_MISTAKES] += share * mistake
    numbers[BATCH_SQUARES] += share * mistake * mistake
    numbers[BATCH_WEIGHT] += share
    numbers[BATCH_LOSS] += share * loss
    numbers[BATCH_SLOPE] -= share * dual
    numbers[BATCH_ROWS] += scale
    if dual != 0.0:
        add_row(features, row, -share * dual, sums, 0)


@nb.njit(cache=True, nogil=True)
def sum_drawn(
    features, born, label, weight, seed, shard, iteration, count, scale, negative, positive, vector, intercept, numbers, sums
):  # fmt: skip
    """Draw points by (seed, shard, iteration), and add up what they are in a batch; returns how many were drawn.

    Parameters
    ----------
    features : tuple of ndarray
        See `dense_kernel` and `sparse_kernel`; only read, as all are that are not said to be written.
    born : int64[used]
        Above 0: the row is live.
    label, weight : float64[used]
    count : int
        How many points are drawn.
    scale : float
        What each counts for: with live points / count, sums are estimates of those over all points of the shard.
    vector : float64[width]
    numbers : float64[BATCH_NUMBERS]
        Added to, as sums is.
    sums : float64[1, width]
    """
    drawn, used = 0, len(born)
    attempt, attempts = 0, count * DRAWS
    fetched = 0
    while drawn < count and attempt < attempts and used > 0:
        if attempt == fetched:
            fetched = min(attempt + AHEAD, attempts)
            for ahead in range(attempt, fetched):
                soon = random_below(seed, shard, iteration, ahead, used)
                prefetch(born, soon)
                prefetch(label, soon)
                prefetch(weight, soon)
                fetch_row(features, soon)
        row = random_below(seed, shard, iteration, attempt, used)
        attempt += 1
        if born[row] > 0:
            add_point(
                features, row, label, weight, scale, negative, positive, vector, intercept, numbers, sums
            )
            drawn += 1
    return drawn


@nb.njit(cache=True, nogil=True)
def sum_given(features, rows, label, weight, scale, negative, positive, vector, intercept, numbers, sums):
    """Likewise of given rows, int32[n]."""
    for place in range(len(rows)):
        row = np.int64(rows[place])
        add_point(features, row, label, weight, scale, negative, positive, vector, intercept, numbers, sums)


@nb.njit(cache=True, nogil=True)
def score_rows(features, rows, vector, intercept, scores):
    """Write the score of each of the rows, int32[n]."""
    for place in range(len(rows)):
        scores[place] = dot(features, np.int64(rows[place]), vector) + intercept
