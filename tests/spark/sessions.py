"""How the tests start a Spark: in the test's own process, or in a driver of its own that can be killed."""

import os
import shutil
import sys
from pathlib import Path

from tests.spark import archive

CHECKOUT = Path(__file__).resolve().parents[2]
# These JVMs live for seconds: compiling well, and threads to collect garbage, cost more than they bring.
IN_A_HURRY = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def in_a_hurry(java_home):
    """What JVMs of Spark are told that live for seconds; see `archive`."""
    return {name: told + archive.options_for(java_home, told) for name, told in IN_A_HURRY.items()}


def environment(java_home):
    """What a process needs in which Spark starts, and those that Spark starts for its tasks."""
    return {
        "JAVA_HOME": java_home,
        **in_a_hurry(java_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        # Tasks are processes of their own, and must import this checkout.
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }


def session(master, folder):
    """A session that starts a failed task again, as a cluster does, if its master is one that does."""
    from pyspark.sql import SparkSession

    from tornado import register_spark, spark_kafka_jars

    settings = {
        "spark.jars": spark_kafka_jars(),
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }
    if master.startswith("local-cluster"):
        _move_home(folder)
    builder = SparkSession.builder.master(master).appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    register_spark(started)
    return started


def _move_home(folder):
    """Let the workers of a cluster work in `folder`: they do it where Spark is installed, and cannot be told otherwise."""
    import pyspark

    home = Path(folder, "home")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for name in ("bin", "jars"):
        (home / name).symlink_to(Path(pyspark.__file__).with_name(name))
    os.environ["SPARK_HOME"] = str(home)
