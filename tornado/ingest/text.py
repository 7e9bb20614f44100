"""A fast reader of edge files: comma, tab, semicolon or blank separated, plain or gzip.

Blocks of whole lines go through a compiled tokenizer; only lines it is not sure about cost Python time. The result is exactly
that of reading line by line (`lines.parse_line` is the definition, `layout.py` how the first line is understood), whatever the
block size.

Guarantees: order is kept; every data line is either in a batch or rejected with its line number from 1 (comments, empty lines
and a header have line numbers and are no records); nothing in a line stops the reader. Memory is a small multiple of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Generic, TypeVar

import numpy as np

from ..errors import InvalidArgument, SourceBroken
from ..records.edge_batch import EdgeBatch
from .assembly import KernelColumns, Lines, assemble
from .blocks import BLOCK_BYTES, Reader, line_blocks
from .interner import Draft, Interner, Names
from .layout import Layout, TextFormat
from .line_finder import find_lines
from .lines import LineLayout, parse_line
from .parsed import ParsedBatch
from .tokenizer import parse_lines

_VERTEX_REASONS: Final = {
    "more than 1 columns: name the ones to use (--columns)": "more than one id: a line has one vertex"
}

MAX_RECORDS: Final = 65_536
"""How many records a batch has at most, unless said otherwise."""

ParsedT = TypeVar("ParsedT")


@dataclass(frozen=True, slots=True)
class LineParser(Generic[ParsedT]):
    """How the lines of a source are parsed, once its first one was seen.

    Attributes
    ----------
    parse : callable
        Parses some data lines.
    has_header : bool
        Whether that first line is no record.
    most_records : int, optional
        The most records of a batch, where the lines say so.
    """

    parse: Callable[[Lines], ParsedT]
    has_header: bool
    most_records: int | None = None


def batches_of_lines(
    reader: Reader,
    name: str,
    begin: Callable[[bytes], LineParser[ParsedT]],
    *,
    max_line_bytes: int,
    max_records: int = MAX_RECORDS,
    skip_records: int = 0,
    block_bytes: int = BLOCK_BYTES,
    gzip_expected: bool = False,
) -> Iterator[ParsedT]:
    """Parse a text of one record a line, whatever the records are.

    Parameters
    ----------
    begin : callable
        Gets the first line that is neither empty nor a comment, cut at `max_line_bytes`.
    reader, name, max_records, skip_records, block_bytes, gzip_expected
        As for `parsed_batches`, which says what is raised.
    """
    if max_records < 1 or block_bytes < 1:
        raise InvalidArgument(
            f"max_records is {max_records} and block_bytes {block_bytes}, but both must be 1 or more"
        )
    parser: LineParser[ParsedT] | None = None
    number = 1
    left = skip_records
    for block in line_blocks(
        reader, name, max_line_bytes=max_line_bytes, block_bytes=block_bytes, gzip_expected=gzip_expected
    ):
        starts, stops, positions, count = find_lines(
            np.frombuffer(block, np.uint8), number, max_line_bytes, True
        )
        number += count
        if not len(starts):
            continue
        first = 0
        if parser is None:
            parser = begin(block[starts[0] : min(stops[0], starts[0] + max_line_bytes)])
            first = int(parser.has_header)
            max_records = min(max_records, parser.most_records or max_records)
        skipped = min(left, len(starts) - first)
        left -= skipped
        for low in range(first + skipped, len(starts), max_records):
            part = slice(low, low + max_records)
            yield parser.parse(Lines(block, starts[part], stops[part], positions[part], max_line_bytes))
    if left:
        raise SourceBroken(
            f"{name} has only {skip_records - left} records, but {skip_records} of them are in already",
            hint="The file is not the one that was read before. Give it back its content, or its new content a new name.",
        )


def parsed_batches(
    reader: Reader,
    name: str,
    *,
    wanted: TextFormat | None = None,
    interner: Interner | None = None,
    max_records: int = MAX_RECORDS,
    skip_records: int = 0,
    block_bytes: int = BLOCK_BYTES,
    gzip_expected: bool = False,
) -> Iterator[ParsedBatch]:
    r"""Parse a text from its start.

    Parameters
    ----------
    reader : Reader
        The bytes, plain or gzip.
    name : str
        The source, for messages.
    wanted : TextFormat, optional
        What is known of the format; the rest is detected.
    interner : Interner, optional
        Ids are strings, each batch has a draft of those that are new; without it they are integers.
    max_records : int
        Batches have at most so many records (twice as many edges where they are undirected).
    skip_records : int
        So many records at the start are passed over without looking into them.
    block_bytes : int
        How much text is parsed at once.
    gzip_expected : bool
        Whether an empty source is a broken one.

    Yields
    ------
    ParsedBatch
        Never of zero records.

    Raises
    ------
    SourceBroken
        The source fails or is cut off (what came before was yielded), or has fewer than `skip_records` records.

    Examples
    --------
    >>> import io
    >>> [parsed] = parsed_batches(io.BytesIO(b"# from to\n1 2\n1 x\n"), "edges.txt")
    >>> parsed.batch.dst.tolist(), parsed.records, parsed.rejected[0].position, parsed.rejected[0].reason
    ([2], 2, 3, "dst is not an integer: 'x'")
    """
    text_format = wanted or TextFormat()

    def begin(first: bytes) -> LineParser[ParsedBatch]:
        layout = Layout.detect(first, text_format, string_ids=interner is not None)

        def parse(lines: Lines) -> ParsedBatch:
            names = None if interner is None else Draft(interner)
            return parse_text_lines(lines, layout.line, interner=names, undirected=text_format.undirected)

        return LineParser(parse, layout.has_header)

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


def parse_text_lines(
    lines: Lines, layout: LineLayout, *, interner: Names | None = None, undirected: bool = False
) -> ParsedBatch:
    """Parse data lines that were found already; see `parsed_batches`."""
    timed = layout.time >= 0
    columns = KernelColumns.for_lines(len(lines), timed=timed)
    places = [layout.src, layout.dst, layout.weight, layout.op, layout.key, *([layout.time] if timed else [])]
    parse_lines(
        np.frombuffer(lines.block, np.uint8),
        lines.starts,
        lines.stops,
        layout.separator,
        np.array(places),
        layout.most_columns or 0,
        layout.weight_optional,
        layout.string_ids,
        layout.op_words,
        layout.op_codes,
        layout.max_line_bytes,
        columns.src,
        columns.dst,
        columns.weight,
        columns.op,
        columns.spans,
        columns.status,
    )
    parsed = assemble(
        lines,
        columns,
        partial(parse_line, layout=layout),
        interner=interner,
        undirected=undirected and not layout.vertices,
        keyed=layout.key >= 0,
        timed=timed,
    )
    return _as_vertices(parsed) if layout.vertices else parsed


def _as_vertices(parsed: ParsedBatch) -> ParsedBatch:
    """Vertices that were read as edges from themselves to themselves."""
    rejected = tuple(
        replace(one, reason=_VERTEX_REASONS.get(one.reason, one.reason.replace("src is", "id is", 1)))
        for one in parsed.rejected
    )
    return replace(parsed, batch=EdgeBatch.mentions(parsed.batch.src), rejected=rejected)
