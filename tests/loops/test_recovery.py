"""A main loop that begins where a stored snapshot ended: converged, exact, and none of its input is lost or there twice."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tests.loops.lowest import Lowest
from tests.loops.snapshot_writer import SOURCE, stream
from tests.loops.test_general_programs import Paths
from tornado import EdgeBatch
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument, StoreCorrupt
from tornado.loops import BranchState, Master, stored_snapshot
from tornado.records.operations import REMOVE
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory, batches, exact_distances, mixed, random_multigraph

NAME = "roads"
WAIT_S = 60


@dataclass(frozen=True)
class Bargains(ShortestPaths):
    """Takes negative weights."""

    def check(self, batch):
        return np.zeros(len(batch), np.bool_), ""


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(stored_snapshot, "PAGE_VERTICES", 16)


def started(master, program=None, delay_bound=64):
    return master.start(program or ShortestPaths(source=SOURCE), NAME, delay_bound)


def feed(loop, records, first, last, size=100):
    """Admit records `first` to `last` of a stream, the offset of which is their place."""
    offset = first
    for batch in batches(records.slice(first, last), size):
        offset += len(batch)
        loop.admit(batch, "edges", offset)
    return offset


def judge(values, records, prefix, source=SOURCE):
    ids, found = values.arrays()
    named = np.unique(np.concatenate([records.src[:prefix], records.dst[:prefix]]))
    assert ids.tolist() == named.tolist()
    assert found.tolist() == exact_distances(EdgeHistory.of(records).at(prefix), source).lookup(ids).tolist()


def judge_branch(loop, records, prefix, source=SOURCE, **fork):
    branch = loop.fork(**fork)
    assert branch.wait(WAIT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    judge(branch.values(), records, prefix, source)
    branch.release()
    return branch.snapshot


@pytest.mark.parametrize(
    ("before", "after", "delay_bound"),
    [(1, 1, 64), (1, 3, 1), (3, 1, 1), (2, 4, None), (4, 2, 64), (2, 2, 1), (2, 2, 4)],
)
def test_a_loop_goes_on_from_its_newest_snapshot_on_any_number_of_workers(
    before, after, delay_bound, small_pages
):
    store, records = MemoryStore(), stream()
    with Master(store, before) as master:
        loop = started(master, delay_bound=delay_bound)
        feed(loop, records, 0, 1000)
        loop.checkpoint()
        feed(loop, records, 1000, 2500)
        version = loop.checkpoint()
        feed(loop, records, 2500, 2800)  # lost with the process
    with Master(store, after) as master:
        loop = started(master, delay_bound=delay_bound)
        assert (loop.restored.snapshot.version, loop.restored.is_converged) == (version, True)
        assert loop.offsets() == {"edges": 2500}
        statistics = loop.statistics()
        assert (statistics.version, statistics.updates, statistics.pending) == (version, 0, 0)
        assert statistics.edges == len(EdgeHistory.of(records).at(2500))
        judge(loop.approximation(), records, 2500)
        assert judge_branch(loop, records, 2500).version == version
        judge_branch(loop, records, 2500, source=5, parameters={"source": 5})
        # Removals of edges that were stored, among them parallel ones, the oldest first.
        for last in range(2600, 4001, 200):
            feed(loop, records, int(loop.offsets()["edges"]), last)
            judge_branch(loop, records, last)
        assert loop.wait_idle(WAIT_S)
        judge(loop.approximation(), records, 4000)
        assert loop.statistics().edges == len(EdgeHistory.of(records).at(4000))


def test_many_restarts_with_a_little_input_between_lose_nothing(small_pages):
    store, records = MemoryStore(), stream()
    offset = 0
    for round_ in range(12):
        with Master(store, 1 + round_ % 3) as master:
            loop = started(master)
            assert loop.offsets().get("edges", 0) == offset
            offset = feed(loop, records, offset, offset + 300)
            judge_branch(loop, records, offset)
            version = loop.checkpoint()
            assert version == loop.statistics().version
    assert [found.offsets["edges"] for found in loop.snapshots()] == list(range(300, 3601, 300))


def test_an_empty_snapshot_is_gone_on_from_too():
    store = MemoryStore()
    with Master(store, 2) as master:
        started(master).checkpoint()
    with Master(store, 2) as master:
        loop = started(master)
        assert loop.restored.snapshot.offsets == {}
        feed(loop, stream(), 0, 500)
        judge_branch(loop, stream(), 500)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_program_in_which_every_vertex_begins_with_a_value_is_converged_too(workers):
    store = MemoryStore()
    records = random_multigraph(300, 700, seed=4).records()
    answers = []
    for _ in range(2):
        with Master(store, workers) as master:
            loop = started(master, Lowest())
            if loop.restored is None:
                feed(loop, records, 0, len(records))
            else:
                assert (loop.statistics().updates, loop.statistics().pending) == (0, 0)
            loop.admit(EdgeBatch.of([-1], [7]), "more", 1)
            branch = loop.fork()
            assert branch.wait(WAIT_S)
            answers.append([column.tolist() for column in branch.values().arrays()])
            if loop.restored is None:
                loop.admit(EdgeBatch.of([-1], [7], op=-1, weight=[math.nan]), "more", 2)
                loop.checkpoint()
    assert answers[0] == answers[1]
    assert -1.0 in answers[0][1]


def test_a_program_with_other_parameters_takes_the_graph_and_computes_anew():
    store, records = MemoryStore(), stream()
    with Master(store, 2) as master:
        loop = started(master)
        feed(loop, records, 0, 2000)
        first = loop.checkpoint()
    with Master(store, 2) as master:
        loop = started(master, ShortestPaths(source=5))
        restored = loop.restored
        assert (restored.is_converged, restored.program) == (False, "ShortestPaths(source=1)")
        assert loop.offsets() == {"edges": 2000}
        assert loop.wait_idle(WAIT_S)
        judge(loop.approximation(), records, 2000, source=5)
        second = loop.checkpoint()
        assert second > first
        judge_branch(loop, records, 2000, source=5, at=second)
        judge_branch(loop, records, 2000, at=first, parameters={"source": SOURCE})
    with Master(store, 1) as master:
        loop = started(master, ShortestPaths(source=5))
        assert (loop.restored.is_converged, loop.statistics().updates) == (True, 0)
        feed(loop, records, 2000, 4000)
        judge_branch(loop, records, 4000, source=5)


def test_a_program_that_cannot_take_what_is_stored_is_refused_and_the_master_goes_on():
    store = MemoryStore()
    with Master(store) as master:
        loop = started(master, Bargains(source=1))
        loop.admit(EdgeBatch.of([1, 2], [2, 3], [4.0, -1.0]), "edges", 2)
        version = loop.checkpoint()
    with Master(store, 2) as master:
        with pytest.raises(InvalidArgument) as refused:
            started(master)
        assert f"snapshot of version {version}, which Bargains(source=1) left" in refused.value.message
        assert "2 -> 3, weight -1.0" in refused.value.message
        with pytest.raises(InvalidArgument, match="Paths is a general program"):
            master.start(Paths(0), NAME)
        assert list(master.loops) == []
        other = master.start(ShortestPaths(source=SOURCE), "other")
        feed(other, stream(), 0, 500)
        judge_branch(other, stream(), 500)
        assert started(master, Bargains(source=1)).restored.is_converged


def test_several_loops_of_one_store_each_go_on_from_their_own():
    store, records = MemoryStore(), stream()
    names = ["a", "b", "c"]
    for turn in range(3):
        with Master(store, 2) as master:
            for place, name in enumerate(names):
                loop = master.start(ShortestPaths(source=place), name)
                assert loop.offsets().get("edges", 0) == turn * (place + 1) * 100
                feed(loop, records, turn * (place + 1) * 100, (turn + 1) * (place + 1) * 100)
            for place, loop in enumerate(master.loops.values()):
                judge_branch(loop, records, (turn + 1) * (place + 1) * 100, source=place)
                loop.checkpoint()


def test_the_oldest_of_parallel_edges_is_still_the_oldest():
    store = MemoryStore()
    with Master(store, 2) as master:
        loop = started(master)
        loop.admit(EdgeBatch.of([1, 1, 1], [2, 2, 2], [5.0, 3.0, 4.0]), "edges", 3)
        loop.checkpoint()
    with Master(store, 1) as master:
        loop = started(master)
        for left in (3.0, 4.0, math.inf):
            loop.admit(EdgeBatch.of([1], [2], [math.nan], op=-1), "edges", 4)
            branch = loop.fork()
            assert branch.wait(WAIT_S)
            assert branch.values().lookup(np.array([2]))[0].tolist() == [left]


@pytest.mark.parametrize("damage", ["twice", "no edge"])
def test_a_snapshot_that_contradicts_itself_is_corrupt_and_nothing_begins_with_it(damage):
    store = MemoryStore()
    with Master(store) as master:
        loop = started(master)
        feed(loop, stream(), 0, 500)
        version = loop.checkpoint()
    metadata = store.metadata(NAME, version)
    if damage == "twice":
        [ids] = store.scan(NAME, version, b"v/")
        [own] = store.scan(NAME, version, b"l/")
        half = len(own[1]) // 2  # values, then parents
        changed = {ids[0]: ids[1] * 2, own[0]: own[1][:half] * 2 + own[1][half:] * 2}
    else:
        [(key, page)] = store.scan(NAME, version, b"e/")
        changed = {key: page[:8]}  # the types of its columns, and no edge
    store.write(NAME, version, changed, metadata=metadata)
    with Master(store, 2) as master:
        with pytest.raises(StoreCorrupt, match=r"different ones|no edge is stored"):
            started(master)
        assert list(master.loops) == []


def test_older_snapshots_are_forgotten_but_for_those_in_use():
    store, records = MemoryStore(), stream()
    with Master(store) as master:
        loop = started(master)
        assert loop.trim_snapshots(keep=2) is None
        versions = []
        for number in range(6):
            feed(loop, records, number * 100, number * 100 + 100)
            versions.append(loop.checkpoint())
        assert loop.trim_snapshots(keep=2, in_use=[versions[1], 999]).version == versions[1]
        assert [found.version for found in loop.snapshots()] == versions[1:]
        with loop.stream.stored.reading(versions[3]):
            assert loop.trim_snapshots(keep=1).version == versions[3]
        assert loop.trim_snapshots(keep=1).offsets == {"edges": 600}
        assert [found.version for found in loop.snapshots()] == versions[5:]
        judge_branch(loop, records, 600, at=versions[5])
        with pytest.raises(InvalidArgument, match=f"stored versions: {versions[5]}"):
            loop.fork(at=versions[4])


@pytest.mark.parametrize(("records_between", "left"), [(1, 3), (16_000, 1)])
def test_snapshots_beyond_the_newest_stay_while_they_and_the_log_between_them_take_little_room(
    monkeypatch, records_between, left
):
    monkeypatch.setattr(stored_snapshot, "_SPARED_BYTES", 30_000)
    with Master(KeptStore(), 1) as master:
        loop = started(master)
        for number in range(1, 4):
            nothing = np.full(records_between, REMOVE, np.int8)  # of none: the graph stays as small as it is
            ends = np.full(records_between, SOURCE)
            loop.admit(EdgeBatch.of([SOURCE], [number]), "edges", 2 * number)
            loop.admit(EdgeBatch.of(ends, ends, None, nothing), "edges", 2 * number + 1)
            loop.checkpoint()
        loop.stream.trim_snapshots(keep=9, sparing=True)
        assert len(loop.snapshots()) == left


def test_what_a_snapshot_counts_on_is_made_durable_when_its_cut_is_known_and_before_it_is_written():
    store, seen = MemoryStore(), []
    with Master(store) as master:
        loop = started(master)
        feed(loop, stream(), 0, 500)
        version = loop.checkpoint(before_write=lambda: seen.append(store.versions(NAME)))
        assert seen == [[]]
        assert loop.checkpoint(before_write=lambda: seen.append(None)) == version
        assert seen == [[]]  # nothing new: nothing is written
        loop.admit(EdgeBatch.of([1], [2]), "edges", 501)
        with pytest.raises(ZeroDivisionError):
            loop.checkpoint(before_write=lambda: 1 / 0)
        assert store.versions(NAME) == [version]


@pytest.mark.parametrize("seed", range(20))
def test_every_interleaving_goes_on_exactly(seed):
    records = mixed(random_multigraph(30, 160, seed=seed), seed=seed)
    bound = [1, 4, 64, None][seed % 4]
    store, offset = MemoryStore(), 0
    for turn in range(4):
        workers = 1 + (seed + turn) % 4
        engine = SimulationEngine(workers, seed=seed * 10 + turn)
        with Master(store, workers, engine=engine) as master:
            loop = started(master, delay_bound=bound)
            assert loop.offsets().get("edges", 0) == offset
            assert loop.statistics().updates == 0
            offset = feed(loop, records, offset, offset + 40, size=13)
            engine.step(int(np.random.default_rng(seed).integers(40)))
            loop.checkpoint()
            feed(loop, records, offset, offset + 20, size=7)  # lost
            judge_branch(loop, records, offset + 20)
