"""Exact results that a reader has been told of, kept until it has read what changed between them.

Whoever follows a loop asks for an exact answer now and then, and wants only what is new in it; after a crash it asks again for
the same stretch, and must get the same rows. So each answer that it will refer to is stored first, whole, as one version of a
line of its own (`LOOP/readers/READER`), under the version of the loop that it is for. The difference of two of them is computed
when it is read, and an answer is let go of when the reader says that it has read beyond it.

Guarantees: the changes between two versions are the same whenever they are read, after a restart on a durable store too; a
version that is no longer there is an error, never another answer. Left out on purpose: storing differences. They would be
smaller, and could not be read from anywhere but the version before.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from ..clock import Clock
from ..errors import InvalidArgument, StoreCorrupt
from ..storage.versioned_store import VersionedStore
from ..value_types import FLOAT64, INT64, Ids, ValueArray

READERS = 16
# The key says of what type the values are; a version has one of the two.
_KEYS = {FLOAT64: b"values", INT64: b"values/int64"}
_ROW_BYTES = 16


class ResultHistory:
    """Results in a store, by loop and reader.

    Parameters
    ----------
    store : VersionedStore
        Not ours to close.
    readers : int
        So many readers a loop may have; beyond it, the one that asked last the longest ago loses its results.
    clock : Clock
        By whose calendar, which survives a restart, that is.
    """

    def __init__(self, store: VersionedStore, *, readers: int = READERS, clock: Clock) -> None:
        self._store = store
        self._readers = readers
        self._clock = clock
        self._lock = Lock()

    def keep(self, loop: str, reader: str, version: int, ids: Ids, values: ValueArray) -> None:
        """Store an exact result.

        Parameters
        ----------
        version : int
            Of the loop, that it is for.
        ids, values : int64[n], float64[n] or int64[n]
            Every vertex once, ascending.

        Raises
        ------
        InvalidArgument
            When the reader has one of a later version: the loop began anew.
        StoreError
            When it cannot be stored.
        """
        page = np.ascontiguousarray(ids).tobytes() + np.ascontiguousarray(values).tobytes()
        key = _KEYS[values.dtype]
        others = [other for other in _KEYS.values() if other != key]
        line = _line(loop, reader)
        with self._lock:
            if not self._store.versions(line):
                self._make_room(loop)
            moment = repr(self._clock.now().timestamp()).encode()
            self._store.write(line, version, {key: page}, deletes=others, metadata=moment)

    def changes(self, loop: str, reader: str, after: int, up_to: int) -> tuple[Ids, ValueArray]:
        """Return the vertices that are new or have another value at `up_to` than at `after`, with that value, ascending.

        Version 0 is the loop before its first record, which has no vertex.

        Raises
        ------
        InvalidArgument
            When one of the two results is not kept.
        """
        new_ids, new_values = self._read(loop, reader, up_to)
        if after == 0:
            return new_ids, new_values
        old_ids, old_values = self._read(loop, reader, after)
        if not len(old_ids) or old_values.dtype != new_values.dtype:
            return new_ids, new_values
        places = np.minimum(np.searchsorted(old_ids, new_ids), len(old_ids) - 1)
        # By their bits: a NaN is the same value as itself.
        same = (old_ids[places] == new_ids) & (old_values.view(np.int64)[places] == new_values.view(np.int64))
        return new_ids[~same], new_values[~same]

    def forget(self, loop: str, reader: str, before: int) -> None:
        """Delete the results before a version."""
        with self._lock:
            if self._store.versions(_line(loop, reader)):
                self._store.delete_before(_line(loop, reader), before)

    def _read(self, loop: str, reader: str, version: int) -> tuple[Ids, ValueArray]:
        line = _line(loop, reader)
        kept = self._store.versions(line)
        if version not in kept:
            raise InvalidArgument(
                f"the result of loop {loop!r} at version {version} is not kept for the reader {reader!r}, which has "
                + (", ".join(map(str, kept)) or "none"),
                hint="The loop began anew, or others read it since. Begin anew too: a Spark query with a new "
                "checkpointLocation.",
            )
        for dtype, key in _KEYS.items():
            page = self._store.read(line, key, version)
            if page is not None and not len(page) % _ROW_BYTES:
                count = len(page) // _ROW_BYTES
                return np.frombuffer(page, np.int64, count), np.frombuffer(page, dtype, count, 8 * count)
        raise StoreCorrupt(f"the line {line} has no result at version {version}")

    def _make_room(self, loop: str) -> None:
        prefix = _line(loop, "")
        lines = [line for line in self._store.loops() if line.startswith(prefix)]
        if len(lines) >= self._readers:
            self._store.drop(min(lines, key=self._last_s))

    def _last_s(self, line: str) -> float:
        return float(self._store.metadata(line, max(self._store.versions(line))) or 0)


def _line(loop: str, reader: str) -> str:
    return f"{loop}/readers/{reader}"
