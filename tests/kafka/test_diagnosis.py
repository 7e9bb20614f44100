"""Why a topic cannot be read, on a real broker: the cause is named, and within five seconds."""

import socket
import time

import pytest

from tests.kafka.topics import LIBRARY_LEAVES_SOCKETS, pumped, shortest_paths
from tests.promised import within
from tornado.errors import ConnectionLost
from tornado.ingest.kafka.diagnosis import diagnose
from tornado.ingest.kafka.ingester import KafkaIngester
from tornado.ingest.kafka.settings import KafkaSettings
from tornado.ingest.quarantine import Quarantine

pytestmark = [pytest.mark.kafka, LIBRARY_LEAVES_SOCKETS]


def login(password="right", user="anna"):
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def settings_at(address, name, client=None):
    return KafkaSettings(brokers=(address,), topic=name, client=client or {})


def found(address, name, client=None):
    """The steps of the way."""
    began_s = time.monotonic()
    steps = diagnose(settings_at(address, name, client))
    assert time.monotonic() - began_s < within(5)
    return steps


def cause(address, name, client=None):
    """The one step that does not work: its name, and what it says."""
    *before, last = found(address, name, client)
    assert all(step.works for step in before)
    assert not last.works
    assert last.remedy
    return last.name, f"{last.detail} -- {last.remedy}"


def test_a_topic_that_can_be_read_has_its_offsets_said(broker, topic):
    name = topic(partitions=2)
    steps = found(broker.address, name)
    assert all(step.works for step in steps)
    assert steps[-1].detail == "0 records (offsets of 0: 0 to 0, 1: 0 to 0)"


def test_the_way_to_a_broker_ends_there(broker):
    steps = diagnose(settings_at(broker.address, "unnamed"), broker_only=True)
    assert [(step.name, step.works) for step in steps] == [
        ("broker", True),
        ("protocol", True),
        ("advertised address", True),
    ]


def test_a_broker_that_cannot_be_reached_is_named():
    assert cause("127.0.0.1:1", "edges")[0] == "broker"
    assert "connection refused" in cause("127.0.0.1:1", "edges")[1]
    assert "name no-such-host.invalid is unknown" in cause("no-such-host.invalid:9092", "edges")[1]


def test_a_wrong_listener_is_named(broker, topic):
    name = topic()
    step, said = cause(f"127.0.0.1:{broker.controller_port}", name)
    assert "wrong listener" in said.lower(), (step, said)
    step, said = cause(broker.astray_address, name)
    assert step == "advertised address"
    assert "tells clients to come to 127.0.0.1:1: connection refused" in said
    assert "advertised.listeners" in said
    step, said = cause(broker.login_address, name)
    assert (step, "wants TLS or a login" in said) == ("protocol", True)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        step, said = cause(f"127.0.0.1:{mute.getsockname()[1]}", name)
    assert (step, "does not answer as a Kafka broker" in said) == ("protocol", True)


def test_a_topic_that_is_not_there_is_named_with_those_that_are(broker, topic):
    name = topic()
    step, said = cause(broker.address, "no-such-topic")
    assert step == "topic"
    assert "there is no topic 'no-such-topic'" in said
    assert name in said or "…" in said


def test_a_permission_that_is_missing_is_named_here_and_where_the_topic_is_read(broker, topic):
    name = topic()
    step, said = cause(broker.login_address, name, login("wrong"))
    assert (step, "refuses the login" in said, "Check user, password" in said) == ("permission", True, True)
    step, said = cause(broker.login_address, name, login())
    assert (step, "may not describe" in said) == ("permission", True)
    broker.allow("anna", name, "describe")
    step, said = cause(broker.login_address, name, login())
    assert (step, f"may describe {name}, but not read it" in said) == ("permission", True)
    with shortest_paths() as loop:
        with (
            pytest.raises(ConnectionLost, match="refuses") as raised,
            pumped(loop, settings_at(broker.login_address, name, login())) as ingester,
        ):
            # It may describe the topic, and so begins.
            assert ingester.wait(timeout_s=10)
        assert "Ask for the permission" in raised.value.hint
        ingester = KafkaIngester(
            loop,
            settings_at(broker.login_address, name, login("wrong") | {"bootstrap_timeout_ms": 1000}),
            Quarantine(None),
        )
        with pytest.raises(ConnectionLost, match=r"refuses|takes the login"):
            ingester.start(timeout_s=within(4.0))
        assert ingester.wait(timeout_s=10)
        broker.allow("anna", name, "read")
        assert all(step.works for step in found(broker.login_address, name, login()))
        with pumped(loop, settings_at(broker.login_address, name, login())) as ingester:
            with broker.producer() as producer:
                producer.send(name, b'{"src": 1, "dst": 2}')
            until_s = time.monotonic() + 20
            while loop.offsets() != {f"{name}:0": 1}:
                assert time.monotonic() < until_s, ingester.statistics()
                time.sleep(0.02)
