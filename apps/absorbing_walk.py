"""How often absorbed walks visit each vertex of a live stream of links: `tornado run absorbing_walk --edges links.csv`."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from tornado import AccumulativeProgram, InvalidArgument, SumsCheck


@dataclass(frozen=True)
class AbsorbingWalk(AccumulativeProgram):
    """How often walks come to a vertex, of which one begins at each, and each goes on by the weights of edges until it is absorbed.

    Being absorbed competes with the edges: at a vertex whose out-edges weigh W a walk ends with the probability
    absorption / (W + absorption), and without out-edges it surely does (partially absorbing random walks: Wu, Li, So, Wright and
    Chang 2012). Values are the expected visits, the beginning included: the column sums of the fundamental matrix of the absorbing
    chain (Kemeny and Snell 1960). Of all walks value * absorption / (W + absorption) end at a vertex, and these sum to the number
    of vertices. Where edges go in both directions, a value is 1 + W / absorption.

    Parameters
    ----------
    absorption
        What being absorbed weighs beside the edges of a vertex; above 0. The less it is, the longer walks are.
    """

    absorption: float = 1.0
    norm: ClassVar[Literal["l1", "relative"]] = "relative"

    @staticmethod
    def base(vertex: int, absorption: float) -> float:  # noqa: ARG004
        """One walk begins there."""
        return 1.0

    @staticmethod
    def divisor(out_weight: float, absorption: float) -> float:
        """Walks go on over an edge by its share of all that they choose from."""
        return out_weight + absorption

    @staticmethod
    def factor(absorption: float) -> float:  # noqa: ARG004
        """None is lost on the way."""
        return 1.0

    def check_parameters(self) -> None:
        """Refuse an absorption with which walks would not end, or such as no weight may be."""
        super().check_parameters()
        if not (math.isfinite(self.absorption) and 1e-12 <= self.absorption <= 1e12):
            raise InvalidArgument(
                f"absorption is {self.absorption!r} but must be above 0, from 1e-12 to 1e12 as weights are"
            )

    def checker(self) -> SumsCheck:
        """By the residual of each value, recomputed."""
        return SumsCheck(factor=1.0, base=1.0, absorption=self.absorption)
