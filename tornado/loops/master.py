"""The master: starts the workers and the loops on them, and hears what fails. It collects no progress: that is the frontier's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from ..clock import SYSTEM_CLOCK, Clock
from ..config import AUTO_DELAY_BOUND, DelayBound, VertexPlacement
from ..engine import ClusterEngine, Engine
from ..errors import CallerError, NameTaken, UnknownLoop, UnknownStream, WorkerLost
from ..graph import PartitionMap, PlacedVertices
from ..records.point_schema import Points
from ..records.window_width import WindowWidth
from ..storage import MemoryStore, VersionedStore
from . import graph_of_now, points_of_now
from .admission_order import AdmissionOrder
from .balance import balanced, loads_of
from .branch import Branch
from .checkpoint import store_checkpoint
from .checkpointed import Checkpointed
from .declared_points import declare_points
from .directions import ReverseListsGone, stays_undirected
from .engines import engine_of
from .failures import fail_what_raised
from .host import WorkerHost
from .kind import kind_of_program
from .log_replay import go_on
from .loop_names import LoopNames
from .main_loop import MainLoop
from .new_loop import NewLoop, not_refused, require_shared
from .new_window import window_of
from .put_back import on_present_workers, put_back, require_same_workers
from .remote_host import RemoteHost
from .rescaling import Rescaled, check_workers, ready_to_move
from .restoration import Restoration
from .stored_loop import StoredLoop
from .stored_placement import begin_placed
from .stored_snapshot import StoredSnapshot
from .stream import RecordStream
from .vertex_program import VertexProgram


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
    placement
        Of vertices: by the `hash` of ids, in `blocks`, `auto`, in blocks where the first edges join ids that are near, or as given.

    Attributes
    ----------
    loops
        The main loops by name.
    clock
        That of the engine.
    before_move
        Called before the workers are ended for others: what they have is copied.
    """

    def __init__(
        self,
        store: VersionedStore | None = None,
        workers: int = 1,
        engine: str | Engine = "threads",
        spark_master: str | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
        placement: VertexPlacement | PlacedVertices = "auto",
    ) -> None:
        check_workers(workers)
        if isinstance(engine, str):
            engine = engine_of(engine, workers, spark_master=spark_master, clock=clock)
        self.store: VersionedStore = MemoryStore() if store is None else store
        self.engine = engine
        self.clock = engine.clock
        self.loops: dict[str, MainLoop] = {}
        self._order = AdmissionOrder(self.clock)
        self._names = LoopNames(self.loops)
        self._branch_numbers = itertools.count(1)
        self._loop_numbers, self._stream_numbers = itertools.count(), itertools.count()
        self._running: dict[int, MainLoop] = {}  # by number, those with a stored snapshot too
        self._is_closed = False
        # By worker, what had failed there when it last raised an error, as `fail_what_raised` says it.
        self._blamed: list[set[tuple[int | None, int | None]]] = []
        self._partition = self._planned = PartitionMap.by(placement, workers)
        self.before_move: Callable[[], object] = lambda: None
        self._hosts: list[WorkerHost | RemoteHost] = []
        engine.on_loss, engine.on_restart = self._note_loss, self._restart
        self._take_workers()
        if isinstance(engine, ClusterEngine):
            engine.start(self._hosts, self._on_failure)

    def start(
        self,
        program: VertexProgram,
        name: str,
        delay_bound: DelayBound = AUTO_DELAY_BOUND,
        stream: str | None = None,
        *,
        is_undirected: bool = False,
        app: str | None = None,
        beside: Sequence[NewLoop] = (),
        new_stream: str | None = None,
        points: Points | None = None,
        window: WindowWidth | None = None,
    ) -> MainLoop:
        """Start a main loop.

        Parameters
        ----------
        delay_bound
            B of the paper; None is unbounded, and `AUTO_DELAY_BOUND` leaves it to the program.
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
        window
            How wide the window of a stream of its own is; None: edges stay until they are removed.

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
            When workers were lost before it could be asked, and those that took their place too.
        TornadoError, RuntimeError
            When its part could not be made on a worker, or failed in its first step.
        """
        wanted = NewLoop(program, name, delay_bound, app)
        with ExitStack() as reserved:
            reserved.enter_context(self._names.reserved(name))
            wanted.check()
            others: list[NewLoop] = []
            for other in beside:
                try:
                    reserved.enter_context(self._names.reserved(other.name))
                    other.check()
                except CallerError as error:
                    other.refuse(error)
                else:
                    others.append(other)

            def start() -> MainLoop:
                if stream is not None:
                    return self._enter([self._start_beside(self._stream_named(stream), wanted)])
                own = self._new_stream(name if new_stream is None else new_stream, self.store)
                own.points = program.declared_points if points is None else points
                return self._enter(
                    self._start(wanted, others, own, is_undirected=is_undirected, width=window)
                )

            return on_present_workers(start)

    def _enter(self, loops: Sequence[MainLoop]) -> MainLoop:
        """Let loops be fed and asked from now on, and be put on other workers where theirs are lost; or take all off. Returns the first.

        Raises
        ------
        WorkerLost
            When workers were lost since they were installed.
        TornadoError, RuntimeError
            When the first one has failed.
        """
        try:
            for host in self._hosts:  # in their first steps, when nobody knew yet whose these were
                fail_what_raised(host, self._running)
            with self._names.lock:  # whoever puts loops on other workers finds them named, or comes before this and they are refused
                loops[0].raise_failure()
                require_same_workers(loops, self.engine.losses)
                self.loops.update({loop.name: loop for loop in loops})
                return loops[0]
        except BaseException:
            for loop in reversed(loops):
                self._take_off(loop)
            raise

    def _start(
        self,
        first: NewLoop,
        others: Sequence[NewLoop],
        stream: RecordStream,
        *,
        is_undirected: bool,
        width: WindowWidth | None,
    ) -> list[MainLoop]:
        """Start loops on a stream of their own; the first one, and those of the others that were not refused."""
        if any(other.name == stream.name for other in self._streams):
            raise NameTaken(
                f"loops read a stream named {stream.name!r} already",
                hint="Start this one on it, or give it another name.",
            )
        begin_placed(stream, self.store, is_shared=kind_of_program(first.program).shares_streams)
        stream.is_undirected = stays_undirected(self.store, stream.name, wanted=is_undirected)
        stream.on_full_journal = stream.checkpoint
        stored = stream.stored.newest()
        declare_points(stream, stored)
        window = window_of(stream, width, self.store, self.clock, is_undirected=is_undirected)
        early = [other for other in others if stored is not None and other.is_in(stored)]
        late = [other for other in others if stored is None or not other.is_in(stored)]
        if any(stream.lacks_reverse(loop.program) for loop in (first, *early)):
            stream.begin_reverse()
        try:
            if stored is not None and kind_of_program(first.program).shares_streams:
                stream.workers.expect(stored.edge_count)
            loops = [self._installed_first(stream, first)]
            if stored is not None:
                loops[0].check_stored(stored)
                loops += not_refused(early, partial(self._installed_first, stream))
                refused = self._begin_with(stored, stream, loops)
                self._take_off_refused(refused, early)
                loops = [loop for loop in loops if loop not in refused]
            is_shown = stream.had_edges  # of the snapshot; who begins late is shown what is left of them
            if is_shown:
                go_on(stream)
            loops += not_refused(late, partial(self._start_beside, stream))
            if not is_shown:
                go_on(stream)
            if window is not None:
                stream.keep_window(window)
        except BaseException:
            stream.workers.expect(0)
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
        require_shared(stream, wanted)
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

    @property
    def workers(self) -> int:
        """How many workers there are; all streams share them."""
        return self._partition.workers

    def rescale(self, stream: str, workers: int) -> Rescaled:
        """Put the loops of a stream on so many workers, and with them those of all other streams; see `rescaling`.

        Blocks until they go on. Branches that run are forked again, of the same cut, or fail with `WorkerLost` where a
        question's branch is forked anew. Where there are as many workers, nothing is done.

        Raises
        ------
        InvalidArgument
            When it is not from 1 to 64, or there is no room for so many.
        UnknownStream
            When no loop reads a stream of that name.
        Busy
            When a loop is being started, or they are being put on other workers already.
        NotSupported
            When nothing is stored of a loop, and nobody has all that came in.
        WorkerLost
            When so many did not come; the loops go on on as many as before.
        """
        check_workers(workers)
        named = self._stream_named(stream)
        with self._names.moving():
            before, streams = self.workers, self._streams
            if workers == before:
                return Rescaled(stream, (), before, workers, named.counts()[0], 0.0)
            pause_s = self._move(self._partition.on(PartitionMap.even(workers)), streams)
            names = tuple(sorted(one.name for one in streams))
            return Rescaled(stream, names, before, workers, named.counts()[0], pause_s)

    def loads(self) -> list[int]:
        """What each worker has done since it began: records applied, of all streams, and updates committed, of all loops."""
        return loads_of(self._streams, list(self.loops.values()), self.workers)

    def rebalance(self, loads: Sequence[float]) -> float:
        """Move buckets of vertices by the load of each worker; see `balance`. Raises as `rescale` does.

        Returns
        -------
        For how many seconds the loops stood still; 0 where nothing was to be moved.
        """
        with self._names.moving():
            partition = balanced(self._partition, loads, [one.workers.partition for one in self._streams])
            return 0.0 if partition is self._partition else self._move(partition, self._streams)

    def _move(self, partition: PartitionMap, streams: Sequence[RecordStream]) -> float:
        """Put all loops on other workers, by another map; return for how many seconds they stood still."""
        before = self._partition
        with ready_to_move(streams, partition.workers):
            self.before_move()
            begun_s = self.clock.monotonic()
            self._planned = partition
            try:
                self.engine.replace(partition.workers)
            except BaseException:
                self._planned = before
                raise
            return self.clock.monotonic() - begun_s

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
        failed, blamed = fail_what_raised(self._hosts[worker], self._running), self._blamed[worker]
        is_blamed = not failed <= blamed  # what failed earlier, and is still there, did not raise this
        self._blamed[worker] = failed
        if isinstance(error, WorkerLost) or not is_blamed:
            for loop in list(self._running.values()):
                loop.fail(error)

    def _note_loss(self) -> None:
        for stream in self._streams:
            stream.is_whole = False

    def _restart(self) -> None:
        """Put every loop, as it was, on the workers that have taken the place of others.

        Raises
        ------
        WorkerLost
            When these are lost too.
        """
        lost = WorkerLost("the workers were lost while the loop was being loaded")
        streams = self._streams
        with self._names.lock:
            unnamed = [loop for loop in list(self._running.values()) if self.loops.get(loop.name) is not loop]
        for loop in unnamed:
            loop.fail(lost)  # somebody waits for it, and can ask again
            self._forget(loop.number)
        with self._order:
            self._take_workers()
            if isinstance(self.engine, ClusterEngine):
                self.engine.open()
            refused: dict[MainLoop, Exception] = {}
            stale: list[Branch] = []
            for stream in streams:
                running = [loop for loop in list(self._running.values()) if loop.stream is stream]
                stale += put_back(
                    stream, running, self._partition, refused, hosts=self._hosts, engine=self.engine
                )
        # Only now: who is called back may wait for the order.
        for branch in stale:
            branch.fail(
                WorkerLost(f"branch {branch.id} began from a cut that is older than the newest snapshot")
            )
        for loop, refusal in refused.items():
            loop.fail(refusal)

    def _take_workers(self) -> None:
        """Have the workers that the engine has begun to run, or is to run, by the map that is planned for so many; under the order."""
        engine = self.engine
        if self._planned.workers == engine.workers:
            self._partition = self._planned
        elif self._partition.workers != engine.workers:
            self._partition = self._partition.on(PartitionMap.even(engine.workers))
        # In place: streams, loops and a cluster's engine have the same list.
        self._blamed = [set() for _ in range(engine.workers)]
        if isinstance(engine, ClusterEngine):
            self._hosts[:] = [RemoteHost(index, engine) for index in range(engine.workers)]
        else:
            assert engine.fabric is not None
            self._hosts[:] = [
                WorkerHost(index, engine.workers, engine.fabric) for index in range(engine.workers)
            ]
            engine.start(self._hosts, self._on_failure)

    def _placed(self, name: str, program: VertexProgram, delay_bound: DelayBound) -> dict[str, Any]:
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
            partition=self._partition,
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
        self,
        loop: MainLoop,
        program: VertexProgram,
        stored: StoredSnapshot,
        max_iterations: int | None,
        reads_ways: bool,  # noqa: FBT001  handed on
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
            **self._placed(loop.name, program, loop.chosen_bound),
        )
        self._running[loaded.number] = loaded
        if loaded.hears_back:
            stream.have_reverse(loaded)
        return loaded.fork_stored(stored, max_iterations, reads_ways=reads_ways)
