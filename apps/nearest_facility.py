"""How far the nearest of a set of facilities is, and which that is: `tornado run nearest_facility --facilities 1,2,3 --edges roads.csv`."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tornado import EdgeBatch, InvalidArgument, PathsCheck, SelectiveProgram


@dataclass(frozen=True)
class NearestFacility(SelectiveProgram):
    """The length of the shortest path to every vertex from the nearest of the `facilities`; weights are at least 0.

    A value is a pair: the length, and the facility that the path begins at. Of several that are as near it is always the one with the
    least id, whatever came first; lengths that are rounded to the same number are as near, and each vertex of a path has the facility of
    the one before it. Answers show the length; their table `facilities` has both, `vertex,value,facility`.

    Parameters
    ----------
    facilities
        The vertices that paths begin at, from -2^53 to 2^53. Each costs a comparison for each vertex, so they are few.
    """

    facilities: tuple[int, ...] = field(metadata={"vertex": True})
    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    worst: ClassVar[tuple[float, float]] = (math.inf, math.inf)
    beside: ClassVar[tuple[str, str]] = ("facilities", "facility")

    @staticmethod
    def initial(vertex: int, facilities: NDArray[np.int64]) -> tuple[float, float]:
        """A facility is at distance 0 from itself."""
        for facility in facilities:
            if facility == vertex:
                return 0.0, float(vertex)
        return math.inf, math.inf

    @staticmethod
    def offer(value: tuple[float, float], weight: float) -> tuple[float, float]:
        """From the producer's facility, over the producer and then the edge."""
        return value[0] + weight, value[1]

    @staticmethod
    def better(value: tuple[float, float], other: tuple[float, float]) -> bool:
        """The nearer facility, and of those that are as near the one with the lesser id."""
        return value[0] < other[0] or (value[0] == other[0] and value[1] < other[1])

    @staticmethod
    def priority(value: tuple[float, float]) -> float:
        """The nearest first."""
        return value[0]

    def check_parameters(self) -> None:
        """Refuse what `SelectiveProgram` does, no facility, and one whose id is no float."""
        super().check_parameters()
        if not self.facilities:
            raise InvalidArgument("NearestFacility.facilities is empty", hint="Give one facility at least.")
        for facility in self.facilities:
            if abs(facility) > 1 << 53:
                raise InvalidArgument(
                    f"NearestFacility.facilities has {facility}, but ids of facilities are from -2^53 to 2^53",
                    hint="Give that vertex a smaller id; with ids of strings any name will do.",
                )

    def check(self, batch: EdgeBatch) -> tuple[NDArray[np.bool_], str]:
        """Refuse negative weights: a cycle of them would have no shortest path."""
        return batch.weight < 0, "weight is negative; shortest paths need weights of at least 0"

    def checker(self) -> PathsCheck:
        """By a walk over edges that bring what is there, none of which may bring more."""
        return PathsCheck(self.facilities, "shortest", names_sources=True)
