"""A kind whose parts cannot be made on one of the workers; else it is the toy."""

from dataclasses import dataclass
from typing import ClassVar

from tests.kinds.toy.kind import ToyKind, ToyPlan, ToyReader
from tests.kinds.toy.program import InWeights

BRITTLE = {"toy": "tests.kinds.toy.kind", "brittle": "tests.kinds.brittle"}


@dataclass(frozen=True)
class Brittle(InWeights):
    """A toy program that worker number `factor` has no part of."""

    program_kind: ClassVar[str] = "brittle"


@dataclass(frozen=True, slots=True)
class BrittlePlan(ToyPlan):
    kind: str = "brittle"

    def part(self, *, worker, workers, on_applied, stream):
        if worker == self.factor:
            raise ArithmeticError("there is no such part")
        return ToyPlan(1.0).part(worker=worker, workers=workers, on_applied=on_applied, stream=stream)


class BrittleReader(ToyReader):
    def plan(self, fields):
        return BrittlePlan(*fields)


class BrittleKind(ToyKind):
    name = "brittle"
    described = "a brittle program"

    def plan(self, program, **_):
        return BrittlePlan(program.factor)

    def wire_types(self):
        return ()  # what the parts say is the toy's

    def reader(self):
        return BrittleReader()


KIND = BrittleKind()
