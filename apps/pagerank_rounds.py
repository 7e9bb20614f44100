"""PageRank by a number of rounds over a live stream of edges: `tornado run pagerank_rounds --rounds 10 --edges links.csv`."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tornado import InvalidArgument, RoundsProgram


@dataclass(frozen=True)
class PageRankRounds(RoundsProgram):
    """The rank that a vertex has after so many rounds, as LDBC Graphalytics defines it (PR).

    At first every vertex has 1/n. A round gives it (1 - d)/n, d times the shares of those with an edge to it, and d/n times what
    the vertices without an edge from them have. Weights count for nothing, and each of several parallel edges counts.

    So round i is c(i) + d·(shares of round i - 1) with one number c(i) for all vertices. Written out, the last round is a sum over j of
    c(rounds - j)·d^j times what a vertex has when everybody begins with 1 and shares j times. Only that belongs to a vertex. It
    depends neither on d, nor on how many vertices there are, nor on what those without an edge from them have.
    """

    rounds: int = 10
    damping: float = 0.85
    gather: ClassVar[Literal["mode", "sum"]] = "sum"
    rank: ClassVar[Literal["nearest", "highest"]] = "highest"
    worst: ClassVar[float] = -math.inf
    both_ways: ClassVar[bool] = True

    def check_parameters(self) -> None:
        """Refuse a damping outside [0, 1)."""
        super().check_parameters()
        if not 0.0 <= self.damping < 1.0:
            raise InvalidArgument(f"damping is {self.damping} but must be at least 0 and less than 1")

    @staticmethod
    def initial(vertex: int, damping: float) -> float:  # noqa: ARG004
        """One for everybody."""
        return 1.0

    @staticmethod
    def coefficients(result: Any, kept: Any, vertices: int, damping: float) -> None:
        """What each round counts for; see the class."""
        rounds = result.size - 1
        for i in range(rounds + 1):  # c(i), into the place of round rounds - i
            dangling = 0.0
            power = 1.0
            for j in range(i):
                dangling += result[rounds - (i - 1 - j)] * power * kept[j]
                power *= damping
            result[rounds - i] = (1.0 - damping + damping * dangling) / vertices if i > 0 else 1.0 / vertices
        power = 1.0
        for j in range(rounds + 1):
            result[j] *= power
            power *= damping
