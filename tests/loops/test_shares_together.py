"""Small shares that wait one behind another are applied as one, with what each of them would have done."""

import numpy as np
import pytest

from tornado.graph import PartitionMap
from tornado.loops.edge_shares import mentions_of, shares_of
from tornado.loops.stream_part import _IN_BULK, StreamPart
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import EdgeHistory, mixed, ragged_batches, random_multigraph

PARTITION = PartitionMap.even(2)


class Reader:
    """A loop that hears of edges, and does nothing about them."""

    hears_back, declared_points, awaits_edges, has_branches = 0, None, False, False

    def __init__(self):
        self.heard = 0

    def hear(self):
        self.heard += 1

    def is_behind(self):
        return False

    def drain(self):
        return True

    activate = stop_scans = lambda self: None


class Part:
    """One worker's part of a stream with one loop on it, and what it said of what was applied."""

    def __init__(self, worker):
        self.worker, self.reader, self.applied = worker, Reader(), []
        self.part = StreamPart(PARTITION, worker, self.applied.append)
        self.part.join(self.reader)

    def obey(self):
        while self.part.has_commands:
            self.part.obey(self.reader)

    def edges(self):
        return sorted(zip(*(column.tolist() for column in self.part.graph.edges()), strict=True))


@pytest.mark.parametrize("has_branches", [False, True])
@pytest.mark.parametrize("worker", [0, 1])
def test_what_waits_is_applied_together_as_if_one_by_one_and_each_fork_has_what_came_before_it(
    worker, has_branches
):
    records = mixed(random_multigraph(300, 6_000, seed=3), seed=4)
    together, alone = Part(worker), Part(worker)
    together.reader.has_branches = has_branches
    forked, expected, shared, came = [], [], 0, 0
    for number, batch in enumerate(ragged_batches(records, largest=400, seed=5)):
        for part in (together, alone):
            share = shares_of(batch, PARTITION)[worker]
            part.part.admit(share)
        shared += 1
        came += share.records
        alone.obey()
        if number % 23 == 22:
            graph = together.part.graph
            together.part.fork(
                together.reader,
                lambda graph=graph: forked.append((graph.sequence, graph.vertices, together.edges())),
            )
            expected.append((alone.part.graph.sequence, alone.part.graph.vertices, alone.edges()))
    together.obey()
    assert len(expected) > 3
    assert forked == expected
    assert together.edges() == alone.edges()
    assert len(together.edges()) > 1_000
    assert sum(together.applied) == sum(alone.applied) == came
    assert together.reader.heard < shared / 3


def test_vertices_that_only_records_elsewhere_name_are_known_whichever_share_says_so():
    part = Part(0)
    owners = PARTITION.owners_of(np.arange(200))
    own, elsewhere = np.flatnonzero(owners == 0)[:41], np.flatnonzero(owners == 1)[0]
    for first, second in zip(own[:20], own[20:40], strict=True):
        part.part.admit(shares_of(EdgeBatch.of([first, second], [own[40], elsewhere]), PARTITION)[0])
    part.obey()
    assert part.applied == [20], "all at once"
    assert part.part.graph.vertices == 41


def test_a_share_that_is_applied_in_part_is_continued_before_small_ones_behind_it():
    part, expected = Part(0), Part(0)
    part.reader.has_branches = True
    large = EdgeBatch.of(np.zeros(4_000, np.int64), np.arange(4_000))
    removed = [EdgeBatch.of([0], [target], op="-") for target in (0, 3_999, 3_999)]
    for batch in (large, *removed):
        part.part.admit(shares_of(batch, PARTITION)[0])
        expected.part.admit(shares_of(batch, PARTITION)[0])
        expected.obey()
    part.obey()
    assert len(part.applied) > 1
    assert part.edges() == expected.edges()


def test_vertices_that_come_alone_keep_their_place():
    part = Part(0)
    one = EdgeBatch.of(np.arange(50), np.arange(50) + 1)
    shares = [
        shares_of(one, PARTITION)[0],
        mentions_of(np.arange(1_000, 1_010), PARTITION)[0],
        shares_of(one, PARTITION)[0],
        shares_of(one, PARTITION)[0],
    ]
    expected = [shares[0].records, shares[1].records, 2 * shares[2].records]
    for share in shares:
        part.part.admit(share)
    part.obey()
    assert part.applied == expected
    first, both_ways = shares_of(one, PARTITION)[0], shares_of(one, PARTITION, both_ways=True)[0]
    assert not first.goes_with(both_ways)


def test_small_shares_never_count_as_what_comes_in_bulk():
    part = Part(0)
    batches = [EdgeBatch.of(np.full(700, number), np.arange(700)) for number in range(30)]
    for batch in batches:
        part.part.admit(shares_of(batch, PARTITION)[0])
    part.obey()
    assert len(batches[0]) < max(part.applied) < _IN_BULK
    live = EdgeHistory.of(EdgeBatch.concat(batches)).at(700 * 30)
    assert part.part.edge_count() == int((PARTITION.owners_of(live.dst) == 0).sum())
