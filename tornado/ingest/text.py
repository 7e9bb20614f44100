"""A fast reader of edge files: comma, tab, semicolon or blank separated, plain or gzip.

Blocks of whole lines go through a compiled tokenizer; only lines it is not sure about cost Python time. The result is exactly
that of reading line by line (`lines.parse_line` is the definition, `layout.py` how the first line is understood), whatever the
block size.

Guarantees: order is kept; every data line is either in a batch or rejected with its line number from 1 (comments, empty lines
and a header have line numbers and are no records); nothing in a line stops the reader. Memory is a small multiple of the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from ..errors import InvalidArgument, SourceBroken
from ..records.edge_batch import EdgeBatch
from .assembly import KernelColumns, Lines, assemble
from .blocks import BLOCK_BYTES, Reader, line_blocks
from .interner import Draft, Interner, Names
from .layout import Layout, TextFormat
from .lines import LineLayout, parse_line
from .parsed import ParsedBatch
from .tokenizer import find_lines, parse_lines

_VERTEX_REASONS: Final = {
    "more than 1 columns: name the ones to use (--columns)": "more than one id: a line has one vertex"
}

MAX_RECORDS: Final = 65_536
"""How many records a batch has at most, unless said otherwise."""


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
    wanted = wanted or TextFormat()
    if max_records < 1 or block_bytes < 1:
        raise InvalidArgument(
            f"max_records is {max_records} and block_bytes {block_bytes}, but both must be 1 or more"
        )
    limit = wanted.max_line_bytes
    layout: LineLayout | None = None
    number = 1
    left = skip_records
    for block in line_blocks(
        reader, name, max_line_bytes=limit, block_bytes=block_bytes, gzip_expected=gzip_expected
    ):
        starts, stops, positions, count = find_lines(np.frombuffer(block, np.uint8), number, limit, True)
        number += count
        if not len(starts):
            continue
        first = 0
        if layout is None:
            line = block[starts[0] : min(stops[0], starts[0] + limit)]
            detected = Layout.detect(line, wanted, string_ids=interner is not None)
            layout, first = detected.line, int(detected.has_header)
        skipped = min(left, len(starts) - first)
        left -= skipped
        for low in range(first + skipped, len(starts), max_records):
            part = slice(low, low + max_records)
            lines = Lines(block, starts[part], stops[part], positions[part], limit)
            names = None if interner is None else Draft(interner)
            yield parse_text_lines(lines, layout, interner=names, undirected=wanted.undirected)
    if left:
        raise SourceBroken(
            f"{name} has only {skip_records - left} records, but {skip_records} of them are in already",
            hint="The file is not the one that was read before. Give it back its content, or its new content a new name.",
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
