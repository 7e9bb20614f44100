"""exp(x) for x up to 0, and ln(1 + x) for x from 0 to 1, as plain arithmetic: a loop over them runs many at a time.

Within two units in the last place of the exact values, as tests say. Sources: exp by reduction to |r| <= ln(2) / 2 and the Taylor
polynomial; the logarithm with the coefficients of FreeBSD's e_log.c.
"""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True, forceinline=True, error_model="numpy", fastmath={"contract"})
def exp_below(power):
    """exp(power), of a power that is not above 0; not below 1e-308."""
    power = power if power > -708.0 else (-708.0 if power <= -708.0 else power)  # noqa: FURB136  # what is no number stays none
    twos = np.rint(power * 1.4426950408889634)
    rest = power - twos * 6.93147180369123816490e-01
    rest -= twos * 1.90821492927058770002e-10
    total = 1.0 / 6227020800.0
    total = total * rest + 1.0 / 479001600.0
    total = total * rest + 1.0 / 39916800.0
    total = total * rest + 1.0 / 3628800.0
    total = total * rest + 1.0 / 362880.0
    total = total * rest + 1.0 / 40320.0
    total = total * rest + 1.0 / 5040.0
    total = total * rest + 1.0 / 720.0
    total = total * rest + 1.0 / 120.0
    total = total * rest + 1.0 / 24.0
    total = total * rest + 1.0 / 6.0
    total = total * rest + 0.5
    total = total * rest + 1.0
    total = total * rest + 1.0
    return total * np.int64((np.int64(twos) + 1023) << 52).view(np.float64)


@nb.njit(cache=True, nogil=True, forceinline=True, error_model="numpy", fastmath={"contract"})
def log_above(share):
    """ln(1 + share), of a share from 0 to 1."""
    is_large = share > 0.41421356237309503  # beyond it 1 + share is halved
    rest = 0.5 * (share - 1.0) if is_large else share
    ratio = rest / (2.0 + rest)
    square = ratio * ratio
    total = 1.531383769920937332e-01 + square * 1.479819860511658591e-01
    total = 1.818357216161805012e-01 + square * total
    total = 2.222219843214978396e-01 + square * total
    total = 2.857142874366239149e-01 + square * total
    total = 3.999999999940941908e-01 + square * total
    total = 6.666666666666735130e-01 + square * total
    half = 0.5 * rest * rest
    found = rest - (half - ratio * (half + square * total))
    return found + 0.6931471805599453 if is_large else found
