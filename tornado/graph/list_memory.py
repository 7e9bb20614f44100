"""Memory under the lists of a graph: put there ahead of who fills them, and made of huge pages when they stand.

The system clears each page that is touched for the first time, which takes about as long as to write what belongs there, so a thread
has it done meanwhile (`tornado.arena.populate`). Small pages are there soonest: a huge one takes memory that lies together, which
a machine that shares its own with others may have to ask for first. Lists that stand are gone through faster on huge ones, so a thread
has pages joined then. Nothing but time depends on either: what is not there in time comes with the first touch.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from ..arena import join_pages, populate

FEW_EDGES = 1 << 20  # for which a thread is not worth it
_JOINED_BYTES = 4 << 20  # at a time, in some milliseconds: one huge page at least, wherever it begins
_AHEAD = 1 << 19  # entries of lists that have memory put under them ahead: 16 MiB


class ListMemory:
    """How far there is memory under columns that have an entry for each place in a list, and of which pages.

    Parameters
    ----------
    columns : sequence of array
        Reserved, see `tornado.arena.reserve`, and all of one length.

    Attributes
    ----------
    stop
        Entries that have memory under them, or are about to.
    """

    __slots__ = ("_columns", "_is_given_up", "_is_idle", "_joined", "_joining", "_putting", "stop")

    def __init__(self, columns: Sequence[NDArray[Any]]) -> None:
        self._columns = columns
        self._putting: threading.Thread | None = None
        self._joining: threading.Thread | None = None
        self._joined = [0] * len(columns)  # entries of each under which pages are joined
        self._is_idle = self._is_given_up = False
        self.stop = 0

    def put(self, first: int, stop: int) -> None:
        """Have memory put under entries ``first .. stop``."""
        self.stop = stop
        self._putting = populate(self._columns, stop, first=first, goes_on=lambda: not self._is_given_up)

    def give_up(self) -> None:
        """Have no more memory put there: nothing will come."""
        self._is_given_up = True

    def put_ahead(self, used: int, *, coming: int = 0) -> None:
        """Have memory under what lists take next that have so many entries, where they are large: that of edges that wait, too."""
        ahead = used + coming + _AHEAD
        if used + coming >= FEW_EDGES and ahead - _AHEAD // 2 > self.stop and not _is_at_work(self._putting):
            self.put(max(used, self.stop), ahead)

    def join(self, used: int) -> None:
        """Have pages joined under lists that have so many entries and stand, where many of them came since that was done."""
        if used - min(self._joined) >= FEW_EDGES and not _is_at_work(self._joining):
            self._is_idle = True
            self._joining = threading.Thread(
                target=self._join, args=(used,), name="tornado-memory", daemon=True
            )
            self._joining.start()

    def _join(self, used: int) -> None:
        for place, column in enumerate(self._columns):
            entries = _JOINED_BYTES // column.itemsize
            while self._is_idle and self._joined[place] < used:
                stop = min(used, self._joined[place] + entries)
                joined = join_pages(column, self._joined[place], stop)
                self._joined[place] = joined if self._joined[place] < joined and stop < used else stop

    def stop_joining(self) -> None:
        """Something has come: lists are about to be gone through, which would wait for pages that are just joined."""
        self._is_idle = False

    def forget(self) -> None:
        """Memory behind the lists was given back."""
        self.stop_joining()
        self.stop = 0
        self._joined = [0] * len(self._columns)


def _is_at_work(thread: threading.Thread | None) -> bool:
    return thread is not None and thread.is_alive()
