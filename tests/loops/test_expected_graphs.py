"""A stream that begins with a snapshot has memory put under its lists before its loops are made, which takes a while."""

import threading
from contextlib import suppress

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.engine.places import lose
from tests.loops.snapshot_writer import SOURCE, stream
from tests.promised import eventually
from tornado import EdgeBatch
from tornado.errors import InvalidArgument, WorkerLost
from tornado.graph import EvolvingGraph
from tornado.kinds.selective.kind import SelectivePlan
from tornado.loops import Master
from tornado.loops.main_loop import MainLoop
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory, batches, exact_distances

NAME = "roads"
WAIT_S = 60


@pytest.fixture
def stored():
    """A store that has a snapshot, and the records in it."""
    store, records = MemoryStore(), stream(seed=3)
    with Master(store, 2) as master:
        loop = master.start(ShortestPaths(source=SOURCE), NAME)
        for number, batch in enumerate(batches(records, 200)):
            loop.admit(batch, "edges", number)
        loop.checkpoint()
    return store, records


@pytest.fixture
def happened(monkeypatch):
    """What was expected, and which parts were made, in their order."""
    found = []
    expect, part = EvolvingGraph.expect, SelectivePlan.part

    def noted_expect(graph, edges):
        found.append(("expected", graph, edges))
        expect(graph, edges)

    def noted_part(plan, **how):
        made = part(plan, **how)
        found.append(("made", made.stream.graph, 0))
        return made

    monkeypatch.setattr(EvolvingGraph, "expect", noted_expect)
    monkeypatch.setattr(SelectivePlan, "part", noted_part)
    return found


def expected_on(master):
    return [graph for host in master._hosts for graph in host._expected.values()]


def answered(loop):
    branch = loop.fork()
    assert branch.wait(WAIT_S)
    return branch.values().arrays()


def exact_of(records):
    return exact_distances(EdgeHistory.of(records).at(len(records)), SOURCE)


def test_the_graph_that_was_expected_is_that_of_the_loops(stored, happened):
    store, records = stored
    with Master(store, 2) as master:
        loop = master.start(ShortestPaths(source=SOURCE), NAME)
        by_worker = {id(graph): [] for _, graph, _ in happened}
        for what, graph, edges in happened:
            by_worker[id(graph)].append((what, edges))
        edges = loop.stream.stored.newest().edge_count
        assert list(by_worker.values()) == [[("expected", edges // 2), ("made", 0)]] * 2
        assert not expected_on(master)
        ids, values = answered(loop)
        assert np.array_equal(values, exact_of(records).lookup(ids))


def test_nothing_is_kept_for_a_stream_that_does_not_begin(stored, happened, monkeypatch):
    store, _ = stored

    def refused(*_):
        raise InvalidArgument("its program cannot be had")

    with Master(store, 2) as master:
        with monkeypatch.context() as patched:
            patched.setattr("tornado.kinds.selective.kind.warm", refused)
            with pytest.raises(InvalidArgument, match="cannot be had"):
                master.start(ShortestPaths(source=SOURCE), NAME)
        eventually(lambda: len(happened) == 2 and not expected_on(master))
        assert [what for what, _, _ in happened] == ["expected"] * 2


def test_what_cannot_be_expected_is_a_matter_of_who_starts_the_loop_alone(stored, monkeypatch):
    store, records = stored

    def fails(graph, edges):
        raise RuntimeError("can't start new thread")

    with Master(store, 2) as master:
        other = master.start(ShortestPaths(source=SOURCE), "other")
        monkeypatch.setattr(EvolvingGraph, "expect", fails)
        loop = master.start(ShortestPaths(source=SOURCE), NAME)
        ids, values = answered(loop)
        assert np.array_equal(values, exact_of(records).lookup(ids))
        assert other.error is None
        assert not expected_on(master)


def test_a_snapshot_that_is_forgotten_while_loops_are_put_back_is_not_asked_for(stored, monkeypatch):
    """A writer that has all it needs comes to its end meanwhile, and what is older is forgotten."""
    store, records = stored
    read, may_write = threading.Event(), threading.Event()
    write, install_again = store.write, MainLoop.install_again

    def late(*args, **kwargs):
        read.set()
        assert may_write.wait(WAIT_S)
        write(*args, **kwargs)

    def slow(loop):
        monkeypatch.undo()
        before = loop.stream.stored.newest_version()
        may_write.set()
        eventually(lambda: loop.stream.stored.newest_version() > before)
        loop.stream.trim_snapshots(keep=1)
        assert loop.stream.stored.newest_version() > before
        install_again(loop)

    with Master(store, 2, "processes") as master:
        loop = master.start(ShortestPaths(source=SOURCE), NAME)
        loop.admit(EdgeBatch.of([SOURCE], [999_999], [1.0], "+"), "more", 1)
        assert loop.wait_idle(WAIT_S)
        monkeypatch.setattr(store, "write", late)
        writer = threading.Thread(target=lambda: suppress_lost(loop.checkpoint))
        writer.start()
        assert read.wait(WAIT_S)
        monkeypatch.setattr(MainLoop, "install_again", slow)
        lose(master)
        eventually(lambda: loop.error is not None or (master.engine.losses and loop.stream.is_whole))
        writer.join()
        ids, values = answered(loop)
        assert values[ids == 999_999].tolist() == [1.0]
        assert np.array_equal(values[ids != 999_999], exact_of(records).lookup(ids[ids != 999_999]))


def suppress_lost(store_it):
    with suppress(WorkerLost):
        store_it()


def test_a_stream_without_a_snapshot_expects_nothing(happened):
    with Master(None, 2) as master:
        master.start(ShortestPaths(source=SOURCE), NAME)
    assert [what for what, _, _ in happened] == ["made"] * 2
