"""Which labels the live points of a worker have, counted as points come and go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .classes import some_labels

_FEW = 4  # labels that are looked for one after the other


class LiveLabels:
    """See the module. Of points that have a label and a weight.

    Parameters
    ----------
    most
        How many labels are said.
    named
        The labels that count; none: all do.

    Examples
    --------
    >>> labels = LiveLabels()
    >>> labels.hear(np.array([1.0, 0.0, 1.0]), np.array([1, 1, 1], np.int8))
    >>> labels.hear(np.array([0.0]), np.array([-1], np.int8))
    >>> labels.some().tolist()
    [1.0]
    """

    def __init__(self, *, most: int = 3, named: Sequence[float] = ()) -> None:
        self._most = most
        self._named = tuple(named)
        self._counts: dict[float, int] = {}

    def hear(self, labels: NDArray[np.float64], signs: NDArray[np.int8]) -> None:
        """Count points that came (sign 1) and went (-1).

        Parameters
        ----------
        labels : float64[n]
            None of them NaN.
        signs : int8[n]
        """
        if self._named:
            counts = np.isin(labels, self._named)
            labels, signs = labels[counts], signs[counts]
        if len(self._counts) <= _FEW:
            for label in [*self._counts]:
                is_it = labels == label
                self._count(label, int(signs[is_it].sum(dtype=np.int64)))
                labels, signs = labels[~is_it], signs[~is_it]
                if not len(labels):
                    return
        known = np.array(sorted(self._counts))
        if len(known):
            places = np.minimum(np.searchsorted(known, labels), len(known) - 1)
            is_known = known[places] == labels
            self._count_all(known, np.bincount(places[is_known], signs[is_known], len(known)).tolist())
            labels, signs = labels[~is_known], signs[~is_known]
        found, place = np.unique(labels, return_inverse=True)
        self._count_all(found, np.bincount(place, signs, len(found)).tolist())

    def some(self) -> NDArray[np.float64]:
        """All labels where they are not more than `most`, else so many of them with the least and the greatest; they ascend."""
        return some_labels(np.array([*self._counts]), self._most)

    def clear(self) -> None:
        """Forget all points."""
        self._counts.clear()

    def _count_all(self, labels: NDArray[np.float64], counts: Sequence[float]) -> None:
        for label, count in zip(labels.tolist(), counts, strict=True):
            self._count(label, int(count))

    def _count(self, label: float, more: int) -> None:
        count = self._counts.get(label, 0) + more
        if count:
            self._counts[label] = count
        else:
            self._counts.pop(label, None)
