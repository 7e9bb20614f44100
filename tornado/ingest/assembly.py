"""From what a tokenizer kernel left behind to a `ParsedBatch`: doubtful lines, long numbers, names, both directions.

The kernel did the lines it was sure of. Here the others are put to the definition (Python, one at a time), weights with many
digits and times are read in bulk, string ids are interned in order of appearance, and rejected records are taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import RecordError
from ..records.edge_batch import EdgeBatch
from .interner import Names
from .lines import ParsedLine, shown
from .parsed import DESCRIBING, ParsedBatch, Rejections, drafted
from .times import BEYOND, MALFORMED, NO_TIME, parse_times
from .tokenizer import CAREFUL, SLOW_WEIGHT, gather


@dataclass(frozen=True, slots=True, eq=False)
class KernelColumns:
    """The arrays that a kernel writes; see `tokenizer.parse_lines`."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    weight: NDArray[np.float64]
    op: NDArray[np.int8]
    spans: NDArray[np.int64]
    status: NDArray[np.int8]

    @classmethod
    def for_lines(cls, count: int, *, timed: bool = False) -> Self:
        """Arrays for `count` lines, not yet filled; with room for where times are, or without."""
        return cls(
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.float64),
            np.empty(count, np.int8),
            np.empty((count, 10 if timed else 8), np.int64),
            np.empty(count, np.int8),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Data lines of a block: where they are and what their positions are.

    `limit` is how much of a line is kept as its text: a longer one may have been cut before it came here, or not, and what the
    quarantine says must not depend on that.
    """

    block: bytes | memoryview
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    positions: NDArray[np.int64]
    limit: int

    def __len__(self) -> int:
        return len(self.starts)

    def raw(self, index: int) -> bytes:
        """The line's bytes, at most one more than `limit` of them."""
        start = int(self.starts[index])
        return bytes(self.block[start : min(int(self.stops[index]), start + self.limit + 1)])

    def text_at(self, position: int) -> bytes:
        """The text of the record at a position."""
        return self.raw(int(np.searchsorted(self.positions, position)))[: self.limit]


def assemble(
    lines: Lines,
    columns: KernelColumns,
    define: Callable[[bytes], ParsedLine],
    *,
    interner: Names | None,
    undirected: bool = False,
    keyed: bool = False,
    timed: bool = False,
    rejected: Rejections | None = None,
) -> ParsedBatch:
    """Make the batch of some lines from the kernel's columns, which are used up.

    Parameters
    ----------
    lines : Lines
        The lines the kernel parsed.
    columns : KernelColumns
        What it wrote.
    define : callable
        The definition of a line: gives its record, or raises RecordError.
    interner : Names, optional
        Where string ids become numbers; None where ids are integers.
    undirected : bool
        Whether each record is an edge in both directions.
    keyed : bool
        Whether each record has a key.
    timed : bool
        Whether a record may have a time.
    rejected : Rejections, optional
        Where rejected records go, with those of the same body that came before; left out, they are without bounds.

    Raises
    ------
    BodyTooLarge
        The rejected records are beyond the bounds of `rejected`.
    """
    rejected = Rejections(None) if rejected is None else rejected
    before = len(rejected)
    names = _resolve_careful(
        lines, columns, define, rejected, string_ids=interner is not None, keyed=keyed, timed=timed
    )
    _read_slow_weights(lines.block, columns)
    times = _read_times(lines, columns, names, rejected) if timed else None
    keep = columns.status != CAREFUL
    src, dst, weight, op = columns.src, columns.dst, columns.weight, columns.op
    positions = lines.positions
    if len(rejected) > before:
        src, dst, weight, op, positions = src[keep], dst[keep], weight[keep], op[keep], positions[keep]
    spans = columns.spans[keep]
    block = with_texts(lines.block, [names])
    if interner is not None:
        src, dst = _intern(block, spans, interner)
    keys = texts_at(block, spans[:, 6], spans[:, 7]) if keyed else None
    last = int(lines.positions[-1]) if len(lines) else 0
    batch = EdgeBatch(src, dst, weight, op)
    parsed = ParsedBatch(
        batch,
        len(lines),
        last,
        positions,
        # Those whose time is none were found last.
        tuple(sorted(rejected.since(before), key=attrgetter("position"))),
        lines.text_at,
        keys,
        drafted(interner),
        None if times is None else times[keep],
    )
    return both_ways(parsed) if undirected else parsed


def both_ways(parsed: ParsedBatch) -> ParsedBatch:
    """The same records, each as an edge in both directions; see `both_directions`."""
    batch, positions = both_directions(parsed.batch, parsed.positions)
    origin = np.searchsorted(parsed.positions, positions)
    keys = None if parsed.keys is None else parsed.keys.take(pa.array(origin))
    times = None if parsed.times is None else parsed.times[origin]
    return replace(parsed, batch=batch, positions=positions, keys=keys, times=times)


def both_directions(batch: EdgeBatch, positions: NDArray[np.int64]) -> tuple[EdgeBatch, NDArray[np.int64]]:
    """Each edge followed by its reverse; an edge from a vertex to itself stays one edge.

    Examples
    --------
    >>> batch, positions = both_directions(EdgeBatch.of([1, 7], [2, 7]), np.array([4, 5]))
    >>> batch.src.tolist(), batch.dst.tolist(), positions.tolist()
    ([1, 2, 7], [2, 1, 7], [4, 4, 5])
    """
    copies = np.where(batch.src == batch.dst, 1, 2)
    origin = np.repeat(np.arange(len(batch)), copies)
    reverse = np.zeros(len(origin), np.bool_)
    reverse[np.cumsum(copies)[copies == 2] - 1] = True
    doubled = batch.take(origin)
    src, dst = np.where(reverse, doubled.dst, doubled.src), np.where(reverse, doubled.src, doubled.dst)
    return replace(doubled, src=src, dst=dst), positions[origin]


def _resolve_careful(
    lines: Lines,
    columns: KernelColumns,
    define: Callable[[bytes], ParsedLine],
    rejected: Rejections,
    *,
    string_ids: bool,
    keyed: bool,
    timed: bool,
) -> bytes:
    """Put doubtful lines to the definition; those it accepts become clean, the others stay CAREFUL and are rejected.

    Returns
    -------
    The names, keys and times of accepted lines, which are not always a part of the line (doubled quotes): their spans point behind
    the end of the block.
    """
    doubtful = np.flatnonzero(columns.status == CAREFUL).tolist()
    if not doubtful:
        return b""
    with DESCRIBING:
        return _resolve(
            doubtful, lines, columns, define, rejected, string_ids=string_ids, keyed=keyed, timed=timed
        )


def _resolve(
    doubtful: list[int],
    lines: Lines,
    columns: KernelColumns,
    define: Callable[[bytes], ParsedLine],
    rejected: Rejections,
    *,
    string_ids: bool,
    keyed: bool,
    timed: bool,
) -> bytes:
    names: list[bytes] = []
    end = len(lines.block)
    for index in doubtful:
        raw = lines.raw(index)
        try:
            parsed = define(raw)
        except RecordError as error:
            rejected.add(int(lines.positions[index]), raw[: lines.limit], error.reason)
            continue
        columns.status[index] = 0
        columns.weight[index], columns.op[index] = parsed.weight, parsed.op
        texts: list[tuple[int, int | bytes]] = [(6, parsed.key)] if keyed else []
        if timed:
            texts.append((8, parsed.time))
        if string_ids:
            texts += [(0, parsed.src), (2, parsed.dst)]
        else:
            columns.src[index], columns.dst[index] = parsed.src, parsed.dst
        for place, name in texts:
            encoded = name if isinstance(name, bytes) else str(name).encode()
            columns.spans[index, place : place + 2] = end, end + len(encoded)
            names.append(encoded)
            end += len(encoded)
    return b"".join(names)


def _read_slow_weights(block: bytes | memoryview, columns: KernelColumns) -> None:
    """Read the weights the kernel could not round, all at once; `weight` holds their signs until then."""
    slow = np.flatnonzero(columns.status == SLOW_WEIGHT)
    if len(slow):
        digits = texts_at(block, columns.spans[slow, 4], columns.spans[slow, 5])
        columns.weight[slow] *= digits.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _read_times(
    lines: Lines, columns: KernelColumns, names: bytes, rejected: Rejections
) -> NDArray[np.int64] | None:
    """Read the times of the lines that are good so far, all at once; lines whose time is none become CAREFUL, and are rejected.

    Returns
    -------
    None where no line has a time.
    """
    good = np.flatnonzero(columns.status != CAREFUL)
    low, high = columns.spans[good, 8], columns.spans[good, 9]
    if np.array_equal(low, high):
        return None
    block = with_texts(lines.block, [names])
    found = parse_times(texts_at(block, low, high))
    for which, reason in ((found.malformed, MALFORMED), (found.beyond, BEYOND)):
        bad = np.flatnonzero(which)
        if not len(bad):
            continue
        columns.status[good[bad]] = CAREFUL
        rejected.require_room(len(bad), position=int(lines.positions[good[bad[0]]]), reason=reason)
        with DESCRIBING:
            for at in bad.tolist():
                index = int(good[at])
                text = shown(bytes(block[low[at] : high[at]]))
                rejected.add(
                    int(lines.positions[index]), lines.raw(index)[: lines.limit], f"{reason}: {text}"
                )
    times = np.full(len(lines), NO_TIME, np.int64)
    times[good] = found.microseconds
    return times


def _intern(
    block: bytes | memoryview, spans: NDArray[np.int64], interner: Names
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    # Source and destination in turn: that is the order in which a reader of the lines would meet the names.
    ids = interner.intern(texts_at(block, spans[:, 0:4:2].ravel(), spans[:, 1:4:2].ravel()))
    return ids[0::2].copy(), ids[1::2].copy()


def with_texts(block: bytes | memoryview, texts: Sequence[bytes]) -> bytes | memoryview:
    """A block, and further texts behind it; mostly there are none, and it is no copy then."""
    return b"".join((block, *texts)) if any(texts) else block


def texts_at(
    block: bytes | memoryview, low: NDArray[np.int64], high: NDArray[np.int64]
) -> pa.LargeStringArray:
    """The texts between some places of a block, which must be UTF-8."""
    offsets, packed = gather(
        np.frombuffer(block, np.uint8), np.ascontiguousarray(low), np.ascontiguousarray(high)
    )
    return pa.LargeStringArray.from_buffers(len(low), pa.py_buffer(offsets), pa.py_buffer(packed))
