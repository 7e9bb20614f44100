"""Checkpoints of a loop that takes in edges as fast as it can: nothing is lost, nothing stands still, and all of it stays exact.

What is proportional to the graph and happens beside a loop is seen at size only, so the soak has 16 million edges. It times what
it does, and so it wants an idle machine.
"""

import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

import tornado
from apps.sssp import ShortestPaths
from tests.promised import eventually
from tornado.testing import exact_distances, rmat, root_of

NAME = "loaded"
WAIT_S = 300
BATCH = 1 << 14


class Beside(threading.Thread):
    """Measures something again and again while edges are admitted."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopped = threading.Event()
        self.took_s = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join()

    def run(self):
        while not self.stopped.is_set():
            begun = time.perf_counter()
            self.measure()
            self.took_s.append(time.perf_counter() - begun)

    def p99_s(self):
        return float(np.quantile(self.took_s, 0.99))


class Stalls(Beside):
    """How late a thread of this process comes that wants to go on 2 ms later: what every handler of a request would feel."""

    def measure(self):
        time.sleep(0.002)


class Questions(Beside):
    """Exact questions, one after another."""

    def __init__(self, loop, ids):
        super().__init__()
        self.loop, self.ids = loop, ids

    def measure(self):
        branch = self.loop.fork()
        assert branch.wait(WAIT_S)
        branch.values().lookup(self.ids)
        branch.release()
        time.sleep(0.05)


@dataclass(frozen=True)
class Load:
    seconds: float
    stored: int
    losses: int
    stall_p99_s: float
    stall_most_s: float
    question_p99_s: float


def load(place, url, edges, root, every_s):
    """Admit all edges, with a checkpoint every so often, and compare what is stored and what is answered with an oracle."""
    engine, _, spark = place.partition(":")
    with tornado.open(url, 2, engine=engine, spark_master=spark or None) as session:
        session.start(ShortestPaths(source=root), NAME, checkpoint_every_s=every_s)
        loop = session.master.loops[NAME]
        begun, offset = time.perf_counter(), 0
        with Stalls() as stalls, Questions(loop, np.arange(root, root + 10)) as questions:
            for batch in edges.batches(BATCH):
                offset += len(batch)
                loop.admit(batch, "edges", offset)
            assert loop.wait_idle(WAIT_S)
            seconds = time.perf_counter() - begun
        if every_s is not None:
            stored = session.service.served(loop).checkpoints
            eventually(lambda: stored.statistics().stored > 0, WAIT_S)
            snapshot = loop.snapshots()[-1]
            check(loop.fork(at=snapshot.version), edges[: snapshot.offsets.get("edges", 0)], root)
            assert stored.statistics().failed == 0
        check(loop.fork(), edges, root)
        found = Load(
            seconds,
            len(loop.snapshots()),
            session.master.engine.losses,
            stalls.p99_s(),
            max(stalls.took_s),
            questions.p99_s(),
        )
    print(f"\n{place}, a checkpoint every {every_s} s: {found}")
    return found


def check(branch, edges, root):
    assert branch.wait(WAIT_S)
    ids, values = branch.values().arrays()
    assert np.array_equal(values, exact_distances(edges, root).lookup(ids))
    assert len(ids) == len(edges.ids())
    branch.release()


@pytest.mark.usefixtures("patient")
def test_checkpoints_under_full_admission_lose_no_worker_and_are_exact(place, tmp_path, monkeypatch):
    monkeypatch.setattr("tornado.loops.admission_log._LONG_LOG_RECORDS", 1000)
    edges = rmat(13)
    found = load(place, f"lmdb://{tmp_path}/store", edges, root_of(edges), 0.05)
    assert found.losses == 0
    assert found.stored


@pytest.mark.soak
def test_sixteen_million_edges_with_a_checkpoint_every_ten_seconds(place, tmp_path):
    edges = rmat(20)
    root = root_of(edges)
    without = load(place, f"lmdb://{tmp_path}/without", edges, root, None)
    found = load(place, f"lmdb://{tmp_path}/with", edges, root, 10.0)
    assert (without.losses, found.losses) == (0, 0)
    assert found.stored > 1
    assert found.seconds <= 1.5 * without.seconds
    assert found.stall_p99_s < 0.05
    assert found.question_p99_s < 1.0
