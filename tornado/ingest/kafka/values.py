"""What the values of a topic's messages are made into: its records, edges or points, of lines and of tables that were found already.

`Decoder` finds out which lines and rows a chunk has, and of which messages; one of these knows what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...config import MESSAGE_LIMIT_BYTES, MESSAGE_LIMIT_RECORDS
from ...records.record_batch import RecordBatch
from ..arrow import parse_table
from ..arrow_bounds import Bounds
from ..assembly import Lines, both_ways
from ..interner import Draft, Interner
from ..layout import Layout, TextFormat
from ..lines import LineLayout
from ..ndjson import parse_object_lines
from ..parsed import ParsedBatch, ParsedRecords
from ..text import parse_text_lines
from .settings import KafkaSettings, ValueFormat

MESSAGE: Final = Bounds(MESSAGE_LIMIT_BYTES, MESSAGE_LIMIT_RECORDS)
"""The most that one message may be; about as much is decoded at once."""
MAX_LINE_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class MessageOrigin:
    """Where some records are from.

    Attributes
    ----------
    source : str
        The partition, as offsets have it.
    places : int64[records]
        The offset of the message of each; -1 where the message has several records.
    """

    source: str
    places: NDArray[np.int64]


class MessageValues(Protocol):
    """How the records of a topic are read.

    Attributes
    ----------
    max_line_bytes : int
        Longer lines are rejected.
    most_records : int
        About so many are read at once; a message of more is rejected.
    """

    @property
    def max_line_bytes(self) -> int:
        """See the class."""
        ...

    @property
    def most_records(self) -> int:
        """See the class."""
        ...

    def draft(self) -> Draft | None:
        """What names the ids of a chunk, where they are texts."""
        ...

    def of_lines(
        self, lines: Lines, origin: MessageOrigin, names: Draft | None
    ) -> ParsedRecords[RecordBatch]:
        """Read lines; positions are theirs."""
        ...

    def of_table(
        self, table: pa.Table, origin: MessageOrigin, names: Draft | None
    ) -> ParsedRecords[RecordBatch]:
        """Read a table; positions count its rows from 1.

        Raises
        ------
        InvalidArgument
            It cannot be read as a whole, or takes too much.
        """
        ...

    def concat(self, parts: Sequence[ParsedRecords[RecordBatch]]) -> ParsedRecords[RecordBatch]:
        """One stretch of several that follow each other, their positions counted through."""
        ...


class EdgeValues:
    """Records that are edges; see `MessageValues`.

    Parameters
    ----------
    settings : KafkaSettings
        The format, and what belongs to it.
    interner : Interner, optional
        Ids are strings; without it they are integers.
    """

    max_line_bytes = MAX_LINE_BYTES
    most_records = MESSAGE.records

    def __init__(self, settings: KafkaSettings, interner: Interner | None) -> None:
        self._interner = interner
        self._undirected = settings.undirected
        self._key = settings.dedup_key
        self._times = settings.times
        self._layout: LineLayout | None = None
        if settings.value_format is ValueFormat.CSV:
            # There is no first line to guess from: any message may be the first one after a restart.
            wanted = TextFormat(
                columns=settings.columns,
                separator=",",
                header=False,
                max_line_bytes=MAX_LINE_BYTES,
                key=self._key,
                times=self._times,
            )
            self._layout = Layout.detect(b"", wanted, string_ids=interner is not None).line

    def draft(self) -> Draft | None:
        """See `MessageValues`."""
        return None if self._interner is None else Draft(self._interner)

    def of_lines(self, lines: Lines, origin: MessageOrigin, names: Draft | None) -> ParsedBatch:  # noqa: ARG002  an edge has ends of its own
        """See `MessageValues`."""
        if self._layout is None:
            return parse_object_lines(
                lines, interner=names, undirected=self._undirected, key=self._key, times=self._times
            )
        return parse_text_lines(lines, self._layout, interner=names, undirected=self._undirected)

    def of_table(self, table: pa.Table, origin: MessageOrigin, names: Draft | None) -> ParsedBatch:  # noqa: ARG002  likewise
        """See `MessageValues`."""
        parsed = parse_table(table, interner=names, key=self._key, times=self._times, bounds=MESSAGE)
        return both_ways(parsed) if self._undirected else parsed

    def concat(self, parts: Sequence[ParsedRecords[RecordBatch]]) -> ParsedBatch:
        """See `MessageValues`."""
        return ParsedBatch.concat([part for part in parts if isinstance(part, ParsedBatch)])
