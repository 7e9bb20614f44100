"""Real workers that are killed or hang: answers stay exact, nothing is lost or there twice, and it does not take long."""

import contextlib
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

import tornado
from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tests.engine.places import (
    PLACES,
    SOURCE,
    Placed,
    end,
    is_restored,
    lose,
    master_at,
    pids_of,
    runs,
    stream,
)
from tests.engine.test_conformance import judge_components
from tests.loops.test_recovery import judge
from tests.promised import eventually, took_s, within
from tornado.engine import cluster
from tornado.errors import WorkerLost
from tornado.loops import BranchState
from tornado.loops.branch import Branch
from tornado.storage import MemoryStore

LARGE = {"vertices": 20_000, "edges": 60_000}
# What is promised of starting workers and restoring loops, also beside other programs that want the same cores. How long a test
# waits at most is another matter: `TIMEOUT_S`.
RECOVERED_WITHIN_S = 5.0
# An executor is a JVM, which starts first.
EXECUTOR_WITHIN_S = 10.0
# Until a loss is noticed by silence, and until the answer is there.
NOTICED_WITHIN_S = 5.0


class Breakage:
    """From a moment at which something breaks, to the end of a branch that is under way then, or is forked behind it."""

    def __init__(self, streamed, branch=None):
        self._streamed, self._engine, self.branch = streamed, streamed.master.engine, branch
        self._losses, self._ended_s = self._engine.losses, []
        self._engine.recovered_s = None
        self._begun_s = time.monotonic()
        if branch is not None:
            self._hear_of(branch)

    def begin(self):
        """Measure from now on."""
        self._begun_s = time.monotonic()

    def exact_again(self, what, *, losses=1, recovered_within_s=RECOVERED_WITHIN_S):
        """An exact answer came in time, and no more sets of workers were lost than the test has broken."""
        if self.branch is None:
            self.branch = self._streamed.loop.fork()
            self._hear_of(self.branch)
        self._streamed.check_branch(self.branch)
        eventually(lambda: self._ended_s and self._engine.recovered_s is not None)
        restored_s = self._engine._restored_at
        recovered_s = took_s(restored_s - self._engine.recovered_s, restored_s)
        elapsed_s = took_s(self._begun_s, self._ended_s[0])
        lost = self._engine.losses - self._losses
        print(f"\n{what}: exact again after {elapsed_s:.1f} s, restored in {recovered_s:.1f}, losses {lost}")
        assert lost == losses, "workers were lost that nobody ended"
        assert recovered_s < within(recovered_within_s)
        assert elapsed_s < within(recovered_within_s + NOTICED_WITHIN_S)

    def _hear_of(self, branch):
        branch.add_done_callback(lambda _: self._ended_s.append(time.monotonic()))


def admit_all(streamed, size=500):
    while streamed.admit(size):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_ends_or_hangs_while_edges_come_and_branches_run(lossy, number):
    records = stream(seed=3, **LARGE)
    with Placed(lossy, "kept", stream()) as kept, Placed(lossy, "streamed", records) as streamed:
        while kept.admit(1000):
            pass
        branches, breakage = [], None
        while streamed.admit(997):
            branches.append(streamed.loop.fork())
            if breakage is None and streamed.admitted > len(records) // 2:
                # First it stops, so that branches that are forked now are surely under way.
                end(pids_of(lossy)[1], signal.SIGSTOP)
                branches = [streamed.loop.fork() for _ in range(3)]
                streamed.admit(499)
                branches.append(streamed.loop.fork())
                breakage = Breakage(streamed, branches[-1])
                end(pids_of(lossy)[1], number)
        branches.remove(breakage.branch)
        breakage.exact_again(number.name)
        for branch in branches:
            streamed.check_branch(branch)
        streamed.check_main()
        kept.check_main()
        kept.check_branch(kept.loop.fork())
    assert lossy.engine.losses == 1


@pytest.mark.usefixtures("patient")
def test_components_are_restored_with_their_reverse_lists(lossy):
    """What was admitted before there were reverse lists has to be in them too, when the journal is gone through again."""
    records = stream(seed=9, vertices=2000, edges=5000)
    with Placed(lossy, "directed", records) as streamed:
        streamed.admit(len(records) // 3)
        components = lossy.start(ConnectedComponents(), "components", stream="directed")
        streamed.admit(len(records) // 3)
        judge_components(components, streamed)
        breakage = Breakage(streamed)
        lose(lossy)
        streamed.admit(len(records) // 6)
        breakage.exact_again("components beside")
        judge_components(components, streamed)
        admit_all(streamed)
        judge_components(components, streamed)
        lossy.remove("components")


@pytest.mark.usefixtures("patient")
def test_records_that_were_shared_out_for_components_count_once_when_these_are_gone_or_there_again(lossy):
    records = stream(seed=10, vertices=1000, edges=3000)
    with Placed(lossy, "directed", records) as streamed:
        for end_of_life in ("gone", "there again"):
            lossy.start(ConnectedComponents(), "components", stream="directed")
            streamed.admit(len(records) // 5)
            lossy.remove("components")
            streamed.admit(len(records) // 5)
            if end_of_life == "there again":
                components = lossy.start(ConnectedComponents(), "components", stream="directed")
            breakage = Breakage(streamed)
            lose(lossy)
            breakage.exact_again(f"components {end_of_life}")
            streamed.check_main()
        judge_components(components, streamed)
        admit_all(streamed)
        judge_components(components, streamed)
        streamed.check_main()
        lossy.remove("components")


def test_a_branch_with_other_parameters_is_forked_again_from_the_same_cut(lossy):
    records = stream(seed=3, **LARGE)
    other = int(records.src[0])
    with Placed(lossy, "streamed", records) as streamed:
        admit_all(streamed, 20_000)
        streamed.source = other
        end(pids_of(lossy)[0], signal.SIGSTOP)  # so that they are surely under way
        branches = [streamed.loop.fork(parameters={"source": other}) for _ in range(4)]
        stopped = streamed.loop.fork(parameters={"source": other})
        end(pids_of(lossy)[0])
        stopped.stop()
        for branch in branches:
            streamed.check_branch(branch)
        assert stopped.wait(60)
        assert stopped.state in {BranchState.STOPPED, BranchState.CONVERGED}


@pytest.mark.usefixtures("patient")
def test_workers_that_are_lost_again_while_they_are_restored(lossy, monkeypatch):
    restart, left = lossy.engine.on_restart, [2]

    def restart_and_lose():
        if left[0]:
            left[0] -= 1
            end(pids_of(lossy)[left[0] % 2])
        restart()

    monkeypatch.setattr(lossy.engine, "on_restart", restart_and_lose)
    with Placed(lossy, "streamed", stream()) as streamed:
        streamed.admit(3000)
        end(pids_of(lossy)[1], signal.SIGSTOP)  # so that it is surely under way
        breakage = Breakage(streamed, streamed.loop.fork())
        end(pids_of(lossy)[0])
        admit_all(streamed)
        breakage.exact_again("lost three times in a row", losses=3)
        streamed.check_main()


def test_edges_and_forks_from_many_threads_while_workers_are_replaced(lossy, monkeypatch):
    """Nothing may reach the new workers before the loops are there."""
    restart = lossy.engine.on_restart
    monkeypatch.setattr(lossy.engine, "on_restart", lambda: (time.sleep(0.1), restart()))
    records = stream(seed=5, **LARGE)
    with Placed(lossy, "streamed", records) as streamed:
        stop, failures = threading.Event(), []

        def fork():
            try:
                while not stop.is_set():
                    branch = streamed.loop.fork()
                    branch.wait(0.02)
                    branch.cancel()
            except Exception as error:  # noqa: BLE001
                failures.append(error)

        forking = [threading.Thread(target=fork) for _ in range(2)]
        for thread in forking:
            thread.start()
        for kill_at in (20_000, 50_000):
            while streamed.admitted < kill_at and streamed.admit(37):
                pass
            lose(lossy)
            while not is_restored(lossy):
                assert streamed.admit(3)
                time.sleep(0.002)
        admit_all(streamed, 5000)
        stop.set()
        for thread in forking:
            thread.join()
        assert not failures
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()


def asked_where_all_hang(streamed, source):
    """Three branches of which one worker has told and the other has not, as it hangs; then the one that is asked hangs, too."""
    engine = streamed.master.engine
    for _ in range(10):
        streamed.check_branch(streamed.loop.fork())  # nothing is left to do from what came before
        breakage, losses = Breakage(streamed), engine.losses
        first, second = pids_of(streamed.master)
        end(second, signal.SIGSTOP)
        # Of another source: one of the loop's own begins when both workers have said that they are at rest.
        branches = [streamed.loop.fork(parameters={"source": source}) for _ in range(3)]
        eventually(
            lambda losses=losses, branches=branches: (
                engine.losses > losses or all(len(branch.processors) == 1 for branch in branches)
            )
        )
        if engine.losses == losses:
            end(first, signal.SIGSTOP)
            return breakage, branches
        # Its silence was noticed before: once more.
        eventually(lambda: is_restored(streamed.master) and engine._reason is None)
        for branch in branches:
            branch.cancel()
    pytest.fail("silence was noticed ten times before a worker had told of three branches")


def test_a_worker_hangs_while_somebody_watches_the_progress_of_a_branch(lossy):
    """Who takes reports and sees losses must not wait for who asks a worker that hangs."""
    records = stream()
    other = int(records.src[0])
    with Placed(lossy, "streamed", records) as streamed:
        admit_all(streamed)
        breakage, branches = asked_where_all_hang(streamed, other)  # what the second reports comes meanwhile
        _, second = pids_of(lossy)
        watching = threading.Event()

        def watch():
            while not watching.is_set():
                for found in branches:
                    with contextlib.suppress(WorkerLost):
                        found.progress()

        watchers = [threading.Thread(target=watch, daemon=True) for _ in range(2)]
        for thread in watchers:
            thread.start()
        time.sleep(0.1)
        end(second, signal.SIGCONT)
        try:
            breakage.exact_again("SIGSTOP while watched")
            streamed.source = other
            for found in branches:
                streamed.check_branch(found)
        finally:
            watching.set()
        for thread in watchers:
            thread.join(10)
            assert not thread.is_alive()


def test_a_branch_can_be_cancelled_while_its_worker_hangs(lossy):
    records = stream(seed=3, **LARGE)
    with Placed(lossy, "streamed", records) as streamed:
        admit_all(streamed, 20_000)
        _, branches = asked_where_all_hang(streamed, int(records.src[0]))
        # At once: each waits for the one that is asked how far it got, until that is given up, and then they would go on.
        with ThreadPoolExecutor(len(branches)) as pool:
            list(pool.map(Branch.cancel, branches))
        assert [branch.state for branch in branches] == [BranchState.CANCELLED] * 3
        streamed.check_branch(streamed.loop.fork())


@pytest.mark.usefixtures("patient")
def test_a_loop_that_is_started_while_workers_are_lost_runs_or_says_so(lossy):
    with Placed(lossy, "streamed", stream()) as streamed:
        admit_all(streamed, 4000)
        for number in range(4):
            losses = lossy.engine.losses
            end(pids_of(lossy)[0])
            time.sleep(0.05 * number)
            begun = time.monotonic()
            try:
                with Placed(lossy, f"other-{number}", stream()) as other:
                    other.admit(2000)
                    other.check_branch(other.loop.fork())
            except WorkerLost as error:
                print(f"\nstarting during a loss: {error}")
            eventually(lambda losses=losses: lossy.engine.losses > losses)
            streamed.check_branch(streamed.loop.fork())
            assert took_s(begun) < within(2 * (RECOVERED_WITHIN_S + NOTICED_WITHIN_S)), (
                "a loop that was started, and one that was there"
            )
            assert lossy.engine.losses == losses + 1


def test_closing_while_workers_are_replaced_ends_soon_and_leaves_nothing(remote):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    master = master_at(remote)
    restart, restoring = master.engine.on_restart, threading.Event()

    def restart_slowly():
        restoring.set()
        end(pids_of(master)[0])  # so that what it waits for never comes
        time.sleep(0.2)  # closing has begun
        restart()

    with Placed(master, "streamed", stream()) as streamed:
        admit_all(streamed)
        branch = streamed.loop.fork()
        master.engine.on_restart = restart_slowly
        end(pids_of(master)[0])
        assert restoring.wait(60)
        closing = threading.Thread(target=master.close, daemon=True)
        closing.start()
        closing.join(20)
        assert not closing.is_alive()
        assert branch.wait(1)
    if remote == "processes":
        assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_workers_that_are_lost_again_and_again_are_given_up(lossy, monkeypatch):
    restart = lossy.engine.on_restart

    def restart_in_vain():
        restart()
        end(pids_of(lossy)[0])

    monkeypatch.setattr(lossy.engine, "on_restart", restart_in_vain)
    records = stream(seed=3, **LARGE)
    with Placed(lossy, "streamed", records) as streamed:
        streamed.admit(20_000)
        assert streamed.loop.fork().wait(60)
        monkeypatch.setattr(cluster, "_MOST_LOSSES", 3)
        end(pids_of(lossy)[0])
        eventually(lambda: streamed.loop.error is not None, 60)
        # One that began before the end, and one after.
        said = "3 sets of workers in a row were lost within 1 s.*Look for what ends them"
        with pytest.raises(WorkerLost, match=said):
            streamed.loop.fork()
        with pytest.raises(WorkerLost, match=said):
            streamed.admit(10)
        with pytest.raises(WorkerLost):
            Placed(lossy, "another", stream())
        assert lossy.engine.losses >= 3
        assert not pids_that_run(lossy)


def pids_that_run(master):
    return [pid for pid in pids_of(master) if runs(pid)]


def test_branches_that_run_when_workers_are_given_up_fail(lossy, monkeypatch):
    records = stream(seed=3, **LARGE)
    with Placed(lossy, "streamed", records) as streamed:
        admit_all(streamed, 20_000)
        monkeypatch.setattr(cluster, "_MOST_LOSSES", 1)
        for host in lossy._hosts:  # some branch failed there long ago: that is not what happens now
            host._failures.append((None, 10**9, ValueError("long ago")))
        end(pids_of(lossy)[0], signal.SIGSTOP)
        branches = [streamed.loop.fork() for _ in range(3)]
        told = []
        for branch in branches:
            branch.add_done_callback(lambda branch: told.append(branch.state))
            assert branch.wait(60)
            assert (branch.state, type(branch.error)) == (BranchState.FAILED, WorkerLost)
        eventually(lambda: len(told) == 3)  # they are told behind who waits
        assert told == [BranchState.FAILED] * 3


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(6))
def test_workers_that_are_lost_at_any_moment(lossy, seed):
    chance = random.Random(seed)
    loops = [
        Placed(lossy, f"streamed-{bound}", records, bound)
        for bound, records in ((1, stream(seed)), (64, stream(seed + 1, **LARGE)), (None, stream(seed + 2)))
    ]
    losses = 0
    while sum(streamed.admit(chance.randrange(1, 2000)) for streamed in loops):
        victims = chance.sample(pids_of(lossy), chance.choice([1, 2]))
        end(victims[0], signal.SIGSTOP)
        branches = [(streamed, streamed.loop.fork()) for streamed in loops for _ in range(3)]
        losses = lossy.engine.losses
        for pid in victims:
            end(pid, chance.choice([signal.SIGKILL, signal.SIGSTOP]))
        for streamed in loops:
            streamed.admit(chance.randrange(1, 500))
        if chance.random() < 0.3:
            eventually(lambda before=losses: lossy.engine.losses > before)
            time.sleep(chance.uniform(0, 1.5))  # anywhere in the recovery
            for pid in pids_of(lossy)[:1]:
                end(pid)
        for streamed, branch in branches:
            try:
                streamed.check_branch(branch)
            except WorkerLost:  # it was over, and its values went with the workers that held them
                assert lossy.engine.losses > losses + 1
                eventually(lambda: is_restored(lossy) and lossy.engine._reason is None)
                streamed.check_branch(streamed.loop.fork())
        eventually(lambda: is_restored(lossy) and lossy.engine._reason is None)
    assert losses
    for streamed in loops:
        streamed.check_branch(streamed.loop.fork(), independent=True)
        streamed.check_main()


# Stored snapshots


def test_workers_that_are_lost_right_after_a_snapshot_was_written_take_nothing_in_twice(remote):
    with master_at(remote, MemoryStore()) as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(2000)
        write = streamed.loop.stream.stored.write

        def write_and_lose(*arguments, **options):
            write(*arguments, **options)
            lose(master, 1)
            eventually(lambda: is_restored(master))

        streamed.loop.stream.stored.write = write_and_lose
        version = streamed.loop.checkpoint()
        streamed.loop.stream.stored.write = write
        streamed.check_main()
        streamed.check_branch(streamed.loop.fork())
        admit_all(streamed)
        end(pids_of(master)[0])
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        assert streamed.loop.snapshots()[-1].version == version


def test_a_worker_that_is_lost_before_a_snapshot_is_written(remote):
    with master_at(remote, MemoryStore()) as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(2000)
        with pytest.raises(WorkerLost):
            streamed.loop.checkpoint(before_write=lambda: end_and_wait(master))
        assert streamed.loop.snapshots() == []
        version = streamed.loop.checkpoint()
        streamed.admit(2000)
        end_and_wait(master)
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        judge(streamed.loop.fork(at=version).values(), streamed.records, 2000)


def end_and_wait(master):
    losses = master.engine.losses
    end(pids_of(master)[0])
    eventually(lambda: master.engine.losses > losses)


def test_a_branch_older_than_the_newest_snapshot_fails_and_its_end_may_ask_again(remote):
    """Who is told of the end of a branch may fork the next one, from that very thread."""
    with master_at(remote, MemoryStore()) as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(2000)
        old = streamed.loop.fork()
        assert old.wait(60)
        # As if it took long: what it is waited for with is put back.
        old._state = BranchState.RUNNING
        streamed.loop._branches[old.id] = old
        again = []
        old.add_done_callback(lambda _: again.append(streamed.loop.fork()))
        streamed.admit(2000)
        streamed.loop.checkpoint()
        end_and_wait(master)
        assert old.wait(60)
        assert (old.state, type(old.error)) == (BranchState.FAILED, WorkerLost)
        eventually(lambda: again)
        streamed.check_branch(again[0])
        streamed.check_main()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.soak)])
def test_workers_are_killed_between_and_in_checkpoints_of_a_durable_store(remote, tmp_path, kills):
    engine, _, spark = remote.partition(":")
    url = f"lmdb://{tmp_path}/store"
    options = {"workers": 2, "engine": engine, "spark_master": spark or None}
    records = stream(seed=4, vertices=2000, edges=20_000)
    with tornado.open(url, **options) as session:
        session.start(ShortestPaths(source=SOURCE), "streamed", checkpoint_every_s=0.2)
        streamed = Placed.__new__(Placed)
        adopt(streamed, session.master, records)
        every = len(records) // (kills + 1)
        for kill in range(kills):
            while streamed.admitted < (kill + 1) * every:
                assert streamed.admit(251)
                time.sleep(0.005)
            breakage = Breakage(streamed)
            end(pids_of(session.master)[kill % 2])
            for _ in range(20):
                streamed.admit(53)
            breakage.exact_again(f"kill {kill} with checkpoints")
        admit_all(streamed)
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        assert streamed.loop.snapshots()
        stored = streamed.loop.checkpoint()
    with tornado.open(url, workers=3) as session:
        session.start(ShortestPaths(source=SOURCE), "streamed")
        loop = session.master.loops["streamed"]
        assert loop.restored.is_converged and loop.restored.snapshot.version == stored
        judge(loop.approximation(), records, len(records))


def adopt(streamed, master, records):
    """A stream into a loop that a session has started."""
    from tests.loops.streaming import Streaming

    Streaming.__init__(streamed, records, SOURCE, master.workers, 64)
    streamed.master, streamed.loop = master, master.loops["streamed"]


@pytest.mark.skipif("local-cluster" not in "".join(PLACES), reason="only there a JVM is an executor")
def test_an_executor_that_is_killed_is_replaced(lossy):
    with Placed(lossy, "streamed", stream()) as streamed:
        streamed.admit(3000)
        streamed.check_branch(streamed.loop.fork())
        end(pids_of(lossy)[1], signal.SIGSTOP)  # so that it is surely under way
        breakage = Breakage(streamed, streamed.loop.fork())
        executors = [
            child
            for child in psutil.Process().children(recursive=True)
            if runs(child.pid) and any("CoarseGrainedExecutorBackend" in word for word in child.cmdline())
        ]
        assert len(executors) == 2
        breakage.begin()
        executors[0].kill()
        admit_all(streamed)
        breakage.exact_again("executor killed", recovered_within_s=EXECUTOR_WITHIN_S)
        streamed.check_main()


def test_a_fork_server_that_hangs_is_replaced_with_its_workers(compiled_paths):
    begun_s = time.monotonic()
    with master_at("processes") as master, Placed(master, "streamed", stream()) as streamed:
        started_s = time.monotonic() - begun_s
        streamed.admit(1000)
        server, (first, second) = psutil.Process(pids_of(master)[0]).parent(), pids_of(master)
        for pid, number in ((server.pid, signal.SIGSTOP), (second, signal.SIGSTOP), (first, signal.SIGKILL)):
            os.kill(pid, number)
        breakage = Breakage(streamed)
        streamed.admit(1000)
        # Another server imports everything first, as the first one did.
        breakage.exact_again("fork server stopped", recovered_within_s=RECOVERED_WITHIN_S + 2 * started_s)
        assert not any(runs(pid) for pid in (server.pid, first, second))


def test_a_driver_of_spark_that_has_ended_is_said():
    spark = pytest.importorskip("tornado.engine.spark")

    class Ended:
        def setJobGroup(self, *_, **__):  # noqa: N802  as Spark calls it
            raise ConnectionRefusedError(111, "Connection refused")

    job = spark._Job(Ended(), "tornado.loops.remote_worker", [], "group")
    job.run()
    assert "the JVM of the driver) has ended" in job.outcome
