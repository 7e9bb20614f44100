"""A driver that can be killed: it writes a recording into a service, and starts its query again whenever that fails.

    python -m tests.spark.driver MASTER FOLDER URL

In FOLDER are the recording (`incoming`), the checkpoint (`state`) and the gates (`gates`). It says what happens as JSON, a line
an event, and ends with its standard input.
"""

import json
import os
import sys
import threading

SCHEMA = "src BIGINT, dst BIGINT, weight DOUBLE, op STRING, seq BIGINT"


def started(spark, folder, url, checkpoint, *, kind="tornado", columns=("*",), **options):
    """Write a recording, a file a batch, its records spread over three partitions without regard to their edges."""
    records = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    written = records.repartition(3, "seq").selectExpr(*columns)
    writer = written.writeStream.format(kind).option("checkpointLocation", str(checkpoint))
    return writer.options(**{"url": url, "loop": "sssp", "order": "seq"} | options).start()


def main(master, folder, url):
    from pyspark.errors import StreamingQueryException

    from tests.spark import gated_sink, sessions

    threading.Thread(target=_end_with_input, daemon=True).start()
    spark = sessions.session(master, f"{folder}/spark")
    spark.dataSource.register(gated_sink.GatedSource)
    while True:
        query = started(
            spark, f"{folder}/incoming", url, f"{folder}/state", kind="tornado_gated", gates=f"{folder}/gates"
        )
        _say(event="started", id=str(query.id))
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            _say(event="failed", message=str(error))


def _say(**event):
    print(json.dumps(event), flush=True)


def _end_with_input():
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
