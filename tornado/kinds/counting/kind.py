"""The kind of programs that count edges among neighbours, as loops ask for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ...certificate import Certificate, fixed_point
from ...engine import WireType
from ...graph import PartitionMap
from ...kernel_modules import load_module, text_of
from ...loops.edge_shares import shares_of
from ...loops.kind import Fields, PartPlan, PlanReader
from ...loops.part import StreamView
from ...loops.share import Share
from ...loops.stream_part import StreamPart
from ...records.edge_batch import EdgeBatch
from ..compiled_functions import program_source
from .bundle import CountBundle, CountMessages
from .main_processor import CountingMain
from .program import CountingProgram
from .warm import warm


@dataclass(frozen=True, slots=True, eq=False)
class CountingPlan:
    """See `PartPlan`.

    Attributes
    ----------
    kernel
        The compiled loop, which is warm.
    arguments, worst
        Of the program.
    """

    kernel: ModuleType
    arguments: tuple[Any, ...]
    worst: float
    kind: str = "counting"

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> CountingMain:
        """See `PartPlan`."""
        return CountingMain(
            worker=worker,
            workers=workers,
            on_applied=on_applied,
            stream=cast("StreamPart | None", stream),  # nothing else is shared
            kernel=self.kernel,
            arguments=self.arguments,
            worst=self.worst,
        )

    def fields(self) -> Fields:
        """See `PartPlan`: with the text of the kernel."""
        return text_of(self.kernel), self.arguments, self.worst

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: numbers, and tuples of them."""
        return arguments

    def required(self) -> Fields | None:
        """See `PartPlan`."""
        return None

    def preloaded(self) -> Fields | None:
        """See `PartPlan`."""
        return str(self.kernel.__file__), self.arguments


class CountingReader:
    """See `PlanReader`."""

    def require(self, fields: Fields) -> None:
        """See `PlanReader`."""

    def plan(self, fields: Fields) -> CountingPlan:
        """See `PlanReader`."""
        text, arguments, worst = cast("tuple[Any, ...]", fields)
        return CountingPlan(_loaded(text, arguments), arguments, worst)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`."""
        return fields

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return error


class CountingKind:
    """See `ProgramKind`."""

    name = "counting"
    described = "a counting program"
    shares_streams = True
    adopts = False
    certifies = False
    proves_order = False
    is_stored = True

    def plan(
        self, program: CountingProgram, *, delay_bound: int | None, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """See `ProgramKind`; compiles the program where that was not done yet."""
        del delay_bound, hears_back, commits  # a main loop has nothing to compute
        kernel, arguments = program.kernel(), program.arguments()
        warm(kernel, arguments)
        return CountingPlan(kernel, arguments, program.worst)

    def fork_arguments(self, program: CountingProgram) -> tuple[object, ...]:
        """See `ProgramKind`."""
        return program.arguments()

    def require_travels(self, program: CountingProgram) -> None:
        """See `ProgramKind`: they all do."""

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """See `ProgramKind`."""
        return shares_of(batch, partition, both_ways=both_ways)

    def identity(self, program: CountingProgram) -> str:
        """See `ProgramKind`."""
        parts = [program_source(name, function) for name, function in program.functions().items()]
        parts += [repr(program.arguments())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def judge(
        self, program: CountingProgram, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """See `ProgramKind`."""
        del findings
        return fixed_point(program.stopped_side, is_converged=is_converged)

    def wire_types(self) -> Sequence[WireType]:
        """See `ProgramKind`."""
        return (
            WireType(
                CountBundle,
                lambda bundle: (bundle.sender, bundle.phase, *bundle.messages, bundle.marker),
                lambda fields: CountBundle(fields[0], fields[1], CountMessages(*fields[2:6]), fields[6]),
            ),
        )

    def reader(self) -> PlanReader:
        """See `ProgramKind`."""
        return CountingReader()

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`."""
        file, arguments = cast("tuple[str, Sequence[Any]]", fields)
        _loaded(Path(file).read_text(), tuple(arguments))


def _loaded(text: str, arguments: tuple[Any, ...]) -> ModuleType:
    kernel = load_module(text)
    warm(kernel, arguments)
    return kernel


KIND = CountingKind()
