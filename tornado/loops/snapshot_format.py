"""What a stored snapshot is written as: pages of named columns, each with a type, and metadata that say which there are.

Source: the versioned storage of Tornado (SIGMOD 2016, section 5.2). A snapshot of a stream is one version in the line that has
the stream's name. In pages all numbers are little-endian, and the columns come one after another, each whole.

Format 4:

- ``v/PAGE``: vertices: ``ids`` (int64);
- ``l/LOOP/PAGE``: what a loop has of the vertices of that page, in their order: ``values``, of the type that the loop has them
  in, and ``parents``, the ids (int64) of the producers that they came from (the vertex itself where it has no producer);
- ``e/PAGE``: edges by the page of their target, as `edge_pages.py` writes them: types, ``sources``, ``targets``, ``weights``. Edges
  with the same target are in the order of their arrival, so the oldest of parallel ones comes first;
- ``p/SHARD/PAGE``: points of a shard, in the order in which they came: insertions, as `RecordBatch.encode` writes them;
- ``m/LOOP/NAME``: what a loop has as a whole, as the parameters of a learner: an array;
- ``digests``: the digest of every page, as JSON, so that the next snapshot writes only the pages that changed;
- the metadata of the version, as JSON: offsets, instant, iteration, delay bound, counts, the columns of pages of vertices, and of
  each loop its name, program, app, iteration, delay bound, columns and arrays (of which the shape is that of
  all), and what the points are declared to be, null where there are none. A column is its name, its type as NumPy
  writes it, and the shape of one entry: ``["values", "<i8", [2]]`` is a pair of integers for each vertex.

A page holds the vertices that fall to it by a hash of the id. Readers need not know the hash: they read all pages.

Older formats are read and not written any more. Format 3 has ``e/PAGE`` without types: ids are int64 and weights float64, and the
metadata have their columns. Format 2 is that without points and without arrays. Format 1 has the fixed point of one loop, the name
of which it does not say: ``v/PAGE`` has the ids, the values (float64) and the parents, and the metadata have its program beside the
rest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument, StoreCorrupt
from ..records.point_schema import Points
from .snapshot import Snapshot

VERTICES = b"v/"
EDGES = b"e/"
POINTS = b"p/"
DIGESTS = b"digests"
_NEWEST, _OLDEST = 4, 1
_TYPED_EDGES = 4  # from there on pages of edges say their types


@dataclass(frozen=True, slots=True)
class Column:
    """A column of pages.

    Attributes
    ----------
    name
        What it has.
    kind
        The type of its numbers, as NumPy writes it, with the order of their bytes: ``<f8``.
    shape
        Of one entry: () for a number, (2,) for a pair.
    """

    name: str
    kind: str
    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, array: NDArray[Any]) -> Self:
        """The column that has such entries as an array."""
        return cls(name, array.dtype.newbyteorder("<").str, array.shape[1:])

    @property
    def entry_bytes(self) -> int:
        """What one entry takes."""
        return np.dtype(self.kind).itemsize * math.prod(self.shape)

    def written(self) -> list[Any]:
        """Itself as metadata have it."""
        return [self.name, self.kind, list(self.shape)]


_IDS = Column("ids", "<i8")
_PRODUCED = (Column("values", "<f8"), Column("parents", "<i8"))
VERTEX_COLUMNS = (_IDS,)
EDGE_COLUMNS = (Column("sources", "<i8"), Column("targets", "<i8"), Column("weights", "<f8"))


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """What a stored snapshot has of one loop.

    Attributes
    ----------
    loop
        The name of the loop; in format 1 that of the stream.
    snapshot
        The prefix, with the iteration and the delay bound of this loop.
    program
        The identity of the program whose fixed point it is.
    described
        That program for people: its class and its parameters.
    app
        The name of the app by which it was started on the running stream, or None.
    columns
        Of its pages; none where the pages of vertices have what it has.
    arrays
        What it has as a whole, by name; none where all of it is by vertex.
    findings
        Of the branch that it was stored from, by worker, for `ProgramKind.judge`; none where it was stored without.
    """

    loop: str
    snapshot: Snapshot
    program: str
    described: str
    app: str | None
    columns: tuple[Column, ...]
    arrays: tuple[Column, ...] = ()
    findings: tuple[Mapping[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """What a stored snapshot has, as its metadata say.

    Attributes
    ----------
    snapshot
        The prefix, with the iteration and the delay bound of the first loop.
    vertices, edges
        The columns of their pages; of edges none where each page says its types.
    fixed_points
        Of each loop, in the order in which they were started.
    points
        What the points are declared to be; None where there are none.
    counts
        Of vertices, edges and points, the bytes of edges and points, and those of pages that were not so before; only what whoever
        wrote it has counted.
    """

    snapshot: Snapshot
    vertices: tuple[Column, ...]
    edges: tuple[Column, ...]
    fixed_points: tuple[FixedPoint, ...]
    points: Points | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parsed(cls, text: bytes, line: str, version: int, *, is_durable: bool) -> Self:
        """Metadata as they were written; `is_durable` is what the store is that has them.

        Raises
        ------
        StoreCorrupt
            When they are none, or of a format that is not known here.
        """
        try:
            metadata: dict[str, Any] = json.loads(text)
            found = metadata["format"]
            if found not in range(_OLDEST, _NEWEST + 1):
                raise StoreCorrupt(
                    f"version {version} of loop {line!r} has format {found!r}, this program reads {_OLDEST} to {_NEWEST}",
                    hint="Read it with the version of the program that wrote it, or a newer one.",
                )
            snapshot = Snapshot(
                stream=line,
                offsets=dict(metadata["offsets"]),
                instant=datetime.fromisoformat(metadata["instant"]),
                version=int(metadata["version"]),
                iteration=int(metadata["iteration"]),
                delay_bound=metadata["delay_bound"],
                is_durable=is_durable,
            )
            if found == _OLDEST:
                only = _fixed_point({"name": line, "columns": [], **metadata}, snapshot)
                return cls(snapshot, (*VERTEX_COLUMNS, *_PRODUCED), EDGE_COLUMNS, (only,))
            columns = metadata["columns"]
            first, *others = (_fixed_point(entry, snapshot) for entry in metadata["loops"])
            points = _points(metadata.get("points"))
            of_edges = () if found >= _TYPED_EDGES else columns["edges"]
            of_graph = _columns(columns["vertices"]), _columns(of_edges)
            counts = {str(name): int(count) for name, count in dict(metadata.get("counts", {})).items()}
            return cls(snapshot, *of_graph, (first, *others), points, counts)
        except (ValueError, KeyError, TypeError, AttributeError, InvalidArgument) as error:
            raise StoreCorrupt(
                f"version {version} of loop {line!r} is no stored snapshot: {error!r}"
            ) from error


def loop_key(loop: str, page: bytes) -> bytes:
    """The key of what a loop has of the vertices of a page. A name of a loop has no slash."""
    return b"l/%b/%b" % (loop.encode(), page)


def point_key(shard: int, page: int) -> bytes:
    """The key of a page of points."""
    return POINTS + b"%02x/%06x" % (shard, page)


def array_key(loop: str, name: str) -> bytes:
    """The key of what a loop has as a whole."""
    return b"m/%b/%b" % (loop.encode(), name.encode())


def metadata_of(
    snapshot: Snapshot,
    loops: Sequence[Mapping[str, Any]],
    counts: Mapping[str, int],
    points: Points | None,
) -> bytes:
    """The metadata of a snapshot, in the newest format.

    Parameters
    ----------
    snapshot
        Of the first loop.
    loops
        What `loop_entry` made of each.
    counts
        See `Contents`.
    points
        What the points are declared to be; None where there are none.
    """
    return json.dumps(
        {
            "format": _NEWEST,
            "offsets": dict(sorted(snapshot.offsets.items())),
            "instant": snapshot.instant.isoformat(),
            "version": snapshot.version,
            "iteration": snapshot.iteration,
            "delay_bound": snapshot.delay_bound,
            "columns": {"vertices": [column.written() for column in VERTEX_COLUMNS]},
            "loops": list(loops),
            "points": None if points is None else _declaration(points),
            "counts": dict(counts),
        }
    ).encode()


def loop_entry(
    name: str,
    snapshot: Snapshot,
    program: Any,
    *,
    identity: str,
    app: str | None,
    columns: Sequence[Column],
    arrays: Mapping[str, NDArray[Any]],
    findings: Sequence[Mapping[str, float]] = (),
) -> dict[str, Any]:
    """What the metadata of a snapshot say of a loop, which ran a program of this identity."""
    return {
        "name": name,
        "program": {
            "class": type(program).__qualname__,
            "parameters": {name: repr(value) for name, value in program.parameters().items()},
            "identity": identity,
        },
        "app": app,
        "iteration": snapshot.iteration,
        "delay_bound": snapshot.delay_bound,
        "columns": [column.written() for column in columns],
        "arrays": [
            Column(name, array.dtype.newbyteorder("<").str, array.shape).written()
            for name, array in arrays.items()
        ],
        "findings": [dict(found) for found in findings],
    }


def page_of(parts: Sequence[Sequence[NDArray[Any]]]) -> memoryview:
    """The page that has these columns: each one of all parts, one after another. NumPy gives the interpreter lock back meanwhile."""
    columns = [column for columns in zip(*parts, strict=True) for column in columns]
    page: NDArray[np.uint8] = np.concatenate(
        [
            np.ascontiguousarray(column, column.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
            for column in columns
        ]
    )
    return page.data


def columns_of(page: bytes, columns: Iterable[Column]) -> dict[str, NDArray[Any]]:
    """The columns of a page, by name, in the byte order of this machine.

    Raises
    ------
    ValueError
        When it is no whole number of entries.
    """
    columns = list(columns)
    entry_bytes = sum(column.entry_bytes for column in columns)
    if not entry_bytes or len(page) % entry_bytes:
        raise ValueError(f"{len(page)} bytes, which is no whole number of entries")
    count, offset = len(page) // entry_bytes, 0
    found = {}
    for column in columns:
        flat = np.frombuffer(page, column.kind, count * math.prod(column.shape), offset)
        offset += flat.nbytes
        found[column.name] = flat.astype(flat.dtype.newbyteorder("="), copy=False).reshape(
            count, *column.shape
        )
    return found


def _columns(written: Iterable[Sequence[Any]]) -> tuple[Column, ...]:
    columns = tuple(Column(str(name), str(kind), tuple(map(int, shape))) for name, kind, shape in written)
    for column in columns:
        if np.dtype(column.kind).kind not in "biuf":
            raise ValueError(f"column {column.name} has the type {column.kind}, which is none of numbers")
    return columns


def _declaration(points: Points) -> dict[str, Any]:
    return {
        "features": points.features,
        "sparse": points.sparse,
        "dtype": points.value_type.name,
        "names": points.names,
    }


def _points(written: Mapping[str, Any] | None) -> Points | None:
    return None if written is None else Points(**written)


def _fixed_point(entry: Mapping[str, Any], snapshot: Snapshot) -> FixedPoint:
    program = entry["program"]
    # As one writes its construction.
    parameters = ", ".join(f"{name}={value}" for name, value in dict(program["parameters"]).items())
    return FixedPoint(
        loop=str(entry["name"]),
        snapshot=replace(snapshot, iteration=int(entry["iteration"]), delay_bound=entry["delay_bound"]),
        program=str(program["identity"]),
        described=f"{program['class']}({parameters})",
        app=entry.get("app"),
        columns=_columns(entry["columns"]),
        arrays=_columns(entry.get("arrays", ())),
        findings=tuple(
            {str(name): float(number) for name, number in dict(found).items()}
            for found in entry.get("findings", ())
        ),
    )
