"""Roads between named towns, from files or Kafka into a loop: parsed, checked, deduplicated, joined, written exactly once.

    tornado run sssp --source 1 --http 127.0.0.1:8080 --store lmdb:///data/roads &
    python -m apps.pipelines.roads --input incoming/ --towns towns.csv --checkpoint state/ --quarantine rejected/

A record is a JSON object a line (or a Kafka message): `{"id": "r17", "time": "2026-01-01T10:00:00Z", "src": "Bern", "dst": "Thun",
"weight": 26.5, "op": "+"}`. `id` names the record: one that comes again within the lateness is dropped. `time` orders the records of
a batch. `towns.csv` has the columns `key,vertex`. What cannot be an edge goes to the quarantine table with its reason.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

from tornado import register_spark, spark_kafka_jars

SCHEMA = "id STRING, time TIMESTAMP, src STRING, dst STRING, weight DOUBLE, op STRING, malformed STRING"
INSERTIONS = ["+", "1", "insert", "="]
REMOVALS = ["-", "-1", "delete"]


def lines_of_files(spark: SparkSession, folder: str, *, files_per_batch: int) -> DataFrame:
    """Return the lines of the files of a folder, those that come later too: `origin`, `position`, `record`."""
    lines = spark.readStream.option("maxFilesPerTrigger", files_per_batch).text(folder)
    origin = f.col("_metadata.file_path")
    return lines.select(
        origin.alias("origin"), f.lit(None).cast("long").alias("position"), lines.value.alias("record")
    )


def lines_of_kafka(spark: SparkSession, brokers: str, topic: str) -> DataFrame:
    """Return the values of a topic's messages, from its beginning: `origin` (topic and partition), `position`, `record`.

    Raises
    ------
    AnalysisException
        When Spark was started without its Kafka connector.
    """
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
    messages = reader.option("subscribe", topic).option("startingOffsets", "earliest").load()
    origin = f.concat_ws(":", "topic", "partition").alias("origin")
    return messages.select(
        origin, f.col("offset").alias("position"), f.col("value").cast("string").alias("record")
    )


def towns_of(spark: SparkSession, path: str) -> DataFrame:
    """Return the dimension table: `key` (string) and `vertex` (int64).

    Raises
    ------
    ValueError
        When a key is there twice: each of its roads would become two.
    """
    towns = spark.read.schema("key STRING, vertex BIGINT").option("header", "true").csv(path)
    repeated = towns.groupBy("key").count().where("count > 1").take(1)
    if repeated:
        raise ValueError(
            f"{path} has the key {repeated[0]['key']!r} {repeated[0]['count']} times; every key must be there once. "
            "Remove the lines that are wrong."
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
        *("origin", "position", "record"),
        _reason().alias("reason"),
        *("road.id", "road.time", "road.weight"),
        f.coalesce("road.op", f.lit("+")).alias("op"),
        f.col("src_vertex").alias("src"),
        f.col("dst_vertex").alias("dst"),
    )


def edges(lines: DataFrame, *, lateness: str) -> DataFrame:
    """Return the edges of checked lines, each record once; a record that is later than the lateness is dropped."""
    good = lines.where("reason IS NULL").withWatermark("time", lateness)
    return good.dropDuplicatesWithinWatermark(["id"]).select("src", "dst", "weight", "op", "time")


def rejected(lines: DataFrame) -> DataFrame:
    """Return the lines that are no edges, with the reason."""
    bad = lines.where("reason IS NOT NULL")
    return bad.select("origin", "position", "record", "reason")


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
    good = good.option("url", url).option("loop", loop).option("order", "time")
    bad = rejected(lines).writeStream.format("json").queryName("roads_quarantine").trigger(**trigger)
    return [
        bad.option("path", quarantine).option("checkpointLocation", f"{checkpoint}/quarantine").start(),
        good.option("checkpointLocation", f"{checkpoint}/edges").start(),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the pipeline until it is stopped, or with `--once` until everything is in."""
    given = _parser().parse_args(arguments)
    # Or its tasks run whatever python3 is on the path, which may not have this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("roads").config("spark.sql.session.timeZone", "UTC")
    if given.kafka is not None:
        builder = builder.config("spark.jars", spark_kafka_jars())
    spark = builder.config("spark.sql.shuffle.partitions", given.partitions).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    queries: list[StreamingQuery] = []
    try:
        register_spark(spark)
        lines = checked(_lines(spark, given), towns_of(spark, given.towns))
        queries = start(
            lines,
            url=given.url,
            loop=given.loop,
            checkpoint=given.checkpoint,
            quarantine=given.quarantine,
            lateness=given.lateness,
            once=given.once,
        )
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
    except (AnalysisException, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        for query in queries:
            query.stop()
        spark.stop()
    return 0


def _lines(spark: SparkSession, given: argparse.Namespace) -> DataFrame:
    if given.input is not None:
        return lines_of_files(spark, given.input, files_per_batch=given.files_per_batch)
    try:
        return lines_of_kafka(spark, given.kafka, given.topic)
    except AnalysisException as error:
        if "kafka" not in str(error).lower():
            raise
        raise ValueError(
            f"this Spark {spark.version} has no Kafka connector. Start it with spark-submit --packages "
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}, or read files with --input."
        ) from error


def _reason() -> Column:
    """Return the first fault of a parsed line, null where it has none."""
    road = f.col("road")
    op = f.lower(f.coalesce(road["op"], f.lit("+")))
    is_removal = op.isin(REMOVALS)
    faults = [
        (road.isNull() | road["malformed"].isNotNull(), f.lit("the record is no JSON object of a road")),
        *((road[name].isNull(), f.lit(f"{name} is missing")) for name in ("id", "time", "src", "dst")),
        (~op.isin(INSERTIONS + REMOVALS), f.concat(f.lit("op is unknown: "), road["op"])),
        (road["weight"].isNull() & ~is_removal, f.lit("weight is missing")),
        (f.isnan("road.weight"), f.lit("weight is NaN")),
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
    sources.add_argument("--kafka", metavar="BROKERS", help="read a topic; needs Spark's Kafka connector")
    parser.add_argument("--topic", default="roads", help="of Kafka (%(default)s)")
    parser.add_argument("--towns", required=True, metavar="CSV", help="the columns key,vertex")
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="of the service (%(default)s)")
    parser.add_argument("--loop", default="sssp", help="that the edges are for (%(default)s)")
    parser.add_argument(
        "--checkpoint", required=True, metavar="FOLDER", help="where Spark keeps how far it is"
    )
    parser.add_argument("--quarantine", required=True, metavar="FOLDER", help="the table of rejected records")
    parser.add_argument("--lateness", default="10 minutes", help="how late a record may be (%(default)s)")
    parser.add_argument("--files-per-batch", type=int, default=100, help="at most (%(default)s)")
    parser.add_argument("--partitions", type=int, default=2, help="of the deduplication (%(default)s)")
    parser.add_argument("--once", action="store_true", help="read what is there, and end")
    return parser


if __name__ == "__main__":
    sys.exit(main())
