"""Core numbers: the greatest k such that a vertex is in a subgraph where everybody has k neighbours or more (Seidman 1983).

The graph is simple and undirected: the direction of an edge does not count, nor how many there are between two vertices, nor loops.

*What is verified.* Numbers are not too high where every vertex has as many neighbours with its number or more as the number says: those
with k or more are such a subgraph then. They are not too low where all vertices come off in the order of their numbers, each with no
more neighbours left than its number: the first vertex of such a subgraph to come off has all its neighbours there left.

Cost: vertices + edges, twice. Of numbers that are wrong the right ones are found by peeling, to say which is the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from . import cores_kernel as kernel
from .contract import AnswerToCheck, EdgePage, Fault, Verdict
from .numbering import NumberedGraph


@dataclass(frozen=True, slots=True)
class CoresCheck:
    """Verifies core numbers.

    Parameters
    ----------
    most
        Numbers above are told as this one; 0: none is.
    """

    most: int = 0

    @property
    def method(self) -> str:
        """What is verified, in words."""
        return (
            "every vertex has enough neighbours with its number or more; in the order of their numbers all come off, with no more "
            "neighbours left than that"
        )

    def check(self, answer: AnswerToCheck, pages: Iterable[EdgePage]) -> Verdict:
        """See `Checker`.

        Raises
        ------
        InvalidArgument
            When `most` is negative.
        """
        if self.most < 0:
            raise InvalidArgument(f"most is {self.most} but must be at least 1, or 0 for no limit")
        graph = NumberedGraph.of(answer, pages)
        fault = graph.fault or self._fault(answer, graph)
        return Verdict(self.method, len(graph.ids), graph.edges, fault)

    def _fault(self, answer: AnswerToCheck, graph: NumberedGraph) -> Fault | None:
        lists = _neighbours(graph)
        degrees = lists[2]
        values = answer.values
        most = degrees if self.most == 0 else np.minimum(degrees, self.most)
        are_possible = answer.reached & (values >= 0) & (values <= most)
        if are_possible.all():
            numbers = values.astype(np.int32)
            if (numbers == values).all() and self._is_proved(numbers, lists):
                return None
        right = kernel.core_numbers(*lists)
        if self.most:
            right = np.minimum(right, self.most)
        wrong = np.flatnonzero(~answer.reached | (values != right))
        row = int(wrong[0])
        vertex = int(graph.ids[row])
        if not answer.reached[row]:
            return Fault(vertex, "has no core number")
        return Fault(vertex, f"has the core number {values[row].item()!r}, but it is {int(right[row])}")

    def _is_proved(
        self,
        numbers: NDArray[np.int32],
        lists: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
    ) -> bool:
        order = np.argsort(numbers, kind="stable")
        greatest = self.most or -1
        return bool(
            kernel.are_supported(*lists, numbers) and kernel.come_off(*lists, numbers, order, greatest)
        )


def _neighbours(graph: NumberedGraph) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return where each vertex's part of a list begins, the list, and how many distinct neighbours stand there first."""
    offsets = np.zeros(len(graph.ids) + 1, np.int64)
    for page in graph.pages:
        kernel.count_ends(page.sources, page.targets, offsets)
    np.cumsum(offsets, out=offsets)
    neighbours, following = np.empty(int(offsets[-1]), np.int32), offsets[:-1].copy()
    for page in graph.pages:
        kernel.place_ends(page.sources, page.targets, following, neighbours)
    degrees = np.empty(len(graph.ids), np.int32)
    kernel.keep_distinct(offsets, neighbours, degrees)
    return offsets, neighbours, degrees
