"""Numbers for the versions of a loop, of which none ever names two prefixes of the input.

An answer names its prefix by a version, and outlives the process that gave it: a loop that is killed begins again from an older
snapshot, and what comes then need not be what came before. So numbers are reserved in the store, a block at a time, before the
first of a block is given, and a start goes on above all that was reserved. The numbers of a block that a kill left over are
never used: greater means later, and a gap means nothing.

The line `LOOP/versions` has the reservation: its newest version is the last number reserved. A block is so large that a write of
the store comes once in a million versions, and the next block is reserved on a thread of its own when half of one is used.
"""

from __future__ import annotations

import logging
import threading

from ..errors import TornadoError
from ..storage import VersionedStore

BLOCK = 1_000_000  # 2^53, the last number that JSON carries everywhere, is nine thousand million starts away

_log = logging.getLogger(__name__)


class VersionNumbers:
    """The numbers of one loop, ascending. Version 0 is the loop before its first record, and is not among them.

    Parameters
    ----------
    store
        Not ours to close.
    loop
        The name of the loop.

    Examples
    --------
    >>> from tornado.storage import MemoryStore
    >>> store = MemoryStore()
    >>> numbers = VersionNumbers(store, "roads")
    >>> numbers.take(), numbers.take(), VersionNumbers(store, "roads").take()
    (1, 2, 1000001)
    """

    def __init__(self, store: VersionedStore, loop: str) -> None:
        self._store = store
        self._line = f"{loop}/versions"
        self._reserving = threading.Lock()
        self._last = self._bound = _reserved(store, loop, self._line)
        self._ahead_below = BLOCK // 2

    def prepare(self) -> None:
        """Reserve numbers when few are left, so that `take` need not wait; called where a write of the store may be waited for.

        Raises
        ------
        StoreError
            When there are none left, and none can be reserved.
        """
        left = self._bound - self._last
        if left >= self._ahead_below:
            return
        if not left:
            self._reserve()
            return
        # Of a store that is full, it is asked again when half of what is left is gone.
        self._ahead_below = left // 2
        threading.Thread(target=self._reserve_ahead, name=self._line, daemon=True).start()

    def take(self) -> int:
        """Return the next number; one caller at a time.

        Raises
        ------
        StoreError
            When there is none left, and none can be reserved; no number is taken.
        """
        if self._last == self._bound:
            self._reserve()
        self._last += 1
        return self._last

    def _reserve(self) -> None:
        with self._reserving:
            if self._bound - self._last >= BLOCK // 2:
                return  # somebody else did
            bound = self._bound + BLOCK
            self._store.delete_before(self._line, self._bound)
            self._store.write(self._line, bound, {})
            self._bound = bound
            self._ahead_below = BLOCK // 2

    def _reserve_ahead(self) -> None:
        try:
            self._reserve()
        except TornadoError as error:
            _log.warning("no version numbers were reserved for %s yet: %s", self._line, error)


def _reserved(store: VersionedStore, loop: str, line: str) -> int:
    """The last number that may have been given."""
    if bounds := store.versions(line):
        return bounds[-1]
    # A store from before numbers were reserved: what its last run gave is not known, and was hardly more than a block. Names
    # alone say nothing, since they are there before a loop begins.
    lines = store.loops()
    is_known = loop in lines or any(
        other.startswith(f"{loop}/") and other != f"{loop}/names" for other in lines
    )
    return max(store.versions(loop), default=0) + BLOCK if is_known else 0
