"""The kind of programs that learn from points, as loops ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...certificate import Certificate
from ...engine import WireType
from ...errors import InternalError, InvalidArgument, TornadoError
from ...graph import PartitionMap
from ...loops.edge_shares import shares_of
from ...loops.kind import Fields, PartPlan, PlanReader
from ...loops.part import StreamView
from ...loops.share import Share
from ...loops.stream_part import StreamPart
from ...records.edge_batch import EdgeBatch
from ..program_modules import Programs, reference_of
from .main_processor import LearningMain
from .program import LearningProgram
from .spoken import WIRE_TYPES


@dataclass(frozen=True, slots=True, eq=False)
class LearningPlan:
    """See `PartPlan`."""

    program: LearningProgram
    delay_bound: int | None
    kind: str = "learning"

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> LearningMain:
        """See `PartPlan`."""
        return LearningMain(
            program=self.program,
            delay_bound=self.delay_bound,
            worker=worker,
            workers=workers,
            on_applied=on_applied,
            stream=cast("StreamPart | None", stream),
        )

    def fields(self) -> Fields:
        """See `PartPlan`: with a reference to the program."""
        return reference_of(self.program), self.delay_bound

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: a reference to the branch's program."""
        (program,) = cast("tuple[LearningProgram]", arguments)
        return (reference_of(program),)

    def required(self) -> Fields | None:
        """See `PartPlan`: the program's module is imported, and may not be there."""
        return (reference_of(self.program),)

    def preloaded(self) -> Fields | None:
        """See `PartPlan`."""
        return None


class LearningReader:
    """See `PlanReader`."""

    def __init__(self) -> None:
        self._programs = Programs(LearningProgram, "program that learns")

    def require(self, fields: Fields) -> None:
        """See `PlanReader`."""
        (reference,) = cast("tuple[Any]", fields)
        try:
            self._programs.program(reference)
        except TornadoError as error:
            raise InvalidArgument(
                f"cannot have {reference[0][2]}: {error.message}", hint=error.hint
            ) from error

    def plan(self, fields: Fields) -> LearningPlan:
        """See `PlanReader`."""
        reference, delay_bound = cast("tuple[Any, ...]", fields)
        return LearningPlan(self._programs.program(reference), delay_bound)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`: the program, which was imported before."""
        (reference,) = cast("tuple[Any]", fields)
        return (self._programs.program(reference),)

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return self._programs.told(error)


class LearningKind:
    """See `ProgramKind`."""

    name = "learning"
    described = "a program that learns"
    shares_streams = True
    adopts = True
    certifies = False
    proves_order = False
    is_stored = False

    def plan(
        self, program: LearningProgram, *, delay_bound: int | None, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """See `ProgramKind`; compiles the program where that was not done yet."""
        del hears_back, commits
        program.warm()
        return LearningPlan(program, delay_bound)

    def fork_arguments(self, program: LearningProgram) -> tuple[object, ...]:
        """See `ProgramKind`."""
        return (program,)

    def require_travels(self, program: LearningProgram) -> None:
        """See `ProgramKind`."""
        reference_of(program)

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """See `ProgramKind`: of edges, for other loops on the stream."""
        return shares_of(batch, partition, both_ways=both_ways)

    def identity(self, program: LearningProgram) -> str:
        """See `ProgramKind`: nobody asks, since nothing is stored."""
        raise InternalError(f"{type(program).__name__} is not stored, so it has no identity")

    def judge(
        self, program: LearningProgram, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """See `ProgramKind`."""
        found = next((one for one in findings if one), {})
        return program.certificate(found, is_converged=is_converged)

    def wire_types(self) -> Sequence[WireType]:
        """See `ProgramKind`: beside those of plain sessions."""
        return WIRE_TYPES

    def reader(self) -> PlanReader:
        """See `ProgramKind`."""
        return LearningReader()

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`: nothing."""


KIND = LearningKind()
