"""One real broker for all tests of a session; what stops it starts it again on the same ports, with the same records."""

import gc
import itertools

import pytest

from tornado.testing.kafka_broker import KafkaBroker

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """A broker that answers."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(autouse=True)
def _collected():
    """What the client library leaves behind is found here and not in some later test."""
    yield
    gc.collect()


@pytest.fixture
def topic(broker):
    """Makes topics with names that no other test has."""

    def make(partitions=1, **configs):
        name = f"edges-{next(_NUMBERS)}"
        broker.create_topic(name, partitions, **configs)
        return name

    return make
