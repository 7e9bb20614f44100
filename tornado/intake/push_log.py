"""A durable log of pushed edges and points, in the store of their stream: what was acknowledged outlives a crash.

Files are read again after a crash; what was pushed exists nowhere else. So a batch is written here first, as one version of
a line of its own (`STREAM/pushed/SOURCE`), and admitted afterwards. At the next start the batches behind the offset of the
snapshot that the stream begins with are admitted again, in the order of their source; what the oldest snapshot kept has is let go
of. Where they stood among the records of other sources is not kept: those of a file that is read on come first (`StreamIntake.hold`).
Versions count appends, not records, so that a batch that the stream refused can be overwritten: by an empty one at once and,
where the store fails at that too, by the next batch of its source. So offsets never go back along a line, and of a refused batch
nothing is left behind its successor. Only a crash before either leaves it, as the newest entry: it then comes back as one does
whose acknowledgement was cut off, and its sender was told of the failing store.

At least once: a crash between the write and the acknowledgement leaves a batch that its sender may send again. Exactly once
where the sender numbers its batches: the number stands beside the offset, in the same write, and tells a repeated one.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

from ..errors import InvalidArgument, StoreCorrupt
from ..records.edge_batch import EdgeBatch
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from ..storage.versioned_store import VersionedStore
from .batch_columns import BatchColumns
from .stored_names import StoredNames

_KEY = b"batch"


@dataclass(slots=True)
class _Line:
    """The end of a source's log: the version that was written last, and the number of the newest batch that is in.

    `void` is the metadata that shall take the place of that version, where its batch is not in and could not be emptied.
    """

    newest: int
    number: int | None
    void: bytes | None = None


class StorePushLog:
    """Pushed batches in a store.

    Parameters
    ----------
    store : VersionedStore
        Not ours to close.
    """

    def __init__(self, store: VersionedStore) -> None:
        self._store = store
        self._lines: dict[str, _Line] = {}
        self._lock = Lock()

    def names(self, stream: str) -> StoredNames:
        """Return where the names of a stream's vertices go."""
        return StoredNames(self._store, stream)

    def columns(self, stream: str) -> BatchColumns:
        """Return where the columns of a stream's numbered batches go."""
        return BatchColumns(self._store, stream)

    def append(
        self, stream: str, source: str, offset: int, batch: RecordBatch, *, number: int | None = None
    ) -> None:
        """Make a batch durable under the offset that it reaches, and its number where its sender numbers them.

        Raises
        ------
        StoreError
            When it cannot be written; the log is as it was.
        """
        name = _line(stream, source)
        with self._lock:
            line = self._lines.get(name) or self._stored(name)
            version = line.newest + (line.void is None)
            self._store.write(
                name, version, {_KEY: batch.encode()}, metadata=_metadata(offset, number, batch)
            )
            self._lines[name] = _Line(version, number)

    def retract(self, stream: str, source: str, offset: int, *, number: int | None = None) -> None:
        """Empty the batch that was appended last: the stream did not take it, so neither may a restart.

        Parameters
        ----------
        offset, number
            What the source had reached before that batch.

        Raises
        ------
        StoreError
            When it cannot be written; the next append of the source takes its place, or else the next `forget` empties it.
        """
        name = _line(stream, source)
        with self._lock:
            line = self._lines[name]
            line.number, line.void = number, _metadata(offset, number)
            self._settle(name)

    def number(self, stream: str, source: str) -> int | None:
        """Return the number of the newest batch of a source, None where its sender numbers none.

        Raises
        ------
        StoreCorrupt
            When the entry cannot be read.
        """
        name = _line(stream, source)
        with self._lock:
            line = self._lines.get(name) or self._stored(name)
        return line.number

    def sources(self, stream: str) -> list[str]:
        """Return the sources of a stream that have a log."""
        prefix = _line(stream, "")
        return [line.removeprefix(prefix) for line in self._store.loops() if line.startswith(prefix)]

    def reached(self, stream: str) -> dict[str, int]:
        """Return the sources of a stream that have a log, each with the offset up to which it has been acknowledged."""
        newest = {source: max(self._store.versions(_line(stream, source))) for source in self.sources(stream)}
        return {source: self._offset(_line(stream, source), version) for source, version in newest.items()}

    def replay(
        self, stream: str, source: str, *, after: int, points: Points | None = None
    ) -> Iterator[tuple[int, RecordBatch]]:
        """Iterate over the batches that reach beyond an offset, in order, each with the offset that it reaches.

        Parameters
        ----------
        points
            What the points of the stream are declared to be; None: it has none.

        Raises
        ------
        InvalidArgument
            When a batch is of points that are not so declared.
        StoreCorrupt
            When an entry cannot be read.
        """
        line = _line(stream, source)
        versions = self._store.versions(line)
        for version in versions[self._count_passed(line, versions, after) :]:
            page = self._store.read(line, _KEY, version)
            metadata = self._metadata(line, version)
            kind = _kind_of(metadata.get("points"), points, stream, source)
            yield int(metadata["offset"]), _decoded(page, kind, f"{line} at version {version}")

    def forget(self, stream: str, source: str, *, up_to: int) -> None:
        """Drop what a stored snapshot has: batches that reach no further than an offset.

        The last one of these stays, so the newest entry of a source always does: it has the number of its newest batch.
        """
        line = _line(stream, source)
        with self._lock:
            self._settle(line)
        versions = self._store.versions(line)
        passed = self._count_passed(line, versions, up_to)
        if passed:
            self._store.delete_before(line, versions[passed - 1])

    def _count_passed(self, line: str, versions: list[int], offset: int) -> int:
        """How many batches reach no further than an offset; what each one reaches never goes back."""
        return bisect_right(versions, offset, key=lambda version: self._offset(line, version))

    def _settle(self, name: str) -> None:
        """Empty the newest entry of a line where its batch is not in."""
        line = self._lines.get(name)
        if line is not None and line.void is not None:
            self._store.write(name, line.newest, {_KEY: EdgeBatch.empty().encode()}, metadata=line.void)
            line.void = None

    def _stored(self, name: str) -> _Line:
        """The end of a line as the store has it. Not kept: whoever asks for a name must not make an entry of it."""
        versions = self._store.versions(name)
        if not versions:
            return _Line(0, None)
        number = self._metadata(name, versions[-1]).get("number")
        return _Line(versions[-1], None if number is None else int(number))

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


def _line(stream: str, source: str) -> str:
    return f"{stream}/pushed/{source}"


def _metadata(offset: int, number: int | None, batch: RecordBatch | None = None) -> bytes:
    content: dict[str, Any] = {"offset": offset}
    if number is not None:
        content["number"] = number
    if isinstance(batch, PointBatch):
        content["points"] = _layout_of(batch.points)
    return json.dumps(content).encode()


def _layout_of(points: Points) -> list[Any]:
    """What of a declaration says how a batch is written; names of features do not, and may be many."""
    return [points.features, points.sparse, points.value_type.name]


def _kind_of(layout: list[Any] | None, points: Points | None, stream: str, source: str) -> type[RecordBatch]:
    """The class of batches that are written so: of points, or of edges where there is no layout."""
    if layout is None:
        return EdgeBatch
    if points is None or _layout_of(points) != layout:
        try:
            logged: Any = Points(*layout)
        except (TypeError, InvalidArgument) as error:
            raise StoreCorrupt(
                f"the log of {source!r} of stream {stream!r} has {layout!r} for points"
            ) from error
        raise InvalidArgument(
            f"{source!r} has pushed {logged} to stream {stream!r} before it was restarted, and it has {points or 'no points'} now",
            hint="Declare the points as they were, or name another stream or an empty store.",
        )
    return PointBatch.kind_of(points)


def _decoded(page: bytes | None, kind: type[RecordBatch], where: str) -> RecordBatch:
    if page is None:
        raise StoreCorrupt(f"the log {where} has no batch")
    try:
        return kind.decode(page)
    except ValueError as error:
        raise StoreCorrupt(f"the log {where} is no batch of {kind.schema.kind}: {error}") from error
