"""A topic beside a loop: pumped into it by the real ingester, and read by a plain client for the oracle."""

import contextlib
import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from apps.sssp import ShortestPaths
from tests.promised import eventually
from tornado.clock import ManualClock
from tornado.ingest.kafka.ingester import KafkaIngester
from tornado.ingest.kafka.library import KafkaConsumer, TopicPartition
from tornado.ingest.kafka.producer import EdgeProducer
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat, WhenDeleted
from tornado.ingest.quarantine import Quarantine
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import OPERATIONS, REMOVE, SYMBOLS
from tornado.testing import GraphModel, exact_distances

SOURCE = 1
# One for each attempt to connect that is refused.
LIBRARY_LEAVES_SOCKETS = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
)


def settings_of(broker, topic, value_format="json", when_deleted="stop", **options):
    return KafkaSettings(
        brokers=(broker.address,),
        topic=topic,
        value_format=ValueFormat(value_format),
        when_deleted=WhenDeleted(when_deleted),
        **options,
    )


@contextlib.contextmanager
def shortest_paths(workers=1):
    with Master(None, workers) as master:
        yield master.start(ShortestPaths(source=SOURCE), name="paths")


@contextlib.contextmanager
def pumped(loop, settings, quarantine=None, **options):
    """An ingester that runs; an error of its own fails the test."""
    ingester = KafkaIngester(
        loop, settings, quarantine or Quarantine(None), check=loop.program.check, **options
    )
    ingester.start(timeout_s=60)
    try:
        yield ingester
        if ingester.error is not None:
            raise ingester.error
    finally:
        assert ingester.stop(timeout_s=30)


def given_up(loop, settings):
    """What is said by a start that is given up when its client has told of its trouble; the limit of the start is not what makes it slow."""
    clock = ManualClock()
    ingester = KafkaIngester(loop, settings, Quarantine(None), clock=clock)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(ingester.start, timeout_s=10.0)
        try:
            eventually(lambda: ingester._trouble or starting.done())
        finally:
            clock.advance(10.0)
        error = starting.exception(60)
    assert ingester.wait(timeout_s=60)
    return error


def sent(broker, topic, batch, value_format="json", **options):
    """Send a batch and wait until the broker has it."""
    with EdgeProducer(settings_of(broker, topic, value_format), **options) as producer:
        return producer.send(batch)


def with_repeats(batch, partitions, *, seed, name=int, most=40):
    """A producer's messages: each record with an id, and a tenth of them sent once more, at most so many later.

    Returns partition and value of each; `name` makes an id of a vertex.
    """
    chance = np.random.default_rng(seed)
    messages = []
    rows = zip(batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), batch.op.tolist(), strict=True)
    for number, (src, dst, weight, op) in enumerate(rows):
        record = {"src": name(src), "dst": name(dst), "op": SYMBOLS[op], "id": f"event {number}"}
        if not math.isnan(weight):
            record["weight"] = weight
        message = hash((src, dst)) % partitions, json.dumps(record).encode()
        messages.append((number, message))
        if chance.random() < 0.1:
            messages.append((number + int(chance.integers(0, most)), message))
    return [message for _, message in sorted(messages, key=lambda one: one[0])]


class Sending:
    """Sends a batch, or messages of partition and value, slowly, on a thread of its own; the rest at once where the context ends."""

    def __init__(self, broker, topic, records, *, seconds, value_format="json", **options):
        self._producer = EdgeProducer(settings_of(broker, topic, value_format), **options)
        self._topic = topic
        self._records = records
        self._seconds = seconds
        self._hurry = threading.Event()
        self.error = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            steps = 100
            size = -(-len(self._records) // steps)
            for low in range(0, len(self._records), size):
                self._send(low, low + size)
                self._hurry.wait(self._seconds / steps)
            self._producer.flush()
        except Exception as error:  # noqa: BLE001 - raised where the test can see it
            self.error = error

    def _send(self, low, high):
        if isinstance(self._records, EdgeBatch):
            self._producer.send(self._records.slice(low, high))
            return
        for partition, value in self._records[low:high]:
            self._producer._producer.send(self._topic, value, partition=partition)

    @property
    def is_sending(self):
        return self._thread.is_alive()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._hurry.set()
        self._thread.join(120)
        self._producer.close()
        if self.error is not None:
            raise self.error


def ends(broker, topic):
    """Where each partition ends, by source name."""
    consumer = KafkaConsumer(bootstrap_servers=broker.address, group_id=None, enable_auto_commit=False)
    try:
        places = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
        return {f"{topic}:{place.partition}": end for place, end in consumer.end_offsets(places).items()}
    finally:
        consumer.close()


def replayed(broker, topic, value_format="json", window=None):
    """All records of a topic as a plain client and Python read them: (partition, offset, src, dst, weight, op) rows.

    With a window, without those that repeat one by their field `id`.
    """
    newest = {}
    read = {"json": _read_json, "csv": _read_csv, "arrow": _read_arrow}[value_format]
    stops = ends(broker, topic)
    consumer = KafkaConsumer(bootstrap_servers=broker.address, group_id=None, enable_auto_commit=False)
    rows = []
    try:
        places = [TopicPartition(topic, int(name.rpartition(":")[2])) for name in stops]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        while any(consumer.position(place) < stops[f"{topic}:{place.partition}"] for place in places):
            for place, records in consumer.poll(timeout_ms=500).items():
                for record in records:
                    if window is not None:
                        key = place.partition, json.loads(record.value)["id"]
                        before, newest[key] = newest.get(key), record.offset
                        if before is not None and record.offset - before <= window:
                            continue
                    rows += [(place.partition, record.offset, *row) for row in read(record.value)]
    finally:
        consumer.close()
    return rows


def _read_json(value):
    found = json.loads(value)
    yield (
        found["src"],
        found["dst"],
        found.get("weight", math.nan if found["op"] == "-" else 1.0),
        OPERATIONS[found["op"]],
    )


def _read_csv(value):
    src, dst, weight, op = value.decode().split(",")
    yield int(src), int(dst), float(weight) if weight else math.nan, OPERATIONS[op]


def _read_arrow(value):
    for row in pa.ipc.open_stream(value).read_all().to_pylist():
        weight = math.nan if row["weight"] is None else row["weight"]
        yield row["src"], row["dst"], weight, OPERATIONS[row["op"]]


def prefix_model(rows, topic, offsets):
    """The graph of the records below the offsets of each partition."""
    kept = [row for row in rows if row[1] < offsets.get(f"{topic}:{row[0]}", 0)]
    model = GraphModel()
    if kept:
        _, _, src, dst, weight, op = zip(*kept, strict=True)
        model.apply(EdgeBatch(np.array(src), np.array(dst), np.array(weight, float), np.array(op, np.int8)))
    return model


def answered(loop):
    """An exact answer of now: the offsets it names, and its values by vertex."""
    branch = loop.fork()
    assert branch.wait(60)
    ids, values = branch.values().arrays()
    offsets = dict(branch.snapshot.offsets)
    branch.release()
    return offsets, dict(zip(ids.tolist(), values.tolist(), strict=True))


def check(answer, rows, topic):
    """Compare an answer with the oracle at the offsets that it names."""
    offsets, values = answer
    edges = prefix_model(rows, topic, offsets).edges()
    distances = exact_distances(edges, SOURCE)
    expected = dict(zip(distances.ids.tolist(), distances.values.tolist(), strict=True))
    reachable = {vertex: value for vertex, value in values.items() if value < math.inf and vertex != SOURCE}
    assert reachable == {
        vertex: value for vertex, value in expected.items() if value < math.inf and vertex != SOURCE
    }


def removals_in(batch):
    return int((batch.op == REMOVE).sum())
