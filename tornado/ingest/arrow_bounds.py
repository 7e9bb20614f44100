"""What an Arrow IPC stream takes once it is unpacked, read from the headers of its messages before anything is.

Some kilobytes can stand for gigabytes: buffers are compressed, columns of type null have rows without bytes, a delta adds to a
dictionary that is then there twice. Each header says how many rows its message has and where its buffers are, and a compressed
buffer begins with its unpacked length (Arrow columnar format, "Encapsulated message format" and `Message.fbs`). Arrow refuses a
header that is no whole flatbuffer and a buffer that unpacks to another length, so nothing takes more than is found here.

Guarantees: nothing is unpacked or copied, and a stream is given up at the first message that is beyond the bounds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from ..config import BODY_LIMIT_RECORDS, UNPACKED_LIMIT_BYTES
from ..errors import BodyTooLarge, InvalidArgument

Bytes = bytes | memoryview

# Arrow's own objects for a column are some twenty times as large as its description in a header.
_HEADER_FACTOR: Final = 20
_CONTINUED: Final = 0xFFFFFFFF
# Kinds of messages, and the fields of what is in them.
_DICTIONARY, _BATCH = 2, 3
_KIND, _CONTENT, _BODY_LENGTH, _METADATA = 1, 2, 3, 4
_ROWS, _BUFFERS, _COMPRESSION = 0, 2, 3
_NUMBER, _DATA, _IS_DELTA = 0, 1, 2
_PREFIX_BYTES: Final = 8
# How streams of before 2020 say that their buffers are compressed.
_COMPRESSED: Final = b"ARROW:experimental_compression"
_FIELDS_BYTES: Final = 4

_int64 = struct.Struct("<q").unpack_from
_int32 = struct.Struct("<i").unpack_from
_uint32 = struct.Struct("<I").unpack_from
_uint16 = struct.Struct("<H").unpack_from
_PLACE: Final = struct.Struct("<qq")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that one body or message may be, once it is unpacked."""

    size_bytes: int
    records: int


BODY: Final = Bounds(UNPACKED_LIMIT_BYTES, BODY_LIMIT_RECORDS)
"""What is pushed at once, and a chunk of a part of a batch."""


def no_stream(error: Exception) -> InvalidArgument:
    """Return what is said of bytes that are no Arrow stream, or only the beginning of one."""
    return InvalidArgument(
        f"the body is no whole Arrow IPC stream: {error}", hint="Send it again; none of it was taken."
    )


def check_bounds(body: Bytes, bounds: Bounds) -> None:
    """Refuse a stream that is too large once it is unpacked.

    Raises
    ------
    BodyTooLarge
        It has more rows, or takes more memory, than it may.
    InvalidArgument
        It is no Arrow stream. Where this is not raised it may still be none.
    """
    meter = _Meter(bounds)
    try:
        _walk(body, meter)
    except (struct.error, IndexError, OverflowError) as error:
        raise no_stream(error) from error


def _walk(body: Bytes, meter: _Meter) -> None:
    start = 0
    end = len(body)
    while end - start >= _PREFIX_BYTES:
        (header_bytes,) = _uint32(body, start)
        start += 4
        # Streams of before 2019 have no sign that a message goes on.
        if header_bytes == _CONTINUED:
            (header_bytes,) = _uint32(body, start)
            start += 4
        if not header_bytes or start + header_bytes > end:
            return
        meter.take(0, _HEADER_FACTOR * header_bytes)
        message = start + _uint32(body, start)[0]
        kind, place = _field(body, message, _KIND), _field(body, message, _BODY_LENGTH)
        content = start + header_bytes
        if kind and body[kind] in {_DICTIONARY, _BATCH}:
            table = _follow(body, _field(body, message, _CONTENT))
            said = _field(body, message, _METADATA) and _COMPRESSED in bytes(body[start:content])
            if body[kind] == _BATCH:
                meter.take(*_unpacked(body, table, content, is_compressed=bool(said)))
            else:
                meter.dictionary(body, table, content, is_compressed=bool(said))
        body_bytes = _int64(body, place)[0] if place else 0
        if body_bytes < 0:
            raise struct.error(f"a message of {body_bytes} bytes")
        start = content + body_bytes


class _Meter:
    """Adds up what the messages of one stream take."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._size_bytes = self._records = 0
        self._dictionaries: dict[int, tuple[int, int]] = {}

    def take(self, records: int, size_bytes: int) -> None:
        self._records += records
        self._size_bytes += size_bytes
        if self._records > self._bounds.records:
            raise BodyTooLarge(
                f"the body is larger than the {self._bounds.records} records taken at once: its batches have at least "
                f"{self._records} rows"
            )
        if self._size_bytes > self._bounds.size_bytes:
            raise BodyTooLarge(
                f"the body is larger than the {self._bounds.size_bytes} bytes taken at once: it unpacks to at least "
                f"{self._size_bytes}"
            )

    def dictionary(self, body: Bytes, table: int, content: int, *, is_compressed: bool) -> None:
        batch = _follow(body, _field(body, table, _DATA))
        records, size_bytes = _unpacked(body, batch, content, is_compressed=is_compressed)
        place, delta = _field(body, table, _NUMBER), _field(body, table, _IS_DELTA)
        number = _int64(body, place)[0] if place else 0
        if delta and body[delta]:
            # The batches before it keep the dictionary as it was, those behind it have one of their own.
            before = self._dictionaries.get(number, (0, 0))
            records, size_bytes = records + before[0], size_bytes + before[1]
        self._dictionaries[number] = records, size_bytes
        self.take(records, size_bytes)


def _unpacked(body: Bytes, batch: int, content: int, *, is_compressed: bool) -> tuple[int, int]:
    """How many rows a record batch has, and what its buffers take; those that are not compressed count as well."""
    place = _field(body, batch, _ROWS)
    records = _int64(body, place)[0] if place else 0
    if records < 0:
        raise struct.error(f"a batch of {records} rows")
    place = _field(body, batch, _BUFFERS)
    if not place:
        return records, 0
    vector = _follow(body, place)
    first = vector + 4
    places = _PLACE.iter_unpack(body[first : first + _PLACE.size * _uint32(body, vector)[0]])
    if not (is_compressed or _field(body, batch, _COMPRESSION)):
        return records, sum(max(size, 0) for _, size in places)
    total = 0
    for offset, size in places:
        if size >= _PREFIX_BYTES:
            # Minus one stands before bytes that were no shorter when compressed.
            total += max(size - _PREFIX_BYTES, _int64(body, content + offset)[0])
    return records, total


def _field(body: Bytes, table: int, field: int) -> int:
    """Where a field of a table of a flatbuffer is; 0 where it is left out, and has its default."""
    fields = table - _int32(body, table)[0]
    entry = _FIELDS_BYTES + 2 * field
    if entry >= _uint16(body, fields)[0]:
        return 0
    place: int = _uint16(body, fields + entry)[0]
    return table + place if place else 0


def _follow(body: Bytes, place: int) -> int:
    """Where the table or vector is that a field refers to."""
    if not place:
        raise struct.error("a message without content")
    target: int = place + _uint32(body, place)[0]
    return target
