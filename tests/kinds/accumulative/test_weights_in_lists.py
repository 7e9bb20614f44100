"""The weights of edges are in the in-lists while some loop pulls along them, and only then."""

import numpy as np
import pytest

from apps.bfs import BreadthFirstSearch
from apps.pagerank import PageRank
from tests.kinds.accumulative.truth import Multigraph, distance, pagerank
from tests.promised import eventually
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import rmat


def ranks_of(loop):
    branch = loop.fork({"tolerance": 1e-10})
    assert branch.wait(60)
    ids, values = branch.values().arrays()
    found = dict(zip(ids.tolist(), values.tolist(), strict=True))
    branch.release()
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_two_loops_use_the_column_and_it_goes_with_the_last_of_them(workers):
    edges, truth = rmat(8, seed=3).records(), Multigraph()
    plain = EdgeBatch.of(edges.src, edges.dst, np.ones(len(edges)))
    with Master(workers=workers) as master:
        hops = master.start(BreadthFirstSearch(source=1), "hops")
        loops = [
            master.start(PageRank(damping=damping), str(damping), stream="hops") for damping in (0.85, 0.5)
        ]
        graphs = [part.graph for part in hops.parts()]

        def columns():
            return [graph.columns.in_weight.size > 1 for graph in graphs]

        for batch, wanted in ((plain, False), (edges, True)):
            hops.admit(batch, "edges", hops.offsets().get("edges", 0) + len(batch))
            truth.apply(batch)
            for loop in loops:
                expected = pagerank(truth.edges, truth.vertices, loop.program.damping)
                assert distance(ranks_of(loop), expected) <= 1e-10 + 1e-14
            assert columns() == [wanted] * workers
        for loop, wanted in zip(loops, (True, False), strict=True):
            master.remove(loop.name)
            if wanted:
                assert hops.wait_idle(60)
                assert columns() == [True] * workers
            else:
                eventually(lambda: columns() == [False] * workers)
