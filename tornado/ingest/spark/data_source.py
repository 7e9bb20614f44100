"""The data source `tornado` of Spark: `read`, `readStream`, `write` and `writeStream` with `format("tornado")`."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from ...errors import InvalidArgument, NotSupported
from .change_reader import ChangeReader, FollowedTable
from .options import SourceOptions
from .point_frames import require_no_vectors
from .reader import ColumnTypes, LoopReader, PathTypes
from .remote_loop import RemoteLoop
from .writer import LoopBatchWriter, LoopStreamWriter


class LoopDataSource(DataSource):
    """A loop of a running service; `SourceOptions` has the options."""

    @classmethod
    def name(cls) -> str:
        """Return what `format` calls it."""
        return "tornado"

    def schema(self) -> StructType:
        """Return the columns that reading gives."""
        options = SourceOptions.of(self.options)
        if options.table != "values":
            return self._followed(options).schema
        types = self._types(options)
        return types.schema if options.paths is None else PathTypes(types.vertex).schema

    def reader(self, schema: StructType) -> LoopReader:
        """Return what reads the loop's values."""
        del schema
        options = SourceOptions.of(self.options)
        if options.table != "values":
            raise InvalidArgument(
                f"the option table is {options.table!r}, which is for spark.readStream: an answer has only values",
                hint="Leave it out; names of groups belong to who follows a loop.",
            )
        return LoopReader(options, self._types(options))

    def streamReader(self, schema: StructType) -> ChangeReader:  # noqa: N802  Spark's name
        """Return what reads the loop's changes."""
        del schema
        options = SourceOptions.of(self.options)
        return ChangeReader(options, self._followed(options))

    def writer(self, schema: StructType, overwrite: bool) -> LoopBatchWriter:  # noqa: FBT001  Spark's signature
        """Return what writes a DataFrame.

        Raises
        ------
        NotSupported
            When it should take the place of what the loop has.
        """
        if overwrite:
            raise NotSupported(
                "a loop cannot be overwritten by a DataFrame",
                hint='Write with mode("append"), and remove edges with op "-".',
            )
        require_no_vectors(schema)
        return LoopBatchWriter(SourceOptions.of(self.options), schema.fieldNames())

    def streamWriter(self, schema: StructType, overwrite: bool) -> LoopStreamWriter:  # noqa: FBT001, N802  as above
        """Return what writes a streaming query."""
        if overwrite:
            raise NotSupported(
                "a loop is written in output mode append, not complete",
                hint='Leave outputMode out, and send changes as records with op "=" or "-".',
            )
        require_no_vectors(schema)
        return LoopStreamWriter(SourceOptions.of(self.options), schema.fieldNames())

    @staticmethod
    def _types(options: SourceOptions) -> ColumnTypes:
        with RemoteLoop(options.url, options.loop, token=options.token, timeout_s=options.timeout_s) as loop:
            return ColumnTypes.of(loop.describe())

    @staticmethod
    def _followed(options: SourceOptions) -> FollowedTable:
        with RemoteLoop(options.url, options.loop, token=options.token, timeout_s=options.timeout_s) as loop:
            return FollowedTable.of(loop.describe(), options)
