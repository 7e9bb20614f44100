"""Whatever stands in a topic is admitted or in quarantine with topic, partition, offset and reason; nothing is fatal but what
nobody can decide for its owner."""

import json
import os
import signal
import threading
import time

import pyarrow as pa
import pytest

from tests.kafka.chunks import arrow_message
from tests.kafka.topics import (
    LIBRARY_LEAVES_SOCKETS,
    answered,
    given_up,
    pumped,
    settings_of,
    shortest_paths,
)
from tests.promised import eventually
from tornado.errors import ConnectionLost, InvalidArgument, QueueFull, SourceLost, TornadoError
from tornado.ingest.kafka.consumer import PENDING_LIMIT_BYTES
from tornado.ingest.kafka.ingester import KafkaIngester
from tornado.ingest.quarantine import Quarantine

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("compiled_paths"), LIBRARY_LEAVES_SOCKETS]


def send(broker, name, count, **options):
    with broker.producer(**options) as producer:
        for number in range(1, count + 1):
            producer.send(name, b'{"src": %d, "dst": %d}' % (number, number + 1))


def refused(loop, settings):
    """What starting raises."""
    with pytest.raises(TornadoError) as raised, pumped(loop, settings):
        pass
    return raised.value


def topics_of(broker):
    with broker.admin() as admin:
        return admin.list_topics()


def entries(quarantine):
    return [json.loads(line) for line in quarantine.path.read_text().splitlines()]


def test_bad_values_are_counted_and_quarantined_and_the_good_ones_between_them_are_in(
    broker, topic, tmp_path
):
    name = topic(max_message_bytes="16777216")
    values = [
        b'{"src": 1, "dst": 2, "weight": 1.5}',
        b'{"src": 1, "dst":',
        b'{"src": 1}',
        b'{"src": 1, "dst": 99999999999999999999}',
        b"x" * (5 << 20),
        None,
        b"",
        b'{"src": 2, "dst": 3, "weight": -1}',
        b'{"from": 2, "to": 3}',
        b"\x00\xff\xfe",
        b'{"src": 1, "dst": 3, "weight": 1e400}',
        b'{"src": 1, "dst": 3, "weight": -1e400}',
        b'{"src": 2, "dst": 3, "weight": 2.5}',
    ]
    with broker.producer() as producer:
        for value in values:
            producer.send(name, value, key=b"key")
    with (
        Quarantine(tmp_path / "rejected.jsonl") as quarantine,
        shortest_paths() as loop,
        pumped(loop, settings_of(broker, name), quarantine) as ingester,
    ):
        eventually(lambda: loop.offsets() == {f"{name}:0": len(values)})
        eventually(lambda: ingester.statistics()[0].records == len(values))
        assert ingester.statistics()[0].rejected == 11
        assert answered(loop)[1] == {1: 0.0, 2: 1.5, 3: 4.0}
        found = entries(quarantine)
    assert [entry["position"] for entry in found] == list(range(1, 12))
    assert {(entry["source"], entry["topic"], entry["partition"]) for entry in found} == {
        (f"{name}:0", name, 0)
    }
    assert [entry["reason"] for entry in found] == [
        "not a JSON object on one line",
        "dst is missing",
        "dst is beyond 64 bits: '99999999999999999999'",
        "line is longer than 65536 bytes",
        "the message has no value (a tombstone)",
        "the message has no records",
        "weight is negative; shortest paths need weights of at least 0",
        "unknown field: 'from'",
        "not a JSON object on one line",
        "weight is not finite: '1e400'",
        "weight is not finite: '-1e400'",
    ]
    assert len(found[3]["record"]) < 2000


def test_arrow_messages_whose_schema_changes_are_read_or_rejected_one_by_one(broker, topic, tmp_path):
    name = topic(max_message_bytes="16777216")
    many = 300_000
    values = [
        arrow_message(src=[1], dst=[2], weight=[1.0]),
        arrow_message(src=pa.array([2], pa.int32()), dst=pa.array([3], pa.int32()), colour=["red"]),
        arrow_message(start=[1], end=[2]),
        arrow_message(src=["1"], dst=["2"]),
        b'{"src": 1, "dst": 2}',
        arrow_message(src=[3, 3], dst=[4, None], weight=[2.0, 1.0]),
        # More than 5 MB, and good.
        arrow_message(src=[5] * many, dst=list(range(6, 6 + many)), weight=[1.0] * many),
    ]
    with broker.producer() as producer:
        for value in values:
            producer.send(name, value)
    with (
        Quarantine(tmp_path / "rejected.jsonl") as quarantine,
        shortest_paths() as loop,
        pumped(loop, settings_of(broker, name, "arrow"), quarantine),
    ):
        eventually(lambda: loop.offsets() == {f"{name}:0": len(values)})
        assert answered(loop)[1][4] == 4.0
        assert loop.statistics().admitted == 3 + many
        assert [(entry["position"], entry["reason"].split(":")[0]) for entry in entries(quarantine)] == [
            (2, "the Arrow stream has columns ['start', 'end'], but 'src' must be among them"),
            (3, "column 'src' has type string, but a vertex id is an integer"),
            (4, "the value is no whole Arrow IPC stream"),
            (5, "record 2 of 2"),
        ]


def test_compressed_messages_are_read_and_the_bad_ones_among_them_rejected(broker, topic, tmp_path):
    name = topic(max_message_bytes="16777216")
    good, codecs = 100, ["gzip", "lz4", "snappy", "zstd"]
    for place, codec in enumerate(codecs):
        with broker.producer(compression_type=codec) as producer:
            for number in range(place * good, (place + 1) * good):
                producer.send(name, b'{"src": %d, "dst": %d}' % (number + 1, number + 2))
            for bad in (None, b"", b"x" * (5 << 20)):
                producer.send(name, bad, key=b"key")
    with (
        Quarantine(tmp_path / "rejected.jsonl") as quarantine,
        shortest_paths() as loop,
        pumped(loop, settings_of(broker, name), quarantine),
    ):
        eventually(lambda: loop.offsets() == {f"{name}:0": len(codecs) * (good + 3)})
        assert answered(loop)[1][len(codecs) * good + 1] == len(codecs) * good
        assert [
            (entry["position"] % (good + 3) - good, entry["reason"]) for entry in entries(quarantine)
        ] == [
            (0, "the message has no value (a tombstone)"),
            (1, "the message has no records"),
            (2, "line is longer than 65536 bytes"),
        ] * len(codecs)


def test_a_topic_that_does_not_exist_is_said_at_once_with_those_that_do(broker, topic):
    topic()
    with shortest_paths() as loop:
        error = refused(loop, settings_of(broker, "no-such-topic"))
    assert isinstance(error, InvalidArgument)
    assert "has no topic 'no-such-topic' that this client may see; it has edges-" in error.message


def test_a_broker_that_is_not_there_is_said_when_the_time_to_begin_is_over():
    client = {"bootstrap_timeout_ms": 500}
    settings = settings_of(type("Nowhere", (), {"address": "127.0.0.1:1"}), "edges", client=client)
    with shortest_paths() as loop:
        error = given_up(loop, settings)
    assert isinstance(error, ConnectionLost)
    assert "no Kafka broker answers at" in error.message
    assert "tornado doctor --kafka 127.0.0.1:1 --topic edges" in error.hint


def test_offsets_that_the_broker_has_deleted_stop_it_with_the_choices(broker, topic):
    name = topic()
    send(broker, name, 300)
    with shortest_paths() as loop:
        loop.advance(f"{name}:0", 100)
        broker.delete_records(name, {0: 150})
        error = refused(loop, settings_of(broker, name))
        assert isinstance(error, SourceLost)
        assert (
            "from offset 100, but the broker has deleted everything before 150: 50 records are lost"
            in error.message
        )
        assert "--when-deleted earliest" in error.hint
        assert loop.offsets() == {f"{name}:0": 100}
        with pumped(loop, settings_of(broker, name, when_deleted="earliest")) as ingester:
            eventually(lambda: loop.offsets() == {f"{name}:0": 300})
            assert loop.statistics().admitted == 150
            assert "50 records from offset 100 on are deleted" in ingester.statistics()[0].last_error


def test_offsets_that_are_deleted_while_it_reads_stop_it_too(broker, topic):
    name = topic()
    with shortest_paths() as loop:
        ingester = KafkaIngester(loop, settings_of(broker, name), Quarantine(None))
        ingester.start()
        try:
            send(broker, name, 2)
            eventually(lambda: loop.offsets() == {f"{name}:0": 2})
            # Stopped as a slow machine would stop it: what comes meanwhile is deleted before anybody reads it.
            os.kill(ingester.client_pids[0], signal.SIGSTOP)
            send(broker, name, 8)
            broker.delete_records(name, {0: 5})
            os.kill(ingester.client_pids[0], signal.SIGKILL)
            assert ingester.wait(timeout_s=30)
        finally:
            assert ingester.stop(timeout_s=30)
        assert isinstance(ingester.error, SourceLost)
        assert "has deleted everything before 5: 3 records are lost" in str(ingester.error)
        assert loop.offsets() == {f"{name}:0": 2}


def test_a_topic_that_was_made_anew_stops_it_whatever_was_chosen(broker, topic):
    name = topic()
    send(broker, name, 1)
    with shortest_paths() as loop:
        loop.advance(f"{name}:0", 1000)
        error = refused(loop, settings_of(broker, name, when_deleted="earliest"))
    assert isinstance(error, SourceLost)
    assert "read from offset 1000, but ends at 1" in error.message


@pytest.mark.parametrize("is_running", [False, True])
def test_a_topic_that_was_made_anew_with_fewer_partitions_stops_it(is_running, broker, topic):
    """Whatever it has now: a topic never loses a partition."""
    name = topic(partitions=2)
    with broker.producer() as producer:
        for partition in (0, 1):
            producer.send(name, b'{"src": 1, "dst": 2}', partition=partition)
    with shortest_paths() as loop:
        ingester = KafkaIngester(loop, settings_of(broker, name), Quarantine(None))
        ingester.start()
        try:
            eventually(lambda: loop.offsets() == {f"{name}:0": 1, f"{name}:1": 1})
            if not is_running:
                assert ingester.stop(timeout_s=30)
            broker.delete_topic(name)
            eventually(lambda: name not in topics_of(broker))
            broker.create_topic(name)
            send(broker, name, 3)
            if is_running:
                assert ingester.wait(timeout_s=60)
                error = ingester.error
            else:
                error = refused(loop, settings_of(broker, name))
        finally:
            assert ingester.stop(timeout_s=30)
        assert isinstance(error, SourceLost)
        if not is_running:  # else it may have seen first that partition 0 is shorter
            assert f"{name}:1 was read up to offset 1, but the topic has 1 partitions" in error.message


def test_what_a_client_fails_with_is_said(broker, topic):
    """Not how Python ends while a thread waits for its input."""
    settings = settings_of(broker, topic(), client={"request_timeout_ms": "long"})
    with (
        shortest_paths() as loop,
        pytest.raises(ConnectionLost, match=r"ended with 1: TypeError: .* not supported between"),
    ):
        KafkaIngester(loop, settings, Quarantine(None)).start(timeout_s=60)


class GatedLoop:
    """Takes nothing until its gate opens."""

    class program:  # noqa: N801 - stands for a loop's attribute
        check = None

    def __init__(self):
        self.gate = threading.Event()
        self.edges = 0
        self._offsets = {}

    def admit(self, batch, source, offset, timeout_s=None, *, checked=()):
        if not self.gate.wait(timeout_s):
            raise QueueFull("the gate is shut")
        self.edges += len(batch)
        self._offsets[source] = offset

    def advance(self, source, offset):
        self._offsets[source] = offset

    def offsets(self):
        return dict(self._offsets)


def test_a_loop_that_lags_pauses_the_partitions_and_bounds_what_waits(broker, topic):
    name = topic(partitions=2, max_message_bytes="16777216")
    line = b'{"src": 1, "dst": 2, "weight": 1.0}\n'
    value = line * ((1 << 20) // len(line))
    with broker.producer(compression_type="zstd") as producer:
        for number in range(120):
            producer.send(name, value, partition=number % 2)
    loop = GatedLoop()
    with pumped(loop, settings_of(broker, name)) as ingester:

        def waiting():
            return sum(len(frame.payload) for frame in list(ingester._clients[0]._frames))

        eventually(lambda: waiting() > PENDING_LIMIT_BYTES // 2)
        time.sleep(1)
        # What one poll brings comes on top.
        assert waiting() < 2 * PENDING_LIMIT_BYTES
        assert sum(one.lag_records for one in ingester.statistics()) == 120
        loop.gate.set()
        eventually(lambda: loop.offsets() == {f"{name}:0": 60, f"{name}:1": 60})
        eventually(lambda: sum(one.lag_records for one in ingester.statistics()) == 0)
        assert loop.edges == 120 * value.count(b"\n")
        assert ingester.restarts == 0


class JoinedLoop(GatedLoop):
    """A program joins when the first chunk comes in, and takes no negative weights from then on."""

    has_joined = False

    def check(self, batch):
        return (batch.weight < 0) & self.has_joined, "weight is negative"

    program = property(lambda self: self)

    def admit(self, batch, source, offset, timeout_s=None, *, checked=()):
        self.has_joined = True
        if self.check(batch)[0].any():
            raise InvalidArgument("weight is negative")
        super().admit(batch, source, offset, timeout_s)


@pytest.mark.parametrize("options", [{}, {"dedup_key": "id"}], ids=["all records", "without repetitions"])
def test_a_program_that_joins_while_a_chunk_waits_costs_only_the_records_that_it_cannot_take(
    broker, topic, tmp_path, options
):
    name, weights = topic(), [1.0, -1.0, 2.0, 3.0, -2.0, 4.0]
    with broker.producer() as producer:
        for place, weight in enumerate(weights):
            line = {"src": place, "dst": place + 1, "weight": weight}
            if options:
                line["id"] = min(place, 4)  # the last one repeats the one before it
            producer.send(name, json.dumps(line).encode())
    loop = JoinedLoop()
    loop.gate.set()
    with (
        Quarantine(tmp_path / "rejected.jsonl") as quarantine,
        pumped(loop, settings_of(broker, name, **options), quarantine),
    ):
        eventually(lambda: loop.offsets() == {f"{name}:0": len(weights)})
        assert [(one["position"], one["reason"]) for one in entries(quarantine)] == [
            (1, "weight is negative"),
            (4, "weight is negative"),
        ]
        assert loop.edges == (3 if options else 4)
