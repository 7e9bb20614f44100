"""Following a loop from Spark: its changes as a stream, (vertex, value) of what differs between two exact answers.

An offset is a version of the loop, with the name under which the service keeps the exact answers that this query refers to.
Each trigger asks for a new answer, which is stored before Spark hears of its version; so a batch that Spark repeats after a
crash has the same rows. A trigger at which the loop has nothing new costs one small request.

Left out on purpose: several partitions. An answer comes from one service.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ...errors import InvalidArgument
from .options import SourceOptions
from .reader import ColumnTypes
from .remote_loop import RemoteLoop

Offset = dict[str, Any]


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
    types : ColumnTypes
        What its vertices and values are.

    Raises
    ------
    InvalidArgument
        When options are given that are for a single answer.
    """

    def __init__(self, options: SourceOptions, types: ColumnTypes) -> None:
        if options.vertices is not None or options.mode != "exact":
            raise InvalidArgument(
                "the options vertices and mode are for spark.read: changes are those of all vertices between exact answers",
                hint="Leave them out, and filter the stream.",
            )
        self._options = options
        self._types = types

    def initialOffset(self) -> Offset:  # noqa: N802  Spark's name
        """Return where a query begins that has no checkpoint."""
        reader, since = uuid.uuid4().hex, self._options.since
        if since == "beginning":
            return {"reader": reader, "version": 0}
        with self._loop() as loop:
            at = None if since == "now" else int(since)
            return {"reader": reader, "version": loop.keep(reader, self._options.deadline_s, at=at)}

    def latestOffset(self, start: Offset, limit: object) -> Offset:  # noqa: N802  as above
        """Ask for an exact answer, unless the loop has nothing new, and return its version."""
        del limit
        with self._loop() as loop:
            if int(loop.describe()["version"]) == start["version"]:
                return start
            version = loop.keep(start["reader"], self._options.deadline_s)
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
            table = loop.changes(partition.reader, partition.after, partition.up_to)
        # Changes without rows cannot tell which kind their ids have.
        yield from table.cast(self._types.arrow_schema).to_batches()

    def commit(self, end: Offset) -> None:
        """Let go of the answers that no batch can refer to any more."""
        with self._loop() as loop:
            loop.forget(end["reader"], end["version"])

    def _loop(self) -> RemoteLoop:
        return RemoteLoop(self._options.url, self._options.loop, timeout_s=self._options.timeout_s)
