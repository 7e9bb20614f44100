"""Points that are pushed: those of a Python program, as columns, and which streams have any."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from ..errors import InvalidArgument
from ..ingest.interner import Draft
from ..records.point_batch import PointBatch
from ..records.point_schema import Points


class PointArguments(TypedDict, total=False):
    """See `PointBatch.of`; and `times`, which are of edges."""

    times: Any

    ids: Any
    labels: Any
    features: Any
    weights: Any


def points_of(
    points: Points | None,
    op: int,
    *edges: Any,
    draft: Draft | None = None,
    **columns: Unpack[PointArguments],
) -> PointBatch | None:
    """Return the points of a call, or None where it is about edges.

    Parameters
    ----------
    points : Points or None
        What the stream has.
    op : int
        What is done with them.
    edges
        What was given of edges.
    draft
        Numbers the ids, where these are strings.
    columns
        What was given of points.

    Raises
    ------
    InvalidArgument
        At a bad entry, for both in one call, and for points of a stream that has none.
    """
    given = {name: column for name, column in columns.items() if column is not None}
    if not given:
        return None
    if any(column is not None for column in edges):
        raise InvalidArgument(
            f"a call has edges and {', '.join(given)} of points", hint="Make a call for each of the two."
        )
    if points is None:
        raise InvalidArgument(
            f"{', '.join(given)} are of points, but the stream has none",
            hint="Begin it with a schema: session.stream(name, schema=tornado.Points(features=28)).",
        )
    if "ids" not in given:
        raise InvalidArgument(
            "ids is left out, but a point has an id",
            hint="Any integers serve, such as range(n); or strings, where the stream is one of ids='string'.",
        )
    if draft is not None:
        given["ids"] = draft.intern(given["ids"])
    return PointBatch.of(points, **given, op=op)


def required_points(stream: str, points: Points | None) -> Points:
    """Return what the points of a stream are.

    Raises
    ------
    InvalidArgument
        When it has none.
    """
    if points is None:
        raise InvalidArgument(
            f"stream {stream!r} has no points, as nobody has said what these are",
            hint="Points go to a stream that has begun with them: tornado run APP --points PATH, or session.stream(name, schema=…).",
        )
    return points
