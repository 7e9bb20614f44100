"""PageRank over a live stream of links: `tornado run pagerank --edges links.csv`."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tornado import AccumulativeProgram, InvalidArgument, RanksCheck


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
    """

    damping: float = 0.85
    personalisation: tuple[int, ...] = field(default=(), metadata={"vertex": True})

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
