"""The values that one worker's part of an accumulative loop holds, made where its records are: divided by the sum of all, or as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import loop_columns as names
from .loop_state import SumState


@dataclass(frozen=True, slots=True)
class NormalisedValues:
    """See the module, and `RowValues`.

    Attributes
    ----------
    mass
        What they are divided by: the sum of the values of all parts, as it is known here, or 1.
    """

    kernel: ModuleType
    state: SumState
    arguments: tuple[object, ...]
    mass: Callable[[], float]

    @property
    def rows_seen(self) -> int:
        """See `RowValues`."""
        return self.state.rows_seen

    def values_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """See `RowValues`."""
        values = self._unscaled(rows)
        mass = self.mass()
        if mass > 0:
            values /= mass
        return values

    def stored(self, rows: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what is stored of some rows: the values that are shown, and what a main loop begins with, where b is 1."""
        unscaled = self._unscaled(rows)
        base = float(self.state.totals[names.BASE])
        return {"values": unscaled / self.mass(), "unscaled": unscaled / base}

    def _unscaled(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        values = np.zeros(len(rows))
        self.kernel.read_values(self.state.addresses, self.arguments, rows.astype(np.int64), values)
        return values
