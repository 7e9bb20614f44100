"""What the kernel of selective loops has waiting is bounded by its graph, whatever comes in: its columns have room for so much and no more."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tornado.config import AUTO_DELAY_BOUND
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.kinds.selective import loop_columns as names
from tornado.kinds.selective.loop_columns import NEVER
from tornado.kinds.selective.loop_state import LoopState

FUEL = 1 << 30
LEAVES = 4_000


class Worker:
    """The first of two workers, on which vertices live in the order of `own`; two of the other worker have edges to some of them."""

    def __init__(self, delay_bound=AUTO_DELAY_BOUND, vertices=LEAVES + 1):
        self.kernel = ShortestPaths.kernel()
        self.graph = EvolvingGraph(PartitionMap.even(2), 0)
        self.state = LoopState(worker=0, workers=2, delay_bound=delay_bound)
        ids = np.arange(4 * vertices)
        owners = self.graph._partition.owners_of(ids)
        self.own, self.elsewhere = ids[owners == 0][:vertices], ids[owners == 1][:2]

    def link(self, producer, consumers):
        count, first = len(consumers), 0
        columns = np.full(count, producer), np.array(consumers), np.ones(count), np.ones(count, np.int8)
        while first < count:
            first = self.graph.apply(*columns, first, count)
            self.kernel.hear_edges(self.graph.addresses, *self.state.addresses, (-1,))

    def receive(self, kind, identifiers, values, numbers):
        count = len(identifiers)
        message = (
            np.full(count, kind, np.uint8),
            np.array(identifiers),
            np.array(values, float),
            np.array(numbers),
        )
        addresses = (self.graph.addresses, *self.state.addresses, (-1,))
        assert self.kernel.receive(*addresses, 1, *message, 0, FUEL) == count

    def advance(self):
        return self.kernel.advance(self.graph.addresses, *self.state.addresses, (-1,), NEVER, NEVER, FUEL)

    def flush(self):
        """Have the outbox of the other worker empty; how many messages there were."""
        columns = self.state.columns
        count = int(columns.out_length[1])
        columns.out_length[:], columns.out_least[:] = 0, NEVER
        self.state.counters[names.SENT_LEAST] = NEVER
        return count

    def room(self):
        """That a queue of the smallest columns has that are made for a branch."""
        return len(
            LoopState(worker=0, workers=2, delay_bound=1, rows=self.graph.rows, edges=0).columns.heap_key
        )

    def values(self, ids):
        return self.state.values_of(self.graph.rows_of(np.array(ids)))


def test_a_vertex_beyond_the_cap_waits_once_however_often_it_is_offered_something_better():
    worker = Worker()
    near, far = worker.elsewhere
    hub, leaves = worker.own[0], worker.own[1:]
    worker.link(near, [hub])
    worker.link(hub, leaves)
    worker.link(far, leaves)
    worker.state.counters[names.CAP] = 100
    worker.receive(names.SUBSCRIBED_REPLY, [near, far], [1000.0, 500.0], [1, 100])
    for value in range(400, 380, -1):
        worker.receive(names.UPDATE, [near], [value], [1])
        assert worker.advance() > 0
    assert worker.values([hub]).tolist() == [382.0]
    assert worker.state.counters[names.BLOCKED] <= worker.room()


@pytest.mark.parametrize("delay_bound", [AUTO_DELAY_BOUND, 64])
def test_what_is_out_of_date_in_the_processing_order_is_dropped_before_it_takes_more_than_its_room(
    delay_bound,
):
    worker = Worker(delay_bound)
    worker.link(worker.elsewhere[0], worker.own)
    worker.receive(names.SUBSCRIBED_REPLY, worker.elsewhere[:1], [1000.0], [1])
    updates = np.arange(999.0, 899.0, -1.0)
    worker.receive(
        names.UPDATE, np.full(len(updates), worker.elsewhere[0]), updates, np.ones(len(updates), np.int64)
    )
    assert worker.state.counters[names.HEAP] <= worker.room()
    assert worker.advance() > 0
    assert (worker.values(worker.own) == 901.0).all()
    assert worker.state.counters[names.UPDATES] == len(worker.own)


def test_a_round_of_many_vertices_sends_what_there_is_room_for_before_it_goes_on():
    worker = Worker(1, vertices=150_000)
    worker.link(worker.elsewhere[0], worker.own)
    worker.receive(names.SUBSCRIBED_REPLY, worker.elsewhere[:1], [7.0], [0])
    worker.state.columns.subscribers[worker.graph.rows_of(worker.own)] = 1 << 1
    worker.flush()
    sent, left = [], 0
    while left == 0:  # it has more to do, and is called again
        left = worker.advance()
        sent.append(worker.flush())
    assert max(sent) <= 1 << 16
    assert sum(sent) == len(worker.own)
    assert (worker.values(worker.own) == 8.0).all()
