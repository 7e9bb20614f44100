"""Sums over weighted walks: values are, each as a share of it, no further from the right ones than they say.

The values x are right where x = b + f A (x / D) for a base b > 0 of each vertex and a factor f, with the weight of the edges from j to
i in A[i, j]. D is 1 (Katz 1953), or what the out-edges of a vertex weigh and an absorption a > 0 besides (Kemeny and Snell 1960). Parallel
edges add up, a loop counts, weight 0 is no edge.

*What is verified.* The right side changes x by a residual r. Let u be the greatest ``|r| / b`` of all vertices, and below 1. Then x - M x =
b - r is positive for M = f A / D, and x is not negative. So x is positive, and the sum of all powers of M exists and is not negative (Collatz 1942): there are
right values. What it makes of ``u / (1 - u) (b - r) >= |r|`` is: x is no further from them than u / (1 - u) times x, in each place.
That is recomputed from the values and the edges, and must be at most what the answer says of itself. What rounding can have taken
from a residual counts as part of it (`ROUNDING`).

Cost: two passes over the edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from . import ranks_kernel as kernel
from .contract import AnswerToCheck, EdgePage, Fault, Verdict
from .numbering import NumberedGraph

Floats = NDArray[np.float64]

# A value is rounded when it is divided (twice), multiplied by a weight and by the factor, summed, and added to the base.
ROUNDING: Final = 8 * 2.0**-53


@dataclass(frozen=True, slots=True)
class SumsCheck:
    """Verifies sums over walks within the bound that an answer says of itself: the greatest error of a value, as a share of it.

    Parameters
    ----------
    factor
        f, at least 0.
    base
        b, above 0.
    absorption
        a, above 0; None: a value is not divided.
    """

    factor: float
    base: float = 1.0
    absorption: float | None = None

    @property
    def method(self) -> str:
        """What is verified, in words."""
        return "the residual of each value is recomputed; as a share of the base it is within what the bound allows"

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """See `Checker`.

        Raises
        ------
        InvalidArgument
            When a weight or the factor is negative, or the base or the absorption is not above 0.
        """
        self._require_possible()
        graph = NumberedGraph.of(answer, pages)
        if any((page.weights < 0).any() for page in graph.pages):
            raise InvalidArgument("a weight is negative; sums over walks need weights of at least 0")
        if graph.fault or not len(graph.ids):
            return Verdict(self.method, len(graph.ids), graph.edges, graph.fault)
        bad = np.flatnonzero(~(answer.reached & np.isfinite(answer.values) & (answer.values >= 0)))
        if len(bad):
            is_negative = bool(answer.reached[bad[0]]) and answer.values[bad[0]] < 0
            fault = Fault(int(graph.ids[bad[0]]), "has a negative value" if is_negative else "has no value")
            return Verdict(self.method, len(graph.ids), graph.edges, fault)
        values = np.ascontiguousarray(answer.values, np.float64)
        right = self.base + self.factor * self._brought(values, graph)
        residual = (np.abs(right - values) + ROUNDING * (right + np.abs(values)) / 2.0) / self.base
        row = int(np.argmax(residual))
        most = float(residual[row])
        within = most / (1.0 - most) if most < 1.0 else np.inf
        found: Fault | None = None
        if not within <= answer.bound:
            found = Fault(
                int(graph.ids[row]),
                f"has {float(values[row])!r}, which its edges change by {abs(right[row] - values[row]):.3g}, in units of the base more than "
                f"any other; values are within {within:.3g} of themselves, and the bound is {answer.bound:.3g}",
            )
        measured = (("residual", most), ("within", float(within)))
        return Verdict(self.method, len(graph.ids), graph.edges, found, measured=measured)

    def _require_possible(self) -> None:
        if not 0.0 <= self.factor < np.inf:
            raise InvalidArgument(f"factor is {self.factor} but must be at least 0")
        for name, number in (("base", self.base), ("absorption", self.absorption)):
            if number is not None and not 0.0 < number < np.inf:
                raise InvalidArgument(f"{name} is {number} but must be above 0")

    def _brought(self, values: Floats, graph: NumberedGraph) -> Floats:
        """Return what comes to each vertex over its edges."""
        count = len(values)
        shares = values
        if self.absorption is not None:
            weights, errors = np.zeros(count), np.zeros(count)
            for page in graph.pages:
                kernel.add_weights(page.sources, page.weights, weights, errors)
            shares = values / (weights + errors + self.absorption)
        brought, errors = np.zeros(count), np.zeros(count)
        for page in graph.pages:
            kernel.add_shares(page.sources, page.targets, page.weights, shares, brought, errors)
        total: Floats = brought + errors
        return total
