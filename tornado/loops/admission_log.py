"""All that was admitted to one stream, in the order of admission: a line of its own in the store, beside the snapshots.

A snapshot is a base, and the log has what came behind it. So a start goes through exactly what was admitted, in that order and under
the same versions, whatever it came from: a version names the same prefix before a crash and after it.

Batches are written in groups, each as one version of the line `STREAM/log`, which a store has wholly or not at all: a group of
which the end is torn was never written. Its page has the batches as they were encoded, one behind the other; its metadata says what
they are, which group stands before it, and up to where every source is then. Pages have checksums: what is damaged is refused.

Names of features are many, and batches do not need them, but points of other names are other points: each batch has a digest of them, and the first
group that is written with some has them as they are. Once they are in a base, the log may forget that one.

A source whose batches are numbered (`number`) has the newest number in every later group. So the newest group tells a repeated
batch, however much a base has let the log forget.
"""

from __future__ import annotations

import hashlib
import json
import threading
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import takewhile
from typing import Any, NamedTuple

from ..errors import InvalidArgument, StoreCorrupt
from ..records.edge_batch import EdgeBatch
from ..records.narrow_edges import LAYOUTS, NarrowEdges, decode_narrow, encode_narrow
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from ..storage import VersionedStore

_KEY = b"group"
_MOST_RECORDS = 1 << 16  # of a stretch; what a stream has room for at once
_LONG_LOG_RECORDS = 1 << 24  # some seconds to go through again, without a base
_LONG_LOG_GROUPS = 1 << 16  # likewise
# Of what a base of now would take, when that is written: with both bases beside it the store stays below 2.5 times that.
_SHARE_OF_BASE = 0.43
_UNTIL_WRITTEN = 0.15  # of it: for what comes until then, where nobody says how much
_SHORT_LOG_BYTES = 1 << 22  # however small the base is
_EDGE_BYTES = 12  # in a base, at least
_SIZE = 5  # where in an entry it stands
_UNNAMED_LAYOUT = 3  # members of a layout of points that is silent on their names: of a log as it was before
_CHECK = b', "check": '  # begins the last member of the metadata: the checksum of what it is without it
# What metadata has that may be without a checksum; a name that is none of these is one that was damaged.
_UNCHECKED = frozenset(
    {"stream", "entries", "checksum", "before", "records", "gained", "offsets", "numbers", "window", "left"}
)

WINDOW = "window"
"""The source that edges leave by, where a stream has a window."""


@dataclass(slots=True)
class LogEntry:
    """What made one version.

    Attributes
    ----------
    version
        Of the stream.
    source, offset
        Which source it is of, and what that has reached with it.
    batch
        Records; empty where the source has moved without one.
    number
        Of the batch, where its sender numbers them.
    left
        How many edges have left the window with it, all told; None: the stream has none.
    """

    version: int
    source: str
    offset: int
    batch: RecordBatch
    number: int | None = None
    left: int | None = None

    @property
    def offsets(self) -> dict[str, int]:
        """What its sources have reached with it."""
        return {self.source: self.offset} | ({} if self.left is None else {WINDOW: self.left})


class LogSize(NamedTuple):
    """What a group has.

    Attributes
    ----------
    records, size_bytes
        How many records, and what they take.
    """

    records: int = 0
    size_bytes: int = 0

    def with_(self, other: LogSize) -> LogSize:
        """Both together."""
        return LogSize(self.records + other.records, self.size_bytes + other.size_bytes)

    def without(self, other: LogSize) -> LogSize:
        """What is left of this one without another."""
        return self.with_(LogSize(-other.records, -other.size_bytes))


class LoggedStretch(NamedTuple):
    """Entries that stand one behind the other, as one batch, with what their sources have reached and the last version."""

    batch: RecordBatch
    offsets: dict[str, int]
    version: int


class AdmissionLog:
    """See the module. One writer at a time; readers need not wait for it.

    Parameters
    ----------
    store
        Not ours to close.
    stream
        Its name.
    """

    def __init__(self, store: VersionedStore, stream: str) -> None:
        self._store = store
        self._line = f"{stream}/log"
        self._stream = stream
        self._lock = threading.Lock()  # of the sizes, which a writer and who forgets have at once
        self._newest = -1
        self._offsets: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._sizes: dict[int, LogSize] = {}
        self._size = LogSize()
        self._window: dict[str, Any] | None = None
        # How the newest points are written, and the names of features that were written last.
        self._layout: list[Any] | None = None
        self._names: Sequence[str] | None = None
        for version in store.versions(self._line):
            metadata = self._metadata(version)
            self._window = metadata.get("window")
            self._newest, self._sizes[version] = version, _size_of(metadata)
            self._size = self._size.with_(self._sizes[version])
            self._offsets, self._numbers = metadata["offsets"], metadata["numbers"]
            self._note_points(metadata)

    @property
    def offsets(self) -> Mapping[str, int]:
        """Every source that was ever in it, with the offset that it has reached."""
        return self._offsets

    def number(self, source: str) -> int | None:
        """The number of the newest batch of a source, None where its sender numbers none."""
        return self._numbers.get(source)

    @property
    def window(self) -> Mapping[str, Any] | None:
        """What was said of the stream's window with the newest group; None where it had none."""
        return self._window

    @property
    def points(self) -> Points | None:
        """What the newest points in it were declared to be, with the names of their features where it has these; None where it has none."""
        return None if self._layout is None else self._points_of(self._layout)

    @property
    def declared_points(self) -> Points | None:
        """As `points`, where it is certain that it says all of it."""
        found = self.points
        return found if found is not None and _layout_of(found) == self._layout else None

    def _note_points(self, metadata: Mapping[str, Any]) -> None:
        layouts = [layout for _, _, _, _, layout, *_ in metadata["entries"] if isinstance(layout, list)]
        self._layout = layouts[-1] if layouts else self._layout
        self._names = metadata.get("names", self._names)

    def _points_of(self, layout: list[Any]) -> Points:
        """The points that are written so, with their names where these are known."""
        try:
            features, sparse, dtype = layout[:_UNNAMED_LAYOUT]
            is_named = self._names is not None and layout[_UNNAMED_LAYOUT:] == [_digest_of(self._names)]
            return Points(features, sparse, dtype, self._names if is_named else None)
        except (TypeError, ValueError) as error:
            raise StoreCorrupt(f"the log of stream {self._stream!r} has {layout!r} for points") from error

    @property
    def newest(self) -> int:
        """The last version of its newest group, -1 without one."""
        return self._newest

    @property
    def groups(self) -> list[int]:
        """The groups that it has, by their last versions, ascending."""
        with self._lock:
            return list(self._sizes)

    def groups_after(self, version: int) -> int:
        """How many groups stand behind a version: each takes its time, however little is in it."""
        with self._lock:
            return sum(1 for _ in self._behind(version))

    def is_long(
        self,
        version: int,
        base_records: int,
        base_bytes: int,
        *,
        held: int,
        coming: int | None = None,
    ) -> bool:
        """Whether so much stands behind a base that another one is worth its while.

        A start goes through all of it, and it takes room: what the log has must stay a share of what a base of now would take.

        Parameters
        ----------
        version
            Of the base; 0 where there is none.
        base_records, base_bytes
            How many edges and points it has, and what these take.
        held
            How many the stream has now. Records do not say that: one may take the place of others, or be a removal of none.
        coming
            How many bytes are going to be appended before this is asked again and while a base is written, about; None: unknown.
        """
        behind = self.size_after(version)
        record_bytes = base_bytes / base_records if base_records else _EDGE_BYTES
        now_bytes = held * record_bytes
        expected = _UNTIL_WRITTEN * now_bytes if coming is None else coming
        room_bytes = max(_SHORT_LOG_BYTES, (1 + _SHARE_OF_BASE) * now_bytes - base_bytes - expected)
        return (
            behind.records > max(_LONG_LOG_RECORDS - base_records // 2, base_records // 4)
            or behind.size_bytes > room_bytes
            or self.groups_after(version) > _LONG_LOG_GROUPS
        )

    def append(self, entries: Sequence[LogEntry], *, window: dict[str, Any] | None = None) -> None:
        """Make entries durable, all of them or none; their versions ascend.

        Parameters
        ----------
        window
            What there is to say of the stream's window behind them, as JSON has it.

        Raises
        ------
        StoreError
            When they cannot be written; the log is as it was.
        """
        offsets = dict(self._offsets)
        for entry in entries:
            offsets |= entry.offsets
        numbers = self._numbers | {
            entry.source: entry.number for entry in entries if entry.number is not None
        }
        written = [_encoded(entry.batch) for entry in entries]
        page = written[0][1] if len(written) == 1 else b"".join(own for _, own in written)
        records = sum(len(entry.batch) for entry in entries)
        metadata = {
            "stream": self._stream,
            "entries": [
                _written(entry, layout, len(own))
                for entry, (layout, own) in zip(entries, written, strict=True)
            ],
            "checksum": zlib.crc32(page),
            "before": self._newest,
            "records": records,
            "offsets": offsets,
            "numbers": numbers,
        }
        metadata |= {} if window is None else {"window": window}
        names = next(
            (entry.batch.points.names for entry in entries if isinstance(entry.batch, PointBatch)), None
        )
        if names is not None and list(names) != self._names:
            metadata["names"] = list(names)
        version = entries[-1].version
        self._store.write(self._line, version, {_KEY: page}, metadata=_checked(metadata))
        with self._lock:
            self._sizes[version] = LogSize(records, len(page))
            self._size = self._size.with_(self._sizes[version])
            self._newest, self._offsets, self._numbers, self._window = version, offsets, numbers, window
            self._note_points(metadata)

    @property
    def size(self) -> LogSize:
        """What all of it has."""
        return self._size

    def size_after(self, version: int) -> LogSize:
        """What stands behind a version; of a group in the middle of which it is, all."""
        with self._lock:
            return reduce(LogSize.with_, self._behind(version), LogSize())

    def _behind(self, version: int) -> Iterator[LogSize]:
        """What the groups behind a version have, the newest first; under the lock."""
        behind = takewhile(lambda item: item[0] > version, reversed(self._sizes.items()))
        return (size for _, size in behind)

    def replay(self, *, after: int, points: Points | None) -> Iterator[LogEntry]:
        """Iterate over what made the versions behind one, in order; nothing of that may be forgotten meanwhile.

        Parameters
        ----------
        after
            The version of the base that is gone on from; 0: there is none.
        points
            What the points of the stream are declared to be; None: it has none.

        Raises
        ------
        InvalidArgument
            When there are points that are not so declared.
        StoreCorrupt
            When a group is damaged, or missing, also between the base and the first one.
        """
        before: int | None = None
        # Others are not looked at: whoever stores a base may be letting go of them.
        for version in [one for one in self._store.versions(self._line) if one > after]:
            metadata = self._metadata(version)
            # Those before the first one may be forgotten, but only what a base has that is gone on from.
            is_gap = metadata["before"] > after if before is None else metadata["before"] != before
            if is_gap:
                raise self._corrupt(
                    version, f"stands behind version {metadata['before']}, which is not there"
                )
            before = version
            for entry in self._entries(version, metadata, points):
                if entry.version > after:
                    yield entry

    def read(self, version: int) -> list[LogEntry]:
        """Return the entries of a group of edges.

        Raises
        ------
        StoreCorrupt
            When it is damaged.
        """
        return list(self._entries(version, self._metadata(version), None))

    def forget(self, version: int) -> None:
        """Let go of the groups that a base of this version makes needless; the newest one stays, and says where all sources are."""
        with self._lock:
            needless = [one for one in self._sizes if one <= version and one != self._newest]
            # Before they are: where nobody hears the end of it they may be gone, and if not they go with the next ones.
            for one in needless:
                self._size = self._size.without(self._sizes.pop(one))
            kept = list(self._sizes)
        if needless:
            self._store.delete_before(self._line, min(kept))

    def _entries(self, version: int, metadata: dict[str, Any], points: Points | None) -> Iterator[LogEntry]:
        try:
            page = self._store.read(self._line, _KEY, version)
        except StoreCorrupt as error:
            raise self._corrupt(version, "is not what was written") from error
        if page is None or zlib.crc32(page) != metadata["checksum"]:
            raise self._corrupt(version, "is not what was written" if page is not None else "has no page")
        start = 0
        for own, source, offset, number, layout, size_bytes, *left in metadata["entries"]:
            kind = self._kind_of(layout, points, source)
            own_page = page[start : start + size_bytes]
            try:
                batch = (
                    decode_narrow(NarrowEdges(layout, own_page))
                    if layout in LAYOUTS
                    else kind.decode(own_page)
                )
            except ValueError as error:
                raise self._corrupt(version, f"has no batch of {kind.schema.kind}: {error}") from error
            start += size_bytes
            yield LogEntry(own, source, offset, batch, number, *left)

    def _kind_of(
        self, layout: list[Any] | str | None, points: Points | None, source: str
    ) -> type[RecordBatch]:
        """The class of batches that are written so: of points, or of edges where there is no layout."""
        if layout is None or layout in LAYOUTS:  # without one as logs had them before
            return EdgeBatch
        if isinstance(layout, str):
            raise StoreCorrupt(
                f"the log of stream {self._stream!r} has what {source!r} sent in the layout {layout!r}, which this program does not know",
                hint="A newer program has written it: start the stream with that one.",
            )
        if points is None or _layout_of(points)[: len(layout)] != layout:
            raise InvalidArgument(
                f"{source!r} has sent {self._points_of(layout)} to stream {self._stream!r} before it was restarted, and it has {points or 'no points'} now",
                hint="Declare the points as they were, or name another stream or an empty store.",
            )
        return PointBatch.kind_of(points)

    def _metadata(self, version: int) -> dict[str, Any]:
        text = self._store.metadata(self._line, version) or b""
        try:
            content = json.loads(text)
            content["entries"], content["before"], content["checksum"]
        except (ValueError, KeyError, TypeError) as error:
            raise self._corrupt(version, "does not say what is in it") from error
        if not _is_as_written(text, content):
            raise self._corrupt(version, "says something else of what is in it than was written")
        if content.get("stream", self._stream) != self._stream:
            raise self._corrupt(version, f"is one of stream {content['stream']!r}")
        return dict(content)

    def _corrupt(self, version: int, what: str) -> StoreCorrupt:
        newest = max(self._store.versions(self._stream), default=None)
        held = (
            "there is no snapshot"
            if newest is None
            else f"the newest snapshot, of version {newest}, is intact"
        )
        return StoreCorrupt(
            f"the log of stream {self._stream!r} is damaged: its group of version {version} {what}; {held}",
            hint="Begin with a backup of the store (`tornado backup`), or with an empty store.",
        )


def in_stretches(entries: Iterable[LogEntry], stops: Iterable[int] = ()) -> Iterator[LoggedStretch]:
    """Put entries that stand one behind the other together, as one batch of at most so many records and of one kind.

    Parameters
    ----------
    stops
        Versions, ascending, behind which another stretch begins.
    """
    parts: list[LogEntry] = []
    records, left = 0, deque(stops)
    for entry in entries:
        is_behind = bool(left) and entry.version > left[0]
        while left and entry.version > left[0]:
            left.popleft()
        is_other = bool(parts) and type(entry.batch) is not type(parts[0].batch)
        if parts and (is_behind or is_other or records >= _MOST_RECORDS):
            yield _joined(parts)
            parts, records = [], 0
        parts.append(entry)
        records += len(entry.batch)
    if parts:
        yield _joined(parts)


def _joined(parts: Sequence[LogEntry]) -> LoggedStretch:
    kind = type(parts[0].batch)
    batch = parts[0].batch if len(parts) == 1 else kind.concat(entry.batch for entry in parts)
    offsets = {source: offset for entry in parts for source, offset in entry.offsets.items()}
    return LoggedStretch(batch, offsets, parts[-1].version)


def _checked(metadata: dict[str, Any]) -> bytes:
    """Metadata as they are written: JSON, with a checksum of its own text in the end."""
    text = json.dumps(metadata).encode()
    return b"%b%b%d}" % (text[:-1], _CHECK, zlib.crc32(text))


def _is_as_written(text: bytes, metadata: Mapping[str, Any]) -> bool:
    """Whether metadata are what was written, as far as they say."""
    if "check" not in metadata:
        return metadata.keys() <= _UNCHECKED
    said, _, checksum = text.rpartition(_CHECK)
    return checksum == b"%d}" % zlib.crc32(said + b"}")


def _size_of(metadata: Mapping[str, Any]) -> LogSize:
    return LogSize(int(metadata["records"]), sum(entry[_SIZE] for entry in metadata["entries"]))


def _encoded(batch: RecordBatch) -> tuple[list[Any] | str | None, bytes]:
    """How a batch is written, and the page."""
    if isinstance(batch, PointBatch):
        return _layout_of(batch.points), batch.encode()
    assert isinstance(batch, EdgeBatch)
    narrow = encode_narrow(batch)
    return narrow.layout, narrow.page


def _written(entry: LogEntry, layout: list[Any] | str | None, size_bytes: int) -> list[Any]:
    left = [] if entry.left is None else [entry.left]
    return [entry.version, entry.source, entry.offset, entry.number, layout, size_bytes, *left]


@lru_cache(maxsize=16)
def _layout_of(points: Points) -> list[Any]:
    """What says how a batch is written, and a digest of what its features are called."""
    return [points.features, points.sparse, points.value_type.name, _digest_of(points.names)]


def _digest_of(names: Sequence[str] | None) -> str | None:
    return None if names is None else hashlib.blake2b(json.dumps(names).encode(), digest_size=8).hexdigest()
