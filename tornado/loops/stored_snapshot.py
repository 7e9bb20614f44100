"""Snapshots of a stream in a store, keyed by vertex: any number of workers writes them, any other number reads them.

Source: the versioned storage of Tornado (SIGMOD 2016, section 5.2). A stored snapshot has the edges of a prefix of the input
and, of each loop on the stream, the fixed point of that prefix: it needs nothing else to be asked again, with other parameters
too, and it pins nothing in the memory of the loops that wrote it. It becomes visible wholly or not at all, since it is one write
of its store. What it is written as is in `snapshot_format.py`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError, InvalidArgument, StoreCorrupt
from ..graph.edges_by_page import PageEdges
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..storage import VersionedStore
from .admission_log import AdmissionLog, LogSize
from .edge_pages import EdgeColumns, edge_page_of, edges_of
from .kind import kind_of_program
from .part import PagesView, PageVertices
from .point_pages import PointPagesView
from .snapshot import Snapshot
from .snapshot_format import (
    DIGESTS,
    EDGES,
    POINTS,
    VERTICES,
    Column,
    Contents,
    FixedPoint,
    array_key,
    columns_of,
    loop_entry,
    loop_key,
    metadata_of,
    page_of,
    point_key,
)
from .statistics import StoredSizes
from .vertex_program import VertexProgram

PAGE_VERTICES = 1 << 14
PAGE_EDGES = 1 << 19
_MOST_PAGES = 1 << 16
_SHOWN_VERSIONS = 20
_DIGEST_DIGITS = 32  # of SHA-256, which processors compute twice as fast as BLAKE2
_SPARED_SHARE = 1 / 8  # of the newest snapshot may go to older ones that nobody has asked for
_SPARED_BYTES = 1 << 22  # however small it is


@dataclass(frozen=True, slots=True, eq=False)
class VertexColumns:
    """Vertices, one entry each: ids, and the columns that the kind of the program stores by name.

    They are of the types that the loop has them in; an entry may be of several numbers.
    """

    ids: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]

    @property
    def values(self) -> NDArray[Any]:
        """What answers show, of every kind."""
        return self.columns["values"]


@dataclass(frozen=True, slots=True, eq=False)
class LoopToStore:
    """What a snapshot that is to be stored gets of one loop.

    Attributes
    ----------
    name, program, app
        Of the loop.
    snapshot
        The cut, which is at the same version for all loops.
    parts
        Its fixed point there, by worker; those of the first loop have the edges too.
    findings
        What its branch has found of the worth of that, by worker.
    arrays
        What it has as a whole, in place of columns by vertex; None: it has these.
    points
        Of the first loop: the points of the stream, by worker.
    """

    name: str
    program: VertexProgram
    app: str | None
    snapshot: Snapshot
    parts: Sequence[PagesView]
    findings: Sequence[Mapping[str, float]] = ()
    arrays: Mapping[str, NDArray[Any]] | None = None
    points: Sequence[PointPagesView] = ()


class StoredSnapshot:
    """A snapshot in a store, to be read.

    Attributes
    ----------
    snapshot
        Which prefix of the input it belongs to.
    fixed_points
        Those that it has, by loop.
    points
        What its points are declared to be; None: it has none.
    """

    def __init__(self, store: VersionedStore, line: str, contents: Contents) -> None:
        self.snapshot = contents.snapshot
        self.fixed_points = contents.fixed_points
        self.points = contents.points
        self._contents = contents
        self._store = store
        self._line = line

    def fixed_point(self, program: str, loop: str = "") -> FixedPoint | None:
        """The fixed point of the program with this identity, rather that of the loop with this name; None without one.

        Programs of one identity have the same fixed point, whatever the loops are called that ran them.
        """
        found = [point for point in self.fixed_points if point.program == program]
        return next((point for point in found if point.loop == loop), found[0] if found else None)

    def described(self, loop: str) -> str:
        """The program that a loop ran, for people; of a loop that it has not, that of the first one."""
        return next(
            (point for point in self.fixed_points if point.loop == loop), self.fixed_points[0]
        ).described

    def snapshot_of(self, loop: str) -> Snapshot:
        """The prefix, with the iteration and the delay bound of the loop with this name, where it has that."""
        return _snapshot_of(self._contents, loop)

    def id_pages(self) -> Iterator[NDArray[np.int64]]:
        """The ids of the vertices, a page at a time."""
        for _, found in self._pages(VERTICES, self._contents.vertices):
            yield found["ids"]

    def vertex_pages(self, point: FixedPoint | None = None) -> Iterator[VertexColumns]:
        """The vertices with a fixed point (left out: of the first loop), a page at a time."""
        point = self.fixed_points[0] if point is None else point
        for key, columns in self._pages(VERTICES, self._contents.vertices):
            found = columns
            if point.columns:
                own = loop_key(point.loop, key.removeprefix(VERTICES))
                page = self._store.read(self._line, own, self.snapshot.version)
                found = columns | self._columns(own, b"" if page is None else page, point.columns)
                if len(found["values"]) != len(found["ids"]):
                    raise self._corrupt(
                        own, f"{len(found['values'])} entries for {len(found['ids'])} vertices"
                    )
            ids = found.pop("ids")
            yield VertexColumns(ids, found)

    def edge_pages(self) -> Iterator[EdgeColumns]:
        """The edges, a page at a time."""
        for key, page in self._store.scan(self._line, self.snapshot.version, EDGES):
            try:
                columns = self._contents.edges
                yield EdgeColumns.of(**columns_of(page, columns)) if columns else edges_of(page)
            except ValueError as error:
                raise self._corrupt(key, str(error)) from error

    def point_pages(self) -> Iterator[PointBatch]:
        """Insertions of the points, a page at a time; those of a shard in the order in which they came."""
        if self.points is None:
            return
        kind = PointBatch.kind_of(self.points)
        for key, page in self._store.scan(self._line, self.snapshot.version, POINTS):
            try:
                found = kind.decode(page)
            except ValueError as error:
                raise self._corrupt(key, str(error)) from error
            yield found

    def arrays(self, point: FixedPoint) -> dict[str, NDArray[Any]]:
        """What a loop had as a whole, by name; empty where that is by vertex."""
        found = {}
        for column in point.arrays:
            key = array_key(point.loop, column.name)
            page = self._store.read(self._line, key, self.snapshot.version) or b""
            if len(page) != column.entry_bytes:
                raise self._corrupt(key, f"{len(page)} bytes, and not the {column.entry_bytes} of its array")
            flat = np.frombuffer(page, column.kind)
            array = flat.astype(flat.dtype.newbyteorder("="), copy=False).reshape(column.shape)
            array.flags.writeable = False
            found[column.name] = array
        return found

    def ids(self) -> NDArray[np.int64]:
        """The ids of all vertices, in the order of `vertices`."""
        return _joined(list(self.id_pages()), np.empty(0, np.int64))

    def vertices(self, point: FixedPoint | None = None) -> VertexColumns:
        """All vertices with a fixed point; left out, that of the first loop."""
        point = self.fixed_points[0] if point is None else point
        pages = list(self.vertex_pages(point))
        # Of the types that they have where there is none.
        none = columns_of(b"", point.columns or self._contents.vertices)
        return VertexColumns(
            _joined([page.ids for page in pages], np.empty(0, np.int64)),
            {
                name: _joined([page.columns[name] for page in pages], column)
                for name, column in none.items()
                if name != "ids"
            },
        )

    def edges(self) -> EdgeColumns:
        """All edges."""
        pages = list(self.edge_pages())
        return EdgeColumns(
            _joined([page.sources for page in pages], np.empty(0, np.int64)),
            _joined([page.targets for page in pages], np.empty(0, np.int64)),
            _joined([page.weights for page in pages], np.empty(0)),
        )

    @property
    def records(self) -> int:
        """How many edges and points it has."""
        return self._contents.counts.get("edges", 0) + self._contents.counts.get("points", 0)

    @property
    def edge_count(self) -> int:
        """How many edges it has; 0 where it does not say so."""
        return self._contents.counts.get("edges", 0)

    @property
    def has_edges(self) -> bool:
        """Whether it may have edges: it says that it has some, or does not say how many."""
        return self._contents.counts.get("edges", 1) > 0

    @property
    def logged(self) -> int:
        """Up to which version the log of the stream had been written before it; -1 where it does not say so."""
        return self._contents.counts.get("logged", -1)

    @property
    def size_bytes(self) -> int:
        """What the pages of these take."""
        return self._contents.counts.get("bytes", 0)

    def _pages(
        self, prefix: bytes, columns: Sequence[Column]
    ) -> Iterator[tuple[bytes, dict[str, NDArray[Any]]]]:
        for key, page in self._store.scan(self._line, self.snapshot.version, prefix):
            yield key, self._columns(key, page, columns)

    def _columns(self, key: bytes, page: bytes, columns: Sequence[Column]) -> dict[str, NDArray[Any]]:
        try:
            return columns_of(page, columns)
        except ValueError as error:
            raise self._corrupt(key, str(error)) from error

    def _corrupt(self, key: bytes, what: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"page {key!r} of loop {self._line!r} at version {self.snapshot.version} has {what}"
        )


class StoredSnapshots:
    """The snapshots of one stream in a store. Writers must take turns; readers need not wait for them.

    Parameters
    ----------
    store
        Not ours to close.
    loop
        The name of the stream, which is that of its first loop.
    """

    def __init__(self, store: VersionedStore, loop: str) -> None:
        self._store = store
        self._loop = loop
        self._lock = threading.Lock()  # held while versions are forgotten: nobody begins to read one of them
        self._read: Counter[int] = Counter()
        self._base = (0, 0, 0)  # what was read of the newest

    @property
    def is_durable(self) -> bool:
        """Whether they outlive this process."""
        return self._store.durable

    def newest_version(self) -> int | None:
        """The newest stored version, or None."""
        return max(self._store.versions(self._loop), default=None)

    def all(self, loop: str = "") -> list[Snapshot]:
        """The stored snapshots, oldest first, each as the loop with this name has it; see `StoredSnapshot.snapshot_of`."""
        found = (self._contents(version) for version in self._store.versions(self._loop))
        return [_snapshot_of(contents, loop) for contents in found if contents is not None]

    def sizes(self, log: LogSize) -> StoredSizes:
        """What a stream takes with a log of this size."""
        version, records, size_bytes = self.newest_base()
        return StoredSizes(version or None, records, size_bytes, log.records, log.size_bytes)

    def newest_base(self) -> tuple[int, int, int]:
        """The version of the newest snapshot, how many edges and points it has, and their bytes; 0 without one."""
        version = self.newest_version()
        if version is None:
            return 0, 0, 0
        if version != self._base[0]:
            base = self.find(version)
            self._base = version, base.records, base.size_bytes
        return self._base

    def find(self, version: int) -> StoredSnapshot:
        """The snapshot of a version.

        Raises
        ------
        InvalidArgument
            When that version is not stored.
        StoreCorrupt
            When it cannot be read.
        """
        stored = self._store.versions(self._loop)
        contents = self._contents(version) if version in stored else None
        if contents is None:
            newest = ", ".join(map(str, stored[-_SHOWN_VERSIONS:])) or "none"
            earlier = (
                f" and {len(stored) - _SHOWN_VERSIONS} older ones" if len(stored) > _SHOWN_VERSIONS else ""
            )
            raise InvalidArgument(
                f"at is {version}, but loop {self._loop!r} has no stored snapshot of that version; "
                f"stored versions: {newest}{earlier}",
                hint="Leave `at` out to ask about the input as it is now.",
            )
        return StoredSnapshot(self._store, self._loop, contents)

    def newest(self) -> StoredSnapshot | None:
        """The newest snapshot, or None."""
        version = self.newest_version()
        return None if version is None else self.find(version)

    @contextmanager
    def reading(self, version: int) -> Iterator[None]:
        """Keep a version, and those after it, from being forgotten meanwhile."""
        with self._lock:
            self._read[version] += 1
        try:
            yield
        finally:
            with self._lock:
                self._read[version] -= 1

    def forget(
        self, *, keep: int, in_use: Collection[int] = (), beside: AdmissionLog | None = None
    ) -> Snapshot | None:
        """Keep the newest snapshots and forget those before them, atomically; the oldest one left, or None.

        Parameters
        ----------
        keep
            How many, at least 1.
        in_use
            Versions that are kept as well, and with them those after them; likewise what is being read.
        beside
            The log of the stream, where only as many are kept as take little room, with what the log has behind the oldest of
            them; None: so many, whatever they take.
        """
        with self._lock:
            stored = self._store.versions(self._loop)
            if not stored:
                return None
            if beside is not None:
                keep = min(keep, self._that_take_little(stored[-keep:], beside))
            wanted = {*in_use, *(+self._read)}
            oldest = min([stored[-keep:][0], *(version for version in stored if version in wanted)])
            if oldest != stored[0]:
                self._store.delete_before(self._loop, oldest)
        contents = self._contents(oldest)
        return None if contents is None else contents.snapshot

    def _that_take_little(self, versions: Sequence[int], log: AdmissionLog) -> int:
        """How many of the newest versions take little room beside the newest: pages that it has otherwise, and the log until then."""
        later = self._contents(versions[-1])
        if later is None:
            return 1
        room_bytes = max(_SPARED_BYTES, later.counts.get("bytes", 0) * _SPARED_SHARE)
        kept, superseded_bytes = 1, 0
        for version in reversed(versions[:-1]):
            superseded_bytes += 0 if later is None else later.counts.get("written", 0)
            logged_bytes = log.size_after(version).size_bytes - log.size_after(versions[-1]).size_bytes
            if superseded_bytes + logged_bytes > room_bytes:
                break
            later = self._contents(version)
            kept += 1
        return kept

    def write(self, loops: Sequence[LoopToStore], points: Points | None = None, *, logged: int = -1) -> None:
        """Write a snapshot, atomically; pages that are as they were in the newest one are not written again.

        Parameters
        ----------
        loops
            All of them at one version; the first one's parts have the graph. How vertices fall to pages should stay the same,
            or everything is written anew.
        points
            What the points of the stream are declared to be; None: it has none.
        logged
            Up to which version the log of the stream is written; -1: it has none.

        Raises
        ------
        StoreFull
            When there is no room; what is stored is as it was.
        WorkerLost
            When workers are lost that hold parts of it; likewise.
        """
        first = loops[0]
        if points is not None and not loops[0].points:
            raise InternalError(f"points are to be stored, and loop {first.name!r} was forked without them")
        vertices, edges = (
            sum(counts) for counts in zip(*(part.sizes() for part in first.parts), strict=True)
        )
        pages = _page_count(vertices, edges)
        for loop in loops:
            for part in loop.parts:
                while not part.arrange(pages):
                    pass
        before, digests = self._digests(), {}
        sizes = [part.sizes() for part in first.points]
        counts = {"vertices": vertices, "edges": edges, "logged": logged} | (
            {} if points is None else {"points": sum(count for part in sizes for _, count, _ in part)}
        )
        record_bytes = 0
        changed: dict[bytes, bytes | memoryview] = {}
        for key, page in _pages(loops, pages):
            name = key.decode()
            digests[name] = hashlib.sha256(page).hexdigest()[:_DIGEST_DIGITS]
            if before.get(name) != digests[name]:
                changed[key] = page
            record_bytes += page.nbytes if key.startswith((EDGES, POINTS)) else 0
        counts |= {
            "bytes": record_bytes,
            "written": sum(memoryview(page).nbytes for page in changed.values()),
        }
        changed[DIGESTS] = json.dumps(digests).encode()
        entries = [
            loop_entry(
                loop.name,
                loop.snapshot,
                loop.program,
                identity=kind_of_program(loop.program).identity(loop.program),
                app=loop.app,
                columns=_columns_of(loop) if loop.arrays is None else (),
                arrays=loop.arrays or {},
                findings=loop.findings,
            )
            for loop in loops
        ]
        self._store.write(
            self._loop,
            first.snapshot.version,
            changed,
            deletes=[key.encode() for key in before if key not in digests],
            metadata=metadata_of(first.snapshot, entries, counts, points),
        )

    def _digests(self) -> dict[str, str]:
        newest = self.newest_version()
        page = None if newest is None else self._store.read(self._loop, DIGESTS, newest)
        return {} if page is None else dict(json.loads(page))

    def _contents(self, version: int) -> Contents | None:
        text = self._store.metadata(self._loop, version)
        # None where it was deleted since it was listed.
        if text is None:
            return None
        return Contents.parsed(text, self._loop, version, is_durable=self.is_durable)


def _page_count(vertices: int, edges: int) -> int:
    pages = 1
    while pages < _MOST_PAGES and (pages * PAGE_VERTICES < vertices or pages * PAGE_EDGES < edges):
        pages *= 2
    return pages


def _columns_of(loop: LoopToStore) -> list[Column]:
    """What the pages of a loop have, by any of them."""
    _, columns = loop.parts[0].page_vertices(0)()
    return [Column.of(name, column) for name, column in columns.items()]


def _pages(loops: Sequence[LoopToStore], pages: int) -> Iterator[tuple[bytes, memoryview]]:
    """The pages and their keys; empty pages are left out."""
    ahead = _asked(loops, 0)
    for number in range(pages):
        name = b"%06x" % number
        ids: list[NDArray[np.int64]] = []
        vertices, edges = ahead
        if number + 1 < pages:
            ahead = _asked(loops, number + 1)
        for loop, awaited in zip(loops, vertices, strict=True):
            parts = [part() for part in awaited]
            own = [part[0] for part in parts]
            if not ids:
                ids = own
                yield from _page(VERTICES + name, page_of([[column] for column in ids]))
            elif not all(map(np.array_equal, ids, own)):
                raise InternalError(
                    f"loop {loop.name!r} has other vertices than {loops[0].name!r} at version {loop.snapshot.version}"
                )
            if loop.arrays is None:
                columns = [list(part[1].values()) for part in parts]
                yield from _page(loop_key(loop.name, name), page_of(columns))
        yield from _page(EDGES + name, edge_page_of([part() for part in edges]))

    for loop in loops:
        for array_name, array in (loop.arrays or {}).items():
            yield from _page(array_key(loop.name, array_name), page_of([[array]]))
    for part in loops[0].points:
        for shard, _, count in part.sizes():
            for page in range(count):
                yield point_key(shard, page), memoryview(part.page_points(shard, page))


def _asked(
    loops: Sequence[LoopToStore], page: int
) -> tuple[list[list[Callable[[], PageVertices]]], list[Callable[[], PageEdges]]]:
    """Ask all workers for a page: for the vertices of each loop, and the edges of the first one."""
    vertices = [[part.page_vertices(page) for part in loop.parts] for loop in loops]
    return vertices, [part.page_edges(page) for part in loops[0].parts]


def _page(key: bytes, page: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    if page.nbytes:
        yield key, page


def _joined(parts: list[NDArray[Any]], none: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else none


def _snapshot_of(contents: Contents, loop: str) -> Snapshot:
    return next((point.snapshot for point in contents.fixed_points if point.loop == loop), contents.snapshot)
