"""What a checker is asked, and what it says.

A checker verifies an answer from the answer and the graph alone. It knows what is right by a definition of its own, so no error
of what computed the answer can hide one of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Values = NDArray[np.float64 | np.int64]


class EdgePage(Protocol):
    """Some edges, one entry each."""

    @property
    def sources(self) -> Ids:
        """int64[m]: the ids of the vertices that they begin at."""
        ...

    @property
    def targets(self) -> Ids:
        """int64[m]: and of those that they end at."""
        ...

    @property
    def weights(self) -> NDArray[np.float64]:
        """float64[m]: finite numbers."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """An `EdgePage` of arrays."""

    sources: Ids
    targets: Ids
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class AnswerToCheck:
    """An answer, one row a vertex, in the order in which rows are looked at.

    Attributes
    ----------
    ids
        int64[n]: every vertex of the graph, each once.
    values
        float64[n] or int64[n]: what the answer shows of it. Not written.
    reached
        bool[n]: where it shows a value at all.
    bound
        How far the values say that they may be from the right ones; 0 where they are said to be exact.
    is_undirected
        Whether every edge is there in both directions, and both are one.
    beside
        float64[n]: the second number of each value, where values are pairs of which the first is shown; of no meaning where none is.
    """

    ids: Ids
    values: Values
    reached: NDArray[np.bool_]
    bound: float = 0.0
    is_undirected: bool = False
    beside: NDArray[np.float64] | None = None


class Fault(NamedTuple):
    """What is wrong with an answer.

    Attributes
    ----------
    vertex
        The first wrong one in the order of rows.
    words
        Why, with `{}` where an id of `names` stands.
    """

    vertex: int
    words: str
    names: tuple[int, ...] = ()

    def told(self, called: Callable[[int], object] = str) -> str:
        """Say it as a sentence.

        Parameters
        ----------
        called
            Returns what an id stands for.

        Examples
        --------
        >>> Fault(7, "has the label {}, but that of its component is {}", (7, 3)).told()
        'vertex 7 has the label 7, but that of its component is 3'
        """
        return f"vertex {called(self.vertex)} {self.reason(called)}"

    def reason(self, called: Callable[[int], object] = str) -> str:
        """Say it without the vertex."""
        return self.words.format(*map(called, self.names)) if self.names else self.words


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a checker looked at, and what it found.

    Attributes
    ----------
    method
        What was verified, in words.
    vertices, edges
        How many it looked at.
    fault
        None where the answer is right.
    measured
        Numbers that the checker recomputed, by name; none where values are exact.
    """

    method: str
    vertices: int
    edges: int
    fault: Fault | None = None
    measured: tuple[tuple[str, float], ...] = ()

    def described(self) -> dict[str, Any]:
        """What was looked at, as an answer says it."""
        return {
            "method": self.method,
            "vertices": self.vertices,
            "edges": self.edges,
            **dict(self.measured),
        }


class Checker(Protocol):
    """Verifies the answers of a program."""

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """Look at all vertices and all edges once.

        Parameters
        ----------
        answer
            All vertices of the graph.
        pages
            All edges of the graph, in any order.

        Returns
        -------
        What was found; an answer without a fault is right.
        """
        ...
