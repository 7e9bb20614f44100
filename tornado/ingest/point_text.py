"""Readers of texts of points: CSV with a header, and libsvm; plain or gzip.

Blocks of whole lines go through a compiled tokenizer, and only lines it is not sure about cost Python time. The result is that of
reading line by line (`PointLayout.parse` and `parse_libsvm_line` are the definitions), whatever the block size.

*libsvm*: a line is ``label index:value index:value …``, without operations, weights or ids. Indices count from 1, as LIBSVM and
SVMlight have it: feature 0 is written as index 1, and an index of 0 is a fault. They may come in any order, each once. A second
field ``qid:N`` is passed over: queries group points that are to be ranked, and nothing here ranks. ``#`` begins a comment, also
behind the values.

Guarantees: order is kept; every data line is either in a batch or rejected with its line number from 1 (comments, empty lines
and a header have line numbers and are no records). Memory is a small multiple of the block, and of a batch's features.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument, RecordError
from ..records.point_schema import MOST_FEATURES, Points
from .assembly import Lines
from .blocks import BLOCK_BYTES, Reader, line_blocks
from .interner import Draft, Interner, Names
from .line_finder import find_lines
from .lines import parse_number, shown
from .parsed import ParsedPoints
from .point_assembly import PointFields, assemble_points, most_records
from .point_layout import PointFormat, PointLayout
from .point_record import ParsedPoint, beyond_width, sparse_values
from .point_tokenizer import OPERATION_CODES, OPERATION_WORDS, point_text_module, text_columns
from .text import MAX_RECORDS, LineParser, batches_of_lines

# The shortest entry, ` 1:1`.
_ENTRY_BYTES: Final = 4


def csv_points(
    reader: Reader,
    name: str,
    *,
    wanted: PointFormat | None = None,
    points: Points | None = None,
    interner: Interner | None = None,
    max_records: int = MAX_RECORDS,
    skip_records: int = 0,
    block_bytes: int = BLOCK_BYTES,
    gzip_expected: bool = False,
) -> Iterator[ParsedPoints]:
    r"""Parse a CSV of dense points from its start; see `point_layout`.

    Parameters
    ----------
    reader : Reader
        The bytes, plain or gzip.
    name : str
        The source, for messages and for the ids of its points where it gives none.
    wanted : PointFormat, optional
        What the caller says.
    points : Points, optional
        What the stream declares; left out, the header declares it.
    interner : Interner, optional
        Ids are texts, each batch has a draft of those that are new; without it they are integers.
    max_records : int
        Batches have at most so many records, and fewer where a point has many features.
    skip_records : int
        So many records at the start are passed over without looking into them.
    block_bytes : int
        How much text is parsed at once.
    gzip_expected : bool
        Whether an empty source is a broken one.

    Yields
    ------
    ParsedPoints
        Never of zero records; of positions that are line numbers.

    Raises
    ------
    InvalidArgument
        There is no header, or it does not fit what is declared.
    SourceBroken
        The source fails or is cut off (what came before was yielded), or has fewer than `skip_records` records.

    Examples
    --------
    >>> import io
    >>> text = b"id,label,age,height\n7,1,30,1.8\n8,0,old,1.7\n"
    >>> [parsed] = csv_points(io.BytesIO(text), "people.csv")
    >>> parsed.batch.features.tolist(), parsed.rejected[0].position, parsed.rejected[0].reason
    ([[30.0, 1.8]], 3, "feature 'age' is not a number: 'old'")
    """
    text_format = wanted or PointFormat()

    def begin(first: bytes) -> LineParser[ParsedPoints]:
        layout = PointLayout.of_header(
            first, text_format, source=name, points=points, string_ids=interner is not None
        )

        def parse(lines: Lines) -> ParsedPoints:
            names = None if interner is None else Draft(interner)
            return parse_point_lines(lines, layout, source=name, interner=names)

        return LineParser(parse, has_header=True, most_records=most_records(layout.points))

    return batches_of_lines(
        reader,
        name,
        begin,
        max_line_bytes=text_format.max_line_bytes,
        max_records=max_records,
        skip_records=skip_records,
        block_bytes=block_bytes,
        gzip_expected=gzip_expected,
    )


def libsvm_points(
    reader: Reader,
    name: str,
    *,
    points: Points,
    interner: Interner | None = None,
    max_line_bytes: int = PointFormat().max_line_bytes,
    max_records: int = MAX_RECORDS,
    skip_records: int = 0,
    block_bytes: int = BLOCK_BYTES,
    gzip_expected: bool = False,
) -> Iterator[ParsedPoints]:
    r"""Parse a libsvm text from its start; see the module and `csv_points`.

    Parameters
    ----------
    points : Points
        What is declared (`libsvm_width` finds the width of a text); sparse.
    max_line_bytes : int
        Longer lines are rejected.

    Raises
    ------
    InvalidArgument
        The stream declares dense points.

    Examples
    --------
    >>> import io
    >>> text = b"+1 1:0.5 3:2\n-1 4:1\n"
    >>> [parsed] = libsvm_points(io.BytesIO(text), "a.libsvm", points=Points(features=3, sparse=True))
    >>> parsed.batch.indices.tolist(), parsed.batch.label.tolist(), parsed.rejected[0].reason
    ([0, 2], [1.0], 'line 2: index 4 is beyond the declared width: 3 features have indices 1 to 3')
    """
    require_sparse(name, points)

    def parse(lines: Lines) -> ParsedPoints:
        names = None if interner is None else Draft(interner)
        return parse_libsvm_lines(lines, points, source=name, interner=names)

    return batches_of_lines(
        reader,
        name,
        lambda _: LineParser(parse, has_header=False),
        max_line_bytes=max_line_bytes,
        max_records=max_records,
        skip_records=skip_records,
        block_bytes=block_bytes,
        gzip_expected=gzip_expected,
    )


def require_sparse(name: str, points: Points) -> None:
    """Refuse a libsvm text where points are dense.

    Raises
    ------
    InvalidArgument
        They are.
    """
    if not points.sparse:
        raise InvalidArgument(
            f"{name} is libsvm, which is sparse, but its stream declares dense points",
            hint="Declare Points(…, sparse=True), or write the points as CSV with a header.",
        )


def libsvm_width(
    reader: Reader,
    name: str,
    *,
    max_line_bytes: int = PointFormat().max_line_bytes,
    block_bytes: int = BLOCK_BYTES,
    gzip_expected: bool = False,
) -> int:
    r"""Find the greatest index of a libsvm text by a first pass over it, from bad lines as well; at least 1.

    Raises
    ------
    SourceBroken
        It cannot be read to its end.

    Examples
    --------
    >>> import io
    >>> libsvm_width(io.BytesIO(b"+1 1:0.5 3:2\n-1 7:1 # 9:9\n"), "a.libsvm")
    7
    """
    greatest = 1
    for block in line_blocks(
        reader, name, max_line_bytes=max_line_bytes, block_bytes=block_bytes, gzip_expected=gzip_expected
    ):
        data = np.frombuffer(block, np.uint8)
        starts, stops, _, _ = find_lines(data, 1, max_line_bytes, True)
        found = int(point_text_module().greatest_index(text_columns(data), starts, stops, max_line_bytes))
        greatest = max(greatest, found)
    return greatest


def parse_point_lines(
    lines: Lines,
    layout: PointLayout,
    *,
    source: str | None,
    interner: Names | None = None,
    places: NDArray[np.int64] | None = None,
) -> ParsedPoints:
    """Parse data lines of a CSV that were found already; see `csv_points`, and `assemble_points` for `places`."""
    fields = PointFields.for_records(len(lines), layout.points, has_ids=layout.has_ids)
    point_text_module().parse_point_lines(
        text_columns(np.frombuffer(lines.block, np.uint8)),
        lines.starts,
        lines.stops,
        layout.separator,
        layout.roles,
        layout.string_ids,
        OPERATION_WORDS,
        OPERATION_CODES,
        layout.max_line_bytes,
        fields.ids,
        fields.label,
        fields.weight,
        fields.op,
        fields.spans,
        fields.features,
        fields.status,
    )

    def define(line: bytes, _: int) -> ParsedPoint:
        return layout.parse(line)

    return assemble_points(
        lines, fields, define, points=layout.points, source=source, interner=interner, places=places
    )


def parse_libsvm_lines(
    lines: Lines, points: Points, *, source: str, interner: Names | None = None
) -> ParsedPoints:
    """Parse data lines of libsvm that were found already; see `libsvm_points`."""
    size_bytes = int(lines.stops[-1] - lines.starts[0]) if len(lines) else 0
    room = size_bytes // _ENTRY_BYTES + 1
    fields = PointFields.for_records(len(lines), points, has_ids=False, room=room)
    point_text_module().parse_libsvm_lines(
        text_columns(np.frombuffer(lines.block, np.uint8)),
        lines.starts,
        lines.stops,
        points.features,
        lines.limit,
        fields.label,
        fields.begins,
        fields.indices,
        fields.values,
        fields.status,
    )
    define = partial(parse_libsvm_line, points=points, max_line_bytes=lines.limit)
    return assemble_points(lines, fields, define, points=points, source=source, interner=interner)


def parse_libsvm_line(line: bytes, position: int, points: Points, max_line_bytes: int) -> ParsedPoint:
    """Parse one data line without its line end: the definition.

    Raises
    ------
    RecordError
        The line is malformed: faults are looked for in the order line length, label, entries.
    """
    if len(line) > max_line_bytes:
        raise RecordError(f"line is longer than {max_line_bytes} bytes")
    parts = [part for part in line.partition(b"#")[0].replace(b"\t", b" ").split(b" ") if part]
    label = parse_number(parts[0] if parts else b"", "label")
    entries: list[tuple[int, bytes]] = []
    for place, part in enumerate(parts[1:]):
        name, colon, value = part.partition(b":")
        if place == 0 and name == b"qid" and value.isdigit():
            continue
        if not colon or not name.isdigit():
            raise RecordError(f"not an entry index:value: {shown(part)}")
        # int() refuses the longest ones; what has as many digits is beyond any width.
        index = int(name) if len(name) <= 19 else MOST_FEATURES + 1
        if not 1 <= index <= points.features:
            raise RecordError(f"line {position}: {beyond_width(index, points, base=1)}")
        entries.append((index, value))
    values, indices = sparse_values(entries, points, base=1)
    return ParsedPoint(None, label, 1.0, 1, values, indices)
