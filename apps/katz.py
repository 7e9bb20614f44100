"""Katz centrality over a live stream of links: `tornado run katz --edges links.csv`."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from tornado import AccumulativeProgram, InvalidArgument, SumsCheck


@dataclass(frozen=True)
class Katz(AccumulativeProgram):
    """How many walks end at a vertex, each worth `beta`, times `alpha` and the weight for every edge of it (Katz 1953).

    So x = alpha A x + beta, where an edge from j to i adds its weight to A[i, j]: ``katz_centrality`` of networkx with
    ``normalized=False``. Its normalised values are these divided by the square root of the sum of their squares. Parallel edges
    add up, self-loops count, a weight of 0 makes no edge.

    Where alpha is not below 1 over the greatest eigenvalue of A, walks have no end, and there are no such values. An answer says
    `diverged` then, and a later one has values again when edges have gone.

    Parameters
    ----------
    alpha
        What an edge is worth; above 0.
    beta
        What a vertex is worth without any edge; above 0. All values are multiples of it.
    """

    alpha: float = 0.1
    beta: float = 1.0
    norm: ClassVar[Literal["l1", "relative"]] = "relative"

    @staticmethod
    def base(vertex: int, alpha: float, beta: float) -> float:  # noqa: ARG004
        """The walk of no edge."""
        return beta

    @staticmethod
    def divisor(out_weight: float, alpha: float, beta: float) -> float:  # noqa: ARG004
        """A vertex gives all that it is worth to each edge."""
        return 1.0

    @staticmethod
    def factor(alpha: float, beta: float) -> float:  # noqa: ARG004
        """Each edge takes that of it."""
        return alpha

    @property
    def has_bases(self) -> bool:
        """Whether the walk of no edge is worth something else than 1."""
        return self.beta != 1.0

    def check_parameters(self) -> None:
        """Refuse an alpha and a beta that make no sums of walks, or such as no number of 64 bits is."""
        super().check_parameters()
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not (math.isfinite(value) and 1e-100 <= value <= 1e100):
                raise InvalidArgument(f"{name} is {value!r} but must be above 0, from 1e-100 to 1e100")

    def checker(self) -> SumsCheck:
        """By the residual of each value, recomputed."""
        return SumsCheck(factor=self.alpha, base=self.beta)
