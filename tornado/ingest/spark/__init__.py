"""Spark's doorway: the data source `tornado`, which writes edges into a running loop and reads its values.

Only this folder (and pipelines built on it) needs pyspark; nothing of it is imported before `register_spark` is called.
"""

from __future__ import annotations

from typing import Any

from ...errors import NotSupported


def register_spark(spark: Any) -> None:
    """Make `format("tornado")` known to a Spark session.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession

    Raises
    ------
    NotSupported
        When pyspark is not installed, or too old for sources that write Arrow.
    """
    try:
        from .data_source import LoopDataSource
    except ImportError as error:
        raise NotSupported(
            f"the data source needs pyspark 4.2 or later: {error}",
            hint="pip install 'tornado-loops[spark]'",
        ) from error
    spark.dataSource.register(LoopDataSource)
