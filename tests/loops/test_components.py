"""Connected components: along both directions of edges, split by removals, beside other loops, with labels of 64 bits."""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from random import Random
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pytest

from apps.bfs import BreadthFirstSearch
from apps.connected_components import ConnectedComponents
from tornado import EdgeBatch
from tornado.engine import SimulationEngine
from tornado.errors import UnknownField
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.kinds.selective.kind import SelectiveKind
from tornado.loops import BranchState, Master, graph_of_now
from tornado.loops.edge_shares import batch_of, shares_of
from tornado.loops.journal import Journal
from tornado.loops.new_loop import NewLoop
from tornado.loops.stream_part import StreamPart
from tornado.storage import open_store
from tornado.testing import (
    EdgeHistory,
    EdgeList,
    chain,
    exact_components,
    exact_distances,
    mixed,
    random_multigraph,
)

TIMEOUT_S = 120
COMPONENTS = ConnectedComponents()
# All of 64 bits, next to each other where a float64 would not tell them apart.
WIDE = np.array([2**63 - 1, -(2**63), 2**53, 2**53 + 1, 2**62 + 1, 2**62, -(2**62) - 1, 0], np.int64)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Both programs, so that a loop is there at once where a stream runs."""
    with Master() as master:
        master.start(COMPONENTS, "components")
        master.start(BreadthFirstSearch(source=1), "hops")


def sparse(seed, vertices=400, edges=1500):
    """Records of a graph that falls apart and grows together: about as many edges as vertices, half of the records removals."""
    return mixed(random_multigraph(vertices, edges, seed=seed), seed=seed)


def labels_of(loop):
    branch = loop.fork()
    assert branch.wait(TIMEOUT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    ids, labels = branch.values().arrays()
    offset = branch.snapshot.offsets.get("edges", 0)
    branch.release()
    return ids, labels, offset


def judge(loop, history):
    ids, labels, offset = labels_of(loop)
    edges = history.at(offset)
    assert labels.dtype == np.int64
    wrong = labels != exact_components(edges).lookup(ids)
    assert not wrong.any(), (loop.name, offset, ids[wrong][:5], labels[wrong][:5])
    assert set(edges.ids()) <= set(ids)


def feed(stream, records, first, stop, batch=50):
    for begin in range(first, stop, batch):
        end = min(begin + batch, stop)
        stream.admit(records.slice(begin, end), "edges", end)


def test_the_oracle_says_what_networkx_says():
    edges = random_multigraph(200, 220, seed=4)
    graph = nx.Graph(list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)))
    found = exact_components(edges)
    assert len(set(found.labels)) > 5
    for component in nx.connected_components(graph):
        assert set(found.lookup(np.array(sorted(component)))) == {min(component)}


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("delay_bound", [1, 64, None])
def test_every_fork_is_exact_under_removals(workers, delay_bound):
    records = sparse(seed=7)
    history = EdgeHistory.of(records)
    with Master(workers=workers) as master:
        loop = master.start(COMPONENTS, "components", delay_bound)
        for first in range(0, len(records), 150):
            feed(loop, records, first, min(first + 150, len(records)))
            judge(loop, history)


@pytest.mark.parametrize("workers", [1, 2])
def test_labels_are_whole_numbers_of_64_bits(workers):
    src, dst = WIDE[[0, 2, 4, 6]], WIDE[[1, 3, 5, 7]]
    with Master(workers=workers) as master:
        loop = master.start(COMPONENTS, "components")
        loop.admit(EdgeBatch.of(src, dst), "edges", 4)
        ids, labels, _ = labels_of(loop)
        want = dict(
            zip(np.concatenate([src, dst]).tolist(), np.tile(np.minimum(src, dst), 2).tolist(), strict=True)
        )
        assert dict(zip(ids.tolist(), labels.tolist(), strict=True)) == want
        loop.admit(EdgeBatch.of(src[1:2], dst[1:2], op=-1), "edges", 5)
        ids, labels, _ = labels_of(loop)
        want[2**53 + 1] = 2**53 + 1
        assert dict(zip(ids.tolist(), labels.tolist(), strict=True)) == want


@pytest.mark.parametrize("workers", [1, 2])
def test_a_chain_that_is_cut_falls_in_two(workers):
    """The worst shape: whatever is behind the cut has to give its label up, one after another."""
    edges = chain(3000)
    with Master(workers=workers) as master:
        loop = master.start(COMPONENTS, "components")
        loop.admit(edges.records(), "edges", len(edges))
        cut = EdgeBatch.of(edges.src[1000:1001], edges.dst[1000:1001], op=-1)
        loop.admit(cut, "edges", len(edges) + 1)
        ids, labels, _ = labels_of(loop)
        left = EdgeList(np.delete(edges.src, 1000), np.delete(edges.dst, 1000), np.ones(len(edges) - 1))
        assert np.array_equal(labels, exact_components(left).lookup(ids))
        assert len(set(labels)) == 2


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_it_joins_a_stream_that_runs_and_leaves_it_again(workers):
    """The reverse lists are made of the graph as it is, and kept only as long as somebody hears along them."""
    records = sparse(seed=11, edges=3000)
    history = EdgeHistory.of(records)
    stop = len(records)
    with Master(workers=workers) as master:
        hops = master.start(BreadthFirstSearch(source=1), "hops")
        feed(hops, records, 0, stop // 4)
        alone = hops.statistics().memory_bytes
        first = master.start(COMPONENTS, "first", stream="hops")
        judge(first, history)
        feed(hops, records, stop // 4, stop // 2)
        second = master.start(COMPONENTS, "second", 1, stream="hops")
        for place in range(5):
            feed(hops, records, stop // 2 + place * 60, stop // 2 + (place + 1) * 60)
            judge(first, history)
            judge(second, history)
        master.remove("first")
        feed(hops, records, stop // 2 + 300, stop // 2 + 500)
        judge(second, history)
        master.remove("second")
        feed(hops, records, stop // 2 + 500, stop // 2 + 700)
        third = master.start(COMPONENTS, "third", stream="hops")
        feed(hops, records, stop // 2 + 700, stop)
        judge(third, history)
        branch = hops.fork()
        assert branch.wait(TIMEOUT_S)
        ids, values = branch.values().arrays()
        edges = history.at(stop)
        unweighted = EdgeList(edges.src, edges.dst, np.ones(len(edges)), edges.vertices)
        assert np.array_equal(values, exact_distances(unweighted, 1).lookup(ids))
        assert third.statistics().memory_bytes > alone


def test_a_snapshot_that_is_wanted_meanwhile_has_it_with_all_edges_or_not_at_all(monkeypatch):
    filled = graph_of_now.fill_reverse
    records = sparse(seed=12)
    with Master(workers=2) as master, ThreadPoolExecutor() as threads:
        hops = master.start(BreadthFirstSearch(source=1), "hops")
        feed(hops, records, 0, len(records))
        stored = []

        def fill(keeper, losses):
            stored.append(threads.submit(hops.checkpoint))
            wait(stored, 0.5)
            filled(keeper, losses)

        monkeypatch.setattr(graph_of_now, "fill_reverse", fill)
        components = master.start(COMPONENTS, "components", stream="hops")
        branch = components.fork(at=stored[0].result(TIMEOUT_S))
        assert branch.wait(TIMEOUT_S)
        ids, labels = branch.values().arrays()
        assert len(set(labels)) > 1
        edges = EdgeHistory.of(records).at(len(records))
        assert np.array_equal(labels, exact_components(edges).lookup(ids))


@pytest.mark.parametrize("workers", [1, 2])
def test_it_has_reverse_lists_of_its_own_where_those_it_was_to_hear_along_end(monkeypatch, workers):
    """Compiling takes long, and the loop that had the reverse lists may be removed meanwhile."""
    plan = SelectiveKind.plan
    records = sparse(seed=13)
    history = EdgeHistory.of(records)
    half = len(records) // 2
    with Master(workers=workers) as master:
        hops = master.start(BreadthFirstSearch(source=1), "hops")
        feed(hops, records, 0, half)
        master.start(COMPONENTS, "first", stream="hops")

        def plan_slowly(*arguments, **options):
            if "first" in master.loops:
                master.remove("first")
            return plan(*arguments, **options)

        monkeypatch.setattr(SelectiveKind, "plan", plan_slowly)
        second = master.start(COMPONENTS, "second", stream="hops")
        judge(second, history)
        feed(hops, records, half, len(records))
        judge(second, history)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("after", [0, 3])
def test_it_begins_also_where_the_loop_that_the_edges_are_read_through_is_removed_meanwhile(
    monkeypatch, workers, after
):
    read = graph_of_now.edges_of_now
    records = sparse(seed=14)
    history = EdgeHistory.of(records)
    half = len(records) // 2
    with Master(workers=workers) as master:
        first = master.start(BreadthFirstSearch(source=1), "first")
        hops = master.start(BreadthFirstSearch(source=2), "hops", stream="first")
        feed(first, records, 0, half)

        def read_until_it_is_removed(keeper):
            for page, edges in enumerate(read(keeper)):
                if page == after and keeper is first:
                    master.remove("first")
                    keeper.raise_failure()
                yield edges

        monkeypatch.setattr(graph_of_now, "edges_of_now", read_until_it_is_removed)
        components = master.start(COMPONENTS, "components", stream="first")
        judge(components, history)
        feed(hops, records, half, len(records))
        judge(components, history)
        assert sorted(master.loops) == ["components", "hops"]


def test_a_worker_fails_a_loop_that_comes_when_its_reverse_lists_are_gone():
    class Reader:
        branches = ()
        hears_back = 1
        failure = None

        def activate(self):
            pass

        def fail(self, error):
            self.failure = error

    part = StreamPart(PartitionMap.even(1), 0, lambda records: None)
    first, late = Reader(), Reader()
    part.join(first)
    part.let_go(first)
    part.join(late)
    assert first.failure is None
    assert "ended" in str(late.failure)


def test_records_count_once_where_a_loop_that_was_to_have_reverse_lists_is_refused():
    records = sparse(seed=14)
    half = len(records) // 2
    with TemporaryDirectory() as directory:
        for is_refused in (False, True):
            with open_store(f"lmdb://{directory}") as store, Master(store, workers=2) as master:
                if is_refused:
                    master.start(BreadthFirstSearch(source=1), "other", new_stream="components")
                beside = NewLoop(COMPONENTS, "components", on_refused=lambda error: None)
                hops = master.start(BreadthFirstSearch(source=1), "hops", beside=[beside])
                assert ("components" in master.loops) is not is_refused
                begin, end = (half, len(records)) if is_refused else (0, half)
                feed(hops, records, begin, end)
                hops.checkpoint()
                assert hops.wait_idle(TIMEOUT_S)
                assert hops.statistics().edges == len(EdgeHistory.of(records).at(end))


def test_reverse_lists_go_with_the_last_loop_that_hears_along_them():
    with Master() as master:
        hops = master.start(BreadthFirstSearch(source=1), "hops")
        hops.admit(random_multigraph(1000, 20_000, seed=1).records(), "edges", 20_000)
        assert hops.wait_idle(TIMEOUT_S)
        before = hops.statistics().memory_bytes
        components = master.start(COMPONENTS, "components", stream="hops")
        assert components.wait_idle(TIMEOUT_S)
        [part] = hops.parts()
        reverse = part.graph.columns.reverse
        assert reverse.any()
        with_reverse = hops.statistics().memory_bytes
        assert with_reverse > before  # though lists were slid together meanwhile
        master.remove("components")
        until_s = time.monotonic() + TIMEOUT_S
        while part.graph.columns.reverse.any():
            assert time.monotonic() < until_s
            hops.admit(EdgeBatch.of([1], [2]), "edges", 20_001)  # a step of the worker, in which it lets go
            assert hops.wait_idle(TIMEOUT_S)
        assert hops.statistics().memory_bytes < with_reverse - 20_000 * 24


def test_an_undirected_stream_needs_no_reverse_lists():
    edges = random_multigraph(300, 400, seed=2)
    both = EdgeBatch.of(np.concatenate([edges.src, edges.dst]), np.concatenate([edges.dst, edges.src]))
    sizes = {}
    for is_undirected in (False, True):
        with Master(workers=2) as master:
            loop = master.start(COMPONENTS, "components", is_undirected=is_undirected)
            loop.admit(both, "edges", len(both))
            ids, labels, _ = labels_of(loop)
            assert np.array_equal(labels, exact_components(edges).lookup(ids))
            sizes[is_undirected] = sum(part.statistics().size_bytes for part in loop.parts())
    assert sizes[True] < sizes[False]


def test_records_that_replace_edges_replace_them_both_ways():
    with Master(workers=2) as master:
        loop = master.start(COMPONENTS, "components")
        loop.admit(EdgeBatch.of([1, 1, 1, 2], [2, 2, 2, 3]), "edges", 4)
        loop.admit(EdgeBatch.of([1], [2], op=2), "edges", 5)
        loop.admit(EdgeBatch.of([1], [2], op=-1), "edges", 6)
        ids, labels, _ = labels_of(loop)
        assert dict(zip(ids.tolist(), labels.tolist(), strict=True)) == {1: 1, 2: 2, 3: 2}


def test_a_stopped_branch_says_on_which_side_its_labels_are():
    assert COMPONENTS.stopped_side == "upper"


def test_parameters_that_it_does_not_have_are_refused():
    with Master() as master:
        loop = master.start(COMPONENTS, "components")
        with pytest.raises(UnknownField, match="no parameter 'source'"):
            loop.fork({"source": 3})


def test_a_journal_is_shared_out_anew_for_both_directions():
    """What is gone through again after a loss has to fill the reverse lists too, also what came before there were any."""
    with Master(workers=3) as master:
        partition = master.start(COMPONENTS, "components").partition
        batch = sparse(seed=3).slice(0, 400)
        journal = Journal()
        journal.add(1, shares_of(batch, partition))
        journal.share_again(
            lambda entry: shares_of(entry, partition, both_ways=True), partition, all_of_them=False
        )
        [(version, shares)] = journal.replay(until=1, points=None)
        want = shares_of(batch, partition, both_ways=True)
        assert version == 1
        for share, expected in zip(shares, want, strict=True):
            found = sorted(zip(share.batch.src, share.batch.dst, share.batch.op, strict=True))
            assert found == sorted(
                zip(expected.batch.src, expected.batch.dst, expected.batch.op, strict=True)
            )
        assert len(batch_of(shares_of(batch, partition), partition)) >= len(batch)
        assert journal.records == sum(share.records for share in shares)


@pytest.mark.parametrize("seed", range(20))
def test_any_schedule_of_workers_and_messages_ends_with_the_components(seed):
    rng = Random(seed)
    workers, delay_bound = rng.choice([1, 2, 3, 5]), rng.choice([1, 2, 8, None])
    records = sparse(seed, vertices=12, edges=120)
    history = EdgeHistory.of(records)
    engine = SimulationEngine(workers, seed=seed)
    forks = []
    with Master(workers=workers, engine=engine) as master:
        hops = master.start(BreadthFirstSearch(source=1), "hops", delay_bound)
        loop = None
        for first in range(0, len(records), 10):
            batch = records.slice(first, min(first + 10, len(records)))
            hops.admit(batch, "edges", first + len(batch))
            engine.step(rng.choice([0, 3, 40]))
            if first == 20 * (seed % 3):
                loop = master.start(COMPONENTS, "components", delay_bound, stream="hops")
            if loop is not None and rng.random() < 0.5:
                forks.append(loop.fork())
        for branch in forks:
            assert branch.wait(TIMEOUT_S)
            ids, labels = branch.values().arrays()
            edges = history.at(branch.snapshot.offsets.get("edges", 0))
            assert np.array_equal(labels, exact_components(edges).lookup(ids)), branch.snapshot
    assert forks


def test_graph_reads_no_reverse_lists_that_are_gone():
    """Shares that were made for reverse lists may still come when these have gone."""
    with Master(workers=2) as master:
        partition = master.start(COMPONENTS, "components").partition
    graph = EvolvingGraph(partition, 0)
    graph.begin_reverse()
    batch = sparse(seed=5).slice(0, 300)
    share = shares_of(batch, partition, both_ways=True)[0]
    columns = (share.batch.src, share.batch.dst, share.batch.weight, share.batch.op)
    assert graph.apply(*columns, 0, 150) == 150
    graph.end_reverse()
    assert graph.apply(*columns, 150, len(share.batch.src), is_both_ways=share.is_both_ways) == len(
        share.batch.src
    )
    alone = EvolvingGraph(partition, 0)
    own = shares_of(batch, partition)[0]
    alone.apply(own.batch.src, own.batch.dst, own.batch.weight, own.batch.op, 0, len(own.batch.src))
    found, want = graph.edges(), alone.edges()
    assert sorted(zip(found[0], found[1], strict=True)) == sorted(zip(want[0], want[1], strict=True))
