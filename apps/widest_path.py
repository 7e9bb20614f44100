"""The widest path from one source over a live stream of roads: `tornado run widest_path --source 1 --edges lanes.csv`."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from tornado import PathsCheck, SelectiveProgram


@dataclass(frozen=True)
class WidestPath(SelectiveProgram):
    """The width of the widest path from `source` to every vertex: the least weight on it, as great as can be.

    The source itself has infinite width, and what is out of reach minus infinite width, which is written as nothing.

    Parameters
    ----------
    source
        The vertex that paths begin at.
    """

    source: int
    rank: ClassVar[Literal["nearest", "highest"]] = "highest"
    worst: ClassVar[float] = -math.inf

    @staticmethod
    def initial(vertex: int, source: int) -> float:
        """Nothing narrows the way to the source, and no way is known to anything else."""
        return math.inf if vertex == source else -math.inf

    @staticmethod
    def offer(value: float, weight: float) -> float:
        """A path is as wide as its narrowest edge."""
        return min(value, weight)

    @staticmethod
    def better(value: float, other: float) -> bool:
        """The wider path."""
        return value > other

    @staticmethod
    def priority(value: float) -> float:
        """The widest first."""
        return -value

    def checker(self) -> PathsCheck:
        """By a walk over edges that bring what is there, none of which may bring more."""
        return PathsCheck((self.source,), "widest")
