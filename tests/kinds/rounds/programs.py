"""Programs of rounds that tests run."""

from dataclasses import dataclass
from typing import ClassVar

from tornado import RoundsProgram


@dataclass(frozen=True)
class Colours(RoundsProgram):
    """Each vertex has one of a few colours at first, so there are many ties, and another number of them is another answer."""

    rounds: int
    colours: int
    both_ways: ClassVar[bool] = True

    @staticmethod
    def initial(vertex: int, colours: int) -> int:
        """A colour that looks as if it was drawn."""
        return (vertex * 40503 >> 4) % colours


@dataclass(frozen=True)
class Downstream(RoundsProgram):
    """The same, but colours go along the edges only."""

    rounds: int
    colours: int

    @staticmethod
    def initial(vertex: int, colours: int) -> int:
        """A colour that looks as if it was drawn."""
        return (vertex * 40503 >> 4) % colours
