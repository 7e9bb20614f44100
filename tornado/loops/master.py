"""The master: starts the workers and the loops on them, and hears what fails. It collects no progress: that is the frontier's."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from ..clock import SYSTEM_CLOCK, Clock
from ..config import USUAL_DELAY_BOUND, DelayBound
from ..engine import ClusterEngine, Engine
from ..errors import (
    CallerError,
    InvalidArgument,
    NameTaken,
    NotSupported,
    TornadoError,
    UnknownLoop,
    UnknownStream,
    WorkerLost,
)
from ..records.point_schema import Points
from ..storage import MemoryStore, VersionedStore
from . import graph_of_now, points_of_now
from .admission_order import AdmissionOrder
from .branch import Branch
from .checkpoint import store_checkpoint
from .declared_points import declare_points
from .directions import stays_undirected
from .engines import engine_of
from .host import LoopHost, WorkerHost
from .kind import kind_of_program
from .log_replay import go_on
from .main_loop import MainLoop
from .new_loop import NewLoop, not_refused
from .remote_host import RemoteHost
from .restoration import Restoration
from .stored_loop import StoredLoop
from .stored_snapshot import StoredSnapshot
from .stream import Checkpointed, RecordStream, ReverseListsGone
from .vertex_program import VertexProgram

_MOST_WORKERS = 64  # subscribers of a vertex are a bit set of 64


class Master:
    """Workers and the main loops that run on them. A context manager.

    Parameters
    ----------
    store
        Where snapshots are kept; None is in memory. Not the master's to close.
    workers
        1 to 64.
    engine
        The name of one (`engines.py`), or one that was made already (a `SimulationEngine`).
    spark_master
        Where Spark is, for the engine spark; None is this machine, or the Spark that runs in this process.
    clock
        By which everything is decided that is decided by time; an engine that was made already has its own.

    Attributes
    ----------
    loops
        The main loops by name.
    clock
        The engine's.
    """

    def __init__(
        self,
        store: VersionedStore | None = None,
        workers: int = 1,
        engine: str | Engine = "threads",
        spark_master: str | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if not 1 <= workers <= _MOST_WORKERS:
            raise InvalidArgument(f"workers is {workers} but must be from 1 to {_MOST_WORKERS}")
        if isinstance(engine, str):
            engine = engine_of(engine, workers, spark_master=spark_master, clock=clock)
        self.store: VersionedStore = MemoryStore() if store is None else store
        self.workers = workers
        self.engine = engine
        self.clock = engine.clock
        self.loops: dict[str, MainLoop] = {}
        self._order = AdmissionOrder(self.clock)
        self._naming = threading.Lock()
        self._starting: set[str] = set()  # names that are taken by loops which still load what is stored
        self._branch_numbers = itertools.count(1)
        self._loop_numbers = itertools.count()
        self._stream_numbers = itertools.count()
        self._running: dict[int, MainLoop] = {}  # by number, those with a stored snapshot too
        self._is_closed = False
        # By worker, what had failed there when it last raised an error: loops and branches, as `_look_for_failures` says them.
        self._blamed: list[set[tuple[int | None, int | None]]] = [set() for _ in range(workers)]
        self._hosts: Sequence[LoopHost]
        if isinstance(engine, ClusterEngine):
            self._hosts = [RemoteHost(index, engine) for index in range(workers)]
            engine.on_loss = self._note_loss
            engine.on_restart = self._restart
        else:
            assert engine.fabric is not None
            self._hosts = [WorkerHost(index, workers, engine.fabric) for index in range(workers)]
        engine.start(self._hosts, self._on_failure)

    def start(
        self,
        program: VertexProgram,
        name: str,
        delay_bound: DelayBound = USUAL_DELAY_BOUND,
        stream: str | None = None,
        *,
        is_undirected: bool = False,
        app: str | None = None,
        beside: Sequence[NewLoop] = (),
        new_stream: str | None = None,
        points: Points | None = None,
    ) -> MainLoop:
        """Start a main loop.

        Parameters
        ----------
        delay_bound
            B of the paper; None is unbounded, and `USUAL_DELAY_BOUND` leaves it to the program.
        stream
            What it reads beside other loops: it begins with the graph as it is, and catches up. None is a stream of its own,
            which has the loop's name; where the store has snapshots of that name it begins from the newest one, else from
            nothing.
        is_undirected
            Whether every record of a stream of its own comes with the same one the other way round, which
            `RecordStream.is_undirected` then says of all that was ever in it.
        app
            The name of the app by which it is started on a running stream, which its snapshots then have.
        beside
            Loops that begin with a stream of its own: each goes on from its fixed point too, where the snapshot has it.
        new_stream
            What a stream of its own is called in place of the loop's name.
        points
            What the points of a stream of its own are declared to be; None: as its program says.

        Raises
        ------
        NameTaken
            When a loop, or a stream that others read, has that name.
        UnknownStream
            When no loop reads a stream of that name.
        InvalidArgument
            When the program does not converge for this delay bound, it cannot take what the stream has already, or it cannot
            go on from what the store has.
        NotSupported
            For a program on a stream that others read where its kind, or theirs, reads a stream of its own.
        StoreCorrupt
            When what is stored cannot be read.
        WorkerLost
            When workers were lost before it could be asked.
        TornadoError, RuntimeError
            When its part could not be made on a worker, or failed in its first step.
        """
        wanted = NewLoop(program, name, delay_bound, app)
        with ExitStack() as reserved:
            reserved.enter_context(self._reserved(name))
            wanted.check()
            others: list[NewLoop] = []
            for other in beside:
                try:
                    reserved.enter_context(self._reserved(other.name))
                    other.check()
                except CallerError as error:
                    other.refuse(error)
                else:
                    others.append(other)
            if stream is None:
                own = self._new_stream(name if new_stream is None else new_stream, self.store)
                own.points = program.declared_points if points is None else points
                loops = self._start(wanted, others, own, is_undirected=is_undirected)
            else:
                loops = [self._start_beside(self._stream_named(stream), wanted)]
            self._enter(loops)
        return loops[0]

    def _enter(self, loops: Sequence[MainLoop]) -> None:
        """Let loops be fed and asked from now on, and be put on other workers where theirs are lost; or take all of them off.

        Raises
        ------
        WorkerLost
            When workers were lost since they were installed.
        TornadoError, RuntimeError
            When the first one has failed.
        """
        try:
            for host in self._hosts:
                self._look_for_failures(host)  # in their first steps, when nobody knew yet whose these were
            with self._naming:  # whoever puts loops on other workers finds them named, or comes before this and they are refused
                loops[0].raise_failure()
                _require_workers(loops, self.engine.losses)
                for loop in loops:
                    self.loops[loop.name] = loop
        except BaseException:
            for loop in reversed(loops):
                self._take_off(loop)
            raise

    @contextmanager
    def _reserved(self, name: str) -> Iterator[None]:
        """Hold a name for a loop that is being started, while the context lasts.

        Raises
        ------
        NameTaken
            When one has it.
        """
        with self._naming:
            if name in self.loops or name in self._starting:
                raise NameTaken(f"a loop named {name!r} runs already")
            self._starting.add(name)
        try:
            yield
        finally:
            with self._naming:
                self._starting.discard(name)

    def _start(
        self, first: NewLoop, others: Sequence[NewLoop], stream: RecordStream, *, is_undirected: bool
    ) -> list[MainLoop]:
        """Start loops on a stream of their own; the first one, and those of the others that were not refused."""
        kind_of_program(first.program)
        if any(other.name == stream.name for other in self._streams):
            raise NameTaken(
                f"loops read a stream named {stream.name!r} already",
                hint="Start this one on it, or give it another name.",
            )
        stream.is_undirected = stays_undirected(self.store, stream.name, wanted=is_undirected)
        stream.on_full_journal = stream.checkpoint
        stored = stream.stored.newest()
        declare_points(stream, stored)
        early = [other for other in others if stored is not None and _has_fixed_point(stored, other)]
        are_early = {other.name for other in early}
        if any(stream.lacks_reverse(loop.program) for loop in (first, *early)):
            stream.begin_reverse()
        try:
            loops = [self._installed_first(stream, first)]
            if stored is not None:
                loops[0].check_stored(stored)
                loops += not_refused(early, partial(self._installed_first, stream))
                refused = self._begin_with(stored, stream, loops)
                self._take_off_refused(refused, early)
                loops = [loop for loop in loops if loop not in refused]
            late = [other for other in others if other.name not in are_early]
            loops += not_refused(late, partial(self._start_beside, stream))
            go_on(stream)
        except BaseException:
            for loop in reversed(list(self._running.values())):
                if loop.stream is stream:
                    self._take_off(loop)
            raise
        return loops

    def _installed_first(self, stream: RecordStream, wanted: NewLoop) -> MainLoop:
        """Install a loop that begins with its stream, which has no edge yet that reverse lists would lack."""
        loop = self._installed(stream, wanted)
        try:
            if loop.hears_back and not stream.is_both_ways:
                stream.have_reverse(loop)
        except BaseException:
            self._take_off(loop)
            raise
        return loop

    def _take_off_refused(self, refused: Mapping[MainLoop, CallerError], wanted: Sequence[NewLoop]) -> None:
        """Remove loops that could not begin with what is stored, and tell those who wanted them."""
        for loop in refused:
            self._take_off(loop)
        refusals = {loop.name: refusal for loop, refusal in refused.items()}
        for other in wanted:
            if other.name in refusals:
                other.refuse(refusals[other.name])

    def _begin_with(
        self, stored: StoredSnapshot, stream: RecordStream, loops: Sequence[MainLoop]
    ) -> dict[MainLoop, CallerError]:
        """Let a stream and its loops, which have nothing yet, begin where a stored snapshot ended.

        A program that computes something else than what was stored takes the graph and computes its own values.

        Returns
        -------
        The loops that cannot, and why.

        Raises
        ------
        InvalidArgument
            When the first one cannot.
        """
        restoration = Restoration(stored, stream, loops, hosts=self._hosts, engine=self.engine)
        restored = restoration.load()
        if loops[0].number in restoration.refused:
            raise restoration.refused[loops[0].number]
        loops[0].raise_failure()
        for loop in loops:
            loop.restored = restored.get(loop.number)
        snapshot = stored.snapshot
        if restored[loops[0].number].is_converged:
            stream.checkpointed = Checkpointed(snapshot.version, frozenset(restored))
        stream.begin(snapshot.version, snapshot.offsets, has_edges=stored.has_edges)
        return {
            loop: restoration.refused[loop.number] for loop in loops if loop.number in restoration.refused
        }

    def _start_beside(self, stream: RecordStream, wanted: NewLoop) -> MainLoop:
        keeper = stream.keeper()
        kinds = [
            kind_of_program(wanted.program),
            *([] if keeper is None else [kind_of_program(keeper.program)]),
        ]
        alone = next((kind for kind in kinds if not kind.shares_streams), None)
        if alone is not None:
            raise NotSupported(
                f"{type(wanted.program).__name__} cannot be started on stream {stream.name!r}: {alone.described} reads a stream "
                "of its own",
                hint="Start it on a stream of its own: in a run of its own, not behind --and.",
            )
        begins_reverse = stream.beginning_reverse if wanted.program.both_ways else nullcontext()
        wanted = replace(wanted, program=wanted.program.reading(stream.points))
        with stream.expecting(wanted.program), begins_reverse:
            if graph_of_now.must_be_looked_at(wanted.program):
                graph_of_now.through_keeper(
                    stream, lambda keeper: graph_of_now.require_possible(keeper, wanted.program)
                )
            if wanted.program.refuses_points:
                points_of_now.require_possible(stream, wanted.program)
            while not stream.lacks_reverse(wanted.program):
                with suppress(ReverseListsGone):
                    return self._installed(stream, wanted)
            return graph_of_now.through_keeper(
                stream, lambda keeper: self._start_both_ways(stream, keeper, wanted)
            )

    def _start_both_ways(self, stream: RecordStream, keeper: MainLoop, wanted: NewLoop) -> MainLoop:
        """Start a loop whose vertices hear along both directions where the graph has lists of one."""
        losses = self.engine.await_workers()
        with (
            stream.checkpointing,  # of the new loop there is nothing to store before the lists have all edges
            stream.standing_still(lambda condition: keeper.await_parts(condition, losses)),
        ):
            stream.begin_reverse()
            loop = self._installed(stream, wanted)
            try:
                graph_of_now.fill_reverse(keeper, losses)
                stream.have_reverse(loop)
            except BaseException:
                self._take_off(loop)
                raise
        return loop

    def _installed(self, stream: RecordStream, wanted: NewLoop) -> MainLoop:
        """Make a loop and enter it among those that run; the workers have it once it is installed.

        Raises
        ------
        NameTaken
            When another stream has its name.
        """
        if any(other.name == wanted.name and other is not stream for other in self._streams):
            raise NameTaken(
                f"loops read a stream named {wanted.name!r} already", hint="Give it another name."
            )
        placed = self._placed(wanted.name, wanted.program, wanted.bound)
        loop = MainLoop(stream=stream, app=wanted.app, **placed)
        self._running[loop.number] = loop
        return loop

    def _take_off(self, loop: MainLoop) -> None:
        """Remove a loop that could not be started."""
        loop.remove()
        self._forget(loop.number)

    def remove(self, name: str) -> None:
        """Remove a loop: its branches are cancelled and its memory is free again. With the last loop its stream goes too.

        Raises
        ------
        UnknownLoop
            When there is none of that name.
        """
        loop = self.loops.pop(name, None)
        if loop is None:
            running = ", ".join(sorted(self.loops)) or "none"
            raise UnknownLoop(f"no loop is called {name!r}; running: {running}")
        self._forget(loop.number)
        loop.remove()

    def close(self) -> None:
        """Cancel every branch and end the workers."""
        if self._is_closed:
            return
        self._is_closed = True
        for stream in self._streams:
            stream.close()
        for loop in list(self._running.values()):
            loop.close()
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _on_failure(self, worker: int, error: BaseException) -> None:
        """Fail what an error in a worker's step concerns, or all loops where no workers are left.

        Where no operator is to blame, the worker is not to be relied on, so every loop fails.
        """
        failed, blamed = self._look_for_failures(self._hosts[worker]), self._blamed[worker]
        is_blamed = not failed <= blamed  # what failed earlier, and is still there, did not raise this
        self._blamed[worker] = failed
        if isinstance(error, WorkerLost) or not is_blamed:
            for loop in list(self._running.values()):
                loop.fail(error)

    def _note_loss(self) -> None:
        for stream in self._streams:
            stream.is_whole = False

    def _restart(self) -> None:
        """Put every loop, as it was, on the workers that have taken the place of lost ones.

        Raises
        ------
        WorkerLost
            When these are lost too.
        """
        lost = WorkerLost("the workers were lost while the loop was being loaded")
        with self._naming:
            unnamed = [loop for loop in list(self._running.values()) if self.loops.get(loop.name) is not loop]
        for loop in unnamed:
            loop.fail(lost)  # somebody waits for it, and can ask again
            self._forget(loop.number)
        with self._order:
            for host in self._hosts:
                assert isinstance(host, RemoteHost)
                host.forget_all()
            assert isinstance(self.engine, ClusterEngine)
            self.engine.open()
            refused: dict[MainLoop, Exception] = {}
            stale = [branch for stream in self._streams for branch in self._put_back(stream, refused)]
        # Only now: who is called back may wait for the order.
        for branch in stale:
            branch.fail(
                WorkerLost(f"branch {branch.id} began from a cut that is older than the newest snapshot")
            )
        for loop, refusal in refused.items():
            loop.fail(refusal)

    def _put_back(self, stream: RecordStream, refused: dict[MainLoop, Exception]) -> list[Branch]:
        """Put the loops of a stream on workers that have nothing, and have them go through its sequence again.

        Returns
        -------
        The branches that cannot be forked again: their cut is older than the newest snapshot.
        """
        losses = self.engine.losses
        stream.workers.begin_again()
        loops: list[MainLoop] = []
        for loop in list(self._running.values()):
            if loop.stream is stream and loop.error is None:
                try:
                    loop.install_again()
                    loops.append(loop)
                except WorkerLost:
                    raise
                except TornadoError as error:  # its program was edited meanwhile, say: the others go on
                    refused[loop] = error
                    loop.withdraw()
        stored = stream.stored.newest() if loops else None
        if stored is not None:
            version = stored.snapshot.version
            with stream.stored.reading(version):
                restoration = Restoration(stored, stream, loops, hosts=self._hosts, engine=self.engine)
                restoration.load()
            stream.forget_replayed(version)
            refused |= {
                loop: restoration.refused[loop.number] for loop in loops if loop.number in restoration.refused
            }
            loops = [loop for loop in loops if loop not in refused]
        if not loops:
            return []
        forked = set()
        for command in stream.replay():
            if any(loop.fork_again(command) for loop in loops):
                forked.add(command.number)
        stream.is_whole = self.engine.losses == losses
        self.engine.notify()
        return [branch for loop in loops for branch in loop.branches() if branch.id not in forked]

    def _look_for_failures(self, host: LoopHost) -> set[tuple[int | None, int | None]]:
        """Fail the loops and branches whose operators raised; return all that are there, as (loop, branch)."""
        running = list(self._running.values())
        failures = host.failures()
        for number, branch, failure in failures:
            failed = None if number is None else self._running.get(number)
            if failed is not None and failed.error is None:
                failed.fail(failure)
            for loop in running:
                forked = loop.branch(branch) if branch is not None else None
                if forked is not None:
                    forked.fail(failure)
        return {(number, branch) for number, branch, _ in failures}

    def _placed(self, name: str, program: VertexProgram, delay_bound: int | None) -> dict[str, Any]:
        """What every loop here is made with."""
        return {
            "number": next(self._loop_numbers),
            "name": name,
            "program": program,
            "delay_bound": delay_bound,
            "hosts": self._hosts,
            "engine": self.engine,
            "next_branch": lambda: next(self._branch_numbers),
            "fork_stored": self._fork_stored,
        }

    def _new_stream(self, name: str, store: VersionedStore) -> RecordStream:
        return RecordStream(
            number=next(self._stream_numbers),
            name=name,
            hosts=self._hosts,
            engine=self.engine,
            order=self._order,
            store=store,
            store_checkpoint=store_checkpoint,
        )

    def _stream_named(self, name: str) -> RecordStream:
        for loop in list(self.loops.values()):
            if loop.stream.name == name:
                return loop.stream
        known = ", ".join(sorted({loop.stream.name for loop in self.loops.values()})) or "none"
        raise UnknownStream(f"no stream is called {name!r}; streams: {known}")

    @property
    def _streams(self) -> list[RecordStream]:
        """Those that are read."""
        return list({loop.stream.number: loop.stream for loop in list(self._running.values())}.values())

    def _forget(self, number: int) -> None:
        self._running.pop(number, None)

    def _fork_stored(
        self, loop: MainLoop, program: VertexProgram, stored: StoredSnapshot, max_iterations: int | None
    ) -> Branch:
        """Load a stored snapshot of a loop beside it, and fork from that."""
        stream = self._new_stream(loop.name, MemoryStore())
        stream.is_undirected = loop.stream.is_undirected
        stream.points = stored.points
        if stream.lacks_reverse(program):
            stream.begin_reverse()
        loaded = StoredLoop(
            on_end=self._forget,
            stream=stream,
            **self._placed(loop.name, program, loop.delay_bound),
        )
        self._running[loaded.number] = loaded
        if loaded.hears_back:
            stream.have_reverse(loaded)
        return loaded.fork_stored(stored, max_iterations)


def _require_workers(loops: Sequence[MainLoop], losses: int) -> None:
    """Refuse loops that were put on workers which are lost.

    Raises
    ------
    WorkerLost
        With the name of the first one.
    """
    if any(loop.losses != losses for loop in loops):
        raise WorkerLost(f"the workers were lost while loop {loops[0].name} was started")


def _has_fixed_point(stored: StoredSnapshot, wanted: NewLoop) -> bool:
    """Whether a stored snapshot has what a loop would compute on its graph."""
    kind = kind_of_program(wanted.program)
    return kind.is_stored and stored.fixed_point(kind.identity(wanted.program), wanted.name) is not None
