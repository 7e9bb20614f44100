"""The names of vertices, kept in the store of the stream that counts them.

A stream knows vertices by the order in which their names first arrived (`ingest.interner`). What is durable about it, snapshots
and pushed edges, holds these numbers; so the names are durable before them. They are a line of their own (`STREAM/names`), of
which every version holds the names that came after the version before, or all: then those before it are needless.
"""

from __future__ import annotations

from threading import Lock

from ..errors import InvalidArgument, StoreCorrupt
from ..ingest.interner import Interner
from ..storage.versioned_store import VersionedStore

_KEY = b"names"
_LINE = "/names"
_MOST_PIECES = 1024


class StoredNames:
    """The table of names of one stream, in a store.

    Parameters
    ----------
    store : VersionedStore
        Not ours to close.
    stream : str
        Whose vertices have them.
    """

    def __init__(self, store: VersionedStore, stream: str) -> None:
        self._store = store
        self._stream = stream
        self._saved = 0
        self._newest = 0  # the version that has what was saved last
        self._pieces = 0  # versions that are read at a start
        self._lock = Lock()

    def load(self) -> Interner:
        """Return the table as it was saved last, or an empty one for a stream that begins.

        Raises
        ------
        InvalidArgument
            When the store has this stream with numbers for ids.
        StoreCorrupt
            When what was saved cannot be read.
        """
        line = self._stream + _LINE
        with self._lock:
            versions = self._store.versions(line)
            if not versions and has_loop(self._store, self._stream):
                raise InvalidArgument(
                    f"loop {self._stream!r} of the store {self._store.url} has numbers for ids, so it cannot go on with strings",
                    hint="Leave --ids string out, or name an empty store.",
                )
            parts = [self._store.read(line, _KEY, version) for version in versions]
            if None in parts:
                raise StoreCorrupt(f"the table {line} lacks its page at a version that is stored")
            interner = Interner.restore(*(part for part in parts if part is not None))
            self._saved, self._newest, self._pieces = len(interner), max(versions, default=0), len(versions)
            if not versions:
                # Says from now on what the numbers in this store are.
                self._store.write(line, 0, {_KEY: interner.snapshot()})
            return interner

    def save(self, interner: Interner) -> None:
        """Make the names durable that came since the last call; without any, nothing is written.

        Raises
        ------
        StoreError
            When they cannot be written; the next call tries again.
        """
        with self._lock:
            saved, count = self._saved, len(interner)
            if count > saved:
                # Not listed for it: there is one for each time that names came, and all that is admitted waits.
                self._write(self._newest + 1, interner.snapshot(since=saved, until=count))
                self._saved, self._pieces = count, self._pieces + 1

    def put_together(self, interner: Interner) -> None:
        """Have one page with all names in place of many with a few, which a start would read one after another.

        Raises
        ------
        StoreError
            When it cannot be written, or the others cannot go: the next call tries again.
        """
        with self._lock:
            if self._pieces > _MOST_PIECES:
                self._write(self._newest + 1, interner.snapshot(until=self._saved))
                self._store.delete_before(self._stream + _LINE, self._newest)
                self._pieces = 1

    def _write(self, version: int, page: bytes) -> None:
        self._store.write(self._stream + _LINE, version, {_KEY: page})
        self._newest = version

    def refuse(self) -> None:
        """Refuse to go on with a stream of names as if they were numbers.

        Raises
        ------
        InvalidArgument
            When the store has names for this stream.
        """
        if self._store.versions(self._stream + _LINE):
            raise InvalidArgument(
                f"loop {self._stream!r} of the store {self._store.url} has strings for ids, so it cannot go on with numbers",
                hint="Start it with --ids string, or name an empty store.",
            )


def has_loop(store: VersionedStore, loop: str) -> bool:
    """Return whether a store has snapshots of a loop, or edges that were pushed into it."""
    return any(line == loop or line.startswith(f"{loop}/") for line in store.loops())


def main_loops(store: VersionedStore) -> list[str]:
    """Return the names of the loops that a store has something of, sorted: lines beside a loop are not loops.

    Examples
    --------
    >>> from tornado.storage import open_store
    >>> with open_store("memory:") as store:
    ...     for line in ("roads", "roads/names", "roads/pushed/http", "lanes/pushed/http"):
    ...         store.write(line, 0, {})
    ...     main_loops(store)
    ['lanes', 'roads']
    """
    # A loop's name has no slash: see `naming.checked_loop_name`.
    return sorted({line.partition("/")[0] for line in store.loops()})
