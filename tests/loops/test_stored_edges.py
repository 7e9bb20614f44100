"""Edges in stored snapshots: to the bit, whatever column they take."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tornado import EdgeBatch
from tornado.loops import Master
from tornado.loops.stored_snapshot import StoredSnapshots
from tornado.storage import MemoryStore

NAME = "roads"


EXTREMES = {
    "narrow": ([0, 2**31 - 1, -(2**31)], [0.0, 1.0, 2.0**24], b"i4i4f4"),
    "a large id": ([0, 2**31, 7], [1.0, 2.0, 3.0], b"i8i8f4"),
    "a small id": ([0, 5, -(2**31) - 1], [1.0, 2.0, 3.0], b"i8i8f4"),
    "no single precision": ([0, 5, 7], [0.1, 1.0, 2.0**24 + 1], b"i4i4f8"),
    "too large for it": ([0, 5, 7], [1e300, 1.0, 2.0], b"i4i4f8"),
    "too small for it": ([0, 5, 7], [5e-324, 1.0, 2.0], b"i4i4f8"),
    "negative zero": ([0, 5, 7], [-0.0, 0.0, 2.0], b"i4i4f4"),
    "all of it": ([0, 2**63 - 1, -(2**63)], [-0.0, 0.1, 1e300], b"i8i8f8"),
}


@pytest.mark.parametrize(
    ("name", "workers", "engine"),
    [*((name, 1, "threads") for name in EXTREMES), ("narrow", 2, "processes"), ("all of it", 2, "threads")],
)
def test_ids_and_weights_are_stored_to_the_bit_and_go_on_so(name, workers, engine):
    ids, weights, said = EXTREMES[name]
    edges = EdgeBatch.of(np.roll(ids, 1), ids, weights)
    store = MemoryStore()
    written = sorted(
        zip(edges.src.tolist(), edges.dst.tolist(), edges.weight.view(np.int64).tolist(), strict=True)
    )
    for turn in range(2):
        with Master(store, workers, engine=engine) as master:
            loop = master.start(ShortestPaths(source=0), NAME)
            if turn == 0:
                loop.admit(edges, "edges", 3)
            else:
                loop.admit(EdgeBatch.of([0], [1]), "edges", 4)  # and it goes again, so the graph is the same
                loop.admit(EdgeBatch.of([0], [1], op="-"), "edges", 5)
            version = loop.checkpoint()
        pages = [page for _, page in store.scan(NAME, version, b"e/")]
        assert {page[:6] for page in pages} == {said}
        found = StoredSnapshots(store, NAME).find(version).edges()
        assert written == sorted(
            zip(
                found.sources.tolist(),
                found.targets.tolist(),
                found.weights.view(np.int64).tolist(),
                strict=True,
            )
        )
