"""The intake of one stream: edges and points that are pushed (HTTP, `insert`, standard input), numbered and admitted in order.

They are not read again at a restart, and a pushed source has no position of its own. So its offset is counted here: records
accepted and quarantined since the stream began. One lock per source keeps offsets in the order of admission. Where the store is
durable the stream logs what it admits, before anybody sees it, so what is acknowledged here outlives a crash.

A sender that must not be counted twice numbers its batches from 0 (`push_batch`): a number that is in already is passed over,
and one that leaves a gap is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..clock import Clock
from ..errors import ConnectionLost, InvalidArgument, QueueFull, UnknownStream
from ..ingest.assembly import both_directions
from ..ingest.interner import Draft, Interner
from ..ingest.parsed import REJECTED, ParsedRecords, Rejection, is_settled, settled
from ..ingest.point_ids import ids_at
from ..ingest.quarantine import Quarantine
from ..ingest.source_names import CLIENT_BATCHES
from ..loop_views import RecordStreamView
from ..records.checked import Checked, CheckedBy
from ..records.edge_batch import EdgeBatch
from ..records.record_batch import RecordBatch
from ..storage import VersionedStore
from .batch_columns import BatchColumns
from .batch_sources import BatchSources
from .described import describe
from .pushed_sources import Pushed, PushedSources, SenderReport
from .stored_names import StoredNames

Batch = TypeVar("Batch", bound=RecordBatch)


@dataclass(slots=True)
class _Source:
    """A source that records came in under: its lock, and what it has reached where that is known."""

    lock: Lock = field(default_factory=Lock)
    offset: int | None = None
    number: int | None = None


class StreamIntake:
    """See the module. Made when its stream begins, and ended with it.

    Parameters
    ----------
    name : str
        Of the stream.
    quarantine : Quarantine
        Where malformed records go.
    store : VersionedStore or None
        Where the names of vertices go, and the columns of numbered batches; None: nowhere. Not ours to close.
    timeout_s : float
        How long an admission waits for a stream that lags.
    is_undirected : bool
        Whether each record is an edge in both directions.
    checks_times : bool
        As the attribute.
    clock : Clock
        For the rates of sources.

    Attributes
    ----------
    checks_times : bool
        Whether readers look at times: a record whose time is none is rejected.
    columns : BatchColumns
        Which columns its numbered batches had.
    reports : PushedSources
        How what was pushed stands.
    """

    def __init__(
        self,
        name: str,
        *,
        quarantine: Quarantine,
        store: VersionedStore | None,
        timeout_s: float,
        clock: Clock,
        is_undirected: bool = False,
        checks_times: bool = False,
    ) -> None:
        self.name = name
        self.columns = BatchColumns(store, name)
        self.reports = PushedSources(clock=clock)
        self.checks_times = checks_times
        self._names = None if store is None else StoredNames(store, name)
        self._interner: Interner | None = None
        self._quarantine = quarantine
        self._timeout_s = timeout_s
        self._is_undirected = is_undirected
        self._stream: RecordStreamView | None = None
        self._guard = Lock()
        # An entry is made when records of the source come in, never when somebody asks for a name.
        self._sources: dict[str, _Source] = {}
        self._batch_sources = BatchSources(name, self.offsets)
        self._has_ended = False

    # Beginning and end

    def names(self) -> Interner:
        """Return the names of a stream with strings for ids: with a store as they were before the restart.

        To be called before the stream begins, and once.

        Raises
        ------
        InvalidArgument
            When what the store has of this stream counts on numbers for ids.
        """
        self._interner = Interner() if self._names is None else self._names.load()
        return self._interner

    def refuse_names(self) -> None:
        """Raise `InvalidArgument` where a stream that begins with numbers for ids had strings before the restart."""
        if self._names is not None:
            self._names.refuse()

    def save_names(self) -> None:
        """Make names durable that are not yet: before what counts on them, such as a snapshot, is."""
        if self._names is not None and self._interner is not None:
            self._names.save(self._interner)

    def put_names_together(self) -> None:
        """Have a start read few pages for all names; see `StoredNames.put_together`."""
        if self._names is not None and self._interner is not None:
            self._names.put_together(self._interner)

    def begin(self, stream: RecordStreamView) -> None:
        """Take into this stream from now on, which has begun; a second call changes nothing.

        Raises
        ------
        ConnectionLost
            When it is the intake of a later stream of that name.
        """
        known = self._stream
        if known is None:
            with self._guard:
                known = self._stream = self._stream or stream
            stream.before_logging = self.save_names
        if known is not stream:
            raise _closed(self.name)

    def end(self) -> None:
        """Take nothing any more: names are those of whoever takes the name of the stream from now on.

        The stream is closed already, so nobody who is in the middle of a push stays there for long: they are waited for.
        """
        self._has_ended = True
        with self._guard:
            sources = list(self._sources.values())
        for source in sources:
            with source.lock:
                pass

    # Taking in

    def push(self, source: str, parsed: ParsedRecords[RecordBatch]) -> Pushed:
        """Admit the good records of a body and quarantine the others. Blocks while the stream lags.

        Raises
        ------
        QueueFull
            When the stream did not take them in time; nothing was admitted, and the same body may be sent again.
        BodyTooLarge
            When the records that a program refuses take too much; nothing was admitted or quarantined.
        """
        parsed = parsed.timed()
        bad, reason, checked = self.check(parsed.batch)
        parsed = parsed.without(bad, reason, bounds=REJECTED)
        with self.reports.noting(source), self._source(source) as found:
            before = self._offset(source, found)
            offset = before + parsed.records
            batch = self._as_stream_has_it(self.settled(parsed.batch, parsed.draft))
            # Before the admission: after a crash a record may stand in the quarantine twice, and is never missing.
            self._quarantine.write(source, parsed.shifted(before).rejected)
            version = self._admit(source, found, batch, offset, checked=checked) if parsed.records else None
            self._count(source, batch, len(parsed.rejected), parsed.records, offset)
            return Pushed(parsed.accepted, len(parsed.rejected), {source: offset}, version)

    def push_batch(
        self,
        source: str,
        number: int,
        batch: RecordBatch,
        rejected: tuple[Rejection, ...] = (),
        *,
        places: NDArray[np.int64] | None = None,
        checked: CheckedBy = (),
    ) -> Pushed:
        """Admit a numbered batch as a whole, once: a number that is in already changes nothing.

        Parameters
        ----------
        number : int
            From 0, one after the other.
        batch : RecordBatch
            Records that were checked (`check`).
        rejected : tuple of Rejection
            The other records; positions count the records of the batch from 1.
        places : int64[len(batch)], optional
            The number of each record in the batch from 1: they are points without ids, which get them of their place in the source.
        checked
            Who has looked at all records of the batch.

        Raises
        ------
        InvalidArgument
            When a batch before this one is not in, or the stream has as many sources of batches as it may.
        QueueFull
            As `push`.
        """
        self._batch_sources.let_in(source)
        with self.reports.noting(source), self._source(source) as found:
            before = self._offset(source, found)
            if self._is_repeated(source, found, number):
                return Pushed(0, 0, {source: before}, None, is_repeated=True)
            offset = before + len(batch) + len(rejected)
            self._quarantine.write(source, [replace(one, position=one.position + before) for one in rejected])
            if places is not None:
                batch = batch.with_ids(ids_at(source, places + before))
            admitted = self._as_stream_has_it(batch)
            version = self._admit(source, found, admitted, offset, checked=checked, number=number)
            self._count(source, admitted, len(rejected), offset - before, offset)
            return Pushed(len(batch), len(rejected), {source: offset}, version)

    def insert(self, source: str, batch: RecordBatch, *, draft: Draft | None = None) -> int:
        """Admit a batch as a whole or, with an error that names the first bad entry, nothing of it; return the version.

        Parameters
        ----------
        draft : Draft, optional
            What its ids stand for, where they are names.

        Raises
        ------
        InvalidArgument
            When a program refuses an entry.
        QueueFull
            When the stream lags for longer than the timeout.
        """
        bad, reason, checked = self.check(batch)
        refused = np.flatnonzero(bad)
        if len(refused):
            raise InvalidArgument(
                f"entry {refused[0]} is {describe(batch, int(refused[0]), draft)}: {reason}",
                hint="Mend that entry and repeat the call: none of it was taken.",
            )
        with self.reports.noting(source), self._source(source) as found:
            offset = self._offset(source, found) + len(batch)
            admitted = self._as_stream_has_it(self.settled(batch, draft))
            version = self._admit(source, found, admitted, offset, checked=checked)
            self._count(source, admitted, 0, len(batch), offset)
            return version

    def mention(self, source: str, ids: NDArray[np.int64]) -> int:
        """Let vertices be seen from now on, without an edge; return the version.

        Raises
        ------
        QueueFull
            As `insert`.
        """
        with self.reports.noting(source), self._source(source) as found:
            offset = self._offset(source, found) + len(ids)
            batch = EdgeBatch.mentions(ids)
            version = self._admit(source, found, batch, offset)
            self._count(source, batch, 0, len(ids), offset)
            return version

    def check(self, batch: RecordBatch) -> Checked:
        """Which records some program on the stream cannot take, in each direction that the stream has of them, and why."""
        if not self._is_undirected or not isinstance(batch, EdgeBatch):
            return self.stream.check(batch)
        both, records = both_directions(batch, np.arange(len(batch)))
        found = self.stream.check(both)
        refused = np.zeros(len(batch), np.bool_)
        refused[records[found.refused]] = True
        return found._replace(refused=refused)

    def settled(self, batch: Batch, draft: Draft | None) -> Batch:
        """Give the ids of the stream to records that are to be admitted next; see `parsed.settled`.

        Raises
        ------
        QueueFull
            When the stream lags: of what it does not take, no name shall stay.
        """
        if not is_settled(batch, draft) and not self.stream.wait_room(self._timeout_s):
            raise QueueFull(f"stream {self.name!r} lags; nothing was admitted")
        return settled(batch, draft)

    # Looking

    @property
    def stream(self) -> RecordStreamView:
        """What is taken into.

        Raises
        ------
        UnknownStream
            When it has not begun.
        """
        if self._stream is None:
            raise UnknownStream(f"no loop reads stream {self.name!r} yet")
        return self._stream

    def offsets(self) -> dict[str, int]:
        """Up to where each source is in."""
        return self.stream.offsets()

    def expects(self, source: str, number: int) -> bool:
        """Whether a numbered batch is the next of its source; False where it is in already.

        Raises
        ------
        InvalidArgument
            When a batch before this one is not in.
        """
        with self._known_source(source) as found:
            return not self._is_repeated(source, found, number)

    def newest_batch(self, source: str) -> int | None:
        """Return the number of the newest batch of a source, None where it has none."""
        with self._known_source(source) as found:
            return self._number(source, found)

    def report(self, source: str, report: SenderReport) -> None:
        """Take what the sender of a source's batches says.

        Raises
        ------
        InvalidArgument
            When the stream has as many sources of batches as it may, and this is none of them.
        """
        self._batch_sources.let_in(source)
        self.reports.report(source, report)

    def require_room(self, source: str, others: Collection[str]) -> None:
        """Refuse a further source of batches where there are as many as may be: their names are chosen by clients.

        Parameters
        ----------
        others
            Sources of batches that count as well.

        Raises
        ------
        InvalidArgument
            When there are.
        """
        self._batch_sources.require_room(source, others)

    @contextmanager
    def _source(self, source: str) -> Iterator[_Source]:
        """Hold the lock of a source, which is known from then on."""
        with self._guard:
            found = self._sources.setdefault(source, _Source())
        with found.lock:
            # Here, and not before the lock: whoever ends the intake waits for those who hold one.
            if self._has_ended:
                raise _closed(self.name)
            yield found

    @contextmanager
    def _known_source(self, source: str) -> Iterator[_Source | None]:
        """Hold the lock of a source that is known; of another one nothing is kept."""
        found = self._sources.get(source)
        if found is None:
            yield None
        else:
            with found.lock:
                yield found

    def _admit(
        self,
        source: str,
        found: _Source,
        batch: RecordBatch,
        offset: int,
        *,
        checked: CheckedBy = (),
        number: int | None = None,
    ) -> int:
        if len(batch):
            version = self.stream.admit(
                batch, source, offset, timeout_s=self._timeout_s, checked=checked, number=number
            )
        else:
            version = self.stream.advance(source, offset, number=number)
        found.offset = offset
        if number is not None:
            found.number = number
        return version

    def _as_stream_has_it(self, batch: RecordBatch) -> RecordBatch:
        if not self._is_undirected or not isinstance(batch, EdgeBatch):
            return batch
        return both_directions(batch, np.zeros(len(batch), np.int64))[0]

    def _count(self, source: str, batch: RecordBatch, rejected: int, records: int, offset: int) -> None:
        edges = batch.edges if isinstance(batch, EdgeBatch) else len(batch)
        self.reports.count(source, records=records, rejected=rejected, edges=edges, offset=offset)

    def _offset(self, source: str, found: _Source) -> int:
        return self.offsets().get(source, 0) if found.offset is None else found.offset

    # Numbered batches

    def _is_repeated(self, source: str, found: _Source | None, number: int) -> bool:
        newest = self._number(source, found)
        following = 0 if newest is None else newest + 1
        if number > following:
            raise InvalidArgument(
                f"batch {number} of {source!r} cannot come to stream {self.name!r}, which has "
                + ("none of its batches" if newest is None else f"its batches up to {newest}"),
                hint=f"The next one is {following}: numbers begin with 0 and have no gaps. If the stream began anew, its sender must begin anew "
                f"too: {_beginning_anew(source)}.",
            )
        return number < following

    def _number(self, source: str, found: _Source | None) -> int | None:
        if found is not None and found.number is not None:
            return found.number
        number = self.stream.newest_batch(source)
        if found is not None:
            found.number = number
        return number


def _beginning_anew(source: str) -> str:
    if source.startswith(CLIENT_BATCHES):
        return "with batch 0"
    return "a Spark query with a new checkpointLocation"


def _closed(stream: str) -> ConnectionLost:
    return ConnectionLost(
        f"stream {stream} was closed with its last loop; nothing was admitted", hint="Start a loop again."
    )
