"""What values are worth by the totals of all parts: the certificate of an accumulative answer.

With y = x / sum(x) and the exact vector y*, both sum to 1. Let G be the map of which y* is the fixed point: over the edges with d / W,
and what is left, that of vertices without out-edges included, to everybody by their base. It keeps the sum, and brings two vectors of
one sum closer by d (in L1). So ``|y - y*| <= |y - G y| / (1 - d)``. A vertex's part of ``x - G x`` is its share of sum(r), by its base,
less r. So that norm is at most sum |r| + |sum r|, and where nothing was neglected

    |y - y*| <= (sum |r| + |sum r|) / ((1 - d) sum x).

Counted besides are the roundings: those of the sums s (DRIFT), which stand in r with the factor d, those of x and of r itself, a few
units of each x, and those of the sums and the division here. `sum |r|` is summed plainly, the others with compensation.
"""

from __future__ import annotations

import math

_ROUNDING = 2.0**-53
_ROUNDINGS_OF_A_VALUE = 16.0
_ROUNDINGS_OF_A_DIVISION = 8.0


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
    if not mass > 0.0 or not math.isfinite(mass):
        return 2.0  # further apart two vectors of this kind are never
    summed = absolute * (1.0 + 2.0 * _ROUNDING * vertices) + abs(signed)
    rounded = _ROUNDING * (4.0 * factor * drift + _ROUNDINGS_OF_A_VALUE * mass)
    bound = (summed + rounded) / ((1.0 - factor) * mass)
    return min(2.0, bound * (1.0 + 1e-9) + _ROUNDINGS_OF_A_DIVISION * _ROUNDING)
