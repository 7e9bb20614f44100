"""Weakly connected components over a live stream of edges: `tornado run connected_components --edges links.csv`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tornado import ComponentsCheck, SelectiveProgram


@dataclass(frozen=True)
class ConnectedComponents(SelectiveProgram):
    """The least vertex id of the component that a vertex is in; directions and weights of edges count for nothing.

    A value is a pair: the label, and how many edges away the vertex is whose id that is. All vertices of a component have one
    label, and a vertex whose edge goes must not keep it for the sake of one that has it from this vertex. Hops say which
    neighbours have it from elsewhere, so most lost edges cost one look at the neighbours and no wave.
    """

    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    worst: ClassVar[tuple[int, int]] = (2**63 - 1, 2**63 - 1)
    both_ways: ClassVar[bool] = True
    values_are_ids: ClassVar[bool] = True

    @staticmethod
    def initial(vertex: int) -> tuple[int, int]:
        """A component of its own."""
        return vertex, 0

    @staticmethod
    def offer(value: tuple[int, int], weight: float) -> tuple[int, int]:  # noqa: ARG004
        """The producer's label, one hop further."""
        return value[0], value[1] + 1

    @staticmethod
    def better(value: tuple[int, int], other: tuple[int, int]) -> bool:
        """The lesser label, and of one label fewer hops."""
        return value[0] < other[0] or (value[0] == other[0] and value[1] < other[1])

    @staticmethod
    def priority(value: tuple[int, int]) -> float:
        """The least label first, and near before far. Where labels are too large for both, some change places."""
        return value[0] * 4096.0 + min(value[1], 4095)

    def checker(self) -> ComponentsCheck:
        """By a spanning forest."""
        return ComponentsCheck()
