"""Masters at every place that is asked for, one for all tests of a module."""

import pytest

from tests.engine.places import PLACES, REMOTE, master_at
from tornado.engine import transport


@pytest.fixture(scope="session")
def spark_context(compiled_paths):
    """The Spark of this process, for the places that are one; a context that runs is used by every launcher."""
    masters = {place.partition(":")[2] for place in PLACES if place.startswith("spark:")}
    if not masters:
        yield None
        return
    [master] = masters
    from tornado.engine import spark
    from tornado.loops import engines

    context = spark._context(master, engines._WORKER)
    yield context
    context.stop()


@pytest.fixture(scope="module", params=PLACES)
def place(request, spark_context):
    return request.param


@pytest.fixture(scope="module", params=REMOTE)
def remote(request, spark_context):
    return request.param


@pytest.fixture(scope="module")
def master(place):
    with master_at(place) as made:
        yield made


@pytest.fixture
def patient(monkeypatch):
    """For tests that count losses, none of which is one of silence: where the machine stands still for a moment all are silent."""
    monkeypatch.setattr(transport, "SILENT_S", 60.0)


@pytest.fixture
def lossy(remote):
    """A master of its own, the workers of which may be ended."""
    with master_at(remote) as made:
        yield made
