"""What was found of a batch by the programs that are to take it, and which programs those were.

A batch is checked where it comes in: what is refused goes to quarantine there, and the rest is admitted. Whoever admits it is told
who has looked at it, and asks only those who have not: the programs that have come since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .record_batch import RecordBatch

CheckedBy = Sequence[object]
"""Who has looked at all records of a batch and refuses none of them; what they are only the stream knows."""


class Checked(NamedTuple):
    """See the module.

    Attributes
    ----------
    refused : bool[n]
        The records that cannot be taken.
    reason : str
        Why.
    by : tuple
        Who has looked at all records, and refuses none of the others.
    """

    refused: NDArray[np.bool_]
    reason: str
    by: tuple[object, ...] = ()


Check = Callable[[RecordBatch], Checked | tuple[NDArray[np.bool_], str]]
"""Looks at a batch. Where it does not say who has looked, all are asked when the batch is admitted."""
