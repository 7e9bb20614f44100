"""A stream, as its owner holds it: batches are admitted to it in one sequence, and any number of main loops read it.

It has edges, and points where it is declared what these are. The sequencer gives every batch a number and every worker its share, under one lock; a fork is put into the same sequence. So
"everything up to version v" means the same on every worker and in every loop, whatever each of them is doing (see
ARCHITECTURE.md, Admission).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..clock import after
from ..engine import ClusterEngine, Engine
from ..errors import ConnectionLost, InvalidArgument, QueueFull, StoreError
from ..graph import PartitionMap
from ..records.checked import Checked, CheckedBy
from ..records.edge_batch import EdgeBatch, has_edges
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from ..storage import VersionedStore
from ..value_types import Mask
from .admission_log import WINDOW, AdmissionLog, LogEntry
from .admission_order import AdmissionOrder
from .checkpointed import Checkpointed, StoreCheckpoint
from .commands import Fork, LoopHost
from .directions import ReverseListsGone
from .group_commit import Admission, GroupCommit
from .journal import Journal
from .log_watch import LogWatch
from .point_shares import point_shares_of
from .reading_loop import ReadingLoop, have_failed
from .refusal import check_by, refuse_by
from .share import Share
from .snapshot import Snapshot
from .statistics import StoredSizes
from .stored_snapshot import StoredSnapshots
from .stream_workers import StreamWorkers
from .version_numbers import VersionNumbers
from .vertex_program import VertexProgram, can_refuse
from .window import Window, log_windowed
from .window_timer import expire_by_itself

BACKLOG_LIMIT_RECORDS = 1 << 16
# Of what is stored: the next ones are read and shared out while these are applied.
REPLAYED_AHEAD_RECORDS = 1 << 20


class RecordStream:
    """See the module.

    Attributes
    ----------
    number, name
        What it is told apart by, on the workers and by people.
    workers
        Its workers, and which of them has which vertex.
    stored
        Its snapshots.
    numbers
        Of its versions.
    order
        The master's: what must reach every worker in one sequence is posted under it. Held for as long as loops are being
        restored, so who only looks does without it.
    points
        What its points are declared to be; None: it has none.
    is_undirected
        Whether every record has come with the same one the other way round.
    reverse
        Which reverse lists the graph has on the workers, counted from 1 as they begin; 0: none, so far.
    is_both_ways
        Whether shares have the records of which a worker owns either end.
    beginning_reverse
        Held by who has the workers begin reverse lists.
    is_whole
        False while workers were lost and the loops are being put on others.
    on_full_journal
        Stores a snapshot; called where workers can be lost, and much has come in since the last one. With `within_s` as `checkpoint`.
    versions_in_use
        Returns the versions of stored snapshots that are not to be forgotten then.
    checkpointing, checkpointed
        Held by who writes a snapshot; the newest one, where it has all that there is to store.
    is_durable, log
        Whether the store outlives the process; then all that was admitted since the oldest snapshot kept, else None.
    window
        Through which edges leave by themselves; None: they stay.
    journal
        What others go through again that take the place of the workers; None: none will.
    before_logging
        Makes durable what the log counts on, the names behind ids; called before each write of it.
    """

    def __init__(
        self,
        *,
        number: int,
        name: str,
        hosts: Sequence[LoopHost],
        partition: PartitionMap,
        engine: Engine,
        order: AdmissionOrder,
        store: VersionedStore,
        store_checkpoint: StoreCheckpoint,
    ) -> None:
        self.number = number
        self.name = name
        self.workers = StreamWorkers(number, hosts, partition)
        self.stored = StoredSnapshots(store, name)
        self.numbers = VersionNumbers(store, name)
        self.is_durable = store.durable
        self.log = AdmissionLog(store, name) if self.is_durable else None
        self.before_logging: Callable[[], object] = lambda: None
        self._log_watch = LogWatch(engine.clock)
        self.order = order
        self.points: Points | None = None
        self.is_undirected = self.is_both_ways = False
        self.reverse = 0
        self.beginning_reverse = threading.Lock()
        self._stands_still = self._is_closed = False
        self._group_commit = GroupCommit(engine.clock, self._sequence)
        self.is_whole = True
        self.on_full_journal: Callable[..., object] = lambda **_: None
        self.versions_in_use: Callable[[], Collection[int]] = tuple
        self._store_checkpoint = store_checkpoint
        self._engine = engine
        self._loops: dict[int, ReadingLoop] = {}
        self._counting = threading.Lock()  # inside the order: version, offsets and counts change as one
        self._version = self._admitted = 0
        self._offsets: dict[str, int] = {}
        self.had_edges = False  # whether any ever came
        self.journal = Journal(self.log) if isinstance(engine, ClusterEngine) else None
        self.checkpointing = threading.Lock()
        self.checkpointed: Checkpointed | None = None
        self._expected: list[VertexProgram] = []
        self.window: Window | None = None

    # Loops

    @property
    def loops(self) -> list[ReadingLoop]:
        """The loops that read it, in the order in which they were started."""
        return list(self._loops.values())

    def keeper(self) -> ReadingLoop | None:
        """The first of its loops that has not failed and reads edges: through it the graph is looked at."""
        return next((loop for loop in self.running if loop.program.declared_points is None), None)

    @property
    def running(self) -> list[ReadingLoop]:
        """Those of its loops that are in the sequence and have not failed."""
        return [loop for loop in self.loops if loop.is_installed and loop.error is None]

    def join(self, loop: ReadingLoop) -> None:
        """Let a loop read it from now on, and refuse records that its program cannot take."""
        with self._group_commit.pause():
            self._loops[loop.number] = loop

    @contextmanager
    def expecting(self, program: VertexProgram) -> Iterator[None]:
        """Refuse records that a program cannot take while the context lasts; for a loop that is about to join."""
        with self._group_commit.pause():
            self._expected.append(program)
        try:
            yield
        finally:
            self._expected.remove(program)

    def leave(self, loop: ReadingLoop) -> None:
        """Forget a loop that was removed. Without the last one the stream is closed."""
        self._loops.pop(loop.number, None)
        self._is_closed = self._is_closed or not self._loops
        self.note_directions()

    # Reverse lists

    def lacks_reverse(self, program: VertexProgram) -> bool:
        """Whether a program's vertices hear along both directions, and the workers have lists of one only."""
        return program.both_ways and not self.is_undirected and not self.is_both_ways

    def begin_reverse(self) -> None:
        """Have the workers begin reverse lists when the next loop is installed; nothing may be under way to them."""
        self.reverse += 1

    def have_reverse(self, loop: ReadingLoop) -> None:
        """Make shares of both directions from now on, those in the journal included.

        The loop is the first that hears along the reverse lists, which must have all edges. Where it has failed meanwhile, as
        where workers were lost with their lists, what made it fail is raised.
        """
        with self.order:
            loop.raise_failure()
            self.is_both_ways = True
            if self.journal is not None:
                self.journal.share_again(self.shares, self.workers.partition, all_of_them=False)

    def note_directions(self) -> None:
        """Make shares of one direction again if no loop is left that hears along reverse lists."""
        self.is_both_ways = self.is_both_ways and any(
            loop.program.both_ways and loop.error is None for loop in self._loops.values()
        )

    def require_reverse(self, loop: ReadingLoop) -> None:
        """Refuse a loop that is to hear along reverse lists with others, where these have ended; under the order.

        Raises
        ------
        ReverseListsGone
            When the workers may have let go of the lists.
        """
        if not any(other is not loop and other.hears_back == loop.hears_back for other in self.running):
            raise ReverseListsGone

    @contextmanager
    def standing_still(self, wait: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
        """Admit nothing meanwhile, beginning when all is posted, to new workers too, and applied; forks are taken.

        Parameters
        ----------
        wait
            Waits for what the workers bring about, or raises where they are lost.
        """
        with self._group_commit.pause():
            self._stands_still = True
        try:
            wait(lambda: self.is_whole and self.workers.backlog() == 0)
            yield
        finally:
            self._stands_still = False
            self._engine.notify()

    def close(self) -> None:
        """Refuse whatever is admitted from now on."""
        self._is_closed = True
        self._engine.notify()

    def require_open(self) -> None:
        """Refuse what comes after its end.

        Raises
        ------
        ConnectionLost
            When it was closed, or its last loop was removed.
        """
        if self._is_closed:
            raise self._closed()

    def _closed(self) -> ConnectionLost:
        return ConnectionLost(
            f"stream {self.name} was closed with its session or its last loop; nothing was admitted",
            hint="Open a session, or start a loop, again.",
        )

    # Admission

    def admit(
        self,
        batch: RecordBatch,
        source: str,
        offset: int,
        timeout_s: float | None = None,
        *,
        checked: CheckedBy = (),
        number: int | None = None,
    ) -> int:
        """Admit a batch: every later fork of every loop has it, and where the store is durable, so is the batch.

        Parameters
        ----------
        batch
            Records, in their order.
        source, offset
            Which source they come from, and how many records of it are in with them.
        timeout_s
            How long to wait for loops that lag; None: as long as it takes.
        checked
            Who has looked at the records (`check`) and is not asked again.
        number
            Of the batch, where its sender numbers them.

        Returns
        -------
        The version of the graph that has the batch.

        Raises
        ------
        QueueFull
            When they still lag, or are being restored, after `timeout_s`; nothing was admitted.
        InvalidArgument
            When a program cannot take a record; nothing was admitted.
        StoreError
            When no number can be reserved for the version, or it cannot be logged; nothing was admitted.
        """
        self.require_open()
        checked = self.refuse_impossible(batch, source, checked)
        until_s = after(self._engine.clock, timeout_s)
        admission = Admission(LogEntry(0, source, offset, batch, number), checked)
        while not admission.version:  # else the stream was about to stand still
            self._submit(admission, until_s)
        journal = self.journal  # of one look: it may be for a move alone, which ends
        if journal is not None and journal.is_full:
            journal.relieve(self.store_snapshot)
        return admission.version

    def _submit(self, admission: Admission, until_s: float | None) -> None:
        """Wait for room and let a batch take its turn in the sequence."""
        admission.is_both_ways, admission.partition = self.is_both_ways, self.workers.partition
        # While workers go through what came before. What a window makes of it is known when its turn has come.
        admission.shares = [] if self.window is not None else self.shares(admission.entry.batch)
        left_s = None if until_s is None else max(0.0, until_s - self._engine.clock.monotonic())
        if not self.wait_room(left_s):
            self.raise_failure()
            lag = f"lags {self.workers.backlog()} records behind, more than {BACKLOG_LIMIT_RECORDS}"
            found = "stands still while a loop begins on it" if self._stands_still else lag
            raise QueueFull(f"stream {self.name} {found}; nothing of this batch was admitted")
        self.require_open()
        self.raise_failure()
        self.numbers.prepare()
        with self.order.until(until_s):
            pass  # loops that are being restored on other workers are waited for here, while nothing is logged
        self._group_commit.submit(admission, until_s)

    def advance(self, source: str, offset: int, *, number: int | None = None) -> int:
        """Records of a source were dealt with elsewhere (quarantined): move its offset, or fail as `admit` does.

        Returns
        -------
        The version that has the offset: a new one, unless the source stood there.
        """
        if self._offsets.get(source) == offset and (number is None or self.log is None):
            return self._version
        self.numbers.prepare()
        admission = Admission(LogEntry(0, source, offset, EdgeBatch.empty(), number), ())
        self._group_commit.submit(admission, None)
        return admission.version

    def keep_window(self, window: Window) -> None:
        """Let edges leave through a window from now on, those first that are out of it already; the stream is as its log says."""
        self.window = window
        self.expire()
        expire_by_itself(window, self.expire, self._engine, lambda: self._is_closed, self.name)

    def expire(self) -> None:
        """Let leave what is out of the window by now, if anything is."""
        self._group_commit.submit(Admission(LogEntry(0, WINDOW, 0, EdgeBatch.empty()), ()), None)

    def _sequence(self, group: Sequence[Admission]) -> None:
        """Number what came at one time, log it, and post it, unless it is refused; one caller at a time."""
        ready = []
        for one in group:
            try:
                self.require_open()  # others may go on with its log by now
                if one.shares is not None:
                    # By a loop that has joined since, if one has.
                    self.refuse_impossible(one.entry.batch, one.entry.source, one.checked)
            except Exception as error:  # noqa: BLE001  raised to whoever brought it
                one.error = error
            else:
                if one.shares is None or not self._stands_still:
                    ready.append(one)
        if not ready:
            return
        for one in ready:
            one.entry.version = self.numbers.take()
        logged = self._log(ready)
        with self.order:
            for one in logged:
                self._post(one)
                one.version = one.entry.version

    @property
    def not_logged(self) -> StoreError | None:
        """Why the newest attempt to log something failed, or has not come to its end for long; None: neither."""
        return self._log_watch.fault

    def _log(self, group: Sequence[Admission]) -> Sequence[Admission]:
        """Make admissions durable, or note why they cannot be; return those that are to be posted."""
        if self.window is None and self.log is None:
            return group
        with self._log_watch:
            self.before_logging()
            if self.window is not None:
                group = log_windowed(self.window, group, may_leave=not self._stands_still)
            elif self.log is not None:
                self.log.append([one.entry for one in group])
        return group

    def _post(self, admission: Admission) -> None:
        entry, shares = admission.entry, admission.shares
        self._count(entry.offsets, entry.version, entry.batch)
        if not len(entry.batch) or not self._loops:
            return
        is_stale = admission.partition is not self.workers.partition
        if not shares or is_stale or admission.is_both_ways != self.is_both_ways:
            shares = self.shares(entry.batch)
        self._post_shares(shares, entry.version)

    def _count(self, offsets: Mapping[str, int], version: int, batch: RecordBatch) -> None:
        self.workers.settle(batch)
        with self._counting:
            self._version = version
            self._offsets |= offsets
            self._admitted += len(batch)
            self.had_edges = self.had_edges or has_edges(batch)

    def _post_shares(self, shares: Sequence[Share], version: int) -> None:
        if self.journal is not None:
            self.journal.add(version, list(shares))
        self.workers.post_shares(shares, version)

    def admit_logged(self, batch: RecordBatch, offsets: Mapping[str, int], version: int) -> None:
        """Admit again what the log has, under its version; loops that lag are waited for."""
        self._engine.wait_for(lambda: not self.lags(REPLAYED_AHEAD_RECORDS), None)
        self.raise_failure()
        with self.order:
            self._count(offsets, version, batch)
            if len(batch):
                self._post_shares(self.shares(batch), version)

    def wait_room(self, timeout_s: float | None = None) -> bool:
        """Wait until a batch is taken at once; False when the time is over."""
        return self._engine.wait_for(self.has_room, timeout_s)

    def has_room(self) -> bool:
        """Whether `admit` would not wait: it has room, or raises at once."""
        waits = self._stands_still or self.lags(BACKLOG_LIMIT_RECORDS)
        return not waits or have_failed(self.loops) or self._is_closed

    def lags(self, records: int) -> bool:
        """Whether more than so many records are posted and not applied by loops that go on."""
        return self.workers.backlog() > records and not (have_failed(self.loops) or self._is_closed)

    def counts(self) -> tuple[int, int, dict[str, int]]:
        """The version, how many records were admitted, and how many of each source are in or quarantined; waits for nobody."""
        with self._counting:
            return self._version, self._admitted, dict(self._offsets)

    def offsets(self) -> dict[str, int]:
        """How many records of each source are in or quarantined; waits for nobody."""
        return self.counts()[2]

    def newest_batch(self, source: str) -> int | None:
        """The number of the newest batch of a source, as the log has it; None without one."""
        return None if self.log is None else self.log.number(source)

    def has_logged(self, is_refused: Callable[[RecordBatch], Mask]) -> bool:
        """Whether the log has a record behind the newest snapshot that is refused; not while snapshots are trimmed."""
        if self.log is None:
            return False
        entries = self.log.replay(after=self.stored.newest_version() or 0, points=self.points)
        return any(bool(is_refused(entry.batch).any()) for entry in entries)

    def wants_snapshot(self, coming: int | None = None) -> bool:
        """Whether so much stands behind the newest snapshot that another one is worth its while, or a loop is not in it; see `AdmissionLog.is_long`."""
        if self.log is None:
            return True
        stored = () if self.checkpointed is None else self.checkpointed.loops
        has_begun = bool(self._version) and any(loop.number not in stored for loop in self.running)
        if has_begun or not self.is_whole:  # while others are given the graph, what they hold says nothing
            return has_begun
        return self.log.is_long(*self.stored.newest_base(), held=self.workers.held(), coming=coming)

    def raise_failure(self) -> None:
        """Raise what made its loops fail, when none of them is left."""
        loops = self.loops  # of one look: the last one may leave meanwhile
        if have_failed(loops):
            loops[0].raise_failure()

    def check(self, batch: RecordBatch) -> Checked:
        """Which records some program on the stream cannot take, and why; `admit` is told who has looked."""
        found = check_by(self._programs(), batch)
        return found if self.window is None else self.window.check(batch, found)

    def _programs(self) -> list[VertexProgram]:
        """Those that may refuse a record."""
        programs = [*self._expected, *(loop.program for loop in self.loops if loop.error is None)]
        return [program for program in programs if can_refuse(program)]

    def refuse_impossible(self, batch: RecordBatch, source: str, checked: CheckedBy) -> CheckedBy:
        """Refuse a batch that a program cannot take which has not looked at it; return who has, then.

        Raises
        ------
        InvalidArgument
            With the first record that it cannot take; or where the stream has no such points.
        """
        if isinstance(batch, PointBatch) and batch.points != self.points:
            raise InvalidArgument(
                f"stream {self.name} has {self.points or 'no points'}, and {source} sends {batch.points}",
                hint="Send them to a stream with that schema.",
            )
        return refuse_by(self._programs(), batch, source, checked)

    def pause(self) -> AbstractContextManager[None]:
        """Admit nothing while the context lasts, beginning between two groups of admissions; to be entered before the order."""
        return self._group_commit.pause()

    # Forks, under the order

    def snapshot_of_now(self, delay_bound: int | None) -> Snapshot:
        """The prefix that a fork of now has; under the order."""
        instant, is_durable = self._engine.clock.now(), self.is_durable  # it was logged before anybody saw it
        return Snapshot(self.name, dict(self._offsets), instant, self._version, 0, delay_bound, is_durable)

    def fork(self, command: Fork) -> None:
        """Put a fork of a loop into the sequence; under the order."""
        if self.journal is not None:
            self.journal.drop_forks({number for loop in self.loops for number in loop.branch_numbers()})
            self.journal.add(self._version, command)
        self.workers.post(command)

    # Snapshots

    def checkpoint(self, **how: Any) -> int:
        """Write a snapshot of now, through whichever loops run; see `checkpoint.store_checkpoint`."""
        self.workers.remember()
        return self._store_checkpoint(self, **how)

    def trim_snapshots(
        self, *, keep: int, in_use: Collection[int] = (), sparing: bool = False
    ) -> Snapshot | None:
        """Keep the newest stored snapshots and forget those before them; see `StoredSnapshots.forget`."""
        oldest = self.stored.forget(keep=keep, in_use=in_use, beside=self.log if sparing else None)
        if oldest is not None and self.log is not None:
            needless = oldest.version if self.window is None else min(oldest.version, self.window.floor)
            self.log.forget(needless)
        return oldest

    def begin(self, version: int, offsets: dict[str, int], *, has_edges: bool) -> None:
        """Set the version and the offsets to those of a snapshot that was loaded, and whether there are edges in it."""
        with self.order, self._counting:
            self._version = version
            self._offsets = dict(offsets)
            self.had_edges = has_edges

    def begin_version(self) -> None:
        """Give the present prefix a new version, so that a snapshot of it can have other loops; under the order, in a pause.

        What is stored under the old one stays what it is.
        """
        version = self.numbers.take()
        with self._counting:
            self._version = version

    def was_stored(self, version: int) -> None:
        """Forget, in the journal, what led to a version that is stored."""
        with self.order:
            if self.journal is not None:
                self.journal.forget(version)

    def store_snapshot(self, *, within_s: float | None = None) -> tuple[int, int]:
        """Have the journal forget what led to a snapshot of now; return how many edges and points that has, and their bytes."""
        self.on_full_journal(within_s=within_s)
        if not self.stored.is_durable:
            self.stored.forget(keep=1, in_use=self.versions_in_use())
        return self.stored.newest_base()[1:]

    def stored_sizes(self) -> StoredSizes | None:
        """What it takes in its store; None where nothing of it is durable."""
        return None if self.log is None else self.stored.sizes(self.log.size)

    def shares(self, batch: RecordBatch) -> list[Share]:
        """What each worker gets of a batch.

        Raises
        ------
        ConnectionLost
            When the last loop has left.
        """
        if isinstance(batch, PointBatch):
            return point_shares_of(batch, len(self.workers))
        assert isinstance(batch, EdgeBatch)
        for loop in self.loops:
            return loop.shares(batch.untimed())
        raise self._closed()

    def count_applied(self, worker: int, records: int, held: int) -> None:
        """Take records that a worker has applied off the backlog, and let those go on who wait for room."""
        self.workers.count_applied(worker, records, held)
        self._engine.notify()

    def begin_again(self, partition: PartitionMap) -> None:
        """Begin on workers that have taken the place of others, with a map of theirs; under the order."""
        before = self.workers.partition
        self.workers.begin_again(partition, keeps_placement=True)
        if (partition.buckets != before.buckets).any() and self.journal is not None and self._loops:
            self.journal.share_again(self.shares, before, all_of_them=True)

    def replay(self) -> Iterator[Fork | None]:
        """Post the batches of the journal again, None for each, and yield its forks when it is their turn; under the order."""
        assert self.journal is not None
        for version, entry in self.journal.replay(until=self._version, points=self.points):
            if isinstance(entry, Fork):
                yield entry
            elif len(entry):
                self.workers.post_shares(entry if isinstance(entry, list) else self.shares(entry), version)
                yield None
