"""Shortest paths from one source over a live stream of roads: `tornado run sssp --source 1 --edges roads.csv`."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tornado import EdgeBatch, PathsCheck, SelectiveProgram


@dataclass(frozen=True)
class ShortestPaths(SelectiveProgram):
    """The length of the shortest path from `source` to every vertex; weights are at least 0.

    Parameters
    ----------
    source
        The vertex that paths begin at.
    """

    source: int
    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    worst: ClassVar[float] = math.inf

    @staticmethod
    def initial(vertex: int, source: int) -> float:
        """The source is at distance 0, everything else is out of reach until a path is known."""
        return 0.0 if vertex == source else math.inf

    @staticmethod
    def offer(value: float, weight: float) -> float:
        """A path to the producer, and then the edge."""
        return value + weight

    @staticmethod
    def better(value: float, other: float) -> bool:
        """The shorter path."""
        return value < other

    def check(self, batch: EdgeBatch) -> tuple[NDArray[np.bool_], str]:
        """Refuse negative weights: a cycle of them would have no shortest path."""
        return batch.weight < 0, "weight is negative; shortest paths need weights of at least 0"

    def checker(self) -> PathsCheck:
        """By a walk over edges that bring what is there, none of which may bring more."""
        return PathsCheck((self.source,), "shortest")
