"""Another number of workers while a stream runs: answers stay exact, nothing is lost, and what cannot be says so."""

import contextlib
import math
import threading
import time

import numpy as np
import pytest

import tornado
from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tests.engine.places import REMOTE, Placed, is_restored, lose, master_at, stream
from tests.engine.test_conformance import judge_components
from tests.engine.test_learners import session_at
from tests.kept_store import Away, KeptStore
from tests.kinds.learning import test_linear_loops as linear
from tests.loops.general_programs import Paths
from tests.promised import eventually
from tornado.errors import (
    Busy,
    InvalidArgument,
    NotSupported,
    StoreFull,
    StoreUnreachable,
    UnknownStream,
    WorkerLost,
)
from tornado.kinds.learning.linear.linear_program import LinearModel
from tornado.loops import BranchState, Master, rescaling
from tornado.loops.branch import Branch
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import MemoryStore, open_store

STEPS = (4, 1, 3)
WAIT_S = 60
BOUNDED_S = 0.25


@pytest.fixture
def moved(place):
    """A master of its own, whose workers change."""
    with master_at(place) as made:
        yield made


def judge_branches(streamed, branches):
    """All are exact at their cut but those that a question would have forked anew; return how many are exact."""
    exact = 0
    for branch in branches:
        branch.wait(WAIT_S)
        with contextlib.suppress(WorkerLost):  # its values were on workers that are gone, or its cut is
            if branch.error is not None:
                raise branch.error
            streamed.check_branch(branch)
            exact += 1
    return exact


def test_two_to_four_to_one_under_load_is_exact_throughout(moved):
    records = stream(seed=3, vertices=4000, edges=40_000)
    with Placed(moved, "streamed", records) as streamed:
        components = moved.start(ConnectedComponents(), "components", stream="streamed")
        streamed.admit(2000)
        branches, ended = [], threading.Event()

        def feed():
            while not ended.is_set() and streamed.admit(97):
                time.sleep(0.005)

        feeding = threading.Thread(target=feed)
        feeding.start()
        for workers in STEPS:
            before, version = moved.workers, streamed.loop.stream.counts()[0]
            done = moved.rescale("streamed", workers)
            assert (done.stream, done.streams) == ("streamed", ("streamed",))
            assert (done.before, done.workers, moved.workers) == (before, workers, workers)
            assert done.version >= version
            assert 0 < done.pause_s < WAIT_S
            assert streamed.loop.statistics().workers == workers == len(streamed.loop.parts())
            branches += [streamed.loop.fork() for _ in range(3)]
            assert judge_branches(streamed, [branches.pop()]) == 1
        ended.set()
        feeding.join()
        assert streamed.admitted > 2000
        assert judge_branches(streamed, [streamed.loop.fork(), *branches]) > 1
        streamed.check_main()
        judge_components(components, streamed)


def test_vertices_that_are_named_between_snapshot_and_move_are_there_also_when_no_edge_leads_to_them(
    monkeypatch, compiled_paths
):
    """In one process the workers note in their shares what they have applied, and the journal has these batches."""
    with Master(workers=2) as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        loop.admit(EdgeBatch.of([0], [1]), "insert", 1)
        store = loop.stream.store_snapshot

        def come(**how):
            stored = store(**how)
            loop.admit(EdgeBatch.of([5, 6, 7, 8], [1, 1, 1, 1]), "insert", 5)
            loop.admit(EdgeBatch.mentions(np.arange(20, 24)), "insert", 9)
            eventually(lambda: loop.stream.workers.backlog() == 0)
            return stored

        monkeypatch.setattr(loop.stream, "store_snapshot", come)
        for workers in (3, 1):
            master.rescale("roads", workers)
            branch = loop.fork()
            assert branch.wait(WAIT_S)
            assert branch.values().arrays()[0].tolist() == [0, 1, 5, 6, 7, 8, 20, 21, 22, 23]
            branch.release()


def test_what_comes_in_between_snapshot_and_move_is_gone_through_again(moved):
    """Along one direction of edges and, beside components, along both; the journal has it by the old map."""
    records = stream(seed=5)
    with Placed(moved, "streamed", records) as streamed:
        for number, workers in enumerate(STEPS):
            streamed.admit(500)

            def come(number=number):
                if number == 1:
                    return
                streamed.admit(500)
                streamed.branch = streamed.loop.fork()

            moved.before_move = come
            moved.rescale("streamed", workers)
            moved.before_move = lambda: None
            if number != 1:
                streamed.check_branch(streamed.branch)
            else:
                components = moved.start(ConnectedComponents(), "components", stream="streamed")
            streamed.check_main()
        judge_components(components, streamed)


@pytest.mark.parametrize("why", ["a branch is long", "another snapshot is long"])
def test_a_move_does_not_wait_long_for_a_snapshot_where_what_came_in_is_kept(
    place, tmp_path, monkeypatch, why
):
    monkeypatch.setattr(rescaling, "_FEW_RECORDS", 0)
    monkeypatch.setattr(rescaling, "_SNAPSHOT_WITHIN_S", BOUNDED_S)
    wait = Branch.wait
    with (
        open_store(f"lmdb://{tmp_path}/roads") as store,
        master_at(place, store) as master,
        Placed(master, "streamed", stream(seed=8)) as streamed,
    ):
        streamed.admit(1000)
        stored = streamed.loop.checkpoint()
        streamed.admit(1000)
        with contextlib.ExitStack() as meanwhile:
            if why == "another snapshot is long":
                meanwhile.enter_context(streamed.loop.stream.checkpointing)
            else:
                patch = meanwhile.enter_context(monkeypatch.context())
                patch.setattr(Branch, "wait", lambda self, s=None: s != BOUNDED_S and wait(self, s))
            master.rescale("streamed", 3)
        assert streamed.loop.stream.stored.newest_version() == stored
        assert master.workers == 3
        streamed.admit(1000)
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        monkeypatch.setattr(rescaling, "_SNAPSHOT_WITHIN_S", WAIT_S)
        master.rescale("streamed", 1)  # nothing is in its way
        assert streamed.loop.stream.stored.newest_version() > stored
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()


def test_questions_that_run_or_come_meanwhile_are_answered_exactly(place):
    rng = np.random.default_rng(5)
    src, dst, weights = rng.integers(0, 5000, 60_000), rng.integers(0, 5000, 60_000), rng.random(60_000)
    with session_at(place) as session:
        paths = session.start(ShortestPaths(source=1), "roads")
        paths.insert(src, dst, weights)
        some = list(range(2, 40))
        kept = paths.query(vertices=some, check=True).result(WAIT_S)
        whole = paths.query()
        whole.result(WAIT_S)
        asked, ended = [], threading.Event()

        def ask():
            while not ended.is_set():
                asked.append(paths.query(vertices=some))
                time.sleep(0.02)

        asking = threading.Thread(target=ask)
        asking.start()
        for workers in STEPS:
            session.rescale("roads", workers)
        ended.set()
        asking.join()
        assert asked
        for query in asked:
            result = query.result(WAIT_S)
            assert result.certificate == {"kind": "exact"}
            assert result.snapshot.version == kept.snapshot.version
            assert dict(result.values) == dict(kept.values)
        assert whole.result(WAIT_S).to_arrow().equals(paths.query().result(WAIT_S).to_arrow())


def test_names_and_both_directions_of_an_undirected_stream_with_a_durable_store(place, tmp_path):
    engine, _, spark = place.partition(":")
    folder = f"lmdb://{tmp_path}/roads"
    ring = [f"v{number}" for number in range(40)]
    with tornado.open(folder, 2, engine=engine, spark_master=spark or None) as session:
        paths = session.start(ShortestPaths(source="v0"), "roads", ids="string", undirected=True)
        session.stream("roads").start(ConnectedComponents(), "components")
        for workers, first in zip(STEPS, (0, 10, 20), strict=True):
            paths.insert(ring[first : first + 10], ring[first + 1 : first + 11])
            session.rescale("roads", workers)
            found = paths.query(vertices=[ring[first + 10]]).result(WAIT_S)
            assert dict(found.values) == {ring[first + 10]: first + 10}
    with tornado.open(folder, 2, engine=engine, spark_master=spark or None) as session:
        paths = session.start(ShortestPaths(source="v0"), "roads", ids="string", undirected=True)
        assert dict(paths.query(vertices=["v30"]).result(WAIT_S).values) == {"v30": 30}


def test_learners_go_on_from_their_points(place):
    program = LinearModel(loss="logistic", l2=1e-3, tolerance=1e-6)
    with session_at(place) as session:
        scored = session.stream("scored", schema=tornado.Points(features=linear.FEATURES))
        model = scored.start(program, "model")
        feed = linear.Feed(scored, seed=3)
        for workers in STEPS:
            feed.come(200)
            feed.go(30)
            session.rescale("scored", workers)
            result = model.query().result(WAIT_S)
            linear.check(result, program, feed.columns(result.snapshot.version))


@pytest.mark.parametrize("durable", [True, False])
def test_workers_that_are_lost_behind_a_rescale_are_replaced(place, tmp_path, durable):
    if place not in REMOTE:
        pytest.skip("threads are not lost")
    url = f"lmdb://{tmp_path}/roads" if durable else "memory:"
    with (
        open_store(url) as store,
        master_at(place, store) as master,
        Placed(master, "streamed", stream(seed=4)) as streamed,
    ):
        streamed.admit(1000)
        master.rescale("streamed", 3)
        streamed.admit(1000)
        lose(master, worker=2)
        streamed.admit(1000)
        branch = streamed.loop.fork()
        eventually(lambda: is_restored(master))
        streamed.check_branch(branch)
        master.rescale("streamed", 1)
        streamed.admit(500)
        streamed.check_branch(streamed.loop.fork())


def test_a_move_that_begins_when_a_recovery_is_about_to_end_is_not_taken_for_it(place):
    if place not in REMOTE:
        pytest.skip("threads are not lost")
    with master_at(place) as master, Placed(master, "streamed", stream(seed=4)) as streamed:
        streamed.admit(1000)
        done, restore = [], master.engine.on_restart
        mover = threading.Thread(target=lambda: done.append(master.rescale("streamed", 3)))
        has_begun = threading.Event()

        def restore_and_have_it_moved():
            restore()
            if not has_begun.is_set():
                losses = master.engine.losses
                mover.start()
                has_begun.set()
                eventually(lambda: master.engine.losses > losses)

        master.engine.on_restart = restore_and_have_it_moved
        lose(master)
        assert has_begun.wait(WAIT_S)
        mover.join(WAIT_S)
        assert done[0].workers == 3
        assert (master.workers, master.engine.workers) == (3, 3)
        streamed.admit(1000)
        streamed.check_branch(streamed.loop.fork())


def test_streams_share_their_workers_so_all_are_moved_and_named(moved):
    with Placed(moved, "one", stream(seed=1)) as one, Placed(moved, "other", stream(seed=2)) as other:
        one.admit(700)
        other.admit(900)
        assert moved.rescale("one", 3).streams == ("one", "other")
        for streamed in (one, other):
            streamed.admit(300)
            streamed.check_branch(streamed.loop.fork())


def test_as_many_workers_as_there_are_is_nothing_to_do(moved):
    with Placed(moved, "streamed", stream()) as streamed:
        streamed.admit(100)
        losses = moved.engine.losses
        done = moved.rescale("streamed", 2)
        assert (done.streams, done.before, done.workers, done.pause_s) == ((), 2, 2, 0.0)
        assert moved.engine.losses == losses


def test_a_stream_without_a_record_is_moved(moved):
    with Placed(moved, "streamed", stream()) as streamed:
        moved.rescale("streamed", 3)
        streamed.admit(500)
        branch = streamed.loop.fork()
        assert branch.wait(WAIT_S)
        assert branch.state is BranchState.CONVERGED
        streamed.check_values(branch.values(), 500, "the branch")


@pytest.mark.parametrize("workers", [0, 65, -1, 2.5, True, "3"])
def test_numbers_that_no_service_has_are_refused(moved, workers):
    with Placed(moved, "streamed", stream()) as streamed:
        with pytest.raises(InvalidArgument, match="must be a whole number from 1 to 64"):
            moved.rescale("streamed", workers)
        with pytest.raises(UnknownStream, match="no stream is called 'roads'; streams: streamed"):
            moved.rescale("roads", 3)
        streamed.admit(100)
        streamed.check_branch(streamed.loop.fork())


def test_what_excludes_a_rescale_or_is_excluded_by_one_is_told_so(moved):
    told = []
    with Placed(moved, "streamed", stream()) as streamed:
        streamed.admit(500)

        def meanwhile():
            for call in (
                lambda: moved.rescale("streamed", 4),
                lambda: moved.start(ConnectedComponents(), "components", stream="streamed"),
            ):
                with pytest.raises(Busy) as refused:
                    call()
                told.append(refused.value.message)

        moved.before_move = meanwhile
        moved.rescale("streamed", 3)
        assert told == [
            "the loops are being put on other workers already",
            "loop 'components' cannot be started while those that run are being put on other workers",
        ]
        with (
            moved._names.reserved("slow"),
            pytest.raises(Busy, match="loop 'slow' is being started, so no loop can be put on other workers"),
        ):
            moved.rescale("streamed", 2)
        streamed.check_branch(streamed.loop.fork())


def test_what_cannot_be_put_on_new_workers_goes_on_on_the_old_number(moved, monkeypatch):
    with Placed(moved, "streamed", stream()) as streamed:
        streamed.admit(1000)
        restart, seen = moved.engine.on_restart, []

        def fail_first():
            seen.append(moved.engine.workers)
            if len(seen) == 1:
                raise MemoryError("no room")
            restart()

        monkeypatch.setattr(moved.engine, "on_restart", fail_first)
        with pytest.raises(WorkerLost, match="could not be put on 4 workers, and go on on 2: no room"):
            moved.rescale("streamed", 4)
        assert seen == [4, 2]
        assert moved.workers == 2
        streamed.admit(1000)
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        assert moved.rescale("streamed", 3).workers == 3
        streamed.check_branch(streamed.loop.fork())


@pytest.mark.parametrize("away_for", [1, 3])
def test_a_store_that_is_away_while_loops_are_moved_is_waited_for(away_for):
    store = Away()
    with Master(store, 2) as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(1000)
        master.before_move = lambda: setattr(store, "away_for", away_for)
        with pytest.raises(WorkerLost, match="could not be put on 3 workers, and go on on 2: nobody answers"):
            master.rescale("streamed", 3)
        assert store.away_for == 0
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()


class Full(KeptStore):
    """Has room for what is admitted, and none for a snapshot."""

    def write(self, loop, *arguments, **options):
        if loop == "streamed":
            raise StoreFull("no room")
        super().write(loop, *arguments, **options)


def test_a_move_does_without_a_snapshot_for_which_there_is_no_room(monkeypatch):
    monkeypatch.setattr(rescaling, "_FEW_RECORDS", 0)
    with Master(Full(), 2) as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(1000)
        assert master.rescale("streamed", 3).workers == 3
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()


@pytest.mark.parametrize("store", [MemoryStore, KeptStore])
def test_a_stream_whose_loops_have_failed_does_not_keep_others_from_a_move(store, monkeypatch):
    monkeypatch.setattr(rescaling, "_FEW_RECORDS", 0)
    with Master(store(), 2) as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(1000)
        broken = master.start(Paths(source=1), "broken")
        broken.admit(streamed.records.slice(0, 100), "stream", 100)
        broken.fail(ValueError("broken"))
        assert master.rescale("streamed", 3).workers == 3
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        with pytest.raises(RuntimeError, match="broken"):
            broken.fork()


def test_loops_are_not_moved_while_their_store_is_away(monkeypatch):
    store = Away()
    with Master(store, 2) as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(1000)

        def away(_):
            raise StoreUnreachable("nobody answers")

        with monkeypatch.context() as patched:
            patched.setattr(store, "versions", away)
            with pytest.raises(StoreUnreachable):
                master.rescale("streamed", 3)
        assert (master.engine.losses, streamed.loop.stream.journal) == (0, None)
        streamed.check_main()


def test_a_master_that_is_closed_waits_no_longer_for_a_store_that_is_away():
    store, raised = Away(), []
    master = Master(store, 2)

    def rescale():
        try:
            master.rescale("streamed", 3)
        except StoreUnreachable as error:
            raised.append(error)

    with Placed(master, "streamed", stream()) as streamed:
        streamed.admit(1000)
        master.before_move = lambda: setattr(store, "away_for", math.inf)
        thread = threading.Thread(target=rescale)
        thread.start()
        eventually(lambda: master.engine.losses > 1)
        master.close()
        thread.join(WAIT_S)
        assert len(raised) == 1


def test_a_program_of_which_nothing_is_stored_is_moved_where_what_came_in_is_kept(moved, place):
    with Placed(moved, "streamed", stream()) as streamed:
        streamed.admit(200)
        moved.start(Paths(source=1), "plain")
        moved.loops["plain"].admit(streamed.records.slice(0, 100), "stream", 100)
        if place in REMOTE:
            moved.rescale("plain", 3)
        else:
            with pytest.raises(
                NotSupported, match="the loops of stream 'plain' cannot be put on other workers"
            ):
                moved.rescale("plain", 3)
        branch = moved.loops["plain"].fork()
        assert branch.wait(WAIT_S)
        assert branch.state is BranchState.CONVERGED
        streamed.check_branch(streamed.loop.fork())
