"""The master: starts the workers and the loops on them, and hears what fails. It collects no progress: that is the frontier's."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from ..engine import ClusterEngine, Engine
from ..errors import (
    CallerError,
    InvalidArgument,
    NameTaken,
    NotSupported,
    UnknownLoop,
    UnknownStream,
    WorkerLost,
)
from ..storage import MemoryStore, VersionedStore
from .admission_order import AdmissionOrder
from .branch import Branch
from .directions import stays_undirected
from .engines import engine_of
from .general_loop import GeneralLoop
from .general_program import GeneralProgram
from .host import LoopHost, WorkerHost
from .main_loop import MainLoop
from .program import SelectiveProgram, VertexProgram
from .remote_host import RemoteHost
from .stored_loop import StoredLoop
from .stored_snapshot import StoredSnapshot
from .stream import Stream

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

    Attributes
    ----------
    loops
        The main loops by name.
    """

    def __init__(
        self,
        store: VersionedStore | None = None,
        workers: int = 1,
        engine: str | Engine = "threads",
        spark_master: str | None = None,
    ) -> None:
        if not 1 <= workers <= _MOST_WORKERS:
            raise InvalidArgument(f"workers is {workers} but must be from 1 to {_MOST_WORKERS}")
        if isinstance(engine, str):
            engine = engine_of(engine, workers, spark_master=spark_master)
        self.store: VersionedStore = MemoryStore() if store is None else store
        self.workers = workers
        self.engine = engine
        self.loops: dict[str, MainLoop] = {}
        self._order = AdmissionOrder()
        self._naming = threading.Lock()
        self._starting: set[str] = set()  # names that are taken by loops which still load what is stored
        self._branch_numbers = itertools.count(1)
        self._loop_numbers = itertools.count()
        self._stream_numbers = itertools.count()
        self._running: dict[int, MainLoop] = {}  # by number, those with a stored snapshot too
        self._is_closed = False
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
        delay_bound: int | None = 64,
        stream: str | None = None,
        *,
        is_undirected: bool = False,
    ) -> MainLoop:
        """Start a main loop.

        Parameters
        ----------
        stream
            What it reads beside other loops: it begins with the graph as it is, and catches up. None is a stream of its own,
            which has the loop's name; where the store has snapshots of that name it begins from the newest one, else from
            nothing.
        is_undirected
            Whether every record of a stream of its own comes with the same one the other way round, which `Stream.is_undirected`
            then says of all that was ever in it.

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
            For a general program on a stream that others read.
        StoreCorrupt
            When what is stored cannot be read.
        """
        with self._naming:
            if name in self.loops or name in self._starting:
                raise NameTaken(f"a loop named {name!r} runs already")
            self._starting.add(name)
        try:
            program.check_delay_bound(delay_bound)
            program.check_parameters()
            if stream is None:
                loop = self._start(program, name, delay_bound, is_undirected=is_undirected)
            else:
                loop = self._start_beside(self._stream_named(stream), program, name, delay_bound)
            self.loops[name] = loop  # from now on it can be fed and asked
        finally:
            with self._naming:
                self._starting.discard(name)
        for host in self._hosts:
            self._look_for_failures(host)  # of its very first step
        return loop

    def _start(
        self, program: VertexProgram, name: str, delay_bound: int | None, *, is_undirected: bool
    ) -> MainLoop:
        if isinstance(program, GeneralProgram):
            kind: type[MainLoop] = GeneralLoop
        elif isinstance(program, SelectiveProgram):
            kind = MainLoop
        else:
            raise NotSupported(
                f"{type(program).__name__} is neither a SelectiveProgram nor a GeneralProgram",
                hint="Derive it from one of them.",
            )
        if any(stream.name == name for stream in self._streams):
            raise NameTaken(
                f"loops read a stream named {name!r} already",
                hint="Start this one on it, or give it another name.",
            )
        stream = self._new_stream(name, self.store)
        stream.is_undirected = stays_undirected(self.store, name, wanted=is_undirected)
        if stream.lacks_reverse(program):
            stream.begin_reverse()
            stream.have_reverse()
        loop = kind(stream=stream, **self._placed(name, program, delay_bound))
        stream.on_full_journal = loop.checkpoint
        self._running[loop.number] = loop
        try:
            loop.restore()
        except BaseException:
            loop.remove()
            self._forget(loop.number)
            raise
        return loop

    def _start_beside(
        self, stream: Stream, program: VertexProgram, name: str, delay_bound: int | None
    ) -> MainLoop:
        keeper = stream.keeper()
        if not isinstance(program, SelectiveProgram) or isinstance(keeper, GeneralLoop):
            raise NotSupported(
                f"{type(program).__name__} cannot be started on stream {stream.name!r}: general programs read streams of their own",
                hint="Start it without a stream.",
            )
        if not isinstance(keeper, MainLoop):
            raise InvalidArgument(
                f"the loops on stream {stream.name!r} have failed", hint="Start a stream again."
            )
        if any(other.name == name and other is not stream for other in self._streams):
            raise NameTaken(f"loops read a stream named {name!r} already")
        with stream.expecting(program):
            keeper.require_possible(program)
            with stream.beginning_reverse:
                if stream.lacks_reverse(program):
                    return self._start_both_ways(stream, keeper, program, name, delay_bound)
            loop = MainLoop(stream=stream, **self._placed(name, program, delay_bound))
        self._running[loop.number] = loop
        return loop

    def _start_both_ways(
        self, stream: Stream, keeper: MainLoop, program: VertexProgram, name: str, delay_bound: int | None
    ) -> MainLoop:
        """Start a loop whose vertices hear along both directions where the graph has lists of one."""
        losses = self.engine.await_workers()
        placed = self._placed(name, program, delay_bound)
        with stream.standing_still(lambda condition: keeper.await_parts(condition, losses)):
            stream.begin_reverse()
            loop = MainLoop(stream=stream, **placed)
            self._running[loop.number] = loop
            try:
                keeper.fill_reverse(losses)
                loop.raise_failure()  # as where workers were lost meanwhile
                stream.have_reverse()
            except BaseException:
                loop.remove()
                self._forget(loop.number)
                raise
        return loop

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
        """A worker's step raised, or there are none any more.

        Where no operator is to blame, the worker is not to be relied on, so every loop fails.
        """
        if isinstance(error, WorkerLost) or not self._look_for_failures(self._hosts[worker]):
            for loop in list(self._running.values()):
                loop.fail(error)

    def _note_loss(self) -> None:
        for stream in self._streams:
            stream.is_whole = False

    def _restart(self) -> None:
        """Other workers have taken the place of those that were lost: put every loop there, as it was.

        Raises
        ------
        WorkerLost
            When these are lost too.
        """
        lost = WorkerLost("the workers were lost while the loop was being loaded")
        for loop in list(self._running.values()):
            if loop.name not in self.loops or self.loops[loop.name] is not loop:
                loop.fail(lost)  # somebody waits for it, and can ask again
                self._forget(loop.number)
        with self._order:
            for host in self._hosts:
                assert isinstance(host, RemoteHost)
                host.forget_all()
            assert isinstance(self.engine, ClusterEngine)
            self.engine.open()
            refused: dict[MainLoop, CallerError] = {}
            stale = [branch for stream in self._streams for branch in self._put_back(stream, refused)]
        # Only now: who is called back may wait for the order.
        for branch in stale:
            branch.fail(
                WorkerLost(f"branch {branch.id} began from a cut that is older than the newest snapshot")
            )
        for loop, refusal in refused.items():
            loop.fail(refusal)

    def _put_back(self, stream: Stream, refused: dict[MainLoop, CallerError]) -> list[Branch]:
        """Put the loops of a stream on workers that have nothing, and have them go through its sequence again.

        Returns
        -------
        The branches that cannot be forked again: their cut is older than the newest snapshot.
        """
        losses = self.engine.losses
        stream.begin_again()
        loops: list[MainLoop] = []
        for loop in list(self._running.values()):
            if loop.stream is stream and loop.error is None:
                try:
                    loop.install_again()
                    if not loops:
                        loop.load_again()
                    loops.append(loop)
                except CallerError as error:  # its program was edited meanwhile, say: the others go on
                    refused[loop] = error
                    loop.withdraw()
        if not loops:
            return []
        forked = set()
        for command in stream.replay():
            if any(loop.fork_again(command) for loop in loops):
                forked.add(command.number)
        stream.is_whole = self.engine.losses == losses
        self.engine.notify()
        return [branch for loop in loops for branch in loop.branches() if branch.id not in forked]

    def _look_for_failures(self, host: LoopHost) -> bool:
        """Where an operator raised, fail the loop or the branch that it belongs to; whether there was any."""
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
        return bool(failures)

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

    def _new_stream(self, name: str, store: VersionedStore) -> Stream:
        return Stream(
            number=next(self._stream_numbers),
            name=name,
            hosts=self._hosts,
            engine=self.engine,
            order=self._order,
            store=store,
        )

    def _stream_named(self, name: str) -> Stream:
        for loop in list(self.loops.values()):
            if loop.stream.name == name:
                return loop.stream
        known = ", ".join(sorted({loop.stream.name for loop in self.loops.values()})) or "none"
        raise UnknownStream(f"no stream is called {name!r}; streams: {known}")

    @property
    def _streams(self) -> list[Stream]:
        """Those that are read."""
        return list({loop.stream.number: loop.stream for loop in list(self._running.values())}.values())

    def _forget(self, number: int) -> None:
        self._running.pop(number, None)

    def _fork_stored(
        self, loop: MainLoop, program: SelectiveProgram, stored: StoredSnapshot, max_iterations: int | None
    ) -> Branch:
        """Load a stored snapshot of a loop beside it, and fork from that."""
        stream = self._new_stream(loop.name, MemoryStore())
        stream.is_undirected = loop.stream.is_undirected
        if stream.lacks_reverse(program):
            stream.begin_reverse()
            stream.have_reverse()
        loaded = StoredLoop(
            on_end=self._forget,
            stream=stream,
            **self._placed(loop.name, program, loop.delay_bound),
        )
        self._running[loaded.number] = loaded
        return loaded.fork_stored(stored, max_iterations)
