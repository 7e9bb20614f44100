"""What a user writes whose definition counts rounds: a program of rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, ClassVar, Literal

from ...errors import InvalidArgument
from ...loops.vertex_program import VertexProgram
from .compile import load_kernel
from .loop_columns import MOST_ROUNDS


class RoundsProgram(VertexProgram):
    """A value follows from those of the neighbours one round before, so many times: label propagation as LDBC defines it.

    A program is a frozen dataclass with the field ``rounds: int``, how many rounds a value takes. At round 0 a vertex has
    `initial`. What it has at a later one says `gather`:

    - ``"mode"``: the value that most of those whom it hears had a round before, and of several such the least; without anybody
      to hear it keeps what it has. Who is heard along two edges is heard twice. Values are whole numbers of 64 bits.
    - ``"sum"``: each vertex shares what it has equally among the edges that begin there, and at the next round has the sum of the
      shares along those that end there. An answer is a sum over the rounds, each times its coefficient. So a constant that all
      vertices get in a round, whatever it depends on, is no business of a vertex. Values are numbers; `worst` is a float, and
      `both_ways` must be true, because a vertex counts the edges that begin at it.

    `initial` and `coefficients` are compiled: they may use their arguments, numbers of their module, ``np`` and ``math``. The
    other parameters are numbers, or tuples of whole numbers, which they get as int64 arrays.

    All rounds of a vertex are kept, so `rounds` is fixed where the loop is started, and the delay bound is 1.
    """

    program_kind: ClassVar[str] = "rounds"
    gather: ClassVar[Literal["mode", "sum"]] = "mode"
    # The type of values: whole numbers, each of which is one that a vertex can have.
    worst: ClassVar[Any] = (2**63 - 1, 2**63 - 1)
    delay_bounds: ClassVar[tuple[int, int | None]] = (1, 1)
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"rounds"})

    rounds: int

    @staticmethod
    def initial(vertex: int, *parameters: Any) -> Any:
        """A vertex's value at round 0; `parameters` are the program's fields but for `rounds`, in order."""
        raise NotImplementedError

    @staticmethod
    def coefficients(result: Any, kept: Any, vertices: int, *parameters: Any) -> None:
        """Write what each round counts for in an answer, where `gather` is ``"sum"``.

        Parameters
        ----------
        result : float64[rounds + 1]
            Written: the coefficient of round 0, 1 and so on.
        kept : float64[rounds + 1]
            What vertices at which no edge begins have at each round, summed over all of them.
        vertices
            How many there are, at least one.
        """
        raise NotImplementedError

    def roundings(self, terms: int, kept: int) -> Sequence[int] | None:
        """How many roundings each coefficient has been through at most, where `gather` is ``"sum"``.

        Answers are sums of floats then. A program that knows this has answers with a bound (`bound`), and one that does not has
        answers whose certificate is none. Initial values must be exact, neither they nor coefficients may be below 0, and the
        coefficient of round 0 times the least initial value must be at least 2^-100.

        Parameters
        ----------
        terms
            The most that a sum of shares has. What vertices keep at round j has been through ``1 + j * terms`` roundings.
        kept
            How many the sum of these over all vertices adds, at most.

        Returns
        -------
        Of rounds 0, 1 and so on, ``rounds + 1`` numbers; None: that is not known.
        """
        del terms, kept
        return None

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

    @property
    def kept_rounds(self) -> int:
        """How many rounds of a vertex are computed: shares are those of the round before, so there is one more of them."""
        return self.rounds + (self.gather == "sum")

    @classmethod
    def functions(cls) -> dict[str, Callable[..., object]]:
        """Those that are compiled."""
        if cls.gather == "mode":
            return {"initial": cls.initial}
        return {"initial": cls.initial, "coefficients": cls.coefficients}

    @classmethod
    def kernel(cls) -> ModuleType:
        """The compiled loop of this program.

        Raises
        ------
        InvalidArgument
            When vertices share, and do not count whom they share with.
        """
        if cls.gather == "sum" and not (cls.both_ways and isinstance(cls.worst, float)):
            raise InvalidArgument(
                f"{cls.__name__} gathers sums, so both_ways must be True and worst a float; they are {cls.both_ways} and {cls.worst!r}"
            )
        return load_kernel(cls.functions(), cls.worst, both_ways=cls.both_ways)
