"""A program whose answers are wrong, one for all tests that want it: each is compiled for itself, in a dozen seconds."""

from dataclasses import dataclass

from apps.sssp import ShortestPaths


@dataclass(frozen=True)
class Skewed(ShortestPaths):
    """Paths that are a little too long by mistake; its checker knows better."""

    @staticmethod
    def offer(value: float, weight: float) -> float:
        """A rounding error that somebody made."""
        return value + weight * 1.0000000000000002
