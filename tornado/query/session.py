"""A session: the store, the master, the query service and, where wanted, the HTTP server of one Python program.

    import tornado
    from apps.sssp import ShortestPaths

    with tornado.open("memory:", workers=2) as session:
        paths = session.start(ShortestPaths(source=1))
        paths.insert([1, 2], [2, 3], [1.0, 2.0])
        answer = paths.query(vertices=[3])
        answer.values, answer.snapshot, answer.certificate

Everything that was opened is closed in the opposite order when the `with` block ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Self

from ..config import (
    AUTO_DELAY_BOUND,
    DEFAULT_HTTP_HOST,
    DelayBound,
    Settings,
    VertexPlacement,
    Workers,
    worker_counts,
)
from ..errors import CallerError, ConnectionLost, InvalidArgument, NameTaken, UnknownLoop
from ..ingest.quarantine import Quarantine
from ..intake.checkpoints import Checkpoints, check_kept, checked_period
from ..intake.older_log import take_over
from ..intake.push import Pusher
from ..records.point_schema import Points
from ..records.window_width import WindowWidth
from ..storage.versioned_store import VersionedStore
from .handles import LoopHandle
from .ids import IdCodec, IntIds, StringIds
from .naming import checked_loop_name, loop_name
from .parameters import program_with, with_interned_vertices
from .programs import load_program
from .request import ServiceLimits
from .served_stream import ServedStream
from .service import QueryService
from .started_loops import StartedLoop, StartedLoops
from .stream_handle import StreamHandle
from .vertex_placement import placement_of

if TYPE_CHECKING:
    from ..loop_views import MainLoopView
    from ..loops.new_loop import NewLoop
    from ..loops.rescaling import Rescaled
    from .http import HttpServer
    from .server_certificate import ServerCertificate
    from .token_file import TokenFile


class Session:
    """Loops of one master, to feed and ask. A context manager; made by `tornado.open`.

    Parameters
    ----------
    master : Master
        Closed with the session.
    limits : ServiceLimits, optional
    pusher : Pusher, optional
        What the intakes of its streams share.
    store : VersionedStore, optional
        Closed with the session, after the master.

    Attributes
    ----------
    service : QueryService
        What answers the queries; for servers and tools.
    """

    def __init__(
        self,
        master: Any,
        *,
        limits: ServiceLimits | None = None,
        pusher: Pusher | None = None,
        store: VersionedStore | None = None,
    ) -> None:
        self.master = master
        self.service = QueryService(master, limits=limits, pusher=pusher)
        master.before_move = self.service.keep_answers
        self._started = StartedLoops(master.store)
        self._membership = Lock()  # what is stored of started loops says which of them run
        self._beginnings: dict[str, Lock] = {}  # by stream, of those that handles were given of
        self._closing = ExitStack()
        if store is not None:
            self._closing.callback(store.close)
        self._closing.callback(self._end_checkpoints)  # may write until their branches end
        self._closing.callback(master.close)
        self._closing.callback(self.service.close)
        self._closing.callback(self._stop_checkpoints)

    def start(
        self,
        program: Any,
        name: str | None = None,
        delay_bound: DelayBound = AUTO_DELAY_BOUND,
        *,
        ids: Literal["int", "string"] | IdCodec = "int",
        checkpoint_every_s: float | None = None,
        keep_snapshots: int | None = None,
        on_checkpoint_failure: Callable[[Exception], None] | None = None,
        stream: str | None = None,
        undirected: bool = False,
        check_times: bool = False,
        app: str | None = None,
        beside: Sequence[NewLoop] = (),
        new_stream: str | None = None,
        schema: Points | None = None,
        window: str | int | WindowWidth | None = None,
    ) -> LoopHandle:
        """Start a main loop: on a stream of its own, or beside others on theirs.

        A stream of its own has the loop's name or another, and begins from the newest snapshot that the store has of it, with
        what was pushed after that. A program of other parameters, or one that was edited, takes the graph of the snapshot and computes
        its own values. Loops that were started on the stream by the name of an app, and not removed, are there again; of one
        that cannot be started a warning is logged.

        Parameters
        ----------
        program : VertexProgram
            What it computes; where ids are strings, it names vertices by these.
        name : str, optional
            What it is called; left out, the class of the program in small letters with underscores.
        delay_bound : int or None
            B of the paper: 1 is synchronous, None is unbounded. Left out, 64, or 1 for a program that counts rounds.
        ids : {"int", "string"} or IdCodec
            What vertex ids are in calls and results.
        checkpoint_every_s : float, optional
            Store a snapshot every so many seconds, while the loop goes on; left out, only `checkpoint` does.
        keep_snapshots : int, optional
            How many snapshots are left in the store when a new one is there, and those that queries name. Left out, all; with
            `checkpoint_every_s` at most 3, and fewer where older ones take much room.
        on_checkpoint_failure : callable, optional
            Told of what made a periodic checkpoint fail (a full disk); left out, it is logged.
        stream : str, optional
            The stream that it reads beside other loops: it takes over the graph as it is, and catches up. Ids and
            checkpoints are then those of the stream.
        undirected : bool
            Whether each record of a stream of its own is an edge in both directions, wherever it comes from.
        check_times : bool
            Whether what is pushed over HTTP to a stream of its own is quarantined where its `time` is neither seconds since 1970
            nor ISO 8601; otherwise a time is not looked at.
        app : str, optional
            The name of the app that the program is, for a loop on a stream that runs: whenever the stream is started again on
            this store, so is the loop, until it is removed.
        beside : sequence of NewLoop, optional
            Loops that begin with a stream of its own, each from its own values in the snapshot.
        new_stream : str, optional
            What a stream of its own is called; left out, as the loop is.
        schema : Points, optional
            What the points of a stream of its own are; left out, as the program says, and without it has none.
        window : str or int, optional
            After what time (`"1h"`), or behind how many later insertions (1000000), edges leave a stream of its own by themselves;
            left out, they stay until they are removed. By the times that records have, if the first ones have any, else
            by when they came. A restart may name another width, in the same kind of unit.

        Raises
        ------
        NameTaken
            When a loop, or a stream that others read, has that name.
        UnknownStream
            When no loop reads a stream of that name.
        InvalidArgument
            When the program does not converge for this delay bound or cannot go on from what is stored, it cannot take an edge
            that the stream has, or checkpoints are asked for and the store is gone with the process.
        NotSupported
            When checkpoints are asked for of a program of a kind of which no snapshots are stored.
        """
        self.service.lifetime.require()
        if ids not in {"int", "string"} and isinstance(ids, str):
            raise InvalidArgument(f"ids is {ids!r} but must be 'int' or 'string'")
        name = checked_loop_name(loop_name(type(program).__name__) if name is None else name)
        if name in self.master.loops:
            raise NameTaken(f"a loop named {name!r} runs already")
        if stream is not None:
            return self._start_beside(stream, program, name, delay_bound, app)
        if app is not None:
            raise InvalidArgument(
                f"app is {app!r}, but a loop on a stream of its own is started by whoever starts the stream",
                hint="Leave it out, or name the stream.",
            )
        stream = checked_loop_name(name if new_stream is None else new_stream)
        if any(loop.stream_name == stream for loop in self.master.loops.values()):
            raise NameTaken(
                f"loops read a stream named {stream!r} already",
                hint="Start this one on it, or give it another name.",
            )
        if stream in self.master.loops:
            raise NameTaken(
                f"a loop named {stream!r} runs already, on another stream", hint="Take another name."
            )
        if checkpoint_every_s is not None:
            from ..loops.kind import kind_of_program

            store, kind = self.master.store, kind_of_program(program)
            checkpoint_every_s = checked_period(
                checkpoint_every_s,
                is_durable=store.durable,
                is_stored=kind.is_stored,
                described=kind.described,
                loop=stream,
                store=store.url,
            )
        check_kept(keep_snapshots)
        width = None if window is None else WindowWidth.of(window)
        reads_times = check_times or (width is not None and not width.counts_records)
        served = self._served(stream, ids, undirected=undirected, check_times=reads_times)
        self.service.add_stream(served)  # before its loops can be asked or fed
        try:
            program = _with_numbers(program, served.codec)
            loop = self.master.start(
                program,
                name=name,
                delay_bound=delay_bound,
                new_stream=stream,
                is_undirected=undirected,
                beside=self._beside(served, name, beside),
                points=schema,
                window=width,
            )
        except BaseException:
            self.service.end_stream(served)
            raise
        served.intake.begin(loop.stream)
        take_over(self.master.store, stream, loop.stream)
        versions_in_use = partial(self.service.versions_in_use, stream)
        served.checkpoints = Checkpoints(
            served.intake,
            version=loop.stream.counts()[0] or None,
            keep=keep_snapshots,
            in_use=versions_in_use,
            on_failure=on_checkpoint_failure,
            clock=self.service.clock,
        )
        loop.stream.on_full_journal, loop.stream.versions_in_use = served.checkpoints.take, versions_in_use
        if checkpoint_every_s is not None:
            served.checkpoints.start(checkpoint_every_s)
        return LoopHandle(self.service, loop)

    def stream(
        self,
        name: str,
        *,
        ids: Literal["int", "string"] | IdCodec = "int",
        undirected: bool = False,
        check_times: bool = False,
        checkpoint_every_s: float | None = None,
        keep_snapshots: int | None = None,
        on_checkpoint_failure: Callable[[Exception], None] | None = None,
        schema: Points | None = None,
        window: str | int | WindowWidth | None = None,
    ) -> StreamHandle:
        """Return a stream to start loops on and to feed: one that runs, or one that begins with its first loop.

        Parameters
        ----------
        name : str
            What it is called.
        ids, undirected, check_times, checkpoint_every_s, keep_snapshots, on_checkpoint_failure, window
            See `start`; where the stream runs already, they are as it was started.
        schema : Points, optional
            What its points are, for loops that learn from them; left out, it has edges only, or what its first loop says.

        Examples
        --------
        >>> import tornado
        >>> with tornado.open(workers=1) as session:
        ...     stream = session.stream("points", schema=tornado.Points(features=2))
        """
        self.service.lifetime.require()
        begin = partial(
            self.start,
            ids=ids,
            undirected=undirected,
            check_times=check_times,
            checkpoint_every_s=checkpoint_every_s,
            keep_snapshots=keep_snapshots,
            on_checkpoint_failure=on_checkpoint_failure,
            schema=schema,
            window=window,
        )
        beginning = self._beginnings.setdefault(checked_loop_name(name), Lock())
        return StreamHandle(self, name, begin, beginning=beginning)

    def remove(self, name: str) -> None:
        """Remove a loop: its queries are cancelled, and its memory is free again. What else reads its stream goes on.

        With the last loop its stream ends; what is stored of it stays.

        Raises
        ------
        UnknownLoop
            When none has that name.
        """
        self.service.lifetime.require()
        loop = self.service.loop(name)
        served = self.service.served(loop)
        with self._membership:
            self._started.remove(served.name, name)  # first: it must not be there again
            self.master.remove(name)
        self.service.forget_loop(name)
        self._end_where_left(served, loop)

    def _end_where_left(self, served: ServedStream, reader: MainLoopView) -> None:
        """End what is served of a stream whose last loop has left; one that joined just before has it go on, named or not yet."""
        try:
            reader.stream.require_open()
        except ConnectionLost:
            self.service.end_stream(served)

    def _served(
        self, stream: str, ids: str | IdCodec, *, undirected: bool, check_times: bool
    ) -> ServedStream:
        """Put together what a stream has that is about to begin; of an earlier run, what is stored of that."""
        intake = self.service.pusher.intake(stream, is_undirected=undirected, checks_times=check_times)
        codec: IdCodec
        if not isinstance(ids, str):
            codec = ids
        elif ids == "string":
            codec = StringIds(intake.names())
        else:
            intake.refuse_names()
            codec = IntIds()
        return ServedStream(intake, codec)

    def _start_beside(
        self, stream: str, program: Any, name: str, delay_bound: DelayBound, app: str | None
    ) -> LoopHandle:
        started = None if app is None else StartedLoop.of(name, app, program, delay_bound)
        program = _with_numbers(program, self.service.codec_of(stream))
        reader = next((loop for loop in list(self.master.loops.values()) if loop.stream_name == stream), None)
        served = None if reader is None else self.service.served(reader)
        try:
            loop = self.master.start(program, name=name, delay_bound=delay_bound, stream=stream, app=app)
        except BaseException:
            if served is not None and reader is not None:  # which may have been removed meanwhile
                self._end_where_left(served, reader)
            raise
        if started is not None:
            try:
                self.service.served(loop).checkpoints_by(self.service.clock).pass_refused(program)
                with self._membership:
                    if self.master.loops.get(name) is loop:  # otherwise it was removed meanwhile
                        self._started.add(stream, started)
            except BaseException:
                with suppress(UnknownLoop):
                    self.remove(name)  # whoever asked for it hears that it does not run
                raise
        return LoopHandle(self.service, loop)

    def _beside(self, served: ServedStream, first: str, wanted: Sequence[NewLoop]) -> list[NewLoop]:
        """Return the loops that begin with a stream: those that are wanted, and those that were started on it before.

        Of those, one whose name is taken by now is left out, and so is one the app of which does not take its parameters.
        """
        from ..loops.new_loop import NewLoop

        codec, loops = served.codec, list(wanted)
        taken = {first, *(checked_loop_name(loop.name) for loop in loops)}
        for started in self._started.of(served.name):
            if started.name in taken:
                continue
            on_refused = partial(started.say_refused, served.name)
            try:
                program = program_with(load_program(started.app).kind, started.parameters, codec)
            except CallerError as error:
                on_refused(error)
            else:
                loops.append(NewLoop(program, started.name, started.delay_bound, started.app, on_refused))
        return [replace(loop, program=_with_numbers(loop.program, codec)) for loop in loops]

    def loop(self, name: str) -> LoopHandle:
        """Return a loop that runs.

        Raises
        ------
        UnknownLoop
            When none has that name.
        """
        return LoopHandle(self.service, self.service.loop(name))

    @property
    def loops(self) -> dict[str, LoopHandle]:
        """All loops that run, by name."""
        handles = {}
        for name, loop in sorted(self.master.loops.items()):
            with suppress(UnknownLoop, ConnectionLost):  # its stream has ended meanwhile
                handles[name] = LoopHandle(self.service, loop)
        return handles

    def rescale(self, stream: str, workers: int) -> Rescaled:
        """Put the loops of a stream on so many workers, 1 to 64, while all goes on; blocks until they go on there.

        The workers are shared, so those of all other streams are put there too. Where there are as many already, nothing is
        done. The result has the streams that were moved, and for how many seconds they stood still.

        Raises
        ------
        InvalidArgument, UnknownStream, Busy, NotSupported, WorkerLost
            See `Master.rescale`; the loops go on as before.
        """
        self.service.lifetime.require()
        rescaled: Rescaled = self.master.rescale(stream, workers)
        return rescaled

    def keep_balanced(self, most_workers: int | None = None) -> None:
        """Have buckets of vertices moved where one worker has far more to do for a while, and more workers tried, until it closes."""
        from ..loops.balance import Balance
        from ..loops.worker_count import WorkerCount

        self._closing.callback((balance := Balance(self.master)).close)
        self.service.worker_loads = balance.seen
        balance.start()
        if most_workers is not None:
            self._closing.callback((count := WorkerCount(self.master, most=most_workers)).close)
            self.service.workers_said = lambda: count.said
            count.start()

    def serve(
        self,
        host: str = DEFAULT_HTTP_HOST,
        port: int = 0,
        *,
        tokens: TokenFile | str | Path | None = None,
        certificate: ServerCertificate | None = None,
    ) -> HttpServer:
        """Serve the HTTP interface until the session closes; port 0 takes a free one (`server.url`).

        Parameters
        ----------
        tokens : TokenFile, str or Path, optional
            Who is let in: the path of a file of tokens, or its lines; left out, anybody on this machine, and nobody else.
        certificate : ServerCertificate, optional
            With which it speaks TLS.

        Raises
        ------
        InvalidArgument
            When other machines could reach it and there are no tokens, or tokens or certificate are of no use.
        PortInUse
            When somebody listens there.
        """
        from .http import HttpServer
        from .token_file import TokenFile

        self.service.lifetime.require()
        if isinstance(tokens, str | Path):
            tokens = TokenFile.of(tokens)
        server = HttpServer(
            self.service, host, port, loops=self, tokens=tokens, certificate=certificate
        ).start()
        self._closing.callback(server.stop)
        return server

    def close(self) -> None:
        """Stop the servers, cancel the queries, and close the master and its store; a second call, or one in a forked process, does nothing."""
        if self.service.lifetime.is_of_this_process:
            self._closing.close()

    def _stop_checkpoints(self) -> None:
        for served in self.service.streams():
            if served.checkpoints is not None:
                served.checkpoints.stop()

    def _end_checkpoints(self) -> None:
        for served in self.service.streams():
            if served.checkpoints is not None:
                served.checkpoints.join()

    def __enter__(self) -> Self:
        self.service.lifetime.require()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(
    url: str = "memory:",
    workers: Workers = None,
    *,
    engine: str = "threads",
    spark_master: str | None = None,
    placement: VertexPlacement | str | Path = "auto",
    settings: Settings | None = None,
    limits: ServiceLimits | None = None,
) -> Session:
    """Open a session.

    Parameters
    ----------
    url : str
        Where snapshots are kept: `memory:`, `lmdb:///DIRECTORY` or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    workers : int or "auto", optional
        How many workers; left out, all cores of this process. "auto" begins with one, and goes on with more where these help.
    engine : str
        Where workers run: `threads`, `processes` or `spark`.
    spark_master : str, optional
        Where Spark is (`local[4]`, `spark://host:7077`); left out, the Spark of this process, or one on this machine.
    placement : str
        Which vertex belongs to which worker: by the `hash` of its id, in `blocks` of ids, `auto`, in blocks where the first edges join
        ids that are near each other, or as the rows `vertex,part` of a file say.
    settings : Settings, optional
        Limits of the run.
    limits : ServiceLimits, optional
        What the query service refuses and forgets; left out, as the settings say.

    Returns
    -------
    Session

    Raises
    ------
    InvalidArgument
        When the URL is not allowed, the number of workers is no whole number from 1, or there is no such placement.
    StoreError
        When the store cannot be opened.
    """
    from ..storage import open_store

    count, most_workers = worker_counts(workers)
    return session_on(
        open_store(url),
        count,
        most_workers=most_workers,
        engine=engine,
        spark_master=spark_master,
        placement=placement,
        settings=settings,
        limits=limits,
    )


def session_on(
    store: VersionedStore,
    workers: int,
    *,
    most_workers: int | None = None,
    engine: str = "threads",
    spark_master: str | None = None,
    placement: VertexPlacement | str | Path = "auto",
    settings: Settings | None = None,
    limits: ServiceLimits | None = None,
    quarantine: Quarantine | None = None,
) -> Session:
    """Put a session together on a store, which is closed with it, and where it cannot be.

    Parameters
    ----------
    store : VersionedStore
        Where snapshots are kept and, where it is durable, what is pushed.
    workers : int
        How many workers, from 1.
    most_workers : int, optional
        How many there may be where more help; left out, there are always as many.
    engine, spark_master, placement, settings, limits
        As of `open`.
    quarantine : Quarantine, optional
        Where rejected records go, not ours to close; left out, the latest are kept in memory.

    Raises
    ------
    InvalidArgument
        When there is no such engine, or it cannot have so many workers.
    """
    from ..loops import Master

    settings = settings or Settings()
    with ExitStack() as opened:
        opened.callback(store.close)
        placed = placement_of(placement)
        master = Master(store, workers, engine=engine, spark_master=spark_master, placement=placed)
        opened.callback(master.close)
        pusher = Pusher(
            quarantine=quarantine,
            store=store if store.durable else None,
            timeout_s=settings.admission_timeout_s,
            clock=master.clock,
        )
        session = Session(master, limits=limits or ServiceLimits.of(settings), pusher=pusher, store=store)
        session.keep_balanced(most_workers)
        opened.pop_all()
    return session


def _with_numbers(program: Any, codec: IdCodec) -> Any:
    """Return a program with each vertex that it names as the number that its loop knows it by."""
    return with_interned_vertices(program, codec.interner) if isinstance(codec, StringIds) else program
