"""Plans of kinds whose programs are plain Python, and what reads them elsewhere: programs travel as references to their classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, cast

from ..errors import InvalidArgument, TornadoError
from ..loops.kind import Fields, PartPlan
from ..loops.vertex_program import VertexProgram
from .program_modules import Program, Programs, reference_of


@dataclass(frozen=True, slots=True, eq=False)
class PlainPlan(Generic[Program]):
    """See `PartPlan`: all of it but the name of the kind and the part."""

    program: Program
    delay_bound: int | None

    def fields(self) -> Fields:
        """See `PartPlan`: with a reference to the program."""
        return reference_of(self.program), self.delay_bound

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: a reference to the branch's program."""
        (program,) = cast("tuple[VertexProgram]", arguments)
        return (reference_of(program),)

    def required(self) -> Fields | None:
        """See `PartPlan`: the program's module is imported, and may not be there."""
        return (reference_of(self.program),)

    def preloaded(self) -> Fields | None:
        """See `PartPlan`."""
        return None


class PlainReader(Generic[Program]):
    """See `PlanReader`.

    Parameters
    ----------
    base
        What programs of the kind are derived from.
    described
        What one is called in a sentence: "general program".
    plan_of
        Makes the plan of a program with a delay bound.
    """

    def __init__(
        self, base: type[Program], described: str, plan_of: Callable[[Program, int | None], PartPlan]
    ) -> None:
        self._programs = Programs(base, described)
        self._plan_of = plan_of

    def require(self, fields: Fields) -> None:
        """See `PlanReader`."""
        (reference,) = cast("tuple[Any]", fields)
        try:
            self._programs.program(reference)
        except TornadoError as error:
            raise InvalidArgument(
                f"cannot have {reference[0][2]}: {error.message}", hint=error.hint
            ) from error

    def plan(self, fields: Fields) -> PartPlan:
        """See `PlanReader`."""
        reference, delay_bound = cast("tuple[Any, ...]", fields)
        return self._plan_of(self._programs.program(reference), delay_bound)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`: the program, which was imported before."""
        (reference,) = cast("tuple[Any]", fields)
        return (self._programs.program(reference),)

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return self._programs.told(error)
