"""What a worker hears of a vertex elsewhere is what its owner says last, however records and messages cross."""

from collections import deque

import numpy as np
import pytest

from apps.pagerank import PageRank
from tornado import EdgeBatch
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.kinds.accumulative import loop_columns as names
from tornado.kinds.accumulative.loop_state import SumState
from tornado.kinds.accumulative.warm import warm
from tornado.kinds.compiled_functions import compiled_arguments

FUEL = 1 << 40
OWNER, READER = 0, 1


class TwoWorkers:
    """Two parts of a loop, and what each has sent and the other has not received."""

    def __init__(self, program):
        warm(program.kernel(), program.arguments())
        self._kernel, self._arguments = program.kernel(), compiled_arguments(program.arguments())
        self._graphs = [EvolvingGraph(PartitionMap.even(2)) for _ in range(2)]
        self._states = [SumState(worker=worker, workers=2) for worker in range(2)]
        self._channels = deque(), deque()
        for worker, state in enumerate(self._states):
            state.counters[names.HAS_BASES] = program.has_bases
            self._kernel.add_up(*self._loop(worker)[1:])

    def _loop(self, worker):
        return self._graphs[worker].addresses, self._states[worker].addresses, self._arguments

    def _send(self, worker):
        state = self._states[worker]
        if state.columns.out_length[1 - worker]:
            self._channels[1 - worker].append(state.outbox(1 - worker))
            state.columns.out_length[1 - worker] = 0

    def apply(self, worker, source, target, operation):
        batch = EdgeBatch(np.array([source]), np.array([target]), np.ones(1), np.array([operation], np.int8))
        self._graphs[worker].apply(batch.src, batch.dst, batch.weight, batch.op, 0, 1)
        self._kernel.hear_edges(*self._loop(worker))
        self._send(worker)

    def receive(self, worker):
        channel = self._channels[worker]
        for _ in range(len(channel)):
            messages = channel.popleft()
            self._kernel.receive(*self._loop(worker), 1 - worker, *messages, 0, FUEL)
            self._send(worker)

    def announced_to(self, worker, vertex):
        """What is under way there of a vertex, the last of it."""
        return next(
            value
            for messages in reversed(self._channels[worker])
            for kind, found, value in zip(messages.kinds, messages.ids, messages.values, strict=True)
            if (kind, found) == (names.UPDATE, vertex)
        )

    def announce(self, worker):
        state = self._states[worker]
        state.totals[names.THETA] = 0.0
        self._kernel.find_active(*self._loop(worker)[1:])
        self._kernel.announce(*self._loop(worker), FUEL)
        self._send(worker)

    def of(self, worker, vertex, column):
        row = int(self._graphs[worker].rows_of(np.array([vertex]))[0])
        return float(getattr(self._states[worker].columns, column)[row])


@pytest.fixture
def vertices():
    """Three of the owner, and one of the reader."""
    owners = PartitionMap.even(2).owners_of(np.arange(100))
    return (*np.flatnonzero(owners == OWNER)[:3].tolist(), int(np.flatnonzero(owners == READER)[0]))


def test_what_was_announced_before_an_end_is_not_taken_for_what_is_announced_since(vertices):
    """A worker subscribed again while what its owner had announced was under way, and kept it: the owner announced nothing any more."""
    source, producer, beside, consumer = vertices
    loop = TwoWorkers(PageRank(personalisation=(source,)))
    loop.apply(OWNER, source, producer, 1)
    loop.apply(OWNER, producer, beside, 1)
    loop.announce(OWNER)
    loop.apply(READER, producer, consumer, 1)
    loop.receive(OWNER)
    assert loop.announced_to(READER, producer) > 0.0  # and that is under way
    loop.apply(READER, producer, consumer, -1)
    loop.receive(OWNER)
    loop.apply(OWNER, source, producer, -1)
    loop.announce(OWNER)
    assert loop.of(OWNER, producer, "share") == 0.0
    loop.apply(READER, producer, consumer, 1)
    loop.receive(READER)
    loop.receive(OWNER)
    loop.receive(READER)
    assert loop.of(READER, producer, "share") == 0.0
    assert loop.of(READER, consumer, "heard") == 0.0
