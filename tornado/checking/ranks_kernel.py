"""The compiled loops behind `ranks.py` and `rank_rounds.py`. Sums are kept as two numbers each, so that they lose nothing of what is added to a hub.

The sum of two numbers and its rounding error are those of Knuth (The Art of Computer Programming, volume 2, section 4.2.2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit


@njit(cache=True, nogil=True)
def add_to(sums: NDArray[np.float64], errors: NDArray[np.float64], at: int, number: float) -> None:
    """Add a number to a sum."""
    before = sums[at]
    after = before + number
    part = after - before
    errors[at] += (before - (after - part)) + (number - part)
    sums[at] = after


@njit(cache=True, nogil=True)
def add_weights(
    sources: NDArray[np.int32],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> None:
    """Add the weights of the edges of each vertex."""
    for e in range(len(sources)):
        add_to(sums, errors, sources[e], weights[e])


@njit(cache=True, nogil=True)
def add_shares(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    weights: NDArray[np.float64],
    per_weight: NDArray[np.float64],
    sums: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> None:
    """Add to each vertex what every edge brings: its weight times what its source has for a weight of 1."""
    for e in range(len(sources)):
        if weights[e] != 0.0:
            add_to(sums, errors, targets[e], per_weight[sources[e]] * weights[e])


@njit(cache=True, nogil=True)
def pass_on(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    shares: NDArray[np.float64],
    roundings: NDArray[np.float64],
    sums: NDArray[np.float64],
    errors: NDArray[np.float64],
    carried: NDArray[np.float64],
) -> None:
    """Add to each vertex, along every edge, the share of its source, and how far that may be from what others have for it."""
    for e in range(len(sources)):
        add_to(sums, errors, targets[e], shares[sources[e]])
        carried[targets[e]] += roundings[sources[e]]


@njit(cache=True, nogil=True)
def add_all(numbers: NDArray[np.float64], sums: NDArray[np.float64], errors: NDArray[np.float64]) -> None:
    """Add all numbers to the one sum there is."""
    for i in range(len(numbers)):
        add_to(sums, errors, 0, numbers[i])
