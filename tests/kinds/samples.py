"""What the laws of kinds are tried on: a program of each kind, and what it computes, written down plainly.

An oracle gets the edges as weights by (source, target), all vertices that were named, and the program with its parameters.
"""

import math
from dataclasses import dataclass

import networkx as nx
import numpy as np

from apps.core_number import CoreNumber
from apps.pagerank import PageRank
from apps.sssp import ShortestPaths
from tests.kinds.accumulative.truth import distance, pagerank
from tests.kinds.conformance import Prefix, batches
from tests.kinds.counting.naive import among_neighbours
from tests.kinds.counting.programs import Weighed
from tests.kinds.learning.sample import LearningSample
from tests.kinds.rounds.naive import propagated
from tests.kinds.rounds.programs import Colours
from tests.kinds.toy.program import InWeights
from tests.loops.general_programs import Paths
from tornado.certificate import EXACT, stopped
from tornado.records.edge_batch import EdgeBatch


@dataclass(frozen=True)
class Sample:
    """See the module.

    Attributes
    ----------
    other
        Parameters that have another answer.
    updates_of_restored
        How many there may be before anything comes, where a loop goes on from what is stored.
    """

    program: object
    other: dict
    oracle: object
    updates_of_restored = 0

    def prefix(self):
        """What nothing comes to."""
        return Prefix()

    def batches(self, seed):
        """A stream."""
        return batches(seed)

    def chain(self, edges):
        """One edge after another, longer than any kind goes in one iteration."""
        return EdgeBatch.of(range(edges), range(1, edges + 1), np.arange(1.0, edges + 1))

    def check_answer(self, found, certificate, expected, said=""):
        """Of a branch that has converged."""
        assert certificate == EXACT
        assert found == expected, said

    def check_stopped(self, found, certificate, expected, program):
        """Of a branch that came to an early end."""
        assert certificate == stopped(program.stopped_side)
        if program.stopped_side == "upper":
            assert all(expected[vertex] <= value for vertex, value in found.items())
        if program.stopped_side == "lower":
            assert all(expected[vertex] >= value for vertex, value in found.items())

    def check_main(self, found, expected):
        """Of a main loop that is idle."""
        assert found == expected, "the main loop"

    def expected(self, prefix, parameters=None):
        """The value of every vertex after a prefix of the records."""
        program = self.program.with_parameters(parameters or {})
        return self.oracle(prefix.edges, prefix.vertices, program)


class BoundedSample(Sample):
    """Of a kind whose answers are as near as their certificate says."""

    def chain(self, edges):
        # Rows are in the order in which they are named, and values go along them in one iteration.
        return EdgeBatch.of(range(1, edges + 1), range(edges), np.arange(1.0, edges + 1))

    def check_answer(self, found, certificate, expected, said=""):
        assert certificate["bound"] <= self.program.tolerance, said
        self.check_stopped(found, certificate, expected, self.program)

    def check_stopped(self, found, certificate, expected, program):
        assert certificate == {"kind": "bound", "norm": "l1", "bound": certificate["bound"]}
        assert distance(found, expected) <= certificate["bound"] + 1e-14  # of the solver

    def check_main(self, found, expected):
        assert distance(found, expected) <= 2 * self.program.accuracy


class FallingSample(Sample):
    """Of a kind whose stopped branches say by themselves whether their values are upper bounds: it depends on how far they were."""

    def check_stopped(self, found, certificate, expected, program):
        assert program.stopped_side is None
        assert certificate in ({"kind": "none"}, {"kind": "none", "side": "upper"})
        if "side" in certificate:
            assert all(expected[vertex] <= value for vertex, value in found.items())


class CountedSample(Sample):
    """Of a kind whose main loop keeps a graph, and has no values."""

    def check_main(self, found, expected):
        assert found == dict.fromkeys(expected, -math.inf)


def weighed(edges, vertices, program):
    return {
        vertex: program.weight * inside + neighbours
        for vertex, (neighbours, inside) in among_neighbours(edges, vertices).items()
    }


def ranks(edges, vertices, program):
    return pagerank(edges, vertices, program.damping, program.personalisation)


def distances(edges, vertices, program):
    graph = nx.DiGraph()
    graph.add_nodes_from(vertices)
    graph.add_weighted_edges_from((*ends, min(weights)) for ends, weights in edges.items() if weights)
    source = program.source
    found = nx.single_source_dijkstra_path_length(graph, source) if source in graph else {}
    return {vertex: float(found.get(vertex, math.inf)) for vertex in vertices}


def in_weights(edges, vertices, program):
    sums = dict.fromkeys(vertices, 0.0)
    for (_, target), weights in edges.items():
        sums[target] += program.factor * sum(weights)
    return sums


def colours(edges, vertices, program):
    first = {vertex: program.initial(vertex, program.colours) for vertex in vertices}
    return propagated(edges, vertices, program.rounds, both_ways=program.both_ways, initial=first)


def cores(edges, vertices, program):
    graph = nx.Graph()
    graph.add_nodes_from(vertices)
    graph.add_edges_from(ends for ends, weights in edges.items() if weights and ends[0] != ends[1])
    return {vertex: min(number, program.greatest) for vertex, number in nx.core_number(graph).items()}


SAMPLES = {
    "selective": Sample(ShortestPaths(source=0), {"source": 3}, distances),
    "general": Sample(Paths(0, hops=1000), {"source": 3}, distances),
    "accumulative": BoundedSample(
        PageRank(tolerance=1e-11, accuracy=1e-8), {"damping": 0.5, "personalisation": (3, 1, 3)}, ranks
    ),
    "rounds": Sample(Colours(rounds=5, colours=7), {"colours": 3}, colours),
    "counting": CountedSample(Weighed(2.0), {"weight": 0.5}, weighed),
    "cores": FallingSample(CoreNumber(), {"most": 2}, cores),
    "learning": LearningSample(),
    "toy": Sample(InWeights(2.0), {"factor": -3.0}, in_weights),
}
"""By kind."""
