"""Files of points: CSV, libsvm, Arrow and parquet, each by its name, and what they declare.

==========================================  ======================================================================
name, with or without `.gz` behind          what it is
==========================================  ======================================================================
`*.libsvm`, `*.svm`, `*.svmlight`           libsvm: sparse
`*.parquet`, `*.arrow`, `*.feather`         tables (`point_arrow`): dense or sparse; Arrow files as well as streams
any other                                   CSV with a header: dense
==========================================  ======================================================================

A record of a table is a row, and its position the number of the row from 1. A table that is packed by gzip is unpacked into a
temporary file, as its end must be known before its beginning can be read.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InvalidArgument, SourceBroken
from ..records.point_schema import Points
from .arrow import left_behind
from .blocks import BLOCK_BYTES, Reader, line_blocks
from .feature_lists import WITHOUT_WIDTH, form_of
from .interner import Draft, Interner
from .line_finder import find_lines
from .parsed import ParsedPoints
from .point_arrow import check_point_columns, declared_points, parse_point_table
from .point_assembly import most_records
from .point_ids import check_sources
from .point_layout import LABEL, PointFormat, PointLayout
from .point_text import csv_points, libsvm_points, libsvm_width, require_sparse
from .source import RecordFile, source_names
from .text import MAX_RECORDS

_LIBSVM: Final = frozenset({".libsvm", ".svm", ".svmlight"})
_TABLES: Final = frozenset({".parquet", ".arrow", ".feather"})
_ARROW_FILE: Final = b"ARROW1"
_PARQUET_FILE: Final = b"PAR1"
_HEADER_BYTES: Final = 1 << 16
_ROWS_AT_ONCE: Final = 1 << 6  # of what a table begins with


class _Part(NamedTuple):
    """Rows of a table from the row `begin` on."""

    begin: int
    table: Any


class PointFile(RecordFile[ParsedPoints]):
    """A file of points, plain or gzip.

    Parameters
    ----------
    path, name
        As for `RecordFile`, which says what is raised. Where the file gives no ids, the name is part of those of its points.
    points : Points
        What the stream declares; `declared_by` finds what files do.
    wanted : PointFormat, optional
        What the caller says.
    interner : Interner, optional
        Ids are texts; without it they are integers.
    max_records : int
        The largest batch.
    block_bytes : int
        How much text is parsed at once.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        points: Points,
        *,
        name: str | None = None,
        wanted: PointFormat | None = None,
        interner: Interner | None = None,
        max_records: int = MAX_RECORDS,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__(path, name=name)
        self.points = points
        self._wanted = wanted or PointFormat()
        self._interner = interner
        self._max_records = max_records
        self._block_bytes = block_bytes

    @property
    def has_lines(self) -> bool:
        """Whether each record is a line of text."""
        return _kind(self.path) not in _TABLES

    def beginning(self, size_bytes: int) -> bytes:
        """See `RecordFile.beginning`; of a table its first rows, in whatever groups they are stored."""
        if self.has_lines:
            return super().beginning(size_bytes)
        text = b""
        try:
            for part in _tables(self.path, self.name, most_rows=_ROWS_AT_ONCE):
                for first in range(0, len(part.table), _ROWS_AT_ONCE):
                    rows = part.table.slice(first, _ROWS_AT_ONCE).to_pylist()
                    text += b"".join(f"{row}\n".encode() for row in rows)
                    if len(text) >= size_bytes:
                        return text[:size_bytes]
        except (SourceBroken, ValueError, OverflowError):  # or has what Python has no value for
            return b""
        return text

    def require_fitting(self) -> None:
        """Refuse a file whose header or columns do not fit what is declared, as reading it would.

        A file that is broken is its reader's to report, and so is what a pipe will give.

        Raises
        ------
        InvalidArgument
            See above.
        """
        if not self.rewindable:
            return
        with contextlib.suppress(SourceBroken):
            kind = _kind(self.path)
            if kind in _TABLES:
                self._require_columns()
            elif kind in _LIBSVM:
                require_sparse(self.name, self.points)
            else:
                self._require_header()

    def _require_header(self) -> None:
        with self.path.open("rb", buffering=0) as file:
            first = _first_line(file, self.path, self._wanted, is_packed=self._is_packed)
        if first is not None:
            PointLayout.of_header(first, self._wanted, source=self.name, points=self.points)

    def _require_columns(self) -> None:
        most = min(self._max_records, most_records(self.points))
        with contextlib.closing(_tables(self.path, self.name, most_rows=most)) as parts:
            for part in parts:
                try:
                    if len(part.table) and self._has_fitting_columns(part.table):
                        return
                except InvalidArgument as error:
                    raise InvalidArgument(f"{self.name}: {error.message}", hint=error.hint) from error

    def _has_fitting_columns(self, table: Any) -> bool:
        interner = None if self._interner is None else Draft(self._interner)
        return check_point_columns(
            table, self.points, wanted=self._wanted, interner=interner, source=self.name
        )

    def _parsed(self, reader: Reader, skip_records: int) -> Iterator[ParsedPoints]:
        kind = _kind(self.path)
        if kind in _TABLES:
            return self._parsed_tables(skip_records)
        if kind in _LIBSVM:
            return libsvm_points(
                reader,
                self.name,
                points=self.points,
                interner=self._interner,
                max_line_bytes=self._wanted.max_line_bytes,
                max_records=self._max_records,
                skip_records=skip_records,
                block_bytes=self._block_bytes,
                gzip_expected=self._is_packed,
            )
        return csv_points(
            reader,
            self.name,
            wanted=self._wanted,
            points=self.points,
            interner=self._interner,
            max_records=self._max_records,
            skip_records=skip_records,
            block_bytes=self._block_bytes,
            gzip_expected=self._is_packed,
        )

    def _parsed_tables(self, skip_records: int) -> Iterator[ParsedPoints]:
        most = min(self._max_records, most_records(self.points))
        rows = 0
        for begin, table in _tables(self.path, self.name, skip=skip_records, most_rows=most):
            rows = begin + len(table)
            for first in range(max(0, skip_records - begin), len(table), most):
                yield parse_point_table(
                    table.slice(first, most),
                    self.points,
                    wanted=self._wanted,
                    interner=None if self._interner is None else Draft(self._interner),
                    source=self.name,
                    passed=begin + first,
                    bounds=None,
                )
        if rows < skip_records:
            raise SourceBroken(
                f"{self.name} has only {rows} records, but {skip_records} of them are in already",
                hint="The file is not the one that was read before. Give it back its content, or its new content a new name.",
            )


def open_point_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    points: Points | None = None,
    wanted: PointFormat | None = None,
    interner: Interner | None = None,
    names: Sequence[str] | None = None,
    max_records: int = MAX_RECORDS,
) -> list[PointFile]:
    """Open what `--points` names, in order; all are looked at before the first is read.

    Parameters
    ----------
    points : Points, optional
        What the stream declares; left out, the files declare it.
    names : sequence of str, optional
        Of the sources; left out, those of `source_names`.

    Raises
    ------
    InvalidArgument
        A file cannot be read or does not fit what is declared (`PointFile.require_fitting`), or two names would make the same ids
        (`point_ids`); those opened before are closed.
    """
    names = source_names(paths) if names is None else names
    check_sources(names)
    declared = declared_by(paths, wanted=wanted) if points is None else points
    opened: list[PointFile] = []
    try:
        for path, name in zip(paths, names, strict=True):
            opened.append(
                PointFile(
                    path, declared, name=name, wanted=wanted, interner=interner, max_records=max_records
                )
            )
        for source in opened:
            source.require_fitting()
    except BaseException:
        for source in opened:
            source.close()
        raise
    return opened


def declared_by(paths: Sequence[str | os.PathLike[str]], *, wanted: PointFormat | None = None) -> Points:
    """What files of points declare: the first of them, but that sparse points have as many features as all files ask for.

    The width of a libsvm file is found by a pass over all of it, that of sparse tables likewise, unless `wanted` names it. Vectors of Spark
    say their own.

    Raises
    ------
    InvalidArgument
        There is no file, one cannot be read twice (a pipe), or the first one declares nothing.
    SourceBroken
        One cannot be read to its end.
    """
    text_format = wanted or PointFormat()
    if not paths:
        raise InvalidArgument("there is no file of points")
    points = _declared(Path(paths[0]), text_format)
    if points.sparse and text_format.features is None:
        widths = [points.features, *_widths(map(Path, paths[1:]), text_format)]
        points = replace(points, features=max(widths))
    return points


def has_role(path: str | os.PathLike[str], wanted: PointFormat, role: int) -> bool:
    """Whether a file has the labels (`LABEL`) or the ids (`ID`) of its points; see `PointFile` for what is raised."""
    path = Path(path)
    kind, is_packed = _kind(path), path.suffix.lower() == ".gz"
    if kind in _TABLES:
        name = wanted.label_name if role == LABEL else wanted.id_name
        return name in next(_tables(path, path.name)).table.column_names
    if kind in _LIBSVM:
        return role == LABEL
    with path.open("rb", buffering=0) as file:
        return bool((_layout_of(file, path, wanted, is_packed=is_packed).roles == role).any())


def says_width(path: str | os.PathLike[str]) -> bool:
    """Whether a file says itself how many features its points have, as of sparse points only vectors of Spark do."""
    path = Path(path)
    kind = _kind(path)
    if kind in _TABLES:
        return form_of(next(_tables(path, path.name)).table.schema) not in WITHOUT_WIDTH
    return kind not in _LIBSVM


def _widths(paths: Iterable[Path], wanted: PointFormat) -> Iterator[int]:
    for path in paths:
        declared = _declared(path, wanted)
        if declared.sparse:
            yield declared.features


def _declared(path: Path, wanted: PointFormat) -> Points:
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        raise InvalidArgument(
            f"the file {path} cannot be read: {error.strerror}", hint="Check the path and its permissions."
        ) from error
    if not is_file:
        raise InvalidArgument(
            f"{path} is no plain file, so what its points are cannot be found out before they are read",
            hint="Declare the points of the stream, or read them from a file.",
        )
    kind, is_packed = _kind(path), path.suffix.lower() == ".gz"
    if kind in _TABLES:
        tables = _tables(path, path.name)
        first = next(tables).table
        points = declared_points(first, wanted)
        if form_of(first.schema) in WITHOUT_WIDTH:
            others = (
                () if wanted.features else (declared_points(part.table, wanted).features for part in tables)
            )
            points = replace(points, features=wanted.features or max([points.features, *others]))
        return points
    with path.open("rb", buffering=0) as file:
        if kind in _LIBSVM:
            features = wanted.features or libsvm_width(
                file, path.name, max_line_bytes=wanted.max_line_bytes, gzip_expected=is_packed
            )
            return Points(features, sparse=True, dtype=wanted.dtype)
        return _layout_of(file, path, wanted, is_packed=is_packed).points


def _layout_of(file: Reader, path: Path, wanted: PointFormat, *, is_packed: bool) -> PointLayout:
    first = _first_line(file, path, wanted, is_packed=is_packed)
    if first is None:
        raise InvalidArgument(f"{path} has no header, so it declares no points")
    return PointLayout.of_header(first, wanted, source=path.name)


def _first_line(file: Reader, path: Path, wanted: PointFormat, *, is_packed: bool) -> bytes | None:
    """Return the first line of a text that has something, which is its header; None where there is none."""
    limit = wanted.max_line_bytes
    for block in line_blocks(
        file, path.name, max_line_bytes=limit, block_bytes=_HEADER_BYTES, gzip_expected=is_packed
    ):
        starts, stops, _, _ = find_lines(np.frombuffer(block, np.uint8), 1, limit, True)
        if len(starts):
            return block[starts[0] : min(stops[0], starts[0] + limit)]
    return None


def _kind(path: Path) -> str:
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def _tables(
    path: Path, name: str, *, skip: int = 0, most_rows: int = MAX_RECORDS
) -> Generator[_Part, None, None]:
    """The rows of a table, but for parts before row `skip` that need not be read."""
    try:
        with _opened(path) as file:
            magic = file.read(len(_ARROW_FILE))
            file.seek(0)
            if magic.startswith(_PARQUET_FILE):
                yield from _parquet_parts(file, skip, most_rows)
            elif magic == _ARROW_FILE:
                opened = pa.ipc.open_file(file)
                batches = map(opened.get_batch, range(opened.num_record_batches))
                yield from _arrow_parts(batches, opened.schema)
            else:
                stream = pa.ipc.open_stream(file)
                yield from _arrow_parts(stream, stream.schema)
                if (left := left_behind(file, name)) is not None:
                    raise SourceBroken(
                        left,
                        hint="Every row of the stream was delivered. Write all rows into one stream, or each stream into a file.",
                    )
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise SourceBroken(
            f"{name} cannot be read on as a table: {error}",
            hint="Every row before that was delivered. Get the whole file, then start again.",
        ) from error


def _parquet_parts(file: Any, skip: int, most_rows: int) -> Iterator[_Part]:
    parquet = pq.ParquetFile(file)
    begin = 0
    for group in range(parquet.num_row_groups):
        rows = parquet.metadata.row_group(group).num_rows
        if begin + rows > skip:
            at = begin
            for batch in parquet.iter_batches(batch_size=most_rows, row_groups=[group]):
                yield _Part(at, pa.Table.from_batches([batch]))
                at += len(batch)
        begin += rows
    yield _Part(begin, parquet.schema_arrow.empty_table())


def _arrow_parts(batches: Iterable[Any], schema: Any) -> Iterator[_Part]:
    begin = 0
    for batch in batches:
        batch.validate(full=True)  # a forged offset would read memory that is not the file's
        yield _Part(begin, pa.Table.from_batches([batch]))
        begin += len(batch)
    yield _Part(begin, schema.empty_table())


def _opened(path: Path) -> Any:
    if path.suffix.lower() != ".gz":
        return pa.memory_map(str(path))
    temporary = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    try:
        with gzip.open(path, "rb") as packed:
            shutil.copyfileobj(packed, temporary)
        temporary.seek(0)
    except BaseException:
        temporary.close()
        raise
    return temporary
