"""A main loop, as its owner holds it: it reads a stream beside others, and branches are forked from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Unpack

from ..config import AUTO_DELAY_BOUND, DelayBound
from ..engine import ClusterEngine, Engine
from ..errors import InvalidArgument, NotSupported, WorkerLost
from ..graph import PartitionMap
from ..records.checked import Checked, CheckedBy
from ..records.edge_batch import EdgeBatch
from ..records.record_batch import RecordBatch
from .adoption import Adoption
from .branch import Branch
from .branch_edges import edges_of_branch, edges_of_stored, points_of_branch, points_of_stored
from .branch_ways import StoredWays, ways_of_branch
from .commands import Cancel, EndLoop, Fork, Limit, LoopHost, Release, Stop
from .fork_options import ForkOptions
from .frontier import LoopFrontier, frontier_of
from .iterations import iterations_of, progress_of
from .kind import arguments_of_fork, kind_of_program, stored_kinds
from .part import MainPartView, PartView
from .parts import Parts
from .restoration import Restored
from .share import Share
from .snapshot import Snapshot
from .statistics import IterationStatistics, LoopStatistics, validation_of
from .stored_snapshot import StoredSnapshot
from .stream import RecordStream
from .values import ColumnValues, Values
from .vertex_program import VertexProgram
from .ways import require_ways

# Loads a stored snapshot beside a loop and forks a branch of another program from it: up to so many iterations, to read its ways.
ForkStored = Callable[["MainLoop", VertexProgram, StoredSnapshot, int | None, bool], Branch]


class MainLoop:
    """See the module.

    Attributes
    ----------
    name, program, kind
        As it was started, and the kind of the program.
    chosen_bound, delay_bound
        What its parts have, see `VertexProgram.chosen_bound`; and what answers tell of it: None is unbounded.
    commits
        Whether its parts compute anything; see `ProgramKind.plan`.
    stream
        What it reads.
    hears_back
        Which reverse lists its vertices hear along, see `RecordStream`; 0: along none.
    app
        The name of the app by which it was started on the running stream, where it was.
    is_installed, is_removed
        Whether all workers were told to make their parts: what is posted from then on comes behind that; and to end them, on purpose.
    losses
        The engine's count when it was first installed.
    adoption
        How it takes over what branches have found.
    restored
        What it began with, or None where it began with nothing.
    """

    commits: ClassVar[bool] = True

    def __init__(
        self,
        *,
        number: int,
        name: str,
        program: VertexProgram,
        delay_bound: DelayBound,
        stream: RecordStream,
        hosts: Sequence[LoopHost],
        engine: Engine,
        next_branch: Callable[[], int],
        fork_stored: ForkStored,
        app: str | None = None,
    ) -> None:
        self.number = number
        self.name = name
        self.program = program = program.reading(stream.points)
        self.kind = kind_of_program(program)
        self.chosen_bound = delay_bound = program.chosen_bound(delay_bound)
        self.delay_bound = None if delay_bound == AUTO_DELAY_BOUND else delay_bound
        self.stream = stream
        self.hears_back = stream.reverse if program.both_ways and not stream.is_undirected else 0
        # Others have begun the lists then, and may end them.
        shares_reverse = self.hears_back > 0 and stream.is_both_ways
        self.app = app
        self.is_installed = self.is_removed = False
        self.restored: Restored | None = None
        plan = self.kind.plan(
            program, delay_bound=delay_bound, hears_back=self.hears_back, commits=self.commits
        )
        self._parts = Parts(number, name, plan, stream, hosts, engine)
        self.adoption = Adoption(number, name, program, self._parts)
        self._engine = engine
        self._next_branch = next_branch
        self._fork_stored = fork_stored
        self._branches: dict[int, Branch] = {}
        self.losses = losses = engine.await_workers()
        self._parts.prepare()
        stream.join(self)
        try:
            with stream.order:
                stream.require_open()
                self._parts.raise_loss(losses)  # the new ones are not prepared
                if shares_reverse:
                    stream.require_reverse(self)
                self._parts.install(self.fail)
                self.is_installed = True
            self._parts.await_installed(losses)
        except BaseException:
            with stream.order:
                stream.leave(self)
                if self.is_installed:
                    self.withdraw()  # some workers may have their parts
            raise

    # The stream

    def admit(
        self,
        batch: RecordBatch,
        source: str,
        offset: int,
        timeout_s: float | None = None,
        *,
        checked: CheckedBy = (),
    ) -> int:
        """Admit a batch to the stream; see `RecordStream.admit`."""
        return self.stream.admit(batch, source, offset, timeout_s, checked=checked)

    def check(self, batch: RecordBatch) -> Checked:
        """Which records a program on the stream cannot take, and why; see `RecordStream.check`."""
        return self.stream.check(batch)

    def advance(self, source: str, offset: int) -> int:
        """Move the offset of a source; see `RecordStream.advance`."""
        return self.stream.advance(source, offset)

    def wait_room(self, timeout_s: float | None = None) -> bool:
        """Wait until a batch is taken at once; False when the time is over."""
        return self.stream.wait_room(timeout_s)

    def offsets(self) -> dict[str, int]:
        """Records of each source that are admitted or quarantined; waits for nobody."""
        return self.stream.offsets()

    @property
    def stream_name(self) -> str:
        """What it reads is known by: the name of the first loop on it."""
        return self.stream.name

    @property
    def workers(self) -> int:
        """How many workers have a part of it."""
        return len(self._parts)

    @property
    def partition(self) -> PartitionMap:
        """Which worker a vertex belongs to."""
        return self.stream.workers.partition

    # Reading

    def approximation(self) -> Values:
        """The main loop's values as they are: at once, approximate, of no particular instant."""
        return self._values(self.parts())

    def fork(
        self,
        parameters: Mapping[str, Any] | None = None,
        at: int | None = None,
        max_iterations: int | None = None,
        *,
        reads_edges: bool = False,
        reads_ways: bool = False,
        top: int | None = None,
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
            How many iterations above the snapshot's the branch may commit; of none it is there at once, with what the loop has.
        reads_edges
            Whether `Branch.edges` can be asked for when it is over. Of now, each worker copies them (24 bytes an edge).
        reads_ways
            Whether `Branch.ways` can be asked for when it is over. Its version is kept until they are given up, or it is released.
        top
            Only the best so many are wanted. Where the kind of its programs proves their order, the branch is stopped as soon as
            that is certain; a stored snapshot is answered as without.

        Raises
        ------
        InvalidArgument
            When no snapshot of version `at` is stored; the message lists those that are. For parameters that are fixed where the
            loop is started, or that the program refuses. When ways are to be read, and values come along none.
        NotSupported
            When edges are to be read, and the kind of its programs has none to read.
        UnknownField
            For a parameter that the program does not have.
        """
        self._parts.raise_failure()
        program = self.program.asked_with(parameters) if parameters else self.program
        if reads_ways:
            require_ways(program)
        if at is not None:
            branch = self._fork_at(at, program, max_iterations, reads_ways=reads_ways)
            if reads_edges:
                stored = self.stream.stored
                branch.read_edges_by(lambda _: edges_of_stored(stored, at))
                branch.read_points_by(lambda _: points_of_stored(stored, at))
            return branch
        reads_points = reads_edges and program.declared_points is not None
        if reads_edges:
            self.require_stored("edges are read", hint="Ask without a check")
        return self._fork(
            program,
            fresh=program.begins_anew(self.program),
            max_iterations=max_iterations,
            reads_edges=reads_edges and not reads_points,
            reads_points=reads_points,
            reads_ways=reads_ways,
            top=top,
        )

    def _fork_at(
        self, at: int, program: VertexProgram, max_iterations: int | None, *, reads_ways: bool
    ) -> Branch:
        self.require_stored()
        with self.stream.stored.reading(at):
            stored = self.stream.stored.find(at)
            point = stored.fixed_point(self.kind.identity(program), self.name)
            if point is None or program.declared_points is not None:
                # Of a loop of its own, which has nothing but the graph, or the parameters and all points.
                branch = self._fork_stored(self, program, stored, max_iterations, reads_ways)
                branch.start = "cold" if point is None else "warm"
                return branch
            vertices = stored.vertices(point)
        branch = self._branch(program, stored.snapshot_of(self.name))
        found = ColumnValues(vertices.ids, vertices.values)
        if reads_ways:
            branch.read_ways_by(lambda _: StoredWays(self.stream.stored, at, vertices))
        branch.answer(Values([found], rank=program.rank, worst=program.worst), point.findings)
        return branch

    def _branch(self, program: VertexProgram, snapshot: Snapshot) -> Branch:
        return Branch(
            number=self._next_branch(),
            loop=self.number,
            program=program,
            is_undirected=self.stream.is_undirected,
            snapshot=snapshot,
            hosts=self._parts.hosts(),
            engine=self._engine,
            judge=partial(self.kind.judge, program),
            values_of=self._values,
            on_recorded=self._limit,
            on_stop=self._stop,
            on_cancel=self._cancel,
            on_release=self._release,
        )

    def _fork(self, program: VertexProgram, **options: Unpack[ForkOptions]) -> Branch:
        """Fork in the sequence of admissions, with the options of `_fork_in_order`."""
        if isinstance(self._engine, ClusterEngine):
            self.kind.require_travels(program)  # refused before anything is put into the sequence
        with self.stream.order:
            return self._fork_in_order(program, **options)

    def _fork_in_order(
        self,
        program: VertexProgram,
        *,
        fresh: bool = False,
        max_iterations: int | None = None,
        snapshot: Snapshot | None = None,
        reads_edges: bool = False,
        reads_points: bool = False,
        reads_ways: bool = False,
        top: int | None = None,
    ) -> Branch:
        """Fork under the order."""
        self._parts.raise_failure()  # it may have failed, or been removed, while this waited
        branch = self._branch(program, snapshot or self.stream.snapshot_of_now(self.delay_bound))
        branch.iterates, branch.is_limited = max_iterations != 0, max_iterations is not None
        branch.start = "cold" if program.begins_cold(self.program) else "warm"
        self._branches[branch.id] = branch
        branch.add_done_callback(self._forget)
        if reads_edges:
            branch.read_edges_by(edges_of_branch)
        if reads_points:
            branch.read_points_by(points_of_branch)
        if reads_ways:
            branch.read_ways_by(ways_of_branch)
        command = Fork(
            loop=self.number,
            number=branch.id,
            arguments=arguments_of_fork(self.kind, program, top),
            fresh=fresh,
            max_iterations=max_iterations,
            on_recorded=branch.recorded,
            on_finished=branch.finished,
            reads_edges=reads_edges,
            reads_points=reads_points,
            reads_ways=reads_ways,
        )
        self.stream.fork(command)
        return branch

    # Storing

    def snapshots(self) -> list[Snapshot]:
        """The stored snapshots of its stream, oldest first; those of earlier runs on the same store too."""
        return self.stream.stored.all(self.name)

    def checkpoint(self, *, before_write: Callable[[], None] | None = None) -> int:
        """Write a snapshot of now to the store: the graph, and the fixed point that each loop on the stream has of it.

        A branch of each loop computes it while the loops go on; only putting copies of the edges by page is work for the workers,
        about a millisecond at a time. Cost, until it is written: the copy of a fork for each loop; 24 bytes an edge and 10 bytes a
        row on its worker; and here 12 to 24 bytes an edge, 8 bytes a vertex, and 16 for each of its loops, of the pages that changed. A
        loop that has failed is left out.

        Parameters
        ----------
        before_write
            Called when everything that the snapshot holds is admitted, before it is written: what it counts on can be made
            durable first.

        Returns
        -------
        The version of the snapshot, for ``fork(at=…)``. When nothing came in since the last one, and no loop began, that one's.

        Raises
        ------
        StoreFull
            When there is no room; the loop goes on, and what was stored is as it was.
        NotSupported
            When of its kind of programs nothing is stored.
        """
        if not self.stream.running:
            self._parts.raise_failure()
        return self.stream.checkpoint(before_write=before_write)

    def fork_to_store(self, *, reads_edges: bool, most: int | None = None) -> Branch:
        """Fork with its own parameters, for at most so many iterations, with the edges and points or without; under the order."""
        reads_points = reads_edges and self.stream.points is not None
        return self._fork_in_order(
            self.program, max_iterations=most, reads_edges=reads_edges, reads_points=reads_points
        )

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
        return self.stream.trim_snapshots(keep=keep, in_use=in_use)

    def check_stored(self, stored: StoredSnapshot) -> None:
        """Refuse to go on from a snapshot where of the kind of the program nothing is stored.

        Raises
        ------
        InvalidArgument
            Then another kind of program left it.
        """
        if not self.kind.is_stored:
            raise InvalidArgument(
                f"loop {self.name!r} cannot go on from its snapshot of version {stored.snapshot.version}, which "
                f"{stored.described(self.name)} left: {type(self.program).__name__} is {self.kind.described}",
                hint="Start the program that was stored, or name another loop or an empty store.",
            )

    def is_at_rest(self) -> bool:
        """Whether its parts, as they are, have applied everything and come to their end with it.

        Raises
        ------
        WorkerLost
            When one is gone.
        """
        return self._parts.is_idle()

    # Watching

    def is_idle(self) -> bool:
        """Whether everything admitted is applied and the main loop has converged on it."""
        try:
            has_all = self.stream.is_whole and not self.adoption.awaits(self.branches())
            return has_all and self._parts.is_idle()
        except WorkerLost:
            return False

    def wait_idle(self, timeout_s: float | None = None) -> bool:
        """Wait until it is idle; False when the time is over.

        Raises
        ------
        TornadoError, RuntimeError
            When the loop has failed: it never will be.
        """
        is_idle = self._engine.wait_for(lambda: self.is_idle() or self.error is not None, timeout_s)
        self._parts.raise_failure()
        return is_idle

    def await_parts(self, condition: Callable[[], bool], losses: int) -> None:
        """Wait for what the workers bring about; see `Parts.wait`."""
        self._parts.wait(condition, losses)

    def raise_loss(self, losses: int) -> None:
        """Raise where workers were lost since there were so many losses; see `Parts.raise_loss`."""
        self._parts.raise_loss(losses)

    def parts(self) -> list[MainPartView]:
        """Its part on every worker."""
        return self._parts.views()

    def iterations(self, last: int = 20) -> list[IterationStatistics]:
        """What the last iterations did."""
        return self._parts.asked(partial(iterations_of, last=last))

    def statistics(self) -> LoopStatistics:
        """Everything worth knowing about the loop at the moment."""
        idle = self.is_idle()
        parts, progress = self._parts.asked(
            lambda views: ([view.statistics() for view in views], progress_of(views, converged=idle))
        )
        version, admitted, offsets = self.stream.counts()
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
            invalidations=sum(part.invalidations for part in parts),
            overtaken=sum(part.overtaken for part in parts),
            cut_edges=sum(part.cut_edges for part in parts),
            unplaced_vertices=sum(part.unplaced for part in parts),
            backlog_records=self.stream.workers.backlog(),
            branches=len(self._branches),
            memory_bytes=sum(part.size_bytes for part in parts),
            restarts=self._engine.losses,
            sources=offsets,
            validation=validation_of(parts),
            by_worker=tuple(parts),
        )

    def frontier(self) -> LoopFrontier:
        """How far it is by timestamps, and who holds it back there; looked for now, on every worker."""
        return frontier_of(self._parts.holders())

    # Called by the master

    @property
    def error(self) -> BaseException | None:
        """What made the loop fail."""
        return self._parts.error

    def fail(self, error: BaseException) -> None:
        """A worker's part of the main loop broke: nothing more is admitted, branches fail."""
        self._parts.error = error
        self.stream.note_directions()
        for branch in self.branches():
            branch.fail(error)
        if any(other is not self and other.error is None for other in self.stream.loops):
            self.withdraw()  # a part that is left of it would hold up the others
        self._engine.notify()

    def raise_failure(self) -> None:
        """Raise what made the loop fail, if anything did."""
        self._parts.raise_failure()

    def branch_numbers(self) -> Collection[int]:
        """Of the branches that run."""
        return list(self._branches)

    def install_again(self) -> None:
        """Put the loop on workers that have nothing; under the lock of the order.

        Raises
        ------
        WorkerLost
            When these workers are lost too.
        """
        losses = self._engine.losses
        for branch in self.branches():
            branch.begin_again(self._parts.hosts())
        self._parts.prepare()
        self._parts.install(self.fail)
        self._parts.await_installed(losses)

    def fork_again(self, command: Fork) -> bool:
        """Put a fork into the sequence once more, if its branch still runs; under the lock of the order."""
        branch = self._branches.get(command.number)
        if branch is None:
            return False
        self._parts.post(command)
        branch.forked_again()
        return True

    def remove(self) -> None:
        """Take it off the workers, whose memory is free again; its branches are cancelled, and the stream goes on."""
        has_failed = self.error is not None
        self.is_removed = True
        removed = InvalidArgument(f"loop {self.name!r} was removed")
        self._parts.error = self.error or removed  # nobody forks any more
        self.close()
        with self.stream.order:
            self.stream.leave(self)
            self._parts.post(EndLoop(self.number, at_once=has_failed))
        with self.stream.pause():
            pass  # what was let in before its end is logged by now: another stream may go on with the log
        self._engine.notify()

    def withdraw(self) -> None:
        """Take what is there of it off the workers, where a part of it has failed and it cannot come to an end by itself."""
        self._parts.post(EndLoop(self.number, at_once=True))

    def close(self) -> None:
        """Cancel what still runs."""
        for branch in self.branches():
            branch.cancel()

    def branches(self) -> list[Branch]:
        """Those that run."""
        return list(self._branches.values())

    def branch(self, number: int) -> Branch | None:
        """A branch that runs."""
        return self._branches.get(number)

    def require_stored(self, what: str = "snapshots are stored", hint: str = "Fork without `at`") -> None:
        """Raise `NotSupported` where of its kind of programs nothing is stored."""
        if not self.kind.is_stored:
            raise NotSupported(
                f"loop {self.name!r} runs {type(self.program).__name__}, {self.kind.described}, of which no {what}",
                hint=f"{hint}; stored are loops of kinds that can be: {stored_kinds()}.",
            )

    # Private

    def _values(self, parts: Sequence[PartView]) -> Values:
        """The values that these parts hold, of all workers."""
        return Values(
            [part.held_values() for part in parts], rank=self.program.rank, worst=self.program.worst
        )

    def shares(self, batch: EdgeBatch) -> list[Share]:
        """What each worker gets of a batch."""
        return self.kind.shares(batch, self.partition, both_ways=self.stream.is_both_ways)

    def _forget(self, branch: Branch) -> None:
        self.adoption.consider(branch)
        self._branches.pop(branch.id, None)  # and is not forked again, though the journal may have it

    def _limit(self, branch: Branch) -> None:
        self._parts.post(Limit(branch.id, branch.snapshot.iteration))

    def _stop(self, branch: Branch) -> None:
        self._parts.post(Stop(branch.id))

    def _cancel(self, branch: Branch) -> None:
        self._parts.post(Cancel(branch.id))

    def _release(self, branch: Branch) -> None:
        for worker, part in branch.states():
            branch.hosts[worker].post(Release(self.number, part.reusable))  # no other has its columns
