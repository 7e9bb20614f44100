"""One worker's part of a snapshot that is to be stored, as the pages that its vertices and edges fall to.

Whoever stores it asks for a page after another, so nobody holds all of it at once, and no single answer takes long. Nothing here
keeps the interpreter lock for long: compiled functions and NumPy's, which give it back, do what is proportional to the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..graph import EdgesByPage, EvolvingGraph, pages_of
from ..graph.edges_by_page import Edges, PageEdges
from ..graph.graph_module import graph_module
from ..loops.part import PageVertices

_STRETCH = 1 << 20  # entries that are put by page in one step: some ten milliseconds


@dataclass(frozen=True, slots=True, eq=False)
class _ByPage:
    """Entries by page: `bounds` has where each page begins in `order`, which has their numbers."""

    bounds: NDArray[np.int64]
    order: NDArray[np.int64]

    def of(self, page: int) -> NDArray[np.int64]:
        """The numbers of the entries of a page, ascending."""
        return self.order[self.bounds[page] : self.bounds[page + 1]]


class SnapshotPages:
    """See the module. Asked from one thread at a time, when the branch is over and its edges, if it reads them, are read.

    Parameters
    ----------
    graph
        Of the branch.
    columns_of
        What the kind stores of some rows, by name; see `PagesView.page_vertices`.
    vertices
        How many had been seen at its cut; the first of them stay what they are.
    edges
        All of them, read; None where those of a branch of another loop are stored.
    """

    def __init__(
        self,
        graph: EvolvingGraph,
        *,
        columns_of: Callable[[NDArray[np.int32]], dict[str, NDArray[Any]]],
        vertices: int,
        edges: EdgesByPage | None,
    ) -> None:
        self._ids = graph.columns.ids
        self._columns_of = columns_of
        self._vertices = graph.known_rows(vertices).astype(np.int32)
        self._edges = edges
        self._pages = 1
        self._arranging: Iterator[_ByPage | None] | None = None
        self._vertices_by_page: _ByPage | None = None

    def sizes(self) -> tuple[int, int]:
        """How many vertices and edges there are."""
        return len(self._vertices), 0 if self._edges is None else len(self._edges)

    def arrange(self, pages: int) -> bool:
        """Put some of the entries into their pages; return whether that was all. Pages can be asked for then."""
        if self._arranging is None:
            self._pages, self._arranging = pages, _by_page(self._ids, self._vertices, pages)
        self._vertices_by_page = next(self._arranging, self._vertices_by_page)
        return self._vertices_by_page is not None

    def page_vertices(self, page: int) -> Callable[[], PageVertices]:
        """See `PagesView`."""
        return partial(self._vertices_of, page)

    def page_edges(self, page: int) -> Callable[[], PageEdges]:
        """See `PagesView`."""
        return partial(self._read_edges().page, page, self._pages)

    def some_edges(self, first: int, stop: int) -> Edges:
        """See `PagesView`."""
        return self._read_edges().some(first, stop)

    def _vertices_of(self, page: int) -> PageVertices:
        if self._vertices_by_page is None:
            raise InternalError("pages are asked for before all is arranged")
        rows = self._vertices[self._vertices_by_page.of(page)]
        return self._ids[rows], self._columns_of(rows)

    def _read_edges(self) -> EdgesByPage:
        if self._edges is None:
            raise InternalError("the branch was forked without its edges, so none of them were read")
        return self._edges


def _by_page(ids: NDArray[np.int64], rows: NDArray[np.int32], pages: int) -> Iterator[_ByPage | None]:
    """Put rows by page, a stretch for each item, of which the last one has them. As a method it would keep its object until a collection."""
    kernel, page_of, bounds = graph_module(), np.empty(len(rows), np.uint16), np.zeros(pages + 1, np.int64)
    for stretch in _stretches(len(rows)):
        page_of[stretch] = pages_of(ids[rows[stretch]], pages)
        kernel.count_by_page(page_of[stretch], bounds[1:])
        yield None
    np.cumsum(bounds, out=bounds)
    order, following = np.empty(len(rows), np.int64), bounds[:-1].copy()
    for stretch in _stretches(len(rows)):
        kernel.order_by_page(page_of[stretch], stretch.start, following, order)
        yield None
    yield _ByPage(bounds, order)


def _stretches(length: int) -> Iterator[slice]:
    for first in range(0, length, _STRETCH):
        yield slice(first, min(first + _STRETCH, length))
