"""The sink with gates in it; Spark's processes import it."""

from tests.spark.gates import Gates
from tornado.ingest.spark.data_source import LoopDataSource
from tornado.ingest.spark.options import SourceOptions
from tornado.ingest.spark.writer import LoopStreamWriter


class GatedWriter(LoopStreamWriter):
    """Tasks that have records come to `write` and `sent`, the driver's half comes to `commit` and `committed`."""

    def __init__(self, options, columns, gates):
        super().__init__(options, columns)
        self._gates = gates

    def write(self, iterator):
        batches = list(iterator)
        has_records = any(batch.num_rows for batch in batches)
        if has_records:
            self._gates.enter("write")
        sent = super().write(iter(batches))
        if has_records:
            self._gates.enter("sent")
        return sent

    def commit(self, messages, batchId):  # noqa: N803 - Spark's name
        self._gates.enter("commit")
        super().commit(messages, batchId)
        self._gates.enter("committed")


class GatedSource(LoopDataSource):
    """The sink; the option `gates` names the folder."""

    @classmethod
    def name(cls):
        return "tornado_gated"

    def streamWriter(self, schema, overwrite):  # noqa: N802 - Spark's name
        options = {name.lower(): value for name, value in self.options.items()}
        gates = Gates(options.pop("gates"))
        return GatedWriter(SourceOptions.of(options), schema.fieldNames(), gates)
