"""PageRank (Page, Brin, Motwani and Winograd 1999), as networkx defines it: values are no further from it than they say.

The ranks x are the one vector with x = (1 - d) p + d (P x + m p), where d is the damping, p the personalisation (all alike,
where there is none), m the rank of vertices without edges of their own, which starts anew like the rest, and P brings the
rank of a vertex to those that its edges end at, by weight: parallel edges add up, a loop counts, weight 0 is no edge.

*What is verified.* The right side shrinks the L1 distance of any two vectors by d. So where it changes x by a residual r, x is at
most |r| / (1 - d) from the ranks. The residual is recomputed from the values and the edges, and what it bounds must be at most what
the answer says of itself. What rounding can have taken from the residual counts as part of it (`ROUNDING`).

Cost: two passes over the edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from . import ranks_kernel as kernel
from .contract import AnswerToCheck, EdgePage, Fault, Verdict
from .numbering import NumberedGraph

Floats = NDArray[np.float64]

# Each rank is rounded when it is divided by a weight, multiplied by one, and put together from three terms, and the sums
# themselves lose next to nothing: at most eight roundings, of ranks that sum up to about 1.
ROUNDING: Final = 8 * 2.0**-53


@dataclass(frozen=True, slots=True)
class RanksCheck:
    """Verifies PageRank within the bound that an answer says of itself.

    Parameters
    ----------
    damping
        d, from 0 to below 1.
    personalisation
        Vertices and their shares, which need not sum up to 1; left out, all vertices are alike. Where no vertex of the graph has a
        share, nothing begins anywhere, and all ranks are 0.
    """

    damping: float = 0.85
    personalisation: tuple[tuple[int, float], ...] = ()

    @property
    def method(self) -> str:
        """What is verified, in words."""
        return "the residual is recomputed; in L1 it is at most 1 - damping times the bound"

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """See `Checker`.

        Raises
        ------
        InvalidArgument
            When a weight or a share is negative, or damping is not from 0 to below 1.
        """
        if not 0.0 <= self.damping < 1.0:
            raise InvalidArgument(f"damping is {self.damping} but must be from 0 to below 1")
        graph = NumberedGraph.of(answer, pages)
        if any((page.weights < 0).any() for page in graph.pages):
            raise InvalidArgument("a weight is negative; ranks need weights of at least 0")
        if graph.fault or not len(graph.ids):
            return Verdict(self.method, len(graph.ids), graph.edges, graph.fault)
        bad = np.flatnonzero(~(answer.reached & np.isfinite(answer.values)))
        if len(bad):
            fault = Fault(int(graph.ids[bad[0]]), "has no rank")
            return Verdict(self.method, len(graph.ids), graph.edges, fault)
        values = np.ascontiguousarray(answer.values, np.float64)
        begins = self._begins(graph)
        residual = np.abs(self._taken_on(values, begins, graph) - values)
        total = _sum(residual) + ROUNDING * max(_sum(begins), _sum(np.abs(values)))
        within = min(total / (1.0 - self.damping), _furthest(values))
        found: Fault | None = None
        if not within <= answer.bound:
            row = int(np.argmax(residual))
            found = Fault(
                int(graph.ids[row]),
                f"has {float(values[row])!r}, which its edges change by {residual[row]:.3g}, more than those of any other; all ranks "
                f"together are within {within:.3g} in L1, and the bound is {answer.bound:.3g}",
            )
        return Verdict(
            self.method,
            len(graph.ids),
            graph.edges,
            found,
            measured=(("residual", float(total)), ("within", float(within))),
        )

    def _taken_on(self, values: Floats, begins: Floats, graph: NumberedGraph) -> Floats:
        """Return the right side of the equation."""
        count = len(values)
        weights, errors = np.zeros(count), np.zeros(count)
        for page in graph.pages:
            kernel.add_weights(page.sources, page.weights, weights, errors)
        weights += errors
        has_edges = weights > 0.0
        per_weight = np.divide(values, weights, out=np.zeros(count), where=has_edges)
        brought, errors = np.zeros(count), np.zeros(count)
        for page in graph.pages:
            edges = page.sources, page.targets, page.weights
            kernel.add_shares(*edges, per_weight, brought, errors)
        brought += errors
        lost = _sum(values[~has_edges])
        taken_on: Floats = self.damping * brought + (1.0 - self.damping + self.damping * lost) * begins
        return taken_on

    def _begins(self, graph: NumberedGraph) -> Floats:
        """Return the personalisation by row; it sums up to 1, or to 0 where no vertex has a share."""
        count = len(graph.ids)
        if not self.personalisation:
            return np.full(count, 1.0 / count)
        begins = np.zeros(count)
        rows = graph.row_of(np.array([vertex for vertex, _ in self.personalisation], np.int64))
        for row, (vertex, share) in zip(rows.tolist(), self.personalisation, strict=True):
            if not 0.0 <= share < np.inf:
                raise InvalidArgument(f"the share of vertex {vertex} is {share} but must be at least 0")
            if row >= 0:
                begins[row] += share
        total = begins.sum()
        return begins / total if total > 0.0 else begins


def _furthest(values: Floats) -> float:
    """Return how far from the ranks these values can be at all: where both are shares of 1, no further than 2."""
    are_shares = (values >= 0.0).all() and abs(_sum(values) - 1.0) <= ROUNDING
    return 2.0 if are_shares else np.inf


def _sum(numbers: Floats) -> float:
    sums, errors = np.zeros(1), np.zeros(1)
    kernel.add_all(np.ascontiguousarray(numbers), sums, errors)
    return float(sums[0] + errors[0])
