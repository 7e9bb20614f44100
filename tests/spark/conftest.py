"""A Spark of our own, one for all tests of a run; without pyspark they are skipped, and say so; Java comes from PyPI where there is none."""

import importlib.util
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """A broker that answers."""
    from tornado.testing.kafka_broker import KafkaBroker

    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="session")
def spark_environment(request):
    """What a Spark needs around it, in this process and in those that it starts."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install 'tornado-loops[spark]'")
    from tornado.ingest.java import spark_java_home

    # Services are processes of their own, and must not compile inside a test's limits.
    request.getfixturevalue("compiled_paths")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", spark_java_home())
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        # Tests end before the better compiler pays.
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
        # Tasks are processes of their own, and must import this checkout.
        patch.setenv("PYTHONPATH", str(CHECKOUT))
        yield


@pytest.fixture(scope="session")
def spark(spark_environment, tmp_path_factory):
    """A session on two cores that starts a failed task again, as a cluster does."""
    from pyspark.sql import SparkSession

    from tornado import register_spark, spark_kafka_jars

    settings = {
        "spark.jars": spark_kafka_jars(),
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS,
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    register_spark(session)
    yield session
    session.stop()
