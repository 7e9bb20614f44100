"""Whether a file is the one that an earlier run has read: an offset means nothing in another file.

What a file began with is stored beside the loop (`LOOP/files`) before its first record is admitted, and compared at the next
start. Files may grow; their beginning stays. A last line without an end is a record as it stands, so where a file ended is stored,
too, and a line that ended there must not go on once it was read. Left out on purpose: where a packed text ended, and a change behind
the beginning that keeps the number of records, which only reading everything again would tell.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidArgument, SourceBroken, StoreCorrupt
from ..storage import VersionedStore
from .blocks import GZIP_MAGIC
from .line_finder import find_lines
from .lines import shown
from .source import RecordFile

HEAD_BYTES = 1 << 16
_LONGEST_LINE_BYTES = 1 << 22
_SHOWN_BYTES = 30  # of a line, before where it was cut off
_PIPE = json.dumps({"pipe": True}).encode()


class _KnownFile(NamedTuple):
    """What is stored of a file.

    Attributes
    ----------
    size_bytes, digest
        Of its beginning, unpacked: of its text, or of its first rows (`is_of_rows`), which stay where a table is written anew, and longer.
    ended_at
        How many bytes it had when it was opened; 0 where it is packed, or its records are not lines.
    is_cut
        Whether its last line had no end then.
    """

    size_bytes: int
    digest: str
    ended_at: int = 0
    is_cut: bool = False
    is_of_rows: bool = False


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
        head = source.beginning(HEAD_BYTES)
        now = _KnownFile(len(head), _digest(head), *_end(source), is_of_rows=not source.has_lines)
        known = self._entry(source.name) if offset else None
        if known == _PIPE:
            raise InvalidArgument(
                f"{source.path} cannot be read: records came through a pipe as the source {source.name}, and their offset would be "
                "that of the file",
                hint="Give it another name, or name an empty store.",
            )
        if known is not None:
            before = _parsed(known, self._line)
            if now.is_of_rows and not before.is_of_rows:
                head = source.first_bytes(HEAD_BYTES)  # as tables were known once
            if _digest(head[: before.size_bytes]) != before.digest or len(head) < before.size_bytes:
                raise InvalidArgument(
                    f"{source.path} does not begin as the file {source.name} did, of which {offset:,} records are in already",
                    hint="Give it back its content, or its new content another name; an empty store begins anew.",
                )
            if now.ended_at < before.ended_at and now.ended_at:
                raise InvalidArgument(
                    f"{source.path} has {now.ended_at:,} bytes, and had {before.ended_at:,} at the start before this one; {offset:,} records "
                    "of it are in already",
                    hint="Wait until all of it is there, or give it back its content; an empty store begins anew.",
                )
            if before.is_cut:
                _require_ended(source, before.ended_at, offset)
        entry = json.dumps(now._asdict()).encode()
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


def _end(source: RecordFile[Any]) -> tuple[int, bool]:
    """Where a file ended when it was opened, and whether in the middle of a line; see `_KnownFile`."""
    if not source.has_lines or not source.size_bytes:
        return 0, False
    try:
        with source.path.open("rb") as file:
            if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
                return 0, False
            file.seek(source.size_bytes - 1)
            return source.size_bytes, file.read(1) != b"\n"
    except OSError:
        return 0, False


def _require_ended(source: RecordFile[Any], cut_at: int, offset: int) -> None:
    """Refuse a file whose last line was cut off there and goes on, if what there was of it was read."""
    try:
        read, more = _line_around(source.path, cut_at)
        is_record = len(find_lines(np.frombuffer(read, np.uint8), 1, len(read), True)[0]) > 0
        if not is_record or not more.strip(b" \t") or source.has_more(offset, cut_at):
            return
    except (OSError, SourceBroken):
        return  # its reader's to report
    if len(read) > _SHOWN_BYTES:
        read = "…".encode() + read[-_SHOWN_BYTES:]
    raise InvalidArgument(
        f"{source.path} goes on in a line that was cut off when it was read: record {offset:,} was read as {shown(read)}, "
        f"and is {shown(read + more)} now",
        hint="End that line where it ended then, and write what follows on a line of its own; an empty store begins anew.",
    )


def _line_around(path: Path, place: int) -> tuple[bytes, bytes]:
    """What a line has before a place, and what it has behind it, but for its end."""
    begin = place
    with path.open("rb") as file:
        read = b""
        while begin > 0 and b"\n" not in read and len(read) < _LONGEST_LINE_BYTES:
            begin = max(0, begin - HEAD_BYTES)
            file.seek(begin)
            read = file.read(min(HEAD_BYTES, place - begin)) + read
        file.seek(place)
        more = file.read(HEAD_BYTES)
    return read.rpartition(b"\n")[2], more.partition(b"\n")[0].removesuffix(b"\r")


def _digest(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()


def _parsed(entry: bytes, line: str) -> _KnownFile:
    try:
        found = json.loads(entry)
        ended_at, is_cut = int(found.get("ended_at", 0)), bool(found.get("is_cut", False))
        is_of_rows = bool(found.get("is_of_rows", False))
        return _KnownFile(int(found["size_bytes"]), str(found["digest"]), ended_at, is_cut, is_of_rows)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreCorrupt(f"{line} has an entry that is none: {error!r}") from error
