"""PageRank over a live stream of links: `tornado run pagerank --edges links.csv`."""

from dataclasses import dataclass

from tornado import AccumulativeProgram, InvalidArgument


@dataclass(frozen=True)
class PageRank(AccumulativeProgram):
    """Where a random surfer is found who follows an edge by its weight, or with probability 1 - `damping` goes anywhere.

    From a vertex without out-edges the surfer goes anywhere, too: the definition of networkx. Values sum to 1 over every vertex that
    was seen. Self-loops and parallel edges count as edges; a weight of 0 makes no edge.

    Parameters
    ----------
    damping
        The probability that the surfer follows an edge.
    """

    damping: float = 0.85

    @staticmethod
    def base(vertex: int, damping: float) -> float:  # noqa: ARG004
        """Every vertex is as likely to be gone to as any other."""
        return 1.0

    @staticmethod
    def divisor(out_weight: float, damping: float) -> float:  # noqa: ARG004
        """A vertex spreads what it is worth over its edges."""
        return out_weight

    @staticmethod
    def factor(damping: float) -> float:
        """An edge is followed with that probability."""
        return damping

    def check_parameters(self) -> None:
        """Refuse a damping with which nothing would be worth anything, or everything grow for ever."""
        super().check_parameters()
        if not 0 <= self.damping < 1:
            raise InvalidArgument(f"damping is {self.damping!r} but must be from 0 to below 1")
