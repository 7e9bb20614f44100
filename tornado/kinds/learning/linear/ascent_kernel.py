"""Stochastic dual coordinate ascent over the points of a shard (Hsieh et al. 2008; Shalev-Shwartz and Zhang 2013, 2014).

With W the sum of weights and v = sum a_i t_i x_i of all points, w is v / (W l2), shrunk by l1 / l2 where there is l1. A step of a point
maximises the dual objective in t_i, or what is below it.
"""

import math

import numba as nb
import numpy as np

from ..counter_kernel import random_below
from .class_kernel import target
from .dense_kernel import add_row, dot_and_square, shrunk_dot_and_square
from .logistic_kernel import ascend, value_and_dual

CENTRE = 0  # what the intercept is held to
BALANCE = 1  # sum of a t over all points, which is 0 at the optimum
BALANCE_NUMBERS = 2


@nb.njit(cache=True, nogil=True)
def shuffle_rows(rows, block, seed, shard, number, order, ordered):
    """Write rows in an order that follows from (seed, shard, number), in which so many that follow each other stay together.

    Parameters
    ----------
    rows : int32[k]
        Only read.
    order : int64[ceil(k / block)]
        Written.
    ordered : int32[k]
        Written.
    """
    for place in range(len(order)):
        order[place] = place
    for place in range(len(order) - 1, 0, -1):
        other = random_below(seed, shard, number, place, place + 1)
        order[place], order[other] = order[other], order[place]
    count = 0
    for chosen in order:
        for place in range(chosen * block, min(len(rows), (chosen + 1) * block)):
            ordered[count] = rows[place]
            count += 1


@nb.njit(cache=True, nogil=True, error_model="numpy")
def ascend_rows(
    features, rows, label, weight, negative, positive, duals, means, mean_share, totals, balance, factor, balance_factor, least,
):  # fmt: skip
    """Visit rows in their order.

    Parameters
    ----------
    features : tuple of ndarray
        See `dense_kernel` and `sparse_kernel`; only read, as all are that are not said to be written.
    rows : int32[k]
    label, weight : float64[used]
    negative, positive : float
        Labels of the two classes.
    duals : float64[used]
        t of each point; written.
    means : float64[used] or float64[0]
        Their mean over passes, of which this one has the share `mean_share`; written.
    totals : float64[1, width]
        v; written.
    balance : float64[BALANCE_NUMBERS]
        See there; written.
    factor : float
        1 / (W l2)
    balance_factor : float
        How the intercept follows the balance; 0 where there is none.
    least : float
        l1 W
    """
    vector = totals[0]
    has_means = len(means) > 0
    for place in range(len(rows)):
        row = np.int64(rows[place])
        goal = target(label[row], negative, positive)
        share = weight[row]
        if math.isnan(goal) or share == 0.0:
            continue
        if least > 0.0:
            score, length = shrunk_dot_and_square(features, row, vector, least)
        else:
            score, length = dot_and_square(features, row, vector)
        score = factor * score + balance[CENTRE] + balance_factor * balance[BALANCE]
        bend = share * (factor * length + balance_factor)
        old = duals[row]
        # Nothing changes the score of a point without features: minus the slope there is best.
        new = ascend(old, score, bend, goal) if bend > 0.0 else value_and_dual(score, goal)[1]
        if math.isnan(new):
            new = old
        if new != old:
            duals[row] = new
            change = share * (new - old)
            add_row(features, row, change, totals, 0)
            balance[BALANCE] += change
        if has_means:
            means[row] += mean_share * (new - means[row])


@nb.njit(cache=True, nogil=True, error_model="numpy")
def sum_duals(features, rows, weight, duals, sign, totals, balance):
    """Add what dual variables of rows are, times `sign`, to v, float64[1, width], and to the balance."""
    for place in range(len(rows)):
        row = np.int64(rows[place])
        if duals[row] != 0.0:
            change = sign * weight[row] * duals[row]
            add_row(features, row, change, totals, 0)
            balance[BALANCE] += change


@nb.njit(cache=True, nogil=True)
def sum_weights(rows, label, weight, negative, positive, numbers):
    """Add the weights of points that take part to `numbers`, float64[1]."""
    for place in range(len(rows)):
        row = np.int64(rows[place])
        if not math.isnan(target(label[row], negative, positive)):
            numbers[0] += weight[row]
