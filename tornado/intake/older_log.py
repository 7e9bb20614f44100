"""What a store of an earlier version has of pushes: a line for each source (`STREAM/pushed/SOURCE`), beside no log of the stream.

It is admitted once, behind the newest snapshot, and so it stands in the log of the stream from then on; the lines are dropped
after that. What is in already, as after a crash in between, is told by the offsets of its source.
"""

from __future__ import annotations

import json
from typing import Any

from ..errors import StoreCorrupt
from ..ingest.known_files import KnownFiles
from ..ingest.source_names import SourceKind, kind_of
from ..loop_views import RecordStreamView
from ..records.edge_batch import EdgeBatch
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from ..storage import VersionedStore

_KEY = b"batch"


def take_over(store: VersionedStore, name: str, stream: RecordStreamView) -> None:
    """Admit to a stream that has begun what is in such lines of its store, and drop them.

    Raises
    ------
    InvalidArgument
        When a program cannot take a record.
    StoreCorrupt
        When a line cannot be read.
    """
    prefix = f"{name}/pushed/"
    for line in [line for line in store.loops() if line.startswith(prefix)]:
        source = line.removeprefix(prefix)
        if kind_of(source) is SourceKind.FILE:
            KnownFiles(store, name).recognise_pipe(source)
        _take_line(store, line, source, stream)
        store.drop(line)


def _take_line(store: VersionedStore, line: str, source: str, stream: RecordStreamView) -> None:
    for version in store.versions(line):
        metadata = _metadata(store, line, version)
        offset, number = metadata["offset"], metadata.get("number")
        reached = stream.offsets().get(source, 0)
        if offset > reached:
            batch = _batch(store, line, version, metadata.get("points"), stream.points)
            if len(batch):
                stream.admit(batch, source, offset, number=number)
                continue
        stream.advance(source, max(offset, reached), number=number)


def _metadata(store: VersionedStore, line: str, version: int) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(store.metadata(line, version) or b"")
        content["offset"] = int(content["offset"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"the log {line} has no offset at version {version}") from error
    return content


def _batch(
    store: VersionedStore, line: str, version: int, layout: list[Any] | None, points: Points | None
) -> RecordBatch:
    page = store.read(line, _KEY, version)
    try:
        kind = EdgeBatch if layout is None else PointBatch.kind_of(points or Points(*layout))
        return kind.decode(page or b"")
    except ValueError as error:
        raise StoreCorrupt(f"the log {line} at version {version} cannot be read: {error}") from error
