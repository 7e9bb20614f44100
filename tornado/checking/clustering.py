"""Local clustering coefficients as LDBC Graphalytics defines them (LCC).

The neighbours of a vertex are all others that it has an edge from or to. Among n of them n (n - 1) edges are possible, one in each
direction of a pair, and the coefficient is the share of these that are there; with less than two neighbours it is 0. Edges of a vertex
to itself, parallel edges and weights count for nothing.

*What is verified.* All is counted again, by another algorithm than that of the loops: each pair of neighbours credits its edges to
every vertex that both are neighbours of, who are found among the neighbours of the one that has fewer by marks on those of the other
(Chiba and Nishizeki 1985). Counts are whole, and a coefficient is one division, so values are compared bit for bit; with a bound all of
them together may be that far off, in L1.

Cost: O(m^1.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import clustering_kernel as kernel
from .contract import AnswerToCheck, EdgePage, Fault, Verdict
from .numbering import NumberedGraph


@dataclass(frozen=True, slots=True)
class ClusteringCheck:
    """Verifies local clustering coefficients."""

    @property
    def method(self) -> str:
        """What is verified, in words."""
        return "the edges among the neighbours of every vertex are counted again, pair by pair"

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """See `Checker`."""
        graph = NumberedGraph.of(answer, pages)
        fault = graph.fault or self._fault(answer, graph)
        return Verdict(self.method, len(graph.ids), graph.edges, fault)

    def _fault(self, answer: AnswerToCheck, graph: NumberedGraph) -> Fault | None:
        neighbours, edges = _counts(graph)
        right = edges / np.maximum(1.0, neighbours * (neighbours - 1.0))
        bad = ~(answer.reached & np.isfinite(answer.values))
        off = np.where(bad, np.inf, np.abs(np.where(bad, 0.0, answer.values) - right))
        if off.sum() <= answer.bound:
            return None
        row = int(np.flatnonzero(off > 0.0)[0])
        vertex = int(graph.ids[row])
        if bad[row]:
            return Fault(vertex, "has no coefficient")
        count = int(neighbours[row])
        return Fault(
            vertex,
            f"has {float(answer.values[row])!r}, but {int(edges[row])} of {count * (count - 1)} possible edges among its neighbours are "
            f"there, which is {float(right[row])!r}",
        )


def _counts(graph: NumberedGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many neighbours every vertex has, and how many edges there are among them."""
    count = len(graph.ids)
    offsets = np.zeros(count + 1, np.int64)
    for page in graph.pages:
        kernel.count_ends(page.sources, page.targets, offsets)
    np.cumsum(offsets, out=offsets)
    others, goes = np.empty(int(offsets[-1]), np.int32), np.empty(int(offsets[-1]), np.bool_)
    following = offsets[:-1].copy()
    for page in graph.pages:
        kernel.place_ends(page.sources, page.targets, following, others, goes)
    degrees, edges = np.zeros(count, np.int64), np.zeros(count, np.int64)
    directed = np.zeros(len(others), np.int8)
    kernel.leave_once(offsets, others, goes, degrees, directed)
    kernel.credit_pairs(offsets, others, degrees, directed, edges)
    return degrees, edges
