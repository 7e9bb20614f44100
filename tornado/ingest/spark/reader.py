"""Reading a loop from Spark: its approximation, or the result of an exact branch, as a DataFrame (vertex, value).

One partition, since an answer is for one snapshot: two would be two questions. Every execution of the DataFrame asks anew; cache
it where two uses must see the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from ...errors import InvalidArgument
from .options import SourceOptions
from .remote_loop import RemoteLoop


class LoopReader(DataSourceReader):
    """Reads the values of a loop.

    Parameters
    ----------
    options : SourceOptions
    ids : str
        What its vertices are: `int` or `string`.
    """

    def __init__(self, options: SourceOptions, ids: str) -> None:
        self._options = options
        self._ids = ids
        self._vertices = _vertices(options.vertices, ids)

    def partitions(self) -> list[InputPartition]:
        """Return the one partition."""
        return [InputPartition(0)]

    def read(self, _partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Ask, and yield the answer."""
        options = self._options
        with RemoteLoop(options.url, options.loop, timeout_s=options.timeout_s) as loop:
            table = loop.values(mode=options.mode, vertices=self._vertices, deadline_s=options.deadline_s)
        # An answer without rows cannot tell which kind its ids have.
        yield from table.cast(arrow_schema_of(self._ids)).to_batches()


def schema_of(ids: str) -> StructType:
    """Return the columns of a loop's values; a value is null where a vertex is out of reach."""
    kind = StringType() if ids == "string" else LongType()
    return StructType([StructField("vertex", kind), StructField("value", DoubleType())])


def arrow_schema_of(ids: str) -> pa.Schema:
    """Return the same as Arrow writes it."""
    kind = pa.string() if ids == "string" else pa.int64()
    return pa.schema([("vertex", kind), ("value", pa.float64())])


def _vertices(text: str | None, ids: str) -> list[int | str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if ids == "string":
        return list(names)
    try:
        return [int(name) for name in names]
    except ValueError:
        raise InvalidArgument(
            f"vertices is {text!r}, but the ids of this loop are whole numbers", hint='Write them as "4,5".'
        ) from None
