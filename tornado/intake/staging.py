"""Batches that come in parts, from many senders at once, and are admitted whole or not at all: two-phase commit, our half.

The tasks of a cluster each send the part that they have; some are started twice, or die in the middle. So a part lies here
until the one who knows which tasks won names them (`Staging.commit`), and all they sent is then admitted as one numbered batch
(`StreamIntake.push_batch`). A snapshot therefore has all of a batch or nothing of it.

Guarantees: a part that is not named changes nothing; a batch is admitted once, however often it is sent and committed; where
the parts bring an order, records are admitted in it, whichever part they came with. Left out on purpose: parts are not
durable. After a restart a commit is refused, and the sender sends its batch again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ..clock import Clock
from ..errors import IncompleteBatch, InvalidArgument, QueueFull
from ..ingest.interner import Draft
from ..ingest.parsed import REJECTED, ParsedRecords, Rejection
from ..records.edge_batch import EDGES, EdgeBatch
from ..records.record_batch import RecordBatch
from ..records.timed_edges import NO_TIME, TimedEdges
from .pushed_sources import Pushed
from .stream_intake import StreamIntake

LIMIT_BYTES = 1 << 30
KEPT_S = 600.0
OPTIONAL = EDGES.optional_names | {"order"}
OPTIONAL_OF_POINTS = OPTIONAL | {"label", "id"}
_REJECTION_BYTES = 1_000
# What a chunk takes beside its records: without it, chunks of none would be without number.
_CHUNK_BYTES = 2_000

Ranks = NDArray[np.int64]
"""Where each record stands in the order of its batch, `int64[keys, records]`: the lower, the earlier, by the first key first."""


@dataclass(frozen=True, slots=True)
class BatchKey:
    """One batch: what takes it in, its source, and its number there.

    The intake is that of one stream and of none that takes its name later: what was brought for one is never found by another.
    """

    intake: StreamIntake
    source: str
    number: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part that won, and in how many chunks it was sent."""

    name: str
    chunks: int


@dataclass(frozen=True, slots=True)
class _Chunk:
    batch: RecordBatch
    columns: frozenset[str]
    ranks: Ranks | None
    places: NDArray[np.int64] | None  # of records that are known by theirs: counted in the chunk from 1
    records: int
    rejected: tuple[Rejection, ...]
    draft: Draft | None
    checked: tuple[object, ...]  # who has looked at the records
    staged_s: float

    @property
    def size_bytes(self) -> int:
        ranks = 0 if self.ranks is None else self.ranks.nbytes
        names = 0 if self.draft is None else self.draft.size_bytes
        return _CHUNK_BYTES + self.batch.size_bytes + ranks + names + _REJECTION_BYTES * len(self.rejected)


class Staging:
    """Parts of batches that are not committed yet.

    Parameters
    ----------
    limit_bytes : int
        How much may lie here; beyond it, parts nobody touched for a while are let go, and then a part is refused.
    kept_s : float
        How long that while is.
    clock : Clock
        What says how long they lie here.
    """

    def __init__(
        self,
        *,
        limit_bytes: int = LIMIT_BYTES,
        kept_s: float = KEPT_S,
        clock: Clock,
    ) -> None:
        self._limit_bytes = limit_bytes
        self._kept_s = kept_s
        self._clock = clock
        self._lock = Lock()
        self._chunks: dict[BatchKey, dict[tuple[str, int], _Chunk]] = {}
        self._lying_bytes = 0

    @property
    def size_bytes(self) -> int:
        """How many bytes are staged."""
        with self._lock:
            return self._lying_bytes

    def stage(
        self,
        key: BatchKey,
        part: str,
        chunk: int,
        parsed: ParsedRecords[RecordBatch],
        *,
        columns: AbstractSet[str] = frozenset(),
        ranks: Ranks | None = None,
        is_placed: bool = False,
    ) -> bool:
        """Keep one chunk of a part until its batch is committed; the same chunk again takes its place.

        Parameters
        ----------
        columns : set of str
            Which columns the chunk came with; of these `OPTIONAL`, or `OPTIONAL_OF_POINTS`, are kept in mind.
        ranks : int64[keys, parsed.records], optional
            Where each record of the chunk stands in the order of the batch.
        is_placed : bool
            Whether its records are points without ids: each gets one of its source and its place there (`point_ids`).

        Returns
        -------
        Whether the batch waits for it; False where the batch is in already.

        Raises
        ------
        InvalidArgument
            When a batch before this one is not in, or had an optional column that this one lacks; when the loop has as many
            sources of batches as it may.
        QueueFull
            When too much lies here.
        """
        intake = key.intake
        with self._lock:
            waiting = {other.source for other in self._chunks if other.intake is intake}
        intake.require_room(key.source, waiting)
        if not intake.expects(key.source, key.number):
            return False
        optional = (OPTIONAL if isinstance(parsed.batch, EdgeBatch) else OPTIONAL_OF_POINTS) & columns
        intake.columns.require(key.source, optional)
        parsed = parsed.timed()
        bad, reason, checked = intake.check(parsed.batch)
        parsed = parsed.without(bad, reason, bounds=REJECTED)
        staged = _Chunk(
            parsed.batch,
            optional,
            None if ranks is None else ranks[:, parsed.positions - 1],
            parsed.positions if is_placed else None,
            parsed.records,
            parsed.rejected,
            parsed.draft,
            checked,
            self._clock.monotonic(),
        )
        with self._lock:
            before = self._chunks.get(key, {}).get((part, chunk))
            added_bytes = staged.size_bytes - (0 if before is None else before.size_bytes)
            self._make_room(added_bytes, key)
            self._chunks.setdefault(key, {})[part, chunk] = staged
            self._lying_bytes += added_bytes
        return True

    def commit(self, key: BatchKey, parts: Sequence[Part]) -> Pushed:
        """Admit what the named parts have, as one batch, and let go of all others of it and of batches before it.

        Raises
        ------
        IncompleteBatch
            When a chunk of a part is not here.
        InvalidArgument
            When parts have orders of different kinds or some none, or a batch before this one is not in.
        QueueFull
            When the loop lags; nothing was admitted, and the same call may be made again.
        """
        # Before it is asked whether the batch is in: the same commit under way elsewhere lets go of them when it is.
        with self._lock:
            here = dict(self._chunks.get(key, {}))
        intake = key.intake
        chunks = _named(key, parts, here) if intake.expects(key.source, key.number) else []
        _check_orders(chunks)
        chunks, draft = _in_one_draft(chunks)
        batch, rejected, places = _assembled(key, chunks)
        batch = intake.settled(batch, draft)
        # Before the batch: a crash in between may remember a column too many, and never forgets one of a batch that is in.
        columns = frozenset[str]().union(*(chunk.columns for chunk in chunks))
        intake.columns.add(key.source, columns)
        pushed = intake.push_batch(
            key.source,
            key.number,
            batch,
            rejected,
            places=places,
            checked=_common([chunk.checked for chunk in chunks]),
        )
        with self._lock:
            for other in list(self._chunks):
                if (other.intake, other.source) == (intake, key.source) and other.number <= key.number:
                    self._let_go(other)
        return pushed

    def drop(self, key: BatchKey) -> None:
        """Drop the parts of a batch; what is committed stays so."""
        with self._lock:
            self._let_go(key)

    def _make_room(self, size_bytes: int, key: BatchKey) -> None:
        if self._lying_bytes + size_bytes <= self._limit_bytes:
            return
        oldest_s = self._clock.monotonic() - self._kept_s
        for other, chunks in list(self._chunks.items()):
            if other != key and max(chunk.staged_s for chunk in chunks.values()) < oldest_s:
                self._let_go(other)
        if self._lying_bytes + size_bytes > self._limit_bytes:
            raise QueueFull(
                f"{self._lying_bytes} bytes of batches wait for their commit, and {size_bytes} more would be above the limit of "
                f"{self._limit_bytes}",
                hint="Make batches smaller (in Spark: maxFilesPerTrigger, maxOffsetsPerTrigger), or try again later.",
                retry_after_s=2.0,
            )

    def _let_go(self, key: BatchKey) -> None:
        self._lying_bytes -= sum(chunk.size_bytes for chunk in self._chunks.pop(key, {}).values())


def _named(key: BatchKey, parts: Sequence[Part], here: Mapping[tuple[str, int], _Chunk]) -> list[_Chunk]:
    """The chunks of the parts, in their order. The cost follows what is staged, however many chunks are claimed."""
    claimed: dict[str, int] = {}
    for part in parts:
        if part.name in claimed:
            raise InvalidArgument(
                f"batch {key.number} of {key.source!r} names the part {part.name!r} twice",
                hint="Name each part once: a part is admitted once.",
            )
        claimed[part.name] = part.chunks
    wanted = sum(claimed.values())
    found = sum(chunk < claimed.get(name, 0) for name, chunk in here)
    names = ((name, chunk) for name, chunks in claimed.items() for chunk in range(chunks))
    if found < wanted:
        name, chunk = next(one for one in names if one not in here)
        raise IncompleteBatch(
            f"batch {key.number} of {key.source!r} lacks {wanted - found} of its {wanted} chunks, the first is "
            f"chunk {chunk} of part {name!r}"
        )
    return [here[one] for one in names]


def _in_one_draft(chunks: list[_Chunk]) -> tuple[list[_Chunk], Draft | None]:
    """The chunks with numbers of one draft for their names, and that: their order may mix records of several."""
    common: Draft | None = None
    redrafted: list[_Chunk] = []
    for chunk in chunks:
        batch, draft = chunk.batch, chunk.draft
        if draft is not None:
            # Not that of the first chunk: the same commit may be under way elsewhere.
            common = common or draft.emptied()
            batch = batch.with_ids(draft.redraft(batch.ids(), common))
        redrafted.append(replace(chunk, batch=batch, draft=common))
    return redrafted, common


def _assembled(
    key: BatchKey, chunks: Sequence[_Chunk]
) -> tuple[RecordBatch, tuple[Rejection, ...], NDArray[np.int64] | None]:
    """Put chunks one behind the other, or in their order where they have one; equal ranks stay as they came.

    Returns
    -------
    RecordBatch, tuple of Rejection, int64[records] or None
        The records, the rejected ones, and the places of records that are known by theirs, as `push_batch` takes them.
    """
    batches = _alike([chunk.batch for chunk in chunks])
    kinds = list(dict.fromkeys(type(batch) for batch in batches))
    if len(kinds) > 1 or len({chunk.places is None for chunk in chunks}) > 1:
        raise InvalidArgument(
            f"batch {key.number} of {key.source!r} has edges beside points, or points with ids beside some without",
            hint="Send the same columns with every chunk.",
        )
    kind: type[RecordBatch] = kinds[0] if kinds else EdgeBatch
    batch = kind.concat(batches)
    rejected: list[Rejection] = []
    placed: list[NDArray[np.int64]] = []
    records = 0
    for chunk in chunks:
        rejected += [replace(one, position=one.position + records) for one in chunk.rejected]
        if chunk.places is not None:
            placed.append(chunk.places + records)
        records += chunk.records
    places = np.concatenate(placed) if placed else None
    ranked = [chunk.ranks for chunk in chunks if chunk.ranks is not None]
    if not ranked:
        return batch, tuple(rejected), places
    ranks = np.concatenate(ranked, axis=1)
    if _is_ascending(ranks):
        return batch, tuple(rejected), places
    # Stable, and by its last key first.
    order = np.lexsort(ranks[::-1])
    return batch.take(order), tuple(rejected), None if places is None else places[order]


def _alike(batches: Sequence[RecordBatch]) -> Sequence[RecordBatch]:
    """Return the batches, those of edges without times among some with times as edges whose time is none."""
    if not any(isinstance(batch, TimedEdges) for batch in batches):
        return batches
    return [
        TimedEdges.at(batch, np.full(len(batch), NO_TIME))
        if isinstance(batch, EdgeBatch) and not isinstance(batch, TimedEdges)
        else batch
        for batch in batches
    ]


def _common(checked: Sequence[tuple[object, ...]]) -> list[object]:
    """Return who has looked at every chunk."""
    first, *others = checked or [()]
    return [one for one in first if all(one in other for other in others)]


def _check_orders(chunks: Sequence[_Chunk]) -> None:
    """Refuse chunks whose orders cannot be one."""
    ranked = [chunk.ranks for chunk in chunks if chunk.ranks is not None]
    if ranked and len(ranked) < len(chunks):
        raise InvalidArgument(
            f"{len(ranked)} of the {len(chunks)} chunks have an order, but either all must or none",
            hint="Send the column `order` with every chunk.",
        )
    widths = sorted({len(ranks) for ranks in ranked})
    if len(widths) > 1:
        raise InvalidArgument(
            f"the chunks have orders of {widths} numbers, but all must have as many",
            hint="Send the same column `order` with every chunk.",
        )


def _is_ascending(ranks: Ranks) -> bool:
    tied = np.True_
    for keys in ranks:
        if np.any(tied & (keys[1:] < keys[:-1])):
            return False
        tied = tied & (keys[1:] == keys[:-1])
    return True
