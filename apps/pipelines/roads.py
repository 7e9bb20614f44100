r"""Roads between named towns, from files or Kafka into a loop: parsed, checked, deduplicated, joined, written exactly once.

    tornado run sssp --source 1 --store lmdb:///data/roads --pipeline apps/pipelines/roads.py -- \
        --kafka 127.0.0.1:9092 --topic roads --towns towns.csv

or, beside a service that runs, `python -m apps.pipelines.roads --url … --checkpoint … --quarantine …`. As a pipeline of a run
it finds the service in TORNADO_URL, its loop in TORNADO_LOOP, a folder of its own in TORNADO_PIPELINE_DIR, and ends on SIGTERM.

A record is a JSON object a line (or a Kafka message): `{"id": "r17", "time": "2026-01-01T10:00:00Z", "src": "Bern", "dst": "Thun",
"weight": 26.5, "op": "+"}`. `id` names the record: one that comes again within the lateness is dropped. `time` orders the records of
a batch; those of one instant come in the order of their partition, or of their file, the file that was changed first before the
others. `towns.csv` has the columns `key,vertex`. What cannot be an edge goes to the quarantine table with its reason.

With `--backfill` what the topic has already is written first, as one batch; the stream takes over at the offset behind it. Where
that is gets decided once and written down before anything else happens, and the batch is written under a name that goes with it:
so it is in once, with no gap and no overlap, wherever the pipeline is killed in between.
"""

import argparse
import json
import math
import os
import signal
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import NoReturn, Self

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

from tornado import TornadoError, register_spark, report_spark, spark_kafka_jars

SCHEMA = "id STRING, time TIMESTAMP, src STRING, dst STRING, weight DOUBLE, op STRING, malformed STRING"
INSERTIONS = ["+", "1", "insert", "="]
REMOVALS = ["-", "-1", "delete"]
RECORD_CHARACTERS = 1000
PLACE = ("topic", "partition", "offset", "file")
EDGE = ("src", "dst", "weight", "op")
ORDER = ("time", "position")

Offsets = Mapping[str, Mapping[str, int]]
"""Of each partition of each topic, the offset of the next record."""


def lines_of_files(spark: SparkSession, folder: str, *, files_per_batch: int) -> DataFrame:
    """Return the lines of the files of a folder, those that come later too: `file`, `record`, and their `position`.

    Spark takes files in the order in which they were changed, and cuts large ones into blocks, each of which one task reads.
    """
    lines = spark.readStream.option("maxFilesPerTrigger", files_per_batch).text(folder)
    place = (
        f.lit(None).cast(kind).alias(name)
        for name, kind in zip(PLACE, ("string", "int", "long"), strict=False)
    )
    # A stream of Spark's has no numbers of lines. Within a block, the moment at which each is read stands in the same order.
    read = f.expr("reflect('java.lang.System', 'nanoTime')").cast("long")
    position = f.struct("_metadata.file_modification_time", "_metadata.file_block_start", read.alias("read"))
    return lines.select(
        *place,
        f.col("_metadata.file_path").alias("file"),
        lines.value.alias("record"),
        position.alias("position"),
    )


@dataclass(frozen=True)
class Topic:
    """A topic, read as a stream from `offsets` on (left out: from its beginning), or as the batch before them."""

    spark: SparkSession
    brokers: str
    name: str
    records_per_batch: int = 1_000_000

    def stream(self, offsets: Offsets | None = None) -> DataFrame:
        """Return the messages behind some offsets, those that come later too: their place, `record` and `position`."""
        reader = self.spark.readStream.format("kafka").options(**self._options())
        reader = reader.option("startingOffsets", "earliest" if offsets is None else json.dumps(offsets))
        # Or the first batch after a long absence has everything that came meanwhile.
        return _messages(reader.option("maxOffsetsPerTrigger", self.records_per_batch).load())

    def history(self, offsets: Offsets) -> DataFrame:
        """Return the messages before some offsets."""
        reader = self.spark.read.format("kafka").options(**self._options())
        return _messages(reader.option("endingOffsets", json.dumps(offsets)).load())

    def ends(self) -> Offsets:
        """Return the offsets of all partitions as they are now."""
        reader = self.spark.readStream.format("kafka").options(**self._options())
        newest = reader.option("startingOffsets", "latest").load()
        # A stream that begins at the end: it reads nothing, and says where that is.
        query = newest.writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        progress = query.lastProgress
        if progress is None:
            raise ValueError(f"the topic {self.name} at {self.brokers} did not say where it ends")
        found = progress["sources"][0]["endOffset"]
        offsets: Offsets = json.loads(found) if isinstance(found, str) else found
        return offsets

    def _options(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.brokers, "subscribe": self.name}


@dataclass(frozen=True)
class Takeover:
    """Where the history ends and the stream begins, as a file says: decided once, and the same ever after.

    `write_id` is what the history is written under, `done` whether that has happened.
    """

    offsets: Offsets
    write_id: str
    done: bool = False

    @classmethod
    def of(cls, path: Path, topic: Topic) -> Self:
        """Return what the file says, or let it say where the topic ends now."""
        if path.exists():
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        return cls(topic.ends(), uuid.uuid4().hex).write(path)

    def write(self, path: Path) -> Self:
        """Make it durable, wholly or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(".new")
        with scratch.open("w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
        return self


def backfill(lines: DataFrame, takeover: Takeover, *, url: str, loop: str, quarantine: str) -> None:
    """Write the history, as `checked` returns it: once, however often this is called for one takeover."""
    rejected(lines).write.mode("overwrite").json(quarantine)
    good = lines.where("reason IS NULL").dropDuplicates(["id"]).select(*EDGE, *ORDER)
    writer = good.write.format("tornado").mode("append").option("url", url).option("loop", loop)
    writer.option("order", ",".join(ORDER)).option("write_id", takeover.write_id).save()


def towns_of(spark: SparkSession, path: str) -> DataFrame:
    """Return the dimension table: `key` (string) and `vertex` (int64).

    Raises
    ------
    ValueError
        When a key is there twice: each of its roads would become two; or when its vertex is no int64.
    """
    towns = spark.read.schema("key STRING, vertex BIGINT").option("header", "true").csv(path)
    repeated = towns.groupBy("key").count().where("count > 1").take(1)
    if repeated:
        raise ValueError(
            f"{path} has the key {repeated[0]['key']!r} {repeated[0]['count']} times; every key must be there once. "
            "Remove the lines that are wrong."
        )
    lost = towns.where("vertex IS NULL").take(1)
    if lost:
        raise ValueError(
            f"{path} has the key {lost[0]['key']!r} without a vertex that is a whole number of 64 bits; mend that line."
        )
    return towns


def checked(lines: DataFrame, towns: DataFrame) -> DataFrame:
    """Parse, check and join: every line with the edge that it means, or with the `reason` why it means none."""
    options = {"columnNameOfCorruptRecord": "malformed"}
    parsed = lines.withColumn("road", f.from_json("record", SCHEMA, options))
    for end in ("src", "dst"):
        ids = towns.select(f.col("key").alias(f"{end}_key"), f.col("vertex").alias(f"{end}_vertex"))
        parsed = parsed.join(f.broadcast(ids), f.col(f"road.{end}") == f.col(f"{end}_key"), "left")
    return parsed.select(
        *(*PLACE, "record", "position"),
        _reason().alias("reason"),
        *("road.id", "road.time", "road.weight"),
        f.coalesce("road.op", f.lit("+")).alias("op"),
        f.col("src_vertex").alias("src"),
        f.col("dst_vertex").alias("dst"),
    )


def edges(lines: DataFrame, *, lateness: str) -> DataFrame:
    """Return the edges of checked lines, each record once; a record that is later than the lateness is dropped."""
    # What was rejected is counted here, for whoever looks at the loop's sources.
    counted = lines.observe("roads", f.count("reason").alias("rejected"))
    good = counted.where("reason IS NULL").withWatermark("time", lateness)
    return good.dropDuplicatesWithinWatermark(["id"]).select(*EDGE, *ORDER)


def rejected(lines: DataFrame) -> DataFrame:
    """Return the lines that are no edges, the beginning of each, with the reason."""
    bad = lines.where("reason IS NOT NULL")
    return bad.select(*PLACE, f.substring("record", 1, RECORD_CHARACTERS).alias("record"), "reason")


def start(
    lines: DataFrame,
    *,
    url: str,
    loop: str,
    checkpoint: str,
    quarantine: str,
    lateness: str = "10 minutes",
    once: bool = False,
) -> list[StreamingQuery]:
    """Start both queries, the edges and the quarantine; each goes on where its checkpoint is.

    Parameters
    ----------
    lines : DataFrame
        What `checked` returns.
    once : bool
        Read what is there, and end.
    """
    trigger = {"availableNow": True} if once else {"processingTime": "0 seconds"}
    good = edges(lines, lateness=lateness).writeStream.format("tornado").queryName("roads").trigger(**trigger)
    good = good.option("url", url).option("loop", loop).option("order", ",".join(ORDER))
    bad = rejected(lines).writeStream.format("json").queryName("roads_quarantine").trigger(**trigger)
    return [
        bad.option("path", quarantine).option("checkpointLocation", f"{checkpoint}/quarantine").start(),
        good.option("checkpointLocation", f"{checkpoint}/edges").start(),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the pipeline until it is stopped, or with `--once` until everything is in."""
    given = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    # Or its tasks run whatever python3 is on the path, which may not have this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    queries: list[StreamingQuery] = []
    spark: SparkSession | None = None
    try:
        spark = _session(given)
        register_spark(spark)
        towns = towns_of(spark, given.towns)
        lines = checked(_lines(spark, given, towns), towns)
        queries = start(
            lines,
            url=given.url,
            loop=given.loop,
            checkpoint=given.checkpoint,
            quarantine=given.quarantine,
            lateness=given.lateness,
            once=given.once,
        )
        report_spark(spark, queries[1:], url=given.url, loop=given.loop)
        if given.once:
            for query in queries:
                query.awaitTermination()
        else:
            spark.streams.awaitAnyTermination()
    except KeyboardInterrupt:
        return 130
    except StreamingQueryException as error:
        # Behind this come the plans of the query, hundreds of lines.
        sys.stderr.write(str(error).partition("=== Streaming Query ===")[0] + "\n")
        return 1
    except (AnalysisException, TornadoError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        # A second signal must not break into the end.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for query in queries:
            query.stop()
        if spark is not None:
            spark.stop()
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _session(given: argparse.Namespace) -> SparkSession:
    builder = SparkSession.builder.appName("roads").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.shuffle.partitions", given.partitions)
    # Whoever starts it with spark-submit has a JVM already, and names the connector there.
    if given.kafka is not None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        builder = builder.config("spark.jars", spark_kafka_jars())
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _lines(spark: SparkSession, given: argparse.Namespace, towns: DataFrame) -> DataFrame:
    if given.input is not None:
        return lines_of_files(spark, given.input, files_per_batch=given.files_per_batch)
    topic = Topic(spark, given.kafka, given.topic, given.records_per_batch)
    try:
        if not given.backfill:
            return topic.stream()
        path = Path(given.checkpoint) / "backfill.json"
        takeover = Takeover.of(path, topic)
        if not takeover.done:
            history = checked(topic.history(takeover.offsets), towns)
            backfill(
                history, takeover, url=given.url, loop=given.loop, quarantine=f"{given.quarantine}-backfill"
            )
            replace(takeover, done=True).write(path)
        return topic.stream(takeover.offsets)
    except AnalysisException as error:
        if "Failed to find data source: kafka" not in str(error) and "DATA_SOURCE_NOT_FOUND" not in str(
            error
        ):
            raise
        raise ValueError(
            f"this Spark {spark.version} has no Kafka connector. Name its jars to spark-submit with --jars: "
            f'python -c "import tornado; print(tornado.spark_kafka_jars())" fetches and lists them.'
        ) from error


def _messages(messages: DataFrame) -> DataFrame:
    place = ("topic", "partition", "offset", f.lit(None).cast("string").alias("file"))
    # All records of a road are in one partition, so offsets say which of them came first.
    position = f.struct("offset").alias("position")
    return messages.select(*place, f.col("value").cast("string").alias("record"), position)


def _reason() -> Column:
    """Return the first fault of a parsed line, null where it has none."""
    road = f.col("road")
    op = f.lower(f.coalesce(road["op"], f.lit("+")))
    is_removal = op.isin(REMOVALS)
    faults = [
        (f.col("record").isNull(), f.lit("the message has no value (a tombstone)")),
        (road.isNull() | road["malformed"].isNotNull(), f.lit("the record is no JSON object of a road")),
        *((road[name].isNull(), f.lit(f"{name} is missing")) for name in ("id", "time", "src", "dst")),
        (~op.isin(INSERTIONS + REMOVALS), f.concat(f.lit("op is unknown: "), road["op"])),
        (road["weight"].isNull() & ~is_removal, f.lit("weight is missing")),
        (f.isnan("road.weight"), f.lit("weight is NaN")),
        (f.abs("road.weight") == math.inf, f.lit("weight is not finite")),
        (road["weight"] < 0, f.lit("weight is negative")),
        *(
            (f.col(f"{end}_vertex").isNull(), f.concat(f.lit(f"{end} is no known town: "), road[end]))
            for end in ("src", "dst")
        ),
    ]
    return f.coalesce(*(f.when(fault, reason) for fault, reason in faults))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Roads between named towns, from files or Kafka into a loop."
    )
    sources = parser.add_mutually_exclusive_group(required=True)
    sources.add_argument(
        "--input", metavar="FOLDER", help="read the files of this folder, a JSON object a line"
    )
    sources.add_argument("--kafka", metavar="BROKERS", help="read a topic, by Spark's Kafka connector")
    parser.add_argument("--topic", default="roads", help="of Kafka (%(default)s)")
    parser.add_argument(
        "--records-per-batch", type=int, default=1_000_000, help="of Kafka, at most (%(default)s)"
    )
    parser.add_argument(
        "--backfill",
        action="store_true",
        help="write what the topic has already as one batch, then begin behind it",
    )
    parser.add_argument("--towns", required=True, metavar="CSV", help="the columns key,vertex")
    own = os.environ.get("TORNADO_PIPELINE_DIR")
    url = os.environ.get("TORNADO_URL", "http://127.0.0.1:8080")
    parser.add_argument("--url", default=url, help="of the service (%(default)s)")
    loop = os.environ.get("TORNADO_LOOP", "sssp")
    parser.add_argument("--loop", default=loop, help="that the edges are for (%(default)s)")
    for option, folder, text in (
        ("--checkpoint", "checkpoint", "where Spark keeps how far it is"),
        ("--quarantine", "rejected", "the table of rejected records"),
    ):
        default = own and f"{own}/{folder}"
        parser.add_argument(option, required=own is None, default=default, metavar="FOLDER", help=text)
    parser.add_argument("--lateness", default="10 minutes", help="how late a record may be (%(default)s)")
    parser.add_argument("--files-per-batch", type=int, default=100, help="at most (%(default)s)")
    parser.add_argument("--partitions", type=int, default=2, help="of the deduplication (%(default)s)")
    parser.add_argument("--once", action="store_true", help="read what is there, and end")
    return parser


if __name__ == "__main__":
    sys.exit(main())
