"""The edges that begin at one worker's vertices, as the admitted records say."""

from __future__ import annotations

import math

from tornado.records.operations import INSERT, REPLACE


class OutEdges:
    """See the module.

    Attributes
    ----------
    count, missing_removals
        Edges, and removals of such that were not there.
    """

    def __init__(self) -> None:
        self.count = 0
        self.missing_removals = 0
        self._weights: dict[int, dict[int, list[float]]] = {}  # by target and source, the oldest edge first

    def apply(self, source: int, target: int, weight: float, operation: int) -> None:
        """Apply a record."""
        of_target = self._weights.setdefault(target, {})
        weights = of_target.setdefault(source, [])
        before = len(weights)
        if operation == INSERT:
            weights.append(weight)
        elif operation == REPLACE:
            weights[:] = [weight]
        else:
            gone = weights[0] if weights and math.isnan(weight) else weight
            if gone in weights:
                weights.remove(gone)
            else:
                self.missing_removals += 1
        self.count += len(weights) - before
        if not weights:
            del of_target[source]

    def sum_to(self, target: int) -> float:
        """What the edges to a target weigh."""
        return math.fsum(weight for weights in self._weights[target].values() for weight in weights)

    def sums(self) -> dict[int, float]:
        """What the edges to each target weigh, where any ever ended at it."""
        return {target: self.sum_to(target) for target in self._weights}
