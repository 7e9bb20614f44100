"""The values of a stored snapshot: what `Values` offers, from arrays that were read from a store."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .values import Floats, Ids, Values


class StoredValues(Values):
    """See the module.

    Parameters
    ----------
    ids, values
        int64[n] and float64[n], of every vertex that was ever seen, each once, in any order.
    rank
        Which values come first: "nearest" or "highest".
    worst
        The value of vertices that were not reached.
    """

    def __init__(self, ids: Ids, values: Floats, *, rank: str, worst: float) -> None:
        order = np.argsort(ids, kind="stable")
        self._ids = ids[order]
        self._found = values[order]
        self._rank = rank
        self._worst = worst

    def lookup(self, ids: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """The value of each vertex (infinite where unreachable), and whether it was ever seen."""
        values = np.full(len(ids), np.inf)
        known = np.zeros(len(ids), np.bool_)
        if len(self._ids):
            places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            known = self._ids[places] == ids
            values[known] = self._found[places[known]]
        return values, known

    def count(self) -> int:
        """How many vertices were ever seen."""
        return len(self._ids)

    def top(self, k: int) -> tuple[Ids, Floats]:
        """The first `k` vertices by rank, best first, ties by id; vertices that were not reached are left out."""
        reached = self._found != self._worst
        ids, values = self._ids[reached], self._found[reached]
        keys = values if self._rank == "nearest" else -values
        if 0 < k < len(keys):
            within = keys <= np.partition(keys, k - 1)[k - 1]
            ids, values, keys = ids[within], values[within], keys[within]
        order = np.lexsort((ids, keys))[:k]
        return ids[order], values[order]

    def arrays(self) -> tuple[Ids, Floats]:
        """All vertices, ascending by id."""
        return self._ids, self._found
