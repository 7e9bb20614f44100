"""What can be reached from a set of sources over a live stream of edges: `tornado run reachability --sources 1,2 --edges links.csv`."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tornado import PathsCheck, SelectiveProgram


@dataclass(frozen=True)
class Reachability(SelectiveProgram):
    """Which vertices a path leads to from one of the `sources`: 1 where one does, nothing elsewhere; weights count for nothing.

    All values are equal, so a vertex whose edge goes cannot tell a producer that hangs on it from one that does not: whatever
    hung on that edge is given up, and then found again where another path is left.

    Parameters
    ----------
    sources
        The vertices that paths begin at. Each costs a comparison for each vertex, so they are few.
    """

    sources: tuple[int, ...]
    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    worst: ClassVar[float] = math.inf

    @staticmethod
    def initial(vertex: int, sources: NDArray[np.int64]) -> float:
        """A source is reached without any path."""
        for source in sources:
            if vertex == source:
                return 1.0
        return math.inf

    @staticmethod
    def offer(value: float, weight: float) -> float:  # noqa: ARG004
        """Reached as its producer is."""
        return value

    @staticmethod
    def better(value: float, other: float) -> bool:
        """Reached rather than not."""
        return value < other

    def checker(self) -> PathsCheck:
        """By a walk over edges that bring what is there, none of which may bring more."""
        return PathsCheck(self.sources, "reachable")
