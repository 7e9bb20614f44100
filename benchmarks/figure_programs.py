"""The two programs of the figures, ranks and paths, each with what recomputes it and what its answers are compared with.

Both run over one graph of R-MAT. Ranks count each edge once; only paths have weights. A *live* loop keeps the values up to date as
records come. A *cold* one has the graph and no values, so a branch of it begins at nothing: it is what a system costs that
computes each answer anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.pagerank import PageRank
from apps.sssp import ShortestPaths
from tornado import VertexProgram
from tornado.certificate import Certificate
from tornado.testing import EdgeList, build, heap_dijkstra

from .harness import WrongAnswer, timed
from .plain_ranks import in_lists, joined_vertices, ranks

TOLERANCE = 1e-6
"""Of the ranks that are asked for, in L1."""
_TRUTH = 1e-10
_NOBODY = -1
_ANNOUNCES_NOTHING = 1e9  # as an accuracy: whatever waits is near enough

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What plain recomputation on one thread took, in seconds, and what it found, by id."""

    values: Values
    building_s: float
    computing_s: float

    @property
    def all_s(self) -> float:
        """From an edge list."""
        return self.building_s + self.computing_s


class Case(ABC):
    """A program in figures.

    Attributes
    ----------
    name
        In the names of figures.
    rival
        What recomputes.
    error
        What `error_of` says, in words.
    cold_parameters
        Of a branch of the cold loop.
    """

    name: str
    rival: str
    error: str

    def __init__(self, edges: EdgeList) -> None:
        self.edges = edges
        self.cold_parameters: Mapping[str, Any] = {}

    @abstractmethod
    def live(self) -> VertexProgram:
        """Return the program that keeps values up to date."""

    @abstractmethod
    def cold(self) -> VertexProgram:
        """Return the program that has no values."""

    @abstractmethod
    def recompute(self, edges: EdgeList, begin: Values | None = None) -> Recomputed:
        """Recompute the values of an edge list, where that is possible beginning with others."""

    @abstractmethod
    def truth(self, edges: EdgeList) -> Values:
        """Return the exact values, as nearly as numbers go, by id."""

    @abstractmethod
    def error_of(self, found: Values, truth: Values) -> float:
        """Return how far values are from the exact ones, both by id."""

    @abstractmethod
    def unknown(self) -> Values:
        """Return what each id has before anything is known of it."""

    @abstractmethod
    def require_right(self, what: str, certificate: Certificate | None, found: Values, truth: Values) -> None:
        """Compare an answer with the exact values.

        Raises
        ------
        WrongAnswer
            It is not what its certificate says.
        """

    def by_id(self, ids: NDArray[np.int64], values: Values) -> Values:
        """Return values as one for each id."""
        found = self.unknown()
        found[ids] = values
        return found


class Ranks(Case):
    """PageRank, the L1 distance at most 1e-6."""

    name = "ranks"
    rival = "power iteration"
    error = "the L1 distance of the ranks from the exact ones"

    def __init__(self, edges: EdgeList) -> None:
        super().__init__(replace(edges, weight=np.ones(len(edges), np.uint8)))

    def live(self) -> VertexProgram:
        """See `Case`."""
        return PageRank(tolerance=TOLERANCE)

    def cold(self) -> VertexProgram:
        """See `Case`."""
        return PageRank(tolerance=TOLERANCE, accuracy=_ANNOUNCES_NOTHING)

    def recompute(self, edges: EdgeList, begin: Values | None = None) -> Recomputed:
        """See `Case`; what to begin with may be of fewer edges.

        Ids that no edge names yet are no vertices. To leave them out is not timed, so the rival has its numbers for nothing.
        """
        ids, joined = joined_vertices(edges)
        lists, building_s = timed(in_lists, joined)
        (found, _), computing_s = timed(ranks, lists, TOLERANCE, None if begin is None else begin[ids])
        return Recomputed(self.by_id(ids, found), building_s[0], computing_s[0])

    def truth(self, edges: EdgeList) -> Values:
        """See `Case`."""
        ids, joined = joined_vertices(edges)
        return self.by_id(ids, ranks(in_lists(joined), _TRUTH)[0])

    def error_of(self, found: Values, truth: Values) -> float:
        """See `Case`."""
        return float(np.abs(found - truth).sum())

    def unknown(self) -> Values:
        """See `Case`."""
        return np.zeros(self.edges.vertices)

    def require_right(self, what: str, certificate: Certificate | None, found: Values, truth: Values) -> None:
        """See `Case`: no further away than the bound says."""
        error, bound = self.error_of(found, truth), (certificate or {}).get("bound", 0.0)
        if error > bound + _TRUTH or bound > TOLERANCE:
            raise WrongAnswer(
                f"{what}: ranks are {error:.3g} from the exact ones, and {bound:.3g} by their bound"
            )


class Paths(Case):
    """Shortest paths from the vertex of largest out-degree, exact."""

    name = "paths"
    rival = "heap Dijkstra"
    error = "the share of the distances that are not exact"

    def __init__(self, edges: EdgeList, root: int) -> None:
        super().__init__(edges)
        self._root = root
        self.cold_parameters = {"source": root}

    def live(self) -> VertexProgram:
        """See `Case`."""
        return ShortestPaths(source=self._root)

    def cold(self) -> VertexProgram:
        """See `Case`: it searches from a vertex that no edge names."""
        return ShortestPaths(source=_NOBODY)

    def recompute(self, edges: EdgeList, begin: Values | None = None) -> Recomputed:
        """See `Case`; distances of another graph are of no use."""
        del begin
        graph, building_s = timed(build, edges)
        distances, computing_s = timed(heap_dijkstra, graph, self._root)
        return Recomputed(distances.values, building_s[0], computing_s[0])

    def truth(self, edges: EdgeList) -> Values:
        """See `Case`."""
        return heap_dijkstra(build(edges), self._root).values

    def error_of(self, found: Values, truth: Values) -> float:
        """See `Case`: of the vertices that either reaches."""
        reached = np.isfinite(found) | np.isfinite(truth)
        return float((found[reached] != truth[reached]).mean()) if reached.any() else 0.0

    def unknown(self) -> Values:
        """See `Case`."""
        return np.full(self.edges.vertices, np.inf)

    def by_id(self, ids: NDArray[np.int64], values: Values) -> Values:
        """See `Case`; a source that no edge names is no vertex of the graph."""
        named = ids >= 0
        return super().by_id(ids[named], values[named])

    def require_right(self, what: str, certificate: Certificate | None, found: Values, truth: Values) -> None:
        """See `Case`: bit for bit."""
        if certificate != {"kind": "exact"} or not np.array_equal(found, truth):
            raise WrongAnswer(
                f"{what}: {int((found != truth).sum())} distances are wrong, certified {certificate}"
            )
