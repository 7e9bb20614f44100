"""Which labels the live points of a worker have, counted as points come and go."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .classes import labels_between


class LiveLabels:
    """See the module. Of points that have a label and a weight.

    Examples
    --------
    >>> labels = LiveLabels()
    >>> labels.hear(np.array([1.0, 0.0, 1.0]), np.array([1, 1, 1], np.int8))
    >>> labels.hear(np.array([0.0]), np.array([-1], np.int8))
    >>> labels.between()
    (1.0, 1.0, nan)
    """

    def __init__(self) -> None:
        self._counts: dict[float, int] = {}

    def hear(self, labels: NDArray[np.float64], signs: NDArray[np.int8]) -> None:
        """Count points that came (sign 1) and went (-1).

        Parameters
        ----------
        labels : float64[n]
            None of them NaN.
        signs : int8[n]
        """
        rest, rest_signs = labels, signs
        for label in [*self._counts]:  # two, but of data that no answer is about
            is_it = rest == label
            self._count(label, int(rest_signs[is_it].sum(dtype=np.int64)))
            rest, rest_signs = rest[~is_it], rest_signs[~is_it]
            if not len(rest):
                return
        found, place = np.unique(rest, return_inverse=True)
        for label, count in zip(found.tolist(), np.bincount(place, rest_signs).tolist(), strict=True):
            self._count(label, int(count))

    def between(self) -> tuple[float, float, float]:
        """The least label, the greatest, and one that is neither; NaN where there is none."""
        known = np.array([*self._counts])
        return labels_between(known, np.ones(len(known))) if len(known) else (math.nan,) * 3

    def _count(self, label: float, more: int) -> None:
        count = self._counts.get(label, 0) + more
        if count:
            self._counts[label] = count
        else:
            self._counts.pop(label, None)
