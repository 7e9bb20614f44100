"""PageRank over a live stream of links: `tornado run pagerank --edges links.csv`, by rounds with `--rounds 10`."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tornado import AccumulativeProgram, InvalidArgument, RankRoundsCheck, RanksCheck, RoundsProgram

__all__ = ["PageRank"]  # the app, of two programs: it is the other one where `rounds` is given


@dataclass(frozen=True)
class PageRank(AccumulativeProgram):
    """Where a random surfer is found who follows an edge by its weight, or with probability 1 - `damping` goes anywhere.

    From a vertex without out-edges the surfer goes anywhere, too: the definition of networkx. Values sum to 1 over every vertex that
    was seen. Self-loops and parallel edges count as edges; a weight of 0 makes no edge.

    Parameters
    ----------
    damping
        The probability that the surfer follows an edge.
    personalisation
        To which vertices the surfer goes instead of anywhere, each as often as it is named; none: to all. As long as none of those
        that are named was seen, every value is 0.
    rounds
        Where it is given, `PageRank(rounds=10)` is the program `PageRankRounds`: by another definition, which knows neither
        weights, a personalisation nor a tolerance.
    """

    damping: float = 0.85
    personalisation: tuple[int, ...] = field(default=(), metadata={"vertex": True})
    rounds: int | None = field(default=None, kw_only=True)
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"rounds"})

    def __new__(cls, *named: Any, **given: Any) -> Any:
        """Make one of the two programs, by what is named.

        Raises
        ------
        InvalidArgument
            When `rounds` is given beside what a program of rounds does not have.
        """
        if given.get("rounds") is None:
            return super().__new__(cls)
        given |= zip(("damping", "personalisation"), named, strict=False)
        strangers = [name for name in given if name not in {"rounds", "damping"}]
        if strangers:
            raise InvalidArgument(
                f"rounds is {given['rounds']!r}, and PageRank by a number of rounds has no {strangers[0]}",
                hint=f"Leave one of them out: rounds are for the definition of LDBC Graphalytics, which has no {strangers[0]}.",
            )
        return PageRankRounds(**given)

    @staticmethod
    def base(vertex: int, damping: float, personalisation: NDArray[np.int64]) -> float:  # noqa: ARG004
        """How often the vertex is named; the list is sorted."""
        first = np.searchsorted(personalisation, vertex, side="left")
        last = np.searchsorted(personalisation, vertex, side="right")
        return float(last - first)

    @staticmethod
    def divisor(out_weight: float, damping: float, personalisation: NDArray[np.int64]) -> float:  # noqa: ARG004
        """A vertex spreads what it is worth over its edges."""
        return out_weight

    @staticmethod
    def factor(damping: float, personalisation: NDArray[np.int64]) -> float:  # noqa: ARG004
        """An edge is followed with that probability."""
        return damping

    @property
    def has_bases(self) -> bool:
        """Whether some vertices are gone to rather than others."""
        return bool(self.personalisation)

    def arguments(self) -> tuple[Any, ...]:
        """The parameters as the compiled functions get them."""
        return self.damping, tuple(sorted(self.personalisation))

    def check_parameters(self) -> None:
        """Refuse a damping with which nothing would be worth anything, or everything grow for ever."""
        super().check_parameters()
        if not 0 <= self.damping < 1:
            raise InvalidArgument(f"damping is {self.damping!r} but must be from 0 to below 1")

    def checker(self) -> RanksCheck:
        """By the residual of all values, recomputed."""
        shares = tuple(
            (vertex, float(times)) for vertex, times in sorted(Counter(self.personalisation).items())
        )
        return RanksCheck(self.damping, shares)


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

    def checker(self) -> RankRoundsCheck:
        """By going through all rounds again."""
        return RankRoundsCheck(self.rounds, self.damping)

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
