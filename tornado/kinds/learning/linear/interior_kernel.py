"""What one step of an interior point method for the hinge loss asks of the points of a shard; see `interior_point`.

Of each point p = t y stands in (0, 1), with multipliers z of p >= 0 and u of p <= 1. All three stand in the columns of a state, with the step
of each behind it, at the place of the point's row among those that are visible.
"""

import math

import numba as nb
import numpy as np

from .class_kernel import target
from .dense_kernel import add_outers, add_row, dot

SHARE, LOWER, UPPER, SHARE_STEP, LOWER_STEP, UPPER_STEP = 0, 1, 2, 3, 4, 5
STATE_COLUMNS = 6
# What `add_system` sums before its matrix:
PRODUCTS = 0  # sum of a (p z + (1 - p) u)
WEIGHTS = 1  # sum of a
SYSTEM_NUMBERS = 2
BLOCK = 128


@nb.njit(cache=True)
def add_to_row(features, row, factor, has_intercept, sums, side):
    """Add a row, and a 1 behind it where there is an intercept, times a factor."""
    add_row(features, row, factor, sums, side)
    if has_intercept:
        sums[side, sums.shape[1] - 1] += factor


@nb.njit(cache=True, nogil=True, error_model="numpy")
def add_system(
    features, rows, label, weight, negative, positive, vector, intercept, state, length, duals, has_intercept, numbers, matrix, sums,
):  # fmt: skip
    """Go the step that stands in the state, and add what the next one is found with.

    Parameters
    ----------
    features : tuple of ndarray
        See `dense_kernel` and `sparse_kernel`; only read, as all are that are not said to be written.
    rows : int32[n]
    label, weight : float64[used]
    vector, intercept : float64[d], float
        Behind the step.
    state : float64[STATE_COLUMNS, n]
        Written.
    length : float
        How much of the step is gone.
    duals : float64[used]
        t; written.
    numbers : float64[SYSTEM_NUMBERS]
    matrix : float64[k, k]
        The upper triangle of sum a x x / (z / p + u / (1 - p)), added to, as the others are.
    sums : float64[2, k]
        Sums of a t x, and of a y (1 - m) x / (z / p + u / (1 - p)), with m = y (x w + b).
    """
    chosen, factors = np.empty(BLOCK, np.int64), np.empty(BLOCK)
    count = 0
    for place in range(len(rows)):
        row = np.int64(rows[place])
        goal, share = target(label[row], negative, positive), weight[row]
        if not math.isnan(goal) and share > 0.0:
            for column in range(3):
                state[column, place] += length * state[3 + column, place]
            inner, lower, upper = state[SHARE, place], state[LOWER, place], state[UPPER, place]
            duals[row] = goal * inner
            numbers[PRODUCTS] += share * (inner * lower + (1.0 - inner) * upper)
            numbers[WEIGHTS] += share
            bend = share / (lower / inner + upper / (1.0 - inner))
            left = 1.0 - goal * (dot(features, row, vector) + intercept)
            add_to_row(features, row, share * goal * inner, has_intercept, sums, 0)
            add_to_row(features, row, bend * goal * left, has_intercept, sums, 1)
            chosen[count], factors[count] = row, bend
            count += 1
        if count == BLOCK or place == len(rows) - 1:
            add_outers(features, chosen, factors, count, has_intercept, matrix)
            count = 0


@nb.njit(cache=True)
def longest(inner, step):
    """How much of a step a positive number may go; infinity: all of it, and more."""
    return -inner / step if step < 0.0 else math.inf


@nb.njit(cache=True, nogil=True, error_model="numpy")
def find_steps(
    features, rows, label, weight, negative, positive, vector, intercept, change, change_of_intercept, middle, is_corrected, state,
    has_intercept, sums,
):  # fmt: skip
    """Write the step of each point where w and b go so far; returns how much of it all may go, and what its squares add to the products.

    Parameters
    ----------
    vector, intercept, change, change_of_intercept
        w and b, and how far they go.
    middle : float
        What p z and (1 - p) u are to be.
    is_corrected : bool
        Whether the products of the step that stands in the state are taken off.
    state : float64[STATE_COLUMNS, n]
        Its steps are written.
    sums : float64[2, k]
        Added to: what the right side of the next system has more where `middle` is 1, and where this step is taken off; see `add_system`.
    """
    most, products = math.inf, 0.0
    for place in range(len(rows)):
        row = np.int64(rows[place])
        goal, share = target(label[row], negative, positive), weight[row]
        if math.isnan(goal) or not share > 0.0:
            continue
        inner, lower, upper = state[SHARE, place], state[LOWER, place], state[UPPER, place]
        outer = 1.0 - inner
        below, above = middle, middle
        if is_corrected:
            below -= state[SHARE_STEP, place] * state[LOWER_STEP, place]
            above += state[SHARE_STEP, place] * state[UPPER_STEP, place]
        scale = lower / inner + upper / outer
        left = 1.0 - goal * (dot(features, row, vector) + intercept)
        moved = goal * (dot(features, row, change) + change_of_intercept)
        step = (left + below / inner - above / outer - moved) / scale
        lower_step = (below - lower * (inner + step)) / inner
        upper_step = (above - upper * (outer - step)) / outer
        state[SHARE_STEP, place], state[LOWER_STEP, place], state[UPPER_STEP, place] = (
            step,
            lower_step,
            upper_step,
        )
        most = min(most, longest(inner, step), longest(outer, -step))
        most = min(most, longest(lower, lower_step), longest(upper, upper_step))
        products += share * (step * lower_step - step * upper_step)
        if not is_corrected:
            factor = share * goal / scale
            add_to_row(features, row, factor * (1.0 / inner - 1.0 / outer), has_intercept, sums, 0)
            taken = step * lower_step / inner + step * upper_step / outer
            add_to_row(features, row, -factor * taken, has_intercept, sums, 1)
    return most, products
