"""Two small vertex programs for the simulation: one that has a right answer, and one that notices every misread commit.

`MinPlusProgram` is single-source shortest paths without removals: whatever the schedule, the distances are Dijkstra's.
`CountProgram` counts the paths that values took; its commits differ with every change of order, it can be made to run for
ever, and it bears removals, so it exercises the protocol far more than a program that converges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, cast

from .program import SessionProgram


class SampleProgram(SessionProgram, Protocol):
    """A program whose state can be copied and compared, for the exhaustive exploration."""

    def copy(self) -> SampleProgram:
        """A copy that shares nothing that changes."""
        ...

    def key(self) -> tuple[object, ...]:
        """The whole state, hashable."""
        ...


class MinPlusProgram:
    """Shortest paths: a vertex commits the least sum of weights on a path from the touched vertices.

    Edge data are weights; the data of a touch is a distance. Edges are only added.

    Examples
    --------
    >>> program = MinPlusProgram()
    >>> program.gather(vertex=2, producer=1, value=3.0, iteration=0, edges=[5.0, 4.0])
    True
    >>> program.scatter(2)
    7.0
    >>> program.gather(vertex=2, producer=1, value=4.0, iteration=1, edges=[5.0, 4.0])
    False
    """

    def __init__(self) -> None:
        self.distance: dict[int, float] = {}

    def touch(self, vertex: int, data: object) -> bool:
        """Let a path of length `data` (0 where None) begin here."""
        return self._offer(vertex, 0.0 if data is None else cast(float, data))

    def gather(
        self, vertex: int, producer: int, value: object, iteration: int, edges: Sequence[object]
    ) -> bool:
        """Take paths by way of `producer`, which matter where they are shorter."""
        del producer, iteration
        if value is None:
            return False
        lightest = min(1.0 if weight is None else cast(float, weight) for weight in edges)
        return self._offer(vertex, cast(float, value) + lightest)

    def drop(self, vertex: int, producer: int, data: object, edges: Sequence[object]) -> bool:
        """Raise `NotImplementedError`: distances of this program only fall."""
        raise NotImplementedError(f"edge {producer} -> {vertex} ({data}) went away; {len(edges)} are left")

    def scatter(self, vertex: int) -> object:
        """The distance."""
        return self.distance[vertex]

    def copy(self) -> MinPlusProgram:
        """A copy that shares nothing that changes."""
        twin = MinPlusProgram()
        twin.distance = self.distance.copy()
        return twin

    def key(self) -> tuple[object, ...]:
        """The whole state, hashable."""
        return tuple(sorted(self.distance.items()))

    def _offer(self, vertex: int, distance: float) -> bool:
        if distance >= self.distance.get(vertex, math.inf):
            return False
        self.distance[vertex] = distance
        return True


class CountProgram:
    """A vertex commits one more than the sum of what it last heard on each of its edges, modulo `modulus`.

    Parameters
    ----------
    appetite : int or None, default 1
        How often a vertex commits at most; None never ends where the graph has a cycle. What it gathers after that does not
        matter, but is remembered.
    modulus : int, default 97
        Keeps the numbers small.
    """

    def __init__(self, appetite: int | None = 1, modulus: int = 97) -> None:
        self.appetite = appetite
        self.modulus = modulus
        self.heard: dict[tuple[int, int], int] = {}
        self.commits: dict[int, int] = {}

    def touch(self, vertex: int, data: object) -> bool:
        """Commit once more, for no reason."""
        del data
        return self._matters(vertex)

    def gather(
        self, vertex: int, producer: int, value: object, iteration: int, edges: Sequence[object]
    ) -> bool:
        """Remember the newest value of `producer`, once for every edge."""
        del iteration
        if value is None:
            return False
        self.heard[vertex, producer] = cast(int, value) * len(edges)
        return self._matters(vertex)

    def drop(self, vertex: int, producer: int, data: object, edges: Sequence[object]) -> bool:
        """Take the edge's share back. It always matters, or it would depend on whether its value had come yet."""
        del data
        heard = self.heard.pop((vertex, producer), None)
        if heard is not None and edges:
            self.heard[vertex, producer] = heard // (len(edges) + 1) * len(edges)
        return self._matters(vertex)

    def scatter(self, vertex: int) -> object:
        """One more than all it heard."""
        self.commits[vertex] = self.commits.get(vertex, 0) + 1
        return (
            1 + sum(share for (reader, _), share in self.heard.items() if reader == vertex)
        ) % self.modulus

    def copy(self) -> CountProgram:
        """A copy that shares nothing that changes."""
        twin = CountProgram(self.appetite, self.modulus)
        twin.heard, twin.commits = self.heard.copy(), self.commits.copy()
        return twin

    def key(self) -> tuple[object, ...]:
        """The whole state, hashable; of the commits only how many are left."""
        commits = () if self.appetite is None else tuple(sorted(self.commits.items()))
        return (tuple(sorted(self.heard.items())), commits)

    def _matters(self, vertex: int) -> bool:
        return self.appetite is None or self.commits.get(vertex, 0) < self.appetite
