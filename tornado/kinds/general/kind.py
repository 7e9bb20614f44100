"""The kind of general programs, as loops ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...certificate import Certificate, fixed_point
from ...engine import WireType
from ...errors import InternalError, InvalidArgument, TornadoError
from ...graph import PartitionMap
from ...loops.kind import Fields, PartPlan, PlanReader
from ...loops.part import StreamView
from ...loops.share import Share
from ...records.edge_batch import EdgeBatch
from ..letters import LETTER_TYPES
from ..program_modules import Programs, reference_of
from ..travelling import VALUE_TYPES
from .emissions import EMISSION
from .main_processor import GeneralMain
from .program import GeneralProgram


@dataclass(frozen=True, slots=True, eq=False)
class GeneralPlan:
    """See `PartPlan`."""

    program: GeneralProgram
    delay_bound: int | None
    kind: str = "general"

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> GeneralMain:
        """See `PartPlan`."""
        return GeneralMain(
            program=self.program,
            delay_bound=self.delay_bound,
            worker=worker,
            workers=workers,
            on_applied=on_applied,
            stream=stream,
        )

    def fields(self) -> Fields:
        """See `PartPlan`: with a reference to the program."""
        return reference_of(self.program), self.delay_bound

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: a reference to the branch's program."""
        (program,) = cast("tuple[GeneralProgram]", arguments)
        return (reference_of(program),)

    def required(self) -> Fields | None:
        """See `PartPlan`: the program's module is imported, and may not be there."""
        return (reference_of(self.program),)

    def preloaded(self) -> Fields | None:
        """See `PartPlan`."""
        return None


class GeneralReader:
    """See `PlanReader`."""

    def __init__(self) -> None:
        self._programs = Programs(GeneralProgram, "general program")

    def require(self, fields: Fields) -> None:
        """See `PlanReader`."""
        (reference,) = cast("tuple[Any]", fields)
        try:
            self._programs.program(reference)
        except TornadoError as error:
            raise InvalidArgument(
                f"cannot have {reference[0][2]}: {error.message}", hint=error.hint
            ) from error

    def plan(self, fields: Fields) -> GeneralPlan:
        """See `PlanReader`."""
        reference, delay_bound = cast("tuple[Any, ...]", fields)
        return GeneralPlan(self._programs.program(reference), delay_bound)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`: the program, which was imported before."""
        (reference,) = cast("tuple[Any]", fields)
        return (self._programs.program(reference),)

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return self._programs.told(error)


class GeneralKind:
    """See `ProgramKind`. Its snapshots are copies in memory: how a state of a general program is written is not defined."""

    name = "general"
    described = "a general program"
    shares_streams = False
    adopts = False
    certifies = False
    proves_order = False
    is_stored = False

    def plan(
        self, program: GeneralProgram, *, delay_bound: int | None, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """See `ProgramKind`."""
        del hears_back, commits
        return GeneralPlan(program, delay_bound)

    def fork_arguments(self, program: GeneralProgram) -> tuple[object, ...]:
        """See `ProgramKind`."""
        return (program,)

    def require_travels(self, program: GeneralProgram) -> None:
        """See `ProgramKind`."""
        reference_of(program)

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """Each worker gets the records of which it owns an end: targets have their edges, sources know their targets."""
        del both_ways
        nothing = batch.src[:0]
        consumers, producers = partition.owners_of(batch.dst), partition.owners_of(batch.src)
        shares = []
        for worker in range(partition.workers):
            part = batch.take((consumers == worker) | (producers == worker))
            shares.append(Share(0, part, nothing))
        return shares

    def identity(self, program: GeneralProgram) -> str:
        """See `ProgramKind`: nobody asks, since nothing is stored."""
        raise InternalError(f"{type(program).__name__} is not stored, so it has no identity")

    def judge(
        self, program: GeneralProgram, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """See `ProgramKind`."""
        del findings
        return fixed_point(program.stopped_side, is_converged=is_converged)

    def wire_types(self) -> Sequence[WireType]:
        """See `ProgramKind`."""
        return *VALUE_TYPES, EMISSION, *LETTER_TYPES

    def reader(self) -> PlanReader:
        """See `ProgramKind`."""
        return GeneralReader()

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`: nothing."""


KIND = GeneralKind()
