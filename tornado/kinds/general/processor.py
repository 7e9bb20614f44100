"""One worker's part of a loop of a general program, whether it is a main loop or a branch."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ...graph import PartitionMap
from ...loops.part import PartStatistics
from ...loops.values import ColumnValues
from ...value_types import INT64, dtype_of
from ..session_processor import SessionProcessor
from .vertices import GeneralVertices


class GeneralProcessor(SessionProcessor[GeneralVertices]):
    """What main loops and branches of general programs have in common."""

    def __init__(self, *, delay_bound: int | None, worker: int, workers: int) -> None:
        self.partition = PartitionMap.even(workers)
        super().__init__(
            delay_bound=delay_bound, worker=worker, workers=workers, owner=self.partition.owner_of
        )

    def statistics(self) -> PartStatistics:
        """The part of this worker in numbers; the memory of states in plain Python is not known."""
        return replace(
            self.progress(), pending=self.session.dirty_count(), vertices=len(self.vertices.values)
        )

    def held_values(self) -> ColumnValues:
        """The values of this worker's vertices, as they are at the time."""
        seen = self.vertices.values.copy()  # one step for other threads
        ids = np.fromiter(seen, np.int64, len(seen))
        dtype = dtype_of(self.vertices.program.worst)
        # A number that is not whole would be cut off without a word.
        found: Iterable[Any] = seen.values()
        values = map(operator.index, found) if dtype == INT64 else found
        return ColumnValues(ids, np.fromiter(values, dtype, len(seen)))
