"""One real service for the tests of its client: roads with three loops, and points with two."""

from types import SimpleNamespace

import numpy as np
import pytest

import tornado
from apps.connected_components import ConnectedComponents
from apps.pagerank import PageRank
from apps.sssp import ShortestPaths

ROADS = [1, 2, 1, 5], [2, 3, 4, 6], [1.0, 2.0, 10.0, 7.5]


def blobs(count=200):
    random = np.random.default_rng(1)
    features = random.normal(size=(count, 3))
    return features, np.where(features @ [2.0, -1.0, 0.5] > 0.2, 1.0, 0.0)


@pytest.fixture(scope="module")
def running():
    """The session that serves, and where; what a test adds it adds to a stream of its own."""
    with tornado.open("memory:", workers=2) as session:
        roads = session.stream("roads")
        roads.start(ShortestPaths(source=1), "sssp")
        roads.start(PageRank(), "ranks")
        roads.insert(*ROADS)
        points = session.stream("points", schema=tornado.Points(features=3))
        points.start(tornado.LinearModel(loss="logistic", l2=1e-2), "model")
        features, labels = blobs()
        points.insert(ids=np.arange(len(labels)), labels=labels, features=features)
        yield SimpleNamespace(session=session, url=session.serve().url)


@pytest.fixture
def own_stream(running, request):
    """The name of a stream that only this test writes to, with a loop of shortest paths and one of components."""
    name = f"own{abs(hash(request.node.name))}"
    stream = running.session.stream(name)
    stream.start(ShortestPaths(source=1), f"{name}-paths")
    stream.start(ConnectedComponents(), f"{name}-groups")
    yield name
    for loop in ("paths", "groups"):
        running.session.remove(f"{name}-{loop}")
