"""The edges that one worker of a general loop knows, as the admitted records say: those that begin or end at its vertices.

The session gathers an edge when it may, perhaps after a session has ended; what a record means (the oldest edge of a weight, the
edges that are replaced, an edge that is not there) depends on the records before it and on nothing else. So it is decided here,
on both workers alike, and the session is told of single edges that surely are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...records.operations import INSERT, MENTION, REPLACE


class EdgeChange(NamedTuple):
    """One edge begins or ends."""

    begins: bool
    weight: float


class GeneralEdges:
    """See the module.

    Parameters
    ----------
    is_own
        Whether a vertex lives on this worker.

    Attributes
    ----------
    count, missing_removals
        Edges to own vertices, and removals of such that were not there.
    """

    def __init__(self, is_own: Callable[[int], bool]) -> None:
        self.count = 0
        self.missing_removals = 0
        self._is_own = is_own
        self._weights: dict[tuple[int, int], list[float]] = {}

    def __iter__(self) -> Iterator[tuple[int, int, list[float]]]:
        for (source, target), weights in self._weights.items():
            yield source, target, weights

    def apply(self, source: int, target: int, weight: float, operation: int) -> list[EdgeChange]:
        """Apply a record; return which edges begin and end, in this order.

        A replacement begins before what it replaces ends, so that nobody hears of a moment without an edge.
        """
        if operation == MENTION:
            return []
        weights = self._weights.setdefault((source, target), [])
        before = len(weights)
        changes: list[EdgeChange] = []
        if operation == INSERT:
            changes.append(EdgeChange(begins=True, weight=weight))
            weights.append(weight)
        elif operation == REPLACE:
            changes.append(EdgeChange(begins=True, weight=weight))
            changes += [EdgeChange(begins=False, weight=old) for old in weights]
            weights[:] = [weight]
        else:
            gone = weights[0] if weights and math.isnan(weight) else weight
            if gone in weights:
                weights.remove(gone)
                changes.append(EdgeChange(begins=False, weight=gone))
        if self._is_own(target):
            self.count += len(weights) - before
            self.missing_removals += not changes
        if not weights:
            del self._weights[source, target]
        return changes

    def copied(self) -> GeneralEdges:
        """The edges as they are now."""
        twin = GeneralEdges(self._is_own)
        twin._weights = {ends: weights.copy() for ends, weights in self._weights.items()}
        twin.count = self.count
        return twin
