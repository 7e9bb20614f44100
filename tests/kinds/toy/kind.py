"""The kind of toy programs, as loops ask for it: small and whole. docs/extending.md shows how it is made.

Its snapshots are copies in memory, and its loops read a stream of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from tests.kinds.toy.main_part import ToyMain
from tests.kinds.toy.part import Said
from tests.kinds.toy.program import InWeights
from tornado.certificate import Certificate, fixed_point
from tornado.config import DelayBound
from tornado.engine import WireType
from tornado.errors import InternalError
from tornado.graph import PartitionMap
from tornado.loops.kind import Fields, PartPlan, PlanReader, ProgramKind
from tornado.loops.part import StreamView
from tornado.loops.share import Share
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import MENTION


@dataclass(frozen=True, slots=True)
class ToyPlan:
    """See `PartPlan`."""

    factor: float
    kind: str = "toy"

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> ToyMain:
        """See `PartPlan`."""
        return ToyMain(
            factor=self.factor, worker=worker, workers=workers, on_applied=on_applied, stream=stream
        )

    def fields(self) -> Fields:
        """See `PartPlan`."""
        return (self.factor,)

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """See `PartPlan`: a number."""
        return arguments

    def required(self) -> Fields | None:
        """See `PartPlan`: nothing."""
        return None

    def preloaded(self) -> Fields | None:
        """See `PartPlan`: nothing."""
        return None


class ToyReader:
    """See `PlanReader`."""

    def require(self, fields: Fields) -> None:
        """See `PlanReader`: no plan requires anything."""

    def plan(self, fields: Fields) -> ToyPlan:
        """See `PlanReader`."""
        (factor,) = cast("tuple[float]", fields)
        return ToyPlan(factor)

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """See `PlanReader`."""
        return fields

    def told(self, error: BaseException) -> BaseException:
        """See `PlanReader`."""
        return error


class ToyKind:
    """See `ProgramKind`."""

    name = "toy"
    described = "a toy program"
    shares_streams = False
    adopts = False
    certifies = False
    proves_order = False
    is_stored = False

    def plan(
        self, program: InWeights, *, delay_bound: DelayBound, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """See `ProgramKind`: what is said comes to the same in any order, so there is nothing to bound."""
        del delay_bound, hears_back, commits
        return ToyPlan(program.factor)

    def fork_arguments(self, program: InWeights) -> tuple[object, ...]:
        """See `ProgramKind`."""
        return (program.factor,)

    def require_travels(self, program: InWeights) -> None:
        """See `ProgramKind`: they all do."""

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """Each worker gets the edges that begin at its vertices, and those of its vertices that no such record names."""
        del both_ways
        alone = batch.op == MENTION
        sources, targets = partition.owners_of(batch.src), partition.owners_of(batch.dst)
        shares = []
        for worker in range(partition.workers):
            own = batch.take((sources == worker) & ~alone)
            mentioned = np.unique(batch.dst[(targets == worker) & ((sources != worker) | alone)])
            shares.append(Share(0, own, mentioned))
        return shares

    def identity(self, program: InWeights) -> str:
        """See `ProgramKind`: nobody asks."""
        raise InternalError(f"{type(program).__name__} is not stored, so it has no identity")

    def judge(
        self, program: InWeights, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """See `ProgramKind`."""
        del findings
        return fixed_point(program.stopped_side, is_converged=is_converged)

    def wire_types(self) -> Sequence[WireType]:
        """See `ProgramKind`."""
        return (
            WireType(
                Said,
                lambda said: (said.sender, said.sums, said.iteration, said.marker),
                lambda fields: Said(*fields),
            ),
        )

    def reader(self) -> PlanReader:
        """See `ProgramKind`."""
        return ToyReader()

    def preload(self, *fields: object) -> None:
        """See `ProgramKind`: nothing."""


KIND: ProgramKind[InWeights] = ToyKind()
