"""A graph with its vertices numbered by the rows of an answer, which is how checkers look at it.

Edges are numbered page by page, so that their ids need not be held all at once: 16 bytes an edge are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import numbering_kernel as kernel
from .contract import AnswerToCheck, EdgePage, Fault, Ids

Rows = NDArray[np.int32]

# A table of all ids between the least and the greatest is used where it has at most so many places a vertex.
_PLACES_PER_VERTEX = 8
_MOST_VERTICES = 2**31 - 2


@dataclass(frozen=True, slots=True, eq=False)
class NumberedPage:
    """Some edges, by the rows of their ends."""

    sources: Rows
    targets: Rows
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NumberedGraph:
    """All edges of a graph.

    Attributes
    ----------
    ids
        int64[n]: of the rows.
    pages
        The edges; none where there is a fault.
    edges
        How many there are.
    row_of
        Returns the row of each id, -1 where there is none.
    fault
        Of the rows themselves: a vertex that has none, or two. The numbers mean nothing then.
    """

    ids: Ids
    pages: list[NumberedPage]
    edges: int
    row_of: Callable[[Ids], Rows]
    fault: Fault | None

    @classmethod
    def of(cls, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> NumberedGraph:
        """Number the edges of a graph by the rows of an answer."""
        ids = _own(answer.ids, np.int64)
        row_of, twice = _numbering(ids)
        fault = None if twice < 0 else Fault(int(ids[twice]), "has two rows")
        missing: list[int] = []
        numbered, edges = [], 0
        for page in pages:
            edges += len(page.sources)
            sources, targets = row_of(page.sources), row_of(page.targets)
            for names, rows in ((page.sources, sources), (page.targets, targets)):
                without = names[rows < 0]
                if len(without):
                    missing.append(int(without.min()))
            if fault is None and not missing:
                numbered.append(NumberedPage(sources, targets, _own(page.weights, np.float64)))
        if fault is None and missing:
            fault = Fault(min(missing), "has an edge and no row")
        return cls(ids, [] if fault else numbered, edges, row_of, fault)


def _numbering(ids: Ids) -> tuple[Callable[[Ids], Rows], int]:
    """Return what gives the rows of ids, and the first row whose id an earlier one has, or -1."""
    count = len(ids)
    if count > _MOST_VERTICES:
        raise ValueError(f"{count} vertices are more than a checker can number")
    least, greatest = (int(ids.min()), int(ids.max())) if count else (0, -1)
    if greatest - least < _PLACES_PER_VERTEX * count + 1024:
        table = np.full(max(greatest - least + 1, 0), -1, np.int32)
        twice = int(kernel.fill_table(ids, least, table))
        return partial(_from_table, least, table), twice
    places = np.full(1 << max(4, (2 * count - 1).bit_length()), -1, np.int32)
    twice = int(kernel.fill_places(ids, places))
    return partial(_from_places, ids, places), twice


def _from_table(least: int, table: Rows, names: Ids) -> Rows:
    rows = np.empty(len(names), np.int32)
    kernel.look_up_table(least, table, _own(names, np.int64), rows)
    return rows


def _from_places(ids: Ids, places: Rows, names: Ids) -> Rows:
    rows = np.empty(len(names), np.int32)
    kernel.look_up_places(ids, places, _own(names, np.int64), rows)
    return rows


def _own(column: NDArray[Any], kind: type[np.number]) -> NDArray[Any]:
    """Return a column as the kernel is compiled for: of a read-only one a copy, as it would be compiled anew for that."""
    return np.require(column, kind, ["C", "W"])
