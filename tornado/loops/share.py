"""One worker's part of an admission batch, whatever kind of program and of records it is for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
