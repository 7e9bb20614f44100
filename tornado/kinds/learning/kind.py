"""The kind of programs that learn from points, as loops ask for it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import cast
from weakref import WeakKeyDictionary

from ...certificate import Certificate
from ...engine import WireType
from ...graph import PartitionMap
from ...loops.edge_shares import shares_of
from ...loops.kind import PartPlan, PlanReader
from ...loops.part import StreamView
from ...loops.share import Share
from ...loops.stream_part import StreamPart
from ...records.edge_batch import EdgeBatch
from ..plain_programs import PlainPlan, PlainReader
from ..program_modules import reference_of
from .main_processor import LearningMain
from .program import LearningProgram
from .spoken import WIRE_TYPES


@dataclass(frozen=True, slots=True, eq=False)
class LearningPlan(PlainPlan[LearningProgram]):
    """See `PartPlan`."""

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


class LearningKind:
    """See `ProgramKind`."""

    name = "learning"
    described = "a program that learns"
    shares_streams = True
    adopts = True
    certifies = False
    proves_order = False
    is_stored = True

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
        """See `ProgramKind`: of its class and those that it is derived from as they are written, and of its parameters."""
        text = f"{_written(type(program))}\n{program.parameters()}"
        return hashlib.sha256(text.encode()).hexdigest()

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
        return PlainReader(LearningProgram, "program that learns", LearningPlan)

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`: nothing."""


_texts: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def _written(kind: type) -> str:
    """The text of a class and of those below `LearningProgram`; of one that is in no file, a text that no other process has."""
    if kind not in _texts:
        bases = [
            base for base in kind.__mro__ if base is not LearningProgram and issubclass(base, LearningProgram)
        ]
        try:
            _texts[kind] = "\n".join(f"{base.__qualname__}\n{inspect.getsource(base)}" for base in bases)
        except (OSError, TypeError):
            _texts[kind] = token_hex()
    return _texts[kind]


KIND = LearningKind()
