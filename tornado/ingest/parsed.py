"""What a source or a pushed body is parsed into: the edges that are good and the records that are not.

A *record* is what the sender sent (a data line, a row); an *edge* is what a loop admits. They differ where a line means both
directions of an undirected edge, and where a record is rejected. Offsets count records, so nothing else here counts edges.

Guarantees: every record is either in `rejected` or gave all of its edges, never both, never a part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .records import EdgeBatch

RECORD_TEXT_LIMIT: Final = 1000
"""So many characters of a rejected record are kept; the rest is cut off and marked with an ellipsis."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """One record that cannot be admitted.

    Attributes
    ----------
    position : int
        Line number from 1 (text), or number of the record from 1 (pushed bodies).
    record : str
        The record as it came, bytes that are no UTF-8 escaped, cut at `RECORD_TEXT_LIMIT`.
    reason : str
        What is wrong with it.
    """

    position: int
    record: str
    reason: str

    @classmethod
    def of(cls, position: int, record: bytes | str, reason: str) -> Self:
        """Make a rejection with the record as readable text of bounded length."""
        return cls(position, readable(record), reason)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedBatch:
    """A stretch of a source, parsed.

    Attributes
    ----------
    batch : EdgeBatch
        The edges of the good records, in order.
    records : int
        How many records the stretch has, rejected ones included; comments, empty lines and headers are none.
    last_position : int
        Position of the last record of the stretch (0 where there is none).
    positions : int64[len(batch)]
        Position of the record each edge came from; ascending.
    rejected : tuple of Rejection
        The other records, by ascending position.
    text_of : callable
        The text of the record at a position; valid for positions of this stretch.
    keys : pyarrow.LargeStringArray or None
        Where each record has a key beside its edge: that of the record each edge came from.
    """

    batch: EdgeBatch
    records: int
    last_position: int
    positions: NDArray[np.int64]
    rejected: tuple[Rejection, ...]
    text_of: Callable[[int], bytes | str]
    keys: pa.LargeStringArray | None = None

    @property
    def accepted(self) -> int:
        """Number of records whose edges are in `batch`."""
        return self.records - len(self.rejected)

    def without(self, bad: NDArray[np.bool_], reason: str) -> ParsedBatch:
        """Reject the records of the edges that `bad` marks, with all edges they gave.

        Parameters
        ----------
        bad : bool[len(batch)]
            The marked edges.
        reason : str
            What is wrong with them.
        """
        if not bad.any():
            return self
        refused = np.unique(self.positions[bad])
        keep = ~np.isin(self.positions, refused)
        more = tuple(Rejection.of(int(at), self.text_of(int(at)), reason) for at in refused)
        return replace(
            self,
            batch=self.batch.take(keep),
            positions=self.positions[keep],
            rejected=tuple(sorted(self.rejected + more, key=lambda rejection: rejection.position)),
            keys=None if self.keys is None else self.keys.filter(pa.array(keep)),
        )

    def shifted(self, by: int) -> ParsedBatch:
        """The same stretch with `by` added to every position (a pushed body that starts at an offset)."""
        text_of = self.text_of
        return replace(
            self,
            last_position=self.last_position + by,
            positions=self.positions + by,
            rejected=tuple(replace(one, position=one.position + by) for one in self.rejected),
            text_of=lambda position: text_of(position - by),
        )


def readable(record: bytes | str) -> str:
    """Turn a record into text of bounded length; bytes that are no UTF-8 are shown as escapes."""
    if isinstance(record, bytes):
        # A character has at most four bytes, so cutting here first cannot change what is kept below.
        record = record[: 4 * RECORD_TEXT_LIMIT + 4].decode("utf-8", "backslashreplace")
    return record if len(record) <= RECORD_TEXT_LIMIT else record[:RECORD_TEXT_LIMIT] + "…"
