"""The kind of general programs, as loops ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...certificate import Certificate, fixed_point
from ...engine import WireType
from ...errors import InternalError
from ...graph import PartitionMap
from ...loops.kind import PartPlan, PlanReader
from ...loops.part import StreamView
from ...loops.share import Share
from ...records.edge_batch import EdgeBatch
from ..letters import LETTER_TYPES
from ..plain_programs import PlainPlan, PlainReader
from ..program_modules import reference_of
from ..travelling import VALUE_TYPES
from .emissions import EMISSION
from .main_processor import GeneralMain
from .program import GeneralProgram


@dataclass(frozen=True, slots=True, eq=False)
class GeneralPlan(PlainPlan[GeneralProgram]):
    """See `PartPlan`."""

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
        return PlainReader(GeneralProgram, "general program", GeneralPlan)

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`: nothing."""


KIND = GeneralKind()
