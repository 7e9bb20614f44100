"""PageRank as LDBC Graphalytics defines it (PR): the rank of each vertex after so many rounds.

At first every one of n vertices has 1/n. A round gives each (1 - d)/n, d times the shares of those with an edge to it, and d/n
times what those without an edge of their own have. A vertex shares what it has equally among its edges: weights count for nothing,
and each of several parallel edges gets a share.

*What is verified.* All rounds are gone through again, with compensated sums. Ranks are sums of floats, and differ by the order in
which these were added. How much that can be is carried along: whoever adds k numbers of one sign, in any order, is off by at most k
roundings of the sum, and what a share is off by is shared as the share is. So every rank has a distance of its own within which any
order of adding comes; a rank that is further off is wrong. With a bound each rank may be that much further off, as a share of itself.

Cost: a pass over the edges for each round.
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

# A rounding is 2^-53. Twice that: the other half is for what is recomputed here, and for roundings of roundings.
_UNIT: Final = 2.0**-52
# Roundings of a rank in a round besides those of its sum: it is divided, multiplied, and put together from three terms.
_OF_EACH: Final = 8


@dataclass(frozen=True, slots=True)
class RankRoundsCheck:
    """Verifies PageRank after so many rounds, up to what rounding makes of sums.

    Parameters
    ----------
    rounds
        How many, at least 0.
    damping
        d, from 0 to below 1.
    """

    rounds: int
    damping: float = 0.85

    @property
    def method(self) -> str:
        """What is verified, in words."""
        return f"{self.rounds} rounds from 1/n each come to these ranks, up to the rounding of sums"

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """See `Checker`.

        Raises
        ------
        InvalidArgument
            When damping is not from 0 to below 1.
        """
        if not 0.0 <= self.damping < 1.0:
            raise InvalidArgument(f"damping is {self.damping} but must be from 0 to below 1")
        graph = NumberedGraph.of(answer, pages)
        if graph.fault or not len(graph.ids):
            return Verdict(self.method, len(graph.ids), graph.edges, graph.fault)
        bad = np.flatnonzero(~(answer.reached & np.isfinite(answer.values)))
        if len(bad):
            fault = Fault(int(graph.ids[bad[0]]), "has no rank")
            return Verdict(self.method, len(graph.ids), graph.edges, fault)
        values = np.ascontiguousarray(answer.values, np.float64)
        right, rounding = self._ranks(graph)
        off = np.abs(values - right)
        wrong = np.flatnonzero(~(off - rounding <= answer.bound * np.abs(values)))
        found: Fault | None = None
        if len(wrong):
            row = int(wrong[0])
            found = Fault(
                int(graph.ids[row]),
                f"has {float(values[row])!r}, but after {self.rounds} rounds it is {float(right[row])!r}, and the order of sums makes "
                f"no more than {rounding[row]:.3g} of difference",
            )
        measured = ("difference", float(off.sum())), ("rounding", float(rounding.sum()))
        return Verdict(self.method, len(graph.ids), graph.edges, found, measured)

    def _ranks(self, graph: NumberedGraph) -> tuple[Floats, Floats]:
        """Return the ranks, and how far from these any order of sums comes at most."""
        count = len(graph.ids)
        leaving, arriving = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for page in graph.pages:
            leaving += np.bincount(page.sources, minlength=count)
            arriving += np.bincount(page.targets, minlength=count)
        keeps = leaving == 0
        keeping, edges = int(keeps.sum()), np.maximum(leaving, 1)
        each = self.rounds + _OF_EACH  # a rank may also be put together from terms of all rounds
        ranks = np.full(count, 1.0 / count)
        rounding = _UNIT * ranks
        for _ in range(self.rounds):
            brought, errors, carried = np.zeros(count), np.zeros(count), np.zeros(count)
            for page in graph.pages:
                ends = page.sources, page.targets
                kernel.pass_on(*ends, ranks / edges, rounding / edges, brought, errors, carried)
            brought = self.damping * (brought + errors)
            to_all = (1.0 - self.damping + self.damping * _sum(ranks[keeps])) / count
            carried_to_all = self.damping * float(rounding[keeps].sum()) / count
            rounding = self.damping * carried + carried_to_all
            rounding += _UNIT * ((arriving + each) * brought + (keeping + each) * to_all)
            ranks = to_all + brought
        return ranks, rounding + _UNIT * each * ranks


def _sum(numbers: Floats) -> float:
    sums, errors = np.zeros(1), np.zeros(1)
    kernel.add_all(numbers, sums, errors)
    return float(sums[0] + errors[0])
