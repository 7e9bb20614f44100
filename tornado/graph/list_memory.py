"""Memory under the lists of a graph that is being filled, ahead of who writes them.

The system clears each page that is touched for the first time, which takes about as long as to write what belongs there, so a thread
has it done meanwhile (`tornado.arena.populate`). Nothing but time depends on it: what is not there in time comes with the first touch.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from ..arena import populate

FEW_EDGES = 1 << 20  # for which a thread is not worth it
_AHEAD = 1 << 19  # entries of lists that have memory put under them ahead: 16 MiB


class ListMemory:
    """How far there is memory under columns that have an entry for each place in a list.

    Parameters
    ----------
    columns : sequence of array
        Reserved, see `tornado.arena.reserve`, and all of one length.

    Attributes
    ----------
    stop
        Entries that have memory under them, or are about to.
    """

    __slots__ = ("_columns", "_thread", "stop")

    def __init__(self, columns: Sequence[NDArray[Any]]) -> None:
        self._columns = columns
        self._thread: threading.Thread | None = None
        self.stop = 0

    def put(self, first: int, stop: int) -> None:
        """Have memory put under entries ``first .. stop``."""
        self.stop = stop
        self._thread = populate(self._columns, stop, first=first)

    def put_ahead(self, used: int) -> None:
        """Have memory under what lists take next that have so many entries, where they are large."""
        is_over = self._thread is None or not self._thread.is_alive()
        if used >= FEW_EDGES and used + _AHEAD // 2 > self.stop and is_over:
            self.put(max(used, self.stop), used + _AHEAD)
