"""Which columns the numbered batches of a source bring, so that one that goes missing is an error and not a default.

`weight`, `op` and `order` may be left out, and stand for 1, `+` and the order of arrival then. A sender that was changed by
mistake, and brings them no more, would turn removals into insertions in silence. So what a batch had, those after it must have
too. Durable where the log of pushed edges is, as a line of its own (`STREAM/columns/SOURCE`), written when something is new.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from threading import Lock

from ..errors import InvalidArgument, StoreCorrupt
from ..storage.versioned_store import VersionedStore

_KEY = b"columns"


class BatchColumns:
    """The columns of the sources of one stream.

    Parameters
    ----------
    store : VersionedStore or None
        Not ours to close; without one they are kept in memory.
    stream : str
        Whose sources they are.
    """

    def __init__(self, store: VersionedStore | None, stream: str) -> None:
        self._store = store
        self._stream = stream
        self._known: dict[str, frozenset[str]] = {}
        self._lock = Lock()

    def require(self, source: str, columns: AbstractSet[str]) -> None:
        """Refuse what lacks a column that batches before it had.

        Raises
        ------
        InvalidArgument
            When it does.
        """
        with self._lock:
            missing = sorted(self._of(source) - columns)
        if missing:
            raise InvalidArgument(
                f"this batch of {source!r} lacks the column {missing[0]!r}, which batches before it had",
                hint="Send it with every batch, with '+' for op and null for a weight that is left out. A sender that does without "
                "it must be another source: a Spark query with a new checkpointLocation.",
            )

    def add(self, source: str, columns: AbstractSet[str]) -> None:
        """Keep what a batch had that is in.

        Raises
        ------
        StoreError
            When it cannot be written; the next batch tries again.
        """
        with self._lock:
            known = self._of(source)
            if columns <= known:
                return
            known |= columns
            if self._store is not None:
                line = self._line(source)
                version = max(self._store.versions(line), default=0) + 1
                self._store.write(line, version, {_KEY: json.dumps(sorted(known)).encode()})
            self._known[source] = known

    def _of(self, source: str) -> frozenset[str]:
        # What the store says is not kept: whoever asks for a name must not make an entry of it.
        known = self._known.get(source)
        return self._stored(self._line(source)) if known is None else known

    def _stored(self, line: str) -> frozenset[str]:
        versions = [] if self._store is None else self._store.versions(line)
        if self._store is None or not versions:
            return frozenset()
        try:
            return frozenset(json.loads(self._store.read(line, _KEY, max(versions)) or b""))
        except ValueError as error:
            raise StoreCorrupt(f"{line} has no columns at version {max(versions)}") from error

    def _line(self, source: str) -> str:
        return f"{self._stream}/columns/{source}"
