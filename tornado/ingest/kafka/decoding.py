"""The values of a chunk of messages, decoded at once: lines of JSON and CSV, and Arrow by whole tables.

A message holds any number of records: lines of JSON objects or CSV, or the rows of an Arrow stream. A record that cannot be an
edge, or a point, is rejected alone, with the offset of its message and, where that has several, its place in it. A message without a record
(no value at all, an empty one, an Arrow stream without rows) and one that cannot be read, or is too large once it is unpacked,
counts as one rejected record.

Guarantees: the order of messages and of records in them is kept; no value makes decoding fail; ids never pass through a float;
what is decoded at once is bounded, whatever the messages unpack to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...config import MESSAGE_LIMIT_BYTES
from ...errors import InvalidArgument
from ...records.point_schema import Points
from ...records.record_batch import RecordBatch
from ..arrow import read_table
from ..assembly import Lines
from ..blocks import count_line_ends
from ..interner import Draft, Interner
from ..line_finder import find_lines
from ..parsed import ParsedRecords, Rejection
from .point_values import PointValues
from .settings import KafkaSettings, ValueFormat, source_name
from .values import MESSAGE, EdgeValues, MessageOrigin, MessageValues
from .wire import Omission

# Enough for what a rejection keeps.
_SHOWN_BYTES: Final = 8192
_SHARED: Final = -1
_NO_OWNERS: Final = np.empty(0, np.int64)
_NO_VALUE: Final = "the message has no value (a tombstone)"
_EMPTY: Final = "the message has no records"
_OMITTED: Final = {
    Omission.TOO_LARGE: f"the message is larger than the {MESSAGE_LIMIT_BYTES} bytes taken at once",
    Omission.REST_OF_BATCH: "its batch of messages unpacks to more than is looked through of one: this message and those "
    "behind it in the batch are left out",
}


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Messages of one partition.

    Attributes
    ----------
    partition : int
        Its number.
    offsets : int64[n]
        Their offsets, ascending.
    sizes : int32[n]
        Bytes of each value; -1 where there is none, or an `Omission`.
    body : bytes
        The values, each followed by a line end.
    """

    partition: int
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int32]
    body: bytes

    @classmethod
    def of_payload(cls, partition: int, count: int, payload: bytes) -> Self:
        """Take a payload of `wire.py` apart; only the values are copied."""
        offsets = np.frombuffer(payload, np.int64, count)
        sizes = np.frombuffer(payload, np.int32, count, offsets.nbytes)
        return cls(partition, offsets, sizes, payload[offsets.nbytes + sizes.nbytes :])

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def next_offset(self) -> int:
        """The one behind the last message."""
        return int(self.offsets[-1]) + 1

    def starts(self) -> NDArray[np.int64]:
        """Where each value begins, and where one more would: int64[n + 1]."""
        starts = np.zeros(len(self) + 1, np.int64)
        np.cumsum(np.maximum(self.sizes, 0).astype(np.int64) + 1, out=starts[1:])
        return starts

    def since(self, offset: int) -> Chunk:
        """The messages from an offset on: a broker may deliver what was asked for with more before it."""
        return self._part(int(np.searchsorted(self.offsets, offset)), len(self))

    def first(self, count: int) -> Chunk:
        """So many messages from its start."""
        return self._part(0, count)

    def before(self, offset: int) -> Chunk:
        """The messages before an offset."""
        return self._part(0, int(np.searchsorted(self.offsets, offset)))

    def _part(self, low: int, high: int) -> Chunk:
        if high - low == len(self):
            return self
        start, stop = self.starts()[[low, high]].tolist()
        return Chunk(self.partition, self.offsets[low:high], self.sizes[low:high], self.body[start:stop])


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """A chunk or the first messages of it, decoded.

    Attributes
    ----------
    parsed : ParsedBatch or ParsedPoints
        Positions count the records of the chunk from 1.
    owners : int64[parsed.records]
        The message, counted from 0, that each record is of.
    offsets : int64[n]
        Offsets of the messages.
    unread : tuple of Rejection
        Messages without a record, by offset.
    """

    parsed: ParsedRecords[RecordBatch]
    owners: NDArray[np.int64]
    offsets: NDArray[np.int64]
    unread: tuple[Rejection, ...]

    @property
    def records(self) -> int:
        """How many records, rejected ones included."""
        return self.parsed.records + len(self.unread)

    @property
    def next_offset(self) -> int:
        """The one behind the last message."""
        return int(self.offsets[-1]) + 1

    def rejected(self) -> list[Rejection]:
        """All rejections in order; their position is the offset of the message."""
        found = [self._at_offset(rejection) for rejection in self.parsed.rejected]
        if self.unread:
            found = sorted([*found, *self.unread], key=lambda rejection: rejection.position)
        return found

    def without(self, bad: NDArray[np.bool_], reason: str) -> Decoded:
        """Reject the records of the edges that `bad` marks; see `ParsedBatch.without`."""
        return replace(self, parsed=self.parsed.without(bad, reason))

    def _at_offset(self, rejection: Rejection) -> Rejection:
        index = rejection.position - 1
        owner = self.owners[index]
        first, behind = np.searchsorted(self.owners, [owner, owner + 1])
        reason = rejection.reason
        if behind - first > 1:
            reason = f"record {index - first + 1} of {behind - first}: {reason}"
        return Rejection(int(self.offsets[owner]), rejection.record, reason)


class Decoder:
    """Decodes the chunks of one topic.

    Parameters
    ----------
    settings : KafkaSettings
        The format, and what belongs to it.
    points : Points, optional
        What the points are that messages have; left out, they have edges.
    interner : Interner, optional
        Ids are strings, each chunk has a draft of those that are new; without it they are integers.
    """

    def __init__(
        self, settings: KafkaSettings, *, points: Points | None = None, interner: Interner | None = None
    ) -> None:
        self._topic = settings.topic
        self._values: MessageValues = (
            EdgeValues(settings, interner) if points is None else PointValues(settings, points, interner)
        )
        is_arrow = settings.value_format is ValueFormat.ARROW
        self._parse: Callable[[Chunk], Decoded] = self._parse_tables if is_arrow else self._parse_lines

    def decode(self, chunk: Chunk) -> Decoded:
        """Decode a chunk of at least one message, as many of the first ones as are taken at once."""
        return self._parse(chunk)

    def _parse_lines(self, chunk: Chunk) -> Decoded:
        most, limit = self._values.most_records, self._values.max_line_bytes
        if count_line_ends(chunk.body) > most:
            lines_of = _lines_of(chunk)
            if lines_of[0] > most:
                reason = f"the message has {lines_of[0]} lines, more than the {most} records taken at once"
                return Decoded(
                    self._values.concat([]),
                    _NO_OWNERS,
                    chunk.offsets[:1],
                    _all_unread(chunk.first(1), reason),
                )
            chunk = chunk.first(int(np.searchsorted(np.cumsum(lines_of), most, side="right")))
        first, last, _, _ = find_lines(np.frombuffer(chunk.body, np.uint8), 1, limit, False)
        owners = np.searchsorted(chunk.starts(), first, side="right") - 1
        lines = Lines(chunk.body, first, last, np.arange(1, len(first) + 1), limit)
        counts = np.bincount(owners, minlength=len(chunk))
        places = np.where(counts[owners] == 1, chunk.offsets[owners], _SHARED)
        parsed = self._values.of_lines(lines, self._origin(chunk, places), self._values.draft())
        return Decoded(
            parsed, owners, chunk.offsets, tuple(_without_record(chunk, np.flatnonzero(counts == 0)))
        )

    def _parse_tables(self, chunk: Chunk) -> Decoded:
        tables: list[pa.Table] = []
        owners: list[int] = []
        unread: list[Rejection] = []
        view = memoryview(chunk.body)
        rows = size_bytes = 0
        for index, (start, stop) in enumerate(pairwise(chunk.starts().tolist())):
            value = view[start : stop - 1]
            if not len(value):
                unread += _without_record(chunk, [index])
                continue
            if rows >= self._values.most_records or size_bytes >= MESSAGE.size_bytes:
                # Enough for now: before the next one is unpacked.
                chunk = chunk.first(index)
                break
            try:
                # A copy, because columns of a table that begins at any byte would not be aligned.
                table = read_table(bytes(value), bounds=MESSAGE)
            except InvalidArgument as error:
                unread.append(_unreadable(chunk, index, value, error))
                continue
            if not table.num_rows:
                unread.append(Rejection(int(chunk.offsets[index]), "", _EMPTY))
                continue
            tables.append(table)
            owners.append(index)
            rows, size_bytes = rows + table.num_rows, size_bytes + table.nbytes
        parts, kept = self._parse_runs(chunk, tables, owners, unread, view)
        parsed = self._values.concat(parts)
        counts = [count for _, count in kept]
        owner_of = np.repeat(np.array([owner for owner, _ in kept], np.int64), np.array(counts, np.int64))
        unread.sort(key=lambda rejection: rejection.position)
        return Decoded(parsed, owner_of, chunk.offsets, tuple(unread))

    def _parse_runs(
        self,
        chunk: Chunk,
        tables: list[pa.Table],
        owners: list[int],
        unread: list[Rejection],
        view: memoryview,
    ) -> tuple[list[ParsedRecords[RecordBatch]], list[tuple[int, int]]]:
        """Parse tables, as many as follow each other with one schema at a time; return the parts, and rows by message."""
        starts = chunk.starts()
        names = self._values.draft()
        parts: list[ParsedRecords[RecordBatch]] = []
        kept: list[tuple[int, int]] = []
        for low, high in _runs(tables):
            try:
                parts.append(self._parse_table(chunk, tables[low:high], owners[low:high], names))
                kept += [(owners[at], tables[at].num_rows) for at in range(low, high)]
            except InvalidArgument:
                # At least one of them is at fault: each alone, to find out which.
                for at in range(low, high):
                    owner = owners[at]
                    try:
                        parts.append(self._parse_table(chunk, [tables[at]], [owner], names))
                        kept.append((owner, tables[at].num_rows))
                    except InvalidArgument as error:
                        unread.append(
                            _unreadable(chunk, owner, view[starts[owner] : starts[owner + 1] - 1], error)
                        )
        return parts, kept

    def _parse_table(
        self, chunk: Chunk, tables: list[pa.Table], owners: list[int], names: Draft | None
    ) -> ParsedRecords[RecordBatch]:
        """Parse some tables as one."""
        places = [
            chunk.offsets[owner] if len(table) == 1 else _SHARED
            for table, owner in zip(tables, owners, strict=True)
        ]
        of_rows = np.repeat(np.array(places, np.int64), [len(table) for table in tables])
        return self._values.of_table(pa.concat_tables(tables), self._origin(chunk, of_rows), names)

    def _origin(self, chunk: Chunk, places: NDArray[np.int64]) -> MessageOrigin:
        return MessageOrigin(source_name(self._topic, chunk.partition), places)


def _runs(tables: list[pa.Table]) -> list[tuple[int, int]]:
    """Stretches of tables with one schema."""
    bounds = [
        at
        for at in range(1, len(tables))
        if not tables[at].schema.equals(tables[at - 1].schema, check_metadata=False)
    ]
    return list(pairwise([0, *bounds, len(tables)])) if tables else []


def _without_record(chunk: Chunk, indices: NDArray[np.int64] | list[int]) -> list[Rejection]:
    return [
        Rejection(
            int(chunk.offsets[index]),
            "",
            _EMPTY if size >= 0 else _OMITTED[Omission(size)] if size < -1 else _NO_VALUE,
        )
        for index, size in ((index, int(chunk.sizes[index])) for index in indices)
    ]


def _lines_of(chunk: Chunk) -> NDArray[np.int64]:
    """How many lines each message has, empty ones as well."""
    ends = np.flatnonzero(np.frombuffer(chunk.body, np.uint8) == ord("\n"))
    return np.diff(np.searchsorted(ends, chunk.starts())).astype(np.int64)


def _all_unread(chunk: Chunk, reason: str) -> tuple[Rejection, ...]:
    """Reject whole messages."""
    return tuple(
        Rejection.of(int(offset), chunk.body[start : stop - 1][:_SHOWN_BYTES], reason)
        for offset, (start, stop) in zip(chunk.offsets, pairwise(chunk.starts().tolist()), strict=True)
    )


def _unreadable(chunk: Chunk, index: int, value: memoryview, error: InvalidArgument) -> Rejection:
    reason = error.message.replace("the body is", "the value is")
    return Rejection.of(int(chunk.offsets[index]), bytes(value[:_SHOWN_BYTES]), reason)
