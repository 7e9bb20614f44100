"""Weights by class, where the classes become others: of two a vector stands for both, of more each class has a row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .linear_objective import Vector


def relabelled(
    weights: Vector, intercept: Vector, before: Sequence[float], now: Sequence[float]
) -> tuple[Vector, Vector]:
    """What weights of some classes are of others: of a class that is in both they say the same; those of a new one are 0.

    Parameters
    ----------
    weights, intercept
        float64[d] and float64[1] of two classes (of whose scores they are the difference); float64[K, d] and float64[K] of more.
        Only read.
    before, now
        Labels; of two classes NaN for one that is not known.

    Examples
    --------
    >>> weights, intercept = relabelled(np.array([4.0]), np.array([2.0]), (0, 1), (0, 1, 2))
    >>> weights.tolist(), intercept.tolist()
    ([[-2.0], [2.0], [0.0]], [-1.0, 1.0, 0.0])
    >>> weights, intercept = relabelled(weights, intercept, (0, 1, 2), (1, 2))
    >>> weights.tolist(), intercept.tolist()
    ([-2.0], [-1.0])
    >>> weights, intercept = relabelled(weights, intercept, (1, 2), (2, 3))
    >>> weights.tolist(), intercept.tolist()
    ([1.0], [0.5])
    """
    is_same = all(math.isnan(label) or label == now[place] for place, label in enumerate(before[: len(now)]))
    if is_same and len(now) == (2 if weights.ndim == 1 else len(before)):
        return weights, intercept
    if weights.ndim == 1:
        rows = np.stack([-0.5 * weights, 0.5 * weights])
        heights = np.array([-0.5 * intercept[0], 0.5 * intercept[0]])
    else:
        rows, heights = weights, intercept
    places = {label: place for place, label in enumerate(before) if not math.isnan(label)}
    found, found_heights = np.zeros((len(now), rows.shape[1])), np.zeros(len(now))
    for place, label in enumerate(now):
        if label in places:
            found[place], found_heights[place] = rows[places[label]], heights[places[label]]
    if len(now) == 2:
        return found[1] - found[0], found_heights[1:] - found_heights[:1]
    return found, found_heights
