"""The kind of accumulative programs, as loops ask for it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ...certificate import DIVERGED, NONE, Certificate
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
from .bundle import NOTICES, Notice, SumBundle, SumMessages
from .norms import norm_named
from .program import AccumulativeProgram
from .restorable_processor import RestorableMain
from .warm import warm


@dataclass(frozen=True, slots=True, eq=False)
class AccumulativePlan:
    """See `PartPlan`.

    Attributes
    ----------
    kernel
        The compiled loop, which is warm.
    arguments
        Of the program's functions.
    accuracy, factor, has_bases, norm
        Of the program.
    """

    kernel: ModuleType
    arguments: tuple[Any, ...]
    accuracy: float
    factor: float
    has_bases: bool
    norm: str
    delay_bound: int | None
    commits: bool
    kind: str = "accumulative"

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> RestorableMain:
        """See `PartPlan`."""
        return RestorableMain(
            worker=worker,
            workers=workers,
            on_applied=on_applied,
            stream=cast("StreamPart | None", stream),  # nothing else is shared
            kernel=self.kernel,
            arguments=self.arguments,
            accuracy=self.accuracy,
            factor=self.factor,
            has_bases=self.has_bases,
            norm=norm_named(self.norm),
            delay_bound=self.delay_bound,
            commits=self.commits,
        )

    def fields(self) -> Fields:
        """See `PartPlan`: with the text of the kernel."""
        own = self.accuracy, self.factor, self.has_bases, self.norm
        return text_of(self.kernel), self.arguments, *own, self.delay_bound, self.commits

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: numbers, and tuples of them."""
        return arguments

    def required(self) -> Fields | None:
        """See `PartPlan`."""
        return None

    def preloaded(self) -> Fields | None:
        """See `PartPlan`."""
        return str(self.kernel.__file__), self.arguments


class AccumulativeReader:
    """See `PlanReader`."""

    def require(self, fields: Fields) -> None:
        """See `PlanReader`."""

    def plan(self, fields: Fields) -> AccumulativePlan:
        """See `PlanReader`."""
        text, arguments, *others = cast("tuple[Any, ...]", fields)
        return AccumulativePlan(_loaded(text, arguments), arguments, *others)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`."""
        return fields

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return error


class AccumulativeKind:
    """See `ProgramKind`."""

    name = "accumulative"
    described = "an accumulative program"
    shares_streams = True
    adopts = True
    certifies = True
    proves_order = True
    is_stored = True

    def plan(
        self, program: AccumulativeProgram, *, delay_bound: int | None, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """See `ProgramKind`; compiles the program where that was not done yet."""
        del hears_back
        kernel, arguments = program.kernel(), program.arguments()
        warm(kernel, arguments)
        return AccumulativePlan(
            kernel=kernel,
            arguments=arguments,
            accuracy=float(program.accuracy),
            factor=float(program.factor(*arguments)),
            has_bases=program.has_bases,
            norm=program.norm,
            delay_bound=delay_bound,
            commits=commits,
        )

    def fork_arguments(self, program: AccumulativeProgram) -> tuple[object, ...]:
        """See `ProgramKind`: the tolerance, how many are ordered, d, whether bases differ, and what the functions get."""
        return self.ordering_arguments(program, 0)

    def ordering_arguments(self, program: AccumulativeProgram, top: int) -> tuple[object, ...]:
        """See `OrderingKind`."""
        arguments = program.arguments()
        factor = float(program.factor(*arguments))
        return float(program.tolerance), top, factor, program.has_bases, *arguments

    def require_travels(self, program: AccumulativeProgram) -> None:
        """See `ProgramKind`: they all do."""

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """See `ProgramKind`."""
        return shares_of(batch, partition, both_ways=both_ways)

    def identity(self, program: AccumulativeProgram) -> str:
        """See `ProgramKind`."""
        parts = [program_source(name, getattr(program, name)) for name in ("base", "divisor", "factor")]
        parts += [repr(program.arguments()), repr(float(program.tolerance))]  # what is stored came to it
        parts += [] if program.norm == "l1" else [program.norm]  # which was the only one once
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def judge(
        self, program: AccumulativeProgram, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """See `ProgramKind`: the bound that all parts were told; what is stored came to the tolerance of its program."""
        del is_converged
        bound = max((found["bound"] for found in findings), default=float(program.tolerance))
        if math.isfinite(bound):
            return {"kind": "bound", "norm": program.norm, "bound": bound}
        return DIVERGED if any(found["diverged"] for found in findings) else NONE

    def wire_types(self) -> Sequence[WireType]:
        """See `ProgramKind`."""
        return (
            WireType(
                SumBundle,
                lambda bundle: (
                    bundle.sender,
                    *bundle.messages,
                    tuple(_written(notice) for notice in bundle.notices),
                    bundle.mass,
                    bundle.marker,
                ),
                lambda fields: SumBundle(
                    fields[0], SumMessages.of(fields[1:5]), tuple(map(_read, fields[5])), *fields[6:]
                ),
            ),
        )

    def reader(self) -> PlanReader:
        """See `ProgramKind`."""
        return AccumulativeReader()

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`."""
        file, arguments = cast("tuple[str, Sequence[Any]]", fields)
        _loaded(Path(file).read_text(), tuple(arguments))


def _written(notice: Notice) -> tuple[object, ...]:
    numbers = (int(one) if isinstance(one, int) and not isinstance(one, bool) else one for one in notice)
    return NOTICES.index(type(notice)), *numbers


def _read(fields: tuple[Any, ...]) -> Notice:
    return NOTICES[fields[0]](*fields[1:])


def _loaded(text: str, arguments: tuple[Any, ...]) -> ModuleType:
    kernel = load_module(text)
    warm(kernel, arguments)
    return kernel


KIND = AccumulativeKind()
