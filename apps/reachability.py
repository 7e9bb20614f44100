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

    A value is a pair: what is shown, and how many edges away the nearest source is. Whatever is reached shows the same, and a
    vertex whose edge goes must not stay reached for the sake of one that is so through this vertex. Hops say which producers are
    reached from elsewhere, so most lost edges cost one look at the producers and no wave.

    Parameters
    ----------
    sources
        The vertices that paths begin at. Each costs a comparison for each vertex, so they are few.
    """

    sources: tuple[int, ...]
    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    worst: ClassVar[tuple[float, float]] = (math.inf, math.inf)

    @staticmethod
    def initial(vertex: int, sources: NDArray[np.int64]) -> tuple[float, float]:
        """A source is reached without any path."""
        for source in sources:
            if vertex == source:
                return 1.0, 0.0
        return math.inf, math.inf

    @staticmethod
    def offer(value: tuple[float, float], weight: float) -> tuple[float, float]:  # noqa: ARG004
        """Reached as its producer is, one hop further."""
        return value[0], value[1] + 1.0

    @staticmethod
    def better(value: tuple[float, float], other: tuple[float, float]) -> bool:
        """Reached rather than not, and in fewer hops."""
        return value[0] < other[0] or (value[0] == other[0] and value[1] < other[1])

    @staticmethod
    def priority(value: tuple[float, float]) -> float:
        """The nearest first."""
        return value[1]

    def checker(self) -> PathsCheck:
        """By a walk over edges that bring what is there, none of which may bring more."""
        return PathsCheck(self.sources, "reachable")
