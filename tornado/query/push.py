"""Edges that are pushed (HTTP, `insert`, standard input), not read again at a restart: numbering and admission, in order.

A pushed source has no position of its own, so its offset is counted here: records accepted and quarantined since the loop
began, going on from what the snapshot names that the loop began with. One lock per (loop, source) keeps offsets in the order
of admission. Where the store is durable a log takes the records first (`PushLog`), so that what was acknowledged outlives a
crash. After one, files that are named again are read on first (`Pusher.hold`): a removal must find the edge that it removes.

A sender that must not be counted twice numbers its batches from 0 (`push_batch`): a number that is in already is passed over,
and one that leaves a gap is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..config import MOST_BATCH_SOURCES
from ..errors import InvalidArgument, QueueFull
from ..ingest.assembly import both_directions
from ..ingest.interner import Draft, Interner
from ..ingest.parsed import REJECTED, ParsedBatch, Rejection, is_settled, settled
from ..ingest.quarantine import Quarantine
from ..ingest.records import MENTION, SYMBOLS, EdgeBatch
from ..ingest.source_names import SourceKind, kind_of
from .batch_columns import BatchColumns
from .loop_views import MainLoopView
from .pushed_sources import PushedSources, SenderReport


class NameLog(Protocol):
    """Where the names of vertices are made durable before records that count on them; see `StoredNames`."""

    def load(self, loop: str) -> Interner:
        """Return the names of a loop as they were saved last."""

    def save(self, loop: str, interner: Interner) -> None:
        """Make durable what is new."""

    def refuse(self, loop: str) -> None:
        """Raise `InvalidArgument` where a loop has names for its vertices."""


class PushLog(Protocol):
    """Where pushed records are made durable before they are acknowledged; see `StorePushLog`."""

    @property
    def names(self) -> NameLog:
        """Where the names of their vertices go."""

    @property
    def columns(self) -> BatchColumns:
        """Where the columns of numbered batches go."""

    def append(
        self, loop: str, source: str, offset: int, batch: EdgeBatch, *, number: int | None = None
    ) -> None:
        """Make a batch durable under the offset that it reaches."""

    def retract(self, loop: str, source: str, offset: int, *, number: int | None = None) -> None:
        """Empty the batch appended last; `offset` and `number` are where the source was before it."""

    def number(self, loop: str, source: str) -> int | None:
        """Return the number of the newest batch of a source, None where it has none."""

    def sources(self, loop: str) -> list[str]:
        """Return the sources of a loop that have a log."""

    def reached(self, loop: str) -> dict[str, int]:
        """Return those sources with the offset that each has reached."""

    def replay(self, loop: str, source: str, *, after: int) -> Iterator[tuple[int, EdgeBatch]]:
        """Iterate over the batches that reach beyond an offset."""

    def forget(self, loop: str, source: str, *, up_to: int) -> None:
        """Drop batches that reach no further than an offset, but for the newest: it has the number."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of one call: records in, records quarantined, and the offsets of the source after it."""

    accepted: int
    rejected: int
    offsets: dict[str, int]
    version: int | None
    is_repeated: bool = False


class Pusher:
    """Admits pushed edges into the loops of one service.

    Parameters
    ----------
    quarantine : Quarantine, optional
        Where malformed records go; without one the latest are kept in memory.
    log : PushLog, optional
        Where records are made durable first.
    timeout_s : float
        How long an admission waits for a loop that lags.

    Attributes
    ----------
    sources : PushedSources
        How what was pushed stands.
    """

    def __init__(
        self, *, quarantine: Quarantine | None = None, log: PushLog | None = None, timeout_s: float = 30.0
    ) -> None:
        self.quarantine = quarantine or Quarantine(None)
        self.sources = PushedSources()
        self.columns = BatchColumns(None) if log is None else log.columns
        self._log = log
        self._timeout_s = timeout_s
        # By loop and source; an entry is made when records of the source come in, never when somebody asks for a name.
        self._locks: dict[tuple[str, str], Lock] = {}
        self._offsets: dict[tuple[str, str], int] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._guard = Lock()
        self._batch_sources: dict[str, set[str]] = {}
        self._interners: dict[str, Interner] = {}
        self._restoring: dict[str, Lock] = {}
        self._restored: set[str] = set()
        self._held: set[str] = set()
        self._undirected: set[str] = set()  # streams

    def push(self, loop: MainLoopView, source: str, parsed: ParsedBatch) -> Pushed:
        """Admit the good records of a body and quarantine the others. Blocks while the loop lags.

        Raises
        ------
        QueueFull
            When the loop did not take them in time, or reads its files again; nothing was admitted, and the same body may be
            sent again.
        BodyTooLarge
            When the records that the program refuses take too much; nothing was admitted or quarantined.
        """
        bad, reason = loop.check(parsed.batch)
        parsed = parsed.without(
            np.asarray(bad, dtype=np.bool_) & (parsed.batch.op != MENTION), reason, bounds=REJECTED
        )
        with self.sources.noting(loop.stream_name, source), self._restored_lock(loop, source):
            before = self._offset(loop, source)
            offset = before + parsed.records
            batch = self._as_stream_has_it(loop, self.settled(loop, parsed.batch, parsed.draft))
            # Before the admission: after a crash a record may stand in the quarantine twice, and is never missing.
            self.quarantine.write(source, parsed.shifted(before).rejected)
            version = self._admit(loop, source, batch, offset) if parsed.records else None
            self._count(loop, source, batch, len(parsed.rejected), parsed.records, offset)
            return Pushed(parsed.accepted, len(parsed.rejected), {source: offset}, version)

    def push_batch(
        self,
        loop: MainLoopView,
        source: str,
        number: int,
        batch: EdgeBatch,
        rejected: tuple[Rejection, ...] = (),
    ) -> Pushed:
        """Admit a numbered batch as a whole, once: a number that is in already changes nothing.

        Parameters
        ----------
        number : int
            From 0, one after the other.
        batch : EdgeBatch
            Records that the loop's program has checked.
        rejected : tuple of Rejection
            The other records; positions count the records of the batch from 1.

        Raises
        ------
        InvalidArgument
            When a batch before this one is not in, or the loop has as many sources of batches as it may.
        QueueFull
            As `push`.
        """
        self._let_in(loop.stream_name, source)
        with self.sources.noting(loop.stream_name, source), self._restored_lock(loop, source):
            before = self._offset(loop, source)
            if self._is_repeated(loop.stream_name, source, number):
                return Pushed(0, 0, {source: before}, None, is_repeated=True)
            offset = before + len(batch) + len(rejected)
            self.quarantine.write(source, [replace(one, position=one.position + before) for one in rejected])
            admitted = self._as_stream_has_it(loop, batch)
            version = self._admit(loop, source, admitted, offset, number=number)
            self._count(loop, source, admitted, len(rejected), offset - before, offset)
            return Pushed(len(batch), len(rejected), {source: offset}, version)

    def expects(self, loop: MainLoopView, source: str, number: int) -> bool:
        """Whether a numbered batch is the next of its source; False where it is in already.

        Raises
        ------
        InvalidArgument
            When a batch before this one is not in.
        """
        with self._locks.get((loop.stream_name, source), nullcontext()):
            return not self._is_repeated(loop.stream_name, source, number)

    def newest_batch(self, loop: MainLoopView, source: str) -> int | None:
        """Return the number of the newest batch of a source, None where it has none."""
        with self._locks.get((loop.stream_name, source), nullcontext()):
            return self._number(loop.stream_name, source)

    def report(self, loop: MainLoopView, source: str, report: SenderReport) -> None:
        """Take what the sender of a source's batches says.

        Raises
        ------
        InvalidArgument
            When the loop has as many sources of batches as it may, and this is none of them.
        """
        self._let_in(loop.stream_name, source)
        self.sources.report(loop.stream_name, source, report)

    def require_room(self, loop: MainLoopView, source: str, others: Collection[str]) -> None:
        """Refuse a further source of batches where a loop has as many as it may: their names are chosen by clients.

        Parameters
        ----------
        others
            Sources of batches that count as well.

        Raises
        ------
        InvalidArgument
            When it has.
        """
        with self._guard:
            self._require_room(loop.stream_name, source, others)

    def logged_sources(self, loop: str) -> list[str]:
        """Return the sources of which the log has, or had, records that a loop was given."""
        return [] if self._log is None else self._log.sources(loop)

    def settled(self, loop: MainLoopView, batch: EdgeBatch, draft: Draft | None) -> EdgeBatch:
        """Give the ids of the loop to edges that are to be admitted next; see `parsed.settled`.

        Raises
        ------
        QueueFull
            When the loop lags: of what it does not take, no name shall stay.
        """
        if not is_settled(batch, draft) and not loop.wait_room(self._timeout_s):
            raise QueueFull(f"loop {loop.name!r} lags; nothing was admitted")
        return settled(batch, draft)

    def insert(self, loop: MainLoopView, source: str, batch: EdgeBatch, *, draft: Draft | None = None) -> int:
        """Admit a batch as a whole or, with an error that names the first bad entry, nothing of it; return the version.

        Parameters
        ----------
        draft : Draft, optional
            What its ids stand for, where they are names.

        Raises
        ------
        InvalidArgument
            When the program refuses an entry.
        QueueFull
            When the loop lags for longer than the timeout, or reads its files again.
        """
        bad, reason = loop.check(batch)
        refused = np.flatnonzero(bad)
        if len(refused):
            raise InvalidArgument(
                f"entry {refused[0]} is {describe(batch, int(refused[0]), draft)}: {reason}",
                hint="Mend that entry and repeat the call: none of it was taken.",
            )
        with self.sources.noting(loop.stream_name, source), self._restored_lock(loop, source):
            offset = self._offset(loop, source) + len(batch)
            admitted = self._as_stream_has_it(loop, self.settled(loop, batch, draft))
            version = self._admit(loop, source, admitted, offset)
            self._count(loop, source, admitted, 0, len(batch), offset)
            return version

    def double(self, stream: str, *, wanted: bool = True) -> None:
        """Say whether each record that is pushed to a stream is an edge in both directions; before the stream begins."""
        (self._undirected.add if wanted else self._undirected.discard)(stream)

    def _as_stream_has_it(self, loop: MainLoopView, batch: EdgeBatch) -> EdgeBatch:
        if loop.stream_name not in self._undirected:
            return batch
        return both_directions(batch, np.zeros(len(batch), np.int64))[0]

    def mention(self, loop: MainLoopView, source: str, ids: NDArray[np.int64]) -> int:
        """Let vertices be seen from now on, without an edge; return the version.

        Raises
        ------
        QueueFull
            As `insert`.
        """
        with self.sources.noting(loop.stream_name, source), self._restored_lock(loop, source):
            offset = self._offset(loop, source) + len(ids)
            batch = EdgeBatch.mentions(ids)
            version = self._admit(loop, source, batch, offset)
            self._count(loop, source, batch, 0, len(ids), offset)
            return version

    def interner(self, loop: str) -> Interner:
        """Return the names of a loop with strings for ids: with a log as they were before the restart.

        To be called before the loop starts, and once.

        Raises
        ------
        InvalidArgument
            When what the log has of this loop counts on numbers for ids.
        """
        interner = Interner() if self._log is None else self._log.names.load(loop)
        self._interners[loop] = interner
        return interner

    def refuse_names(self, loop: str) -> None:
        """Raise `InvalidArgument` where a loop that begins with numbers for ids had strings before the restart."""
        if self._log is not None:
            self._log.names.refuse(loop)

    def save_names(self, loop: str) -> None:
        """Make names durable that are not yet: before what counts on them, such as a snapshot, is."""
        interner = self._interners.get(loop)
        if self._log is not None and interner is not None:
            self._log.names.save(loop, interner)

    def hold(self, loop: str) -> dict[str, int]:
        """Let what the log has of a loop wait for `release`, and refuse what is pushed until then.

        For a loop whose files are read on: what was pushed may remove what they bring. To be called before the loop starts;
        one without a log is not held.

        Returns
        -------
        dict of str to int
            Which sources wait, and the offset up to which each was acknowledged.
        """
        reached = {} if self._log is None else self._log.reached(loop)
        if reached:
            self._held.add(loop)
        return reached

    def release(self, loop: MainLoopView) -> int:
        """Restore a loop that was held, and take pushed records again; return how many were admitted."""
        count = self._restore(loop)
        self._held.discard(loop.stream_name)
        return count

    def admit(
        self, loop: MainLoopView, source: str, batch: EdgeBatch, offset: int, timeout_s: float | None = None
    ) -> int:
        """Admit a batch of a source that counts its records itself and gives them once; return the version.

        To be called when the loop is restored.

        Parameters
        ----------
        offset : int
            What the source has reached with the batch, rejected records included; the batch may be empty.
        timeout_s : float, optional
            How long to wait for a loop that lags.

        Raises
        ------
        QueueFull
            When it still does; nothing was admitted or logged.
        """
        with self._lock(loop.stream_name, source):
            if len(batch) and not loop.wait_room(timeout_s):
                raise QueueFull(f"loop {loop.name!r} lags; nothing of this batch was admitted")
            return self._admit(loop, source, batch, offset)

    def forget(self, loop: str, offsets: Mapping[str, int]) -> None:
        """Drop from the log what the oldest kept snapshot has, given its offset of each source."""
        if self._log is None:
            return
        for source in self._log.sources(loop):
            self._log.forget(loop, source, up_to=offsets.get(source, 0))

    def end(self, stream: str) -> None:
        """Forget a stream that has ended; one that takes its name begins from what is stored."""
        with self._guard:
            for entries in (self._locks, self._offsets, self._numbers):
                for key in [key for key in entries if key[0] == stream]:
                    del entries[key]
            for entries_of_stream in (self._batch_sources, self._interners, self._restoring):
                entries_of_stream.pop(stream, None)
            self._restored.discard(stream)
            self._held.discard(stream)
            self._undirected.discard(stream)
        self.sources.end(stream)
        self.columns.end(stream)

    def restore(self, loop: MainLoopView) -> int:
        """Admit again what was pushed after the snapshot that a loop began with; return how many records.

        To be called when the loop has started. Whatever is pushed before that, or meanwhile, waits for it; a second call
        does nothing, and neither does one for a loop that is held.
        """
        return 0 if loop.stream_name in self._held else self._restore(loop)

    @contextmanager
    def _restored_lock(self, loop: MainLoopView, source: str) -> Iterator[None]:
        self._require_restored(loop)
        with self._lock(loop.stream_name, source):
            yield

    def _count(
        self, loop: MainLoopView, source: str, batch: EdgeBatch, rejected: int, records: int, offset: int
    ) -> None:
        edges = int(np.count_nonzero(batch.op != MENTION))
        self.sources.count(
            loop.stream_name, source, records=records, rejected=rejected, edges=edges, offset=offset
        )

    def _require_restored(self, loop: MainLoopView) -> None:
        if loop.stream_name in self._held:
            raise QueueFull(
                f"loop {loop.stream_name!r} reads its files again, and what was pushed before it was restarted comes after them",
                hint="Send the same again later.",
            )
        self._restore(loop)

    def _restore(self, loop: MainLoopView) -> int:
        if self._log is None or loop.stream_name in self._restored:
            return 0
        with self._guard:
            restoring = self._restoring.setdefault(loop.stream_name, Lock())
        with restoring:
            if loop.stream_name in self._restored:
                return 0
            count = self._replay(loop, self._log)
            self._restored.add(loop.stream_name)
            return count

    def _replay(self, loop: MainLoopView, log: PushLog) -> int:
        count = 0
        for source in log.sources(loop.stream_name):
            with self._lock(loop.stream_name, source):
                before = loop.offsets().get(source, 0)
                for offset, batch in log.replay(loop.stream_name, source, after=before):
                    if len(batch):
                        # However long the loop takes: there is nobody to refuse it to.
                        loop.admit(batch, source, offset, timeout_s=None)
                    else:
                        loop.advance(source, offset)
                    self._offsets[loop.stream_name, source] = offset
                    count += len(batch)
        return count

    def _admit(
        self, loop: MainLoopView, source: str, batch: EdgeBatch, offset: int, *, number: int | None = None
    ) -> int:
        self.save_names(loop.stream_name)
        if number is None:
            # The number is that of the newest entry of the log, so records without one carry it on.
            number = self._number(loop.stream_name, source)
        if self._log is not None:
            self._log.append(loop.stream_name, source, offset, batch, number=number)
        try:
            version: int = (
                loop.admit(batch, source, offset, timeout_s=self._timeout_s)
                if len(batch)
                else loop.advance(source, offset)
            )
        except BaseException:
            if self._log is not None:
                # `_number` was asked before the append, so it still says what was there then.
                self._log.retract(
                    loop.stream_name,
                    source,
                    self._offset(loop, source),
                    number=self._numbers.get((loop.stream_name, source)),
                )
            raise
        self._offsets[loop.stream_name, source] = offset
        if number is not None:
            self._numbers[loop.stream_name, source] = number
        return version

    def _is_repeated(self, loop: str, source: str, number: int) -> bool:
        newest = self._number(loop, source)
        following = 0 if newest is None else newest + 1
        if number > following:
            raise InvalidArgument(
                f"batch {number} of {source!r} cannot come to loop {loop!r}, which has "
                + ("none of its batches" if newest is None else f"its batches up to {newest}"),
                hint=f"The next one is {following}. If the loop began anew, its sender must begin anew too: a Spark query "
                "with a new checkpointLocation.",
            )
        return number < following

    def _number(self, loop: str, source: str) -> int | None:
        if (loop, source) not in self._numbers and self._log is not None:
            number = self._log.number(loop, source)
            if number is not None:
                self._numbers[loop, source] = number
        return self._numbers.get((loop, source))

    def _offset(self, loop: MainLoopView, source: str) -> int:
        known = self._offsets.get((loop.stream_name, source))
        return loop.offsets().get(source, 0) if known is None else known

    def _lock(self, loop: str, source: str) -> Lock:
        with self._guard:
            return self._locks.setdefault((loop, source), Lock())

    def _let_in(self, loop: str, source: str) -> None:
        """Make the entry of a source of batches, or refuse it."""
        with self._guard:
            self._require_room(loop, source, ())
            self._batch_sources_of(loop).add(source)

    def _require_room(self, loop: str, source: str, others: Collection[str]) -> None:
        known = self._batch_sources_of(loop)
        if source in known or source in others:
            return
        count = len(known) + sum(other not in known for other in others)
        if count >= MOST_BATCH_SOURCES:
            raise InvalidArgument(
                f"loop {loop!r} has {count} sources of batches, of {MOST_BATCH_SOURCES} that a loop may have, and {source!r} "
                "is none of them",
                hint="Write with a streaming query, which is one source however often it runs (in Spark: a checkpointLocation "
                "that stays).",
            )

    def _batch_sources_of(self, loop: str) -> set[str]:
        known = self._batch_sources.get(loop)
        if known is None:
            logged = self.logged_sources(loop)
            known = {source for source in logged if kind_of(source) is SourceKind.BATCHES}
            self._batch_sources[loop] = known
        return known


def describe(batch: EdgeBatch, index: int, draft: Draft | None = None) -> str:
    """Return one record as a person reads it.

    Examples
    --------
    >>> describe(EdgeBatch.of([1], [2], [-3.0]), 0)
    '+ 1 -> 2 (weight -3.0)'
    """
    weight = batch.weight[index].item()
    ends = np.array([batch.src[index], batch.dst[index]])
    source, target = ends.tolist() if draft is None else draft.names(ends)
    return f"{SYMBOLS[batch.op[index].item()]} {source} -> {target} (weight {weight!r})"
