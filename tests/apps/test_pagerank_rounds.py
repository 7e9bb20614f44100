"""PageRank by rounds as LDBC Graphalytics defines it, against twins that know nothing of loops, while edges come and go."""

from random import Random

import numpy as np
import pytest

import tornado
from apps.label_propagation import LabelPropagation
from apps.pagerank_rounds import PageRankRounds
from tests.kinds.conformance import WAIT_S, Prefix, values_of
from tests.kinds.rounds.changes import batch_of, changes
from tests.kinds.rounds.naive import pageranks, pageranks_by_arrays
from tests.loops.streaming import TIMEOUT_S
from tornado.certificate import EXACT
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument
from tornado.kinds.rounds import branch_processor, main_processor, processor
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory, mixed, random_multigraph, rmat

# Sums of floats, in one order here and in another there.
CLOSE = 1e-13


def check(values, expected):
    found = values_of(values)
    assert found.keys() == expected.keys()
    assert sum(abs(found[vertex] - expected[vertex]) for vertex in expected) <= CLOSE
    if expected:
        assert abs(sum(found.values()) - 1.0) <= CLOSE


class Fed:
    """A loop that is fed, and what is right after each version."""

    def __init__(self, master, program, name="ranks", **options):
        self.program, self.prefix, self.offset = program, Prefix(), 0
        self.loop = master.start(program, name, **options)
        self.expected = {0: {}}

    def admit(self, batch):
        self.offset += len(batch)
        version = self.loop.admit(batch, "records", self.offset)
        self.prefix.apply(batch)
        self.expected[version] = self.ranks()

    def ranks(self, damping=None):
        program, prefix = self.program, self.prefix
        damping = program.damping if damping is None else damping
        return pageranks(prefix.edges, prefix.vertices, program.rounds, damping)

    def check_branch(self, branch):
        assert branch.wait(WAIT_S)
        assert (branch.state, branch.certificate) == (BranchState.CONVERGED, EXACT), branch.error
        check(branch.values(), self.expected[branch.snapshot.version])
        branch.release()

    def check_main(self):
        assert self.loop.wait_idle(WAIT_S)
        check(self.loop.approximation(), self.expected[max(self.expected)])


def test_both_twins_say_the_same():
    for seed in range(5):
        edges = random_multigraph(30, 60, seed=seed)
        ids = np.unique(np.concatenate([edges.src, edges.dst]))
        weights = {}
        for ends in zip(edges.src.tolist(), edges.dst.tolist(), strict=True):
            weights.setdefault(ends, []).append(1.0)
        plain = pageranks(weights, ids.tolist(), 7)
        arrays = pageranks_by_arrays(edges.src, edges.dst, ids, 7)
        assert np.allclose([plain[vertex] for vertex in ids.tolist()], arrays, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("rounds", [1, 2, 10])
def test_ranks_are_those_of_the_twin_in_branches_and_at_rest(workers, rounds):
    with Master(workers=workers) as master:
        fed, forked = Fed(master, PageRankRounds(rounds=rounds)), []
        forked.append(fed.loop.fork())
        for batch in changes(workers, batches=20):
            fed.admit(batch)
            forked.append(fed.loop.fork())
        # Vertices without edges share with everybody.
        fed.admit(EdgeBatch.mentions(np.array([500, 501, 502])))
        forked.append(fed.loop.fork())
        for branch in forked:
            fed.check_branch(branch)
        fed.check_main()


@pytest.mark.parametrize("seed", range(16))
def test_so_they_are_under_any_schedule_with_little_fuel(seed, monkeypatch):
    random = Random(seed)
    for module in (processor, main_processor, branch_processor):
        monkeypatch.setattr(module, "FUEL", random.choice([2, 9, 60, 1 << 15]))
    workers = random.choice([2, 3, 4])
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        fed, forked = Fed(master, PageRankRounds(rounds=random.randint(1, 4))), []
        for batch in changes(seed, batches=8, size=6, ids=range(8)):
            fed.admit(batch)
            master.engine.step(random.randrange(60))
            if random.random() < 0.7:
                forked.append(fed.loop.fork())
            master.engine.step(random.randrange(60))
        for branch in forked:
            fed.check_branch(branch)
        fed.check_main()


@pytest.mark.parametrize(("workers", "engine"), [(1, "threads"), (3, "threads"), (2, "processes")])
def test_a_larger_graph_is_right_while_its_edges_come_and_go(workers, engine):
    records = mixed(rmat(10, seed=2), seed=3)
    history = EdgeHistory.of(records)
    with Master(None, workers, engine) as master:
        loop, branches = master.start(PageRankRounds(rounds=8), "ranks"), []
        for first in range(0, len(records), 6000):
            batch = records.slice(first, min(first + 6000, len(records)))
            loop.admit(batch, "stream", first + len(batch))
            branches.append(loop.fork())
        for branch in branches:
            assert branch.wait(TIMEOUT_S)
            prefix = branch.snapshot.offsets["stream"]
            edges, (ids, found) = history.at(prefix), branch.values().arrays()
            assert np.array_equal(
                ids, np.unique(np.concatenate([records.src[:prefix], records.dst[:prefix]]))
            )
            assert np.abs(found - pageranks_by_arrays(edges.src, edges.dst, ids, 8)).sum() <= CLOSE
            branch.release()


def test_a_damping_is_a_parameter_of_a_question_and_rounds_are_not():
    with Master(workers=2) as master:
        fed = Fed(master, PageRankRounds(rounds=5))
        for batch in changes(3):
            fed.admit(batch)
        for damping in (0.0, 0.5, 0.99):
            branch = fed.loop.fork({"damping": damping})
            assert branch.wait(WAIT_S)
            check(branch.values(), fed.ranks(damping))
            branch.release()
        with pytest.raises(InvalidArgument, match="'rounds' of PageRankRounds is fixed"):
            fed.loop.fork({"rounds": 5})
        for damping in (1.0, -0.1, float("nan")):
            with pytest.raises(
                InvalidArgument, match=r"damping is .* but must be at least 0 and less than 1"
            ):
                fed.loop.fork({"damping": damping})
            with pytest.raises(
                InvalidArgument, match=r"damping is .* but must be at least 0 and less than 1"
            ):
                master.start(PageRankRounds(damping=damping), "refused")
        for bound in (64, None):
            with pytest.raises(InvalidArgument, match="1 only"):
                master.start(PageRankRounds(), "refused", bound)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_loop_goes_on_from_what_is_stored_and_beside_others(workers):
    store, batches = MemoryStore(), changes(9, batches=20)
    with Master(store, 2) as master:
        fed = Fed(master, PageRankRounds(rounds=6))
        for batch in batches[:8]:
            fed.admit(batch)
        beside = master.start(LabelPropagation(rounds=2), "labels", stream="ranks")
        for batch in batches[8:12]:
            fed.admit(batch)
        stored = fed.loop.checkpoint()
        assert beside.wait_idle(WAIT_S)
    with Master(store, workers) as master:
        fed.loop = master.start(PageRankRounds(rounds=6), "ranks")
        assert fed.loop.restored.is_converged
        assert (fed.loop.statistics().pending, fed.loop.statistics().updates) == (0, 0)
        fed.check_main()
        branch = fed.loop.fork(at=stored)
        check(branch.values(), fed.expected[stored])
        for batch in batches[12:]:
            fed.admit(batch)
        fed.check_branch(fed.loop.fork())
        fed.check_main()


def test_one_that_is_started_on_a_stream_that_runs_counts_the_edges_that_are_there():
    with Master(workers=3) as master:
        first = master.start(LabelPropagation(rounds=1), "labels")
        prefix, offset = Prefix(), 0
        stream = changes(11, batches=12, size=20)
        for number, batch in enumerate(stream):
            offset += len(batch)
            first.admit(batch, "records", offset)
            prefix.apply(batch)
            if number == 5:
                ranks = master.start(PageRankRounds(rounds=4), "ranks", stream="labels")
        branch = ranks.fork()
        assert branch.wait(WAIT_S)
        check(branch.values(), pageranks(prefix.edges, prefix.vertices, 4))


def test_a_session_says_the_highest_and_on_an_undirected_stream_each_edge_goes_both_ways():
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRankRounds(rounds=3), name="ranks", undirected=True)
        ranks.insert([1, 1, 1, 2], [2, 3, 4, 3])
        edges = {}
        for source, target in ((1, 2), (1, 3), (1, 4), (2, 3)):
            edges |= {(source, target): [1.0], (target, source): [1.0]}
        expected = pageranks(edges, {1, 2, 3, 4}, 3)
        answer = ranks.query(top=1)
        [(vertex, value)] = answer.values.items()
        assert vertex == 1
        assert value == pytest.approx(expected[1], rel=1e-13)


def test_where_every_edge_goes_everybody_keeps_what_they_have():
    with Master(workers=2) as master:
        fed = Fed(master, PageRankRounds(rounds=4))
        fed.admit(batch_of([(1, 2, 1.0, INSERT), (2, 3, 1.0, INSERT), (2, 2, 1.0, INSERT)]))
        fed.check_main()
        fed.admit(batch_of([(1, 2, 1.0, REMOVE), (2, 3, 1.0, REMOVE), (2, 2, 1.0, REMOVE)]))
        fed.check_main()
        assert values_of(fed.loop.approximation()) == {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}
