"""Sources: where records come from, and how far one of them is.

An *offset* counts the records of a source from its start, rejected ones included; comments, empty lines and a header count
nothing. Offset n means "the first n records are in", so it is also the (0-based) number of the next record. Three traps:

- Line numbers are not offsets. With one header and no comments, record n (from 0) stands on line n + 2.
- `seek(n)` passes over n records: what comes next is record n, not n + 1. `seek(0)` is the start.
- A batch that begins at offset a with r records ends at a + r; that sum is what is admitted with it.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import BinaryIO, Generic, Protocol

from ..errors import InvalidArgument
from ..records.record_batch import RecordBatch
from .blocks import BLOCK_BYTES, GZIP_MAGIC, FirstBytes, LiveReader, Reader
from .interner import Interner
from .layout import TextFormat
from .parsed import ParsedBatch, ParsedRecords
from .text import MAX_RECORDS, ParsedT, parsed_batches

STANDARD_INPUT = "-"
"""The path that means standard input."""

_STANDARD_INPUT_NAME = "stdin"


class Source(Protocol):
    """A named sequence of records, of edges or of points.

    Attributes
    ----------
    name : str
        What offsets and the quarantine call it; the same at every start.
    rewindable : bool
        Whether a new object of it can `seek`, and gives the same records again.
    """

    name: str
    rewindable: bool

    def seek(self, offset: int, /) -> None:
        """Pass over the first `offset` records; once, before `batches`.

        Raises
        ------
        InvalidArgument
            The source cannot be rewound, or was begun already.
        """
        ...

    def batches(self) -> Iterator[ParsedRecords[RecordBatch]]:
        """The records from the offset on, in order, each batch of at least one record; can be called once.

        Raises
        ------
        SourceBroken
            The source fails in the middle; everything complete before was yielded.
        """
        ...

    def close(self) -> None:
        """Give resources back; a batch that is waited for ends the iteration. May be called from any thread, and twice."""
        ...


class RecordFile(ABC, Generic[ParsedT]):
    """A file of records, plain or gzip, up to where it ended when it was opened; what is in it a subclass says.

    Parameters
    ----------
    path : path
        The file.
    name : str, optional
        Left out, the file's name; `open_sources` makes names unique.

    Attributes
    ----------
    size_bytes : int
        Where it ended; 0 for what does not say it, which is read to its end.

    Raises
    ------
    InvalidArgument
        There is no such file, it is a folder, or it may not be read.
    """

    def __init__(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name or self.path.name
        self._offset = 0
        self._begun = False
        self._closed = False
        self._file: BinaryIO | None = _open(self.path)
        status = os.fstat(self._file.fileno())
        # A pipe with a name gives its records once.
        self.rewindable = stat.S_ISREG(status.st_mode)
        self.size_bytes = status.st_size

    @abstractmethod
    def _parsed(self, reader: Reader, skip_records: int) -> Iterator[ParsedT]:
        """Parse what the reader gives, but for so many records at its start."""

    @property
    def has_lines(self) -> bool:
        """Whether each record is a line of text."""
        return True

    @property
    def _is_packed(self) -> bool:
        """Whether it calls itself gzip."""
        return self.path.suffix.lower() == ".gz"

    def seek(self, offset: int, /) -> None:
        """Pass over the first `offset` records; see `Source.seek`."""
        _check_seek(self.name, offset, rewindable=self.rewindable, begun=self._begun)
        self._offset = offset

    def batches(self) -> Iterator[ParsedT]:
        """Parse the file; see `Source.batches`."""
        file = self._file
        if self._begun or file is None:
            raise InvalidArgument(
                f"{self.name} was read or closed already, but can be read once: open it again"
            )
        self._begun = True
        reader: Reader = file  # what says that it has no bytes, as those of the kernel do, may have some
        if not self.rewindable:
            reader = LiveReader(file.fileno(), lambda: self._closed)
        elif self.size_bytes:
            reader = FirstBytes(file, self.size_bytes)
        try:
            for parsed in self._parsed(reader, self._offset):
                if self._closed:
                    return
                yield parsed
        finally:
            # Here and not in close(): another thread may be inside read().
            file.close()

    def first_bytes(self, size_bytes: int) -> bytes:
        """What the file begins with, unpacked; nothing of a broken archive, which is the reader's to report."""
        try:
            with self.path.open("rb") as file:
                head = file.read(size_bytes)
            if not head.startswith(GZIP_MAGIC):
                return head
            with gzip.open(self.path, "rb") as unpacked:
                return unpacked.read(size_bytes)
        except (OSError, EOFError, zlib.error):
            return b""

    def beginning(self, size_bytes: int) -> bytes:
        """What the records begin with, at most so much: a longer file that has the same first ones begins with it."""
        return self.first_bytes(size_bytes)

    def has_more(self, offset: int, size_bytes: int) -> bool:
        """Whether the first so many bytes of the file have records behind an offset.

        Raises
        ------
        SourceBroken
            They have fewer records than that.
        """
        with _open(self.path) as file:
            return next(self._parsed(FirstBytes(file, size_bytes), offset), None) is not None

    def close(self) -> None:
        """End the iteration, or give the file back if there was none."""
        self._closed = True
        file, self._file = self._file, None
        if file is not None and not self._begun:
            file.close()


class FileSource(RecordFile[ParsedBatch]):
    """An edge file, plain or gzip.

    Parameters
    ----------
    path, name
        As for `RecordFile`, which says what is raised.
    text_format : TextFormat, optional
        What is known of its format; the rest is detected.
    interner : Interner, optional
        Ids are strings; without it they are integers.
    max_records : int
        The largest batch.
    block_bytes : int
        How much text is parsed at once.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        text_format: TextFormat | None = None,
        interner: Interner | None = None,
        max_records: int = MAX_RECORDS,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__(path, name=name)
        self._wanted = text_format
        self._interner = interner
        self._max_records = max_records
        self._block_bytes = block_bytes

    def _parsed(self, reader: Reader, skip_records: int) -> Iterator[ParsedBatch]:
        return parsed_batches(
            reader,
            self.name,
            wanted=self._wanted,
            interner=self._interner,
            max_records=self._max_records,
            skip_records=skip_records,
            block_bytes=self._block_bytes,
            gzip_expected=self._is_packed,
        )


class StandardInputSource:
    """Standard input, or another open descriptor: read as it comes, once.

    A batch is what is there when it is read, so a slow sender's lines are admitted at once and a fast one's in large batches.

    Parameters
    ----------
    descriptor : int
        The open descriptor, which stays the caller's; left out, standard input.
    name, text_format, interner, max_records
        As for `FileSource`.
    """

    rewindable = False

    def __init__(
        self,
        descriptor: int = 0,
        *,
        name: str = _STANDARD_INPUT_NAME,
        text_format: TextFormat | None = None,
        interner: Interner | None = None,
        max_records: int = MAX_RECORDS,
    ) -> None:
        self.name = name
        self._descriptor = descriptor
        self._wanted = text_format
        self._interner = interner
        self._max_records = max_records
        self._begun = False
        self._closed = False

    def seek(self, offset: int, /) -> None:
        """Refuse anything but the start; see `Source.seek`."""
        _check_seek(self.name, offset, rewindable=self.rewindable, begun=self._begun)

    def batches(self) -> Iterator[ParsedBatch]:
        """Parse what comes; see `Source.batches`."""
        if self._begun:
            raise InvalidArgument(f"{self.name} was begun already, but can be read once")
        self._begun = True
        reader = LiveReader(self._descriptor, lambda: self._closed)
        return parsed_batches(
            reader, self.name, wanted=self._wanted, interner=self._interner, max_records=self._max_records
        )

    def close(self) -> None:
        """End the iteration, also while it waits for input."""
        self._closed = True


def open_sources(
    paths: Sequence[str | os.PathLike[str]],
    *,
    vertices: Sequence[str | os.PathLike[str]] = (),
    text_format: TextFormat | None = None,
    interner: Interner | None = None,
    max_records: int = MAX_RECORDS,
) -> list[FileSource | StandardInputSource]:
    """Open what `--vertices` and then what `--edges` names, in order, with names that differ.

    Raises
    ------
    InvalidArgument
        A file cannot be read (those opened before are closed), or standard input is named twice.
    """
    paths = [*vertices, *paths]
    if sum(os.fspath(path) == STANDARD_INPUT for path in paths) > 1:
        raise InvalidArgument("standard input (-) is named twice, but can be read once")
    opened: list[FileSource | StandardInputSource] = []
    try:
        for place, (path, name) in enumerate(zip(paths, source_names(paths), strict=True)):
            if place < len(vertices):
                wanted: TextFormat | None = TextFormat(vertices=True)
            else:
                wanted = text_format
            if os.fspath(path) == STANDARD_INPUT:
                opened.append(
                    StandardInputSource(
                        name=name, text_format=wanted, interner=interner, max_records=max_records
                    )
                )
            else:
                opened.append(
                    FileSource(
                        path, name=name, text_format=wanted, interner=interner, max_records=max_records
                    )
                )
    except BaseException:
        for source in opened:
            source.close()
        raise
    return opened


def source_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Names for paths: the file name, with as many folders before it as it takes to be different.

    The same path twice gets a number that no other file has in its name. Names depend on the set of paths alone (and on order only
    for equal paths), so that a restart finds its offsets again.

    Examples
    --------
    >>> source_names(["/data/edges.csv", "more/edges.csv", "other.csv", "other.csv"])
    ['data/edges.csv', 'more/edges.csv', 'other.csv', 'other.csv#2']
    >>> source_names(["x.csv", "x.csv", "x.csv#2"])
    ['x.csv', 'x.csv#3', 'x.csv#2']
    """
    texts = [os.fspath(path) for path in paths]
    parts = [
        (_STANDARD_INPUT_NAME,) if text == STANDARD_INPUT else Path(text).absolute().parts for text in texts
    ]
    distinct = list(dict.fromkeys(parts))
    short = {}
    for one in distinct:
        depth = 1
        while depth < len(one) and any(other != one and other[-depth:] == one[-depth:] for other in distinct):
            depth += 1
        short[one] = "/".join(part.strip("/") for part in one[-depth:]).strip("/")
    names: list[str] = []
    taken = set(short.values())
    for place, one in enumerate(parts):
        name = short[one]
        if one in parts[:place]:
            name = next(other for number in count(2) if (other := f"{name}#{number}") not in taken)
            taken.add(name)
        names.append(name)
    return names


def _open(path: Path) -> BinaryIO:
    try:
        # Unbuffered: the readers ask for large pieces themselves.
        return path.open("rb", buffering=0)
    except OSError as error:
        raise InvalidArgument(
            f"the file {path} cannot be read: {error.strerror}",
            hint="Check the path and its permissions.",
        ) from error


def _check_seek(name: str, offset: int, *, rewindable: bool, begun: bool) -> None:
    if offset < 0:
        raise InvalidArgument(f"offset of {name} is {offset}, but must be 0 or more")
    if offset and not rewindable:
        raise InvalidArgument(f"{name} cannot be read again from offset {offset}: what it gave is gone")
    if begun:
        raise InvalidArgument(f"{name} was begun already, but seek comes before reading")
