"""The quarantine: records that could not be admitted, kept where a person can read, mend and send them again.

One JSON line each: `{"source": "edges.csv", "position": 17, "record": "…", "reason": "…"}`; the position is a line number from
1, or an offset (of a message of Kafka, whose lines have `topic` and `partition` as well). A record is written before the batch
that passes over it is admitted, so after a crash it may stand here twice, and is never missing while there is room: a file that
is full becomes `PATH.1`, in the place of the one before it, whose records are counted and gone.

Guarantees: lines are whole, also with several writers and after a full disk (what was written of a failed batch is taken back,
as far as it stands in the newest file); both files together take no more than twice the limit.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import stat
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from ..config import QUARANTINE_LIMIT_BYTES
from ..errors import InvalidArgument, StoreError, StoreFull, StoreLocked
from .parsed import Rejection

MEMORY_LIMIT: Final = 10_000
"""So many of the latest entries are kept where there is no file; all are counted."""

# So much is encoded at once.
_PIECE_BYTES: Final = 1 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QuarantineStatistics:
    """What a quarantine took, and let go of for want of room, since it was opened."""

    total: int
    by_source: dict[str, int]
    path: str | None
    let_go: int


class Quarantine:
    """A file (or a bounded list) of rejected records; safe to share between threads.

    Parameters
    ----------
    path : path or None
        File to append to, made with its folder when it is not there; None keeps the latest entries in memory.
    limit_bytes : int
        How large the file becomes before it is put aside.

    Raises
    ------
    StoreLocked
        The file cannot be opened for writing.

    Examples
    --------
    >>> quarantine = Quarantine(None)
    >>> quarantine.write("edges.csv", [Rejection(17, "1,x", "dst is not an integer")])
    >>> quarantine.counts(), quarantine.recent()[0][1].position
    ({'edges.csv': 1}, 17)
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, *, limit_bytes: int = QUARANTINE_LIMIT_BYTES
    ) -> None:
        self.path = None if path is None else Path(path)
        self._limit_bytes = limit_bytes
        self._let_go = 0
        self._told = False
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._recent: deque[tuple[str, Rejection]] = deque(maxlen=MEMORY_LIMIT)
        self._file = None if self.path is None else _open_for_append(self.path)

    def write(
        self, source: str, rejected: Iterable[Rejection], *, fields: Mapping[str, str | int] | None = None
    ) -> None:
        """Append a batch of rejections, each with further fields of its source if it has some.

        When this returns they are with the operating system.

        Raises
        ------
        StoreFull
            No room on the disk: nothing of the batch was counted, and nothing of it is in the newest file.
        StoreError
            The file cannot be written, or put aside.
        InvalidArgument
            The quarantine is closed.
        """
        entries = list(rejected)
        if not entries:
            return
        with self._lock:
            if self.path is not None:
                if self._file is None:
                    raise InvalidArgument(f"the quarantine {self.path} is closed")
                self._append(_encoded(source, entries, fields))
            self._recent.extend((source, entry) for entry in entries)
            self._counts[source] += len(entries)

    def _append(self, pieces: Iterator[bytes]) -> None:
        """Append whole lines piece by piece; to be called with the lock held."""
        assert self.path is not None
        assert self._file is not None
        status = os.fstat(self._file)
        # A pipe or a terminal has no end, and is not ours to rename.
        is_file = stat.S_ISREG(status.st_mode)
        before = size_bytes = status.st_size
        for piece in pieces:
            if is_file and size_bytes and size_bytes + len(piece) > self._limit_bytes:
                self._put_aside()
                before = size_bytes = 0
            _write_whole(self._file, piece, self.path, before)
            size_bytes += len(piece)

    def _put_aside(self) -> None:
        """Let the file become the older one, in the place of the one before it, and begin another."""
        assert self.path is not None
        assert self._file is not None
        older = older_file(self.path)
        gone = _count_lines(older)
        try:
            self.path.replace(older)
        except OSError as error:
            raise StoreError(
                f"the quarantine file {self.path} has reached {self._limit_bytes} bytes and cannot become {older}: "
                f"{error.strerror}",
                hint="Move it away, or choose another file with --quarantine.",
            ) from error
        os.close(self._file)
        self._file = None
        self._file = _open_for_append(self.path)
        self._let_go += gone
        if not self._told or (gone and self._let_go == gone):
            self._told = True
            _log.warning(
                "The quarantine file %s has reached %d bytes and is now %s; %s",
                self.path,
                self._limit_bytes,
                older,
                f"{gone} records that stood there are gone, as more will be without a further word."
                if gone
                else "the next one takes its place.",
            )

    def count(self, source: str) -> int:
        """How many records of a source were quarantined since the quarantine was opened."""
        with self._lock:
            return self._counts[source]

    def counts(self) -> dict[str, int]:
        """How many records were quarantined, by source."""
        with self._lock:
            return dict(self._counts)

    def recent(self) -> list[tuple[str, Rejection]]:
        """The latest entries with the names of their sources, oldest first, at most `MEMORY_LIMIT`."""
        with self._lock:
            return list(self._recent)

    def statistics(self) -> QuarantineStatistics:
        """A frozen record of the counts."""
        counts = self.counts()
        return QuarantineStatistics(
            sum(counts.values()), counts, None if self.path is None else str(self.path), self._let_go
        )

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def older_file(path: Path) -> Path:
    """Where the records are that came before those of a quarantine file.

    Examples
    --------
    >>> str(older_file(Path("rejected.jsonl")))
    'rejected.jsonl.1'
    """
    return path.with_name(f"{path.name}.1")


def encode_entry(source: str, entry: Rejection, *, fields: Mapping[str, str | int] | None = None) -> bytes:
    """One line of the quarantine file.

    Text that no UTF-8 can hold (half a surrogate pair) is written as the JSON escape that Python's own escape happens to be.
    """
    line = {"source": source, "position": entry.position, "record": entry.record, "reason": entry.reason}
    return (
        json.dumps(line | dict(fields or {}), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    )


def _open_for_append(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise StoreLocked(
            f"the quarantine file {path} cannot be opened: {error.strerror}",
            hint="Choose another file with --quarantine.",
        ) from error
    # A crash may have left half a line; what follows must not become part of it.
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.write(descriptor, b"\n")
    return descriptor


def _encoded(
    source: str, entries: Iterable[Rejection], fields: Mapping[str, str | int] | None
) -> Iterator[bytes]:
    """Lines in pieces of bounded size: many rejections are written without being there twice."""
    lines: list[bytes] = []
    size_bytes = 0
    for entry in entries:
        lines.append(encode_entry(source, entry, fields=fields))
        size_bytes += len(lines[-1])
        if size_bytes >= _PIECE_BYTES:
            yield b"".join(lines)
            lines, size_bytes = [], 0
    if lines:
        yield b"".join(lines)


def _count_lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(piece.count(b"\n") for piece in iter(lambda: file.read(_PIECE_BYTES), b""))
    except OSError:
        # There is none, or it is not for us to read.
        return 0


def _write_whole(descriptor: int, data: bytes, path: Path, before: int) -> None:
    """Write all of it or, with an error, cut the file off at `before`."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, before)
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreFull(
                f"no room for {len(data)} bytes in the quarantine file {path}",
                hint="Free some space and start again: the source is read on from where it stopped.",
            ) from error
        raise StoreError(f"the quarantine file {path} cannot be written: {error.strerror}") from error
