"""Weakly connected components: the label of every vertex is the least id that a walk over edges leads to, in either direction.

*What is verified.* A spanning forest of the edges is grown, tree by tree (union and find, Galler and Fischer 1964). Each tree is a
component: no edge joins two, or they would be one. An answer is right if every vertex has the least id of its tree. So no edge
joins two labels, every label is the id of a vertex that has it, and a walk over edges leads there from all that have it.

Where ids stand for strings their order is that in which they came in, which an answer in a file does not tell. Then a label may be
the id of any one vertex of the component, the same for all.

Cost: vertices + edges, times the inverse of Ackermann's function, which is at most 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from . import components_kernel as kernel
from .contract import AnswerToCheck, EdgePage, Fault, Verdict
from .numbering import NumberedGraph


@dataclass(frozen=True, slots=True)
class ComponentsCheck:
    """Verifies labels of weakly connected components.

    Parameters
    ----------
    takes_any_member
        Whether a label may be the id of any vertex of the component; otherwise it is the least.
    """

    takes_any_member: bool = False

    @property
    def method(self) -> str:
        """What is verified, in words."""
        which = "one id of its vertices" if self.takes_any_member else "the least id of its vertices"
        return f"no edge joins two labels; a spanning forest of the edges has a tree for each label, which is {which}"

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """See `Checker`."""
        graph = NumberedGraph.of(answer, pages)
        fault = graph.fault or self._fault(answer, graph)
        return Verdict(self.method, len(graph.ids), graph.edges, fault)

    def _fault(self, answer: AnswerToCheck, graph: NumberedGraph) -> Fault | None:
        parents = np.arange(len(graph.ids), dtype=np.int32)
        for page in graph.pages:
            kernel.join(parents, page.sources, page.targets)
        kernel.flatten(parents)
        values, reached = answer.values, answer.reached
        strange = np.zeros(len(values), np.bool_)
        if self.takes_any_member:
            right = values[
                parents
            ]  # a component is called what its first row has, which must be a vertex of it
            labels = graph.row_of(right.astype(np.int64))
            strange = reached[parents] & ((labels < 0) | (parents[labels] != parents))
        else:
            least = graph.ids.copy()
            kernel.least_of_trees(parents, graph.ids, least)
            right = least[parents]
        wrong = np.flatnonzero(~reached | strange | (values != right))
        if not len(wrong):
            return None
        row = int(wrong[0])
        vertex, has = int(graph.ids[row]), int(values[row])
        if not reached[row]:
            return Fault(vertex, "has no label")
        if strange[row]:
            return Fault(vertex, "has the label {}, which is no vertex of its component", (has,))
        words = "has the label {}, but that of its component is {}"
        return Fault(vertex, words, (has, int(right[row])))
