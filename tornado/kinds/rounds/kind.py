"""The kind of programs that count rounds, as loops ask for it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ...certificate import NONE, Certificate, fixed_point
from ...engine import WireType
from ...graph import PartitionMap
from ...kernel_modules import load_module, text_of
from ...loops.edge_shares import shares_of
from ...loops.kind import Fields, PartPlan, PlanReader
from ...loops.part import StreamView
from ...loops.share import Share
from ...loops.stream_part import StreamPart
from ...records.edge_batch import EdgeBatch
from ...value_types import Worst
from ..compiled_functions import program_source
from .bound import kept_roundings, relative_bound_of
from .bundle import RoundsBundle, RoundsMessages
from .main_processor import RoundsMain
from .program import RoundsProgram
from .warm import warm


@dataclass(frozen=True, slots=True, eq=False)
class RoundsPlan:
    """See `PartPlan`.

    Attributes
    ----------
    kernel
        The compiled loop, which is warm.
    arguments, rounds, worst
        Of the program.
    """

    kernel: ModuleType
    arguments: tuple[Any, ...]
    rounds: int
    worst: Worst
    hears_back: int
    commits: bool
    kind: str = "rounds"

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> RoundsMain:
        """See `PartPlan`."""
        return RoundsMain(
            worker=worker,
            workers=workers,
            on_applied=on_applied,
            stream=cast("StreamPart | None", stream),  # nothing else is shared
            kernel=self.kernel,
            arguments=self.arguments,
            rounds=self.rounds,
            worst=self.worst,
            hears_back=self.hears_back,
            commits=self.commits,
        )

    def fields(self) -> Fields:
        """See `PartPlan`: with the text of the kernel."""
        return text_of(self.kernel), self.arguments, self.rounds, self.worst, self.hears_back, self.commits

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: numbers, and tuples of them."""
        return arguments

    def required(self) -> Fields | None:
        """See `PartPlan`."""
        return None

    def preloaded(self) -> Fields | None:
        """See `PartPlan`."""
        return str(self.kernel.__file__), self.arguments, self.worst


class RoundsReader:
    """See `PlanReader`."""

    def require(self, fields: Fields) -> None:
        """See `PlanReader`."""

    def plan(self, fields: Fields) -> RoundsPlan:
        """See `PlanReader`."""
        text, arguments, rounds, worst, hears_back, commits = cast("tuple[Any, ...]", fields)
        return RoundsPlan(_loaded(text, arguments, worst), arguments, rounds, worst, hears_back, commits)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`."""
        return fields

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return error


class RoundsKind:
    """See `ProgramKind`."""

    name = "rounds"
    described = "a program of rounds"
    shares_streams = True
    adopts = False
    certifies = False
    proves_order = False
    is_stored = True

    def plan(
        self, program: RoundsProgram, *, delay_bound: int | None, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """See `ProgramKind`; compiles the program where that was not done yet."""
        del delay_bound  # the program allows 1 only
        kernel, arguments = program.kernel(), program.arguments()
        warm(kernel, arguments, program.worst)
        return RoundsPlan(kernel, arguments, program.kept_rounds, program.worst, hears_back, commits)

    def fork_arguments(self, program: RoundsProgram) -> tuple[object, ...]:
        """See `ProgramKind`."""
        return program.arguments()

    def require_travels(self, program: RoundsProgram) -> None:
        """See `ProgramKind`: they all do."""

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """See `ProgramKind`."""
        return shares_of(batch, partition, both_ways=both_ways)

    def identity(self, program: RoundsProgram) -> str:
        """See `ProgramKind`."""
        parts = [program_source(name, function) for name, function in program.functions().items()]
        parts += [repr(program.worst), repr(program.arguments())]
        parts += [f"{program.rounds} rounds", *(["both ways"] if program.both_ways else [])]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def judge(
        self, program: RoundsProgram, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """See `ProgramKind`: exact, but for sums of floats, which have a bound.

        Without findings, as of a snapshot that was stored without them, nothing is known of sums.
        """
        if program.gather == "mode" or not is_converged:
            return fixed_point(program.stopped_side, is_converged=is_converged)
        terms = max((int(found["terms"]) for found in findings), default=0)
        roundings = program.roundings(terms, kept_roundings(findings)) if findings else None
        bound = math.inf if roundings is None else relative_bound_of(roundings, terms)
        return {"kind": "bound", "norm": "relative", "bound": bound} if math.isfinite(bound) else NONE

    def wire_types(self) -> Sequence[WireType]:
        """See `ProgramKind`."""
        return (
            WireType(
                RoundsBundle,
                lambda bundle: (bundle.sender, *bundle.messages, bundle.marker, bundle.kept),
                lambda fields: RoundsBundle(fields[0], RoundsMessages.of(fields[1:5]), *fields[5:]),
            ),
        )

    def reader(self) -> PlanReader:
        """See `ProgramKind`."""
        return RoundsReader()

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`."""
        file, arguments, worst = cast("tuple[str, Sequence[Any], Any]", fields)
        _loaded(Path(file).read_text(), tuple(arguments), worst)


def _loaded(text: str, arguments: tuple[Any, ...], worst: Worst | Sequence[int]) -> ModuleType:
    kernel = load_module(text)
    # A pair says the type of values, and may have come as a list.
    warm(kernel, arguments, worst if isinstance(worst, float) else (worst[0], worst[1]))
    return kernel


KIND = RoundsKind()
