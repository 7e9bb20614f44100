"""A proof that the values of a graph have no end, tried by the parts of a branch together.

Values that vertices announce make ``M z`` of z, with M = d A and w / divisor(W) in A for each edge. Where z is not negative and not all
0, and ``M z >= q z`` in each place where z is above 0, the spectral radius of M is at least q (Collatz 1942, Wielandt 1950). So where
q comes to 1 there is no x with x = e + M x and e > 0, and the values grow for ever. Just below 1 some value comes to the base
over 1 - q; as far as `MOST_SURE` says it counts as 1, since nothing could be certified there.

Whatever z is, the proof stands by itself; but it must be a z for which it succeeds. By how much the values grew in a sweep is near
an eigenvector where they grow without end, and means with what comes back bring it nearer, where several parts swept at their own
pace. Elsewhere values have come to rest, or nearly, and there vertices that do not get back what they announced are left out, again and
again, till all that are left do or none are. Where values are capped nothing grows any more, and they are tried themselves. Last
comes 1 of each: what is left then is a part in which each vertex gets 1 from the others, such as a cycle.

The values of the branch are put aside meanwhile, and are back before anything else is done. A trial costs some passes over the
edges; the coordinator begins one when so many sweeps have been made, and again when there are twice as many.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from .bundle import Trial
from .loop_state import SumState


class TrialValues:
    """What one part announces in a trial; see the module.

    Attributes
    ----------
    is_under_way
        Whether values are put aside.
    """

    def __init__(self, kernel: ModuleType, state: SumState, arguments: tuple[object, ...]) -> None:
        self._kernel, self._state, self._arguments = kernel, state, arguments
        self._watched: NDArray[np.float64] | None = None
        self._aside: NDArray[np.float64] | None = None
        self._kept = self._mean = np.empty(0)

    @property
    def is_under_way(self) -> bool:
        """Whether values are put aside."""
        return self._aside is not None

    def watch(self) -> None:
        """Remember the values, to know by how much they grow."""
        self._watched = self._shares()

    def wanted(self, trial: Trial) -> NDArray[np.float64]:
        """Put the values aside, where that was not done; return what is to be announced, by row."""
        if self._aside is None:
            self._aside = self._shares()
        if trial == Trial.MOVED:
            before = self._aside if self._watched is None else self._watched
            return np.maximum(self._aside - before, 0.0)
        if trial == Trial.VALUES:
            return self._aside
        if trial == Trial.EVEN:
            return np.ones(len(self._aside))
        return self._mean if trial == Trial.MEAN else self._kept

    def compare(self) -> tuple[int, int]:
        """Count vertices that got as much back as they announced, and those that did not, which announce nothing next."""
        self._kept, self._mean = (np.zeros(self._state.rows_seen) for _ in range(2))
        kept, lost = self._kernel.compare_shares(
            self._state.addresses, self._arguments, self._kept, self._mean
        )
        return int(kept), int(lost)

    def back(self) -> NDArray[np.float64]:
        """Return the values that were put aside, to be announced again: the trial is over."""
        assert self._aside is not None
        aside, self._aside, self._watched = self._aside, None, None
        return aside

    def _shares(self) -> NDArray[np.float64]:
        return np.array(self._state.columns.share[: self._state.rows_seen])
