"""Edge batches whose records have a time: what a stream with a window logs, so that the log says when an edge leaves.

They are edges in all else, and are stored with a column more. Times are microseconds since 1970 (UTC), or numbers of insertions
where a window counts these; NO_TIME where a record has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from .edge_batch import EDGES, EdgeBatch
from .schema import RecordColumn, Schema

NO_TIME: Final = -(2**63)
"""Stands where a record has no time."""

TIMED_EDGES: Final = Schema(
    "timed edges", (*EDGES.columns, RecordColumn("time", np.dtype(np.int64), is_optional=True))
)


@dataclass(frozen=True, slots=True, eq=False)
class TimedEdges(EdgeBatch):
    """Edge records with times. The arrays are not written after construction.

    Parameters
    ----------
    time : int64[n]
        See the module.

    Examples
    --------
    >>> batch = TimedEdges.at(EdgeBatch.of([1, 2], [2, 3]), np.array([10, 20]))
    >>> batch.slice(1, 2).time.tolist(), type(batch.untimed()).__name__
    ([20], 'EdgeBatch')
    """

    schema: ClassVar[Schema] = TIMED_EDGES

    time: NDArray[np.int64]

    @classmethod
    def at(cls, batch: EdgeBatch, time: NDArray[np.int64]) -> Self:
        """Records with times, which are trusted."""
        return cls(batch.src, batch.dst, batch.weight, batch.op, time)

    def untimed(self) -> EdgeBatch:
        """The same records without times, on the same memory."""
        return EdgeBatch(self.src, self.dst, self.weight, self.op)
