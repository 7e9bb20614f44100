"""A base in a real PostgreSQL is written in at most three times what LMDB takes for it."""

import time
from statistics import median

import pytest

from apps.sssp import ShortestPaths
from tests.promised import took_s
from tests.shortened import in_soak
from tornado.loops import Master
from tornado.storage import open_store
from tornado.testing import rmat, root_of

TIMES = 3.0
WAIT_S = 120.0


def written_s(url, edges, root):
    """Load a graph into an empty store; returns how long its first base took."""
    with open_store(url) as store, Master(store, 2) as master:
        loop = master.start(ShortestPaths(source=root), name="roads")
        admitted = 0
        for batch in edges.batches(100_000):
            admitted += len(batch)
            loop.admit(batch, "edges", admitted)
        assert loop.wait_idle(WAIT_S)
        begun_s = time.monotonic()
        loop.checkpoint()
        return took_s(begun_s)


@pytest.mark.parametrize("scale", [16, in_soak(18)])
def test_a_base_is_written_in_three_times_what_lmdb_takes_at_most(tmp_path, postgres_server, scale):
    edges = rmat(scale, seed=1)
    root, seconds = root_of(edges), {"lmdb": [], "postgres": []}
    for turn in range(5):
        seconds["lmdb"].append(written_s(f"lmdb://{tmp_path}/store{turn}", edges, root))
        name = f"base{turn}"
        postgres_server.execute(f"CREATE DATABASE {name}")
        try:
            seconds["postgres"].append(written_s(postgres_server.url(name), edges, root))
        finally:
            postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    print(
        f"{len(edges):,} edges:",
        {store: sorted(round(one, 3) for one in of) for store, of in seconds.items()},
    )
    assert median(seconds["postgres"]) <= TIMES * median(seconds["lmdb"])
