"""Why a topic cannot be read, on a real broker: the cause is named, and within five seconds."""

import re
import socket
import time

import pytest

from tests.kafka.topics import LIBRARY_LEAVES_SOCKETS, given_up, pumped, shortest_paths
from tests.promised import eventually, took_s, within
from tornado.errors import ConnectionLost
from tornado.ingest.kafka import diagnosis
from tornado.ingest.kafka.diagnosis import diagnose
from tornado.ingest.kafka.settings import KafkaSettings

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


def found(address, name, client=None, *, answering_ms=30_000, **options):
    """The steps of the way, each of which may take as long as a broker takes that is kept from its work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnosis, "_ANSWERING_MS", answering_ms)
        return diagnose(settings_at(address, name, client), timeout_s=120, **options)


def cause(address, name, client=None, **limits):
    """The one step that does not work: its name, and what it says."""
    *before, last = found(address, name, client, **limits)
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
    steps = found(broker.address, "unnamed", broker_only=True)
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
    step, said = cause(f"127.0.0.1:{broker.controller_port}", name, answering_ms=1500)
    assert "wrong listener" in said.lower(), (step, said)
    step, said = cause(broker.astray_address, name)
    assert step == "advertised address"
    assert "tells clients to come to 127.0.0.1:1: connection refused" in said
    assert "advertised.listeners" in said
    step, said = cause(broker.login_address, name, answering_ms=1500)
    assert (step, "wants TLS or a login" in said) == ("protocol", True)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        step, said = cause(f"127.0.0.1:{mute.getsockname()[1]}", name, answering_ms=1500)
    assert (step, "does not answer as a Kafka broker" in said) == ("protocol", True)


def test_it_is_over_within_five_seconds_whatever_does_not_answer(broker, topic, monkeypatch):
    name = topic()
    with socket.create_server(("127.0.0.1", 0)) as mute:
        silent = f"127.0.0.1:{mute.getsockname()[1]}"
        for address in (silent, f"127.0.0.1:{broker.controller_port}", broker.astray_address, "127.0.0.1:1"):
            began_s = time.monotonic()
            steps = diagnose(settings_at(address, name))
            assert took_s(began_s) < within(5)
            assert not steps[-1].works
        # One step alone may take longer.
        monkeypatch.setattr(diagnosis, "_ANSWERING_MS", 30_000)
        began_s = time.monotonic()
        *_, last = diagnose(settings_at(silent, name))
        assert took_s(began_s) < within(5)
        assert (last.name, last.detail) == ("protocol", "no answer within 4.5 s")


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
            assert ingester.wait(timeout_s=60)
        assert "Ask for the permission" in raised.value.hint
        wrong = login("wrong") | {"bootstrap_timeout_ms": 1000}
        error = given_up(loop, settings_at(broker.login_address, name, wrong))
        assert isinstance(error, ConnectionLost)
        assert re.search(r"refuses|takes the login", error.message)
        broker.allow("anna", name, "read")
        assert all(step.works for step in found(broker.login_address, name, login()))
        with pumped(loop, settings_at(broker.login_address, name, login())):
            with broker.producer() as producer:
                producer.send(name, b'{"src": 1, "dst": 2}')
            eventually(lambda: loop.offsets() == {f"{name}:0": 1})
