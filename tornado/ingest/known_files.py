"""Whether a file is the one that an earlier run has read: an offset means nothing in another file.

What a file began with is stored beside the loop (`LOOP/files`) before its first record is admitted, and compared at the next
start. Files may grow, by whole lines: a last line without an end is a record as it stands, and must not go on. Their beginning stays.
Left out on purpose: a change behind the beginning that keeps the number of records, which only reading everything again would tell.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidArgument, StoreCorrupt
from ..storage import VersionedStore
from .blocks import BLOCK_BYTES, BYTE_ORDER_MARK, line_blocks
from .line_finder import find_lines
from .lines import shown
from .source import RecordFile

HEAD_BYTES = 1 << 16
_SHOWN_BYTES = 1 << 8  # of a line, before and behind where it ended
_GZIP_MAGIC = b"\x1f\x8b"
_PIPE = json.dumps({"pipe": True}).encode()


class KnownFiles:
    """The files that a loop has read, by the names of their sources.

    Parameters
    ----------
    store : VersionedStore
        Not ours to close.
    loop : str
        Whose files.
    """

    def __init__(self, store: VersionedStore, loop: str) -> None:
        self._store = store
        self._line = f"{loop}/files"

    def recognise(self, source: RecordFile[Any], offset: int) -> None:
        """Remember what a file begins with; where records of it are in, it must begin as it did.

        Parameters
        ----------
        offset : int
            How many records of it are in.

        Raises
        ------
        InvalidArgument
            When it is another file than the one that was read.
        """
        head = _head(source.path)
        known = self._entry(source.name) if offset else None
        if known == _PIPE:
            raise InvalidArgument(
                f"{source.path} cannot be read: records came through a pipe as the source {source.name}, and their offset would be "
                "that of the file",
                hint="Give it another name, or name an empty store.",
            )
        if known is not None:
            size_bytes, digest, open_at = _parsed(known, self._line)
            if _digest(head[:size_bytes]) != digest or len(head) < size_bytes:
                raise InvalidArgument(
                    f"{source.path} does not begin as the file {source.name} did, of which {offset:,} records are in already",
                    hint="Give it back its content, or its new content another name; an empty store begins anew.",
                )
            if open_at:
                _require_ended(source.path, open_at, offset)
        facts = {"size_bytes": len(head), "digest": _digest(head), "open_at": _open_at(source.path)}
        entry = json.dumps(facts).encode()
        if entry != known:
            self._write(source.name, entry)

    def recognise_pipe(self, name: str) -> None:
        """Remember that the source of this name is a pipe: a file of that name would have its offset.

        Raises
        ------
        InvalidArgument
            When it was a file.
        """
        known = self._entry(name)
        if known is None:
            self._write(name, _PIPE)
        elif known != _PIPE:
            raise InvalidArgument(
                f"{name} is a pipe, but was a file when it was read before",
                hint="Give the pipe another name; an empty store begins anew.",
            )

    def _write(self, name: str, entry: bytes) -> None:
        version = max(self._store.versions(self._line), default=0)
        self._store.write(self._line, version, {_key(name): entry})

    def _entry(self, name: str) -> bytes | None:
        versions = self._store.versions(self._line)
        return self._store.read(self._line, _key(name), versions[-1]) if versions else None


def _key(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()  # a path may be longer than a key


def _head(path: Path) -> bytes:
    """What a file begins with, unpacked; a broken archive is the reader's to report."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if not head.startswith(_GZIP_MAGIC):
            return head
        with gzip.open(path, "rb") as unpacked:
            return unpacked.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""


def _digest(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()


def _open_at(path: Path) -> int:
    """How many bytes a file has whose last line has no end; 0 where it has one, or is packed."""
    try:
        with path.open("rb") as file:
            if file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC:
                return 0
            size_bytes = file.seek(0, os.SEEK_END)
            file.seek(max(0, size_bytes - 1))
            return 0 if file.read(1) == b"\n" else size_bytes
    except OSError:
        return 0


def _require_ended(path: Path, open_at: int, offset: int) -> None:
    """Refuse a file whose last line had no end there, and goes on, where that line is in."""
    with path.open("rb") as file:
        begun = max(0, open_at - _SHOWN_BYTES)
        file.seek(begun)
        around = file.read(2 * _SHOWN_BYTES)
    before, after = around[: open_at - begun], around[open_at - begun :]
    # One less, where the first line is a header.
    if after[:1] in (b"", b"\r", b"\n") or offset < _data_lines(path, open_at) - 1:
        return
    before, after = before.rpartition(b"\n")[2], after.partition(b"\n")[0]
    raise InvalidArgument(
        f"the last line of {path} had no end when it was read, so record {offset:,} is in as {shown(before)}; now it is "
        f"{shown(before + after.rstrip(bytes([13])))}",
        hint="End the line where it ended, with what follows on a line of its own; or give the file another name, or name an empty store.",
    )


def _data_lines(path: Path, stop: int) -> int:
    """How many lines of the first `stop` bytes are neither empty nor a comment."""
    count, left = 0, stop
    with path.open("rb") as file:
        if file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK:
            left -= len(BYTE_ORDER_MARK)
        file.seek(0)
        for block in line_blocks(file, str(path), max_line_bytes=BLOCK_BYTES):
            data = np.frombuffer(block[:left], np.uint8)
            count += len(find_lines(data, 1, BLOCK_BYTES, True)[0])
            left -= len(data)
            if not left:
                break
    return count


def _parsed(entry: bytes, line: str) -> tuple[int, str, int]:
    try:
        found = json.loads(entry)
        return int(found["size_bytes"]), str(found["digest"]), int(found.get("open_at", 0))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"{line} has an entry that is none: {error!r}") from error
