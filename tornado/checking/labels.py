"""Label propagation as LDBC Graphalytics defines it (CDLP): the label of each vertex after so many rounds.

A label is at first a vertex's own id. Each round gives it the label that most of its neighbours had before, and of several such the
least. Those that an edge comes from and those that one goes to are neighbours, each as often as there are edges; where every edge is
there in both directions as one (`AnswerToCheck.is_undirected`), it counts once.

*What is verified.* All rounds are gone through again, each for all vertices at once. The labels alone say nothing of the rounds that led
to them, so fewer passes prove nothing; where a round changes nothing the others are left out.

Cost: for each round, vertices, and edges times the logarithm of the greatest degree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import labels_kernel as kernel
from .contract import AnswerToCheck, EdgePage, Fault, Verdict
from .numbering import NumberedGraph


@dataclass(frozen=True, slots=True)
class LabelsCheck:
    """Verifies labels after so many rounds.

    Parameters
    ----------
    rounds
        How many, at least 0.
    """

    rounds: int

    @property
    def method(self) -> str:
        """What is verified, in words."""
        return f"{self.rounds} rounds from every vertex's own id come to these labels"

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """See `Checker`."""
        graph = NumberedGraph.of(answer, pages)
        fault = graph.fault or self._fault(answer, graph)
        return Verdict(self.method, len(graph.ids), graph.edges, fault)

    def _fault(self, answer: AnswerToCheck, graph: NumberedGraph) -> Fault | None:
        offsets, voices = _heard(graph, is_undirected=answer.is_undirected)
        right, after = graph.ids.copy(), np.empty_like(graph.ids)
        scratch = np.empty(int(np.diff(offsets).max(initial=0)), np.int64)
        for _ in range(self.rounds):
            changed = kernel.go_round(offsets, voices, right, after, scratch)
            right, after = after, right
            if not changed:
                break
        wrong = np.flatnonzero(~answer.reached | (answer.values != right))
        if not len(wrong):
            return None
        row = int(wrong[0])
        vertex = int(graph.ids[row])
        if not answer.reached[row]:
            return Fault(vertex, "has no label")
        names = int(answer.values[row]), int(right[row])
        return Fault(vertex, f"has the label {{}}, but after {self.rounds} rounds it is {{}}", names)


def _heard(graph: NumberedGraph, *, is_undirected: bool) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return whom each vertex hears, by row."""
    offsets = np.zeros(len(graph.ids) + 1, np.int64)
    for page in graph.pages:
        kernel.count_heard(page.targets, offsets)
        if not is_undirected:
            kernel.count_heard(page.sources, offsets)
    np.cumsum(offsets, out=offsets)
    voices, following = np.empty(int(offsets[-1]), np.int32), offsets[:-1].copy()
    for page in graph.pages:
        kernel.place_heard(page.targets, page.sources, following, voices)
        if not is_undirected:
            kernel.place_heard(page.sources, page.targets, following, voices)
    return offsets, voices
