"""One worker's part of a snapshot that is to be stored, as the pages that its vertices and edges fall to.

Whoever stores it asks for a page after another, so nobody holds all of it at once, and no single answer takes long. Nothing here
keeps the interpreter lock for long: compiled functions and NumPy's, which give it back, do what is proportional to the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..graph import EdgesByPage, EvolvingGraph, pages_of
from ..graph.edges_by_page import Edges, NarrowEdges
from ..graph.graph_module import graph_module

_STRETCH = 1 << 20  # entries that are put by page in one step: some ten milliseconds

Vertices = tuple[NDArray[np.int64], dict[str, NDArray[Any]]]


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
        self._kernel = graph_module()
        self._ids = graph.columns.ids
        self._columns_of = columns_of
        self._vertices = graph.known_rows(vertices).astype(np.int32)
        self._edges = edges
        self._arranging: Iterator[None] | None = None
        self._pages = 1
        self._vertices_by_page: _ByPage

    def sizes(self) -> tuple[int, int]:
        """How many vertices and edges there are."""
        return len(self._vertices), 0 if self._edges is None else len(self._edges)

    def arrange(self, pages: int) -> bool:
        """Put some of the entries into their pages; return whether that was all. Pages can be asked for then."""
        if self._arranging is None:
            self._arranging = self._arranged(pages)
        return next(self._arranging, self) is self

    def page_vertices(self, page: int) -> Vertices:
        """See `PagesView`."""
        rows = self._vertices[self._vertices_by_page.of(page)]
        return self._ids[rows], self._columns_of(rows)

    def page_edges(self, page: int) -> NarrowEdges:
        """See `PagesView`."""
        return self._read_edges().page(page, self._pages)

    def some_edges(self, first: int, stop: int) -> Edges:
        """See `PagesView`."""
        return self._read_edges().some(first, stop)

    def let_go(self) -> None:
        """Of what was arranged, and what is being arranged just now; nothing is asked any more."""
        self._arranging = self._edges = None

    def _read_edges(self) -> EdgesByPage:
        if self._edges is None:
            raise InternalError("the branch was forked without its edges, so none of them were read")
        return self._edges

    def _arranged(self, pages: int) -> Iterator[None]:
        self._pages, page_of = pages, np.empty(len(self._vertices), np.uint16)
        bounds = np.zeros(pages + 1, np.int64)
        for stretch in _stretches(len(page_of)):
            page_of[stretch] = pages_of(self._ids[self._vertices[stretch]], pages)
            self._kernel.count_by_page(page_of[stretch], bounds[1:])
            yield
        np.cumsum(bounds, out=bounds)
        order, following = np.empty(len(page_of), np.int64), bounds[:-1].copy()
        for stretch in _stretches(len(page_of)):
            self._kernel.order_by_page(page_of[stretch], stretch.start, following, order)
            yield
        self._vertices_by_page = _ByPage(bounds, order)


def _stretches(length: int) -> Iterator[slice]:
    for first in range(0, length, _STRETCH):
        yield slice(first, min(first + _STRETCH, length))
