"""The classes of Spark as a JVM keeps them in memory, in a file from which the JVMs of tests take them.

A JVM of Spark reads and checks thousands of classes before it does anything, which is half of the processor time of those that live
for seconds. One that is started for it keeps what it loaded (Java calls that class data sharing), once for a Java and a Spark. A JVM
that the file does not fit, as one with other jars, goes on as if there were none.

    python -m tests.spark.archive FILE
"""

import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tornado.config import cache_dir

CHECKOUT = Path(__file__).resolve().parents[2]
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
WITHIN_S = 300


@cache
def options_for(java_home, hurried):
    """Return what a JVM has to be told, and make the file where it is not there; nothing where there is no Spark or no such file.

    `hurried` is what JVMs are told beside it: a file fits those that collect garbage alike.
    """
    spark = importlib.util.find_spec("pyspark")
    if spark is None or not java_home:
        return ""
    folder = cache_dir() / "spark-classes"
    folder.mkdir(parents=True, exist_ok=True)
    jars = Path(spark.origin).with_name("jars")
    version = subprocess.run(
        [f"{java_home}/bin/java", "-version"], capture_output=True, text=True, check=False
    ).stderr
    named = f"{version}\n{hurried}\n{jars}\n{jars.stat().st_mtime_ns}"
    found = folder / f"{hashlib.sha256(named.encode()).hexdigest()[:24]}.jsa"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            for other in folder.glob("*.jsa"):
                other.unlink()  # two hundred megabytes of a Spark that is gone
            environment = os.environ | {"JAVA_HOME": java_home, "JDK_JAVA_OPTIONS": hurried}
            subprocess.run(
                [sys.executable, "-m", "tests.spark.archive", found],
                env=environment | {"SPARK_LOCAL_IP": "127.0.0.1"},
                cwd=CHECKOUT,
                capture_output=True,
                timeout=WITHIN_S,
                check=False,
            )
    return f" -XX:SharedArchiveFile={found} {QUIET}" if found.exists() else ""


def main(path):
    """Let a Spark do a little of what tests have it do, and keep the classes that it loaded for it."""
    made = Path(path).with_suffix(".new")
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f'--driver-java-options "-XX:ArchiveClassesAtExit={made} {QUIET}" pyspark-shell'
    )
    from tests.spark import sessions

    with tempfile.TemporaryDirectory() as folder:
        spark = sessions.session("local[2,4]", folder)
        rows = spark.createDataFrame([(number, number / 2, "x") for number in range(9)], ["a", "b", "c"])
        rows.join(rows.groupBy("c").count(), "c").write.json(f"{folder}/rows")
        query = (
            spark.readStream.schema(rows.schema)
            .json(f"{folder}/rows")
            .writeStream.foreachBatch(lambda batch, _: batch.collect())
            .option("checkpointLocation", f"{folder}/state")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        gateway = spark.sparkContext._gateway
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # by which it ends, and writes the file
        gateway.proc.wait()
    made.rename(path)


if __name__ == "__main__":
    main(sys.argv[1])
