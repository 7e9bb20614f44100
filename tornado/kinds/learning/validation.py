"""Progressive validation: what a main loop predicts of points before it learns from them (test, then train).

Source: Gama, Sebastiao and Rodrigues, On evaluating stream learning algorithms (Machine Learning 90, 2013).
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, runtime_checkable

from ...loops.part import Predicted

_RECENT: Final = 10_000.0  # of weight, at least, where so much has come


class Validation:
    """Sums over all points of a worker that were tested, and over the last ones.

    Examples
    --------
    >>> validation = Validation()
    >>> validation.note(Predicted(weight=2.0, loss=0.5, mistakes=1.0))
    >>> validation.all.mistakes / validation.all.weight
    0.5
    """

    def __init__(self) -> None:
        self.all = Predicted()
        self.recent = Predicted()
        self._parts: deque[Predicted] = deque()

    def note(self, part: Predicted) -> None:
        """Add what was predicted; nothing where that has no weight."""
        if not part.weight > 0.0:
            return
        self.all += part
        self._parts.append(part)
        left = self.recent.weight + part.weight
        while left - self._parts[0].weight >= _RECENT:
            left -= self._parts.popleft().weight
        self.recent = sum(self._parts, Predicted())


@runtime_checkable
class Validating(Protocol):
    """Data shards that test points before they are used."""

    validation: Validation
