"""Snapshots of several loops on one stream: one cut and one write, and each loop goes on from its own fixed point."""

import threading

import numpy as np
import pytest

from apps.bfs import BreadthFirstSearch
from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.kept_store import KeptStore
from tests.loops.test_several_loops import ELSEWHERE, HOPS, PATHS, compiled, exact, judge, recorded  # noqa: F401
from tests.loops.test_stored_snapshots import Counting
from tornado import EdgeBatch
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument, NameTaken, StoreFull
from tornado.kinds.selective.branch_processor import BranchProcessor
from tornado.kinds.selective.main_processor import MainProcessor
from tornado.loops import BranchState, Master, stored_snapshot
from tornado.loops.branch import Branch
from tornado.loops.new_loop import NewLoop
from tornado.loops.stored_snapshot import StoredSnapshots
from tornado.loops.stream import RecordStream
from tornado.records.operations import REMOVE
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory, batches, mixed, random_multigraph

NAME = "roads"  # of the first loop, which `Counting` watches
WAIT_S = 60
BESIDE = [NewLoop(HOPS, "hops", 1), NewLoop(ELSEWHERE, "elsewhere", None)]

everywhere = pytest.mark.parametrize(
    ("engine", "workers"), [("threads", 1), ("threads", 3), ("processes", 2)]
)


def started(master, program=PATHS, beside=BESIDE):
    """Three loops on one stream, that begin with it."""
    first = master.start(program, NAME, 64, beside=beside)
    return [first, *(master.loops[other.name] for other in beside)]


def feed(loop, records, first, last):
    offset = first
    for batch in batches(records.slice(first, last), 200):
        offset += len(batch)
        loop.admit(batch, "edges", offset)


@pytest.fixture
def no_branch_is_over_at_once(monkeypatch):
    monkeypatch.setattr(MainProcessor, "_rest_at", lambda *_: None)


def judge_stored(loop, history, version, prefix, program=None):
    """A question of a stored snapshot; whether the answer was there without an iteration."""
    program = program or loop.program
    branch = loop.fork({"source": program.source}, at=version)
    assert branch.wait(WAIT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    assert (branch.snapshot.version, branch.snapshot.offsets) == (version, {"edges": prefix})
    assert branch.snapshot.delay_bound == loop.delay_bound
    ids, values = branch.values().arrays()
    assert values.tolist() == exact(program, history.at(prefix)).lookup(ids).tolist()
    updates = branch.progress().updates
    branch.release()
    return updates == 0


@everywhere
def test_a_snapshot_of_several_loops_is_one_cut_and_one_write_and_each_is_asked_without_an_iteration(
    engine, workers
):
    records, history = recorded(seed=21)
    with Master(Counting(), workers, engine=engine) as master:
        loops = started(master)
        prefixes = {}
        for first in range(0, len(records), 1500):
            prefix = min(first + 1500, len(records))
            feed(loops[0], records, first, prefix)
            prefixes[loops[len(prefixes) % 3].checkpoint()] = prefix
        assert len(master.store.written) == len(prefixes)
        for loop in loops:
            assert {found.version: found.offsets["edges"] for found in loop.snapshots()} == prefixes
            for version, prefix in prefixes.items():
                assert judge_stored(loop, history, version, prefix)
        # With what another loop computes, too; with other parameters the graph is loaded.
        version, prefix = prefixes.popitem()
        assert judge_stored(loops[0], history, version, prefix, ELSEWHERE)
        assert not judge_stored(loops[1], history, version, prefix, BreadthFirstSearch(source=9))


@pytest.mark.parametrize(("before", "after"), [((1, "threads"), (3, "threads")), ((2, "processes"),) * 2])
def test_after_a_restart_each_loop_is_at_rest_with_its_own_fixed_point(before, after):
    records, history = recorded(seed=22)
    half, store = len(records) // 2, MemoryStore()
    with Master(store, *before) as master:
        loops = started(master)
        feed(loops[0], records, 0, half)
        version = loops[0].checkpoint()
        feed(loops[0], records, half, half + 200)  # lost with the process
    with Master(store, *after) as master:
        loops = started(master)
        for loop in loops:
            assert (loop.restored.is_converged, loop.restored.snapshot.version) == (True, version)
            statistics = loop.statistics()
            assert (statistics.updates, statistics.pending, statistics.version) == (0, 0, version)
            assert loop.wait_idle(60)  # its workers may be in a last step, which finds nothing to do
            ids, values = loop.approximation().arrays()
            assert values.tolist() == exact(loop.program, history.at(half)).lookup(ids).tolist()
            assert judge(loop, history) == half
            assert loop.statistics().updates == 0
        assert loops[0].checkpoint() == version  # nothing came in, and no loop began
        # Removals of edges that were stored, among them those that values hang on.
        for first in range(half, len(records), 700):
            feed(loops[0], records, first, min(first + 700, len(records)))
            for loop in loops:
                judge(loop, history, at_least=first)
        for loop in loops:
            assert loop.wait_idle(WAIT_S)
            ids, values = loop.approximation().arrays()
            assert values.tolist() == exact(loop.program, history.at(len(records))).lookup(ids).tolist()


def test_loops_whose_workers_were_lost_are_at_rest_with_what_was_stored():
    from tests.engine.places import end, pids_of

    records, history = recorded(seed=23)
    with Master(workers=2, engine="processes") as master:
        loops = started(master)
        feed(loops[0], records, 0, 3000)
        version = loops[1].checkpoint()
        end(pids_of(master)[0])
        assert master.engine.wait_for(lambda: master.engine.losses == 1, WAIT_S)
        for loop in loops:
            assert judge(loop, history) == 3000
            assert (loop.statistics().updates, loop.statistics().version) == (0, version)
        late = master.start(BreadthFirstSearch(source=5), "late", 64, NAME)
        feed(loops[0], records, 3000, len(records))
        end(pids_of(master)[1])
        for loop in (*loops, late):
            judge(loop, history, at_least=len(records))
        assert late.statistics().updates > 0  # of no snapshot yet


def test_a_program_that_was_changed_takes_the_graph_alone_and_the_others_their_values():
    records, history = recorded(seed=24)
    store = MemoryStore()
    with Master(store, 2) as master:
        loops = started(master)
        feed(loops[0], records, 0, 3000)
        stored = loops[0].checkpoint()
    changed = BreadthFirstSearch(source=2)
    with Master(store, 2) as master:
        paths, hops, elsewhere = started(master, beside=[NewLoop(changed, "hops", 1), BESIDE[1]])
        assert [loop.restored is not None for loop in (paths, hops, elsewhere)] == [True, False, True]
        assert (paths.statistics().updates, elsewhere.statistics().updates) == (0, 0)
        for loop in (paths, hops, elsewhere):
            assert judge(loop, history) == 3000
        assert judge_stored(hops, history, stored, 3000, HOPS)
        # What is stored stays what it is: the same prefix with another program's values is another version.
        again = paths.checkpoint()
        assert again > stored == paths.snapshots()[0].version
        assert judge_stored(hops, history, again, 3000)
    with Master(store) as master:
        first, hops, _ = started(master, WidestPath(source=1), [NewLoop(changed, "hops", 1), BESIDE[1]])
        assert (first.restored.is_converged, hops.restored.is_converged) == (False, True)
        assert first.restored.program == "ShortestPaths(source=1)"
        assert hops.statistics().updates == 0
        assert first.checkpoint() > again


def test_a_loop_that_begins_goes_into_the_next_snapshot_though_nothing_came_in():
    records, history = recorded(seed=25)
    with Master(Counting(), 2) as master:
        paths = master.start(PATHS, NAME)
        feed(paths, records, 0, 2000)
        first = paths.checkpoint()
        hops = master.start(HOPS, "hops", stream=NAME)
        second = hops.checkpoint()
        assert paths.checkpoint() == second > first
        assert len(master.store.written) == 2
        assert {key[:7] for key in master.store.written[1]} == {b"l/hops/"}  # the rest is as it was
        assert not judge_stored(hops, history, first, 2000)
        assert judge_stored(hops, history, second, 2000)
        assert [found.offsets for found in paths.snapshots()] == [{"edges": 2000}] * 2
        master.remove("hops")
        assert paths.checkpoint() == second
        feed(paths, records, 2000, 2200)
        third = paths.checkpoint()
        assert list(master.store.keys(NAME, second, b"l/hops/"))
        assert not list(master.store.keys(NAME, third, b"l/hops/"))


def test_a_loop_that_is_about_to_begin_is_not_waited_for(monkeypatch):
    join, taken = RecordStream.join, []
    with Master(workers=2) as master:
        paths = master.start(PATHS, NAME)
        paths.admit(EdgeBatch.of([1], [2]), "edges", 1)

        def joined(stream, loop):
            join(stream, loop)
            # It is known, and no worker has heard of it.
            storing = threading.Thread(target=lambda: taken.append(paths.checkpoint()), daemon=True)
            storing.start()
            storing.join(WAIT_S)

        monkeypatch.setattr(RecordStream, "join", joined)
        hops = master.start(HOPS, "hops", stream=NAME)
        assert taken == [1]
        assert hops.checkpoint() > 1


def test_only_pages_of_loops_that_changed_are_written_again(monkeypatch):
    monkeypatch.setattr(stored_snapshot, "PAGE_VERTICES", 16)
    with Master(Counting(), 2) as master:
        paths = master.start(PATHS, NAME, beside=[NewLoop(HOPS, "hops")])
        chain = np.arange(1, 300)
        paths.admit(EdgeBatch.of(chain, chain + 1, np.full(299, 2.0)), "edges", 299)
        paths.checkpoint()
        paths.admit(EdgeBatch.of([299], [300], [1.0]), "edges", 300)
        paths.checkpoint()
        everything, little = master.store.written
        assert len(everything) > 3 * 16
        assert sorted(key[:2] for key in little) == [b"e/", b"l/"]
        assert any(key.startswith(b"l/roads/") for key in little)


@pytest.mark.parametrize("broken", [NAME, "hops"])
def test_a_loop_that_has_failed_is_left_out_of_the_snapshot_and_stops_nobody(broken, monkeypatch):
    records, history = recorded(seed=26)
    store = MemoryStore()
    with Master(store, 2) as master:
        loops = started(master)
        feed(loops[0], records, 0, 2000)
        loops[0].checkpoint()
        lost = master.loops[broken]

        def hear(*_):
            raise ZeroDivisionError("broken on purpose")

        monkeypatch.setattr(master._hosts[1].loop(lost.number), "hear", hear)
        left = [loop for loop in loops if loop is not lost]
        feed(left[0], records, 2000, 4000)
        assert master.engine.wait_for(lambda: lost.error is not None, WAIT_S)
        version = left[0].checkpoint()
        stored = StoredSnapshots(store, NAME).find(version)
        assert [point.loop for point in stored.fixed_points] == [loop.name for loop in left]
        for loop in left:
            assert judge_stored(loop, history, version, 4000)
    with Master(store, 2) as master:
        for loop in started(master):
            assert judge(loop, history) == 4000
            assert (loop.restored is None or not loop.restored.is_converged) == (loop.name == broken)


@pytest.mark.usefixtures("no_branch_is_over_at_once")
@pytest.mark.parametrize("broken", [PATHS, HOPS])
def test_a_branch_that_fails_while_it_is_to_be_stored_leaves_its_loop_out_this_once(broken, monkeypatch):
    records, history = recorded(seed=27)
    whole, failed = BranchProcessor.step, set()
    with Master(workers=2) as master:
        paths, hops = started(master, beside=BESIDE[:1])
        feed(paths, records, 0, 2000)
        kernel = type(broken).kernel()

        def step(part):
            if part.kernel is kernel and failed <= {part.number}:  # the first one, on every worker
                failed.add(part.number)
                raise ZeroDivisionError("broken on purpose")
            whole(part)

        monkeypatch.setattr(BranchProcessor, "step", step)
        version = hops.checkpoint()
        assert len(failed) == 1
        stored = StoredSnapshots(master.store, NAME).find(version)
        [left] = [loop for loop in (paths, hops) if loop.program != broken]
        assert [point.loop for point in stored.fixed_points] == [left.name]
        assert len(stored.edges().sources) == len(history.at(2000))
        feed(paths, records, 2000, 3000)
        version = paths.checkpoint()
        for loop in (paths, hops):
            assert judge_stored(loop, history, version, 3000)


@pytest.mark.usefixtures("no_branch_is_over_at_once")
def test_where_every_branch_fails_nothing_is_stored_and_it_is_said(monkeypatch):
    with Master() as master:
        paths, hops = started(master, beside=BESIDE[:1])
        paths.admit(EdgeBatch.of([1], [2]), "edges", 1)

        def step(part):
            raise ZeroDivisionError("broken on purpose")

        with monkeypatch.context() as patched:
            patched.setattr(BranchProcessor, "step", step)
            with pytest.raises(RuntimeError, match=r"loop roads failed, no snapshot was stored.*on purpose"):
                hops.checkpoint()
        assert paths.snapshots() == []
        assert hops.checkpoint() == paths.snapshots()[0].version


@pytest.mark.usefixtures("no_branch_is_over_at_once")
@pytest.mark.parametrize("is_forked", [False, True])
def test_where_all_loops_are_removed_that_a_checkpoint_began_with_it_goes_on_with_those_that_joined(
    is_forked, monkeypatch
):
    step, wait, are_removed = BranchProcessor.step, Branch.wait, threading.Event()
    with Master() as master:
        paths = master.start(PATHS, NAME)
        paths.admit(EdgeBatch.of([1], [2]), "edges", 1)
        numbers = paths.stream.numbers
        prepare = numbers.prepare

        def joined():  # it has looked which loops there are
            monkeypatch.setattr(numbers, "prepare", prepare)
            master.start(HOPS, "hops", stream=NAME)
            if not is_forked:
                master.remove(NAME)

        def removed(branch, timeout_s=None):
            if NAME in master.loops:
                master.remove(NAME)
            are_removed.set()
            return wait(branch, timeout_s)

        def held(part):
            are_removed.wait(WAIT_S)
            step(part)

        monkeypatch.setattr(numbers, "prepare", joined)
        monkeypatch.setattr(Branch, "wait", removed)
        monkeypatch.setattr(BranchProcessor, "step", held)
        version = paths.checkpoint()
        stored = StoredSnapshots(master.store, NAME).find(version)
        assert [point.loop for point in stored.fixed_points] == ["hops"]
        assert len(stored.edges().sources) == 1
        assert master.loops["hops"].checkpoint() == version


def test_a_full_store_leaves_all_loops_and_what_was_stored():
    records, history = recorded(seed=28)
    with Master(Counting(), 2) as master:
        loops = started(master)
        feed(loops[0], records, 0, 1000)
        version = loops[0].checkpoint()
        feed(loops[0], records, 1000, 2000)
        master.store.is_full = True
        with pytest.raises(StoreFull):
            loops[1].checkpoint()
        for loop in loops:
            assert [found.version for found in loop.snapshots()] == [version]
            assert judge_stored(loop, history, version, 1000)
            assert judge(loop, history) == 2000
        master.store.is_full = False
        assert judge_stored(loops[2], history, loops[2].checkpoint(), 2000)


def test_a_loop_that_cannot_take_what_is_stored_is_told_of_or_nothing_begins():
    store, told = MemoryStore(), []
    with Master(store) as master:
        hops = master.start(HOPS, NAME)
        hops.admit(EdgeBatch.of([1, 2], [2, 3], [1.0, -2.0]), "edges", 2)
        version = hops.checkpoint()
    for on_refused in (None, told.append):
        with Master(store, 2) as master:
            beside = [NewLoop(PATHS, "paths", on_refused=on_refused), NewLoop(HOPS, "beside")]
            if on_refused is None:
                with pytest.raises(InvalidArgument, match=r"2 -> 3, weight -2\.0"):
                    master.start(HOPS, NAME, beside=beside)
                assert not master.loops
                assert not master._running
            else:
                hops = master.start(HOPS, NAME, beside=beside)
                assert sorted(master.loops) == ["beside", NAME]
                assert master.loops["beside"].restored.is_converged
                assert hops.statistics().version == version
    assert len(told) == 1


class Picky(ShortestPaths):
    """Takes less than it did when its fixed point was stored."""

    def check(self, batch):
        return batch.weight > 5.0, "weight is above 5"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_loop_whose_program_has_become_choosy_is_refused_and_another_goes_on(is_first):
    store, told = MemoryStore(), []
    with Master(store, 2) as master:
        first = master.start(PATHS, NAME, beside=[NewLoop(HOPS, "hops")])
        first.admit(EdgeBatch.of([1, 2], [2, 3], [1.0, 7.0]), "edges", 2)
        first.checkpoint()
    with Master(store, 2) as master:
        picky = Picky(source=1)
        if is_first:
            with pytest.raises(InvalidArgument, match=r"2 -> 3, weight 7\.0.*weight is above 5"):
                master.start(picky, NAME, beside=[NewLoop(HOPS, "hops")])
            assert not master._running
        first = master.start(PATHS, NAME, beside=[NewLoop(picky, "picky", on_refused=told.append)])
        assert sorted(master.loops) == [NAME]
        assert len(told) == 1
        first.admit(EdgeBatch.of([3], [4], [9.0]), "edges", 3)
        branch = first.fork()
        assert branch.wait(WAIT_S)
        assert branch.values().arrays()[1].tolist() == [0.0, 1.0, 8.0, 17.0]


@pytest.mark.parametrize("left", [0, 1])
def test_a_loop_that_begins_late_is_shown_what_is_left_behind_the_snapshot(left):
    store, told = KeptStore(), []
    with Master(store) as master:
        hops = master.start(HOPS, NAME)
        hops.admit(EdgeBatch.of([1, 2], [2, 3], [1.0, -2.0]), "edges", 2)
        hops.checkpoint()
        hops.admit(EdgeBatch.of([2 - left], [3 - left], op=REMOVE), "edges", 3)
    with Master(store, 2) as master:
        hops = master.start(HOPS, NAME, beside=[NewLoop(PATHS, "paths", on_refused=told.append)])
        assert hops.statistics().edges == 1
        assert sorted(master.loops) == ([NAME] if left else ["paths", NAME])
        assert len(told) == left


def test_names_of_loops_that_begin_together_are_taken_once():
    with Master() as master:
        for beside in ([NewLoop(HOPS, NAME)], [NewLoop(HOPS, "hops"), NewLoop(PATHS, "hops")]):
            with pytest.raises(NameTaken, match="runs already"):
                master.start(PATHS, NAME, beside=beside)
            assert not master._running
        with pytest.raises(InvalidArgument, match="delay bound 0 is not possible"):
            master.start(PATHS, NAME, beside=[NewLoop(HOPS, "hops", 0)])
        first, *_ = started(master)
        assert first.checkpoint() == 0


def test_the_values_of_another_loop_with_the_same_program_are_as_good():
    records, history = recorded(seed=29)
    store = MemoryStore()
    with Master(store) as master:
        paths = master.start(PATHS, NAME)
        feed(paths, records, 0, 2000)
        paths.checkpoint()
    with Master(store, 2) as master:
        for loop in started(master, beside=[NewLoop(PATHS, "twin", 1)]):
            assert loop.restored.is_converged
            assert loop.statistics().updates == 0
            assert judge(loop, history) == 2000


@pytest.mark.parametrize("seed", range(12))
def test_every_interleaving_stores_one_prefix_for_all_loops_and_goes_on_from_it(seed):
    records = mixed(random_multigraph(30, 160, seed=seed), seed=seed)
    history, store, offset = EdgeHistory.of(records), MemoryStore(), 0
    for turn in range(4):
        workers = 1 + (seed + turn) % 4
        engine = SimulationEngine(workers, seed=seed * 10 + turn)
        with Master(store, workers, engine=engine) as master:
            loops = started(master)
            for loop in loops:
                assert loop.offsets().get("edges", 0) == offset
                if turn:
                    assert loop.statistics().updates == 0
            for _ in range(2):
                feed(loops[0], records, offset, offset + 20)
                offset += 20
                engine.step(int(np.random.default_rng([seed, turn]).integers(40)))
            version = loops[turn % 3].checkpoint()
            for loop in loops:
                assert judge_stored(loop, history, version, offset)
