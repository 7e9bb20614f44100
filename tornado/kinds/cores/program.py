"""What a user derives from whose values are core numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...errors import InvalidArgument
from ...loops.vertex_program import VertexProgram
from .loop_columns import GREATEST_CORE


@dataclass(frozen=True)
class CoresProgram(VertexProgram):
    """The core number of every vertex: the greatest k such that it is in a subgraph in which everybody has k neighbours or more.

    The graph is the simple undirected one behind the stream: the direction of an edge does not count, nor how many there are
    between two vertices, nor an edge from a vertex to itself. A vertex without neighbours has 0.

    Parameters
    ----------
    most
        Numbers above are told as this one, which costs less where it is small; 0: none is.
    """

    most: int = 0
    program_kind: ClassVar[str] = "cores"
    rank: ClassVar[Literal["nearest", "highest"]] = "highest"
    # The type of values: whole numbers, each of which is one that a vertex can have.
    worst: ClassVar[Any] = (0, 0)
    both_ways: ClassVar[bool] = True

    def check_parameters(self) -> None:
        """Refuse parameters that are not what their fields are declared to be.

        Raises
        ------
        InvalidArgument
            See `VertexProgram`; and where `most` is negative or greater than any core number.
        """
        super().check_parameters()
        if not 0 <= self.most <= GREATEST_CORE:
            raise InvalidArgument(
                f"{type(self).__name__}.most is {self.most} but must be from 1 to {GREATEST_CORE}, or 0 for no limit"
            )

    @property
    def greatest(self) -> int:
        """No value is above."""
        return int(self.most) or GREATEST_CORE
