"""A multiset of changes that is compacted only when that pays.

Progress tracking adds and subtracts the same pointstamps all the time; most of it cancels before anybody looks. A change batch
appends to a list and sums up equal keys when the list has doubled since it was last clean, or when it is read (after
timely-dataflow's ``ChangeBatch``, and Naiad section 3.3: accumulate locally before broadcasting).

Guaranteed: appending costs amortised O(1); reading gives each key once, with a net change that is not zero, in the order in
which the keys were first seen, so equal histories read equally.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_COMPACT_FROM = 32


class ChangeBatch(Generic[Key]):
    """Net changes by key.

    Examples
    --------
    >>> changes = ChangeBatch()
    >>> for key, delta in [("a", 1), ("b", 1), ("a", -1), ("b", 2)]:
    ...     changes.update(key, delta)
    >>> changes.drain()
    [('b', 3)]
    >>> bool(changes)
    False
    """

    __slots__ = ("_clean", "_updates")

    def __init__(self) -> None:
        self._updates: list[tuple[Key, int]] = []
        self._clean = 0

    def update(self, key: Key, delta: int) -> None:
        """Add `delta` to the change of `key`."""
        updates = self._updates
        updates.append((key, delta))
        if len(updates) > _COMPACT_FROM and len(updates) > 2 * self._clean:
            self.compact()

    def compact(self) -> None:
        """Sum up equal keys and forget those that cancelled."""
        updates = self._updates
        if self._clean == len(updates):
            return
        sums: dict[Key, int] = {}
        for key, delta in updates:
            sums[key] = sums.get(key, 0) + delta
        self._updates = [(key, delta) for key, delta in sums.items() if delta]
        self._clean = len(self._updates)

    def drain(self) -> list[tuple[Key, int]]:
        """Take all net changes out."""
        self.compact()
        updates, self._updates, self._clean = self._updates, [], 0
        return updates

    def clear(self) -> None:
        """Forget everything."""
        self._updates, self._clean = [], 0

    def __iter__(self) -> Iterator[tuple[Key, int]]:
        self.compact()
        return iter(self._updates)

    def __len__(self) -> int:
        self.compact()
        return len(self._updates)

    def __bool__(self) -> bool:
        self.compact()
        return bool(self._updates)
