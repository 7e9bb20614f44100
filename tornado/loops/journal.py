"""What was put into a loop's sequence since its newest stored snapshot, for workers that take the place of lost ones.

Batches and forks are kept in their order. So a restored loop goes through the same versions again, and a branch that was under
way begins from the very cut that its answer names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from .host import Fork
from .main_processor import Share

LIMIT_RECORDS = 1 << 22


class Journal:
    """See the module. Used under the lock of the order.

    Attributes
    ----------
    records
        How many records are kept: 33 bytes each.
    limit
        Above how many a snapshot should be stored, so that they can be forgotten.
    """

    def __init__(self) -> None:
        self.records = 0
        self.limit = LIMIT_RECORDS
        self._entries: deque[tuple[int, list[Share] | Fork]] = deque()

    def add(self, version: int, entry: list[Share] | Fork) -> None:
        """A batch that made a version, as each worker's share, or a fork at a version."""
        self._entries.append((version, entry))
        self.records += _records(entry)

    def forget(self, version: int) -> None:
        """What led to a version is stored."""
        entries = self._entries
        while entries and (
            entries[0][0] < version or (entries[0][0] == version and not isinstance(entries[0][1], Fork))
        ):
            self.records -= _records(entries.popleft()[1])

    def drop(self, number: int) -> None:
        """A fork is over."""
        for place, (_, entry) in enumerate(self._entries):
            if isinstance(entry, Fork) and entry.number == number:
                del self._entries[place]
                return

    def __iter__(self) -> Iterator[tuple[int, list[Share] | Fork]]:
        return iter(self._entries)


def _records(entry: list[Share] | Fork) -> int:
    return 0 if isinstance(entry, Fork) else sum(len(share.sources) for share in entry)
