"""One real broker for all tests of a session; what stops it starts it again on the same ports, with the same records."""

import gc
import itertools
import logging
import time

import pytest

from tests.ports import free_ports
from tornado.testing import kafka_broker
from tornado.testing.kafka_broker import KafkaBroker

_NUMBERS = itertools.count(1)
# Lines about refused connections hold the frames in which that happened, and pytest would hold the lines.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """A broker that answers; one of its listeners leads nowhere, another wants a login."""
    folder = tmp_path_factory.mktemp("kafka")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kafka_broker, "_free_ports", free_ports)  # some of which it has to find free again
        made = KafkaBroker(folder, astray="127.0.0.1:1", users={"anna": "right"})
    with made as running:
        yield running


@pytest.fixture(autouse=True)
def _collected(request):
    """What the client library leaves behind is found here and not in some later test."""
    yield
    if "broker" not in request.fixturenames:
        return
    # Its threads end a little after its clients are closed, and cycles of cycles take several rounds.
    for _ in range(5):
        gc.collect()
        time.sleep(0.02)


@pytest.fixture
def topic(broker):
    """Makes topics with names that no other test has."""

    def make(partitions=1, **configs):
        name = f"edges-{next(_NUMBERS)}"
        broker.create_topic(name, partitions, **configs)
        return name

    return make
