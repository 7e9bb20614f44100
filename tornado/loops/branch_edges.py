"""All edges of one version of the graph, a page at a time: of a branch that was forked to read them, or of a stored snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ..errors import InternalError
from .branch import Branch
from .part import StorableView
from .stored_snapshot import PAGE_EDGES, EdgeColumns, StoredSnapshots


def edges_of_branch(branch: Branch) -> Iterator[EdgeColumns]:
    """The edges of a branch that is over, a page of a worker at a time; those with one target are in the order of arrival.

    Raises
    ------
    WorkerLost
        When a worker is lost that has some of them.
    """
    parts = branch.states()
    if not parts:
        raise InternalError(f"branch {branch.id} is not over or was released: it has no edges")
    for _, part in parts:
        pages = cast("StorableView", part).pages()
        _, edges = pages.sizes()
        count = 1
        while count * PAGE_EDGES < edges:
            count *= 2
        while not pages.arrange(count):
            pass
        for page in range(count):
            yield EdgeColumns(*pages.page_edges(page))


def edges_of_stored(stored: StoredSnapshots, version: int) -> Iterator[EdgeColumns]:
    """The edges of a stored snapshot, which is not forgotten meanwhile.

    Raises
    ------
    InvalidArgument
        When it was forgotten before.
    """
    with stored.reading(version):
        yield from stored.find(version).edge_pages()
