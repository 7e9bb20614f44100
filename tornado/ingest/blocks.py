"""Bytes of a source as blocks of whole lines: plain or gzip, from a file, a pipe or memory.

Guarantees: the blocks put together are the source's bytes, except that a line longer than the limit may be cut (it stays longer
than the limit, so that whoever parses it sees that) and a byte order mark at the start is taken off; every block but the last
ends with a line end. Tables, and text in UTF-16, are refused by what they begin with. Where a source breaks (a gzip cut short, a
disk that cannot be read) every complete line before the break is delivered first, then `SourceBroken` is raised; the incomplete
line after them is not delivered, since what is missing of it could have changed it.

Gzip is recognised by its first two bytes, whatever the name says; members that follow each other are read as one.
"""

from __future__ import annotations

import io
import select
import zlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import numpy as np

from ..errors import InvalidArgument, SourceBroken

BLOCK_BYTES: Final = 8 << 20
"""How much text is parsed at once: large enough for the kernels, small enough to be read ahead."""

_COMPRESSED_BYTES: Final = 1 << 20
_STEP_BYTES: Final = 8 << 10
GZIP_MAGIC: Final = b"\x1f\x8b"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NOT_LINES: Final = {
    b"PAR1\x15": "a Parquet file",
    b"ARROW1\0\0": "an Arrow file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"\xff\xfe": "text in UTF-16 or UTF-32",
    b"\xfe\xff": "text in UTF-16 or UTF-32",
    b"\0\0\xfe\xff": "text in UTF-16 or UTF-32",
}
"""What others begin with; no line of UTF-8 that means anything does."""


class Reader(Protocol):
    """The one method of a binary file that is needed; `read` may return less than asked for, b"" only at the end."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes."""
        ...


class FirstBytes:
    """Reads no more than the first bytes of a file, which may grow meanwhile."""

    def __init__(self, file: Reader, size_bytes: int) -> None:
        self._file = file
        self._left = size_bytes

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        part = self._file.read(min(size, self._left)) if self._left else b""
        self._left -= len(part)
        return part


class LiveReader:
    """Reads a pipe or terminal as it comes: waits for the first bytes, then takes what is there and does not wait for more.

    Parameters
    ----------
    descriptor : int
        An open file descriptor, which stays the caller's.
    is_closed : callable
        Asked several times a second; once it says true the reader is at its end, also in the middle of waiting.
    """

    def __init__(self, descriptor: int, is_closed: Callable[[], bool], *, poll_s: float = 0.1) -> None:
        # Unbuffered, or bytes could hide in a buffer that select does not know of.
        self._raw = io.FileIO(descriptor, closefd=False)
        self._is_closed = is_closed
        self._poll_s = poll_s

    def read(self, size: int, /) -> bytes:
        """At least one byte, unless the end is reached or the reader was closed."""
        parts: list[bytes] = []
        room = size
        while room and not self._is_closed():
            ready, _, _ = select.select([self._raw], [], [], 0 if parts else self._poll_s)
            if ready:
                part = self._raw.read(room)
                if not part:
                    break
                parts.append(part)
                room -= len(part)
            elif parts:
                break
        return b"".join(parts)


def pieces_of_lines(body: bytes, size_bytes: int) -> Iterator[memoryview]:
    r"""Cut a body into pieces of whole lines, about as large as is wanted; one at least, and larger ones where a line is.

    They are views: copies would be the whole body once more, as what is parsed keeps its text.

    Examples
    --------
    >>> [bytes(piece) for piece in pieces_of_lines(b"ab\nc\nlonger\nd", 4)]
    [b'ab\nc\n', b'longer\n', b'd']
    """
    whole = memoryview(body)
    if len(body) <= size_bytes:
        yield whole
        return
    start = 0
    while start < len(body):
        stop = (
            body.rfind(b"\n", start, start + size_bytes + 1) + 1 or body.find(b"\n", start + size_bytes) + 1
        )
        stop = stop or len(body)
        yield whole[start:stop]
        start = stop


def count_line_ends(body: bytes) -> int:
    """How many lines end in a body; other threads run meanwhile, however many there are."""
    data = np.frombuffer(body, np.uint8)
    return sum(
        int(np.count_nonzero(data[start : start + BLOCK_BYTES] == ord("\n")))
        for start in range(0, len(data), BLOCK_BYTES)
    )


def line_blocks(
    reader: Reader,
    name: str,
    *,
    max_line_bytes: int,
    block_bytes: int = BLOCK_BYTES,
    gzip_expected: bool = False,
) -> Iterator[bytes]:
    """Yield blocks of whole lines.

    Parameters
    ----------
    reader : Reader
        Where the bytes come from.
    name : str
        The source, for messages.
    max_line_bytes : int
        A longer line may be cut to two bytes more than this (one of which may turn out to belong to the line end).
    block_bytes : int
        About so large a block is; memory use is a small multiple of it.
    gzip_expected : bool
        Whether the source calls itself gzip: then nothing at all is a broken source, not an empty one.

    Raises
    ------
    InvalidArgument
        It begins as a table does, or as text that is not UTF-8.
    SourceBroken
        The source cannot be read to its end.
    """
    pieces = _decoded(reader, name, block_bytes, gzip_expected=gzip_expected)
    carry = b""
    # Inside a line that is too long: its start is in `carry`, the rest is thrown away.
    cutting = False
    first = True
    for piece in pieces:
        if cutting:
            stop = piece.find(b"\n")
            if stop < 0:
                continue
            block, cutting = carry + piece[stop:], False
        else:
            block = carry + piece if carry else piece
        if first and any(
            start.startswith(block) and start != block for start in (_BYTE_ORDER_MARK, *_NOT_LINES)
        ):
            carry = block
            continue
        if first:
            _require_lines(block, name)
            block, first = block.removeprefix(_BYTE_ORDER_MARK), False
        stop = block.rfind(b"\n") + 1
        carry = block[stop:]
        if len(carry) > max_line_bytes + 2:
            carry, cutting = carry[: max_line_bytes + 2], True
        if stop:
            yield block[:stop]
    if carry:
        yield carry


def _require_lines(block: bytes, name: str) -> None:
    for start, what in _NOT_LINES.items():
        if block.startswith(start):
            raise InvalidArgument(
                f"{name} is read by lines of UTF-8, but begins as {what} does",
                hint="Nothing of it was read. Write it as CSV in UTF-8; points are read from tables whose names end with .parquet, "
                ".arrow or .feather.",
            )


def _decoded(reader: Reader, name: str, block_bytes: int, *, gzip_expected: bool) -> Iterator[bytes]:
    start = _read(reader, name, _COMPRESSED_BYTES, 0)
    while len(start) < len(GZIP_MAGIC):
        more = _read(reader, name, _COMPRESSED_BYTES, len(start))
        if not more:
            break
        start += more
    if start[:2] == GZIP_MAGIC:
        yield from _gunzip(reader, name, start, block_bytes)
        return
    if gzip_expected and len(start) < len(GZIP_MAGIC):
        raise _broken(name, f"has only {len(start)} bytes, too few for a gzip file", 0)
    read = 0
    while start:
        yield start
        read += len(start)
        start = _read(reader, name, block_bytes, read)


def _gunzip(reader: Reader, name: str, data: bytes, block_bytes: int) -> Iterator[bytes]:
    taken = given = 0
    member = zlib.decompressobj(wbits=31)
    while data:
        taken += len(data)
        parts: list[bytes] = []
        size = 0
        # In small steps: where it is damaged a step is what is lost.
        for start in range(0, len(data), _STEP_BYTES):
            step = data[start : start + _STEP_BYTES]
            while step:
                if member.eof:
                    # Zeros may pad the end; another member may follow.
                    step = step.lstrip(b"\0")
                    if not step:
                        break
                    member = zlib.decompressobj(wbits=31)
                try:
                    # One byte of gzip can mean a thousand of text.
                    parts.append(member.decompress(step, block_bytes - size))
                except zlib.error as error:
                    yield from filter(None, [b"".join(parts)])
                    raise _broken(name, f"is damaged as a gzip file ({error})", given, taken) from error
                size += len(parts[-1])
                given += len(parts[-1])
                step = member.unconsumed_tail or member.unused_data
                if size >= block_bytes:
                    yield b"".join(parts)
                    parts, size = [], 0
        yield from filter(None, [b"".join(parts)])
        data = _read(reader, name, _COMPRESSED_BYTES, given)
    if not member.eof:
        # What it still had to give when all of the file was read.
        yield from filter(None, [member.flush()])
        raise _broken(name, "ends in the middle of its gzip data", given, taken)


def _read(reader: Reader, name: str, size: int, done: int) -> bytes:
    try:
        return reader.read(size)
    except OSError as error:
        raise _broken(name, f"cannot be read on ({error.strerror or error})", done) from error


def _broken(name: str, what: str, text_bytes: int, file_bytes: int | None = None) -> SourceBroken:
    at = f"after {text_bytes} bytes of text"
    if file_bytes is not None:
        at += f" ({file_bytes} bytes of the file)"
    return SourceBroken(
        f"{name} {what}, {at}",
        hint="Every complete line before that was delivered. Get the whole file, then start again: a run on "
        "a store that was named goes on behind the records that its snapshot has, any other one reads the file from its first "
        "line.",
    )
