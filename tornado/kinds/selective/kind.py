"""The kind of selective programs, as loops ask for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ...certificate import Certificate, fixed_point
from ...config import DelayBound
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
from .bundle import Bundle, Messages, Rest
from .graph_keeper import GraphKeeper
from .program import SelectiveProgram
from .restorable_processor import RestorableProcessor
from .warm import warm


@dataclass(frozen=True, slots=True, eq=False)
class SelectivePlan:
    """See `PartPlan`.

    Attributes
    ----------
    kernel
        The compiled loop, which is warm.
    arguments
        Of the program.
    """

    kernel: ModuleType
    arguments: tuple[Any, ...]
    delay_bound: DelayBound
    hears_back: int
    commits: bool
    kind: str = "selective"

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> RestorableProcessor | GraphKeeper:
        """See `PartPlan`."""
        return (RestorableProcessor if self.commits else GraphKeeper)(
            worker=worker,
            workers=workers,
            on_applied=on_applied,
            stream=cast("StreamPart | None", stream),  # nothing else is shared
            kernel=self.kernel,
            arguments=self.arguments,
            delay_bound=self.delay_bound,
            hears_back=self.hears_back,
        )

    def fields(self) -> Fields:
        """See `PartPlan`: with the text of the kernel."""
        return text_of(self.kernel), self.arguments, self.delay_bound, self.hears_back, self.commits

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: numbers, and tuples of them."""
        return arguments

    def required(self) -> Fields | None:
        """See `PartPlan`."""
        return None

    def preloaded(self) -> Fields | None:
        """See `PartPlan`."""
        return str(self.kernel.__file__), self.arguments


class SelectiveReader:
    """See `PlanReader`."""

    def require(self, fields: Fields) -> None:
        """See `PlanReader`."""

    def plan(self, fields: Fields) -> SelectivePlan:
        """See `PlanReader`."""
        text, arguments, delay_bound, hears_back, commits = cast("tuple[Any, ...]", fields)
        return SelectivePlan(_loaded(text, arguments), arguments, delay_bound, hears_back, commits)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`."""
        return fields

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return error


class SelectiveKind:
    """See `ProgramKind`."""

    name = "selective"
    described = "a selective program"
    shares_streams = True
    adopts = False
    certifies = False
    proves_order = False
    is_stored = True

    def plan(
        self, program: SelectiveProgram, *, delay_bound: DelayBound, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """See `ProgramKind`; compiles the program where that was not done yet."""
        kernel, arguments = program.kernel(), program.arguments()
        warm(kernel, arguments)
        return SelectivePlan(kernel, arguments, delay_bound, hears_back, commits)

    def fork_arguments(self, program: SelectiveProgram) -> tuple[object, ...]:
        """See `ProgramKind`."""
        return program.arguments()

    def require_travels(self, program: SelectiveProgram) -> None:
        """See `ProgramKind`: they all do."""

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """See `ProgramKind`."""
        return shares_of(batch, partition, both_ways=both_ways)

    def identity(self, program: SelectiveProgram) -> str:
        """See `ProgramKind`."""
        parts = [program_source(name, getattr(program, name)) for name in ("initial", "offer", "better")]
        worst = program.worst if isinstance(program.worst, tuple) else float(program.worst)
        parts += [repr(worst), repr(program.arguments()), *(["both ways"] if program.both_ways else [])]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def judge(
        self, program: SelectiveProgram, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """See `ProgramKind`."""
        del findings
        # On which side it is only of use where it was stopped, and is found out by asking the program again and again.
        return fixed_point(None if is_converged else program.stopped_side, is_converged=is_converged)

    def wire_types(self) -> Sequence[WireType]:
        """See `ProgramKind`."""
        return (
            WireType(
                Bundle,
                lambda bundle: (
                    bundle.sender, *bundle.messages, bundle.wave, bundle.wave_changes, bundle.marker,
                    bundle.rest and tuple(bundle.rest),
                ),
                lambda fields: Bundle(
                    fields[0], Messages.of(fields[1:5]), fields[5], fields[6], fields[7], fields[8] and Rest(*fields[8])
                ),
            ),
        )  # fmt: skip

    def reader(self) -> PlanReader:
        """See `ProgramKind`."""
        return SelectiveReader()

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`."""
        file, arguments = cast("tuple[str, Sequence[Any]]", fields)
        _loaded(Path(file).read_text(), tuple(arguments))


def _loaded(text: str, arguments: tuple[Any, ...]) -> ModuleType:
    kernel = load_module(text)
    warm(kernel, arguments)
    return kernel


KIND = SelectiveKind()
