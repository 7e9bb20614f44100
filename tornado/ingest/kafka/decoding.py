"""The values of a chunk of messages, decoded at once: JSON and CSV by the compiled tokenizers, Arrow by whole tables.

A message holds any number of records: lines of JSON objects or CSV, or the rows of an Arrow stream. A record that cannot be an
edge is rejected alone, with the offset of its message and, where that has several, its place in it. A message without a record
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

from ...config import MESSAGE_LIMIT_BYTES, MESSAGE_LIMIT_RECORDS
from ...errors import InvalidArgument
from ..arrow import parse_table, read_table
from ..arrow_bounds import Bounds
from ..assembly import Lines, both_ways
from ..blocks import count_line_ends
from ..interner import Draft, Interner
from ..layout import Layout, TextFormat
from ..line_finder import find_lines
from ..ndjson import parse_object_lines
from ..parsed import ParsedBatch, Rejection
from ..text import parse_text_lines
from .settings import KafkaSettings, ValueFormat
from .wire import Omission

MAX_LINE_BYTES: Final = 65_536
# Enough for what a rejection keeps.
_SHOWN_BYTES: Final = 8192
MESSAGE: Final = Bounds(MESSAGE_LIMIT_BYTES, MESSAGE_LIMIT_RECORDS)
"""The most that one message may be; about as much is decoded at once."""
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
    parsed : ParsedBatch
        Positions count the records of the chunk from 1.
    owners : int64[parsed.records]
        The message, counted from 0, that each record is of.
    offsets : int64[n]
        Offsets of the messages.
    unread : tuple of Rejection
        Messages without a record, by offset.
    """

    parsed: ParsedBatch
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
    interner : Interner, optional
        Ids are strings, each chunk has a draft of those that are new; without it they are integers.
    """

    def __init__(self, settings: KafkaSettings, *, interner: Interner | None = None) -> None:
        self._interner = interner
        self._undirected = settings.undirected
        self._key = settings.dedup_key
        self._times = settings.times
        self._parse: Callable[[Chunk], Decoded]
        if settings.value_format is ValueFormat.ARROW:
            self._parse = self._parse_tables
        else:
            self._parse = self._parse_lines
        self._layout = None
        if settings.value_format is ValueFormat.CSV:
            # There is no first line to guess from: any message may be the first one after a restart.
            wanted = TextFormat(
                columns=settings.columns,
                separator=",",
                header=False,
                max_line_bytes=MAX_LINE_BYTES,
                key=self._key,
                times=self._times,
            )
            self._layout = Layout.detect(b"", wanted, string_ids=interner is not None).line

    def decode(self, chunk: Chunk) -> Decoded:
        """Decode a chunk of at least one message, as many of the first ones as are taken at once."""
        return self._parse(chunk)

    def _parse_lines(self, chunk: Chunk) -> Decoded:
        if count_line_ends(chunk.body) > MESSAGE.records:
            lines_of = _lines_of(chunk)
            if lines_of[0] > MESSAGE.records:
                reason = f"the message has {lines_of[0]} lines, more than the {MESSAGE.records} records taken at once"
                return _all_unread(chunk.first(1), reason)
            chunk = chunk.first(int(np.searchsorted(np.cumsum(lines_of), MESSAGE.records, side="right")))
        first, last, _, _ = find_lines(np.frombuffer(chunk.body, np.uint8), 1, MAX_LINE_BYTES, False)
        owners = np.searchsorted(chunk.starts(), first, side="right") - 1
        lines = Lines(chunk.body, first, last, np.arange(1, len(first) + 1), MAX_LINE_BYTES)
        names = self._draft()
        if self._layout is None:
            parsed = parse_object_lines(
                lines, interner=names, undirected=self._undirected, key=self._key, times=self._times
            )
        else:
            parsed = parse_text_lines(lines, self._layout, interner=names, undirected=self._undirected)
        empty = np.flatnonzero(np.bincount(owners, minlength=len(chunk)) == 0)
        return Decoded(parsed, owners, chunk.offsets, tuple(_without_record(chunk, empty)))

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
            if rows >= MESSAGE.records or size_bytes >= MESSAGE.size_bytes:
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
        parsed = ParsedBatch.concat(parts)
        if self._undirected:
            parsed = both_ways(parsed)
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
    ) -> tuple[list[ParsedBatch], list[tuple[int, int]]]:
        """Parse tables, as many as follow each other with one schema at a time; return the parts, and rows by message."""
        starts = chunk.starts()
        names = self._draft()
        parts: list[ParsedBatch] = []
        kept: list[tuple[int, int]] = []
        for low, high in _runs(tables):
            try:
                parts.append(self._parse_table(pa.concat_tables(tables[low:high]), names))
                kept += [(owners[at], tables[at].num_rows) for at in range(low, high)]
            except InvalidArgument:
                # At least one of them is at fault: each alone, to find out which.
                for at in range(low, high):
                    owner = owners[at]
                    try:
                        parts.append(self._parse_table(tables[at], names))
                        kept.append((owner, tables[at].num_rows))
                    except InvalidArgument as error:
                        unread.append(
                            _unreadable(chunk, owner, view[starts[owner] : starts[owner + 1] - 1], error)
                        )
        return parts, kept

    def _parse_table(self, table: pa.Table, names: Draft | None) -> ParsedBatch:
        return parse_table(table, interner=names, key=self._key, times=self._times, bounds=MESSAGE)

    def _draft(self) -> Draft | None:
        return None if self._interner is None else Draft(self._interner)


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


def _all_unread(chunk: Chunk, reason: str) -> Decoded:
    """Reject whole messages."""
    unread = tuple(
        Rejection.of(int(offset), chunk.body[start : stop - 1][:_SHOWN_BYTES], reason)
        for offset, (start, stop) in zip(chunk.offsets, pairwise(chunk.starts().tolist()), strict=True)
    )
    return Decoded(ParsedBatch.concat([]), np.empty(0, np.int64), chunk.offsets, unread)


def _unreadable(chunk: Chunk, index: int, value: memoryview, error: InvalidArgument) -> Rejection:
    reason = error.message.replace("the body is", "the value is")
    return Rejection.of(int(chunk.offsets[index]), bytes(value[:_SHOWN_BYTES]), reason)
