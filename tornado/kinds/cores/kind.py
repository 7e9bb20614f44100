"""The kind of programs whose values are core numbers, as loops ask for it."""

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
from .bundle import CoreBundle, CoreMessages, Notice, PhaseOrder, PhaseReport
from .compile import core_kernel
from .main_processor import CoreMain
from .program import CoresProgram
from .warm import warm


@dataclass(frozen=True, slots=True, eq=False)
class CorePlan:
    """See `PartPlan`.

    Attributes
    ----------
    kernel
        The compiled loop, which is warm.
    most
        No number is above.
    """

    kernel: ModuleType
    most: int
    delay_bound: int | None
    hears_back: int
    commits: bool
    kind: str = "cores"

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> CoreMain:
        """See `PartPlan`."""
        return CoreMain(
            worker=worker,
            workers=workers,
            on_applied=on_applied,
            stream=cast("StreamPart | None", stream),  # nothing else is shared
            kernel=self.kernel,
            most=self.most,
            delay_bound=self.delay_bound,
            hears_back=self.hears_back,
            commits=self.commits,
        )

    def fields(self) -> Fields:
        """See `PartPlan`: with the text of the kernel."""
        return text_of(self.kernel), self.most, self.delay_bound, self.hears_back, self.commits

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: a number."""
        return arguments

    def required(self) -> Fields | None:
        """See `PartPlan`."""
        return None

    def preloaded(self) -> Fields | None:
        """See `PartPlan`."""
        return (str(self.kernel.__file__),)


class CoreReader:
    """See `PlanReader`."""

    def require(self, fields: Fields) -> None:
        """See `PlanReader`."""

    def plan(self, fields: Fields) -> CorePlan:
        """See `PlanReader`."""
        text, most, delay_bound, hears_back, commits = cast("tuple[Any, ...]", fields)
        return CorePlan(_loaded(text), most, delay_bound, hears_back, commits)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`."""
        return fields

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return error


class CoresKind:
    """See `ProgramKind`."""

    name = "cores"
    described = "a program of core numbers"
    shares_streams = True
    adopts = False
    certifies = False
    proves_order = False
    is_stored = True

    def plan(
        self, program: CoresProgram, *, delay_bound: int | None, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """See `ProgramKind`; compiles the loop where that was not done yet."""
        kernel = core_kernel()
        warm(kernel)
        return CorePlan(kernel, program.greatest, delay_bound, hears_back, commits)

    def fork_arguments(self, program: CoresProgram) -> tuple[object, ...]:
        """See `ProgramKind`: the greatest number there may be."""
        return (program.greatest,)

    def require_travels(self, program: CoresProgram) -> None:
        """See `ProgramKind`: they all do."""

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """See `ProgramKind`."""
        return shares_of(batch, partition, both_ways=both_ways)

    def identity(self, program: CoresProgram) -> str:
        """See `ProgramKind`."""
        return hashlib.sha256(f"core numbers up to {program.greatest}".encode()).hexdigest()

    def judge(
        self, program: CoresProgram, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """See `ProgramKind`: estimates are upper bounds where nobody anywhere may still have to rise."""
        del program
        is_upper = not any(found["may_be_low"] for found in findings)
        return fixed_point("upper" if is_upper else None, is_converged=is_converged)

    def wire_types(self) -> Sequence[WireType]:
        """See `ProgramKind`."""
        return (
            WireType(
                CoreBundle,
                lambda bundle: (bundle.sender, *bundle.messages, _written(bundle.notice), bundle.marker),
                lambda fields: CoreBundle(
                    fields[0], CoreMessages.of(fields[1:4]), _read(fields[4]), fields[5]
                ),
            ),
        )

    def reader(self) -> PlanReader:
        """See `ProgramKind`."""
        return CoreReader()

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`."""
        (file,) = cast("tuple[str]", fields)
        _loaded(Path(file).read_text())


def _written(notice: Notice | None) -> tuple[object, ...]:
    return () if notice is None else tuple(notice)


def _read(fields: Sequence[Any]) -> Notice | None:
    if not fields:
        return None
    if len(fields) == len(PhaseOrder._fields):
        return PhaseOrder(*fields)
    number, sent, received, *rest = fields
    return PhaseReport(number, tuple(sent), tuple(received), *rest)


def _loaded(text: str) -> ModuleType:
    kernel = load_module(text)
    warm(kernel)
    return kernel


KIND = CoresKind()
