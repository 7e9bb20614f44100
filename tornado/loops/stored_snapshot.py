"""Snapshots of a main loop in a store, keyed by vertex: any number of workers writes them, any other number reads them.

Source: the versioned storage of Tornado (SIGMOD 2016, section 5.2). A stored snapshot is the fixed point of its prefix of the
input together with the edges of that prefix: it needs nothing else to be asked again, with other parameters too, and it pins
nothing in the memory of the loop that wrote it. It becomes visible wholly or not at all, since it is one write of its store.

Format 1, in the line of versions that has the loop's name; all numbers are little-endian, columns one after another:

- ``v/PAGE``: vertex ids (int64), values (float64), ids of the producers that the values came from (int64; the vertex itself
  where it has no producer);
- ``e/PAGE``: edges by the page of their target: source ids (int64), target ids (int64), weights (float64). Edges with the same
  target are in the order of their arrival, so the oldest of parallel ones comes first;
- ``digests``: the digest of every page, as JSON, so that the next snapshot writes only the pages that changed;
- the metadata of the version: offsets, instant, iteration, delay bound, program, counts, as JSON.

A page holds the vertices that fall to it by a hash of the id. Readers need not know the hash: they read all pages.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument, StoreCorrupt
from ..storage import VersionedStore
from .compile import program_source
from .program import SelectiveProgram
from .snapshot import Snapshot

PAGE_VERTICES = 1 << 14
_MOST_PAGES = 1 << 16
_FORMAT = 1
_DIGESTS = b"digests"
_SHOWN_VERSIONS = 20

# The page of each vertex id, for a number of pages.
PageOf = Callable[[NDArray[np.int64], int], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class VertexColumns:
    """Vertices, one entry each: ids, values, and the ids of the producers that the values came from."""

    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    parents: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class EdgeColumns:
    """Edges; those with the same target are in the order of their arrival."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]


def identity_of(program: SelectiveProgram) -> str:
    """What a program computes, as a digest: its functions as they are written, and its parameters.

    Two programs of one identity have the same fixed point, so an edited program does not take over what it computed before.
    """
    parts = [program_source(name, getattr(program, name)) for name in ("initial", "offer", "better")]
    parts += [repr(float(program.worst)), repr(program.arguments())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class StoredSnapshot:
    """A snapshot in a store, to be read.

    Attributes
    ----------
    snapshot
        Which prefix of the input it belongs to.
    program
        The identity of the program whose fixed point it holds.
    described
        That program for people: its class and its parameters.
    """

    def __init__(
        self, store: VersionedStore, loop: str, snapshot: Snapshot, program: str, described: str
    ) -> None:
        self.snapshot = snapshot
        self.program = program
        self.described = described
        self._store = store
        self._loop = loop

    def vertex_pages(self) -> Iterator[VertexColumns]:
        """The vertices, a page at a time."""
        for page in self._pages(b"v/"):
            yield VertexColumns(*_columns(page, "<i8", "<f8", "<i8"))

    def edge_pages(self) -> Iterator[EdgeColumns]:
        """The edges, a page at a time."""
        for page in self._pages(b"e/"):
            yield EdgeColumns(*_columns(page, "<i8", "<i8", "<f8"))

    def vertices(self) -> VertexColumns:
        """All vertices."""
        pages = list(self.vertex_pages())
        return VertexColumns(
            _joined([page.ids for page in pages], np.int64),
            _joined([page.values for page in pages], np.float64),
            _joined([page.parents for page in pages], np.int64),
        )

    def edges(self) -> EdgeColumns:
        """All edges."""
        pages = list(self.edge_pages())
        return EdgeColumns(
            _joined([page.sources for page in pages], np.int64),
            _joined([page.targets for page in pages], np.int64),
            _joined([page.weights for page in pages], np.float64),
        )

    def _pages(self, prefix: bytes) -> Iterator[bytes]:
        for key, page in self._store.scan(self._loop, self.snapshot.version, prefix):
            if len(page) % 24:
                raise StoreCorrupt(
                    f"page {key!r} of loop {self._loop!r} at version {self.snapshot.version} has {len(page)} bytes, "
                    "which is no whole number of entries"
                )
            yield page


class StoredSnapshots:
    """The snapshots of one loop in a store. Writers must take turns; readers need not wait for them.

    Parameters
    ----------
    store
        Not ours to close.
    loop
        The name of the loop.
    """

    def __init__(self, store: VersionedStore, loop: str) -> None:
        self._store = store
        self._loop = loop
        self._lock = threading.Lock()  # held while versions are forgotten: nobody begins to read one of them
        self._read: Counter[int] = Counter()

    @property
    def is_durable(self) -> bool:
        """Whether they outlive this process."""
        return self._store.durable

    def newest_version(self) -> int | None:
        """The newest stored version, or None."""
        return max(self._store.versions(self._loop), default=None)

    def all(self) -> list[Snapshot]:
        """The stored snapshots, oldest first."""
        found = (self._metadata(version) for version in self._store.versions(self._loop))
        return [_snapshot(metadata) for metadata in found if metadata is not None]

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
        metadata = self._metadata(version) if version in stored else None
        if metadata is None:
            newest = ", ".join(map(str, stored[-_SHOWN_VERSIONS:])) or "none"
            earlier = (
                f" and {len(stored) - _SHOWN_VERSIONS} older ones" if len(stored) > _SHOWN_VERSIONS else ""
            )
            raise InvalidArgument(
                f"at is {version}, but loop {self._loop!r} has no stored snapshot of that version; "
                f"stored versions: {newest}{earlier}",
                hint="Leave `at` out to ask about the input as it is now.",
            )
        program = metadata["program"]
        return StoredSnapshot(
            self._store, self._loop, _snapshot(metadata), str(program["identity"]), _described(program)
        )

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

    def forget(self, *, keep: int, in_use: Collection[int] = ()) -> Snapshot | None:
        """Keep the newest snapshots and forget those before them, atomically; the oldest one left, or None.

        Parameters
        ----------
        keep
            How many, at least 1.
        in_use
            Versions that are kept as well, and with them those after them; likewise what is being read.
        """
        with self._lock:
            stored = self._store.versions(self._loop)
            if not stored:
                return None
            wanted = {*in_use, *(+self._read)}
            oldest = min([stored[-keep:][0], *(version for version in stored if version in wanted)])
            if oldest != stored[0]:
                self._store.delete_before(self._loop, oldest)
        metadata = self._metadata(oldest)
        return None if metadata is None else _snapshot(metadata)

    def write(
        self,
        snapshot: Snapshot,
        program: SelectiveProgram,
        vertices: VertexColumns,
        edges: EdgeColumns,
        *,
        page_of: PageOf,
    ) -> None:
        """Write a snapshot, atomically; pages that are as they were in the newest one are not written again.

        Parameters
        ----------
        vertices, edges
            The fixed point and the graph at `snapshot`; only read.
        page_of
            How vertices fall to pages; it should stay the same, or everything is written anew.

        Raises
        ------
        StoreFull
            When there is no room; what is stored is as it was.
        """
        pages = _page_count(len(vertices.ids))
        items = dict(
            _split(b"v/", vertices.ids, (vertices.ids, vertices.values, vertices.parents), pages, page_of)
        )
        items.update(
            _split(b"e/", edges.targets, (edges.sources, edges.targets, edges.weights), pages, page_of)
        )
        digests = {
            key.decode(): hashlib.blake2b(page, digest_size=16).hexdigest() for key, page in items.items()
        }
        before = self._digests()
        changed = {
            key: page for key, page in items.items() if before.get(key.decode()) != digests[key.decode()]
        }
        changed[_DIGESTS] = json.dumps(digests).encode()
        self._store.write(
            self._loop,
            snapshot.version,
            changed,
            deletes=[key.encode() for key in before if key not in digests],
            metadata=_encoded(snapshot, program, vertices=len(vertices.ids), edges=len(edges.targets)),
        )

    def _digests(self) -> dict[str, str]:
        newest = self.newest_version()
        page = None if newest is None else self._store.read(self._loop, _DIGESTS, newest)
        return {} if page is None else dict(json.loads(page))

    def _metadata(self, version: int) -> dict[str, Any] | None:
        text = self._store.metadata(self._loop, version)
        if text is None:
            return None  # deleted since it was listed
        try:
            metadata: dict[str, Any] = json.loads(text)
            if metadata["format"] != _FORMAT:
                raise StoreCorrupt(
                    f"version {version} of loop {self._loop!r} has format {metadata['format']!r}, this program reads {_FORMAT}",
                    hint="Read it with the version of the program that wrote it.",
                )
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(
                f"version {version} of loop {self._loop!r} is no stored snapshot: {error!r}"
            ) from error
        return metadata


def _page_count(vertices: int) -> int:
    pages = 1
    while pages * PAGE_VERTICES < vertices and pages < _MOST_PAGES:
        pages *= 2
    return pages


def _split(
    prefix: bytes, keys: NDArray[np.int64], columns: tuple[NDArray[Any], ...], pages: int, page_of: PageOf
) -> Iterator[tuple[bytes, bytes]]:
    """The pages that entries fall to by their key, entries of one page in the order given; empty pages are left out."""
    narrow = page_of(keys, pages).astype(np.uint16)  # sorted by radix: linear
    order = np.argsort(narrow, kind="stable")
    bounds = np.searchsorted(narrow[order], np.arange(pages + 1))
    for page in range(pages):
        chosen = order[bounds[page] : bounds[page + 1]]
        if len(chosen):
            parts = (column[chosen].astype(column.dtype.newbyteorder("<"), copy=False) for column in columns)
            yield prefix + b"%06x" % page, b"".join(part.tobytes() for part in parts)


def _columns(page: bytes, *types: str) -> Iterator[NDArray[Any]]:
    """The columns of a page, in the byte order of this machine."""
    count = len(page) // sum(np.dtype(kind).itemsize for kind in types)
    offset = 0
    for kind in types:
        column = np.frombuffer(page, kind, count, offset)
        offset += column.nbytes
        yield column.astype(column.dtype.newbyteorder("="), copy=False)


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _encoded(snapshot: Snapshot, program: SelectiveProgram, **counts: int) -> bytes:
    return json.dumps(
        {
            "format": _FORMAT,
            "offsets": dict(sorted(snapshot.offsets.items())),
            "instant": snapshot.instant.isoformat(),
            "version": snapshot.version,
            "iteration": snapshot.iteration,
            "delay_bound": snapshot.delay_bound,
            "program": {
                "class": type(program).__qualname__,
                "parameters": {name: repr(value) for name, value in program.parameters().items()},
                "identity": identity_of(program),
            },
            "counts": counts,
        }
    ).encode()


def _described(program: Mapping[str, Any]) -> str:
    """A program as metadata have it, written as one writes its construction."""
    parameters = ", ".join(f"{name}={value}" for name, value in dict(program["parameters"]).items())
    return f"{program['class']}({parameters})"


def _snapshot(metadata: Mapping[str, Any]) -> Snapshot:
    return Snapshot(
        offsets=dict(metadata["offsets"]),
        instant=datetime.fromisoformat(metadata["instant"]),
        version=int(metadata["version"]),
        iteration=int(metadata["iteration"]),
        delay_bound=metadata["delay_bound"],
    )
