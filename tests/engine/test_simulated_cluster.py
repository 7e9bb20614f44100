"""Workers of other processes on one thread: what breaks is noticed and mended by the real engine, whatever it is."""

from collections import deque
from random import Random

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import Away
from tornado.engine import CONNECTIONS, SimulatedCluster
from tornado.errors import ProtocolViolation, WorkerLost
from tornado.loops import BranchState, Master
from tornado.loops.remote_worker import WIRE_TYPES, RemoteWorker
from tornado.records.edge_batch import EdgeBatch
from tornado.timely.fabric import PROGRESS

CHAIN = 12


class Simulated:
    """A chain in a loop, on workers that a test breaks."""

    def __init__(self, seed, workers=2, survivors=(), store=None):
        self.cluster = SimulatedCluster(workers, RemoteWorker, WIRE_TYPES, seed=seed, survivors=survivors)
        self.engine = self.cluster.engine
        self.master = Master(store, workers=workers, engine=self.engine)
        self.loop = self.master.start(ShortestPaths(source=0), "paths")
        ids = np.arange(CHAIN)
        self.loop.admit(EdgeBatch.of(ids[:-1], ids[1:], np.ones(CHAIN - 1)), "a", CHAIN - 1)

    def check(self):
        branch = self.loop.fork()
        branch.wait()
        assert branch.state is BranchState.CONVERGED
        ids, values = branch.values().arrays()
        assert dict(zip(ids.tolist(), values.tolist(), strict=True)) == {
            vertex: vertex for vertex in range(CHAIN)
        }


BREAKAGES = {
    "a worker ends": lambda cluster: cluster.end_worker(1),
    "all end": lambda cluster: [cluster.end_worker(index) for index in range(2)],
    "a worker hangs": lambda cluster: cluster.hang_worker(0),
    **{f"{name} cut": lambda cluster, name=name: cluster.cut(1, name) for name in CONNECTIONS},
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("breakage", BREAKAGES)
def test_whatever_breaks_is_one_loss_and_answers_stay_exact(breakage, seed):
    simulated = Simulated(seed)
    simulated.check()
    BREAKAGES[breakage](simulated.cluster)
    simulated.engine.wait_for(lambda: simulated.engine.recovered_s is not None, None)
    simulated.check()
    assert simulated.engine.losses == 1
    simulated.master.close()


@pytest.mark.parametrize("away_for", [1, 12])
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_store_that_is_away_while_workers_are_lost_is_waited_for(is_stored, away_for):
    store = Away()
    simulated = Simulated(seed=1, store=store)
    if is_stored:
        simulated.loop.checkpoint()
    simulated.check()
    store.away_for = away_for
    simulated.cluster.end_worker(1)
    simulated.engine.wait_for(lambda: simulated.engine.recovered_s is not None, None)
    simulated.check()
    assert simulated.engine.losses == 1 + away_for
    simulated.master.close()


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_where_nothing_breaks_however_long_it_is_quiet(seed):
    simulated = Simulated(seed, workers=3)
    simulated.check()
    assert not simulated.engine.wait_for(lambda: False, 300.0)
    simulated.check()
    assert simulated.engine.losses == 0
    simulated.master.close()


def test_who_waits_for_workers_waits_from_the_moment_of_their_loss():
    simulated = Simulated(seed=3)
    simulated.engine._lose("it is said so")
    waits = []
    wait_for = simulated.cluster.waiting.wait_for

    def counted(condition, timeout_s, **about):
        waits.append(timeout_s)
        assert len(waits) < 100, "it spins"
        return wait_for(condition, timeout_s, **about)

    simulated.cluster.waiting.wait_for = counted
    assert simulated.engine.await_workers() == 1
    simulated.check()


def test_a_driver_whose_workers_outlive_it_does_not_disturb_the_next_one():
    first = Simulated(seed=1)
    first.loop.fork()
    first.cluster.step(20)
    first.cluster.is_dead = True
    survivors = first.cluster.survivors()
    assert len(survivors) == 2
    second = Simulated(seed=2, survivors=survivors)
    second.check()
    second.engine.wait_for(lambda: False, 5.0)
    assert not any(worker.is_alive for worker in survivors)
    assert second.engine.losses == 0


@pytest.mark.parametrize("seed", range(20))
def test_a_connection_shows_a_beginning_of_what_was_sent_in_its_order_and_once(seed):
    rng = Random(seed)
    simulated = Simulated(seed)
    one, other = simulated.cluster.members
    simulated.engine.wait_for(simulated.loop.is_idle, None)
    other.peers.lanes[one.pid] = deque()
    for number in range(30):
        one.peers.send(0, 1, (7, PROGRESS, (number, 0), number))
    seen = []
    for _ in range(rng.randint(0, 3)):
        seen += other.peers.receive(1)
    if rng.random() < 0.5:
        one.cut("peers", rng)
        one.peers.send(0, 1, (7, PROGRESS, (99, 0), 99))
    while other.peers.has_any():
        seen += other.peers.receive(1)
    numbers = [payload for *_, payload in seen]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) == 30 or "peers" in one.broken


def test_what_never_comes_about_is_said():
    simulated = Simulated(seed=1)
    with pytest.raises(ProtocolViolation, match="wait for each other"):
        simulated.engine.wait_for(lambda: False, None)


def test_workers_that_end_at_once_again_and_again_are_given_up():
    simulated = Simulated(seed=1)
    simulated.check()

    def end_all():
        for worker in list(simulated.cluster.members):
            if worker.is_alive and worker.has_joined:
                worker.end()

    simulated.cluster.on_turn = end_all
    with pytest.raises(WorkerLost, match="sets of workers in a row"):
        simulated.loop.wait_idle()
    assert simulated.engine.losses == 9 + 1


@pytest.mark.parametrize("seed", range(5))
def test_a_driver_that_stands_still_takes_nobody_for_lost(seed):
    simulated = Simulated(seed)
    for _ in range(3):
        simulated.loop.fork()
        simulated.cluster.step(10)
        simulated.cluster.stand_still(70.0)
        simulated.check()
    assert simulated.engine.losses == 0


def test_nothing_is_read_of_loops_that_are_not_restored_yet():
    simulated = Simulated(seed=1)
    simulated.check()
    simulated.loop.stream.is_whole = False
    with pytest.raises(WorkerLost, match="being restored"):
        simulated.loop.approximation()
    simulated.loop.stream.is_whole = True
    assert simulated.loop.approximation().count() == CHAIN
