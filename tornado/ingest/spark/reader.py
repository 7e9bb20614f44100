"""Reading a loop from Spark: its approximation, or the result of an exact branch, as a DataFrame (vertex, value).

One partition, since an answer is for one snapshot: two would be two questions. Every execution of the DataFrame asks anew; cache
it where two uses must see the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from ...errors import InvalidArgument
from .options import SourceOptions
from .remote_loop import Document, RemoteLoop

SPARK_TYPES = {"int64": LongType, "float64": DoubleType, "string": StringType}
ARROW_TYPES = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string()}


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """Of what type the columns of a loop's values are: `int64`, `float64` or `string`."""

    vertex: str
    value: str

    @classmethod
    def of(cls, described: Document) -> ColumnTypes:
        """Return those of a loop as the service describes it."""
        types = {column["name"]: str(column["type"]) for column in described["tables"][0]["columns"]}
        return cls(types["vertex"], types["value"])

    @property
    def schema(self) -> StructType:
        """The columns; a value is null where a vertex is out of reach."""
        fields = (("vertex", self.vertex), ("value", self.value))
        return StructType([StructField(name, SPARK_TYPES[kind]()) for name, kind in fields])

    @property
    def arrow_schema(self) -> pa.Schema:
        """The same as Arrow writes it."""
        return pa.schema([("vertex", ARROW_TYPES[self.vertex]), ("value", ARROW_TYPES[self.value])])


@dataclass(frozen=True, slots=True)
class PathTypes:
    """Of what type the ids in ways are: `int64` or `string`."""

    vertex: str

    @property
    def schema(self) -> StructType:
        """The columns; the weight is null where a way begins."""
        fields = (("path", self.vertex), ("step", "int64"), ("vertex", self.vertex), ("weight", "float64"))
        return StructType([StructField(name, SPARK_TYPES[kind]()) for name, kind in fields])

    @property
    def arrow_schema(self) -> pa.Schema:
        """The same as Arrow writes it."""
        of_id = ARROW_TYPES[self.vertex]
        return pa.schema([("path", of_id), ("step", pa.int64()), ("vertex", of_id), ("weight", pa.float64())])


class LoopReader(DataSourceReader):
    """Reads the values of a loop.

    Parameters
    ----------
    options : SourceOptions
    types : ColumnTypes
        What its vertices and values are.
    """

    def __init__(self, options: SourceOptions, types: ColumnTypes) -> None:
        if options.moved_by:
            raise InvalidArgument(
                f"the option moved_by is {options.moved_by:g}, which is for spark.readStream: an answer has all values",
                hint="Leave it out.",
            )
        self._options = options
        self._types = types
        self._vertices = _vertices("vertices", options.vertices, types.vertex)
        self._paths = _vertices("paths", options.paths, types.vertex)

    def partitions(self) -> list[InputPartition]:
        """Return the one partition."""
        return [InputPartition(0)]

    def read(self, _partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Ask, and yield the answer."""
        options = self._options
        with RemoteLoop(options.url, options.loop, token=options.token, timeout_s=options.timeout_s) as loop:
            if self._paths is not None:
                table = loop.paths(self._paths, mode=options.mode, deadline_s=options.deadline_s)
                yield from table.cast(PathTypes(self._types.vertex).arrow_schema).to_batches()
                return
            table = loop.values(mode=options.mode, vertices=self._vertices, deadline_s=options.deadline_s)
        # An answer without rows cannot tell which kind its ids have.
        yield from table.cast(self._types.arrow_schema).to_batches()


def _vertices(option: str, text: str | None, ids: str) -> list[int | str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if ids == "string":
        return list(names)
    try:
        return [int(name) for name in names]
    except ValueError:
        raise InvalidArgument(
            f"{option} is {text!r}, but the ids of this loop are whole numbers", hint='Write them as "4,5".'
        ) from None
