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

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ..config import DEFAULT_DELAY_BOUND, DEFAULT_HTTP_HOST, Settings, default_workers
from ..errors import InvalidArgument
from ..storage.contract import VersionedStore
from .handles import LoopHandle
from .ids import IdCodec, IntIds, StringIds
from .parameters import with_interned_vertices
from .push import Pusher
from .push_log import StorePushLog
from .request import ServiceLimits
from .service import QueryService

if TYPE_CHECKING:
    from .http import HttpServer


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
        self._closing = ExitStack()
        if store is not None:
            self._closing.callback(store.close)
        self._closing.callback(master.close)
        self._closing.callback(self.service.close)

    def start(
        self,
        program: Any,
        name: str | None = None,
        delay_bound: int | None = DEFAULT_DELAY_BOUND,
        *,
        ids: Literal["int", "string"] | IdCodec = "int",
    ) -> LoopHandle:
        """Start a main loop. Where the store is durable, what was pushed to a loop of this name before is in it again.

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

        Raises
        ------
        InvalidArgument
            When a loop has that name, or the program does not converge for this delay bound.
        """
        if ids not in {"int", "string"} and isinstance(ids, str):
            raise InvalidArgument(f"ids is {ids!r} but must be 'int' or 'string'")
        name = checked_loop_name(loop_name(type(program).__name__) if name is None else name)
        if name not in self.master.loops:
            codec = self._codec(name, ids)
            if isinstance(codec, StringIds):
                program = with_interned_vertices(program, codec.interner)
            # Before the loop can be asked or fed.
            self.service.use_ids(name, codec)
        loop = self.master.start(program, name=name, delay_bound=delay_bound)
        self.pusher.restore(loop)
        return LoopHandle(self.service, self.pusher, loop)

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

        server = HttpServer(self.service, host, port, pusher=self.pusher).start()
        self._closing.callback(server.stop)
        return server

    def close(self) -> None:
        """Stop the servers, cancel the queries, and close the master and its store; a second call does nothing."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(
    url: str = "memory:",
    workers: int | None = None,
    *,
    engine: str = "threads",
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
        Where workers run.
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
        master = Master(store, count, engine=engine)
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


def _checked_workers(workers: Any) -> int:
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
        raise InvalidArgument(
            f"workers is {workers!r} but must be a whole number from 1", hint="Leave it out to use all cores."
        )
    return int(workers)
