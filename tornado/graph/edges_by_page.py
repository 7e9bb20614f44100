"""All edges of one version of a graph, by the page of a stored snapshot that their targets fall to.

They are read from the lists a stretch at a time and put where they belong at once, so there is one copy of them: how many edges a
page may have at most is known before, from the lengths of in-lists and from graves.
Pages are smaller here than in the store, so that what one of them has is put in order within the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arena import reserve
from ..errors import InternalError
from .edge_reader import EdgeReader, EdgeRows, edge_rows
from .evolving_graph import EvolvingGraph
from .graph_columns import BURIED_FIRST, BURIED_NEXT, EDGES
from .graph_module import graph_module
from .partition import pages_of

_EDGES = 1 << 15  # of a page here: less than a megabyte
_ROWS = 1 << 13  # a store's pages have twice as many vertices, so nearly always whole pages of here
_MOST_PAGES = 1 << 12
_MOST_TIMES_AS_LARGE = 8  # as it should be: a page whose graph has lost most of its edges meanwhile
_STRETCH_ROWS = 1 << 15
_STRETCH_GRAVES = 1 << 17
_STRETCH_EDGES = 1 << 14  # what they take stays in the cache
_STRETCHES_OF_A_STEP = 4  # of edges, in about a millisecond

Edges = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Source ids, target ids and weights."""

PageEdges = tuple[NDArray[np.signedinteger[Any]], NDArray[np.signedinteger[Any]], NDArray[np.floating[Any]]]
"""The same: int32 and float32 where these have all of them exactly, else int64 and float64."""


class EdgesByPage:
    """See the module.

    Parameters
    ----------
    graph
        What to read; somebody holds a lease of `version` until all is read.
    version
        Edges visible at this version are read.
    """

    def __init__(self, graph: EvolvingGraph, version: int) -> None:
        self._kernel = graph_module()
        self._graph = graph
        self._version = version
        self._reader = EdgeReader(graph, version, _STRETCH_EDGES)
        self._ids = np.empty(self._reader.rows, np.int64)  # in the graph they are 64 bytes apart
        self._page_of_row = np.empty(self._reader.rows, np.uint16)
        self._pages = 1
        # Without graves, as the same graph is to have the same pages; but nearly all may have been removed since that version.
        edges = max(int(graph.columns.counters[EDGES]), graph.most_edges() // _MOST_TIMES_AS_LARGE)
        while self._pages < _MOST_PAGES and (
            self._pages * _EDGES < edges or self._pages * _ROWS < self._reader.rows
        ):
            self._pages *= 2
        self._room, self._first, self._following = (np.zeros(self._pages, np.int64) for _ in range(3))
        self._counted_rows = 0
        self._graves: range | None = None  # that are not counted yet
        self._edges: EdgeRows | None = None

    def __len__(self) -> int:
        return int((self._following - self._first).sum())

    def step(self) -> bool:
        """Read some, on the worker's thread; return whether all is read."""
        if self._counted_rows < self._reader.rows:
            self._count_rows()
        elif self._graves is None:
            # Behind the lists: an edge that was removed meanwhile is counted once at least.
            counters = self._graph.columns.counters
            self._graves = range(int(counters[BURIED_FIRST]), int(counters[BURIED_NEXT]))
        elif self._graves:
            self._count_graves(self._graves)
        elif self._edges is None:
            self._edges = self._make_room()
        else:
            self._read(self._edges)
        return self._edges is not None and self._reader.is_over

    def _count_rows(self) -> None:
        first, stop = self._counted_rows, min(self._counted_rows + _STRETCH_ROWS, self._reader.rows)
        self._ids[first:stop] = self._graph.columns.ids[first:stop]
        self._page_of_row[first:stop] = pages_of(self._ids[first:stop], self._pages)
        self._kernel.count_in_lists(self._graph.addresses, self._page_of_row, first, stop, self._room)
        self._counted_rows = stop

    def _count_graves(self, left: range) -> None:
        some = left[:_STRETCH_GRAVES]
        self._kernel.count_graves(
            self._graph.addresses, self._version, self._page_of_row, some.start, some.stop, self._room
        )
        self._graves = left[len(some) :]

    def _make_room(self) -> EdgeRows:
        self._first = np.cumsum(self._room) - self._room
        self._following = self._first.copy()
        # On small pages, whatever NumPy asks for: the system has them at once, and they are used once.
        return edge_rows(int(self._room.sum()), reserve)

    def _read(self, edges: EdgeRows) -> None:
        stop = self._first + self._room
        for _ in range(_STRETCHES_OF_A_STEP):
            if self._reader.is_over:
                return
            read = self._reader.stretch()
            moved = self._kernel.move_by_page(self._page_of_row, *read, self._following, stop, *edges)
            if moved < len(read[0]):
                raise InternalError(
                    f"a page of edges at version {self._version} has more than were counted for it"
                )

    def some(self, first: int, stop: int) -> Edges:
        """Source ids, target ids and weights of a stretch of all of them, in the order of pages."""
        begins = np.concatenate([[0], np.cumsum(self._following - self._first)])
        touched = range(
            int(np.searchsorted(begins, first, side="right")) - 1, int(np.searchsorted(begins, stop))
        )
        producers, consumers, weights, _ = _joined(
            [self._part(part, max(first - begins[part], 0), stop - begins[part]) for part in touched]
        )
        return self._ids[producers], self._ids[consumers], weights

    def page(self, page: int, pages: int) -> PageEdges:
        """Source ids, target ids and weights of those that fall to a page of so many, a power of two; see `PagesView.page_edges`."""
        if pages > self._pages:
            producers, consumers, weights, born = self._part(page % self._pages)
            chosen = pages_of(self._ids[consumers], pages) == page
            parts = [(producers[chosen], consumers[chosen], weights[chosen], born[chosen])]
        else:
            parts = [self._part(part) for part in range(page, self._pages, pages)]
        return self._named(parts)

    def _part(self, part: int, first: int = 0, stop: int | None = None) -> EdgeRows:
        if self._edges is None:
            raise InternalError("the edges were not read to their end")
        place, following = self._first[part], self._following[part]
        own = slice(place + first, following if stop is None else min(place + stop, following))
        producers, consumers, weights, born = self._edges
        return producers[own], consumers[own], weights[own], born[own]

    def _named(self, parts: Sequence[EdgeRows]) -> PageEdges:
        """The edges of some parts, each in the order of arrival, in columns as narrow as they may be."""
        count, ids = sum(len(part[0]) for part in parts), self._ids
        narrow = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.float32)
        places, first, are_wide, weigh_more = np.empty(count, np.int32), 0, False, False
        for producers, consumers, weights, born in parts:
            own = slice(first, first + len(born))
            order = np.empty(len(born), np.int32)
            self._kernel.place_by_birth(born, order, np.empty_like(order), places[own])
            wide = self._kernel.name_edges(
                ids, places[own], producers, consumers, weights, *(column[own] for column in narrow)
            )
            are_wide, weigh_more = are_wide or wide[0], weigh_more or wide[1]
            places[own] += first
            first = own.stop
        # What is wide not by the kernel: each other pair of types would be another one to compile.
        if not (are_wide or weigh_more):
            return narrow
        producers, consumers, weights, _ = _joined(parts)
        order = np.empty_like(places)
        order[places] = np.arange(count, dtype=np.int32)
        sources, targets = (ids[producers[order]], ids[consumers[order]]) if are_wide else narrow[:2]
        return sources, targets, weights[order] if weigh_more else narrow[2]


def _joined(parts: Sequence[EdgeRows]) -> EdgeRows:
    producers, consumers, weights, born = (np.concatenate(column) for column in zip(*parts, strict=True))
    return producers, consumers, weights, born
