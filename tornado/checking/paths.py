"""Best paths from some sources: shortest, fewest hops, widest, or any at all.

*What is verified.* Call an edge u -> v *tight* where the value of u, taken on over the edge, is the value of v bit for bit.
An answer is right if and only if

1. no edge improves a value: none of what edges bring is better than what is there, and
2. every value has support: from a source with its own value a chain of tight edges leads to the vertex.

By 2 every value is that of some path, and by 1 no path has a better one, by induction along it. Tight edges alone are no
support: on a cycle of edges that change nothing (of weight 0, of weights that rounding swallows, wider than what comes over
them, and in reachability all) each vertex could have its value from the next.

Where an answer names the source that a value comes from, too, the two are one value: of equal ones that of the lesser source is better,
and a tight edge brings both.

*In one pass.* A vertex whose value a tight edge brings from a strictly better one is founded: chains of such edges have an end, as
values get better along them, and that end must have support itself. So what is left to walk over are the tight edges between
*equal* values, and only those that end at a vertex that is not founded. For shortest paths those are few; in reachability all.

Cost: O(vertices + edges) where the answer is right. Where it is not, the right values are searched for (Dijkstra 1959), to name the
first wrong vertex and what would be right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError, InvalidArgument
from . import paths_kernel as kernel
from .contract import AnswerToCheck, EdgePage, Fault, Verdict
from .numbering import NumberedGraph, Rows

Floats = NDArray[np.float64]
Rule = Literal["shortest", "hops", "widest", "reachable"]


class _Meaning(NamedTuple):
    """Of a rule: its number in the kernel, the value of a source, that of what is out of reach, and what values are called."""

    number: int
    begin: float
    worst: float
    called: str


_MEANINGS: Final[dict[Rule, _Meaning]] = {
    "shortest": _Meaning(kernel.SUM, 0.0, math.inf, "the length of the shortest path"),
    "hops": _Meaning(kernel.HOPS, 0.0, math.inf, "the least number of edges on a path"),
    "widest": _Meaning(kernel.NARROWEST, math.inf, -math.inf, "the width of the widest path"),
    "reachable": _Meaning(kernel.REACH, 1.0, math.inf, "the value of what is reached"),
}


@dataclass(frozen=True, slots=True)
class PathsCheck:
    """Verifies values of best paths from any of some sources.

    Parameters
    ----------
    sources
        The ids of the vertices that paths begin at.
    rule
        What a value is: the sum of the weights on the shortest path, which are at least 0; the least number of edges; the least
        weight on the widest path, infinity for the source; or 1 for whatever a path leads to.
    names_sources
        Whether answers have the source of each value beside it (`AnswerToCheck.beside`); of one that has not, values alone are verified.
    takes_any_source
        Whether that may be any of those that are as good, and not the least alone.
    """

    sources: tuple[int, ...]
    rule: Rule = "shortest"
    names_sources: bool = False
    takes_any_source: bool = False

    def method_of(self, answer: AnswerToCheck) -> str:
        """What is verified, in words."""
        verified = "no edge improves a value; a walk over tight edges leads from a source to every value"
        if not self.names_sources:
            return verified
        return f"{verified}, and {'not looked at' if answer.beside is None else 'it is'} which source that is"

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """See `Checker`.

        Raises
        ------
        InvalidArgument
            When a weight is below 0, and values are lengths: then none of them need be the least.
        """
        graph = NumberedGraph.of(answer, pages)
        if self.rule == "shortest" and any((page.weights < 0).any() for page in graph.pages):
            raise InvalidArgument("a weight is negative; shortest paths need weights of at least 0")
        fault = graph.fault or self._fault(answer, graph)
        return Verdict(self.method_of(answer), len(graph.ids), graph.edges, fault)

    def _fault(self, answer: AnswerToCheck, graph: NumberedGraph) -> Fault | None:
        meaning = _MEANINGS[self.rule]
        values = np.where(answer.reached, answer.values, meaning.worst).astype(np.float64)
        starts = graph.row_of(np.unique(np.array(self.sources, np.int64)))
        starts = starts[starts >= 0]
        named = answer.beside if self.names_sources else None  # where none is, all have the same one
        labels = np.full(len(values), -math.inf)
        is_there = values != meaning.worst
        labels[is_there] = 0.0 if named is None else named[is_there]
        own = np.zeros(len(starts)) if named is None else graph.ids[starts].astype(np.float64)
        founded = _founded(meaning, values, labels, starts, own, graph, takes_any=self.takes_any_source)
        if founded is not None and founded.all():
            return None
        right, right_labels = _searched(meaning, starts, own, graph)
        is_other = ~(values == right)
        if self.takes_any_source:
            is_other |= ~founded if founded is not None else False
        else:
            is_other |= ~(labels == right_labels)
        wrong = np.flatnonzero(is_other)
        if not len(wrong):
            raise InternalError(
                f"{self.rule} paths fail the check, and a search from the sources has the same values"
            )
        row = int(wrong[0])
        has = _shown(values[row], meaning)
        if values[row] == right[row]:
            source = None if self.takes_any_source else int(right_labels[row])
            return _of_another_source(int(graph.ids[row]), labels[row], source)
        said = (
            f"{meaning.called} is {float(right[row])!r}"
            if right[row] != meaning.worst
            else "no path leads there"
        )
        return Fault(int(graph.ids[row]), f"has {has}, but {said}")


def _founded(
    meaning: _Meaning,
    values: Floats,
    labels: Floats,
    starts: Rows,
    own: Floats,
    graph: NumberedGraph,
    *,
    takes_any: bool,
) -> NDArray[np.bool_] | None:
    """Which values have support; None where some value could be better."""
    at_starts = labels[starts]
    if np.isnan(values).any() or not (values[starts] == meaning.begin).all():
        return None
    if not (takes_any or (at_starts <= own).all()):
        return None
    founded: NDArray[np.bool_] = values == meaning.worst  # what is out of reach needs no support
    founded[starts] = at_starts == own
    for page in graph.pages:
        edges = page.sources, page.targets, page.weights
        if kernel.look_at_edges(meaning.number, values, labels, takes_any, *edges, founded):
            return None
    if not founded.all():
        _walk(meaning, values, labels, founded, graph)
    return founded


def _walk(
    meaning: _Meaning, values: Floats, labels: Floats, founded: NDArray[np.bool_], graph: NumberedGraph
) -> None:
    """Found what tight edges between equal values lead to."""
    offsets = np.zeros(len(values) + 1, np.int64)
    for page in graph.pages:
        edges = page.sources, page.targets, page.weights
        kernel.count_level_edges(meaning.number, values, labels, *edges, founded, offsets)
    np.cumsum(offsets, out=offsets)
    heads, following = np.empty(int(offsets[-1]), np.int32), offsets[:-1].copy()
    for page in graph.pages:
        edges = page.sources, page.targets, page.weights
        kernel.place_level_edges(meaning.number, values, labels, *edges, founded, following, heads)
    kernel.walk(founded, offsets, heads, np.empty(len(values), np.int32))


def _searched(meaning: _Meaning, starts: Rows, own: Floats, graph: NumberedGraph) -> tuple[Floats, Floats]:
    """Return the right values, and the right sources where the starts have their own."""
    offsets = np.zeros(len(graph.ids) + 1, np.int64)
    for page in graph.pages:
        kernel.count_edges(page.sources, offsets)
    np.cumsum(offsets, out=offsets)
    heads, lengths, following = np.empty(graph.edges, np.int32), np.empty(graph.edges), offsets[:-1].copy()
    for page in graph.pages:
        kernel.place_edges(page.sources, page.targets, page.weights, following, heads, lengths)
    best, labels = np.full(len(graph.ids), meaning.worst), np.full(len(graph.ids), -math.inf)
    labels[starts] = own
    if len(starts):
        kernel.search(meaning.number, starts, meaning.begin, offsets, heads, lengths, best, labels)
    return best, labels


def _of_another_source(vertex: int, label: float, right: int | None) -> Fault:
    """The value is right, and does not come from there; from where, if that is known."""
    names: tuple[int, ...] = () if math.isnan(label) else (int(label),)
    has = "has its value from {}" if names else "has a value without a source"
    if right is None:
        return Fault(vertex, f"{has}, and no edge brings both", names)
    return Fault(vertex, f"{has}, but it comes from {{}}", (*names, right))


def _shown(value: np.float64, meaning: _Meaning) -> str:
    return "no value" if value == meaning.worst else repr(float(value))
