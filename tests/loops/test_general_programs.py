"""General programs in loops: main and branches against oracles, with removals, on several workers, for all delay bounds."""

import math
from collections import Counter
from dataclasses import dataclass
from random import Random

import networkx as nx
import numpy as np
import pytest

from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument, NotSupported
from tornado.ingest.records import INSERT, REMOVE, REPLACE, EdgeBatch
from tornado.loops import BranchState, GeneralProgram, Master

BOUNDS = [1, 2, 5, 64, None]


@dataclass(frozen=True)
class Paths(GeneralProgram):
    """Shortest paths that keep the last offer of each producer; `hops` ends the counting on cycles."""

    source: int
    hops: int = 40

    def init(self, vertex):
        return {"distance": self._own(vertex), "offers": {}}

    def _own(self, vertex):
        return (0.0, 0) if vertex.id == self.source else (math.inf, 0)

    def gather(self, vertex, producer, value, weights):
        state = vertex.state
        state["offers"].pop(producer, None)
        if weights and value is not None:
            distance, hops = value
            if hops < self.hops and distance < math.inf:
                state["offers"][producer] = (distance + min(weights), hops + 1)
        best = min([self._own(vertex), *state["offers"].values()])
        changed = best != state["distance"]
        state["distance"] = best
        return changed

    def scatter(self, vertex):
        vertex.emit(vertex.state["distance"])

    def value(self, state):
        return state["distance"][0]


@dataclass(frozen=True)
class Ranks(GeneralProgram):
    """PageRank without normalisation: (1 - d) + d times what the producers send, split over their targets."""

    damping: float = 0.7
    tolerance: float = 1e-9

    def init(self, vertex):
        return {"rank": 1 - self.damping, "sent": None}

    def gather(self, vertex, producer, value, weights):
        del producer, value, weights
        shares = (one.value * len(one.weights) for one in vertex.heard.values() if one.value is not None)
        vertex.state["rank"] = 1 - self.damping + self.damping * math.fsum(shares)
        return self._matters(vertex)

    def add_target(self, vertex, target, weight):
        return self._matters(vertex)

    def remove_target(self, vertex, target, weight):
        return self._matters(vertex)

    def _share(self, vertex):
        targets = sum(map(len, vertex.targets.values()))
        return vertex.state["rank"] / targets if targets else 0.0

    def _matters(self, vertex):
        sent = vertex.state["sent"]
        return sent is None or abs(self._share(vertex) - sent) > self.tolerance

    def scatter(self, vertex):
        vertex.state["sent"] = self._share(vertex)
        vertex.emit(vertex.state["sent"])

    def value(self, state):
        return state["rank"]


@dataclass(frozen=True)
class Labels(GeneralProgram):
    """Synchronous label propagation: so many rounds, each vertex takes the commonest label, the least of several."""

    rounds: int = 4
    delay_bounds = (1, 1)

    def init(self, vertex):
        return vertex.id

    def gather(self, vertex, producer, value, weights):
        del producer, value, weights
        if vertex.iteration > vertex.loop.first_iteration + self.rounds:
            return False
        votes = Counter()
        for one in vertex.heard.values():
            if one.value is not None:
                votes[one.value] += len(one.weights)
        if not votes:
            return False
        most = max(votes.values())
        label = min(label for label, count in votes.items() if count == most)
        if vertex.iteration == vertex.loop.first_iteration:
            return False
        changed = label != vertex.state
        vertex.state = label
        return changed

    def scatter(self, vertex):
        vertex.emit(vertex.state)


class Graph:
    """The oracle's multigraph, by the rules of records."""

    def __init__(self):
        self.edges = {}
        self.vertices = set()

    def apply(self, batch):
        for source, target, weight, operation in zip(
            batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), batch.op.tolist(), strict=True
        ):
            self.vertices |= {source, target}
            weights = self.edges.setdefault((source, target), [])
            if operation == INSERT:
                weights.append(weight)
            elif operation == REPLACE:
                weights[:] = [weight]
            elif weights and math.isnan(weight):
                weights.pop(0)
            elif weight in weights:
                weights.remove(weight)

    def distances(self, source):
        graph = nx.DiGraph()
        graph.add_nodes_from(self.vertices)
        graph.add_weighted_edges_from(
            (*ends, min(weights)) for ends, weights in self.edges.items() if weights
        )
        found = nx.single_source_dijkstra_path_length(graph, source) if source in graph else {}
        return {vertex: float(found.get(vertex, math.inf)) for vertex in self.vertices}

    def ranks(self, damping):
        names = sorted(self.vertices)
        place = {name: index for index, name in enumerate(names)}
        matrix = np.zeros((len(names), len(names)))
        for (source, target), weights in self.edges.items():
            matrix[place[target], place[source]] += len(weights)
        degrees = matrix.sum(axis=0)
        matrix = np.divide(matrix, degrees, out=np.zeros_like(matrix), where=degrees > 0)
        found = np.linalg.solve(np.eye(len(names)) - damping * matrix, np.full(len(names), 1 - damping))
        return dict(zip(names, found.tolist(), strict=True))

    def labels(self, rounds):
        labels = {vertex: vertex for vertex in self.vertices}
        for _ in range(rounds):
            after = {}
            for vertex in self.vertices:
                votes = Counter()
                for (source, target), weights in self.edges.items():
                    if target == vertex and weights:
                        votes[labels[source]] += len(weights)
                most = max(votes.values(), default=0)
                after[vertex] = min(
                    (one for one, count in votes.items() if count == most), default=labels[vertex]
                )
            labels = after
        return labels


def batches(random, *, vertices, records, size, acyclic=True):
    """Insertions, removals (some of edges that are not there) and replacements."""
    alive, found = [], []
    for _ in range(records // size):
        rows = []
        for _ in range(size):
            kind = random.random()
            source, target = random.randrange(vertices), random.randrange(vertices)
            if acyclic and source != target:
                source, target = min(source, target), max(source, target)
            elif acyclic:
                target = source + 1
            weight = float(random.randint(1, 9))
            if kind < 0.6 or not alive:
                rows.append((source, target, weight, INSERT))
                alive.append((source, target, weight))
            elif kind < 0.9:
                source, target, weight = alive.pop(random.randrange(len(alive)))
                rows.append((source, target, math.nan if random.random() < 0.3 else weight, REMOVE))
            elif kind < 0.95:
                rows.append((source, target, weight, REMOVE))
            else:
                source, target, _ = random.choice(alive)
                rows.append((source, target, weight, REPLACE))
        found.append(EdgeBatch.of(*map(list, zip(*rows, strict=True))))
    return found


def values_of(values):
    ids, found = values.arrays()
    return dict(zip(ids.tolist(), found.tolist(), strict=True))


def engines(workers, seed):
    return Master(workers=workers, engine=SimulationEngine(workers, seed=seed))


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_paths_with_removals_are_exact_in_branches_forked_under_way(workers, bound):
    for seed in range(6):
        print("seed", seed)
        random, graph = Random(seed), Graph()
        with engines(workers, seed) as master:
            loop = master.start(Paths(0), "paths", delay_bound=bound)
            branches = []
            for number, batch in enumerate(batches(random, vertices=12, records=80, size=8)):
                version = loop.admit(batch, "s", number)
                graph.apply(batch)
                master.engine.step(random.randrange(60))
                if random.random() < 0.5:
                    branches.append((loop.fork(), version, graph.distances(0)))
                if random.random() < 0.2:
                    branches.append((loop.fork({"source": 3}), version, graph.distances(3)))
            assert loop.wait_idle()
            assert values_of(loop.approximation()) == graph.distances(0)
            for branch, version, expected in branches:
                assert branch.wait()
                assert branch.state is BranchState.CONVERGED
                assert branch.snapshot.version == version
                assert values_of(branch.values()) == expected
            statistics = loop.statistics()
            assert statistics.edges == sum(map(len, graph.edges.values()))
            assert statistics.vertices == len(graph.vertices)
            assert statistics.pending == 0
