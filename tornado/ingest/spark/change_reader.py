"""Following a loop from Spark: its changes as a stream, (vertex, value) of what differs between two exact answers.

An offset is a version of the loop, with the name under which the service keeps the exact answers that this query refers to.
Each trigger asks for a new answer, which is stored before Spark hears of its version; so a batch that Spark repeats after a
crash has the same rows. A trigger at which the loop has nothing new costs one small request.

What the query was told before, on which the names of groups and `moved_by` depend, is stored with the answers, and each says behind
which offset it comes. So names go on over restarts from the checkpoint, and an answer that Spark never heard of changes none.

Left out on purpose: several partitions. An answer comes from one service.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from ...errors import InvalidArgument
from .options import SourceOptions
from .reader import ARROW_TYPES, SPARK_TYPES
from .remote_loop import Document, RemoteLoop

Offset = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FollowedTable:
    """A table that a query follows: the names of its columns, and their types as the service describes them."""

    columns: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, described: Document, options: SourceOptions) -> FollowedTable:
        """Return the one that a query names, of a loop as the service describes it.

        Raises
        ------
        InvalidArgument
            When the loop has no such table.
        """
        tables = {table["name"]: table["columns"] for table in described["followed_tables"]}
        if options.table not in tables:
            raise InvalidArgument(
                f"who follows loop {options.loop!r} is told no table {options.table!r}; there is: {', '.join(tables)}",
                hint="Groups are those of programs whose values are labels, such as connected_components.",
            )
        return cls(tuple((column["name"], column["type"]) for column in tables[options.table]))

    @property
    def schema(self) -> StructType:
        """The columns; a value is null where a vertex is out of reach."""
        return StructType([StructField(name, _spark_type(kind)) for name, kind in self.columns])

    @property
    def arrow_schema(self) -> pa.Schema:
        """The same as Arrow writes it."""
        return pa.schema([(name, _arrow_type(kind)) for name, kind in self.columns])


@dataclass
class Stretch(InputPartition):
    """What one batch has: the changes of a reader behind one version, up to another."""

    reader: str
    after: int
    up_to: int


class ChangeReader(DataSourceStreamReader):
    """Reads the changes of a loop.

    Parameters
    ----------
    options : SourceOptions
    table : FollowedTable
        Which of its tables.

    Raises
    ------
    InvalidArgument
        When options are given that are for a single answer.
    """

    def __init__(self, options: SourceOptions, table: FollowedTable) -> None:
        if options.vertices is not None or options.paths is not None or options.mode != "exact":
            raise InvalidArgument(
                "the options vertices, paths and mode are for spark.read: changes are those of all vertices between exact answers",
                hint="Leave them out, and filter the stream.",
            )
        self._options = options
        self._schema = table.arrow_schema

    def initialOffset(self) -> Offset:  # noqa: N802  Spark's name
        """Return where a query begins that has no checkpoint."""
        reader, since = uuid.uuid4().hex, self._options.since
        if since == "beginning":
            return {"reader": reader, "version": 0}
        with self._loop() as loop:
            at = None if since == "now" else int(since)
            return {"reader": reader, "version": self._kept(loop, reader, after=0, at=at)}

    def latestOffset(self, start: Offset, limit: object) -> Offset:  # noqa: N802  as above
        """Ask for an exact answer, unless the loop has nothing new, and return its version."""
        del limit
        with self._loop() as loop:
            if int(loop.describe()["version"]) == start["version"]:
                return start
            version = self._kept(loop, start["reader"], after=start["version"])
        if version < start["version"]:
            raise InvalidArgument(
                f"loop {self._options.loop!r} is at version {version}, but this query has read it up to version "
                f"{start['version']}: the loop began anew",
                hint="Begin the query anew too: with a new checkpointLocation.",
            )
        return {"reader": start["reader"], "version": version}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the one partition of a batch."""
        if start["version"] == end["version"]:
            return []
        return [Stretch(end["reader"], start["version"], end["version"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the changes (on an executor)."""
        assert isinstance(partition, Stretch)
        with self._loop() as loop:
            table = loop.changes(partition.reader, partition.after, partition.up_to, self._options.table)
        # Changes without rows cannot tell which kind their ids have.
        yield from table.cast(self._schema).to_batches()

    def commit(self, end: Offset) -> None:
        """Let go of the answers that no batch can refer to any more."""
        with self._loop() as loop:
            loop.forget(end["reader"], end["version"])

    def _kept(self, loop: RemoteLoop, reader: str, *, after: int, at: int | None = None) -> int:
        options = self._options
        return loop.keep(reader, options.deadline_s, after=after, moved_by=options.moved_by, at=at)

    def _loop(self) -> RemoteLoop:
        return RemoteLoop(
            self._options.url,
            self._options.loop,
            token=self._options.token,
            timeout_s=self._options.timeout_s,
        )


def _spark_type(kind: str) -> DataType:
    inner = kind.removeprefix("list<").removesuffix(">")
    return ArrayType(_spark_type(inner)) if inner != kind else SPARK_TYPES[kind]()


def _arrow_type(kind: str) -> pa.DataType:
    inner = kind.removeprefix("list<").removesuffix(">")
    return pa.list_(_arrow_type(inner)) if inner != kind else ARROW_TYPES[kind]
