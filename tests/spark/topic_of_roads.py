"""A topic of roads with what is wrong in between, and the output of a pipeline as it is recorded, for the oracle."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark.recorded import SIGNS, mixed_stream
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import OPERATIONS
from tornado.testing import EdgeHistory, exact_distances

BAD = {
    b"no json": "the record is no JSON object of a road",
    b'{"id": "b1", "time": "2026-01-01T10:00:00Z", "src": "town 1", "weight": 1}': "dst is missing",
    b'{"id": "b2", "time": "2026-01-01T10:00:00Z", "src": 9223372036854775808, "dst": "town 1", "weight": 1}': (
        "src is no known town: 9223372036854775808"
    ),
    b"x" * 5_000_000: "the record is no JSON object of a road",
    b"": "the record is no JSON object of a road",
    None: "the message has no value (a tombstone)",
}


class TopicOfRoads:
    """A stream of edges as messages of a topic with two partitions: the records of an edge are in one of them.

    Every 50th record comes twice, and with each part of the stream everything comes that is wrong.
    """

    def __init__(self, broker, topic, folder):
        self.broker, self.topic = broker, topic
        self.stream = mixed_stream()
        self.sent = 0
        self.rejected = {}
        self._ends = [0, 0]
        self.towns = folder / "towns.csv"
        vertices = sorted({*self.stream.src.tolist(), *self.stream.dst.tolist()})
        self.towns.write_text("key,vertex\n" + "".join(f"town {vertex},{vertex}\n" for vertex in vertices))

    def send(self, end=None):
        """Send the records up to an end; left out, all of them."""
        end = len(self.stream) if end is None else end
        # From the second part on compressed, and with a field that nobody knew before.
        with self.broker.producer(compression_type="gzip" if self.sent else None) as producer:
            for value, reason in BAD.items():
                self.rejected[self.topic, 1, self._ends[1]] = reason
                self._send(producer, 1, value)
            for number in range(self.sent, end):
                value = self._message(number)
                for _ in range(2 if number % 50 == 0 else 1):
                    self._send(producer, int(self.stream.src[number] + self.stream.dst[number]) % 2, value)
        self.sent = end

    def _send(self, producer, partition, value):
        producer.send(self.topic, value, key=b"k", partition=partition)
        self._ends[partition] += 1

    def _message(self, number):
        weight = self.stream.weight[number].item()
        seconds, thousandths = divmod(number, 1000)
        return json.dumps(
            {
                "id": f"r{number}",
                "time": f"2026-01-01T10:00:{seconds:02}.{thousandths:03}Z",
                "src": f"town {self.stream.src[number]}",
                "dst": f"town {self.stream.dst[number]}",
                "weight": None if math.isnan(weight) else weight,
                "op": SIGNS[self.stream.op[number].item()],
            }
            | ({"note": {"by": number}} if self.sent else {})
        ).encode()

    def check_end(self, answer):
        """Compare an answer with the oracle over everything that was sent."""
        check(answer, self.stream.slice(0, self.sent))


def check(answer, records):
    """Compare an exact answer with the oracle over some records."""
    assert (answer["state"], answer["certificate"]) == ("converged", {"kind": "exact"})
    values = answer["result"]["values"]
    ids = np.array([row["vertex"] for row in values], np.int64)
    found = [math.inf if row["value"] is None else row["value"] for row in values]
    history = EdgeHistory.of(records).at(len(records))
    assert found == exact_distances(history, 1).lookup(ids).tolist()


def recorded(folder):
    """Return what a recording source wrote, a batch of edges for each of Spark's, in their order."""
    found = []
    while (manifest := folder / f"{len(found)}.json").exists():
        batch = EdgeBatch.empty()
        if parts := json.loads(manifest.read_text()):
            table = pa.concat_tables(pq.read_table(folder / f"{part}.parquet") for part in parts)
            table = table.take(np.argsort(table["time"].to_numpy(), kind="stable"))
            src, dst, weight = (table[name].to_numpy() for name in ("src", "dst", "weight"))
            signs = [OPERATIONS[sign] for sign in table["op"].to_pylist()]
            batch = EdgeBatch.of(src, dst, weight, signs)
        found.append(batch)
    return found


def recording_source(folder):
    """The data source, whose tasks write what they send into a folder, and whose commits name the parts that won."""
    from tornado.ingest.spark.data_source import LoopDataSource
    from tornado.ingest.spark.options import SourceOptions
    from tornado.ingest.spark.writer import LoopStreamWriter

    # Made in a function, so that they travel to the tasks by value: those cannot import a test.
    class RecordingWriter(LoopStreamWriter):
        def write(self, iterator):
            import pyarrow as pa
            from pyarrow import parquet

            batches = list(iterator)
            sent = LoopStreamWriter.write(self, iter(batches))
            if sent.chunks:
                parquet.write_table(pa.Table.from_batches(batches), folder / f"{sent.part}.parquet")
            return sent

        def commit(self, messages, batchId):  # noqa: N803 - Spark's name
            import json

            sent = sorted((message for message in messages if message), key=lambda one: one.partition)
            # Under its name once it is whole: who waits for it looks at any time.
            begun = folder / f"{batchId}.begun"
            begun.write_text(json.dumps([one.part for one in sent if one.chunks]))
            begun.replace(folder / f"{batchId}.json")
            LoopStreamWriter.commit(self, messages, batchId)

    class RecordingSource(LoopDataSource):
        def streamWriter(self, schema, overwrite):  # noqa: N802 - Spark's name
            return RecordingWriter(SourceOptions.of(self.options), schema.fieldNames())

    folder.mkdir()
    return RecordingSource
