"""Vertices that are named without an edge: seen from their version on, on any engine's workers, by every kind of program."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.loops.general_programs import Paths
from tornado.graph import PartitionMap
from tornado.loops import Master
from tornado.loops.edge_shares import shares_of
from tornado.records.edge_batch import EdgeBatch
from tornado.storage.memory import MemoryStore

WAIT_S = 60.0
EDGES = EdgeBatch.of([1, 2], [2, 3], [1.0, 2.0])
ALONE = np.array([7, 2, -5, 2**63 - 1], np.int64)  # 2 has edges


def rows(branch):
    assert branch.wait(WAIT_S)
    ids, values = branch.values().arrays()
    found = dict(zip(ids.tolist(), values.tolist(), strict=True))
    branch.release()
    return found


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_each_worker_gets_the_vertices_that_it_owns_and_no_edge_of_them(workers):
    partition = PartitionMap.even(workers)
    batch = EdgeBatch.concat([EDGES, EdgeBatch.mentions(ALONE)])
    shares = shares_of(batch, partition)
    assert sum(len(share.batch) for share in shares) == len(EDGES)
    for worker, share in enumerate(shares):
        assert (partition.owners_of(share.mentioned) == worker).all()
        assert set(ALONE[partition.owners_of(ALONE) == worker].tolist()) <= set(share.mentioned.tolist())


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("program", [ShortestPaths, WidestPath, Paths], ids=lambda kind: kind.__name__)
def test_they_have_the_value_that_a_program_begins_with_until_an_edge_comes(program, workers):
    with Master(workers=workers) as master:
        loop = master.start(program(source=7), "alone")
        loop.admit(EDGES, "edges", 2)
        before = loop.fork()
        version = loop.admit(EdgeBatch.mentions(ALONE), "insert", 4)
        assert set(rows(before)) == {1, 2, 3}
        after = loop.fork()
        assert after.snapshot.version == version
        found, worst, best = rows(after), loop.program.worst, 0.0 if program is not WidestPath else np.inf
        assert found == {1: worst, 2: worst, 3: worst, 7: best, -5: worst, 2**63 - 1: worst}
        loop.wait_idle()
        statistics = loop.statistics()
        assert (statistics.vertices, statistics.edges, statistics.missing_removals) == (6, 2, 0)
        loop.admit(EdgeBatch.of([7], [-5], [4.0]), "insert", 5)
        assert rows(loop.fork())[-5] == 4.0
        loop.admit(EdgeBatch.of([7], [-5], op="-"), "insert", 6)
        assert rows(loop.fork())[-5] == worst


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stored_snapshot_has_them(workers):
    store = MemoryStore()
    with Master(store, 2) as master:
        loop = master.start(ShortestPaths(source=7), "alone")
        loop.admit(EdgeBatch.concat([EDGES, EdgeBatch.mentions(ALONE)]), "insert", 6)
        version = loop.checkpoint()
        found = rows(loop.fork())
        assert rows(loop.fork(at=version)) == found
    with Master(store, workers) as master:
        loop = master.start(ShortestPaths(source=7), "alone")
        assert loop.restored.is_converged
        assert rows(loop.fork()) == found
        assert rows(loop.fork({"source": 2}, at=version))[7] == np.inf


def test_no_program_refuses_what_has_no_edge():
    class Choosy(ShortestPaths):
        def check(self, batch):
            return batch.weight <= 1, "weight is too small"

    with Master() as master:
        loop = master.start(Choosy(source=1), "choosy")
        loop.admit(EdgeBatch.mentions(ALONE), "insert", 4)
        assert set(rows(loop.fork())) == set(ALONE.tolist())
