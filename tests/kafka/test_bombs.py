"""Messages that are small in the topic and large once they are unpacked: quarantined with their offset, and the run goes on."""

import json
import os

import pytest

from tests import bombs
from tests.bombs import MEBIBYTE, little_memory
from tests.kafka.chunks import arrow_message, chunk_of
from tests.kafka.topics import (
    LIBRARY_LEAVES_SOCKETS,
    answered,
    pumped,
    settings_of,
    shortest_paths,
)
from tests.promised import eventually
from tornado.config import MESSAGE_LIMIT_BYTES, MESSAGE_LIMIT_RECORDS
from tornado.ingest.kafka.decoding import Decoder
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat
from tornado.ingest.quarantine import Quarantine

REAL = [pytest.mark.kafka, pytest.mark.usefixtures("compiled_paths"), LIBRARY_LEAVES_SOCKETS]
CODECS = ["gzip", "lz4", "snappy", "zstd"]


def real(test):
    for mark in REAL:
        test = mark(test)
    return test


def decoder_of(value_format):
    return Decoder(
        KafkaSettings(brokers=("127.0.0.1:9092",), topic="edges", value_format=ValueFormat(value_format))
    )


def decoded_one_after_the_other(decoder, chunk):
    found = []
    while len(chunk):
        found.append(decoder.decode(chunk))
        chunk = chunk.since(found[-1].next_offset)
    return found


def entries(quarantine):
    return [json.loads(line) for line in quarantine.path.read_text().splitlines()]


@pytest.mark.parametrize("make", [bombs.many_rows, bombs.weights_of_nothing])
def test_an_arrow_bomb_is_rejected_with_its_offset_and_its_neighbours_are_decoded(make):
    good = arrow_message(src=[1], dst=[2])
    chunk = chunk_of([good, make(), good], first_offset=7)
    with little_memory(os.getpid()):
        decoded = decoder_of("arrow").decode(chunk)
    assert len(decoded.parsed.batch) == 2
    [rejection] = decoded.rejected()
    assert rejection.position == 8
    assert "records taken at once" in rejection.reason


def test_arrow_messages_that_are_each_within_the_bounds_are_decoded_a_few_at_a_time():
    rows = MESSAGE_LIMIT_RECORDS // 2
    message = bombs.many_rows(rows=rows, batches=1)
    with little_memory(os.getpid()):
        sizes = [
            len(one.parsed.batch)
            for one in decoded_one_after_the_other(decoder_of("arrow"), chunk_of([message] * 9))
        ]
    assert sum(sizes) == 9 * rows
    assert max(sizes) <= 2 * MESSAGE_LIMIT_RECORDS


def test_lines_are_decoded_as_many_messages_at_a_time_as_have_no_more_than_is_taken_at_once():
    lines = MESSAGE_LIMIT_RECORDS // 2
    values = [b"1,2\n" * lines, b"\n" * (MESSAGE_LIMIT_RECORDS + 1), b"3,4", *[b"5,6\n" * (lines - 1)] * 3]
    found = decoded_one_after_the_other(decoder_of("csv"), chunk_of(values, first_offset=0))
    assert sum(len(one.parsed.batch) for one in found) == 1 + 4 * lines - 3
    assert max(one.parsed.records for one in found) <= MESSAGE_LIMIT_RECORDS
    [rejection] = [rejection for one in found for rejection in one.rejected()]
    assert (rejection.position, rejection.reason) == (
        1,
        f"the message has {MESSAGE_LIMIT_RECORDS + 2} lines, more than the {MESSAGE_LIMIT_RECORDS} records taken at once",
    )


@real
def test_arrow_bombs_in_a_topic_are_quarantined_and_the_next_good_record_is_in(broker, topic, tmp_path):
    name = topic()
    values = [bombs.many_rows(), arrow_message(src=[1], dst=[2]), bombs.weights_of_nothing()]
    with (
        Quarantine(tmp_path / "rejected.jsonl") as quarantine,
        shortest_paths() as loop,
        pumped(loop, settings_of(broker, name, "arrow"), quarantine) as ingester,
    ):
        with little_memory(os.getpid(), *ingester.client_pids), broker.producer() as producer:
            for value in values:
                producer.send(name, value)
            producer.flush()
            eventually(lambda: loop.offsets() == {f"{name}:0": len(values)})
        assert loop.statistics().admitted == 1
        assert [(entry["position"], entry["partition"]) for entry in entries(quarantine)] == [(0, 0), (2, 0)]
        assert ingester.restarts == 0


@real
def test_json_nested_ten_thousand_deep_is_quarantined_with_its_offset_and_the_run_goes_on(
    broker, topic, tmp_path
):
    name = topic()
    deep = [
        bombs.deep(),
        b"[" * 60_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"src": 1, "dst": 2, "note": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001,
    ]
    values = [b'{"src": 1, "dst": 2, "weight": 1.5}', *deep, b'{"src": 2, "dst": 3, "weight": 2.5}']
    with (
        Quarantine(tmp_path / "rejected.jsonl") as quarantine,
        shortest_paths() as loop,
        pumped(loop, settings_of(broker, name), quarantine) as ingester,
    ):
        with little_memory(os.getpid(), *ingester.client_pids), broker.producer() as producer:
            for value in values:
                producer.send(name, value)
            producer.flush()
            eventually(lambda: loop.offsets() == {f"{name}:0": len(values)})
        assert answered(loop)[1] == {1: 0.0, 2: 1.5, 3: 4.0}
        found = entries(quarantine)
        assert [(entry["position"], entry["partition"]) for entry in found] == [
            (1, 0),
            (2, 0),
            (3, 0),
            (4, 0),
        ]
        assert {entry["reason"] for entry in found} == {"not a JSON object on one line"}
        assert ingester.restarts == 0


@real
@pytest.mark.parametrize("codec", CODECS)
def test_what_kafka_has_compressed_is_unpacked_within_bounds(broker, topic, tmp_path, codec):
    name = topic(max_message_bytes="67108864")
    zeros = bytes(200 * MEBIBYTE)
    good = b'{"src": 1, "dst": 2}'
    options = {"compression_type": codec, "max_request_size": 1 << 30}
    with (
        Quarantine(tmp_path / "rejected.jsonl") as quarantine,
        shortest_paths() as loop,
        pumped(loop, settings_of(broker, name), quarantine) as ingester,
    ):
        [client] = ingester.client_pids
        with broker.producer(linger_ms=0, **options) as producer:
            producer.send(name, good).get(30)
            eventually(lambda: loop.offsets() == {f"{name}:0": 1})
            with little_memory(client):
                producer.send(name, zeros).get(60)
                producer.send(name, good).get(30)
                eventually(lambda: loop.offsets() == {f"{name}:0": 3})
        assert loop.statistics().admitted == 2
        [entry] = entries(quarantine)
        assert entry["position"] == 1
        assert entry["reason"] == f"the message is larger than the {MESSAGE_LIMIT_BYTES} bytes taken at once"
        assert ingester.restarts == 0


@real
def test_many_compressed_messages_come_a_few_at_a_time(broker, topic, tmp_path):
    name = topic(max_message_bytes="67108864")
    # Empty lines: no record, and nearly no bytes in the topic.
    value = b"\n" * (6 * MEBIBYTE)
    count = 60
    with broker.producer(compression_type="zstd", max_request_size=1 << 30) as producer:
        for _ in range(3000):
            producer.send(name, b'{"src": 1, "dst": 2}')
        for _ in range(count):
            producer.send(name, value)
    with (
        Quarantine(tmp_path / "rejected.jsonl") as quarantine,
        shortest_paths() as loop,
        pumped(loop, settings_of(broker, name), quarantine) as ingester,
        little_memory(*ingester.client_pids),
    ):
        eventually(lambda: loop.offsets() == {f"{name}:0": 3000 + count})
        assert loop.statistics().admitted == 3000
        assert len(entries(quarantine)) == count


@real
def test_a_large_batch_of_small_messages_is_read_message_by_message(broker, topic):
    name = topic(max_message_bytes="67108864")
    values = [b'{"src": %d, "dst": %d}' % (number, number + 1) + b" " * 3000 for number in range(1, 4001)]
    with broker.producer(
        compression_type="lz4", batch_size=32 << 20, linger_ms=2000, max_request_size=1 << 30
    ) as producer:
        for number, value in enumerate(values):
            producer.send(name, value, key=b"key %d" % number, headers=[("a header", b"value")])
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)):
        eventually(lambda: loop.offsets() == {f"{name}:0": len(values)})
        assert loop.statistics().admitted == len(values)
        eventually(lambda: loop.statistics().vertices == len(values) + 1)
