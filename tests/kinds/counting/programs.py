"""Counting programs that tests run."""

from dataclasses import dataclass

from tornado import CountingProgram


@dataclass(frozen=True)
class Weighed(CountingProgram):
    """Both counts in one number, and a parameter by which it is another one."""

    weight: float

    @staticmethod
    def value(neighbours: int, edges: int, weight: float) -> float:
        """Edges among neighbours by a weight, and the neighbours."""
        return weight * edges + neighbours
