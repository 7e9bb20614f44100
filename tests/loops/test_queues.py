"""What the kernel of selective loops has waiting is bounded by its graph, whatever comes in: its columns have room for so much and no more."""

import numpy as np
import pytest

from tornado.config import AUTO_DELAY_BOUND
from tornado.kinds.selective import loop_columns as names

from .kernel_worker import Worker


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
