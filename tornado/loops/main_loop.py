"""A main loop, as its owner holds it: batches are admitted to it in one sequence, branches are forked from it.

The sequencer gives every batch a number and every worker its share, under one lock; a fork is put into the same sequence. So
"everything up to version v" means the same on every worker, whatever each of them is doing (see ARCHITECTURE.md, Admission).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, cast

from ..engine import ClusterEngine, Engine
from ..errors import ConnectionLost, InvalidArgument, QueueFull, TornadoError, WorkerLost
from ..graph import PartitionMap
from ..ingest.records import EdgeBatch
from ..storage import VersionedStore
from .admission_order import AdmissionOrder
from .branch import Branch
from .host import Cancel, Fork, Limit, LoopHost, PartPlan, Release, Stop
from .iterations import iterations_of, progress_of
from .journal import Journal
from .main_processor import MainProcessor
from .part import MainView, PartView, StorableView
from .parts import BACKLOG_LIMIT_RECORDS, Parts
from .program import SelectiveProgram, first_refused
from .restoration import RestorableProcessor, Restoration, Restored
from .share import Share, shares_of
from .snapshot import Snapshot
from .statistics import BranchState, IterationStatistics, LoopStatistics
from .stored_snapshot import StoredSnapshot, StoredSnapshots, identity_of
from .values import ColumnValues, Values
from .version_numbers import VersionNumbers
from .warm import warm

# Loads a stored snapshot beside a loop and forks a branch of another program from it, up to so many iterations.
ForkStored = Callable[["MainLoop", SelectiveProgram, StoredSnapshot, int | None], Branch]


class MainLoop:
    """See the module.

    Attributes
    ----------
    name, program, delay_bound, workers
        As it was started.
    partition
        Which worker a vertex belongs to.
    restored
        What it began with, or None where it began with nothing.
    on_full_journal
        Stores a snapshot; called where workers can be lost, and much has come in since the last one.
    """

    processor_type: ClassVar[type[MainProcessor]] = RestorableProcessor

    def __init__(
        self,
        *,
        number: int,
        name: str,
        program: SelectiveProgram,
        delay_bound: int | None,
        hosts: Sequence[LoopHost],
        engine: Engine,
        next_branch: Callable[[], int],
        order: AdmissionOrder,
        store: VersionedStore,
        fork_stored: ForkStored,
    ) -> None:
        self.name = name
        self.program = program
        self.delay_bound = delay_bound
        self.workers = len(hosts)
        self.partition = PartitionMap.even(len(hosts))
        self.restored: Restored | None = None
        self.on_full_journal: Callable[[], object] = self.checkpoint
        self._is_closed = False
        self.number = number
        self._parts = Parts(number, name, self._plan(), hosts, engine)
        self._hosts = hosts
        self._engine = engine
        self._next_branch = next_branch
        # The master's: dataflows must be installed in one order everywhere. Held for as long as loops are being restored, so
        # who only looks does without it.
        self._order = order
        # Inside the order, and held for a moment: version, offsets and count of records change as one.
        self._counting = threading.Lock()
        self._stored = StoredSnapshots(store, name)
        self._fork_stored = fork_stored
        self._checkpointing = threading.Lock()
        self._checkpointed: int | None = None
        self._numbers = VersionNumbers(store, name)
        self._version = 0
        self._offsets: dict[str, int] = {}
        self._admitted = 0
        self._branches: dict[int, Branch] = {}
        self._journal = Journal() if isinstance(engine, ClusterEngine) else None
        losses = engine.await_workers()
        self._parts.prepare()
        with order:
            self._parts.raise_loss(losses)  # the new ones are not prepared
            self._parts.install()
        self._parts.await_installed(losses)

    # Admission

    def admit(self, batch: EdgeBatch, source: str, offset: int, timeout_s: float | None = None) -> int:
        """Admit a batch: every later fork has it.

        Parameters
        ----------
        batch
            Records, in their order.
        source, offset
            Which source they come from, and how many records of it are in with them.
        timeout_s
            How long to wait for a loop that lags; None: as long as it takes.

        Returns
        -------
        The version of the graph that has the batch.

        Raises
        ------
        QueueFull
            When the loop still lags, or is being restored, after `timeout_s`; nothing was admitted.
        InvalidArgument
            When the program cannot take a record; nothing was admitted.
        StoreError
            When no number can be reserved for the version; nothing was admitted.
        """
        if self._is_closed:
            raise ConnectionLost(
                f"loop {self.name} was closed with its session; nothing was admitted",
                hint="Open a session again.",
            )
        found = first_refused(self.program, batch)
        if found is not None:
            first, record, reason = found
            raise InvalidArgument(f"record {first} ({record}) of {source}: {reason}")
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        if not self.wait_room(timeout_s):
            self._parts.raise_failure()
            raise QueueFull(
                f"loop {self.name} lags {self._parts.backlog()} records behind, more than {BACKLOG_LIMIT_RECORDS}; "
                "nothing of this batch was admitted"
            )
        shares = self._shares(batch)
        self._parts.raise_failure()
        self._numbers.prepare()
        with self._order.until(until_s):
            version = self._numbers.take()
            with self._counting:
                self._version = version
                self._offsets[source] = offset
                self._admitted += len(batch)
            if self._journal is not None:
                self._journal.add(version, shares)
            self._parts.post_shares(shares, version)
        if self._journal is not None and self._journal.is_full:
            self._journal.relieve(self._store_snapshot)
        return version

    def _store_snapshot(self) -> int:
        """Store a snapshot, so that the journal can forget what led to it; how many edges it has."""
        self.on_full_journal()
        if not self._stored.is_durable:
            self._stored.forget(keep=1)
        return self.statistics().edges

    def wait_room(self, timeout_s: float | None = None) -> bool:
        """Wait until the loop takes a batch at once; False when the time is over."""
        return self._engine.wait_for(self._parts.has_room, timeout_s)

    def advance(self, source: str, offset: int) -> int:
        """Records of a source were dealt with elsewhere (quarantined): move its offset, or fail as `admit` does.

        Returns
        -------
        The version that has the offset: a new one, unless the source stood there.
        """
        self._numbers.prepare()
        with self._order:
            if self._offsets.get(source) == offset:
                return self._version
            version = self._numbers.take()
            with self._counting:
                self._version = version
                self._offsets[source] = offset
            return version

    def offsets(self) -> dict[str, int]:
        """Records of each source that are admitted or quarantined; waits for nobody."""
        with self._counting:
            return dict(self._offsets)

    # Reading

    def approximation(self) -> Values:
        """The main loop's values as they are: at once, approximate, of no particular instant."""
        return self._values(self.parts())

    def fork(
        self,
        parameters: Mapping[str, Any] | None = None,
        at: int | None = None,
        max_iterations: int | None = None,
    ) -> Branch:
        """Fork a branch loop from a consistent snapshot of now, or from a stored one.

        Parameters
        ----------
        parameters
            Other parameters than the program's; such a branch begins from the initial values.
        at
            The version of a stored snapshot to fork from. With the program that it was written with, the branch has converged
            on return, as the snapshot holds the fixed point; otherwise the call blocks while the stored graph is loaded.
        max_iterations
            How many iterations above the snapshot's the branch may commit.

        Raises
        ------
        InvalidArgument
            When no snapshot of version `at` is stored; the message lists those that are.
        UnknownField
            For a parameter that the program does not have.
        """
        self._parts.raise_failure()
        program = self.program.with_parameters(parameters or {})
        if at is not None:
            return self._fork_at(at, program, max_iterations)
        return self._fork(program, fresh=program != self.program, max_iterations=max_iterations)

    def _fork_at(self, at: int, program: SelectiveProgram, max_iterations: int | None) -> Branch:
        with self._stored.reading(at):
            stored = self._stored.find(at)
            if stored.program != identity_of(program):
                return self._fork_stored(self, program, stored, max_iterations)
            vertices = stored.vertices()
        branch = self._branch(stored.snapshot)
        branch.answer(
            Values([ColumnValues(vertices.ids, vertices.values)], rank=program.rank, worst=self._worst)
        )
        return branch

    def _branch(self, snapshot: Snapshot) -> Branch:
        return Branch(
            number=self._next_branch(),
            snapshot=snapshot,
            workers=self.workers,
            engine=self._engine,
            stopped_side=self.program.stopped_side,
            values_of=self._values,
            on_recorded=self._limit,
            on_stop=self._stop,
            on_cancel=self._cancel,
            on_release=self._release,
        )

    def _fork(
        self,
        program: SelectiveProgram,
        *,
        fresh: bool = False,
        max_iterations: int | None = None,
        snapshot: Snapshot | None = None,
        reads_edges: bool = False,
    ) -> Branch:
        """Fork in the sequence of admissions; `snapshot` is what the branch is said to start from, if not from now."""
        with self._order:
            branch = self._branch(
                snapshot
                or Snapshot(dict(self._offsets), datetime.now(UTC), self._version, 0, self.delay_bound)
            )
            number = branch.id
            self._branches[number] = branch
            branch.add_done_callback(self._forget)
            command = Fork(
                loop=self.number,
                number=number,
                arguments=self._arguments(program),
                fresh=fresh,
                max_iterations=max_iterations,
                on_recorded=branch.recorded,
                on_finished=branch.finished,
                reads_edges=reads_edges,
            )
            if self._journal is not None:
                self._journal.drop_forks(self._branches)
                self._journal.add(self._version, command)
            self._parts.post(command)
        return branch

    # Storing

    def snapshots(self) -> list[Snapshot]:
        """The stored snapshots, oldest first; those of earlier runs on the same store too."""
        return self._stored.all()

    def checkpoint(self, *, before_write: Callable[[], None] | None = None) -> int:
        """Write a snapshot of now to the store: the graph and the fixed point of everything admitted so far.

        A branch computes it while the main loop goes on; only the workers' copying of the edges is work for the loop, a
        fraction of a millisecond at a time. Cost, until it is written: the copy of a fork; 32 bytes an edge on its worker;
        and here 24 bytes an edge and a vertex of the pages that changed.

        Parameters
        ----------
        before_write
            Called when everything that the snapshot holds is admitted, before it is written: what it counts on can be made
            durable first.

        Returns
        -------
        The version of the snapshot, for ``fork(at=…)``. When nothing came in since the last one, that one's.

        Raises
        ------
        StoreFull
            When there is no room; the loop goes on, and what was stored is as it was.
        """
        with self._checkpointing:
            self._parts.raise_failure()
            if self._version == self._checkpointed:
                return self._checkpointed
            branch = self._fork(self.program, reads_edges=True)
            try:
                branch.wait()
                if branch.state is not BranchState.CONVERGED:
                    raise self._not_stored(branch)
                if before_write is not None:
                    before_write()
                parts = [cast("StorableView", part).pages() for _, part in branch.states()]
                self._stored.write(branch.snapshot, self.program, parts)
            finally:
                branch.cancel()
                branch.release()
            snapshot = branch.snapshot
            self._checkpointed = snapshot.version
            if self._journal is not None:
                with self._order:
                    self._journal.forget(snapshot.version)
            return snapshot.version

    def trim_snapshots(self, *, keep: int, in_use: Collection[int] = ()) -> Snapshot | None:
        """Keep the newest stored snapshots and forget those before them, atomically.

        Parameters
        ----------
        keep
            How many, at least 1.
        in_use
            Versions that are kept too, and those after them.

        Returns
        -------
        The oldest one that is left, or None where none is stored.
        """
        return self._stored.forget(keep=keep, in_use=in_use)

    def restore(self) -> Restored | None:
        """Begin where the newest stored snapshot ended: for the master, before anything is admitted.

        A program that computes something else than what was stored takes the graph and computes its own values.

        Raises
        ------
        InvalidArgument
            When the program cannot take an edge that is stored.
        StoreCorrupt
            When the snapshot cannot be read.
        """
        stored = self._stored.newest()
        if stored is None:
            return None
        snapshot = stored.snapshot
        converged = self._load(stored)
        # Other values on the same graph are another version: what is stored stays what it is.
        version = snapshot.version if converged else self._numbers.take()
        if converged:
            self._checkpointed = version
        with self._order, self._counting:
            self._version = version
            self._offsets = dict(snapshot.offsets)
        self.restored = Restored(snapshot, stored.described, converged)
        return self.restored

    def _load(self, stored: StoredSnapshot) -> bool:
        """Hand a stored snapshot to the workers, which have nothing yet; whether its values were taken over."""
        snapshot = stored.snapshot
        losses = self._engine.losses
        converged = stored.program == identity_of(self.program)
        vertices = stored.vertices()
        restoration = Restoration(
            vertices,
            number=self.number,
            hosts=self._hosts,
            engine=self._engine,
            partition=self.partition,
            wait=lambda condition: self._parts.wait(condition, losses),
        )
        restoration.place_vertices(with_values=converged)
        for edges in stored.edge_pages():
            batch = EdgeBatch.of(edges.sources, edges.targets, edges.weights)
            found = first_refused(self.program, batch)
            if found is not None:
                raise InvalidArgument(
                    f"loop {self.name!r} cannot go on from its snapshot of version {snapshot.version}, which "
                    f"{stored.described} left: the edge {found[1]} is nothing for {type(self.program).__name__}: {found[2]}",
                    hint="Start the program that was stored, or name another loop or an empty store.",
                )
            self._parts.wait(self._parts.has_room, losses)
            self._parts.post_shares(self._shares(batch), snapshot.version)
        if converged:
            self._parts.wait(self._parts.is_idle, losses)
            restoration.place_parents()
        return converged

    def _not_stored(self, branch: Branch) -> Exception:
        error = branch.error
        if isinstance(error, TornadoError):
            return error
        if error is not None:
            return RuntimeError(f"loop {self.name} failed, no snapshot was stored: {error!r}")
        return InvalidArgument(f"loop {self.name!r} was closed before its snapshot was stored")

    # Watching

    def is_idle(self) -> bool:
        """Whether everything admitted is applied and the main loop has converged on it."""
        try:
            return self._parts.is_whole and self._parts.is_idle()
        except WorkerLost:
            return False

    def wait_idle(self, timeout_s: float | None = None) -> bool:
        """Wait until it is idle; False when the time is over."""
        return self._engine.wait_for(self.is_idle, timeout_s)

    def parts(self) -> list[MainView]:
        """Its part on every worker."""
        return self._parts.views()

    def iterations(self, last: int = 20) -> list[IterationStatistics]:
        """What the last iterations did."""
        return self._parts.asked(partial(iterations_of, last=last))

    def statistics(self) -> LoopStatistics:
        """Everything worth knowing about the loop at the moment."""
        idle = self.is_idle()
        parts, progress = self._parts.asked(
            lambda views: (
                [view.statistics() for view in views],
                progress_of(views, elapsed_s=0.0, converged=idle),
            )
        )
        with self._counting:
            version, admitted, offsets = self._version, self._admitted, dict(self._offsets)
        return LoopStatistics(
            name=self.name,
            program=type(self.program).__name__,
            workers=self.workers,
            delay_bound=self.delay_bound,
            version=version,
            iteration=progress.iteration,
            updates=progress.updates,
            prepares=progress.prepares,
            residual=progress.residual,
            pending=sum(part.pending for part in parts),
            vertices=sum(part.vertices for part in parts),
            edges=sum(part.edges for part in parts),
            admitted=admitted,
            missing_removals=sum(part.missing_removals for part in parts),
            waves=max(part.waves for part in parts),
            overtaken=sum(part.overtaken for part in parts),
            backlog_records=self._parts.backlog(),
            branches=len(self._branches),
            memory_bytes=sum(part.size_bytes for part in parts),
            restarts=self._engine.losses,
            sources=offsets,
        )

    # Called by the master

    @property
    def error(self) -> BaseException | None:
        """What made the loop fail."""
        return self._parts.error

    def fail(self, error: BaseException) -> None:
        """A worker's part of the main loop broke: nothing more is admitted, branches fail."""
        self._parts.error = error
        for branch in list(self._branches.values()):
            branch.fail(error)
        self._engine.notify()

    def note_loss(self) -> None:
        """Workers were lost: nothing can be asked until the loop is on others."""
        self._parts.is_whole = False

    def install_again(self) -> None:
        """Put the loop on workers that have nothing, as its newest stored snapshot has it; under the lock of the order.

        Raises
        ------
        WorkerLost
            When these workers are lost too.
        """
        assert self._journal is not None
        losses = self._engine.losses
        for branch in list(self._branches.values()):
            branch.begin_again()
        self._parts.prepare()
        self._parts.install()
        self._parts.await_installed(losses)
        stored = self._stored.newest()
        if stored is not None:
            version = stored.snapshot.version
            with self._stored.reading(version):
                self._load(stored)
            self._journal.forget(version)  # whoever wrote it may not have come to that

    def replay(self) -> list[Branch]:
        """Go through the sequence again from there; under the lock of the order.

        Returns
        -------
        The branches that cannot be forked again: their cut is older than the newest snapshot.
        """
        assert self._journal is not None
        losses = self._engine.losses
        forked = set()
        for version, entry in list(self._journal):
            if not isinstance(entry, Fork):
                self._parts.post_shares(entry, version)
            elif entry.number in self._branches:
                forked.add(entry.number)
                self._parts.post(entry)
                self._branches[entry.number].forked_again()
        self._parts.is_whole = self._engine.losses == losses
        self._engine.notify()
        return [branch for number, branch in list(self._branches.items()) if number not in forked]

    def close(self) -> None:
        """Cancel what still runs; nothing more is admitted."""
        self._is_closed = True
        for branch in list(self._branches.values()):
            branch.cancel()

    def branch(self, number: int) -> Branch | None:
        """A branch that runs."""
        return self._branches.get(number)

    # Private

    def _plan(self) -> PartPlan:
        """What makes a worker's part; with it comes what else the kind of program needs."""
        self._kernel = self.program.kernel()
        arguments = self.program.arguments()
        warm(self._kernel, arguments)
        return PartPlan(
            self.processor_type,
            {"kernel": self._kernel, "arguments": arguments, "delay_bound": self.delay_bound},
        )

    def _arguments(self, program: SelectiveProgram) -> tuple[Any, ...]:
        """What a fork hands to the workers of a program."""
        return program.arguments()

    @property
    def _worst(self) -> float:
        return float(self._kernel.WORST)

    def _values(self, parts: Sequence[PartView]) -> Values:
        """The values that these parts hold, of all workers."""
        return Values([part.held_values() for part in parts], rank=self.program.rank, worst=self._worst)

    def _shares(self, batch: EdgeBatch) -> list[Share]:
        """What each worker gets of a batch."""
        return shares_of(batch, self.partition)

    def _forget(self, branch: Branch) -> None:
        self._branches.pop(branch.id, None)  # and is not forked again, though the journal may have it

    def _limit(self, branch: Branch) -> None:
        self._parts.post(Limit(branch.id, branch.snapshot.iteration))

    def _stop(self, branch: Branch) -> None:
        self._parts.post(Stop(branch.id))

    def _cancel(self, branch: Branch) -> None:
        self._parts.post(Cancel(branch.id))

    def _release(self, branch: Branch) -> None:
        for worker, part in branch.states():
            self._parts.post_to(worker, Release(self.number, part.reusable))
