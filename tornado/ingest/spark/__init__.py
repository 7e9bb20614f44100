"""Spark's doorway: the data source `tornado`, which writes edges and points into a running loop and reads its values.

Only this folder (and pipelines built on it) needs pyspark; nothing of it is imported before `register_spark` is called.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
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
    with _pyspark():
        from .data_source import LoopDataSource
    spark.dataSource.register(LoopDataSource)


def spark_points(frame: Any, *, features: str | None = None) -> Any:
    """Return a DataFrame of points as `format("tornado")` takes it, with vectors as structs: sparse ones stay sparse.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With a column of vectors (`pyspark.ml.linalg`), dense or sparse, as `spark.read.format("libsvm")` gives them; columns of other
        types stay as they are.
    features : str, optional
        Which column has the vectors; left out, the one that there is. It is called `features` in what is returned.

    Raises
    ------
    InvalidArgument
        When there is no such column, or several have vectors and none is named.
    NotSupported
        As `register_spark`.
    """
    with _pyspark():
        from .point_frames import unwrapped
    return unwrapped(frame, features)


def report_spark(
    spark: Any, queries: Sequence[Any], *, url: str, loop: str, token: str | None = None
) -> None:
    """Let a service show the lag, the rejected records and the last error of streaming queries that write to it.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
    queries : sequence of pyspark.sql.streaming.StreamingQuery
        They write with `format("tornado")`. A metric that one observes under the name `rejected` (`DataFrame.observe`) counts
        what it sorted out; records that come too late for its watermark are added.
    url, loop, token : str
        As in the options of the sink.

    Raises
    ------
    NotSupported
        As `register_spark`.
    """
    with _pyspark():
        from .reports import StreamingQueryReporter
    spark.streams.addListener(
        StreamingQueryReporter(
            {str(query.id) for query in queries}, url, loop, token or os.environ.get("TORNADO_TOKEN") or None
        )
    )


@contextlib.contextmanager
def _pyspark() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise NotSupported(
            f"the data source needs pyspark 4.2 or later: {error}",
            hint="pip install 'tornado-loops[spark]'",
        ) from error
