"""What a user writes of the toy kind: a vertex is worth the weights of the edges that end at it, times a factor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tornado.certificate import Side
from tornado.loops.vertex_program import VertexProgram
from tornado.records.edge_batch import EdgeBatch


@dataclass(frozen=True)
class InWeights(VertexProgram):
    """See the module. The kind has this one program.

    Parameters
    ----------
    factor
        What the sum is multiplied by.
    """

    factor: float = 1.0
    program_kind: ClassVar[str] = "toy"
    rank: ClassVar[Literal["nearest", "highest"]] = "highest"
    worst: ClassVar[float] = -math.inf

    def check(self, batch: EdgeBatch) -> tuple[NDArray[np.bool_], str]:
        """Refuse what would make a part of a sum greater than the whole; a removal may leave its weight out."""
        return batch.weight < 0, "a weight is negative"

    @property
    def stopped_side(self) -> Side:
        """Of a stopped branch some of the weights are missing."""
        return "lower" if self.factor >= 0 else "upper"
