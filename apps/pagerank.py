"""PageRank over a live stream of links: `tornado run pagerank --edges links.csv`, by rounds with `--rounds 10`."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tornado import AccumulativeProgram, InvalidArgument, RankRoundsCheck, RanksCheck, RoundsProgram

MOST_SHARES = 100_000  # they travel to every worker with each question that names them

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
        that are named was seen, every value is 0. `tornado.personalisation` takes it from a column or a file.
    shares
        How often the surfer goes to each vertex that `personalisation` names, in its order and in any unit; none: alike.
    rounds
        Where it is given, `PageRank(rounds=10)` is the program `PageRankRounds`: by another definition, which knows neither
        weights, a personalisation nor a tolerance.
    """

    damping: float = 0.85
    personalisation: tuple[int, ...] = field(
        default=(), metadata={"vertex": True, "most": MOST_SHARES, "table": "shares"}
    )
    shares: tuple[float, ...] = field(default=(), kw_only=True, metadata={"most": MOST_SHARES})
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
    def base(
        vertex: int,
        damping: float,  # noqa: ARG004
        personalisation: NDArray[np.int64],
        shares: NDArray[np.float64],
    ) -> float:
        """The share of the vertex; vertices are sorted, and behind their shares stands that of all others."""
        place = int(np.searchsorted(personalisation, vertex))
        if place < personalisation.size and personalisation[place] != vertex:
            place = personalisation.size
        return float(shares[place])

    @staticmethod
    def divisor(
        out_weight: float,
        damping: float,  # noqa: ARG004
        personalisation: NDArray[np.int64],  # noqa: ARG004
        shares: NDArray[np.float64],  # noqa: ARG004
    ) -> float:
        """A vertex spreads what it is worth over its edges."""
        return out_weight

    @staticmethod
    def factor(
        damping: float,
        personalisation: NDArray[np.int64],  # noqa: ARG004
        shares: NDArray[np.float64],  # noqa: ARG004
    ) -> float:
        """An edge is followed with that probability."""
        return damping

    @property
    def has_bases(self) -> bool:
        """Whether some vertices are gone to rather than others."""
        return bool(self.personalisation)

    def arguments(self) -> tuple[Any, ...]:
        """The parameters as the compiled functions get them: of shares the greatest is 1, and the last one is that of all others."""
        shares = self._share_of()
        greatest = max(shares.values(), default=0.0) or 1.0
        return self.damping, tuple(shares), (*(share / greatest for share in shares.values()), 0.0)

    def check_parameters(self) -> None:
        """Refuse a damping with which nothing would be worth anything, or everything grow for ever, and shares that are none."""
        super().check_parameters()
        if not 0 <= self.damping < 1:
            raise InvalidArgument(f"damping is {self.damping!r} but must be from 0 to below 1")
        if not self.shares:
            return
        named, given = len(self.personalisation), len(self.shares)
        if named != given:
            raise InvalidArgument(
                f"personalisation names {named} vertices, and shares has {given} entries",
                hint="Give one share for each vertex that is named, or none: then all are alike.",
            )
        for vertex, share in zip(self.personalisation, self.shares, strict=True):
            if not (math.isfinite(share) and share >= 0):
                raise InvalidArgument(
                    f"the share of vertex {vertex} is {share!r} but must be at least 0, and finite"
                )
        if len(set(self.personalisation)) < named:
            twice = Counter(self.personalisation).most_common(1)[0][0]
            raise InvalidArgument(
                f"personalisation names vertex {twice} twice, with a share each",
                hint="Give each vertex once. Without shares one that is named twice counts twice.",
            )
        if not any(self.shares):
            raise InvalidArgument(
                f"the shares of all {named} vertices are 0, so the surfer would go nowhere",
                hint="Give one of them a share above 0, or leave the personalisation out.",
            )

    def checker(self) -> RanksCheck:
        """By the residual of all values, recomputed."""
        return RanksCheck(self.damping, tuple(self._share_of().items()))

    def _share_of(self) -> dict[int, float]:
        """The share of each vertex that is named, by vertex."""
        shares: dict[int, float] = {}
        each = self.shares or (1.0,) * len(self.personalisation)
        for vertex, share in sorted(zip(self.personalisation, each, strict=False)):
            shares[vertex] = shares.get(vertex, 0.0) + share
        return shares


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

    def roundings(self, terms: int, kept: int) -> Sequence[int]:
        """How many `coefficients` makes: 1 + (rounds - j) (terms + kept + rounds + 4) + j for that of round j.

        Let X = terms + kept + rounds + 4. Then c(i) has at most 1 + i X. Of c(0) that is its division. Otherwise it has three for 1 - d, the
        addition and the division; or with those of c(i - 1 - j) and of what is kept after j rounds, 1 + j terms + kept, come j + 1
        for d^j and two products, i - 1 for the sum, and three for d, the addition and the division. By induction these are

            1 + (i - 1 - j) X + 1 + j terms + kept + i + j + 3 <= 1 + (i - 1 - j) X + j (terms + 1) + X <= 1 + i X,

        as i is at most rounds. The coefficient of round j is c(rounds - j) times d^j, which adds j. Each c(i) is at least
        (1 - d)/n, which is above 2^-100, as d is below 1 by 2^-53 or more.
        """
        of_a_round = terms + kept + self.rounds + 4
        return [1 + (self.rounds - number) * of_a_round + number for number in range(self.rounds + 1)]

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
