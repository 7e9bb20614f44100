"""What a source or a pushed body is parsed into: the edges that are good and the records that are not.

A *record* is what the sender sent (a data line, a row); an *edge* is what a loop admits. They differ where a line means both
directions of an undirected edge, and where a record is rejected. Offsets count records, so nothing else here counts edges.

Guarantees: every record is either in `rejected` or gave all of its edges, never both, never a part.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..config import REJECTED_LIMIT_BYTES
from ..errors import BodyTooLarge
from .records import EdgeBatch

RECORD_TEXT_LIMIT: Final = 1000
"""So many characters of a rejected record, and of its reason, are kept; the rest is cut off and marked with an ellipsis."""

# What a rejection takes beside its text.
_REJECTION_BYTES: Final = 200


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
        What is wrong with it, cut in the same way.
    """

    position: int
    record: str
    reason: str

    @classmethod
    def of(cls, position: int, record: bytes | str, reason: str) -> Self:
        """Make a rejection with the record as readable text of bounded length."""
        return cls(position, readable(record), readable(reason))


class Rejections:
    """The rejected records of one body, which is refused as a whole where they take too much.

    Parameters
    ----------
    limit_bytes : int or None
        What they may take; None where they cannot be refused, and whoever reads them makes stretches of bounded size.
    """

    def __init__(self, *, limit_bytes: int | None = REJECTED_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._all: list[Rejection] = []

    def add(self, position: int, record: bytes | str, reason: str) -> None:
        """Reject one record; see `Rejection.of`.

        Raises
        ------
        BodyTooLarge
            When they take too much.
        """
        # What it takes to look at a long one counts, not only what is kept of it.
        self._size_bytes += len(record)
        self.extend([Rejection.of(position, record, reason)])

    def extend(self, rejected: Iterable[Rejection]) -> None:
        """Take over what was rejected elsewhere; raises as `add`."""
        before = len(self._all)
        self._all += rejected
        if self._limit_bytes is None:
            return
        self._size_bytes += sum(sys.getsizeof(one.record) + _REJECTION_BYTES for one in self._all[before:])
        if self._size_bytes > self._limit_bytes:
            raise BodyTooLarge(
                f"the body is larger than what is taken at once: its first {len(self._all)} records that cannot be "
                f"admitted take more than {self._limit_bytes} bytes; the last is record {self._all[-1].position}: "
                f"{self._all[-1].reason}",
                hint="Mend the records, or send them in several requests.",
            )

    def all(self) -> tuple[Rejection, ...]:
        """All of them, as they came."""
        return tuple(self._all)


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

    @classmethod
    def concat(cls, parts: Sequence[ParsedBatch]) -> ParsedBatch:
        """One stretch of several that follow each other, their positions counted through."""
        if len(parts) == 1:
            return parts[0]
        firsts = [0]
        for part in parts:
            firsts.append(firsts[-1] + part.records)
        moved = [part.shifted(first) for part, first in zip(parts, firsts, strict=False)]

        def text_of(position: int) -> bytes | str:
            return moved[bisect_left(firsts, position) - 1].text_of(position)

        return cls(
            EdgeBatch.concat(part.batch for part in moved),
            firsts[-1],
            firsts[-1],
            np.concatenate([np.empty(0, np.int64), *(part.positions for part in moved)]).astype(np.int64),
            tuple(rejection for part in moved for rejection in part.rejected),
            text_of,
            None
            if any(part.keys is None for part in parts)
            else pa.concat_arrays([pa.array([], pa.large_string()), *(part.keys for part in parts)]),
        )

    @property
    def accepted(self) -> int:
        """Number of records whose edges are in `batch`."""
        return self.records - len(self.rejected)

    def without(self, bad: NDArray[np.bool_], reason: str, *, limit_bytes: int | None = None) -> ParsedBatch:
        """Reject the records of the edges that `bad` marks, with all edges they gave.

        Parameters
        ----------
        bad : bool[len(batch)]
            The marked edges.
        reason : str
            What is wrong with them.
        limit_bytes : int, optional
            What the records that are rejected may take, where the whole can still be refused.

        Raises
        ------
        BodyTooLarge
            When they take more.
        """
        if not bad.any():
            return self
        refused = np.unique(self.positions[bad])
        keep = ~np.isin(self.positions, refused)
        more = Rejections(limit_bytes=limit_bytes)
        for at in refused.tolist():
            more.add(at, self.text_of(at), reason)
        return replace(
            self,
            batch=self.batch.take(keep),
            positions=self.positions[keep],
            rejected=tuple(sorted(self.rejected + more.all(), key=lambda rejection: rejection.position)),
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
