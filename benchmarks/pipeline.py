"""How fast do edges come through Spark into a loop, beside Spark alone that throws them away?

First from parquet, then from a real Kafka topic of JSON messages with parsing: each once into Spark's own `noop` sink and once
into the sink of this package, with the service as a process of its own beside Spark, in memory and on a durable store. A run
ends when Spark has committed its last batch, so everything is in the loop, and in the log where there is one. The first run of
each kind, which starts Python and compiles, is not measured; of the others the best counts. Then edges come at a steady rate, and it
is measured how long one takes from the topic to an exact answer over HTTP.
"""  # noqa: D400  # a question

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tornado import register_spark, spark_kafka_jars
from tornado.ingest.kafka.producer import EdgeProducer
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat
from tornado.ingest.spark.remote_loop import RemoteLoop
from tornado.records.edge_batch import EdgeBatch
from tornado.testing.kafka_broker import KafkaBroker

from .harness import CHECKOUT, Clock, Report, Settings, WrongAnswer
from .steady import PRODUCED_TO_ANSWERED, STEADY_PER_S, steady_topic

_PARQUET_ROWS_PER_S = 1_000_000
_SHARE_OF_NOOP = 0.5
_SCHEMA = "src BIGINT, dst BIGINT, weight DOUBLE"
_TOPIC = "edges"
# On a local disk a third of the time of the usual one.
_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_FILES = 8
_MARKER = 10_000_000
_PRODUCED_TO_ANSWERED_MS = 500.0


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above. Needs no graph: the scale means nothing here."""
    rows, messages, repeats = (5_000, 1_000, 1) if settings.smoke else (2_000_000, 500_000, 3)
    report.data = {
        "recipe": f"{rows:,} random edges in {_FILES} parquet files, {messages:,} as JSON messages"
    }
    with (
        tempfile.TemporaryDirectory(prefix="tornado-pipeline-") as name,
        _session(Path(name)) as spark,
    ):
        folder = Path(name)
        edges = _edges(max(rows, messages), settings.seed)
        (folder / "parquet").mkdir()
        for number in range(_FILES):
            part = edges.slice(number * rows // _FILES, (number + 1) * rows // _FILES)
            table = pa.table({"src": part.src, "dst": part.dst, "weight": part.weight})
            pq.write_table(table, folder / "parquet" / f"{number}.parquet")

        def parquet() -> Any:
            return spark.readStream.schema(_SCHEMA).parquet(str(folder / "parquet"))

        _measure_source(report, folder, "parquet", parquet, rows, repeats, clock)
        with KafkaBroker(folder / "broker") as broker:
            topic = KafkaSettings(brokers=(broker.address,), topic=_TOPIC, value_format=ValueFormat.JSON)
            broker.create_topic(_TOPIC, 2)
            with EdgeProducer(topic) as producer:
                for low in range(0, messages, 100_000):
                    producer.send(edges.slice(low, min(low + 100_000, messages)))

            def kafka() -> Any:
                return _parsed(spark, broker, _TOPIC)

            _measure_source(report, folder, "Kafka and JSON", kafka, messages, repeats, clock)
            _measure_latency(report, folder, broker, spark, 5 if settings.smoke else 100, clock)


def _measure_source(
    report: Report,
    folder: Path,
    source: str,
    frame: Callable[[], Any],
    rows: int,
    repeats: int,
    clock: Clock,
) -> None:
    _written(frame(), "noop", folder, {})
    noop_s = min(_written(frame(), "noop", folder, {}) for _ in range(repeats))
    report.add(f"{source}, into Spark's noop sink", rows / noop_s, "rows/s")
    stores = {"with a durable log": f"lmdb://{folder}/store-{source[:5]}", "in memory": "memory:"}
    for kind, store in list(stores.items())[: 1 if report.settings.smoke else None]:
        clock.left_s()
        with _service(store) as url:
            options = {"url": url, "loop": "sssp"}
            seconds = [_written(frame(), "tornado", folder, options) for _ in range(repeats + 1)]
            with RemoteLoop(url, "sssp") as loop:
                admitted = loop.describe()["admitted"]
            if admitted != rows * (repeats + 1):
                raise WrongAnswer(f"{admitted} of {rows * (repeats + 1)} rows are in the loop")
        least = _PARQUET_ROWS_PER_S if source == "parquet" else _SHARE_OF_NOOP * rows / noop_s
        report.add(f"{source}, into a loop {kind}", rows / min(seconds[1:]), "rows/s", at_least=least)
        report.add(f"  share of noop, {source} {kind}", noop_s / min(seconds[1:]), "x")


def _measure_latency(
    report: Report, folder: Path, broker: KafkaBroker, spark: Any, count: int, clock: Clock
) -> None:
    """Edges come at a steady rate; some lead to new vertices, and exact questions are asked until these are there."""
    topic = "steady"
    with (
        steady_topic(broker, topic),
        _service("memory:") as url,
        RemoteLoop(url, "sssp") as loop,
        broker.producer(linger_ms=0) as producer,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        writer = _parsed(spark, broker, topic).writeStream.format("tornado")
        options = {"url": url, "loop": "sssp", "checkpointLocation": str(folder / "steady")}
        query = writer.options(**options).start()
        try:
            while loop.describe()["admitted"] < 5 * STEADY_PER_S:
                clock.left_s()
                time.sleep(0.1)
            seconds = [
                _until_answered(client, producer, topic, _MARKER + number, clock) for number in range(count)
            ]
        finally:
            query.stop()
    report.spread(PRODUCED_TO_ANSWERED, seconds, p50_at_most_ms=_PRODUCED_TO_ANSWERED_MS)


def _until_answered(client: httpx.Client, producer: Any, topic: str, vertex: int, clock: Clock) -> float:
    """Send an edge to a new vertex and ask exact questions until it is there; return the seconds."""
    began_s = time.perf_counter()
    producer.send(topic, b'{"src": 0, "dst": %d, "weight": 1.0}' % vertex)
    while True:
        body = {"loop": "sssp", "vertices": [vertex]}
        answer = client.post("/v1/queries", params={"wait_s": 10}, json=body).json()
        if answer["state"] == "converged" and not answer["result"]["unknown"]:
            return time.perf_counter() - began_s
        clock.left_s()


def _parsed(spark: Any, broker: KafkaBroker, topic: str) -> Any:
    """The edges of a topic."""
    from pyspark.sql import functions as f

    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.address)
    found = reader.option("subscribe", topic).option("startingOffsets", "earliest").load()
    parsed = f.from_json(f.col("value").cast("string"), _SCHEMA).alias("edge")
    return found.select(parsed).select("edge.*").where("src IS NOT NULL AND dst IS NOT NULL")


def _written(frame: Any, kind: str, folder: Path, options: dict[str, str]) -> float:
    """Write everything that a stream has, in a query of its own; return the seconds of its batches."""
    with tempfile.TemporaryDirectory(dir=folder) as checkpoint:
        writer = frame.writeStream.format(kind).options(**options).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return sum(progress["durationMs"]["triggerExecution"] for progress in query.recentProgress) / 1e3


def _edges(count: int, seed: int) -> EdgeBatch:
    chance = np.random.default_rng(seed)
    ends = chance.integers(0, max(1000, count // 16), (2, count))
    return EdgeBatch.of(ends[0], ends[1], np.round(chance.random(count) * 100, 2))


@contextmanager
def _service(store: str) -> Iterator[str]:
    process = subprocess.Popen(
        [
            *[sys.executable, "-m", "tornado", "run", "sssp", "--source", "0", "--http", "127.0.0.1:0"],
            *["--store", store, "--checkpoint-every", "off", "--json"],
        ],
        cwd=CHECKOUT,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        yield next(event["url"] for event in map(json.loads, process.stderr) if event["event"] == "ready")
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _session(folder: Path) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{CHECKOUT}{os.pathsep}{path}" if path else str(CHECKOUT)
    builder = SparkSession.builder.master("local[*]").appName("pipeline")
    builder = builder.config("spark.jars", spark_kafka_jars()).config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.streaming.checkpointFileManagerClass", _CHECKPOINTS)
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.memory", "2g")
    spark = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    register_spark(spark)
    try:
        yield spark
    finally:
        spark.stop()
        # A moment for what the JVM has still to say, before the folder goes.
        time.sleep(0.1)
