"""The values of a chunk of messages, decoded at once: JSON and CSV by the compiled tokenizers, Arrow by whole tables.

A message holds any number of records: lines of JSON objects or CSV, or the rows of an Arrow stream. A record that cannot be an
edge is rejected alone, with the offset of its message and, where that has several, its place in it. A message without a record
(no value at all, an empty one, an Arrow stream without rows) and one that cannot be read counts as one rejected record.

Guarantees: the order of messages and of records in them is kept; no value makes decoding fail; ids never pass through a float.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...errors import InvalidArgument
from ..arrow import parse_table, read_table
from ..assembly import Lines, both_ways
from ..interner import Interner
from ..layout import Layout, TextFormat
from ..ndjson import parse_object_lines
from ..parsed import ParsedBatch, Rejection
from ..records import EdgeBatch
from ..text import parse_text_lines
from ..tokenizer import find_lines
from .settings import KafkaSettings, ValueFormat

MAX_LINE_BYTES: Final = 65_536
_NO_VALUE: Final = "the message has no value (a tombstone)"
_EMPTY: Final = "the message has no records"


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
        Bytes of each value; -1 where there is none.
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
    """A chunk, decoded.

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
        Ids are strings and become numbers here; without it they are integers.
    """

    def __init__(self, settings: KafkaSettings, *, interner: Interner | None = None) -> None:
        self._interner = interner
        self._undirected = settings.undirected
        self._key = settings.dedup_key
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
            )
            self._layout = Layout.detect(b"", wanted, string_ids=interner is not None).line

    def decode(self, chunk: Chunk) -> Decoded:
        """Decode a chunk of at least one message."""
        return self._parse(chunk)

    def _parse_lines(self, chunk: Chunk) -> Decoded:
        first, last, _, _ = find_lines(np.frombuffer(chunk.body, np.uint8), 1, MAX_LINE_BYTES, False)
        owners = np.searchsorted(chunk.starts(), first, side="right") - 1
        lines = Lines(chunk.body, first, last, np.arange(1, len(first) + 1), MAX_LINE_BYTES)
        if self._layout is None:
            parsed = parse_object_lines(
                lines, interner=self._interner, undirected=self._undirected, key=self._key
            )
        else:
            parsed = parse_text_lines(
                lines, self._layout, interner=self._interner, undirected=self._undirected
            )
        empty = np.flatnonzero(np.bincount(owners, minlength=len(chunk)) == 0)
        return Decoded(parsed, owners, chunk.offsets, tuple(_without_record(chunk, empty)))

    def _parse_tables(self, chunk: Chunk) -> Decoded:
        tables: list[pa.Table] = []
        owners: list[int] = []
        unread: list[Rejection] = []
        view = memoryview(chunk.body)
        for index, (start, stop) in enumerate(pairwise(chunk.starts().tolist())):
            value = view[start : stop - 1]
            if not len(value):
                unread += _without_record(chunk, [index])
                continue
            try:
                # A copy, because columns of a table that begins at any byte would not be aligned.
                table = read_table(bytes(value))
            except InvalidArgument as error:
                unread.append(_unreadable(chunk, index, value, error))
                continue
            if not table.num_rows:
                unread.append(Rejection(int(chunk.offsets[index]), "", _EMPTY))
                continue
            tables.append(table)
            owners.append(index)
        parts, kept = self._parse_runs(chunk, tables, owners, unread, view)
        parsed = _joined(parts)
        if self._undirected:
            parsed = both_ways(parsed)
        counts = [count for _, count in kept]
        rows = np.repeat(np.array([owner for owner, _ in kept], np.int64), np.array(counts, np.int64))
        unread.sort(key=lambda rejection: rejection.position)
        return Decoded(parsed, rows, chunk.offsets, tuple(unread))

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
        parts: list[ParsedBatch] = []
        kept: list[tuple[int, int]] = []
        for low, high in _runs(tables):
            try:
                parts.append(self._parse_table(pa.concat_tables(tables[low:high])))
                kept += [(owners[at], tables[at].num_rows) for at in range(low, high)]
            except InvalidArgument:
                # At least one of them is at fault: each alone, to find out which.
                for at in range(low, high):
                    owner = owners[at]
                    try:
                        parts.append(self._parse_table(tables[at]))
                        kept.append((owner, tables[at].num_rows))
                    except InvalidArgument as error:
                        unread.append(
                            _unreadable(chunk, owner, view[starts[owner] : starts[owner + 1] - 1], error)
                        )
        return parts, kept

    def _parse_table(self, table: pa.Table) -> ParsedBatch:
        return parse_table(table, interner=self._interner, key=self._key)


def _runs(tables: list[pa.Table]) -> list[tuple[int, int]]:
    """Stretches of tables with one schema."""
    bounds = [
        at
        for at in range(1, len(tables))
        if not tables[at].schema.equals(tables[at - 1].schema, check_metadata=False)
    ]
    return list(pairwise([0, *bounds, len(tables)])) if tables else []


def _joined(parts: list[ParsedBatch]) -> ParsedBatch:
    """One batch of several that follow each other, their positions counted through."""
    if len(parts) == 1:
        return parts[0]
    firsts = [0]
    for part in parts:
        firsts.append(firsts[-1] + part.records)
    moved = [part.shifted(first) for part, first in zip(parts, firsts, strict=False)]

    def text_of(position: int) -> bytes | str:
        at = int(np.searchsorted(firsts, position)) - 1
        return moved[at].text_of(position)

    return ParsedBatch(
        EdgeBatch.concat(part.batch for part in moved),
        firsts[-1],
        firsts[-1],
        np.concatenate([np.empty(0, np.int64), *(part.positions for part in moved)]).astype(np.int64),
        tuple(rejection for part in moved for rejection in part.rejected),
        text_of,
        None if any(part.keys is None for part in parts) else _joined_keys([part.keys for part in parts]),
    )


def _joined_keys(parts: list[pa.LargeStringArray]) -> pa.LargeStringArray:
    return pa.concat_arrays([pa.array([], pa.large_string()), *parts])


def _without_record(chunk: Chunk, indices: NDArray[np.int64] | list[int]) -> list[Rejection]:
    return [
        Rejection(int(chunk.offsets[index]), "", _NO_VALUE if chunk.sizes[index] < 0 else _EMPTY)
        for index in indices
    ]


def _unreadable(chunk: Chunk, index: int, value: memoryview, error: InvalidArgument) -> Rejection:
    reason = error.message.replace("the body is", "the value is")
    # What is read is enough for what a rejection keeps.
    return Rejection.of(int(chunk.offsets[index]), bytes(value[:8192]), reason)
