"""Buckets of vertices move from a worker that has too much: the fewest that help, and not again and again."""

import numpy as np
import pytest

from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tests.engine.places import Placed, stream
from tests.loops.general_programs import Paths
from tornado.clock import ManualClock
from tornado.graph import PartitionMap
from tornado.loops import Master
from tornado.loops.balance import Balance, balanced


def skewed(workers, given):
    """A map of which worker 0 has all buckets but `given` for each of the others."""
    buckets = np.zeros(len(PartitionMap.even(1).buckets), np.uint8)
    for worker in range(1, workers):
        buckets[worker::97][:given] = worker
    return PartitionMap(workers, buckets)


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_the_fewest_buckets_move_until_no_worker_has_far_more_than_the_mean(workers):
    before = skewed(workers, 10)
    loads = np.bincount(before.buckets, minlength=workers)
    after = balanced(before, loads)
    counts = np.bincount(after.buckets, minlength=workers)
    mean = counts.mean()
    assert counts.max() <= 1.1 * mean + 1
    moved = np.flatnonzero(before.buckets != after.buckets)
    assert len(moved) <= loads.max() - 1.1 * mean + 1
    assert (before.buckets[moved] == 0).all()


def test_a_map_that_is_balanced_is_left_as_it_is():
    even = PartitionMap.even(4)
    assert balanced(even, [100, 104, 96, 100]) is even
    assert balanced(even, [0, 0, 0, 0]) is even
    assert balanced(even, [100, 0]) is even  # of others, in the place of which these have come


@pytest.mark.parametrize("first", [0, 1_000_000_007])
def test_blocks_of_ids_move_as_buckets_do_though_few_have_any_vertices(first):
    ids = np.arange(first, first + 100_000)
    before = PartitionMap.by("blocks", 2).settled(ids[:-1], ids[1:])
    own = ids[before.owners_of(ids) == 0]
    after = balanced(before, [3, 1])
    moved = (after.owners_of(own) == 1).mean()
    assert 0.1 < moved < 0.5


class Worked:
    """Workers that do so much a second as is said."""

    def __init__(self):
        self.clock, self.done, self.moved = ManualClock(), [0, 0], []

    def loads(self):
        return list(self.done)

    def rebalance(self, loads):
        self.moved.append((self.clock.monotonic(), list(loads)))
        return 0.1

    def go_on(self, seconds, *rates, balance):
        for _ in range(seconds):
            self.clock.advance(1.0)
            self.done = [a + b for a, b in zip(self.done, rates, strict=True)]
            balance.look()


def test_only_a_load_that_stays_moves_anything_and_not_again_at_once():
    worked = Worked()
    balance = Balance(worked)
    worked.go_on(100, 2000, 1500, balance=balance)  # 1.14 of the mean
    worked.go_on(9, 4000, 500, balance=balance)
    worked.go_on(1, 1000, 1000, balance=balance)  # in between
    worked.go_on(9, 4000, 500, balance=balance)
    worked.go_on(30, 90, 10, balance=balance)  # hardly anything
    assert worked.moved == []
    begun_s = worked.clock.monotonic()
    worked.go_on(65, 4000, 500, balance=balance)
    assert worked.moved == [(begun_s + 10.0, [40_000, 5_000])]
    worked.go_on(10, 4000, 500, balance=balance)
    assert len(worked.moved) == 2


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_map_that_is_skewed_on_purpose_comes_to_balance_and_answers_stay_exact(engine):
    with Master(None, 2, engine) as master:
        records = stream(seed=6, vertices=3000, edges=20_000)
        with Placed(master, "streamed", records) as streamed:
            components = master.start(ConnectedComponents(), "components", stream="streamed")
            streamed.admit(2000)
            master._move(skewed(2, 40), master._streams)
            begun = master.loads()
            streamed.admit(6000)
            streamed.check_branch(streamed.loop.fork())
            streamed.check_main()
            loads = [after - before for after, before in zip(master.loads(), begun, strict=True)]
            assert loads[0] > 10 * loads[1]
            assert master.rebalance(loads) > 0
            begun = master.loads()
            streamed.admit(6000)
            streamed.check_branch(streamed.loop.fork())
            streamed.check_main()
            loads = [after - before for after, before in zip(master.loads(), begun, strict=True)]
            assert max(loads) < 1.3 * sum(loads) / 2
            assert components.wait_idle(60)
            beside = master.start(ShortestPaths(source=2), "beside")
            assert beside.partition is master._partition


def test_a_program_with_a_stream_of_its_own_keeps_the_even_map_also_behind_a_move():
    with Master(None, 2) as master, Placed(master, "streamed", stream(seed=6)) as streamed:
        streamed.admit(500)
        master._move(skewed(2, 40), master._streams)
        plain = master.start(Paths(source=1), "plain")
        batch = streamed.records.slice(0, 500)
        plain.admit(batch, "stream", 500)
        branch, expected = plain.fork(), streamed.loop.fork()
        assert branch.wait(60)
        assert expected.wait(60)
        (ids, found), (same, wanted) = branch.values().arrays(), expected.values().arrays()
        assert np.array_equal(ids, same)
        assert np.array_equal(found, wanted)
