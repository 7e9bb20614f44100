"""The neighbourhoods of one worker's vertices at one version of the graph, and the edges that are found in them.

A list has the neighbours of a vertex by their ids, so nothing of another worker need be known by a row. It grows from entries
(vertex, neighbour, direction) in any order; then it is sorted, and has each neighbour once. Everything goes a stretch at a time: what a
method does in one call takes about a millisecond, but for the sorting of one list.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ...graph import EvolvingGraph
from .bundle import CountMessages, messages_of

FUEL = 1 << 16  # entries looked at in one call
PAGE = 1 << 14  # entries of a page that is sent

FROM, TO = 1, 2  # directions: whether the neighbour's edge comes from there, or goes there

Ids = NDArray[np.int64]


class Neighbourhoods:
    """See the module.

    Parameters
    ----------
    kernel
        Of the program.
    graph
        Rows of vertices are the graph's.
    rows
        Of the worker's vertices.
    row_count
        How many rows the graph has, at least all that edges of the version name.

    Attributes
    ----------
    ids : int64[n]
        Of the vertices. They are known by their places here: *numbers*.
    neighbours : int64[n]
        How many each has; once the lists are settled.
    edges : int64[n]
        How many edges among these were found so far.
    """

    def __init__(
        self, kernel: ModuleType, graph: EvolvingGraph, rows: NDArray[np.int64], row_count: int
    ) -> None:
        self._kernel = kernel
        self._graph = graph
        self.ids: Ids = np.ascontiguousarray(graph.columns.ids[rows])
        self._number_of_row = np.full(row_count, -1, np.int64)
        self._number_of_row[rows] = np.arange(len(rows))
        self._entries: list[tuple[NDArray[np.int32], Ids, NDArray[np.uint8]]] = []
        self._starts = np.zeros(len(rows) + 1, np.int64)
        self.edges = np.zeros(len(rows), np.int64)

    def numbers_of_rows(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """The number of each vertex by its row, -1 for one of another worker."""
        numbers: NDArray[np.int64] = self._number_of_row[rows]
        return numbers

    def numbers_of(self, ids: Ids) -> NDArray[np.int64]:
        """The number of each vertex, -1 for one of another worker."""
        rows = self._graph.rows_of(ids)
        numbers = np.full(len(ids), -1, np.int64)
        here = (rows >= 0) & (rows < len(self._number_of_row))
        numbers[here] = self._number_of_row[rows[here]]
        return numbers

    # Lists

    def add(self, numbers: NDArray[np.int64], others: Ids, direction: int) -> None:
        """Add entries: own vertices with an edge from others, or to them."""
        known = numbers >= 0
        if not known.all():
            numbers, others = numbers[known], others[known]
        if len(numbers):
            directions = np.full(len(numbers), direction, np.uint8)
            self._entries.append((numbers.astype(np.int32), np.ascontiguousarray(others), directions))

    def settling(self) -> Iterator[None]:
        """Make lists of the entries, a stretch with each item."""
        offsets = np.zeros(len(self.ids) + 1, np.int64)
        for holders, _, _ in self._entries:
            self._kernel.count_entries(holders, offsets)
            yield
        np.cumsum(offsets, out=offsets)
        size = int(offsets[-1])
        others, directions = np.empty(size, np.int64), np.empty(size, np.uint8)
        following = offsets[:-1].copy()
        entries, self._entries = self._entries[::-1], []
        while entries:
            self._kernel.place_entries(*entries.pop(), following, others, directions)
            yield
        holders = np.empty(size, np.int32)
        vertex = place = 0
        while vertex < len(self.ids):
            vertex, place = self._kernel.settle_lists(
                offsets, others, directions, holders, self._starts, vertex, place, FUEL
            )
            yield
        self._starts[-1] = place
        self._others, self._holders = others[:place], holders[:place]
        both_ways = directions[:place] == FROM | TO
        self._counted = np.where(both_ways, 2, 1).astype(np.uint8)  # edges between both
        self._degrees = np.zeros(place, np.int32)
        self._owed = np.zeros(place, np.int64)

    @property
    def neighbours(self) -> NDArray[np.int64]:
        """See the class."""
        return np.diff(self._starts)

    def degrees_to_say(self) -> Iterator[tuple[Ids, CountMessages]]:
        """Return pages of what neighbours, the first, are to hear of how many own vertices have."""
        degrees = self.neighbours
        for entries in _pages(len(self._others)):
            holders = self._holders[entries]
            others = self._others[entries]
            yield others, messages_of(others, self.ids[holders], degrees[holders])

    def hear_degrees(self, said: CountMessages) -> None:
        """Take in how many neighbours the neighbours of own vertices have."""
        rows = self.numbers_of(said.ids)
        self._kernel.hear_degrees(rows, said.others, said.numbers, self._starts, self._others, self._degrees)

    # Triangles

    def listing(self) -> Iterator[None]:
        """Find who of the neighbours comes behind each vertex, by the number of neighbours and then by id."""
        size = len(self._others)
        self._behind_starts = np.zeros(len(self.ids) + 1, np.int64)
        others, counted, places = np.empty(size, np.int64), np.empty(size, np.uint8), np.empty(size, np.int64)
        vertex = place = 0
        while vertex < len(self.ids):
            vertex, place = self._kernel.list_behind(
                self._starts, self._others, self._degrees, self._counted, self.ids, self._behind_starts, others, counted, places,
                vertex, place, FUEL,
            )  # fmt: skip
            yield
        self._behind_starts[-1] = place
        self._behind_others, self._behind_counted = others[:place], counted[:place]
        self._behind_places = places[:place]

    def lists_to_say(self) -> Iterator[tuple[Ids, CountMessages]]:
        """Return pages of lists, with the vertices that are in them: whoever owns some of these is to hear of those lists."""
        starts, first = self._behind_starts, 0
        while first < len(self.ids):
            most = int(np.searchsorted(starts, starts[first] + PAGE, side="right")) - 1
            stop = min(max(first + 1, most), len(self.ids))
            entries = slice(starts[first], starts[stop])
            others = self._behind_others[entries]
            lengths = np.diff(starts[first : stop + 1])
            yield others, messages_of(self.ids[first:stop], others, lengths, self._behind_counted[entries])
            first = stop

    def meeting(self, said: CountMessages) -> Iterator[None]:
        """Have lists meet those of the own vertices that are in them, a stretch with each item."""
        bounds = np.zeros(len(said.ids) + 1, np.int64)
        np.cumsum(said.numbers, out=bounds[1:])
        of_list = np.repeat(np.arange(len(said.ids)), said.numbers)
        rows = self.numbers_of(said.others)
        following = 0
        while following < len(rows):
            following = self._kernel.meet_lists(
                said.ids, bounds, of_list, said.others, said.counted, rows, self._starts, self._others, self._behind_starts,
                self._behind_others, self._behind_counted, self._behind_places, self.edges, self._owed, following, FUEL,
            )  # fmt: skip
            yield

    def found_to_say(self) -> Iterator[tuple[Ids, CountMessages]]:
        """Return pages of how many edges were found among the neighbours of neighbours."""
        for entries in _pages(len(self._others)):
            found = np.flatnonzero(self._owed[entries])
            others = self._others[entries][found]
            yield others, messages_of(others, numbers=self._owed[entries][found])

    def hear_found(self, said: CountMessages) -> None:
        """Take in edges among the neighbours of own vertices that were found elsewhere."""
        self._kernel.hear_edges(self.numbers_of(said.ids), said.numbers, self.edges)

    def values(self, arguments: tuple[object, ...]) -> NDArray[np.float64]:
        """What every vertex is worth."""
        found = np.zeros(len(self.ids))
        self._kernel.worths(self._starts, self.edges, found, arguments)
        return found


def messages_to(said: CountMessages, chosen: NDArray[np.bool_]) -> CountMessages:
    """Of a page the messages that are chosen; of lists, those with a chosen entry, which are whole."""
    if not len(said.counted):
        ids, others, numbers = (column[chosen] if len(column) else column for column in said[:3])
        return CountMessages(ids, others, numbers, said.counted)
    of_list = np.repeat(np.arange(len(said.ids)), said.numbers)
    lists = np.zeros(len(said.ids), np.bool_)
    lists[of_list[chosen]] = True
    entries = lists[of_list]
    return CountMessages(said.ids[lists], said.others[entries], said.numbers[lists], said.counted[entries])


def _pages(size: int) -> Iterator[slice]:
    for first in range(0, size, PAGE):
        yield slice(first, min(first + PAGE, size))
