"""A stream that begins with a snapshot has memory put under its lists before its loops are made, which takes a while."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.loops.snapshot_writer import SOURCE, stream
from tests.promised import eventually
from tornado.errors import InvalidArgument
from tornado.graph import EvolvingGraph
from tornado.kinds.selective.kind import SelectivePlan
from tornado.loops import Master
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
        branch = loop.fork()
        assert branch.wait(WAIT_S)
        ids, values = branch.values().arrays()
        assert np.array_equal(
            values, exact_distances(EdgeHistory.of(records).at(len(records)), SOURCE).lookup(ids)
        )


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


def test_a_stream_without_a_snapshot_expects_nothing(happened):
    with Master(None, 2) as master:
        master.start(ShortestPaths(source=SOURCE), NAME)
    assert [what for what, _, _ in happened] == ["made"] * 2
