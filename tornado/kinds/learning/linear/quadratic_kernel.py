"""Coordinate descent on a quadratic model with a penalty of magnitudes (Friedman, Hastie and Tibshirani 2010)."""

import math

import numba as nb


@nb.njit(cache=True, nogil=True)
def descend(matrix, gradient, vector, l1, step, sweeps):
    """Minimise ``gradient p + p matrix p / 2 + l1 |vector + p|_1``.

    Parameters
    ----------
    matrix : float64[k, k]
        Symmetric and positive definite; only read, as the next two are.
    gradient, vector : float64[k]
    step : float64[k]
        p: where to begin; written.
    sweeps : int
        How many there are at most.

    Returns
    -------
    How many sweeps were made.
    """
    slopes = gradient.copy()
    size = len(gradient)
    for row in range(size):
        for column in range(size):
            slopes[row] += matrix[row, column] * step[column]
    for sweep in range(sweeps):
        largest, reached = 0.0, 0.0
        for place in range(size):
            bend = matrix[place, place]
            old = vector[place] + step[place]
            wanted = old - slopes[place] / bend
            wanted = math.copysign(max(0.0, abs(wanted) - l1 / bend), wanted)
            change = wanted - old
            if change != 0.0:
                step[place] = wanted - vector[place]
                for other in range(size):
                    slopes[other] += change * matrix[place, other]
            largest = max(largest, change * change * bend)
            reached = max(reached, step[place] * step[place] * bend)
        if largest <= 1e-24 * reached:
            return sweep + 1
    return sweeps
