"""What a user writes whose definition counts rounds: a program of rounds."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

from ...errors import InvalidArgument
from ...loops.vertex_program import VertexProgram
from .compile import load_kernel
from .loop_columns import MOST_ROUNDS


class RoundsProgram(VertexProgram):
    """A value follows from those of the neighbours one round before, so many times: label propagation as LDBC defines it.

    A program is a frozen dataclass with the field ``rounds: int``, how many rounds a value takes. At round 0 a vertex has
    `initial`; at each later one the value that most of those whom it hears had a round before, and of several such the least;
    without anybody to hear it keeps what it has. Who is heard along two edges is heard twice.

    Values are whole numbers of 64 bits. `initial` is compiled: it may use its arguments, numbers of its module, ``np`` and
    ``math``. The other parameters are numbers, or tuples of whole numbers, which it gets as int64 arrays.

    All rounds of a vertex are kept, so `rounds` is fixed where the loop is started, and the delay bound is 1.
    """

    program_kind: ClassVar[str] = "rounds"
    # The type of values: whole numbers, each of which is one that a vertex can have.
    worst: ClassVar[tuple[int, int]] = (2**63 - 1, 2**63 - 1)
    delay_bounds: ClassVar[tuple[int, int | None]] = (1, 1)
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"rounds"})

    rounds: int

    @staticmethod
    def initial(vertex: int, *parameters: Any) -> Any:
        """A vertex's value at round 0; `parameters` are the program's fields but for `rounds`, in order."""
        raise NotImplementedError

    def check_parameters(self) -> None:
        """Refuse parameters that are not what their fields are declared to be.

        Raises
        ------
        InvalidArgument
            See `VertexProgram`; and where `rounds` is not a whole number from 1 to `MOST_ROUNDS`.
        """
        super().check_parameters()
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidArgument(
                f"{type(self).__name__}.rounds is {self.rounds} but must be a whole number from 1 to {MOST_ROUNDS}",
                hint="A vertex has a value of 8 bytes at every round.",
            )

    def arguments(self) -> tuple[Any, ...]:
        """The parameters as the compiled function gets them."""
        return tuple(value for name, value in self.parameters().items() if name != "rounds")

    @classmethod
    def kernel(cls) -> ModuleType:
        """The compiled loop of this program."""
        return load_kernel(cls.initial, cls.worst, both_ways=cls.both_ways)
