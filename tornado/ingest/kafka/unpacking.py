"""Batches of messages, unpacked within bounds: some kilobytes that a producer has compressed can stand for gigabytes.

The client library unpacks a batch as a whole, and returns as many messages at once as it is asked for, however large they are.
Here a batch is unpacked piece by piece. Where it is larger than a few megabytes it is never there as a whole: it is read message
by message, and one that is too large is passed over. Such a message is handed over without its value, and with the reason.

Guarantees: neither a batch, nor one message, nor those that one `poll` returns take more than a small multiple of the bounds;
messages keep their order and offsets, and none is left out without a word. Left out on purpose: batches of before Kafka 0.11,
which brokers no longer hand out as they are.
"""
# ruff: noqa: SLF001  the library has no other place where what it unpacks could be bounded

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from ...config import MEBIBYTE, MESSAGE_LIMIT_BYTES
from .library import (
    CorruptRecordError,
    DefaultRecord,
    DefaultRecordBatch,
    Fetcher,
    KafkaConsumer,
    UnsupportedCodecError,
    codecs,
    decode_varint,
)
from .wire import Omission

POLL_BYTES: Final = 8 * MEBIBYTE
"""About so much one `poll` returns; one message more where that is large."""

BATCH_LIMIT_BYTES: Final = 1024 * MEBIBYTE
"""So much of a batch is looked through, unpacked, before the rest of it is given up."""

# What is larger is read message by message: the headers of one can take thirty times as much memory as they have bytes.
_WHOLE_BYTES: Final = 4 * MEBIBYTE
_PIECE_BYTES: Final = MEBIBYTE
_STEP_BYTES: Final = 64 << 10
_WINDOW_BYTES: Final = 128 * MEBIBYTE
# Four numbers stand before the key of a message; none has more than ten bytes.
_PREFIX_BYTES: Final = 40
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_BYTES: Final = 16


class _PollFull(Exception):
    """Ends a poll that has brought enough."""


class _TooFar(Exception):
    """Ends the look at a batch that goes on behind what is looked through of one."""


class BoundedPolls:
    """Polls a consumer within bounds.

    Parameters
    ----------
    consumer : KafkaConsumer
        From now on it unpacks what it fetches as is said above.
    """

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer
        self._size_bytes = 0
        self._omitted: dict[tuple[int, int], Omission] = {}
        # The library asks its fetcher for this class whenever a partition's messages have come.
        consumer._fetcher.PartitionRecords = self._partition_messages()

    def poll(self, *, timeout_ms: int, max_records: int) -> dict[Any, list[Any]]:
        """Return messages by partition; raises what the library does."""
        while True:
            self._size_bytes = 0
            try:
                return self._consumer.poll(timeout_ms=timeout_ms, max_records=max_records) or {}
            except _PollFull:
                # The library keeps what ended a poll for the next one, and goes on behind it.
                continue

    def sizes(self, partition: int, messages: Sequence[Any]) -> list[int]:
        """The size of each message's value; negative where it has none, or an `Omission` where it is left out."""
        sizes = [-1 if message.value is None else len(message.value) for message in messages]
        if self._omitted:
            for place, message in enumerate(messages):
                sizes[place] = self._omitted.pop((partition, message.offset), sizes[place])
        return sizes

    def _partition_messages(self) -> type:
        polls = self

        class Bounded(Fetcher.PartitionRecords):  # type: ignore[misc]  # the library has no types
            def __init__(self, offset: int, place: Any, batches: Any, **options: Any) -> None:
                super().__init__(offset, place, _Batches(batches, place.partition, polls._omitted), **options)

            def take(self, n: int | None = None) -> list[Any]:
                self._maybe_raise_next_inline_exception()
                if polls._size_bytes >= POLL_BYTES:
                    raise _PollFull
                messages: list[Any] = []
                room = self.bytes_read + POLL_BYTES - polls._size_bytes
                before = self.bytes_read
                try:
                    for message in islice(self.record_iterator, n):
                        messages.append(message)
                        if self.bytes_read >= room:
                            break
                except Exception as error:
                    if not messages:
                        raise
                    # To be thrown in the next call, as the library does.
                    self._next_inline_exception = error
                polls._size_bytes += self.bytes_read - before
                return messages

        return Bounded


class _Batches:
    """The batches that were fetched of a partition."""

    def __init__(self, batches: Any, partition: int, omitted: dict[tuple[int, int], Omission]) -> None:
        self._batches = batches
        self._partition = partition
        self._omitted = omitted

    def next_batch(self) -> Any:
        batch = self._batches.next_batch()
        if not isinstance(batch, DefaultRecordBatch):
            return batch
        return _Batch(batch, self._partition, self._omitted)


class _Batch:
    """A batch as the library sees it, but for how it is unpacked."""

    def __init__(self, batch: Any, partition: int, omitted: dict[tuple[int, int], Omission]) -> None:
        self._batch = batch
        self._partition = partition
        self._omitted = omitted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        batch = self._batch
        if batch.compression_type == batch.CODEC_NONE:
            if batch.size_in_bytes <= _WHOLE_BYTES:
                return iter(batch)
        else:
            batch._assert_has_codec(batch.compression_type)
            whole = self._unpacked()
            if whole is not None:
                return iter(whole)
        return self._one_by_one()

    def _unpacked(self) -> Any:
        """The same batch without compression; None where it is large."""
        header = bytearray(self._batch._buffer[: self._batch.HEADER_STRUCT.size])
        # The lower byte of the attributes; what the checksum is of was looked at before.
        header[self._batch.ATTRIBUTES_OFFSET + 1] &= ~self._batch.CODEC_MASK
        most = len(header) + _WHOLE_BYTES
        try:
            for piece in self._pieces():
                header += piece
                if len(header) > most:
                    return None
        except _TooFar:
            return None
        return DefaultRecordBatch(header)

    def _pieces(self) -> Iterator[bytes]:
        batch = self._batch
        data = bytes(memoryview(batch._buffer)[batch.HEADER_STRUCT.size :])
        try:
            yield from _UNPACKERS[batch.compression_type](data)
        except (_TooFar, CorruptRecordError, UnsupportedCodecError):
            raise
        except Exception as error:
            # Each codec has errors of its own.
            raise CorruptRecordError(f"the batch at offset {batch.base_offset}: {error}") from error

    def _one_by_one(self) -> Iterator[Any]:
        """The messages without keys and headers, which nobody asks for, and without values that are too large."""
        window = _Window(self._pieces())
        offset = self._batch.base_offset - 1
        try:
            for _ in range(self._batch.records_count):
                offset += 1
                window.reach(_PREFIX_BYTES, whole=False)
                length, start = decode_varint(window.data, window.at)
                if length < 0:
                    raise CorruptRecordError(f"a message at offset {offset} has {length} bytes")
                _, at = decode_varint(window.data, start)
                _, at = decode_varint(window.data, at)
                delta, at = decode_varint(window.data, at)
                offset = self._batch.base_offset + delta
                begun = start - window.at
                if length > MESSAGE_LIMIT_BYTES:
                    window.skip(begun + length)
                    yield self._omission(offset, Omission.TOO_LARGE)
                    continue
                prefix = at - window.at
                window.reach(begun + length, whole=True)
                yield self._message(offset, length, _value(window.data, window.at + prefix))
                window.skip(begun + length)
        except _TooFar:
            yield self._omission(offset, Omission.REST_OF_BATCH)
        except (ValueError, IndexError) as error:
            raise CorruptRecordError(f"the batch at offset {self._batch.base_offset}: {error!r}") from error

    def _omission(self, offset: int, why: Omission) -> Any:
        self._omitted[self._partition, offset] = why
        return self._message(offset, 0, None)

    def _message(self, offset: int, size_bytes: int, value: bytes | None) -> Any:
        batch = self._batch
        return DefaultRecord(size_bytes, offset, batch.max_timestamp, batch.timestamp_type, None, value, [])


class _Window:
    """The part of a batch that is looked at: `data` from `at` on."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._seen_bytes = 0
        self.data = bytearray()
        self.at = 0

    def reach(self, size_bytes: int, *, whole: bool) -> None:
        """Have so many bytes in the window; fewer where the batch ends, and `whole` does not forbid that."""
        while len(self.data) - self.at < size_bytes:
            piece = self._next()
            if not piece:
                if whole:
                    raise CorruptRecordError("a batch ends in the middle of a message")
                return
            if self.at >= _PIECE_BYTES:
                del self.data[: self.at]
                self.at = 0
            self.data += piece

    def skip(self, size_bytes: int) -> None:
        """Let go of so many bytes, whether they are in the window or not."""
        self.at += size_bytes
        while self.at > len(self.data):
            self.at -= len(self.data)
            piece = self._next()
            if not piece:
                raise CorruptRecordError("a batch ends in the middle of a message")
            self.data = bytearray(piece)

    def _next(self) -> bytes:
        piece = next(self._pieces, b"")
        self._seen_bytes += len(piece)
        if self._seen_bytes > BATCH_LIMIT_BYTES:
            raise _TooFar
        return piece


def _value(data: bytearray, at: int) -> bytes | None:
    """The value of the message whose key begins at a place."""
    key_bytes, at = decode_varint(data, at)
    value_bytes, at = decode_varint(data, at + max(key_bytes, 0))
    return bytes(data[at : at + value_bytes]) if value_bytes >= 0 else None


def _as_it_is(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _PIECE_BYTES):
        yield data[start : start + _PIECE_BYTES]


def _gunzipped(data: bytes) -> Iterator[bytes]:
    member = zlib.decompressobj(wbits=31)
    for start in range(0, len(data), _STEP_BYTES):
        step = data[start : start + _STEP_BYTES]
        while step:
            if member.eof:
                member = zlib.decompressobj(wbits=31)
            if piece := member.decompress(step, _PIECE_BYTES):
                yield piece
            step = member.unconsumed_tail or member.unused_data
    if not member.eof:
        raise CorruptRecordError("a batch ends in the middle of its gzip data")


def _unlz4ed(data: bytes) -> Iterator[bytes]:
    if codecs.lz4 is None:
        raise UnsupportedCodecError("Libraries for lz4 compression codec not found")
    while data:
        frame = codecs.lz4.LZ4FrameDecompressor()
        piece = frame.decompress(data, max_length=_PIECE_BYTES)
        while piece or not (frame.eof or frame.needs_input):
            if piece:
                yield piece
            piece = b"" if frame.eof else frame.decompress(b"", max_length=_PIECE_BYTES)
        if not frame.eof:
            raise CorruptRecordError("a batch ends in the middle of its lz4 data")
        data = frame.unused_data or b""


def _unzstded(data: bytes) -> Iterator[bytes]:
    unpacker = codecs.zstd.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    with unpacker.stream_reader(data, read_across_frames=True) as reader:
        while piece := reader.read(_PIECE_BYTES):
            yield piece


def _unsnapped(data: bytes) -> Iterator[bytes]:
    """Snappy unpacks a block at once, whose length stands before it; producers cut what is long into blocks."""
    blocks = [data] if not data.startswith(_XERIAL) else _xerial_blocks(data)
    for block in blocks:
        length = shift = 0
        for byte in block[:5]:
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if length > MESSAGE_LIMIT_BYTES:
            raise _TooFar
        yield codecs.snappy.decompress(block)


def _xerial_blocks(data: bytes) -> Iterator[bytes]:
    at = _XERIAL_BYTES
    while at < len(data):
        (size,) = struct.unpack_from("!i", data, at)
        if size < 0:
            raise CorruptRecordError(f"a snappy block has {size} bytes")
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


_UNPACKERS: Final[dict[int, Callable[[bytes], Iterator[bytes]]]] = {
    DefaultRecordBatch.CODEC_NONE: _as_it_is,
    DefaultRecordBatch.CODEC_GZIP: _gunzipped,
    DefaultRecordBatch.CODEC_SNAPPY: _unsnapped,
    DefaultRecordBatch.CODEC_LZ4: _unlz4ed,
    DefaultRecordBatch.CODEC_ZSTD: _unzstded,
}
