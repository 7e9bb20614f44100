"""What a user writes whose values are chosen among offers: a selective program."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from ...certificate import Side, side_of
from ...loops.answer_tables import AnswerTable
from ...loops.vertex_program import VertexProgram
from .compile import load_kernel


class SelectiveProgram(VertexProgram):
    """A value is chosen among offers: shortest paths, breadth-first search, components, widest paths.

    The four functions are compiled: they may use their arguments, numbers of their module, ``np`` and ``math``. Parameters are
    numbers, or tuples of whole numbers, which `initial` gets as int64 arrays. Laws:
    `better` is a strict total order of values; ``offer(v, w)`` is never better than ``v`` (*monotone*), and a better value
    never makes a worse offer (*isotone*). Then the fixed point is unique, whatever the order of updates. Of pairs the second law may fail
    where the first number is the priority and rounding makes two of them one: a vertex has the least of what its neighbours offer, still.

    Attributes
    ----------
    worst : float, tuple of float or tuple of int
        The value of a vertex that no offer has reached. Where it is a pair of floats, or of whole numbers of 64 bits, so is every
        value, and the first of them is what an answer shows. A float that is that of `worst` says that a vertex was not
        reached; of whole numbers each is a value, and every vertex that was seen counts as reached.
    beside
        Where the second of each pair is the id of a vertex, or not finite: the name of a table that has it beside the values, and that of
        its column.
    """

    program_kind: ClassVar[str] = "selective"
    needs_no_bound: ClassVar[bool] = True
    beside: ClassVar[tuple[str, str] | None] = None

    @staticmethod
    def initial(vertex: int, *parameters: Any) -> Any:
        """A vertex's value without any offer; `parameters` are the program's fields, in order."""
        raise NotImplementedError

    @staticmethod
    def offer(value: Any, weight: float) -> Any:
        """What a producer's value is worth to a consumer over an edge."""
        raise NotImplementedError

    @staticmethod
    def better(value: Any, other: Any) -> bool:
        """Whether a value is to be preferred, strictly."""
        raise NotImplementedError

    @staticmethod
    def priority(value: Any) -> float:
        """The order in which vertices are processed, inside the delay bound: least first."""
        return float(value)

    @property
    def stopped_side(self) -> Side | None:
        """Above where less is better, below where more is."""
        if isinstance(self.worst, tuple):
            return side_of(lambda value, other: self.better((value, 0), (other, 0)))
        return side_of(self.better)

    @property
    def tables(self) -> tuple[AnswerTable, ...]:
        """The one of `beside`, if there is one."""
        if self.beside is None:
            return ()
        table, column = self.beside
        return (AnswerTable(table, (("vertex", "id"), ("value", "float64"), (column, "id"))),)

    @property
    def finds_ways(self) -> bool:
        """Where values come along edges, and not against them too."""
        return not self.both_ways

    def arguments(self) -> tuple[Any, ...]:
        """The parameters as the compiled functions get them."""
        return tuple(self.parameters().values())

    @classmethod
    def kernel(cls) -> ModuleType:
        """The compiled loop of this program."""
        functions: dict[str, Callable[..., object]] = {
            "offer": cls.offer,
            "better": cls.better,
            "priority": cls.priority,
            "initial": cls.initial,
        }
        return load_kernel(functions, cls.worst, both_ways=cls.both_ways)
