r"""How a versioned page is laid out in ordered keys: pure functions on bytes.

An entry is ``loop id (4) | key, escaped | 00 | MAX_VERSION - version (8)``, big-endian, so that the byte order of entries is
loop, then key, then *newest version first*: the first entry at or after ``entry(loop, key, v)`` is the newest version not above v,
where it is still of that key.

The key is escaped (``00`` → ``00 ff``) because no key may look like a shorter one with its version behind: the byte after the
terminator is at most ``7f``, as versions have 63 bits, hence never ``ff``. Escaping byte by byte keeps order and prefixes.

Pages are cut into chunks because one large value needs as many *neighbouring* free pages in LMDB, which an old file does not
have: it would grow although it is half empty. Groups of a log come and go beside the pages of a base, and the few pages that each of them
has LMDB write anew in its tables lie between them, and are free soon after: holes of five or so, which the chunks find room in.
How long they are may differ from one version to the next.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from .versioned_store import MAX_VERSION

# 4 pages of 4 KiB, less the page header that LMDB puts before a large value.
CHUNK_SIZE_BYTES = (1 << 14) - 16

_LOOP = struct.Struct(">I")
_VERSION = struct.Struct(">Q")
_CHUNK = struct.Struct(">I")
_LOOP_RECORD = struct.Struct(">IQ")
_HEADER = struct.Struct(">QI")
_TAIL_SIZE_BYTES = 1 + _VERSION.size
_ENDED = b""


class LoopRecord(NamedTuple):
    """What is stored of a loop beside its pages: its number, and the version that history begins at."""

    number: int
    floor: int

    def pack(self) -> bytes:
        """Return the record as it is stored."""
        return _LOOP_RECORD.pack(*self)

    @staticmethod
    def unpack(raw: bytes | memoryview) -> LoopRecord:
        """Return the record that `pack` stored."""
        return LoopRecord(*_LOOP_RECORD.unpack(raw))


class Header(NamedTuple):
    """What an entry says of its page: length and CRC-32, which a file cut short or overwritten does not match."""

    size_bytes: int
    checksum: int


def loop_prefix(number: int) -> bytes:
    """Return what all entries and versions of a loop begin with."""
    return _LOOP.pack(number)


def key_prefix(number: int, prefix: bytes) -> bytes:
    """Return what the entries of all keys with that prefix begin with, and no others."""
    return _LOOP.pack(number) + prefix.replace(b"\x00", b"\x00\xff")


def entry(number: int, key: bytes, version: int) -> bytes:
    """Return where the page of (loop, key, version) is, or would be."""
    return key_prefix(number, key) + b"\x00" + _VERSION.pack(MAX_VERSION - version)


def at_version(at: bytes, version: int) -> bytes:
    """Return the entry of the same loop and key at another version."""
    return at[: -_VERSION.size] + _VERSION.pack(MAX_VERSION - version)


def same_key(one: bytes, other: bytes) -> bool:
    """Say whether two entries are versions of one key of one loop."""
    return one[: -_VERSION.size] == other[: -_VERSION.size]


def beyond_key(at: bytes) -> bytes:
    """Return what is after all versions of an entry's key and not after any other key."""
    return at[: -_VERSION.size] + b"\x80"


def entry_key(at: bytes) -> bytes:
    """Return the key of an entry."""
    return at[_LOOP.size : -_TAIL_SIZE_BYTES].replace(b"\x00\xff", b"\x00")


def entry_version(at: bytes) -> int:
    """Return the version of an entry."""
    return MAX_VERSION - int(_VERSION.unpack_from(at, len(at) - _VERSION.size)[0])


def version_key(number: int, version: int) -> bytes:
    """Return where the metadata of a version is; ascending, unlike entries."""
    return _LOOP.pack(number) + _VERSION.pack(version)


def version_of(key: bytes) -> int:
    """Return the version of a `version_key`."""
    return int(_VERSION.unpack_from(key, _LOOP.size)[0])


def header(page: memoryview | None) -> bytes:
    """Return the header to store for a page, or for the end of a key."""
    return _ENDED if page is None else _HEADER.pack(page.nbytes, zlib.crc32(page))


def parse_header(raw: bytes) -> Header | None:
    """Return the header of a page, or None for the end of a key."""
    return None if raw == _ENDED else Header(*_HEADER.unpack(raw))


def chunk_key(at: bytes, place: int) -> bytes:
    """Return where one chunk of an entry's page is."""
    return at + _CHUNK.pack(place)


def chunk_entry(key: bytes) -> bytes:
    """Return the entry of a `chunk_key`."""
    return key[: -_CHUNK.size]


def loop_of(key: bytes) -> bytes:
    """Return the `loop_prefix` of an entry or a `version_key`."""
    return key[: _LOOP.size]


def chunks(page: memoryview) -> Iterator[memoryview]:
    """Yield the chunks of a page, without copying."""
    for start in range(0, page.nbytes, CHUNK_SIZE_BYTES):
        yield page[start : start + CHUNK_SIZE_BYTES]
