"""General programs in loops: main and branches against oracles, with removals, on several workers, for all delay bounds."""

import math
from collections import Counter
from dataclasses import dataclass
from random import Random

import networkx as nx
import numpy as np
import pytest

from tests.loops.general_programs import Labels, Parcels, Paths, Ranks
from tornado import GeneralProgram
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument, NotSupported
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE

BOUNDS = [1, 2, 5, 64, None]


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

    def parcels(self):
        sums = dict.fromkeys(self.vertices, 0.0)
        for (source, target), weights in self.edges.items():
            if target % 3 == 0:
                sums[target] += source * target * math.fsum(weights)
        return sums

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


def test_paths_on_cycles_are_exact_when_hops_are_limited():
    for seed in range(8):
        print("seed", seed)
        random, graph = Random(seed), Graph()
        workers, bound = random.choice([1, 2, 4]), random.choice(BOUNDS)
        with engines(workers, seed) as master:
            loop = master.start(Paths(0, hops=12), "paths", delay_bound=bound)
            for number, batch in enumerate(batches(random, vertices=9, records=50, size=10, acyclic=False)):
                loop.admit(batch, "s", number)
                graph.apply(batch)
                master.engine.step(random.randrange(40))
            branch = loop.fork()
            assert branch.wait()
            assert values_of(branch.values()) == graph.distances(0)


@pytest.mark.parametrize("bound", [1, 4, None])
@pytest.mark.parametrize("workers", [1, 3])
def test_ranks_follow_every_change_of_out_degrees(workers, bound):
    for seed in range(3):
        print("seed", seed)
        random, graph = Random(seed), Graph()
        with engines(workers, seed) as master:
            loop = master.start(Ranks(), "ranks", delay_bound=bound)
            branches = []
            for number, batch in enumerate(batches(random, vertices=10, records=60, size=12, acyclic=False)):
                loop.admit(batch, "s", number)
                graph.apply(batch)
                master.engine.step(random.randrange(60))
                branches.append((loop.fork(), graph.ranks(0.7)))
                branches.append((loop.fork({"damping": 0.3}), graph.ranks(0.3)))
            assert loop.wait_idle()
            assert values_of(loop.approximation()) == pytest.approx(graph.ranks(0.7), abs=1e-6)
            for branch, expected in branches:
                assert branch.wait()
                assert values_of(branch.values()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_labels_of_synchronous_rounds_are_those_of_the_definition(workers):
    for seed in range(4):
        print("seed", seed)
        random, graph = Random(seed), Graph()
        with engines(workers, seed) as master:
            loop = master.start(Labels(0), "labels", delay_bound=1)
            for number, batch in enumerate(batches(random, vertices=14, records=60, size=20, acyclic=False)):
                loop.admit(batch, "s", number)
                graph.apply(batch)
                for rounds in (1, 2, 3, 7):
                    branch = loop.fork({"rounds": rounds})
                    assert branch.wait()
                    assert values_of(branch.values()) == graph.labels(rounds), rounds


@pytest.mark.parametrize("bound", [1, 3, None])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_said_to_single_targets_reaches_them_alone(workers, bound):
    for seed in range(4):
        print("seed", seed)
        random, graph = Random(seed), Graph()
        with engines(workers, seed) as master:
            loop = master.start(Parcels(), "parcels", delay_bound=bound)
            for number, batch in enumerate(batches(random, vertices=10, records=60, size=12)):
                loop.admit(batch, "s", number)
                graph.apply(batch)
                master.engine.step(random.randrange(60))
            expected = graph.parcels()
            branch = loop.fork()
            assert branch.wait() and loop.wait_idle()
            assert values_of(branch.values()) == expected
            assert values_of(loop.approximation()) == expected


def test_a_program_is_told_of_every_change_once_with_the_whole_pair():
    log = []
    steps = [
        (1, 3, 2.0, INSERT),
        (1, 3, 5.0, INSERT),
        (1, 3, 2.0, REMOVE),
        (1, 3, 7.0, REPLACE),
        (1, 3, math.nan, REMOVE),
        (1, 3, 7.0, REMOVE),  # not there
        (1, 3, 4.0, INSERT),
    ]
    with engines(2, 0) as master:
        loop = master.start(Told(), "told", delay_bound=4)
        _LOG.clear()
        for number, row in enumerate(steps):
            loop.admit(EdgeBatch.of(*([column] for column in row)), "s", number)
            assert loop.wait_idle()
            log.append([entry for entry in _LOG if entry[0] == 3])
            _LOG.clear()
        assert loop.statistics().missing_removals == 1
    first, *others = log
    assert first[-1] == (3, 1, 10, (2.0,))
    assert others == [
        [(3, 1, 10, (2.0, 5.0))],
        [(3, 1, 10, (5.0,))],
        [(3, 1, 10, (5.0, 7.0)), (3, 1, 10, (7.0,))],
        [(3, 1, None, ())],
        [],
        [(3, 1, 10, (4.0,))],
    ]


_LOG = []


@dataclass(frozen=True)
class Told(GeneralProgram):
    """Says ten times its id, and keeps a log of gathers."""

    def init(self, vertex):
        return vertex.id

    def gather(self, vertex, producer, value, weights):
        _LOG.append((vertex.id, producer, value, weights))
        return False

    def scatter(self, vertex):
        vertex.emit(10 * vertex.id)


def test_on_threads_branches_are_exact_while_batches_come():
    random, graph = Random(7), Graph()
    with Master(workers=3) as master:
        loop = master.start(Paths(0), "paths", delay_bound=4)
        branches = []
        for number, batch in enumerate(batches(random, vertices=40, records=600, size=20)):
            loop.admit(batch, "s", number)
            graph.apply(batch)
            if number % 3 == 0:
                branches.append((loop.fork(), graph.distances(0)))
        for branch, expected in branches:
            assert branch.wait(30)
            assert branch.state is BranchState.CONVERGED, branch.error
            assert values_of(branch.values()) == expected
            branch.release()
        assert loop.wait_idle(30)
        assert values_of(loop.approximation()) == graph.distances(0)


def chain(length):
    return EdgeBatch.of(list(range(length)), list(range(1, length + 1)))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_branch_can_be_capped_stopped_and_cancelled(workers):
    with engines(workers, 3) as master:
        loop = master.start(Paths(0, hops=1000), "paths", delay_bound=2)
        loop.admit(chain(60), "s", 1)
        capped = loop.fork({"source": 1}, max_iterations=5)
        assert capped.wait()
        assert capped.state is BranchState.STOPPED
        reached = np.isfinite(capped.values().arrays()[1])
        assert 1 <= reached.sum() <= 7
        assert capped.progress().iteration <= 5
        stopped = loop.fork({"source": 2})
        assert stopped.wait_cut()
        stopped.stop()
        assert stopped.wait()
        assert stopped.values().count() == 61
        cancelled = loop.fork({"source": 3})
        cancelled.cancel()
        assert cancelled.state is BranchState.CANCELLED
        exact = loop.fork({"source": 4})
        assert exact.wait()
        assert exact.state is BranchState.CONVERGED
        assert values_of(exact.values())[60] == 56


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("workers", [2, 3])
def test_no_branch_commits_above_its_cap_and_what_is_left_makes_it_not_converged(workers, bound):
    ends = Counter()
    for seed in range(6):
        print("seed", seed)
        random, graph = Random(seed), Graph()
        with engines(workers, seed) as master:
            loop = master.start(Paths(0, hops=12), "paths", delay_bound=bound)
            branches = []
            for number, batch in enumerate(batches(random, vertices=12, records=60, size=10, acyclic=False)):
                loop.admit(batch, "s", number)
                graph.apply(batch)
                master.engine.step(random.randrange(60))
                for source, most in ((None, random.randrange(4)), (3, random.randrange(9))):
                    fork = loop.fork({} if source is None else {"source": source}, max_iterations=most)
                    branches.append((fork, source is not None, most, graph.distances(source or 0)))
            for branch, is_fresh, most, expected in branches:
                assert branch.wait()
                last = most if is_fresh else branch.snapshot.iteration + most
                done = [row for part in branch.processors for row in part.history() if row[1]]
                assert max((row[0] for row in done), default=0) <= last
                assert branch.progress().iteration <= last
                if values_of(branch.values()) != expected:
                    assert branch.state is BranchState.STOPPED
                ends[branch.state] += 1
    assert ends[BranchState.STOPPED] and ends[BranchState.CONVERGED]


def test_statistics_and_iterations_count_what_was_done():
    with engines(2, 1) as master:
        loop = master.start(Paths(0), "paths", delay_bound=1)
        loop.admit(chain(10), "s", 1)
        assert loop.wait_idle()
        statistics = loop.statistics()
        assert (statistics.vertices, statistics.edges, statistics.admitted) == (11, 10, 10)
        assert statistics.updates >= 11
        assert sum(one.updates for one in loop.iterations(1000)) == statistics.updates
        assert statistics.iteration == loop.iterations()[-1].iteration


def test_an_answer_that_was_forgotten_fails_the_loop_and_says_so():
    with engines(1, 1) as master:
        loop = master.start(Forgetful(), "forgetful")
        loop.admit(chain(2), "s", 1)
        master.engine.step(50)
        with pytest.raises(InvalidArgument, match="gather returned None"):
            loop.fork()


def test_what_is_not_supported_is_said():
    with engines(1, 1) as master:
        loop = master.start(Paths(0), "paths")
        with pytest.raises(NotSupported, match="general program"):
            loop.checkpoint()
        with pytest.raises(NotSupported, match="general program"):
            loop.fork(at=3)
        with pytest.raises(InvalidArgument, match="delay bound 4"):
            master.start(Labels(), "labels", delay_bound=4)


@dataclass(frozen=True)
class Forgetful(Told):
    """Forgets to say whether it matters."""

    def gather(self, vertex, producer, value, weights):
        pass
