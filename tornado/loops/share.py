"""One worker's part of an admission batch, whatever kind of program and of records it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..records.edge_batch import EdgeBatch
from ..records.record_batch import RecordBatch


@dataclass(slots=True)
class Share:
    """One worker's part of an admission batch.

    Attributes
    ----------
    version
        The one that the batch makes.
    batch
        The records that are the worker's, in their order.
    mentioned
        Own vertices that records of other workers' shares name, or that come alone.
    following
        Index of the first record that was not applied.
    is_both_ways
        Whether it has the records of which the worker owns either end.
    """

    version: int
    batch: RecordBatch
    mentioned: NDArray[np.int64]
    following: int = 0
    is_both_ways: bool = False

    @property
    def records(self) -> int:
        """How many it has, for who counts them: vertices count where they come alone."""
        return len(self.batch) or len(self.mentioned)

    @property
    def is_applied(self) -> bool:
        """Whether all of its records are."""
        return self.following == len(self.batch)

    def goes_with(self, other: Share) -> bool:
        """Whether both have edges of one kind, none of which is applied, so that they can be one."""
        are_edges = isinstance(self.batch, EdgeBatch) and isinstance(other.batch, EdgeBatch)
        have_edges = len(self.batch) > 0 and len(other.batch) > 0
        are_whole = self.following == other.following == 0
        return are_edges and have_edges and are_whole and self.is_both_ways == other.is_both_ways

    @classmethod
    def of_several(cls, shares: Sequence[Share]) -> Share:
        """One that has the records of several that go with each other, in their order, and the version of the last one (a copy)."""
        first, last = shares[0], shares[-1]
        batch = first.batch.concat(share.batch for share in shares)
        mentioned = np.concatenate([share.mentioned for share in shares])
        return cls(last.version, batch, mentioned, is_both_ways=first.is_both_ways)
