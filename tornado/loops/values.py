"""The values of a loop, wherever its workers hold them, looked up by vertex id from any thread.

What a value is, a program's `worst` says (`value_types.py`): a number, or a pair of which the first is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..value_types import (
    Ids,
    Mask,
    ValueArray,
    Worst,
    best_of,
    dtype_of,
    entry_of,
    ranked,
    reached_of,
    seconds_of,
    shown,
    unknown_values,
)

Floats = NDArray[np.float64]

_SPARSE = 4  # places for each id, from which on sorting them takes less than looking at all places


class PartValues(Protocol):
    """The values that one worker holds, as they are shown: float64[n] or int64[n]."""

    @property
    def is_final(self) -> bool:
        """Whether the values do not change any more."""
        ...

    def lookup(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """The value of each vertex that is held here, and which ones those are."""
        ...

    def count(self) -> int:
        """How many vertices are held here."""
        ...

    def best(self, k: int, rank: str, worst: Worst) -> tuple[Ids, ValueArray]:
        """At least the first `k` vertices by rank (all for 0), in any order, without those that were not reached."""
        ...

    def arrays(self) -> tuple[Ids, ValueArray]:
        """All vertices held here, in any order."""
        ...

    def seconds(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """As `lookup`, of values that are pairs: the second of each, which is not shown."""
        ...

    def found(self) -> Mapping[str, NDArray[Any]]:
        """What the program has found beside values, by name; it is held by one worker, others have none of it."""
        ...


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Those of a general part: copies, in any order.

    Attributes
    ----------
    ids : int64[n]
    values : numbers[n] or numbers[n, 2]
        The first of each pair is shown.
    beside : mapping of str to ndarray
        See `PartValues.found`.
    """

    ids: Ids
    values: ValueArray
    is_final: bool = True
    beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def lookup(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """See `PartValues`."""
        return self._looked_up(ids, shown(self.values))

    def seconds(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """See `PartValues`."""
        return self._looked_up(ids, seconds_of(self.values))

    def _looked_up(self, ids: Ids, held: ValueArray) -> tuple[ValueArray, Mask]:
        values, known = np.zeros(len(ids), held.dtype), np.zeros(len(ids), np.bool_)
        if len(self.ids):
            order = np.argsort(self.ids, kind="stable")
            places = order[np.minimum(np.searchsorted(self.ids, ids, sorter=order), len(order) - 1)]
            known = self.ids[places] == ids
            values[known] = held[places[known]]
        return values, known

    def count(self) -> int:
        """See `PartValues`."""
        return len(self.ids)

    def best(self, k: int, rank: str, worst: Worst) -> tuple[Ids, ValueArray]:
        """See `PartValues`."""
        ids, values = self.arrays()
        return best_of(ids, values, reached_of(values, worst), k, rank)

    def arrays(self) -> tuple[Ids, ValueArray]:
        """See `PartValues`."""
        return self.ids, shown(self.values)

    def found(self) -> Mapping[str, NDArray[Any]]:
        """See `PartValues`."""
        return self.beside


class Values:
    """Values by vertex; reading a main loop's is at once and approximate, a finished branch's is exact.

    Parameters
    ----------
    parts
        By worker.
    rank
        Which values come first: "nearest" or "highest".
    worst
        The program's: the value of vertices that were not reached, a pair where values are pairs.

    Attributes
    ----------
    worst
        As given.
    """

    def __init__(self, parts: Sequence[PartValues], *, rank: str, worst: Worst) -> None:
        self._parts = parts
        self._rank = rank
        self.worst = worst

    @property
    def dtype(self) -> np.dtype[np.float64 | np.int64]:
        """The type of the values that all methods return: float64, or int64 where the program's are whole numbers."""
        return dtype_of(self.worst)

    def lookup(self, ids: Ids) -> tuple[ValueArray, Mask]:
        """The value of each vertex (see `reached`), and whether it was ever seen; what was not has a value of no meaning."""
        looked_up = []
        for part in self._parts:
            found, own = part.lookup(ids)
            if own.all():
                return found, own
            looked_up.append((found, own))
        values, known = unknown_values(len(ids), self.worst), np.zeros(len(ids), np.bool_)
        for found, own in looked_up:
            values[own] = found[own]
            known |= own
        return values, known

    def seconds(self, ids: Ids) -> ValueArray:
        """Of values that are pairs, the second of each vertex; of a vertex that was never seen that of `worst`."""
        found = np.full(len(ids), entry_of(self.worst)[1])
        for part in self._parts:
            seconds, own = part.seconds(ids)
            found[own] = seconds[own]
        return found

    def reached(self, values: ValueArray) -> Mask:
        """Of values that were read here, which are those of vertices that were reached."""
        return reached_of(values, self.worst)

    def count(self) -> int:
        """How many vertices were ever seen."""
        return sum(part.count() for part in self._parts)

    def top(self, k: int) -> tuple[Ids, ValueArray]:
        """The first `k` vertices by rank, best first, ties by id; vertices that were not reached are left out."""
        ids, values = _joined([part.best(k, self._rank, self.worst) for part in self._parts])
        return ranked(ids, values, self.reached(values), k, self._rank)

    def page(self, after: int | None, limit: int) -> tuple[Ids, ValueArray]:
        """Up to `limit` vertices with ids above `after`, ascending by id."""
        ids, values = self.arrays()
        first = 0 if after is None else int(np.searchsorted(ids, after, side="right"))
        return ids[first : first + limit], values[first : first + limit]

    def arrays(self) -> tuple[Ids, ValueArray]:
        """All vertices, ascending by id."""
        if all(part.is_final for part in self._parts):
            return self._arrays
        return self._collect()

    def found(self) -> Mapping[str, NDArray[Any]]:
        """What the program has found beside values, by name: the parameters of a model."""
        return {name: array for part in self._parts for name, array in part.found().items()}

    @cached_property
    def _arrays(self) -> tuple[Ids, ValueArray]:
        return self._collect()

    def _collect(self) -> tuple[Ids, ValueArray]:
        ids, values = _joined([part.arrays() for part in self._parts])
        order = order_of(ids)
        return ids[order], values[order]


def order_of(ids: Ids) -> NDArray[np.int64]:
    """Where distinct ids are, the least one first, int64[n]; in linear time where they are dense, as those counted from 0 are."""
    first, last = (int(ids.min()), int(ids.max())) if len(ids) else (0, -1)
    if last - first >= _SPARSE * len(ids):
        return np.argsort(ids, kind="stable")
    places = np.full(last - first + 1, -1, np.int64)
    places[ids - first] = np.arange(len(ids))
    return places[places >= 0]


def _joined(parts: Sequence[tuple[Ids, ValueArray]]) -> tuple[Ids, ValueArray]:
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([values for _, values in parts])
