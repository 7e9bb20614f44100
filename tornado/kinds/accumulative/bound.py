"""What values are worth by the totals of all parts: the certificates of accumulative answers, in two norms.

*L1, of normalised values.* With y = x / sum(x) and the exact vector y*, both sum to 1. Let G be the map of which y* is the fixed point: over the edges with d / W,
and what is left, that of vertices without out-edges included, to everybody by their base. It keeps the sum, and brings two vectors of
one sum closer by d (in L1). So ``|y - y*| <= |y - G y| / (1 - d)``. A vertex's part of ``x - G x`` is its share of sum(r), by its base,
less r. So that norm is at most sum |r| + |sum r|, and where nothing was neglected

    |y - y*| <= (sum |r| + |sum r|) / ((1 - d) sum x).

Counted besides are the roundings: those of the sums s (DRIFT), which stand in r with the factor d, those of x and of r itself, a few
units of each x, and those of the sums and the division here. `sum |r|` is summed plainly, the others with compensation.

*Relative, of the values themselves.* With M = d A, where A has w / divisor(W) for each edge, the exact values are x* = e + M x* for the
bases e > 0, and r = e + M x - x for an x >= 0. Let ``|r_i| <= u e_i`` for each i, with u < 1. Then (I - M) x = e - r is positive, and so is
x = e - r + M x. By Collatz and Wielandt the spectral radius of M is below 1, for x > 0 and M x < x in each place; so x* exists, and
(I - M)^-1 = I + M + M^2 + ... takes nothing negative to anything negative. With k = u / (1 - u) it is ``k (e - r) >= |r|``, hence

    (I - M) (k x +- (x* - x)) = k (e - r) +- r >= 0,    and    |x* - x| <= k x    in each place.

No 1 / (1 - q) stands there, as of the bound by the quotient q = max (M x)_i / x_i: x itself says how errors grow. Nothing is asked of the
spectral radius before. Where u comes to 1, nothing is known.
"""

from __future__ import annotations

import math

_ROUNDING = 2.0**-53
_LEAST_MASS = 1e-280  # of (1 - d) sum x: below, roundings of values are no share of them
_MOST_MASS = 1e200  # what a vertex announces at most
_ROUNDINGS_OF_A_VALUE = 16.0
_ROUNDINGS_OF_A_DIVISION = 8.0
_ROUNDINGS_OF_A_RESIDUAL = 20.0  # of target and worth, in units of the value; a checker makes some of its own


def is_known(mass: float, factor: float) -> bool:
    """Whether values that come to so much, before they are divided by it, say anything in L1."""
    return (1.0 - factor) * mass > _LEAST_MASS and mass < _MOST_MASS


def bound_of(
    *, absolute: float, signed: float, mass: float, drift: float, vertices: int, factor: float
) -> float:
    """Return how far the normalised values are from the exact ones, at most, in L1.

    Parameters
    ----------
    absolute, signed, mass, drift
        Totals of all parts, see `loop_columns`.
    vertices
        How many values there are.
    factor
        d.
    """
    if vertices == 0:
        return 0.0
    if not is_known(mass, factor):
        return 2.0  # further apart two vectors of this kind are never
    summed = absolute * (1.0 + 2.0 * _ROUNDING * vertices) + abs(signed)
    rounded = _ROUNDING * (4.0 * factor * drift + _ROUNDINGS_OF_A_VALUE * mass)
    bound = (summed + rounded) / ((1.0 - factor) * mass)
    return min(2.0, bound * (1.0 + 1e-9) + _ROUNDINGS_OF_A_DIVISION * _ROUNDING)


def relative_bound_of(*, absolute: float, drift: float, largest: float, factor: float) -> float:
    """Return how far each value is from the exact one, at most, as a share of it; infinity where that is not known.

    Parameters
    ----------
    absolute, drift, largest
        Totals of all parts in units of the bases, see `loop_columns`.
    factor
        d.

    Examples
    --------
    >>> relative_bound_of(absolute=0.5, drift=0.0, largest=0.0, factor=1.0)
    1.000000001...
    >>> relative_bound_of(absolute=1.0, drift=0.0, largest=1.0, factor=1.0)
    inf
    """
    rounded = _ROUNDING * (2.0 * factor * drift + _ROUNDINGS_OF_A_RESIDUAL * (largest + absolute))
    most = absolute + rounded
    return most / (1.0 - most) * (1.0 + 1e-9) if most < 1.0 else math.inf
