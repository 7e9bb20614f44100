"""Communities by label propagation over a live stream of edges: `tornado run label_propagation --rounds 10 --edges links.csv`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tornado import LabelsCheck, RoundsProgram


@dataclass(frozen=True)
class LabelPropagation(RoundsProgram):
    """The label that a vertex has after so many rounds, as LDBC Graphalytics defines it (CDLP).

    A label is the id of a vertex, at first its own. Each round gives a vertex the label that most of its neighbours had a round
    before, and of several such the least. Those that it has an edge from and those that it has an edge to are neighbours, and
    whoever is both counts twice. On an undirected stream each edge counts once. Weights count for nothing.

    LDBC's graphs have no parallel edges and no loops. Here each of several parallel edges counts, and an edge from a vertex to
    itself is an edge from a neighbour and one to a neighbour. A vertex without edges keeps its label.
    """

    rounds: int = 10
    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    both_ways: ClassVar[bool] = True
    values_are_ids: ClassVar[bool] = True

    @staticmethod
    def initial(vertex: int) -> int:
        """A label of its own."""
        return vertex

    def checker(self) -> LabelsCheck:
        """By going through all rounds again."""
        return LabelsCheck(self.rounds)
