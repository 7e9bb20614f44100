"""What the laws of kinds are tried on: a program of each kind, and what it computes, written down plainly.

An oracle gets the edges as weights by (source, target), all vertices that were named, and the program with its parameters.
"""

import math
from dataclasses import dataclass

import networkx as nx

from apps.sssp import ShortestPaths
from tests.kinds.rounds.naive import propagated
from tests.kinds.rounds.programs import Colours
from tests.kinds.toy.program import InWeights
from tests.loops.general_programs import Paths


@dataclass(frozen=True)
class Sample:
    """See the module.

    Attributes
    ----------
    other
        Parameters that have another answer.
    is_pushed_beyond_caps
        Whether a commit may come after the last iteration that a capped branch may commit: a known violation.
    """

    program: object
    other: dict
    oracle: object
    is_pushed_beyond_caps: bool = False

    def expected(self, prefix, parameters=None):
        """The value of every vertex after a prefix of the records."""
        program = self.program.with_parameters(parameters or {})
        return self.oracle(prefix.edges, prefix.vertices, program)


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


SAMPLES = {
    "selective": Sample(ShortestPaths(source=0), {"source": 3}, distances),
    # A session that begins below the cap commits where its consumers have come to (rule 3), which may be above.
    "general": Sample(Paths(0, hops=1000), {"source": 3}, distances, is_pushed_beyond_caps=True),
    "rounds": Sample(Colours(rounds=5, colours=7), {"colours": 3}, colours),
    "toy": Sample(InWeights(2.0), {"factor": -3.0}, in_weights),
}
"""By kind."""
