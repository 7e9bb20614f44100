"""Per-iteration statistics, summed over the workers: updates, prepares and the residual of each iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import loop_columns as names
from .selective_state import LoopState
from .statistics import IterationStatistics, Progress


def iterations_of(states: Sequence[LoopState], *, last: int) -> list[IterationStatistics]:
    """The last iterations that did something, oldest first, as far as they are remembered."""
    rows = [
        np.column_stack(
            (
                state.columns.history_iteration,
                state.columns.history_updates,
                state.columns.history_prepares,
                state.columns.history_residual,
            )
        )
        for state in states
    ]
    every = np.concatenate(rows) if rows else np.empty((0, 4))
    every = every[every[:, 0] >= 0]
    numbers, places = np.unique(every[:, 0], return_inverse=True)
    sums = np.zeros((len(numbers), 3))
    np.add.at(sums, places, every[:, 1:])
    return [
        IterationStatistics(int(number), int(updates), int(prepares), float(residual))
        for number, (updates, prepares, residual) in list(zip(numbers, sums, strict=True))[-last:]
    ]


def progress_of(states: Sequence[LoopState], *, elapsed_s: float, converged: bool) -> Progress:
    """How far a loop is, from the counters of its workers."""
    recent = [] if converged else iterations_of(states, last=1)
    return Progress(
        iteration=max((int(state.counters[names.ITERATION]) for state in states), default=0),
        updates=sum(int(state.counters[names.UPDATES]) for state in states),
        prepares=sum(int(state.counters[names.PREPARES]) for state in states),
        residual=recent[-1].residual if recent else 0.0,
        elapsed_s=elapsed_s,
    )
