"""The ways that a question asked for, as those who asked see them: with ids as they are written, as JSON, and as a table.

A vertex that was not reached has an entry without a value and without vertices; one that was never seen is listed as unknown. An
answer that was stopped before its end has no vertices where the way to a value is not there yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import pyarrow as pa

from ..loop_views import BranchView, WayView
from .ids import IdCodec, Vertex
from .request import QueryRequest

_BYTES_A_PATH = 200
_BYTES_A_VERTEX = 16


class PathTo(TypedDict):
    """The way to one vertex.

    Attributes
    ----------
    vertex
        Where it leads.
    value
        Of that vertex; None where it was not reached.
    vertices
        From where the way begins to the vertex itself; none where it was not reached.
    weights
        Of the edges between them.
    """

    vertex: Vertex
    value: float | int | str | None
    vertices: list[Vertex]
    weights: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class FoundPaths:
    """See the module.

    Attributes
    ----------
    targets
        The vertices that were asked for and seen, in their order.
    ways
        To each of them.
    unknown
        Those that were never seen.
    codec
        Of the loop.
    is_text
        Whether ids that are numbers are written as text.
    """

    targets: Sequence[Vertex]
    ways: Sequence[WayView]
    unknown: Sequence[Vertex]
    codec: IdCodec
    is_text: bool = False

    @classmethod
    def of(cls, asked: Sequence[Vertex], ways: Mapping[int, WayView], codec: IdCodec) -> FoundPaths:
        """Choose the ways to some vertices."""
        names = list(dict.fromkeys(asked))
        ids, known = codec.encode(names)
        pairs = list(zip(names, ids.tolist(), known.tolist(), strict=True))
        found = [(name, ways[vertex]) for name, vertex, is_known in pairs if is_known and vertex in ways]
        unknown = [name for name, vertex, is_known in pairs if not (is_known and vertex in ways)]
        return cls([name for name, _ in found], [way for _, way in found], unknown, codec)

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def size_bytes(self) -> int:
        """What keeping them costs."""
        return sum(_BYTES_A_PATH + _BYTES_A_VERTEX * len(way.vertices) for way in self.ways)

    def as_text(self) -> FoundPaths:
        """The same with ids that are numbers as text."""
        return replace(self, is_text=True)

    def written(self) -> list[PathTo]:
        """As they are in Python, where an infinity that is a value is one."""
        return [
            PathTo(
                vertex=self._written(target),
                value=way.value if way.is_reached else None,
                vertices=self._names(way),
                weights=way.weights.tolist(),
            )
            for target, way in zip(self.targets, self.ways, strict=True)
        ]

    def as_json(self) -> list[dict[str, Any]]:
        """As JSON content."""
        return [{**path, "value": _json_number(path["value"])} for path in self.written()]

    def table(self) -> pa.Table:
        """A row for each vertex of each way, from where it begins on; the weight is that of the edge that leads there.

        A vertex that was not reached has no row.
        """
        targets: list[Vertex] = []
        steps: list[int] = []
        vertices: list[Vertex] = []
        weights: list[float | None] = []
        for target, way in zip(self.targets, self.ways, strict=True):
            length = len(way.vertices)
            targets += [self._written(target)] * length
            steps += range(length)
            vertices += self._names(way)
            weights += [None, *way.weights.tolist()][:length]
        ids = pa.string() if self.is_text or self.codec.kind == "string" else pa.int64()
        return pa.table(
            {
                "path": pa.array(targets, ids),
                "step": pa.array(steps, pa.int64()),
                "vertex": pa.array(vertices, ids),
                "weight": pa.array(weights, pa.float64()),
            }
        )

    def _names(self, way: WayView) -> list[Vertex]:
        names = self.codec.decode(way.vertices)
        return [str(name) for name in names] if self.is_text else list(names)

    def _written(self, vertex: Vertex) -> Vertex:
        return str(vertex) if self.is_text else vertex


def ways_of(
    requests: Iterable[QueryRequest], branch: BranchView, codec_of: Callable[[str], IdCodec]
) -> Mapping[int, WayView]:
    """The ways that some questions have asked a branch for, which is over; all at once.

    Parameters
    ----------
    codec_of
        From a loop's name to the codec of its vertices.
    """
    wanted: dict[int, None] = {}
    are_asked = False
    for request in requests:
        if request.paths is not None:
            are_asked = True
            ids, known = codec_of(request.loop).encode(request.paths)
            wanted |= dict.fromkeys(ids[known].tolist())
    return branch.ways(list(wanted)) if are_asked else {}


def _json_number(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
