"""All edges of a stream's graph as it is, looked at through one of its loops, when another one begins on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from ..errors import InvalidArgument, UnknownStream
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

    Where no edge ever came there is nothing to look at, and any loop serves.

    Raises
    ------
    InvalidArgument
        When there are edges, and all loops that read them have failed or were removed, or there never was one.
    UnknownStream
        When all of its loops were removed meanwhile.
    """
    while isinstance(keeper := _keeper(stream), MainLoop):
        try:
            return look(keeper)
        except Exception:
            # Of one that was removed whoever starts another one has never heard.
            if keeper.error is None or (_keeper(stream) is None and not keeper.is_removed):
                raise
    if all(loop.is_removed for loop in stream.loops):
        raise UnknownStream(
            f"no loop reads stream {stream.name!r} any more: its last one was removed while this one was to begin beside it",
            hint="Start it as the first loop of a stream.",
        )
    raise _unseen(stream)


def _keeper(stream: RecordStream) -> object:
    found = stream.keeper()
    return found if found is not None or stream.had_edges else next(iter(stream.running), None)


def _unseen(stream: RecordStream) -> InvalidArgument:
    return InvalidArgument(
        f"stream {stream.name!r} has edges that cannot be looked at: no loop that reads edges runs on it (any more)",
        hint="Start it on a stream of its own; or, beside loops that learn, before the first edges come.",
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
        keeper.await_parts(lambda: stream.workers.backlog() <= BACKLOG_LIMIT_RECORDS, losses)
        shares = reverse_shares_of(batch, keeper.partition)
        with stream.order:
            keeper.raise_loss(losses)  # the new ones have no reverse lists
            stream.workers.post_shares(shares, stream.counts()[0])


def edges_of_now(keeper: MainLoop) -> Iterator[EdgeBatch]:
    """The edges of the graph, a page of a worker at a time; those with one target are in the order of their arrival."""
    with keeper.stream.order:
        if not keeper.stream.had_edges:
            return
        if keeper.program.declared_points is not None:
            raise _unseen(keeper.stream)  # they have come meanwhile
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
