"""How fast do edges come out of a Kafka topic into a loop, and how soon does an exact query show one?

A real broker on this machine. First the client library alone reads a topic of JSON messages and parses each (once with the
standard library's reader, once with a fast one), then the ingester reads the same records: decoded and staged, with a loop that
drops them, and admitted by a loop of shortest paths. Then the same with many edges a message, as Arrow. Then messages with an id
in two partitions, by which repetitions are recognised, fetched by one process and by two. Then, at a steady 10,000 edges a
second, single edges are timed from being produced to being in an exact answer.
"""  # noqa: D400  # a question

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from apps.sssp import ShortestPaths
from tornado.ingest.kafka.ingester import KafkaIngester
from tornado.ingest.kafka.library import KafkaConsumer, TopicPartition
from tornado.ingest.kafka.producer import EdgeProducer
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat
from tornado.ingest.quarantine import Quarantine
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.testing.kafka_broker import KafkaBroker

from .harness import Clock, Report, Settings, WrongAnswer
from .steady import PRODUCED_TO_ANSWERED, STEADY_PER_S, steady_topic

_TIMES_BARE = 1.3
_ARROW_EDGES_PER_S = 1_000_000
_PRODUCED_TO_ANSWERED_MS = 50.0
_EDGES_PER_MESSAGE = 1000
_ROOT = 0
_MARKER = 1 << 40


class Staging:
    """A loop that takes everything at once and keeps nothing."""

    def __init__(self) -> None:
        self.edges = 0
        self._offsets: dict[str, int] = {}

    def admit(
        self,
        batch: EdgeBatch,
        source: str,
        offset: int,
        timeout_s: float | None = None,  # noqa: ARG002
        *,
        checked: Sequence[object] = (),  # noqa: ARG002
    ) -> None:
        """Count the edges."""
        self.edges += len(batch)
        self._offsets[source] = offset

    def advance(self, source: str, offset: int) -> None:
        """Move an offset."""
        self._offsets[source] = offset

    def offsets(self) -> dict[str, int]:
        """Where everything is."""
        return dict(self._offsets)


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above. Needs no graph: the scale means nothing here."""
    json_edges, arrow_edges = (20_000, 200_000) if settings.smoke else (500_000, 5_000_000)
    report.data = {
        "recipe": f"{json_edges:,} random edges as JSON, {arrow_edges:,} as Arrow, {_EDGES_PER_MESSAGE:,} a message"
    }
    with (
        tempfile.TemporaryDirectory(prefix="tornado-kafka-") as folder,
        KafkaBroker(Path(folder) / "broker") as broker,
    ):
        _measure_format(report, broker, "JSON", json_edges, settings)
        clock.left_s()
        _measure_format(report, broker, "Arrow", arrow_edges, settings)
        clock.left_s()
        _measure_ingesters(report, broker, json_edges)
        clock.left_s()
        _measure_latency(report, broker, 5 if settings.smoke else 100, clock)


def _measure_format(report: Report, broker: KafkaBroker, name: str, edges: int, settings: Settings) -> None:
    value_format = ValueFormat(name.lower())
    topic = _topic(broker, value_format)
    broker.create_topic(topic.topic)
    chance = np.random.default_rng(settings.seed)
    ends = chance.integers(0, max(1000, edges // 16), (2, edges))
    records = EdgeBatch.of(ends[0], ends[1], np.round(chance.random(edges) * 100, 2))
    with EdgeProducer(topic, edges_per_message=_EDGES_PER_MESSAGE) as producer:
        for low in range(0, edges, 100_000):
            producer.send(records.slice(low, min(low + 100_000, edges)))
    if value_format is ValueFormat.JSON:
        for reader, parse in (("json", json.loads), ("orjson", orjson.loads)):
            seconds = _bare(broker, topic.topic, parse)
            report.add(f"{name}, the client alone, parsed by {reader}", edges / seconds, "edges/s")
    else:
        report.add(
            f"{name}, the client alone, not parsed", edges / _bare(broker, topic.topic, len), "edges/s"
        )
    staging = Staging()
    staged_s = _ingested(staging, topic)
    if staging.edges != edges:
        raise WrongAnswer(f"{staging.edges} edges came out of a topic with {edges}")
    least = _ARROW_EDGES_PER_S if value_format is ValueFormat.ARROW else None
    report.add(f"{name}, decoded and staged", edges / staged_s, "edges/s", at_least=least)
    if value_format is ValueFormat.JSON:
        fastest = max(
            report.value(f"{name}, the client alone, parsed by {reader}") for reader in ("json", "orjson")
        )
        report.add(
            "  times the time of the client alone", fastest * staged_s / edges, "x", at_most=_TIMES_BARE
        )
    with Master(None, 1) as master:
        loop = master.start(ShortestPaths(source=_ROOT), name="paths")
        admitted_s = _ingested(loop, topic)
        loop.wait_idle()
        if loop.statistics().admitted != edges:
            raise WrongAnswer(f"{loop.statistics().admitted} of {edges} edges are in the loop")
    report.add(f"{name}, admitted by a loop of shortest paths", edges / admitted_s, "edges/s")


def _measure_ingesters(report: Report, broker: KafkaBroker, edges: int) -> None:
    topic = _topic(broker, ValueFormat.JSON, "keyed")
    broker.create_topic(topic.topic, 2)
    with broker.producer() as producer:
        for number in range(edges):
            value = b'{"src": %d, "dst": %d, "weight": 1.5, "id": "%x"}' % (number % 999, number, number)
            producer.send(topic.topic, value, partition=number % 2)
    for ingesters in (1, 2):
        staging = Staging()
        seconds = _ingested(staging, replace(topic, dedup_key="id", ingesters=ingesters))
        if staging.edges != edges:
            raise WrongAnswer(f"{staging.edges} edges came out of a topic with {edges}")
        processes = "one process" if ingesters == 1 else f"{ingesters} processes"
        report.add(f"JSON with a key, two partitions, fetched by {processes}", edges / seconds, "edges/s")


def _bare(broker: KafkaBroker, topic: str, parse: Callable[[bytes], Any]) -> float:
    """Read a topic from its start to its end with nothing but the client; return the seconds."""
    began_s = time.perf_counter()
    consumer = KafkaConsumer(
        bootstrap_servers=broker.address,
        group_id=None,
        enable_auto_commit=False,
        max_poll_records=65_536,
        fetch_max_bytes=16 << 20,
        max_partition_fetch_bytes=4 << 20,
    )
    place = TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek(place, 0)
    end = consumer.end_offsets([place])[place]
    while consumer.position(place) < end:
        for records in consumer.poll(timeout_ms=500).values():
            for record in records:
                parse(record.value)
    seconds = time.perf_counter() - began_s
    consumer.close()
    return seconds


def _ingested(loop: Any, topic: KafkaSettings) -> float:
    """Pump a topic into a loop; return the seconds, with the start of the client's process."""
    ingester = KafkaIngester(loop, topic, Quarantine(None), until_end=True)
    began_s = time.perf_counter()
    ingester.start()
    ingester.wait()
    seconds = time.perf_counter() - began_s
    if ingester.error is not None:
        raise ingester.error
    return seconds


def _measure_latency(report: Report, broker: KafkaBroker, count: int, clock: Clock) -> None:
    topic = _topic(broker, ValueFormat.JSON, "steady")
    with (
        steady_topic(broker, topic.topic),
        Master(None, 1) as master,
        broker.producer(linger_ms=0) as producer,
    ):
        loop = master.start(ShortestPaths(source=_ROOT), name="paths")
        ingester = KafkaIngester(loop, topic, Quarantine(None))
        ingester.start()
        try:
            while loop.statistics().admitted < 2 * STEADY_PER_S:
                clock.left_s()
                time.sleep(0.05)
            seconds = [
                _until_answered(loop, producer, topic.topic, _MARKER + number, clock)
                for number in range(count)
            ]
        finally:
            ingester.stop(timeout_s=30)
    report.spread(PRODUCED_TO_ANSWERED, seconds, p50_at_most_ms=_PRODUCED_TO_ANSWERED_MS)


def _until_answered(loop: Any, producer: Any, topic: str, vertex: int, clock: Clock) -> float:
    """Send an edge to a new vertex and ask exact questions until it is there; return the seconds."""
    wanted = np.array([vertex])
    began_s = time.perf_counter()
    producer.send(topic, b'{"src": %d, "dst": %d}' % (_ROOT, vertex))
    while True:
        branch = loop.fork()
        branch.wait()
        _, known = branch.values().lookup(wanted)
        branch.release()
        if known[0]:
            return time.perf_counter() - began_s
        clock.left_s()


def _topic(broker: KafkaBroker, value_format: ValueFormat, name: str | None = None) -> KafkaSettings:
    return KafkaSettings(
        brokers=(broker.address,), topic=name or value_format.value, value_format=value_format
    )
