"""Local clustering coefficients over a live stream of edges: `tornado run local_clustering --edges follows.csv`."""

from dataclasses import dataclass

from tornado import ClusteringCheck, CountingProgram


@dataclass(frozen=True)
class LocalClustering(CountingProgram):
    """How many of the edges there could be among the neighbours of a vertex are there, as LDBC Graphalytics defines it (LCC).

    Neighbours are all others that a vertex has an edge from or to, each once. Among n of them n (n - 1) edges are possible, one in
    each direction of a pair; a vertex with less than two neighbours has 0. Edges of a vertex to itself, parallel edges and weights
    count for nothing.
    """

    @staticmethod
    def value(neighbours: int, edges: int) -> float:
        """The share of the possible edges."""
        return edges / (neighbours * (neighbours - 1.0)) if neighbours > 1 else 0.0

    def checker(self) -> ClusteringCheck:
        """By counting again."""
        return ClusteringCheck()
