"""What the vertices at which no edge begins have at each round, over all workers: the one thing that answers need of everybody.

It travels as each worker's own numbers, which are absolute. Whoever has those of all workers knows what each round counts for.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ...graph import EvolvingGraph
from .loop_state import RoundsState


class KeptSums:
    """See the module.

    Parameters
    ----------
    kernel, arguments
        Of the program.
    worker, workers
        Which worker, of how many.

    Attributes
    ----------
    terms
        How many the sums of this worker had when they were made last.
    """

    def __init__(self, kernel: ModuleType, arguments: tuple[object, ...], worker: int, workers: int) -> None:
        self._kernel = kernel
        self._arguments = arguments
        self._worker = worker
        self._workers = workers
        self._heard: dict[int, NDArray[np.float64]] = {}
        self.terms = 0

    @property
    def are_wanted(self) -> bool:
        """Whether the program's vertices share."""
        return bool(self._kernel.COUNTS_OUT)

    def sum_own(self, graph: EvolvingGraph, state: RoundsState, vertices: int) -> NDArray[np.float64]:
        """Sum over the first `vertices` of this worker that were seen; return what the others are to be told."""
        rows = graph.known_rows(vertices)
        rows = rows[: np.searchsorted(rows, state.rows_seen)]
        own = state.kept_by(rows)
        self.terms = int(np.count_nonzero(state.columns.degree[rows] == 0))
        self.hear(self._worker, own, state)
        return own

    def hear(self, worker: int, kept: NDArray[np.float64], state: RoundsState) -> None:
        """Take in what a worker has, and weigh the rounds anew; who was not heard yet counts for nothing."""
        self._heard[worker] = kept
        of_all = np.sum([self._heard[index] for index in sorted(self._heard)], axis=0)
        if of_all[0] > 0:
            coefficients = np.zeros(state.rounds)
            self._kernel.weigh_rounds(coefficients, of_all[1:], int(of_all[0]), self._arguments)
            state.coefficients = coefficients

    @property
    def are_complete(self) -> bool:
        """Whether all workers were heard."""
        return len(self._heard) == self._workers
