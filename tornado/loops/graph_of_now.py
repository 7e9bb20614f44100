"""All edges of a stream's graph as it is, looked at through one of its loops, when another one begins on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from ..errors import InvalidArgument
from ..records.edge_batch import EdgeBatch
from .branch_edges import edges_in_order
from .checkpoint import not_stored
from .edge_shares import reverse_shares_of
from .main_loop import MainLoop
from .statistics import BranchState
from .stream import BACKLOG_LIMIT_RECORDS, RecordStream
from .vertex_program import VertexProgram, can_refuse, first_refused

_Found = TypeVar("_Found")


def through_keeper(stream: RecordStream, look: Callable[[MainLoop], _Found]) -> _Found:
    """Return what `look` returns of the loop through which a graph is looked at, or of the next where that is removed or fails meanwhile.

    Raises
    ------
    InvalidArgument
        When all loops have failed, or were removed.
    """
    while isinstance(keeper := stream.keeper(), MainLoop):
        try:
            return look(keeper)
        except Exception:
            if keeper.error is None or stream.keeper() is None:
                raise
    raise InvalidArgument(
        f"no loop on stream {stream.name!r} keeps its edges: those that did have failed or were removed",
        hint="Start it on a stream of its own.",
    )


def must_be_looked_at(program: VertexProgram) -> bool:
    """Whether a program reads edges and may refuse some."""
    return program.declared_points is None and can_refuse(program)


def require_possible(keeper: MainLoop, program: VertexProgram) -> None:
    """Refuse a program that cannot take an edge of the graph.

    Parameters
    ----------
    keeper
        The loop that the graph is looked at through.
    program
        Of a loop that is to begin.

    Raises
    ------
    InvalidArgument
        With that edge.
    """
    for batch in edges_of_now(keeper):
        found = first_refused(program, batch)
        if found is not None:
            raise InvalidArgument(
                f"{type(program).__name__} cannot be started on stream {keeper.stream.name!r}, which has the edge "
                f"{found[1]}: {found[2]}",
                hint="Remove such edges first, or start it on another stream.",
            )


def fill_reverse(keeper: MainLoop, losses: int) -> None:
    """Have the workers put all edges of the graph into the reverse lists that they have begun, while the stream stands still."""
    stream = keeper.stream
    for batch in edges_of_now(keeper):
        keeper.await_parts(lambda: stream.backlog() <= BACKLOG_LIMIT_RECORDS, losses)
        shares = reverse_shares_of(batch, keeper.partition)
        with stream.order:
            keeper.raise_loss(losses)  # the new ones have no reverse lists
            stream.post_shares(shares, stream.counts()[0])


def edges_of_now(keeper: MainLoop) -> Iterator[EdgeBatch]:
    """The edges of the graph, a page of a worker at a time; those with one target are in the order of their arrival."""
    with keeper.stream.order:
        branch = keeper.fork_to_store(reads_edges=True)
    try:
        branch.wait()
        if branch.state is not BranchState.CONVERGED:
            raise not_stored(keeper, branch)
        for page in edges_in_order(branch):
            yield EdgeBatch.insertions(page.sources, page.targets, page.weights)
    finally:
        branch.cancel()
        branch.release()
