"""One worker's part of an admission batch, whatever kind of program it is for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Share:
    """One worker's part of an admission batch."""

    version: int
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]
    operations: NDArray[np.int8]
    mentioned: NDArray[np.int64]  # own vertices that records of other workers' shares name
    following: int = 0  # index of the first record that was not applied
