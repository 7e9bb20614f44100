"""One worker's part of a snapshot that is to be stored, as the pages that its vertices and edges fall to.

Whoever stores it asks for a page after another, so nobody holds all of it at once, and no single answer takes long. Nothing here
keeps the interpreter lock for long: compiled functions and NumPy's, which give it back, do what is proportional to the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..graph import EdgeReader, EvolvingGraph, pages_of
from ..graph.edge_reader import EdgeRows, edge_rows
from ..graph.graph_module import graph_module

_STRETCH = 1 << 20  # entries that are put by page in one step: some ten milliseconds

Vertices = tuple[NDArray[np.int64], dict[str, NDArray[Any]]]
Edges = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
NarrowEdges = tuple[NDArray[np.signedinteger[Any]], NDArray[np.signedinteger[Any]], NDArray[np.floating[Any]]]


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
    rows
        How many rows of it the branch has columns for.
    columns_of
        What the kind stores of some rows, by name; see `PagesView.page_vertices`.
    vertices
        How many had been seen at its cut; the first of them stay what they are.
    reader
        Has read the edges; None where those of a branch of another loop are stored.
    """

    def __init__(
        self,
        graph: EvolvingGraph,
        *,
        rows: int,
        columns_of: Callable[[NDArray[np.int32]], dict[str, NDArray[Any]]],
        vertices: int,
        reader: EdgeReader | None,
    ) -> None:
        self._kernel = graph_module()
        self._ids = graph.columns.ids
        self._columns_of = columns_of
        self._vertices = graph.known_rows(vertices).astype(np.int32)
        self._reader = reader
        self._rows = max(rows, 0 if reader is None else reader.rows)
        self._arranging: Iterator[None] | None = None
        # In their rows ids are 64 bytes apart, and each edge looks for two.
        self._ids_in_turn: NDArray[np.int64]
        self._vertices_by_page: _ByPage
        self._arranged_edges: EdgeRows | None = None
        self._edge_bounds: NDArray[np.int64]

    def sizes(self) -> tuple[int, int]:
        """How many vertices and edges there are."""
        return len(self._vertices), 0 if self._reader is None else len(self._read()[1])

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
        page_of = slice(self._edge_bounds[page], self._edge_bounds[page + 1])
        all_producers, all_consumers, all_weights, all_born = self._read()
        producers, consumers, weights = all_producers[page_of], all_consumers[page_of], all_weights[page_of]
        count, ids = len(producers), self._ids_in_turn
        order = self._kernel.order_by_birth(
            all_born[page_of], np.empty(count, np.int32), np.empty(count, np.int32)
        )
        narrow = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.float32)
        are_wide, weigh_more = self._kernel.name_edges(ids, order, producers, consumers, weights, *narrow)
        # What is wide not by the kernel: each other pair of types would be another one to compile.
        sources, targets = (ids[producers[order]], ids[consumers[order]]) if are_wide else narrow[:2]
        return sources, targets, weights[order] if weigh_more else narrow[2]

    def some_edges(self, first: int, stop: int) -> Edges:
        """Source ids, target ids and weights of a stretch of the edges, in any order."""
        producers, consumers, weights, _ = self._read()
        stretch = slice(first, stop)
        return self._ids[producers[stretch]], self._ids[consumers[stretch]], weights[stretch]

    def _read(self) -> EdgeRows:
        if self._reader is None:
            raise InternalError("the branch was forked without its edges, so none of them were read")
        return self._arranged_edges or self._reader.columns()

    def _arranged(self, pages: int) -> Iterator[None]:
        page_of_row = np.empty(self._rows, np.uint16)
        self._ids_in_turn = np.empty(self._rows, np.int64)
        for stretch in _stretches(self._rows):
            self._ids_in_turn[stretch] = self._ids[stretch]
            page_of_row[stretch] = pages_of(self._ids_in_turn[stretch], pages)
            yield
        self._vertices_by_page = yield from self._by_page(page_of_row, self._vertices, pages)
        if self._reader is not None:
            yield from self._arrange_edges(page_of_row, self._reader, pages)

    def _arrange_edges(
        self, page_of_row: NDArray[np.uint16], reader: EdgeReader, pages: int
    ) -> Iterator[None]:
        read = reader.columns()
        bounds = yield from self._bounds(page_of_row, read[1], pages)
        arranged = edge_rows(len(read[1]))
        following = bounds[:-1].copy()
        for stretch in _stretches(len(read[1])):
            self._kernel.move_by_page(
                page_of_row, *(column[stretch] for column in read), following, *arranged
            )
            yield
        self._edge_bounds, self._arranged_edges = bounds, arranged
        reader.let_go()

    def _bounds(
        self, page_of_row: NDArray[np.uint16], rows: NDArray[np.int32], pages: int
    ) -> Generator[None, None, NDArray[np.int64]]:
        """Where the entries of each page begin, and in the end how many there are."""
        bounds = np.zeros(pages + 1, np.int64)
        for stretch in _stretches(len(rows)):
            self._kernel.count_by_page(page_of_row, rows[stretch], bounds[1:])
            yield
        np.cumsum(bounds, out=bounds)
        return bounds

    def _by_page(
        self, page_of_row: NDArray[np.uint16], rows: NDArray[np.int32], pages: int
    ) -> Generator[None, None, _ByPage]:
        bounds = yield from self._bounds(page_of_row, rows, pages)
        order = np.empty(len(rows), np.int64)
        following = bounds[:-1].copy()
        for stretch in _stretches(len(rows)):
            self._kernel.order_by_page(page_of_row, rows[stretch], stretch.start, following, order)
            yield
        return _ByPage(bounds, order)


def _stretches(length: int) -> Iterator[slice]:
    for first in range(0, length, _STRETCH):
        yield slice(first, min(first + _STRETCH, length))
