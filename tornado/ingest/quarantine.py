"""The quarantine: records that could not be admitted, kept where a person can read, mend and send them again.

One JSON line each: `{"source": "edges.csv", "position": 17, "record": "…", "reason": "…"}`; the position is a line number from
1, or an offset (of a message of Kafka, whose lines have `topic` and `partition` as well). A record is written before the batch that passes over it is admitted, so after a crash it may stand here twice,
and is never missing.

Guarantees: lines are whole, also with several writers and after a full disk (what was written of a failed batch is taken back).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from ..errors import InvalidArgument, StoreError, StoreFull, StoreLocked
from .parsed import Rejection

MEMORY_LIMIT: Final = 10_000
"""So many of the latest entries are kept where there is no file; all are counted."""


@dataclass(frozen=True, slots=True)
class QuarantineStatistics:
    """What a quarantine took, since it was opened."""

    total: int
    by_source: dict[str, int]
    path: str | None


class Quarantine:
    """A file (or a bounded list) of rejected records; safe to share between threads.

    Parameters
    ----------
    path : path or None
        File to append to, made with its folder when it is not there; None keeps the latest entries in memory.

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

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
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
            No room on the disk: nothing of the batch was written or counted.
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
                _append_whole(
                    self._file,
                    b"".join(encode_entry(source, entry, fields=fields) for entry in entries),
                    self.path,
                )
            self._recent.extend((source, entry) for entry in entries)
            self._counts[source] += len(entries)

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
            sum(counts.values()), counts, None if self.path is None else str(self.path)
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


def _append_whole(descriptor: int, data: bytes, path: Path) -> None:
    before = os.fstat(descriptor).st_size
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
