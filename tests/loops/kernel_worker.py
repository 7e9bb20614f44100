"""A worker's part of a selective loop as its kernel alone, called by hand: what becomes of its queues, and of its fuel."""

import numpy as np

from apps.sssp import ShortestPaths
from tornado.config import AUTO_DELAY_BOUND
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.kinds.selective import loop_columns as names
from tornado.kinds.selective.loop_columns import NEVER
from tornado.kinds.selective.loop_state import LoopState
from tornado.records.operations import INSERT, REMOVE

FUEL = 1 << 30
LEAVES = 4_000


class Worker:
    """The first of some workers, on which vertices live in the order of `own`; of two, two of the other one may have edges to them."""

    def __init__(self, delay_bound=AUTO_DELAY_BOUND, vertices=LEAVES + 1, workers=2, source=-1):
        self.kernel = ShortestPaths.kernel()
        self.graph = EvolvingGraph(PartitionMap.even(workers), 0)
        self.state = LoopState(worker=0, workers=workers, delay_bound=delay_bound)
        self.columns = self.graph.addresses, *self.state.addresses, (source,)
        ids = np.arange(4 * vertices)
        owners = self.graph._partition.owners_of(ids)
        self.own, self.elsewhere = ids[owners == 0][:vertices], ids[owners == 1][:2]

    def link(self, producer, consumers, operation=INSERT):
        count, first = len(consumers), 0
        operations = np.full(count, operation, np.int8)
        records = np.full(count, producer), np.array(consumers), np.ones(count), operations
        while first < count:
            first = self.graph.apply(*records, first, count)
            self.kernel.hear_edges(*self.columns)

    def unlink(self, producer, consumers):
        self.link(producer, consumers, REMOVE)

    def receive(self, kind, identifiers, values, numbers):
        count = len(identifiers)
        message = (
            np.full(count, kind, np.uint8),
            np.array(identifiers),
            np.array(values, float),
            np.array(numbers),
        )
        assert self.kernel.receive(*self.columns, 1, *message, 0, FUEL) == count

    def advance(self, fuel=FUEL):
        return self.kernel.advance(*self.columns, NEVER, NEVER, fuel)

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
