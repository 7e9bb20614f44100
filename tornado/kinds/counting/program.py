"""What a user writes whose values follow from the edges among a vertex's neighbours: a counting program."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar, Literal

from ...loops.vertex_program import VertexProgram
from .compile import load_kernel


class CountingProgram(VertexProgram):
    """A value follows from two counts: of a vertex's neighbours, and of the edges among these.

    The neighbours of a vertex are all others that it has an edge from or to, each once. An edge among them counts once in each
    direction in which it is there, however many parallel edges that are. Edges of a vertex to itself and weights count for nothing.

    `value` is compiled: it may use its arguments, numbers of its module, ``np`` and ``math``. The parameters of a program are
    numbers, or tuples of whole numbers, which it gets as int64 arrays.

    Nothing is counted while edges come and go: a question counts them, at its own version of the graph. So a main loop has no
    values to be read, and no delay bound makes a difference.
    """

    program_kind: ClassVar[str] = "counting"
    rank: ClassVar[Literal["nearest", "highest"]] = "highest"
    worst: ClassVar[float] = -math.inf

    @staticmethod
    def value(neighbours: int, edges: int, *parameters: Any) -> float:
        """The value of a vertex with so many neighbours and so many edges among them; `parameters` are the fields, in order."""
        raise NotImplementedError

    def arguments(self) -> tuple[Any, ...]:
        """The parameters as the compiled function gets them."""
        return tuple(self.parameters().values())

    def begins_cold(self, main: VertexProgram) -> bool:
        """Always: a main loop has no values, and each branch counts."""
        del main
        return True

    @classmethod
    def functions(cls) -> dict[str, Callable[..., object]]:
        """Those that are compiled."""
        return {"value": cls.value}

    @classmethod
    def kernel(cls) -> ModuleType:
        """The compiled counting of this program."""
        return load_kernel(cls.functions())
