"""A selective program beside the apps, one for all tests that want it: each is compiled for itself, in a dozen seconds."""

from dataclasses import dataclass

from tornado import SelectiveProgram


@dataclass(frozen=True)
class Lowest(SelectiveProgram):
    """The least id that leads to a vertex: each begins with a value of its own, and with an update to commit.

    Weakly connected components where every edge is there both ways. With a shift it is so much more.
    """

    shift: int = 0

    @staticmethod
    def initial(vertex: int, shift: int) -> float:
        return float(vertex + shift)

    @staticmethod
    def offer(value: float, weight: float) -> float:
        return value

    @staticmethod
    def better(value: float, other: float) -> bool:
        return value < other
