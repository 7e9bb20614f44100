"""The sink with gates: where one is closed, the process that comes there first waits, so that a test can break something just then."""

import os
import time
from pathlib import Path

from tornado.ingest.spark.data_source import LoopDataSource
from tornado.ingest.spark.options import SourceOptions
from tornado.ingest.spark.writer import LoopStreamWriter

LONGEST_S = 60.0


class Gates:
    """Files of a folder: `PLACE` closes a gate, `PLACE.PID` says who waits there. Whoever comes later passes."""

    def __init__(self, folder):
        self._folder = Path(folder)
        self._folder.mkdir(exist_ok=True)

    def close(self, place):
        (self._folder / place).touch()

    def who_waits(self):
        """Return the id of the process that waits."""
        until_s = time.monotonic() + LONGEST_S
        while not (waiting := list(self._folder.glob("*.*"))):
            assert time.monotonic() < until_s, f"nobody came to {list(self._folder.iterdir())}"
            time.sleep(0.005)
        return int(waiting[0].suffix.removeprefix("."))

    def open(self):
        for path in self._folder.iterdir():
            path.unlink()

    def enter(self, place):
        mine = self._folder / f"{place}.{os.getpid()}"
        try:
            (self._folder / place).rename(mine)
        except FileNotFoundError:
            return
        until_s = time.monotonic() + LONGEST_S
        while mine.exists() and time.monotonic() < until_s:
            time.sleep(0.005)


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
