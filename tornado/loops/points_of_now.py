"""All points of a stream as they are, looked at through one of its loops, when another one begins on it."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import InvalidArgument
from ..records.point_batch import PointBatch
from .branch_edges import point_pages_of_branch
from .main_loop import MainLoop
from .stream import RecordStream
from .vertex_program import VertexProgram, first_refused


def require_possible(stream: RecordStream, program: VertexProgram) -> None:
    """Refuse a program that cannot take a point of a stream.

    Parameters
    ----------
    program
        Of a loop that is to begin; it may refuse points.

    Raises
    ------
    InvalidArgument
        With that point.
    """
    keeper = next((loop for loop in stream.running if isinstance(loop, MainLoop)), None)
    if keeper is None or stream.points is None:
        return
    for batch in _points_of_now(keeper, PointBatch.kind_of(stream.points)):
        found = first_refused(program, batch)
        if found is not None:
            raise InvalidArgument(
                f"{type(program).__name__} cannot be started on stream {stream.name!r}, which has the record {found[1]}: {found[2]}",
                hint="Remove such points first, or start it on another stream.",
            )


def _points_of_now(keeper: MainLoop, kind: type[PointBatch]) -> Iterator[PointBatch]:
    """A page of a worker at a time."""
    with keeper.stream.order:
        branch = keeper.fork_to_store(reads_edges=True, most=0)  # there at once, whatever its program does
    try:
        branch.wait()
        if branch.error is not None:
            raise branch.error
        for page in point_pages_of_branch(branch):
            yield kind.decode(page)
    finally:
        branch.cancel()
        branch.release()
