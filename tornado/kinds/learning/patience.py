"""Whether steps of a main loop still make an objective less: it rests when they have not for some time."""

from __future__ import annotations

import math
from typing import Final

_PROGRESS: Final = 1e-3  # of the objective: less is none


class Patience:
    """See the module.

    Parameters
    ----------
    patience
        How many objectives in a row may be no better than the best before them.

    Attributes
    ----------
    is_over
        Whether there were so many, or `end` was called.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._left = patience
        self._best = math.inf

    @property
    def is_over(self) -> bool:
        """See the class."""
        return self._left <= 0

    def begin_anew(self) -> None:
        """Forget what was: there is something new to learn from."""
        self._left, self._best = self._patience, math.inf

    def end(self) -> None:
        """Nothing can become better."""
        self._left = 0

    def note(self, objective: float) -> None:
        """Compare an objective with the best one so far."""
        is_better = objective < self._best * (1.0 - _PROGRESS)
        self._left = self._patience if is_better else self._left - 1
        self._best = min(self._best, objective)
