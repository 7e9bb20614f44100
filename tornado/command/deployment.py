"""One program running in this process: store, master, main loop, quarantine, query service and HTTP server, put together.

Guarantees: parts are closed in the reverse order, each once, also when a later one fails to start; a port that is taken or a
store that is locked is found before the first record is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from ..config import DEFAULT_CHECKPOINT_EVERY_S, DEFAULT_KEPT_SNAPSHOTS, DelayBound
from ..errors import InvalidArgument, StoreLocked
from ..ingest.interner import Interner
from ..ingest.known_files import KnownFiles
from ..ingest.quarantine import Quarantine
from ..ingest.source import RecordFile, Source
from ..ingest.source_names import SourceKind, check_file_name, kind_of
from ..loop_views import MainLoopView
from ..loops.kind import kind_of_program
from ..loops.new_loop import NewLoop
from ..loops.vertex_program import VertexProgram
from ..query.handles import LoopHandle
from ..query.ids import StringIds
from ..query.served_stream import ServedStream
from ..query.service import QueryService
from ..query.session import session_on
from ..records.point_schema import Points
from ..records.window_width import WindowWidth
from ..storage import VersionedStore, open_store
from .address import OPEN, Address, Door
from .plan import LOOP_IN_OUTPUT, LoopBeside, default_quarantine, default_stores

if TYPE_CHECKING:
    # The web framework takes its time to load; a run without --http never does.
    from ..query.http import HttpServer

    # So does what talks to PostgreSQL.
    from ..query.kept_results import KeptResults


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where and how a program runs.

    Attributes
    ----------
    loop : str
        The name of the first loop.
    stream : str or None
        What it reads, where that has another name.
    workers : int
        How many.
    most_workers : int or None
        How many there may be where more of them help; None: always as many.
    delay_bound : int or None
        B of the paper; None is unbounded.
    engine : str
        Where workers run.
    vertices_by : str
        Which vertex belongs to which worker.
    spark_master : str or None
        Where Spark is, for that engine.
    store : str or None
        URL of the store; None takes the first free one of `default_stores`.
    string_ids : bool
        Whether vertices have names.
    quarantine : str or None
        Where rejected records go; None puts them beside the store.
    address : Address or None
        Where to serve; None serves nothing.
    door : Door
        Who is let in there, and with which certificate.
    checkpoint_every_s : float or None
        How often a snapshot is stored; None leaves it to the default where there can be any, and 0 is never.
    keep_snapshots : int or None
        How many snapshots are left in the store; None was not said.
    undirected : bool
        Whether each record is an edge in both directions.
    adopts : bool
        Whether the loops take over what each converged branch with their own parameters has found.
    check_times : bool
        Whether what is pushed is rejected where its time is none.
    window : WindowWidth or None
        After what time, or behind how many others, edges leave by themselves; None: they stay.
    points : Points or None
        What the points of the stream are; None: it has none.
    results : str or None
        The address of the table in which the newest exact answer of each loop is kept, with `LOOP_IN_OUTPUT` for its name; None: of none.
    """

    loop: str
    workers: int
    delay_bound: DelayBound
    store: str | None
    string_ids: bool = False
    quarantine: str | None = None
    address: Address | None = None
    door: Door = OPEN
    checkpoint_every_s: float | None = None
    keep_snapshots: int | None = None
    most_workers: int | None = None
    engine: str = "threads"
    vertices_by: str = "auto"
    spark_master: str | None = None
    undirected: bool = False
    adopts: bool = False
    check_times: bool = False
    window: WindowWidth | None = None
    stream: str | None = None
    points: Points | None = None
    results: str | None = None

    @property
    def stream_name(self) -> str:
        """What the loops read."""
        return self.loop if self.stream is None else self.stream


class Deployment:
    """A program that runs. A context manager.

    Parameters
    ----------
    placement : Placement
        Where and how.
    program : VertexProgram
        What the first loop computes; where ids are strings, it names vertices by these.
    beside : sequence of LoopBeside
        Further loops on the same stream.
    on_checkpoint_failure : callable, optional
        Told of what made a periodic checkpoint fail.
    on_results_failure : callable, optional
        Told of what made a renewal of results fail.

    Attributes
    ----------
    loop : MainLoopView
        The endless one; the first, where there are several.
    loops : list of MainLoopView
        All that the run names.
    returned : list of MainLoopView
        Those that an earlier run was asked to start on the stream, and that are there again.
    served : ServedStream
        What belongs to the stream that they read.
    quarantine : Quarantine
        Where rejected records go.
    server : HttpServer or None
        Serves already.
    kept_results : list of KeptResults
        Those that are renewed outside.
    """

    loop: MainLoopView
    loops: list[MainLoopView]
    returned: list[MainLoopView]
    served: ServedStream
    service: QueryService
    server: HttpServer | None
    quarantine: Quarantine
    kept_results: list[KeptResults]
    _handle: LoopHandle
    _store: VersionedStore

    def __init__(
        self,
        placement: Placement,
        program: VertexProgram,
        beside: Sequence[LoopBeside] = (),
        *,
        on_checkpoint_failure: Callable[[Exception], None] | None = None,
        on_results_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        self._on_results_failure = on_results_failure
        self._placement = placement
        self._beside = beside
        self._on_checkpoint_failure = on_checkpoint_failure
        self._program = program
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self, stack: contextlib.ExitStack) -> None:
        placement = self._placement
        store = self._store = _open_store(placement)
        stack.callback(store.close)  # for what fails before the session has it
        period_s = _period(placement, store, self._program)
        if placement.results is not None and not period_s:
            raise InvalidArgument(
                f"--results is renewed after each checkpoint, and there are none of {placement.loop} in {store.url}",
                hint="Name a durable store (--store lmdb:///DIR), and leave `--checkpoint-every off` out.",
            )
        self.quarantine = stack.enter_context(_open_quarantine(placement, store))
        session = stack.enter_context(
            session_on(
                store,
                placement.workers,
                most_workers=placement.most_workers,
                engine=placement.engine,
                placement=placement.vertices_by,
                spark_master=placement.spark_master,
                quarantine=self.quarantine,
            )
        )
        self.service = session.service
        self._handle = session.start(
            self._program,
            placement.loop,
            placement.delay_bound,
            ids="string" if placement.string_ids else "int",
            checkpoint_every_s=period_s,
            keep_snapshots=placement.keep_snapshots or (None if period_s else DEFAULT_KEPT_SNAPSHOTS),
            on_checkpoint_failure=self._on_checkpoint_failure,
            undirected=placement.undirected,
            check_times=placement.check_times,
            window=placement.window,
            beside=[NewLoop(other.program, other.name, other.delay_bound) for other in self._beside],
            new_stream=placement.stream_name,
            schema=placement.points,
        )
        self.loop = self._handle.loop
        self.served = self.service.served(self.loop)
        named = [placement.loop, *(other.name for other in self._beside)]
        self.loops = [session.loop(name).loop for name in named]
        if placement.adopts:
            adopting = [loop for loop in self.loops if loop.adoption.is_supported] or self.loops[:1]
            for loop in adopting:
                loop.adoption.require()
                loop.adoption.takes_all = True
        self.returned = [handle.loop for name, handle in session.loops.items() if name not in named]
        self.kept_results = []
        if placement.results is not None:
            for loop in self.loops:
                stack.callback(self._keep_results(loop, placement.results).close)
        self.server = None
        if placement.address is not None:
            from ..query.http_connections import make_room_for_connections

            make_room_for_connections()
            self.server = session.serve(
                placement.address.host,
                placement.address.port,
                tokens=placement.door.tokens,
                certificate=placement.door.certificate,
            )

    def _keep_results(self, loop: MainLoopView, url: str) -> KeptResults:
        from ..query.kept_results import keep_results

        url = url.replace(LOOP_IN_OUTPUT, quote(loop.name, safe=""))
        kept = keep_results(self.service, loop, url, on_failure=self._on_results_failure)
        self.kept_results.append(kept)
        return kept

    @property
    def is_gone_on_from(self) -> bool:
        """Whether a later run can begin where this one ends: the store is durable and was named."""
        return self._store.durable and self._placement.store is not None

    @property
    def store_url(self) -> str:
        """Which store it is, as `open_store` takes it."""
        return self._store.url

    def recognise(self, sources: Sequence[Source]) -> None:
        """Check that sources are what their names stand for, and files of which records are in those that were read.

        Raises
        ------
        InvalidArgument
            When one is not: its offset would be that of another source.
        """
        known = KnownFiles(self._store, self._placement.stream_name)
        offsets = self.loop.offsets()
        # Of those that are not named now.
        read_before = {
            name: offset
            for name, offset in offsets.items()
            if offset and kind_of(name) is SourceKind.FILE and all(name != source.name for source in sources)
        }
        names = [source.name for source in sources]
        for name in names:
            if names.count(name) > 1:
                raise InvalidArgument(
                    f"two sources are called {name}, one of edges and one of points",
                    hint="Give one of the files another name; a symbolic link will do.",
                )
        for source in sources:
            if not isinstance(source, RecordFile):
                continue
            check_file_name(source.name)
            if source.name not in offsets:
                _refuse_renamed(source.name, read_before)
            if source.rewindable:
                known.recognise(source, offsets.get(source.name, 0))
            else:
                known.recognise_pipe(source.name)

    def checkpoint(self) -> int:
        """Write a snapshot of the loop, with what it counts on, and return its version."""
        return self._handle.checkpoint()

    @property
    def points(self) -> Points | None:
        """What the points of its stream are; None: it has none."""
        return self.loop.stream.points

    @property
    def interner(self) -> Interner | None:
        """The table of names, where ids are strings."""
        codec = self.served.codec
        return codec.interner if isinstance(codec, StringIds) else None


def _refuse_renamed(name: str, read_before: Mapping[str, int]) -> None:
    """Refuse a file that may be one of those, under a name with more folders or fewer, as other files beside it make it."""
    for other, offset in read_before.items():
        if f"/{name}".endswith(f"/{other}") or f"/{other}".endswith(f"/{name}"):
            raise InvalidArgument(
                f"{name} may be the file that was read as {other}, of which {offset:,} records are in already: they would be in twice",
                hint="Name the same files as then, or give a new one a name that no other has; a symbolic link will do.",
            )


def _period(placement: Placement, store: VersionedStore, program: VertexProgram) -> float | None:
    """How often snapshots are stored; whoever did not ask for it has them where there can be any."""
    if placement.checkpoint_every_s is None:
        possible = store.durable and kind_of_program(program).is_stored
        return DEFAULT_CHECKPOINT_EVERY_S if possible else None
    return placement.checkpoint_every_s or None


def _open_store(placement: Placement) -> VersionedStore:
    if placement.store is not None:
        return open_store(placement.store)
    # Nobody named a store, so nobody expects what an earlier run left in it: it begins anew.
    store = _open_first_free(default_stores(placement.stream_name))
    for name in store.loops():
        store.drop(name)
    default_quarantine(store.url, placement.stream_name).unlink(missing_ok=True)
    return store


def _open_first_free(urls: Sequence[str]) -> VersionedStore:
    *others, last = urls
    for url in others:
        # Another run of the same program holds it.
        with contextlib.suppress(StoreLocked):
            return open_store(url)
    return open_store(last)


def _open_quarantine(placement: Placement, store: VersionedStore) -> Quarantine:
    if placement.quarantine is not None:
        return Quarantine(Path(placement.quarantine))
    try:
        return Quarantine(default_quarantine(store.url, placement.stream_name))
    except StoreLocked:
        if store.durable:
            raise
        # A run in memory needs no folder it can write to: the latest rejected records stay in memory as well.
        return Quarantine(None)
