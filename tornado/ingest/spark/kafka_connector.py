"""Spark's Kafka connector, which pyspark comes without: its jars, fetched once into the user's cache folder.

As jars and not as `spark.jars.packages`: the connector's own pom names a version of a part of it that is not published. This
set works with pyspark 4.2 and 4.3; everything else that it needs is inside pyspark.
"""

from __future__ import annotations

from typing import Final

from ..java import Artifact, find_java, jars

_ARTIFACTS: Final = (
    Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    Artifact("org.apache.kafka", "kafka-clients", "3.9.2"),
    Artifact("org.apache.commons", "commons-pool2", "2.13.1"),
)


def spark_kafka_jars() -> str:
    """Return the jars as the setting `spark.jars` takes them, to be given before the session starts.

    Raises
    ------
    NotSupported
        They are not there yet, and neither Maven nor the Ivy inside pyspark is.
    ConnectionLost
        Neither of these reached Maven Central.
    """
    folder = jars(f"spark-kafka-{_ARTIFACTS[0].version}", _ARTIFACTS, find_java(), alone=True)
    return ",".join(str(path) for path in sorted(folder.glob("*.jar")))
