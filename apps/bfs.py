"""Hops from one source over a live stream of edges: `tornado run bfs --source 1 --edges follows.csv`."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from tornado import PathsCheck, SelectiveProgram


@dataclass(frozen=True)
class BreadthFirstSearch(SelectiveProgram):
    """The least number of edges on a path from `source` to every vertex; weights count for nothing.

    Parameters
    ----------
    source
        The vertex that paths begin at.
    """

    source: int
    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    worst: ClassVar[float] = math.inf
    values_are_counts: ClassVar[bool] = True

    @staticmethod
    def initial(vertex: int, source: int) -> float:
        """The source is no hop away, everything else is out of reach until a path is known."""
        return 0.0 if vertex == source else math.inf

    @staticmethod
    def offer(value: float, weight: float) -> float:  # noqa: ARG004
        """One hop more than the producer."""
        return value + 1.0

    @staticmethod
    def better(value: float, other: float) -> bool:
        """Fewer hops."""
        return value < other

    def checker(self) -> PathsCheck:
        """By a walk over edges that bring what is there, none of which may bring more."""
        return PathsCheck((self.source,), "hops")
