"""A fork under full load is consistent: every branch equals the oracle on the prefix that its snapshot names.

Two kinds of load: threads of their own that admit as fast as the loop takes it, each a source that never ends, while many branches
run at a time; and streams of every kind of record, admitted by the thread that forks.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.loops.streaming import TIMEOUT_S, streaming
from tests.shortened import in_soak
from tornado.errors import QueueFull
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE
from tornado.testing import exact_distances, mixed, random_multigraph, rmat, root_of, sliding_window
from tornado.testing.edges import EdgeList

BRANCHES = 200
SOURCES = 3
AT_A_TIME = 24


class Endless(threading.Thread):
    """A source that never ends: the newest `window` of its edges are there, and go round. Admits on a thread of its own."""

    def __init__(self, name, edges, *, window, batch, vertices):
        super().__init__(name=name, daemon=True)
        self.edges, self.window, self.batch = edges, window, batch
        self.batches, self.error = 0, None
        self.stopping = threading.Event()
        # Of each vertex, how many edges have come in when it is first named.
        self.named_with = np.full(vertices, np.iinfo(np.int64).max)
        for ends in (edges.src, edges.dst):
            np.minimum.at(self.named_with, ends, np.arange(len(edges)))

    def feed(self, loop):
        self.loop = loop
        self._admit(self._records(0, self.window, INSERT), self.window)
        self.start()

    def run(self):
        try:
            while not self.stopping.is_set():
                came = self.window + self.batches * self.batch
                batch = EdgeBatch.concat(
                    [
                        self._records(came - self.window, self.batch, REMOVE),
                        self._records(came, self.batch, INSERT),
                    ]
                )
                self._admit(batch, self.window + (self.batches + 1) * len(batch))
                self.batches += 1
        except Exception as error:  # noqa: BLE001 - raised where the test can see it
            self.error = error

    def at(self, offset):
        """The edges that are there at an offset, and which vertices have been named."""
        came = self.window + (offset - self.window) // 2
        assert offset >= self.window and (offset - self.window) % (2 * self.batch) == 0, "a part of a batch"
        return self.edges[self._places(came - self.window, self.window)], self.named_with < came

    def _admit(self, batch, offset):
        self.loop.admit(batch, self.name, offset, timeout_s=TIMEOUT_S)

    def _places(self, first, count):
        return np.arange(first, first + count) % len(self.edges)

    def _records(self, first, count, op):
        return self.edges[self._places(first, count)].records(op=op)


def union(parts):
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("src", "dst", "weight"))
    return EdgeList(*columns, vertices=parts[0].vertices)


def compare(sources, root, offsets, ids, found):
    """The values of a branch are those of the oracle, bit for bit; returns the prefix."""
    parts, named = zip(*(source.at(offsets[source.name]) for source in sources), strict=True)
    assert ids.tolist() == np.flatnonzero(np.any(named, axis=0)).tolist()
    expected = exact_distances(union(parts), root).lookup(ids)
    wrong = np.flatnonzero(found.view(np.int64) != expected.view(np.int64))
    assert not len(wrong), f"{len(wrong)} of {len(ids)} wrong at {offsets}, first vertex {ids[wrong[0]]}"
    return tuple(offsets[source.name] for source in sources)


def over(branch):
    """What a branch came to, and let go of it."""
    assert branch.wait(TIMEOUT_S), f"branch {branch.id} did not end"
    assert branch.state is BranchState.CONVERGED, (branch.state, branch.error)
    result = dict(branch.snapshot.offsets), *branch.values().arrays()
    branch.release()
    return result


@pytest.mark.parametrize("workers", [in_soak(1), 2, in_soak(4)])
def test_200_branches_two_dozen_at_a_time_are_exact_while_threads_of_their_own_feed_the_loop(workers):
    edges = rmat(15, seed=workers, degree=14)
    root = root_of(edges)
    # All records of an edge come through one source.
    whose = (edges.src.astype(np.int64) * 31 + edges.dst) % SOURCES
    sources = [
        Endless(f"feed-{number}", mine, window=len(mine) * 3 // 4, batch=500, vertices=edges.vertices)
        for number in range(SOURCES)
        for mine in [edges[whose == number]]
    ]
    most, running, checks, named = 0, [], [], None
    with Master(workers=workers) as master, ThreadPoolExecutor(1) as checker:
        loop = master.start(ShortestPaths(source=root), "fed")
        for source in sources:
            source.feed(loop)
        try:
            for _ in range(BRANCHES):
                until_s = time.monotonic() + TIMEOUT_S
                # So that each branch has a prefix of its own.
                while loop.offsets() == named:
                    assert all(source.is_alive() for source in sources), [source.error for source in sources]
                    assert time.monotonic() < until_s, "the loop takes nothing while it has branches"
                    time.sleep(0.0005)
                running.append(loop.fork())
                named = dict(running[-1].snapshot.offsets)
                most = max(most, sum(not branch.wait(0) for branch in running))
                while len(running) >= AT_A_TIME or (running and running[0].wait(0)):
                    checks.append(checker.submit(compare, sources, root, *over(running.pop(0))))
            fed = sum(source.batches for source in sources)
            checks += [checker.submit(compare, sources, root, *over(branch)) for branch in running]
        finally:
            for source in sources:
                source.stopping.set()
        prefixes = {check.result() for check in checks}
        for source in sources:
            source.join()
            assert source.error is None
        # And once more when nobody feeds.
        compare(sources, root, *over(loop.fork()))
    print(f"\n{workers} workers: {most} branches at once, {fed} batches of {len(edges):,} edges meanwhile")
    assert len(prefixes) == BRANCHES
    assert most > AT_A_TIME // 2


def check_forks_under_load(
    records, source, workers, bound, *, batch, in_flight, spacing=1, branches=BRANCHES
):
    """Admit as fast as the loop takes it, and fork all the while; branches are compared once they are over."""
    running = []
    prefixes = []
    most = 0
    with streaming(records, source, workers, bound) as stream:
        number = 0
        while len(prefixes) + len(running) < branches:
            assert stream.admit(batch), f"the stream ended after {len(prefixes) + len(running)} forks"
            number += 1
            if number % spacing:
                continue
            running.append(stream.loop.fork())
            most = max(most, sum(not branch.wait(0) for branch in running))
            while len(running) >= in_flight or (running and running[0].wait(0)):
                branch = running.pop(0)
                assert branch.wait(TIMEOUT_S)
                prefixes.append(stream.check_branch(branch))
        prefixes += [stream.check_branch(branch) for branch in running]
        stream.check_main()
    print(f"{len(set(prefixes))} prefixes, {most} branches at once")
    assert len(set(prefixes)) == branches
    assert most > 1


@pytest.mark.parametrize("bound", [1, in_soak(2), None])
def test_branches_of_a_mixed_stream_at_full_speed_are_exact(bound):
    records = mixed(random_multigraph(800, 40_000, seed=2), seed=3)
    check_forks_under_load(records, 0, 4, bound, batch=500, in_flight=8, branches=60)


@pytest.mark.soak
@pytest.mark.parametrize("bound", [1, 4, 64, None])
@pytest.mark.parametrize("workers", [2, 4])
def test_200_branches_of_a_large_sliding_window_are_exact(workers, bound):
    edges = rmat(17, seed=workers)
    records = sliding_window(edges, len(edges) // 2)
    check_forks_under_load(records, root_of(edges), workers, bound, batch=4000, in_flight=8)


def test_admission_is_refused_in_time_and_whole_when_the_loop_lags():
    """The loop takes no more than its backlog; what it refuses is nowhere."""
    edges = random_multigraph(60_000, 1_500_000, seed=5)
    with streaming(edges, 0, 1, 64) as stream:
        with pytest.raises(QueueFull, match="nothing of this batch was admitted"):
            admit_without_waiting(stream, 300_000)
        assert stream.loop.offsets() == {"stream": stream.admitted}
        stream.check_branch(stream.loop.fork())
        stream.check_main()


def admit_without_waiting(stream, size):
    while stream.admitted < len(stream.records):
        batch = stream.records.slice(stream.admitted, stream.admitted + size)
        stream.loop.admit(batch, "stream", stream.admitted + len(batch), timeout_s=0.0)
        stream.prefixes.append(stream.admitted + len(batch))
