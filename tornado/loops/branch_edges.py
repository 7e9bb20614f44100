"""All edges of one version of the graph, a stretch at a time: of a branch that was forked to read them, or of a stored snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ..errors import InternalError
from ..records.point_batch import PointBatch
from .branch import Branch
from .edge_pages import EdgeColumns
from .part import StorableView
from .stored_snapshot import StoredSnapshots

_PAGES_LOOKED_AT = 256  # of the graph, one after another
_STRETCH_EDGES = 1 << 18  # of a worker in one message: 6 MiB


def edges_of_branch(branch: Branch) -> Iterator[EdgeColumns]:
    """The edges of a branch that is over, a stretch of a worker at a time, in any order; once, as it lets go of them.

    Raises
    ------
    WorkerLost
        When a worker is lost that has some of them.
    """
    for part in _parts_of(branch):
        pages = part.pages()
        _, edges = pages.sizes()
        for first in range(0, edges, _STRETCH_EDGES):
            yield EdgeColumns(*pages.some_edges(first, min(first + _STRETCH_EDGES, edges)))
        part.drop_edges()


def edges_in_order(branch: Branch) -> Iterator[EdgeColumns]:
    """The same, a page of a worker at a time; those with one target are in the order of their arrival."""
    for part in _parts_of(branch):
        pages = part.pages()
        while not pages.arrange(_PAGES_LOOKED_AT):
            pass
        for page in range(_PAGES_LOOKED_AT):
            yield EdgeColumns.of(*pages.page_edges(page)())
        part.drop_edges()


def points_of_branch(branch: Branch) -> Iterator[PointBatch]:
    """The points of a branch that is over, a page of a shard at a time."""
    declared = branch.program.declared_points
    assert declared is not None
    yield from map(PointBatch.kind_of(declared).decode, point_pages_of_branch(branch))


def point_pages_of_branch(branch: Branch) -> Iterator[bytes]:
    """The same as they are written."""
    for part in _parts_of(branch):
        pages = part.point_pages()
        for shard, _, count in pages.sizes():
            for number in range(count):
                yield pages.page_points(shard, number)


def points_of_stored(stored: StoredSnapshots, version: int) -> Iterator[PointBatch]:
    """The points of a stored snapshot, which is not forgotten meanwhile."""
    with stored.reading(version):
        yield from stored.find(version).point_pages()


def edges_of_stored(stored: StoredSnapshots, version: int) -> Iterator[EdgeColumns]:
    """The edges of a stored snapshot, which is not forgotten meanwhile.

    Raises
    ------
    InvalidArgument
        When it was forgotten before.
    """
    with stored.reading(version):
        yield from stored.find(version).edge_pages()


def _parts_of(branch: Branch) -> list[StorableView]:
    parts = branch.states()
    if not parts:
        raise InternalError(f"branch {branch.id} is not over or was released: it has no edges")
    return [cast("StorableView", part) for _, part in parts]
