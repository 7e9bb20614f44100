"""Writing from Spark's tasks to a loop: each task sends its part of a batch, the driver commits the parts of those that won.

Guarantees: exactly once by (query id, batch id). Spark repeats a batch under its id after any crash, and starts a task again; a
part counts only when the commit names it, and the service passes over a batch that is in already. With the option `order`, the
records of one batch are admitted in the order of those columns, however Spark has spread them over tasks, and those of a later
batch after them: so the order within an edge is kept.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from ...errors import ConnectionLost, InternalError, InvalidArgument
from .options import SourceOptions
from .point_frames import checked_point_columns, has_points, point_table
from .remote_loop import RemoteLoop

COLUMNS = ("src", "dst", "weight", "op")
CHUNK_ROWS = 1 << 18
_DOUBLE_BYTES = 8
# A quarter of what the service takes as one body; ids that are strings can be long.
CHUNK_BYTES = 16 << 20
_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"


# Not frozen, because Spark's own class is not; nobody writes to it.
@dataclass
class SentPart(WriterCommitMessage):
    """What a task tells the driver: which part it sent, and of what.

    Attributes
    ----------
    source : str
        Who numbers the batches, for the service.
    partition : int
        Which partition of the batch it is.
    part : str
        What the service calls it: no two attempts use the same name.
    chunks, rows : int
        In how many chunks it was sent, and how many records they have.
    """

    source: str
    partition: int
    part: str
    chunks: int
    rows: int


class LoopStreamWriter(DataSourceStreamArrowWriter):
    """Writes a streaming query; its batches are numbered by Spark, its source is named by the query's id."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = checked_columns(columns, options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SentPart:
        """Send a partition (on an executor)."""
        context = _task()
        query, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
        if query is None or batch is None:
            raise InternalError(f"Spark names no query ({query}) or no batch ({batch}) to this task")
        return send(
            self._options, self._columns, f"spark:{query}", int(batch), context.partitionId(), iterator
        )

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Have the batch admitted (on the driver); returns when it is in, and in the log of a durable store."""
        commit(self._options, batchId, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Let go of what was sent. Spark may abort a batch that it has committed: that one stays."""
        abort(self._options, batchId, messages)


class LoopBatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame once: as batch 0 of a source of its own, which the option `write_id` names."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = checked_columns(columns, options)
        # Before `spark:` in the order of names, in which a restart admits what sources pushed: what a stream removes may have
        # come with the history that was written before it.
        self._source = f"spark-write:{options.write_id or uuid.uuid4().hex}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SentPart:
        """Send a partition (on an executor)."""
        return send(self._options, self._columns, self._source, 0, _task().partitionId(), iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Have it admitted (on the driver)."""
        commit(self._options, 0, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Let go of what was sent."""
        abort(self._options, 0, messages)


def checked_columns(columns: Sequence[str], options: SourceOptions) -> tuple[str, ...]:
    """Return the columns that are sent.

    Raises
    ------
    InvalidArgument
        When `src`, `dst` or a column of the order is missing, or a column is none of an edge: it would be lost in silence. Of
        points see `checked_point_columns`.
    """
    if has_points(columns):
        return checked_point_columns(columns, options)
    order = options.order
    missing = [name for name in ("src", "dst", *order) if name not in columns]
    if missing:
        raise InvalidArgument(
            f"the DataFrame has the columns {list(columns)}, but {missing} must be among them",
            hint="Rename columns to src, dst, weight and op before writing; the option order names others.",
        )
    unknown = [name for name in columns if name not in (*COLUMNS, *order)]
    if unknown:
        raise InvalidArgument(
            f"the DataFrame has the columns {unknown}, which an edge has no place for",
            hint='Select src, dst, weight, op; a column that only orders records is named with .option("order", …).',
        )
    return tuple(columns)


def send(
    options: SourceOptions,
    columns: Sequence[str],
    source: str,
    number: int,
    partition: int,
    batches: Iterator[pa.RecordBatch],
) -> SentPart:
    """Send a partition chunk by chunk, and return what the commit has to know."""
    part = f"{partition}.{uuid.uuid4().hex}"
    chunks = rows = 0
    with RemoteLoop(options.url, options.loop, token=options.token, timeout_s=options.timeout_s) as loop:
        for table in _chunks(batches):
            # Points have their features' names, edges have none that an option could name.
            kept = (*COLUMNS, *filter(None, (options.id or "id", options.label or "label")))
            sent = ordered_table(table.select(list(columns)), options.order, kept=kept)
            if has_points(columns):
                sent = point_table(sent, options)
            loop.stage(source, number, part, chunks, sent)
            chunks, rows = chunks + 1, rows + table.num_rows
    return SentPart(source, partition, part, chunks, rows)


def commit(
    options: SourceOptions, number: int, messages: Sequence[WriterCommitMessage | None]
) -> dict[str, object]:
    """Commit what the tasks that won have sent."""
    sent = sorted(
        (message for message in messages if isinstance(message, SentPart)),
        key=lambda message: message.partition,
    )
    if not sent:
        raise InternalError(f"Spark commits batch {number} and names no task of it")
    with RemoteLoop(options.url, options.loop, token=options.token, timeout_s=options.timeout_s) as loop:
        return loop.commit(sent[0].source, number, [(one.part, one.chunks) for one in sent])


def abort(options: SourceOptions, number: int, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Drop what was sent, without waiting: a service that is away has lost it, and one that hangs lets go of it in time."""
    source = next((message.source for message in messages if isinstance(message, SentPart)), None)
    if source is None:
        return
    with RemoteLoop(options.url, options.loop, token=options.token, timeout_s=1.0, answer_s=1.0) as loop:
        try:
            loop.drop(source, number)
        except ConnectionLost:
            return


def ordered_table(table: pa.Table, order: Sequence[str], *, kept: Sequence[str] = COLUMNS) -> pa.Table:
    """Return a table as the service takes it: what orders it is one column `order`, an int64 or a struct of them.

    Parameters
    ----------
    kept : sequence of str
        Columns that stay also where they are among those of the order.

    Raises
    ------
    InvalidArgument
        When a column of the order holds neither integers nor times, nor a struct of those.

    Examples
    --------
    >>> seen = pa.array([7], pa.int32())
    >>> table = pa.table({"src": [1], "dst": [2], "seen": seen, "offset": seen})
    >>> ordered_table(table.select(["src", "dst", "seen"]), ["seen"]).schema.field("order").type
    DataType(int64)
    >>> ordered_table(table, ["seen", "offset"]).column("order").to_pylist()
    [{'0': 7, '1': 7}]
    """
    if not order:
        return table
    whole = table.combine_chunks()
    keys = [key for name in order for key in _keys(name, whole.column(name))]
    chosen = whole.select([name for name in table.column_names if name not in order or name in kept])
    if len(keys) == 1:
        return chosen.append_column("order", keys[0])
    arrays = [key.combine_chunks() for key in keys]
    return chosen.append_column(
        "order", pa.StructArray.from_arrays(arrays, [str(place) for place in range(len(arrays))])
    )


def _keys(name: str, column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Return the numbers that a column orders by: its own, or those of the fields of a struct."""
    kind = column.type
    if pa.types.is_struct(kind):
        fields = zip(kind, column.flatten(), strict=True)
        return [key for field, values in fields for key in _keys(f"{name}.{field.name}", values)]
    if pa.types.is_timestamp(kind):
        return [column.cast(pa.timestamp("us", tz=kind.tz)).cast(pa.int64())]
    if pa.types.is_date32(kind):
        return [column.cast(pa.int32()).cast(pa.int64())]
    if pa.types.is_signed_integer(kind):
        return [column.cast(pa.int64())]
    raise InvalidArgument(
        f"the order column {name!r} has type {kind}, but must hold integers, dates or timestamps, or a struct of those"
    )


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = size_bytes = 0
    for batch in chain.from_iterable(map(_slices, batches)):
        waiting.append(batch)
        rows += batch.num_rows
        size_bytes += _size_bytes(batch)
        if rows >= CHUNK_ROWS or size_bytes >= CHUNK_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size_bytes = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Iterate over slices that are no chunk of their own, or nearly so, where rows are of about the same size."""
    count = max(1, math.ceil(_size_bytes(batch) / CHUNK_BYTES))
    rows = math.ceil(batch.num_rows / count)
    return (batch.slice(first, rows) for first in range(0, batch.num_rows, max(1, rows)))


def _size_bytes(batch: pa.RecordBatch) -> int:
    # Numbers of points become doubles, as short as they are here.
    return max(int(batch.nbytes), _DOUBLE_BYTES * int(batch.num_rows) * int(batch.num_columns))


def _task() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise InternalError("a partition is written outside a task of Spark")
    return context
