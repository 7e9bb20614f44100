"""A durable log of pushed edges, in the store of the loop: what was acknowledged outlives a crash.

Files are read again after a crash; what was pushed exists nowhere else. So a batch is written here first, as one version of
a line of its own (`LOOP/pushed/SOURCE`), and admitted afterwards. At the next start the batches behind the offset of the
snapshot that the loop begins with are admitted again, in the order of their source; what the oldest snapshot kept has is let go
of. Where they stood among the records of other sources is not kept: those of a file that is read on come first (`Pusher.hold`).
Versions count appends, not records, so that a batch that the loop refused can be overwritten by an empty one.

At least once: a crash between the write and the acknowledgement leaves a batch that its sender may send again. Exactly once
where the sender numbers its batches: the number stands beside the offset, in the same write, and tells a repeated one.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np

from ..errors import StoreCorrupt
from ..ingest.records import EdgeBatch
from ..storage.contract import VersionedStore
from .batch_columns import BatchColumns
from .stored_names import StoredNames

_KEY = b"batch"
_RECORD_BYTES = 8 + 8 + 8 + 1


class StorePushLog:
    """Pushed batches in a store.

    Parameters
    ----------
    store : VersionedStore
        Not ours to close.
    """

    def __init__(self, store: VersionedStore) -> None:
        self._store = store
        self._newest: dict[str, int] = {}
        self._lock = Lock()
        self.names = StoredNames(store)
        self.columns = BatchColumns(store)

    def append(
        self, loop: str, source: str, offset: int, batch: EdgeBatch, *, number: int | None = None
    ) -> None:
        """Make a batch durable under the offset that it reaches, and its number where its sender numbers them.

        Raises
        ------
        StoreError
            When it cannot be written; the log is as it was.
        """
        line = _line(loop, source)
        with self._lock:
            version = self._newest_of(line) + 1
            self._store.write(line, version, {_KEY: _encoded(batch)}, metadata=_metadata(offset, number))
            self._newest[line] = version

    def retract(self, loop: str, source: str, offset: int, *, number: int | None = None) -> None:
        """Empty the batch that was appended last: the loop did not take it, so neither may a restart.

        Parameters
        ----------
        offset, number
            What the source had reached before that batch.
        """
        line = _line(loop, source)
        with self._lock:
            self._store.write(
                line,
                self._newest_of(line),
                {_KEY: _encoded(EdgeBatch.empty())},
                metadata=_metadata(offset, number),
            )

    def number(self, loop: str, source: str) -> int | None:
        """Return the number of the newest batch of a source, None where its sender numbers none.

        Raises
        ------
        StoreCorrupt
            When the entry cannot be read.
        """
        line = _line(loop, source)
        with self._lock:
            newest = self._newest_of(line)
        if not newest:
            return None
        number = self._metadata(line, newest).get("number")
        return None if number is None else int(number)

    def sources(self, loop: str) -> list[str]:
        """Return the sources of a loop that have a log."""
        prefix = _line(loop, "")
        return [line.removeprefix(prefix) for line in self._store.loops() if line.startswith(prefix)]

    def reached(self, loop: str) -> dict[str, int]:
        """Return the sources of a loop that have a log, each with the offset up to which it has been acknowledged."""
        newest = {source: max(self._store.versions(_line(loop, source))) for source in self.sources(loop)}
        return {source: self._offset(_line(loop, source), version) for source, version in newest.items()}

    def replay(self, loop: str, source: str, *, after: int) -> Iterator[tuple[int, EdgeBatch]]:
        """Iterate over the batches that reach beyond an offset, in order, each with the offset that it reaches.

        Raises
        ------
        StoreCorrupt
            When an entry cannot be read.
        """
        line = _line(loop, source)
        versions = self._store.versions(line)
        for version in versions[self._count_passed(line, versions, after) :]:
            page = self._store.read(line, _KEY, version)
            yield self._offset(line, version), _decoded(page, f"{line} at version {version}")

    def forget(self, loop: str, source: str, *, up_to: int) -> None:
        """Let go of what a stored snapshot has: batches that reach no further than an offset.

        The last one of these stays, so the newest entry of a source always does: it has the number of its newest batch.
        """
        line = _line(loop, source)
        versions = self._store.versions(line)
        passed = self._count_passed(line, versions, up_to)
        if passed:
            self._store.delete_before(line, versions[passed - 1])

    def _count_passed(self, line: str, versions: list[int], offset: int) -> int:
        """How many batches reach no further than an offset; what each one reaches never goes back."""
        return bisect_right(versions, offset, key=lambda version: self._offset(line, version))

    def _newest_of(self, line: str) -> int:
        if line not in self._newest:
            self._newest[line] = max(self._store.versions(line), default=0)
        return self._newest[line]

    def _offset(self, line: str, version: int) -> int:
        return int(self._metadata(line, version)["offset"])

    def _metadata(self, line: str, version: int) -> dict[str, Any]:
        metadata = self._store.metadata(line, version)
        try:
            content: dict[str, Any] = json.loads(metadata or b"")
            int(content["offset"])
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(f"the log {line} has no offset at version {version}") from error
        return content


def _line(loop: str, source: str) -> str:
    return f"{loop}/pushed/{source}"


def _metadata(offset: int, number: int | None) -> bytes:
    numbered = {} if number is None else {"number": number}
    return json.dumps({"offset": offset} | numbered).encode()


def _encoded(batch: EdgeBatch) -> bytes:
    columns = (batch.src, batch.dst, batch.weight, batch.op)
    return b"".join(np.ascontiguousarray(column).tobytes() for column in columns)


def _decoded(page: bytes | None, where: str) -> EdgeBatch:
    if page is None or len(page) % _RECORD_BYTES:
        raise StoreCorrupt(f"the log {where} is no batch of edges")
    count = len(page) // _RECORD_BYTES
    return EdgeBatch(
        np.frombuffer(page, np.int64, count).copy(),
        np.frombuffer(page, np.int64, count, 8 * count).copy(),
        np.frombuffer(page, np.float64, count, 16 * count).copy(),
        np.frombuffer(page, np.int8, count, 24 * count).copy(),
    )
