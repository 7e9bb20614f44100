"""Which finished queries are kept: bounded by count and by size, the oldest finished go first.

Pure bookkeeping: it says who has to go, and the service lets them go. The newest is always kept, whatever its size, so
that whoever asked for a result larger than the bound can read it.
"""

from __future__ import annotations

from collections import OrderedDict


class Retention:
    """Finished queries in the order they finished, with their sizes.

    Examples
    --------
    >>> kept = Retention(results=2, size_bytes=100)
    >>> kept.add("a", 10), kept.add("b", 95), kept.add("c", 10)
    ([], ['a'], ['b'])
    """

    def __init__(self, *, results: int, size_bytes: int) -> None:
        self._results = results
        self._limit_bytes = size_bytes
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._total_bytes = 0

    @property
    def total_bytes(self) -> int:
        """What all that is kept takes."""
        return self._total_bytes

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, name: str, size_bytes: int) -> list[str]:
        """Keep one more and return those that have to go, oldest first."""
        self._kept[name] = size_bytes
        self._total_bytes += size_bytes
        gone: list[str] = []
        while len(self._kept) > 1 and (
            len(self._kept) > self._results or self._total_bytes > self._limit_bytes
        ):
            oldest, oldest_bytes = self._kept.popitem(last=False)
            self._total_bytes -= oldest_bytes
            gone.append(oldest)
        return gone

    def remove(self, name: str) -> None:
        """Forget one that was deleted; unknown names are fine."""
        self._total_bytes -= self._kept.pop(name, 0)
