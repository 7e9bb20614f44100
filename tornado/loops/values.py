"""The values of a loop, wherever its workers hold them, looked up by vertex id from any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


class PartValues(Protocol):
    """The values that one worker holds."""

    @property
    def is_final(self) -> bool:
        """Whether they do not change any more."""
        ...

    def lookup(self, ids: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """The value of each vertex that is held here, and which ones those are."""
        ...

    def count(self) -> int:
        """How many vertices are held here."""
        ...

    def best(self, k: int, rank: str, worst: float) -> tuple[Ids, Floats]:
        """At least the first `k` vertices by rank (all for 0), in any order, without those that have the `worst` value."""
        ...

    def arrays(self) -> tuple[Ids, Floats]:
        """All vertices held here, in any order."""
        ...


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Those of a general part: copies, in any order."""

    ids: Ids
    values: Floats
    is_final: bool = True

    def lookup(self, ids: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """See `PartValues`."""
        values, known = np.full(len(ids), np.inf), np.zeros(len(ids), np.bool_)
        if len(self.ids):
            order = np.argsort(self.ids, kind="stable")
            places = order[np.minimum(np.searchsorted(self.ids, ids, sorter=order), len(order) - 1)]
            known = self.ids[places] == ids
            values[known] = self.values[places[known]]
        return values, known

    def count(self) -> int:
        """See `PartValues`."""
        return len(self.ids)

    def best(self, k: int, rank: str, worst: float) -> tuple[Ids, Floats]:
        """See `PartValues`."""
        return best_of(self.ids, self.values, k, rank, worst)

    def arrays(self) -> tuple[Ids, Floats]:
        """See `PartValues`."""
        return self.ids, self.values


def best_of(ids: Ids, values: Floats, k: int, rank: str, worst: float) -> tuple[Ids, Floats]:
    """Of these vertices, see `PartValues.best`."""
    reached = values != worst
    ids, values = ids[reached], values[reached]
    keys = values if rank == "nearest" else -values
    if 0 < k < len(keys):
        within = keys <= np.partition(keys, k - 1)[k - 1]
        ids, values = ids[within], values[within]
    return ids, values


class Values:
    """Values by vertex; reading a main loop's is at once and approximate, a finished branch's is exact.

    Parameters
    ----------
    parts
        By worker.
    rank
        Which values come first: "nearest" or "highest".
    worst
        The value of vertices that were not reached.
    """

    def __init__(self, parts: Sequence[PartValues], *, rank: str, worst: float) -> None:
        self._parts = parts
        self._rank = rank
        self._worst = worst

    def lookup(self, ids: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """The value of each vertex (infinite where unreachable), and whether it was ever seen."""
        values, known = np.full(len(ids), np.inf), np.zeros(len(ids), np.bool_)
        for part in self._parts:
            found, own = part.lookup(ids)
            values[own] = found[own]
            known |= own
        return values, known

    def count(self) -> int:
        """How many vertices were ever seen."""
        return sum(part.count() for part in self._parts)

    def top(self, k: int) -> tuple[Ids, Floats]:
        """The first `k` vertices by rank, best first, ties by id; vertices that were not reached are left out."""
        ids, values = _joined([part.best(k, self._rank, self._worst) for part in self._parts])
        order = np.lexsort((ids, values if self._rank == "nearest" else -values))[:k]
        return ids[order], values[order]

    def page(self, after: int | None, limit: int) -> tuple[Ids, Floats]:
        """Up to `limit` vertices with ids above `after`, ascending by id."""
        ids, values = self.arrays()
        first = 0 if after is None else int(np.searchsorted(ids, after, side="right"))
        return ids[first : first + limit], values[first : first + limit]

    def arrays(self) -> tuple[Ids, Floats]:
        """All vertices, ascending by id."""
        if all(part.is_final for part in self._parts):
            return self._arrays
        return self._collect()

    @cached_property
    def _arrays(self) -> tuple[Ids, Floats]:
        return self._collect()

    def _collect(self) -> tuple[Ids, Floats]:
        ids, values = _joined([part.arrays() for part in self._parts])
        order = np.argsort(ids, kind="stable")
        return ids[order], values[order]


def _joined(parts: Sequence[tuple[Ids, Floats]]) -> tuple[Ids, Floats]:
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([values for _, values in parts])
