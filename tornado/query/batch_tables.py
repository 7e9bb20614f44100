"""Chunks of numbered batches: tables of edges, or of points where their stream has some and neither `src` nor `dst` is there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InvalidArgument
from ..ingest.arrow import parse_order, parse_table
from ..ingest.interner import Names
from ..ingest.parsed import REJECTED, ParsedRecords
from ..ingest.point_arrow import parse_point_table
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch

_ENDS = frozenset({"src", "dst"})


class ChunkRecords(NamedTuple):
    """What a chunk has.

    Attributes
    ----------
    parsed : ParsedBatch or ParsedPoints
        Its records.
    ranks : int64[keys, parsed.records] or None
        Where each stands in the order of its batch; None where it has none.
    is_placed : bool
        Whether it is of points without ids, which are known by their place in their source.
    """

    parsed: ParsedRecords[RecordBatch]
    ranks: NDArray[np.int64] | None
    is_placed: bool


def parse_batch_table(
    table: pa.Table, *, source: str, points: Points | None, interner: Names | None, times: bool
) -> ChunkRecords:
    """Parse a chunk.

    Parameters
    ----------
    source : str
        Whose batch it is of.
    points : Points or None
        What the points of the stream are; None where it has none.
    interner : Names, optional
        Ids are texts; without it they are integers.
    times : bool
        Whether records of edges are rejected whose time is none.

    Raises
    ------
    InvalidArgument
        It cannot be taken as a whole.
    """
    order = parse_order(table)
    is_placed = False
    parsed: ParsedRecords[RecordBatch]
    if points is None or _ENDS & set(table.column_names):
        parsed = parse_table(table, interner=interner, times=times)
    else:
        is_placed = "id" not in table.column_names
        if is_placed and interner is not None:
            raise InvalidArgument(
                "the points have no column id, and the ids of this stream are texts",
                hint="Give them ids: only where ids are numbers the place of a row can be one.",
            )
        if order is not None:
            table = table.drop_columns(["order"])
        parsed = parse_point_table(
            table,
            points,
            interner=interner,
            source=source if is_placed else None,
            # For the time being: places are known when the batch is committed.
            places=np.zeros(table.num_rows, np.int64),
        )
    if order is None:
        return ChunkRecords(parsed, None, is_placed)
    ranks, missing = order
    parsed = parsed.without(missing[parsed.positions - 1], "order is missing", bounds=REJECTED)
    return ChunkRecords(parsed, ranks, is_placed)
