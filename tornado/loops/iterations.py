"""Per-iteration statistics, summed over the workers: updates, prepares and the residual of each iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .part import PartStatistics
from .statistics import IterationStatistics, Progress


class _Remembers(Protocol):
    def history(self) -> NDArray[np.float64]: ...

    def progress(self) -> PartStatistics: ...


def iterations_of(parts: Sequence[_Remembers], *, last: int) -> list[IterationStatistics]:
    """The last iterations that did something, oldest first, as far as they are remembered."""
    rows = [part.history() for part in parts]
    every = np.concatenate(rows) if rows else np.empty((0, 4))
    every = every[every[:, 0] >= 0]
    numbers, places = np.unique(every[:, 0], return_inverse=True)
    sums = np.zeros((len(numbers), 3))
    with np.errstate(over="ignore"):  # a sum of changes too large for a number is infinite
        np.add.at(sums, places, every[:, 1:])
    return [
        IterationStatistics(int(number), int(updates), int(prepares), float(residual))
        for number, (updates, prepares, residual) in list(zip(numbers, sums, strict=True))[-last:]
    ]


def progress_of(parts: Sequence[_Remembers], *, converged: bool, elapsed_s: float = 0.0) -> Progress:
    """How far a loop is, from the counters of its workers."""
    recent = [] if converged else iterations_of(parts, last=1)
    states = [part.progress() for part in parts]
    return Progress(
        iteration=max((state.iteration for state in states), default=0),
        updates=sum(state.updates for state in states),
        prepares=sum(state.prepares for state in states),
        residual=recent[-1].residual if recent else 0.0,
        elapsed_s=elapsed_s,
    )
