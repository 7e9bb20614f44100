"""What a source or a pushed body is parsed into: the edges or points that are good, and the records that are not.

A *record* is what the sender sent (a data line, a row); an *edge* or *point* is what a loop admits. They differ where a line means
both directions of an undirected edge, and where a record is rejected. Offsets count records, so nothing else here counts edges.

Guarantees: every record is either in `rejected` or gave all of its edges, or its point: never both, never a part.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from threading import Lock
from typing import Any, Final, Generic, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..config import REJECTED_LIMIT_BYTES, REJECTED_LIMIT_RECORDS
from ..errors import BodyTooLarge
from ..records.edge_batch import EdgeBatch
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from ..records.timed_edges import TimedEdges
from .arrow_bounds import Bounds
from .interner import Draft, Names
from .times import NO_TIME

RECORD_TEXT_LIMIT: Final = 1000
"""So many characters of a rejected record, and of its reason, are kept; the rest is cut off and marked with an ellipsis."""

REJECTED: Final = Bounds(REJECTED_LIMIT_BYTES, REJECTED_LIMIT_RECORDS)
"""What the rejected records of a body may be."""

DESCRIBING: Final = Lock()
"""Held by whoever looks at records one by one, in Python. Several threads would be no faster at it, as they have one interpreter
lock, and whoever waits for that, such as the thread that answers, would wait for all of them in turn."""

BatchT = TypeVar("BatchT", bound=RecordBatch)
BatchT_co = TypeVar("BatchT_co", bound=RecordBatch, covariant=True)

# What a rejection takes beside its text.
_REJECTION_BYTES: Final = 200
_MEND: Final = "Mend the records, or send them in several requests."


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
    """The rejected records of one body, which is refused as a whole where they are too many, or take too much.

    Parameters
    ----------
    bounds : Bounds or None
        What they may be; None where they cannot be refused, and whoever reads them makes stretches of bounded size.
    """

    def __init__(self, bounds: Bounds | None = REJECTED) -> None:
        self._bounds = bounds
        self._size_bytes = 0
        self._all: list[Rejection] = []

    def __len__(self) -> int:
        return len(self._all)

    def require_room(self, count: int, *, position: int, reason: str) -> None:
        """Refuse so many more before any is described.

        Parameters
        ----------
        count : int
            How many there will be.
        position, reason
            Of the first of them.

        Raises
        ------
        BodyTooLarge
            When they are too many.
        """
        if self._bounds is None or len(self._all) + count <= self._bounds.records:
            return
        first = self._all[0] if self._all else Rejection.of(position, "", reason)
        raise BodyTooLarge(
            f"the body is larger than what is taken at once: more than {self._bounds.records} of its records cannot be "
            f"admitted; the first is record {first.position}: {first.reason}",
            hint=_MEND,
        )

    def add(self, position: int, record: bytes | str, reason: str) -> None:
        """Reject one record; see `Rejection.of`.

        Raises
        ------
        BodyTooLarge
            When they are too many, or take too much.
        """
        self.require_room(1, position=position, reason=reason)
        added = Rejection.of(position, record, reason)
        self._all.append(added)
        # What it takes to look at a long one counts, not only what is kept of it.
        self._size_bytes += len(record) + sys.getsizeof(added.record) + _REJECTION_BYTES
        if self._bounds is not None and self._size_bytes > self._bounds.size_bytes:
            raise BodyTooLarge(
                f"the body is larger than what is taken at once: its first {len(self._all)} records that cannot be "
                f"admitted take more than {self._bounds.size_bytes} bytes; the last is record {added.position}: "
                f"{added.reason}",
                hint=_MEND,
            )

    def since(self, count: int) -> tuple[Rejection, ...]:
        """Those behind the first `count`, as they came."""
        return tuple(self._all[count:])


@dataclass(frozen=True, slots=True, eq=False)
class ParsedRecords(Generic[BatchT_co]):
    """A stretch of a source, parsed.

    Attributes
    ----------
    batch : RecordBatch
        The edges or points of the good records, in order.
    records : int
        How many records the stretch has, rejected ones included; comments, empty lines and headers are none.
    last_position : int
        Position of the last record of the stretch (0 where there is none).
    positions : int64[len(batch)]
        Position of the record each of them came from; ascending.
    rejected : tuple of Rejection
        The other records, by ascending position.
    text_of : callable
        The text of the record at a position; valid for positions of this stretch.
    keys : pyarrow.LargeStringArray or None
        Where each record has a key beside its edge: that of the record each of them came from.
    draft : Draft or None
        Where the ids of `batch` are numbers for the time being: what they stand for; see `settled`.
    times : int64[len(batch)] or None
        The time of the record each of them came from, in microseconds since 1970, NO_TIME where it has none; None where none was read.
    """

    batch: BatchT_co
    records: int
    last_position: int
    positions: NDArray[np.int64]
    rejected: tuple[Rejection, ...]
    text_of: Callable[[int], bytes | str]
    keys: pa.LargeStringArray | None = None
    draft: Draft | None = None
    times: NDArray[np.int64] | None = None

    @property
    def accepted(self) -> int:
        """Number of records whose edges or points are in `batch`."""
        return self.records - len(self.rejected)

    def timed(self) -> Self:
        """The same stretch, whose edges have their times with them, where one was read."""
        batch, times = self.batch, self.times
        if times is None or not isinstance(batch, EdgeBatch) or not (times != NO_TIME).any():
            return self
        timed: Any = TimedEdges.at(batch, times)
        return replace(self, batch=timed)

    def settled(self) -> BatchT_co:
        """The edges or points with the ids of the loop; see `settled`."""
        return settled(self.batch, self.draft)

    def without(self, bad: NDArray[np.bool_], reason: str, *, bounds: Bounds | None = None) -> Self:
        """Reject the records of the edges or points that `bad` marks, with all that they gave.

        Parameters
        ----------
        bad : bool[len(batch)]
            Those that are marked.
        reason : str
            What is wrong with them.
        bounds : Bounds, optional
            What the records that are rejected may be, where the whole can still be refused.

        Raises
        ------
        BodyTooLarge
            When they are more.
        """
        if not bad.any():
            return self
        # Positions ascend. Not by np.unique: of millions it takes seconds, and holds the interpreter lock.
        refused = self.positions[bad]
        refused = refused[np.diff(refused, prepend=refused[0] - 1) > 0]
        more = Rejections(bounds)
        more.require_room(len(refused), position=int(refused[0]), reason=reason)
        keep = ~np.isin(self.positions, refused)
        with DESCRIBING:
            for at in refused.tolist():
                more.add(at, self.text_of(at), reason)
        return replace(
            self,
            batch=self.batch.take(keep),
            positions=self.positions[keep],
            rejected=tuple(sorted(self.rejected + more.since(0), key=attrgetter("position"))),
            keys=None if self.keys is None else self.keys.filter(pa.array(keep)),
            times=None if self.times is None else self.times[keep],
        )

    def shifted(self, by: int) -> Self:
        """The same stretch with `by` added to every position (a pushed body that starts at an offset)."""
        text_of = self.text_of
        return replace(
            self,
            last_position=self.last_position + by,
            positions=self.positions + by,
            rejected=tuple(replace(one, position=one.position + by) for one in self.rejected),
            text_of=lambda position: text_of(position - by),
        )

    @classmethod
    def of_parts(cls, parts: Sequence[Self], concat: Callable[[Iterable[BatchT_co]], BatchT_co]) -> Self:
        """One stretch of several that follow each other, whose positions do so already, with their batches put together."""
        lasts = [part.last_position for part in parts]

        def text_of(position: int) -> bytes | str:
            return parts[bisect_left(lasts, position)].text_of(position)

        return cls(
            concat(part.batch for part in parts),
            sum(part.records for part in parts),
            lasts[-1] if lasts else 0,
            np.concatenate([np.empty(0, np.int64), *(part.positions for part in parts)]).astype(np.int64),
            tuple(rejection for part in parts for rejection in part.rejected),
            text_of,
            None
            if any(part.keys is None for part in parts)
            else pa.concat_arrays([pa.array([], pa.large_string()), *(part.keys for part in parts)]),
            next((part.draft for part in parts), None),
            None
            if all(part.times is None for part in parts)
            else np.concatenate(
                [np.full(len(part.batch), NO_TIME) if part.times is None else part.times for part in parts]
            ),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ParsedBatch(ParsedRecords[EdgeBatch]):
    """A stretch of a source of edges, parsed."""

    @classmethod
    def concat(cls, parts: Sequence[ParsedBatch]) -> ParsedBatch:
        """One stretch of several that follow each other, their positions counted through."""
        moved: list[ParsedBatch] = []
        records = 0
        for part in parts:
            moved.append(part.shifted(records) if records else part)
            records += part.records
        return cls.joined(moved)

    @classmethod
    def joined(cls, parts: Sequence[ParsedBatch]) -> ParsedBatch:
        """One stretch of several that follow each other, whose positions do so already; of one draft, if they have any."""
        if len(parts) == 1:
            return parts[0]
        return cls.of_parts(parts, EdgeBatch.concat)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedPoints(ParsedRecords[PointBatch]):
    """A stretch of a source of points, parsed. The class of its batch is the one of what the stream declares."""

    @classmethod
    def joined(cls, parts: Sequence[ParsedPoints], points: Points) -> ParsedPoints:
        """One stretch of several that follow each other, whose positions do so already; of one draft, if they have any."""
        if len(parts) == 1:
            return parts[0]
        return cls.of_parts(parts, PointBatch.kind_of(points).concat)


def is_settled(batch: RecordBatch, draft: Draft | None) -> bool:
    """Whether all ids of some records are those of the loop."""
    return draft is None or draft.is_settled(batch.ids())


def settled(batch: BatchT, draft: Draft | None) -> BatchT:
    """Some records with the ids of the loop: names of theirs that it did not know are interned now, and no others.

    They are interned record by record, the source of each before its destination: by whichever way they came in.
    """
    if draft is None or is_settled(batch, draft):
        return batch
    return batch.with_ids(draft.settle(batch.ids()))


def drafted(names: Names | None) -> Draft | None:
    """The draft, if that is what the names are."""
    return names if isinstance(names, Draft) else None


def readable(record: bytes | str) -> str:
    """Turn a record into text of bounded length; bytes that are no UTF-8 are shown as escapes."""
    if isinstance(record, bytes):
        # A character has at most four bytes, so cutting here first cannot change what is kept below.
        record = record[: 4 * RECORD_TEXT_LIMIT + 4].decode("utf-8", "backslashreplace")
    return record if len(record) <= RECORD_TEXT_LIMIT else record[:RECORD_TEXT_LIMIT] + "…"
