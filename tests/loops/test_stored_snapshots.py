"""Snapshots in a store: exact for their prefix whoever reads them, whatever fails while they are written."""

import gc
import json
import subprocess
import sys
import threading
import weakref
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.loops.snapshot_writer import SOURCE, stream
from tests.promised import eventually
from tests.shortened import shortened
from tornado import EdgeBatch
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument, StoreCorrupt, StoreFull
from tornado.kinds.selective.kind import KIND
from tornado.loops import BranchState, Master, stored_snapshot
from tornado.loops import master as master_module
from tornado.loops.stored_loop import StoredLoop
from tornado.loops.stored_snapshot import StoredSnapshots
from tornado.loops.values import ColumnValues, Values
from tornado.storage import MemoryStore, open_store
from tornado.testing import EdgeHistory, GraphModel, batches, exact_distances, mixed, random_multigraph

ROOT = Path(__file__).resolve().parents[2]
NAME = "roads"
WAIT_S = 60


@pytest.fixture(params=["memory", "lmdb"])
def reopen(request, tmp_path):
    """Open the same store again and again; what is durable is closed in between."""
    opened = []

    def again():
        if request.param == "memory":
            opened[:] = opened or [MemoryStore()]
        else:
            for store in opened:
                store.close()
            opened[:] = [open_store(f"lmdb://{tmp_path}/store")]
        return opened[0]

    yield again
    for store in opened:
        store.close()


@pytest.fixture
def small_pages(monkeypatch):
    """So small that little graphs have many pages."""
    monkeypatch.setattr(stored_snapshot, "PAGE_VERTICES", 16)


def started(master, source=SOURCE, delay_bound=64):
    return master.start(ShortestPaths(source=source), NAME, delay_bound)


def feed(loop, records, size=200, after=0):
    offset = after
    for batch in batches(records, size):
        offset += len(batch)
        loop.admit(batch, "edges", offset)
    return offset


def judge(branch, records, prefix, source=SOURCE):
    """The branch has the distances of exactly this prefix, for every vertex that was ever named in it."""
    assert branch.wait(WAIT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    ids, values = branch.values().arrays()
    named = np.unique(np.concatenate([records.src[:prefix], records.dst[:prefix]]))
    assert ids.tolist() == named.tolist()
    expected = exact_distances(EdgeHistory.of(records).at(prefix), source).lookup(ids)
    assert values.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("writers", "readers", "delay_bound"),
    [(1, 2, 64), (2, 4, 1), (4, 1, None), (2, 2, 4), (1, 4, 1), (4, 2, 64)],
)
def test_a_snapshot_written_by_some_workers_is_exact_for_any_number_of_others(
    reopen, writers, readers, delay_bound, small_pages
):
    records = stream()
    stored = {}
    with Master(reopen(), writers) as master:
        loop = started(master, delay_bound=delay_bound)
        feeder = threading.Thread(target=feed, args=(loop, records))
        feeder.start()
        while feeder.is_alive() or not stored:
            version = loop.checkpoint()
            stored[version] = loop.snapshots()[-1].offsets.get("edges", 0)
        feeder.join()
        stored[loop.checkpoint()] = len(records)
        for version, prefix in stored.items():
            judge(loop.fork(at=version), records, prefix)
    more = stream(seed=8)
    with Master(reopen(), readers) as master:
        loop = started(master, delay_bound=delay_bound)
        feeder = threading.Thread(target=feed, args=(loop, more), kwargs={"after": len(records)})
        feeder.start()
        assert {found.version: found.offsets.get("edges", 0) for found in loop.snapshots()} == stored
        for version, prefix in list(stored.items())[:: max(1, len(stored) // 4)]:
            judge(loop.fork(at=version), records, prefix)
            judge(loop.fork({"source": 5}, at=version), records, prefix, source=5)
        feeder.join()
        judge(loop.fork(), EdgeBatch.concat([records, more]), len(records) + len(more))


def test_a_snapshot_outlives_the_kill_of_its_process(tmp_path):
    url = f"lmdb://{tmp_path}/store"
    command = [sys.executable, "-m", "tests.loops.snapshot_writer", "store", url, "2", "5"]
    stored = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as writer:
        for line in writer.stdout:
            if line == "done\n":
                break
            version, offset = json.loads(line)
            stored[version] = offset
        writer.kill()
    assert len(stored) == 5
    with open_store(url) as store, Master(store, 4) as master:
        loop = started(master)
        assert {found.version: found.offsets["edges"] for found in loop.snapshots()} == stored
        for version, prefix in stored.items():
            judge(loop.fork(at=version), stream(), prefix)
            judge(loop.fork({"source": 3}, at=version), stream(), prefix, source=3)


def test_a_restarted_loop_counts_versions_on_and_overwrites_nothing(reopen):
    records = stream()
    with Master(reopen()) as master:
        loop = started(master)
        prefix = feed(loop, records.slice(0, 1000))
        first = loop.checkpoint()
    with Master(reopen()) as master:
        loop = started(master)
        assert loop.checkpoint() == first
        feed(loop, records.slice(1000, len(records)), after=prefix)
        last = loop.checkpoint()
        assert first < last
        assert [found.version for found in loop.snapshots()] == [first, last]
        judge(loop.fork(at=first), records, prefix)
        judge(loop.fork(at=last), records, len(records))
        judge(loop.fork({"source": 2}, at=first), records, prefix, source=2)


def test_the_branch_of_a_stored_snapshot_names_it():
    with Master(workers=2) as master:
        loop = started(master, delay_bound=4)
        feed(loop, stream())
        assert loop.wait_idle(WAIT_S)
        version = loop.checkpoint()
        [snapshot] = loop.snapshots()
        assert snapshot.version == version
        assert snapshot.offsets == {"edges": len(stream())}
        assert snapshot.delay_bound == 4
        assert snapshot.iteration == loop.statistics().iteration > 0
        loop.admit(EdgeBatch.of([1], [2], [0.5]), "http", 1)
        for parameters in ({}, {"source": 9}):
            branch = loop.fork(parameters, at=version)
            assert branch.wait_cut(WAIT_S)
            assert branch.wait(WAIT_S)
            assert branch.snapshot == snapshot
        assert loop.fork(at=version).progress().iteration == snapshot.iteration


def test_an_unknown_version_is_refused_and_the_stored_ones_are_listed():
    with Master() as master:
        loop = started(master)
        with pytest.raises(InvalidArgument, match=r"at is 3.*stored versions: none"):
            loop.fork(at=3)
        stored = []
        for number in range(3):
            loop.admit(EdgeBatch.of([1], [number]), "edges", number + 1)
            stored.append(loop.checkpoint())
        with pytest.raises(InvalidArgument, match=r"at is 0.*stored versions: 1, 2, 3"):
            loop.fork(at=0)
        with pytest.raises(InvalidArgument, match="at is 99"):
            loop.fork({"source": 4}, at=99)
        assert stored == [1, 2, 3]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_oldest_of_parallel_edges_is_stored_first(workers, small_pages):
    records = mixed(random_multigraph(12, 600, seed=3), seed=3)
    model = GraphModel()
    model.apply(records)
    with Master(workers=workers) as master:
        loop = started(master)
        feed(loop, records, size=50)
        edges = StoredSnapshots(master.store, NAME).find(loop.checkpoint()).edges()
    given = model.edges()
    assert by_ends(edges.sources, edges.targets, edges.weights) == by_ends(given.src, given.dst, given.weight)


def by_ends(sources, targets, weights):
    found = defaultdict(list)
    for source, target, weight in zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True):
        found[source, target].append(weight)
    return found


@pytest.mark.parametrize("workers", [1, 4])
def test_every_stored_value_is_an_offer_of_its_stored_parent(workers):
    with Master(workers=workers) as master:
        loop = started(master)
        feed(loop, stream())
        stored = StoredSnapshots(master.store, NAME).find(loop.checkpoint())
        vertices, edges = stored.vertices(), stored.edges()
    value = dict(zip(vertices.ids.tolist(), vertices.values.tolist(), strict=True))
    weights = by_ends(edges.sources, edges.targets, edges.weights)
    for vertex, parent in zip(vertices.ids.tolist(), vertices.columns["parents"].tolist(), strict=True):
        if parent == vertex:
            assert value[vertex] == (0.0 if vertex == SOURCE else np.inf)
        else:
            assert value[vertex] in [value[parent] + weight for weight in weights[parent, vertex]]


def test_vertices_that_have_lost_every_edge_stay_known():
    with Master(workers=2) as master:
        loop = started(master)
        loop.admit(EdgeBatch.of([1, 2, -7], [2, 3, 8], [1.0, 1.0, 2.0]), "edges", 3)
        loop.admit(EdgeBatch.of([2, -7], [3, 8], op=-1, weight=[np.nan, np.nan]), "edges", 5)
        version = loop.checkpoint()
        for branch, expected in (
            (loop.fork(at=version), [np.inf, 0.0, 1.0, np.inf, np.inf]),
            (loop.fork({"source": -7}, at=version), [0.0, np.inf, np.inf, np.inf, np.inf]),
        ):
            assert branch.wait(WAIT_S)
            ids, values = branch.values().arrays()
            assert (ids.tolist(), values.tolist()) == ([-7, 1, 2, 3, 8], expected)


def test_another_program_of_the_same_name_does_not_take_over_the_values():
    assert KIND.identity(ShortestPaths(source=1)) != KIND.identity(WidestPath(source=1))
    assert KIND.identity(ShortestPaths(source=1)) != KIND.identity(ShortestPaths(source=2))
    store = MemoryStore()
    with Master(store) as master:
        loop = started(master)
        loop.admit(EdgeBatch.of([1, 2], [2, 3], [3.0, 2.0]), "edges", 2)
        version = loop.checkpoint()
    with Master(store, 2) as master:
        branch = master.start(WidestPath(source=1), NAME, 64).fork(at=version)
        assert branch.wait(WAIT_S)
        assert branch.values().arrays()[1].tolist() == [np.inf, 3.0, 2.0]


def test_a_branch_on_a_stored_graph_can_be_capped_and_stopped():
    with Master(workers=2) as master:
        loop = started(master)
        chain = np.arange(5000)
        loop.admit(EdgeBatch.of(chain, chain + 1), "edges", len(chain))
        version = loop.checkpoint()
        capped = loop.fork({"source": 0}, at=version, max_iterations=10)
        assert capped.wait(WAIT_S)
        assert capped.state is BranchState.STOPPED
        assert np.isfinite(capped.values().arrays()[1]).sum() <= 12
        stopped = loop.fork({"source": 0}, at=version)
        stopped.stop()
        assert stopped.wait(WAIT_S)
        assert stopped.values().count() == 5001


class Counting(MemoryStore):
    """Remembers the keys of every snapshot that is written, and has no room where it is told so."""

    def __init__(self):
        super().__init__()
        self.written = []
        self.is_full = False

    def write(self, loop, version, items, **options):
        if self.is_full:
            raise StoreFull("no room")
        if loop == NAME:
            self.written.append({key for key in items if key != b"digests"})
        super().write(loop, version, items, **options)


def test_only_pages_that_changed_are_written_again(small_pages):
    with Master(Counting(), 2) as master:
        loop = started(master)
        records = stream()
        feed(loop, records)
        loop.checkpoint()
        loop.admit(EdgeBatch.of([3], [4], [1000.0]), "edges", len(records) + 1)
        version = loop.checkpoint()
        everything, little = master.store.written
        assert len(everything) > 20
        assert len(little) == 1
        assert 1000.0 in StoredSnapshots(master.store, NAME).find(version).edges().weights


def test_a_graph_that_is_gone_leaves_no_page(small_pages):
    with Master(MemoryStore(), 2) as master:
        loop = started(master)
        sources = np.arange(300)
        loop.admit(EdgeBatch.of(sources, sources + 1), "edges", 300)
        full = loop.checkpoint()
        loop.admit(EdgeBatch.of(sources, sources + 1, np.full(300, np.nan), op=-1), "edges", 600)
        gone = loop.checkpoint()
        assert len(list(master.store.keys(NAME, full, b"e/"))) > 10
        assert list(master.store.keys(NAME, gone, b"e/")) == []
        assert loop.fork(at=gone).values().count() == 301


def test_nothing_new_is_not_stored_again():
    with Master(Counting()) as master:
        loop = started(master)
        feed(loop, stream())
        version = loop.checkpoint()
        assert loop.checkpoint() == version
        assert len(master.store.written) == 1
        loop.advance("edges", len(stream()) + 1)  # a record that went to quarantine
        assert loop.checkpoint() > version
        assert loop.snapshots()[-1].offsets == {"edges": len(stream()) + 1}
        assert master.store.written[1] == set()


def test_a_full_store_is_said_so_and_changes_nothing():
    with Master(Counting(), 2) as master:
        loop = started(master)
        records = stream()
        prefix = feed(loop, records.slice(0, 1000))
        version = loop.checkpoint()
        feed(loop, records.slice(1000, len(records)), after=prefix)
        master.store.is_full = True
        with pytest.raises(StoreFull):
            loop.checkpoint()
        assert [found.version for found in loop.snapshots()] == [version]
        judge(loop.fork(at=version), records, prefix)
        judge(loop.fork(), records, len(records))
        master.store.is_full = False
        judge(loop.fork(at=loop.checkpoint()), records, len(records))
        eventually(lambda: loop.statistics().branches == 0)


def test_a_full_disk_is_said_so_and_changes_nothing(tmp_path):
    url = f"lmdb://{tmp_path}/store"
    command = [sys.executable, "-m", "tests.loops.snapshot_writer", "fill", url, "2", "6000000"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report.pop("kept") > 2
    assert "free some space. Nothing stored earlier is lost" in report.pop("message")
    assert report == {"listed": True, "intact": True, "goes on": True, "with room": True}


@pytest.mark.parametrize("ending", ["release", "cancel at once", "cancel later"])
def test_the_memory_of_a_stored_graph_is_given_back_with_its_branch(ending):
    with Master(workers=2) as master:
        loop = started(master)
        feed(loop, stream())
        version = loop.checkpoint()
        gc.collect()
        gc.disable()  # what a cycle keeps alive would be kept for long
        try:
            branch = loop.fork({"source": 3}, at=version)
            if ending != "cancel at once":
                assert branch.wait_cut(WAIT_S)
            graphs = [weakref.ref(processor.graph) for processor in branch.processors]
            states = [weakref.ref(processor.state) for processor in branch.processors]
            if ending == "release":
                assert branch.wait(WAIT_S)
                assert len(graphs) == 2
                branch.release()
            else:
                branch.cancel()
                branch.wait(WAIT_S)
                branch.release()  # one that has come to its end meanwhile
            eventually(lambda: all(list(host._loops) == [loop.number] for host in master._hosts))
            eventually(lambda: not any(reference() for reference in graphs + states))
        finally:
            gc.enable()
        judge(loop.fork(), stream(), len(stream()))


@pytest.mark.parametrize("parameters", [{}, {"source": 3}])
def test_a_damaged_page_is_found(parameters):
    with Master() as master:
        loop = started(master)
        feed(loop, stream())
        version = loop.checkpoint()
        [key] = master.store.keys(NAME, version, b"v/")
        metadata = master.store.metadata(NAME, version)
        page = master.store.read(NAME, key, version)
        master.store.write(NAME, version, {key: page[:-5]}, metadata=metadata)
        with pytest.raises(StoreCorrupt, match="no whole number of entries"):
            loop.fork(parameters, at=version)
        master.store.write(NAME, version, {}, metadata=b"{}")
        with pytest.raises(StoreCorrupt, match="no stored snapshot"):
            loop.fork(parameters, at=version)
        judge(loop.fork(), stream(), len(stream()))


def test_a_loop_that_closes_stores_nothing_half():
    master = Master(workers=2)
    loop = started(master)
    feed(loop, stream())
    loop.close()
    master.close()
    with pytest.raises(InvalidArgument, match="closed"):
        loop.checkpoint()
    assert loop.snapshots() == []


@pytest.mark.parametrize("seed", shortened(range(20), 8))
def test_every_interleaving_stores_an_exact_snapshot(seed):
    workers = 1 + seed % 4
    records = mixed(random_multigraph(30, 120, seed=seed), seed=seed)
    engine = SimulationEngine(workers, seed=seed)
    with Master(workers=workers, engine=engine) as master:
        loop = started(master, delay_bound=[1, 4, 64, None][seed % 4])
        offset, stored = 0, {}
        for batch in batches(records, 40):
            offset += len(batch)
            loop.admit(batch, "edges", offset)
            engine.step(20)
            stored[loop.checkpoint()] = offset
        for version, prefix in stored.items():
            judge(loop.fork(at=version), records, prefix)
            judge(loop.fork({"source": 4}, at=version), records, prefix, source=4)


def test_workers_elsewhere_are_asked_for_a_snapshot_a_page_at_a_time(small_pages):
    records = stream()
    with Master(workers=2, engine="processes") as master:
        loop = started(master)
        feed(loop, records)
        begin, sizes, asked, waited, most = master.engine.begin_asking, [], [], [], []

        def noted(worker, request):
            awaited = begin(worker, request)
            asked.append(request)

            def wait():
                most.append(len(asked) - len(waited))
                reply = awaited()
                waited.append(request)
                arrays = [
                    one for one in (reply if isinstance(reply, tuple) else ()) if hasattr(one, "nbytes")
                ]
                sizes.append(sum(array.nbytes for array in arrays))
                return reply

            return wait

        master.engine.begin_asking = noted
        version = loop.checkpoint()
        pages = list(master.store.keys(NAME, version, b"e/"))
        assert len(pages) > 20
        assert max(sizes) <= max(len(master.store.read(NAME, key, version)) for key in pages)
        # Both workers, for vertices and edges, of a page and the one behind it.
        assert max(most) == 2 * 2 * 2
        judge(loop.fork(at=version), records, len(records))


def test_a_graph_of_few_vertices_and_many_edges_has_small_pages_too(monkeypatch):
    monkeypatch.setattr(stored_snapshot, "PAGE_EDGES", 100)
    with Master(workers=2) as master:
        loop = started(master)
        records = random_multigraph(50, 3000, seed=2).records()
        feed(loop, records)
        version = loop.checkpoint()
        assert len(list(master.store.keys(NAME, version, b"e/"))) > 16
        judge(loop.fork({"source": 3}, at=version), records, len(records), source=3)


def test_stored_values_answer_as_those_of_a_branch_do():
    with Master(workers=2) as master:
        loop = started(master)
        feed(loop, stream())
        version = loop.checkpoint()
        branch = loop.fork()
        assert branch.wait(WAIT_S)
        live, stored = branch.values(), loop.fork(at=version).values()
        assert stored.count() == live.count()
        asked = np.array([1, 5, 77, 10**9, -4, 399])
        for one, other in zip(stored.lookup(asked), live.lookup(asked), strict=True):
            assert one.tolist() == other.tolist()
        for k in (0, 1, 7, 10**6):
            for one, other in zip(stored.top(k), live.top(k), strict=True):
                assert one.tolist() == other.tolist()
        for after, limit in ((None, 10), (50, 3), (10**9, 5)):
            for one, other in zip(stored.page(after, limit), live.page(after, limit), strict=True):
                assert one.tolist() == other.tolist()
    empty = Values([ColumnValues(np.empty(0, np.int64), np.empty(0))], rank="highest", worst=0.0)
    assert empty.lookup(asked)[1].any() is np.False_
    assert empty.top(3)[0].size == empty.count() == 0


PLACES = [(1, "threads"), (2, "threads"), (2, "processes")]
ROWS = [(*place, bound) for place in PLACES for bound in (1, 64, None)]


@pytest.mark.parametrize(
    ("workers", "engine", "bound"), shortened(ROWS, lambda row: "threads" in row or 64 in row)
)
def test_only_the_branch_computes_on_a_stored_graph(monkeypatch, workers, engine, bound):
    loaded = []

    class Watched(StoredLoop):
        def __init__(self, **arguments):
            super().__init__(**arguments)
            loaded.append(self)

    monkeypatch.setattr(master_module, "StoredLoop", Watched)
    with Master(workers=workers, engine=engine) as master:
        loop = started(master, delay_bound=bound)
        feed(loop, stream())
        version = loop.checkpoint()
        branch = loop.fork({"source": 3}, at=version)
        assert branch.wait(WAIT_S)
        [hidden] = loaded
        statistics = hidden.statistics()
        assert (statistics.updates, statistics.prepares, statistics.iteration) == (0, 0, 0)
        assert statistics.edges == loop.statistics().edges
        assert branch.progress().updates > 0
        judge(branch, stream(), len(stream()), source=3)
