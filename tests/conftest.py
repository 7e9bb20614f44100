"""What every room's tests share."""

import os

import numpy as np
import pytest

from tests.real_data import DATA_VARIABLE, locate


@pytest.fixture(scope="session")
def data_dir():
    """The folder with the real data sets; see `tests.real_data`."""
    return locate(os.environ.get(DATA_VARIABLE))


@pytest.fixture(scope="session")
def compiled_paths():
    """Compile what shortest paths run, once: the first start on a machine takes up to a minute, every other one loads it."""
    from apps.sssp import ShortestPaths
    from tornado.ingest.records import EdgeBatch
    from tornado.loops import Master

    with Master(None, 1) as master:
        loop = master.start(ShortestPaths(source=1), name="compiled")
        loop.admit(EdgeBatch.of([1, 2, 3], [2, 3, 2], [1.0, 2.0, 0.0]), "edges", 3)
        loop.admit(EdgeBatch.of([1, 1], [2, 3], op=[-1, 2]), "edges", 5)
        for parameters in ({}, {"source": 2}):
            branch = loop.fork(parameters)
            assert branch.wait(300), "compiling takes longer than five minutes"
            branch.values().lookup(np.array([1, 2, 3]))
            branch.release()
