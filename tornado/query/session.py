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

import logging
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ..config import (
    DEFAULT_DELAY_BOUND,
    DEFAULT_HTTP_HOST,
    DEFAULT_KEPT_SNAPSHOTS,
    Settings,
    default_workers,
)
from ..errors import CallerError, InvalidArgument, NameTaken
from ..storage.versioned_store import VersionedStore
from .checkpoints import Checkpoints, check_kept, checked_period
from .handles import LoopHandle
from .ids import IdCodec, IntIds, StringIds
from .parameters import program_with, with_interned_vertices
from .programs import load_program
from .push import Pusher
from .push_log import StorePushLog
from .request import ServiceLimits
from .service import QueryService
from .started_loops import StartedLoop, StartedLoops
from .stream_handle import StreamHandle

if TYPE_CHECKING:
    from ..loops.new_loop import NewLoop
    from .http import HttpServer

_log = logging.getLogger(__name__)

LONGEST_NAME_BYTES = 120


class Session:
    """Loops of one master, to feed and ask. A context manager; made by `tornado.open`.

    Parameters
    ----------
    master : Master
        Closed with the session.
    limits : ServiceLimits, optional
    pusher : Pusher, optional
    store : VersionedStore, optional
        Closed with the session, after the master.

    Attributes
    ----------
    service : QueryService
        What answers the queries; for servers and tools.
    pusher : Pusher
        What admits pushed edges.
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
        self.pusher = pusher or Pusher()
        self.service = QueryService(master, limits=limits)
        self._started = StartedLoops(master.store)
        self._closing = ExitStack()
        if store is not None:
            self._closing.callback(store.close)
        self._closing.callback(
            self._end_checkpoints
        )  # they may still write; their branches end with the master
        self._closing.callback(master.close)
        self._closing.callback(self.service.close)
        self._closing.callback(self._stop_checkpoints)

    def start(
        self,
        program: Any,
        name: str | None = None,
        delay_bound: int | None = DEFAULT_DELAY_BOUND,
        *,
        ids: Literal["int", "string"] | IdCodec = "int",
        checkpoint_every_s: float | None = None,
        keep_snapshots: int | None = None,
        on_checkpoint_failure: Callable[[Exception], None] | None = None,
        stream: str | None = None,
        undirected: bool = False,
        app: str | None = None,
        beside: Sequence[NewLoop] = (),
        new_stream: str | None = None,
    ) -> LoopHandle:
        """Start a main loop: on a stream of its own, or beside others on theirs.

        A stream of its own has the loop's name or another, and begins from the newest snapshot that the store has of it, with
        what was pushed after that. A program of other parameters, or one that was edited, takes the graph of the snapshot and computes
        its own values. Loops that were started on the stream by the name of an app, and not removed, are there again; of one
        that cannot be started a warning is logged.

        Parameters
        ----------
        program : VertexProgram
            What it computes.
        name : str, optional
            What it is called; left out, the class of the program in small letters with underscores.
        delay_bound : int or None
            B of the paper: 1 is synchronous, None is unbounded.
        ids : {"int", "string"} or IdCodec
            What vertex ids are in calls and results.
        checkpoint_every_s : float, optional
            Store a snapshot every so many seconds, while the loop goes on; left out, only `checkpoint` does.
        keep_snapshots : int, optional
            How many snapshots are left in the store when a new one is there; one that a query under way names is not
            forgotten. Left out, 3 with `checkpoint_every_s`, and otherwise all.
        on_checkpoint_failure : callable, optional
            Told of what made a periodic checkpoint fail (a full disk); left out, it is logged.
        stream : str, optional
            The stream that it reads beside other loops: it takes over the graph as it is, and catches up. Ids and
            checkpoints are then those of the stream.
        undirected : bool
            Whether each record of a stream of its own is an edge in both directions, wherever it comes from.
        app : str, optional
            The name of the app that the program is, for a loop on a stream that runs: whenever the stream is started again on
            this store, so is the loop, until it is removed.
        beside : sequence of NewLoop, optional
            Loops that begin with a stream of its own, each from its own values in the snapshot.
        new_stream : str, optional
            What a stream of its own is called; left out, as the loop is.

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
            When checkpoints of a general program are asked for.
        """
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
        codec = self._codec(stream, ids)
        if isinstance(codec, StringIds):
            program = with_interned_vertices(program, codec.interner)
        # Before the loop can be asked or fed.
        self.service.use_ids(stream, codec)
        if checkpoint_every_s is not None:
            from ..loops.general_program import GeneralProgram

            store = self.master.store
            checkpoint_every_s = checked_period(
                checkpoint_every_s,
                is_durable=store.durable,
                is_stored=not isinstance(program, GeneralProgram),
                loop=stream,
                store=store.url,
            )
            keep_snapshots = DEFAULT_KEPT_SNAPSHOTS if keep_snapshots is None else keep_snapshots
        check_kept(keep_snapshots)
        others = self._beside(stream, name, beside)
        self.pusher.double(stream, wanted=undirected)  # also where an earlier start of that name has failed
        loop = self.master.start(
            program,
            name=name,
            delay_bound=delay_bound,
            new_stream=stream,
            is_undirected=undirected,
            beside=others,
        )
        self.pusher.restore(loop)
        self.service.watch_sources(stream, partial(self.pusher.sources.statistics, stream))
        versions_in_use = partial(self.service.versions_in_use, stream)
        checkpoints = Checkpoints(
            loop,
            self.pusher,
            keep=keep_snapshots,
            in_use=versions_in_use,
            on_failure=on_checkpoint_failure,
        )
        self.service.checkpoints[stream] = checkpoints
        loop.on_full_journal, loop.versions_in_use = checkpoints.take, versions_in_use
        if checkpoint_every_s is not None:
            checkpoints.start(checkpoint_every_s)
        return LoopHandle(self.service, self.pusher, loop)

    def stream(
        self,
        name: str,
        *,
        ids: Literal["int", "string"] | IdCodec = "int",
        undirected: bool = False,
        checkpoint_every_s: float | None = None,
        keep_snapshots: int | None = None,
        on_checkpoint_failure: Callable[[Exception], None] | None = None,
    ) -> StreamHandle:
        """Return a stream to start loops on and to feed: one that runs, or one that begins with its first loop.

        Parameters
        ----------
        name : str
            What it is called.
        ids, undirected, checkpoint_every_s, keep_snapshots, on_checkpoint_failure
            See `start`; where the stream runs already, they are as it was started.
        """
        begin = partial(
            self.start,
            ids=ids,
            undirected=undirected,
            checkpoint_every_s=checkpoint_every_s,
            keep_snapshots=keep_snapshots,
            on_checkpoint_failure=on_checkpoint_failure,
        )
        return StreamHandle(self, checked_loop_name(name), begin)

    def remove(self, name: str) -> None:
        """Remove a loop: its queries are cancelled, and its memory is free again. What else reads its stream goes on.

        With the last loop its stream ends; what is stored of it stays.

        Raises
        ------
        UnknownLoop
            When none has that name.
        """
        stream = self.service.loop(name).stream_name
        self._started.remove(stream, name)  # first: it must not be there again
        self.master.remove(name)
        self.service.forget_loop(name)
        if not any(loop.stream_name == stream for loop in self.master.loops.values()):
            checkpoints = self.service.checkpoints.pop(stream, None)
            if checkpoints is not None:
                checkpoints.stop()
                checkpoints.join()
            self.pusher.end(stream)
            self.service.forget_stream(stream)

    def _start_beside(
        self, stream: str, program: Any, name: str, delay_bound: int | None, app: str | None
    ) -> LoopHandle:
        codec = self.service.ids(stream)
        started = None if app is None else StartedLoop.of(name, app, program, delay_bound)
        if isinstance(codec, StringIds):
            program = with_interned_vertices(program, codec.interner)
        loop = self.master.start(program, name=name, delay_bound=delay_bound, stream=stream, app=app)
        if started is not None:
            try:
                self._started.add(stream, started)
            except BaseException:
                self.master.remove(name)  # whoever asked for it hears that it does not run
                raise
        return LoopHandle(self.service, self.pusher, loop)

    def _beside(self, stream: str, first: str, wanted: Sequence[NewLoop]) -> list[NewLoop]:
        """Return the loops that begin with a stream: those that are wanted, and those that were started on it before.

        Of those, one whose name is taken by now is left out, and so is one the app of which does not take its parameters.
        """
        from ..loops.new_loop import NewLoop

        codec, loops = self.service.ids(stream), list(wanted)
        taken = {first, *(checked_loop_name(loop.name) for loop in loops)}
        for started in self._started.of(stream):
            if started.name in taken:
                continue
            on_refused = partial(_say_not_started, stream, started)
            try:
                program = program_with(load_program(started.app).kind, started.parameters, codec)
            except CallerError as error:
                on_refused(error)
            else:
                loops.append(NewLoop(program, started.name, started.delay_bound, started.app, on_refused))
        if isinstance(codec, StringIds):
            loops = [
                replace(loop, program=with_interned_vertices(loop.program, codec.interner)) for loop in loops
            ]
        return loops

    def _codec(self, name: str, ids: str | IdCodec) -> IdCodec:
        if not isinstance(ids, str):
            return ids
        if ids == "string":
            return StringIds(self.pusher.interner(name))
        self.pusher.refuse_names(name)
        return IntIds()

    def loop(self, name: str) -> LoopHandle:
        """Return a loop that runs.

        Raises
        ------
        UnknownLoop
            When none has that name.
        """
        return LoopHandle(self.service, self.pusher, self.service.loop(name))

    @property
    def loops(self) -> dict[str, LoopHandle]:
        """All loops that run, by name."""
        return {name: self.loop(name) for name in sorted(self.master.loops)}

    def serve(self, host: str = DEFAULT_HTTP_HOST, port: int = 0) -> HttpServer:
        """Serve the HTTP interface until the session closes; port 0 takes a free one (`server.url`).

        Raises
        ------
        PortInUse
            When somebody listens there.
        """
        from .http import HttpServer

        server = HttpServer(self.service, host, port, pusher=self.pusher, loops=self).start()
        self._closing.callback(server.stop)
        return server

    def close(self) -> None:
        """Stop the servers, cancel the queries, and close the master and its store; a second call does nothing."""
        self._closing.close()

    def _stop_checkpoints(self) -> None:
        for checkpoints in self.service.checkpoints.values():
            checkpoints.stop()

    def _end_checkpoints(self) -> None:
        for checkpoints in self.service.checkpoints.values():
            checkpoints.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(
    url: str = "memory:",
    workers: int | None = None,
    *,
    engine: str = "threads",
    spark_master: str | None = None,
    settings: Settings | None = None,
    limits: ServiceLimits | None = None,
) -> Session:
    """Open a session.

    Parameters
    ----------
    url : str
        Where snapshots are kept: `memory:`, or `lmdb:///DIRECTORY`.
    workers : int, optional
        How many workers; left out, one for every core this process may use.
    engine : str
        Where workers run: `threads`, `processes` or `spark`.
    spark_master : str, optional
        Where Spark is (`local[4]`, `spark://host:7077`); left out, the Spark of this process, or one on this machine.
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
        When the URL is not allowed, or the number of workers is no whole number from 1.
    StoreError
        When the store cannot be opened.
    """
    from ..loops import Master
    from ..storage import open_store

    settings = settings or Settings()
    count = default_workers() if workers is None else _checked_workers(workers)
    with ExitStack() as opened:
        store = open_store(url)
        opened.callback(store.close)
        master = Master(store, count, engine=engine, spark_master=spark_master)
        opened.callback(master.close)
        session = Session(
            master,
            limits=limits or ServiceLimits.of(settings),
            pusher=Pusher(
                log=StorePushLog(store) if store.durable else None, timeout_s=settings.admission_timeout_s
            ),
            store=store,
        )
        opened.pop_all()
    return session


def checked_loop_name(name: str) -> str:
    """Return the name where it can be part of a path and of a store's line.

    Raises
    ------
    InvalidArgument
        When it is empty, too long, or has a slash or what cannot be printed.

    Examples
    --------
    >>> checked_loop_name("roads 2")
    'roads 2'
    """
    if (
        not 1 <= len(name.encode(errors="replace")) <= LONGEST_NAME_BYTES
        or "/" in name
        or not name.isprintable()
    ):
        raise InvalidArgument(
            f"the name of a loop is {name!r} but must have 1 to {LONGEST_NAME_BYTES} bytes and be printable, without a slash"
        )
    return name


def loop_name(class_name: str) -> str:
    """Return what a loop is called by default.

    Examples
    --------
    >>> loop_name("ShortestPaths")
    'shortest_paths'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()


def _say_not_started(stream: str, started: StartedLoop, error: CallerError) -> None:
    _log.warning(
        "loop %s (%s) of stream %s is not there again, and the others go on: %s",
        *(started.name, started.app, stream, error),
    )


def _checked_workers(workers: Any) -> int:
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
        raise InvalidArgument(
            f"workers is {workers!r} but must be a whole number from 1", hint="Leave it out to use all cores."
        )
    return int(workers)
