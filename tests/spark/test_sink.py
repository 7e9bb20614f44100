"""Spark writes a stream into a running service: exact at every batch, once, whatever is killed or repeated."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.end_to_end.running import Service
from tests.spark.recorded import SCHEMA, Recording, mixed_stream

pytestmark = pytest.mark.spark

BATCH = 200


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@pytest.fixture
def service(tmp_path):
    with Service(tmp_path, "--store", f"lmdb://{tmp_path}/store") as running:
        yield running


@pytest.fixture
def recording(tmp_path):
    return Recording(tmp_path / "incoming", mixed_stream(), BATCH)


def started(spark, recording, service_url, checkpoint, *, kind="tornado"):
    """Write the recording, a file a batch, its records spread over three partitions without regard to their edges."""
    records = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(recording.folder))
    writer = records.repartition(3, "seq").writeStream.format(kind).option("checkpointLocation", checkpoint)
    return writer.option("url", service_url).option("loop", "sssp").option("order", "seq").start()


def finish(query):
    query.processAllAvailable()
    query.stop()
    return f"spark:{query.id}"


def test_answers_are_exact_for_the_batch_that_they_name(spark, service, recording, tmp_path):
    recording.write()
    query = started(spark, recording, service.url, str(tmp_path / "state"))
    source = f"spark:{query.id}"
    prefixes = []
    until_s = time.monotonic() + 120
    while not prefixes or prefixes[-1] < len(recording.stream):
        assert query.exception() is None and time.monotonic() < until_s
        prefixes.append(recording.check(service.ask(), source))
    finish(query)
    assert prefixes == sorted(prefixes)
    statistics = service.client.get("/v1/loops/sssp").json()
    assert statistics["missing_removals"] == recording.history.missing_removals(len(recording.stream)) > 0
    newest = service.client.get(f"/v1/loops/sssp/batches/{source}").json()["newest"]
    assert recording.ends[newest + 1] == len(recording.stream)


def test_a_batch_that_spark_repeats_after_a_restart_is_in_once(spark, service, recording, tmp_path):
    recording.write(4)
    checkpoint = tmp_path / "state"
    source = finish(started(spark, recording, service.url, str(checkpoint)))
    before = service.client.get("/v1/loops/sssp").json()
    # As if the driver had died after the service took the batch, and before Spark wrote that down.
    last = max(
        (path for path in (checkpoint / "commits").iterdir() if path.name.isdigit()),
        key=lambda path: int(path.name),
    )
    for path in (last, last.with_name(f".{last.name}.crc")):
        path.unlink(missing_ok=True)
    query = started(spark, recording, service.url, str(checkpoint))
    query.processAllAvailable()
    assert next(progress["batchId"] for progress in query.recentProgress) == int(last.name)
    after = service.client.get("/v1/loops/sssp").json()
    assert (after["offsets"], after["admitted"]) == (before["offsets"], before["admitted"])
    recording.write()
    assert finish(query) == source
    assert recording.check(service.ask(), source) == len(recording.stream)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_task_that_is_killed_while_it_writes_changes_nothing(spark, service, recording, tmp_path, when):
    flag = tmp_path / "killed"
    spark.dataSource.register(killed_source(flag, when))
    recording.write()
    source = finish(
        started(spark, recording, service.url, str(tmp_path / "state"), kind=f"tornado_killed_{when}")
    )
    assert flag.exists()
    assert recording.check(service.ask(), source) == len(recording.stream)
    assert service.client.get("/v1/loops/sssp").json()["admitted"] == len(recording.stream)


def test_a_service_that_is_killed_while_a_stream_comes_in_has_every_batch_once(spark, recording, tmp_path):
    options = ["--store", f"lmdb://{tmp_path}/store", "--http", f"127.0.0.1:{free_port()}"]
    checkpoint = str(tmp_path / "state")
    recording.write()
    with Service(tmp_path, *options) as service:
        query = started(spark, recording, service.url, checkpoint)
        source = f"spark:{query.id}"
        while service.client.get(f"/v1/loops/sssp/batches/{source}").json()["newest"] in {None, 0, 1}:
            time.sleep(0.01)
        service.signal(signal.SIGKILL)
    with Service(tmp_path, *options) as service:
        killed_s = time.monotonic()
        try:
            finish(query)
        except Exception as error:
            # What was sent and not yet committed went with the service: the query ends, and begins there again.
            if "Send the batch again" not in str(error):
                raise
            finish(started(spark, recording, service.url, checkpoint))
        print(f"exact again after {time.monotonic() - killed_s:.1f} s")
        assert recording.check(service.ask(), source) == len(recording.stream)
        # What a snapshot had is loaded, and not admitted again.
        loaded = service.restored["snapshot"]["offsets"].get(source, 0) if service.restored else 0
        assert service.client.get("/v1/loops/sssp").json()["admitted"] == len(recording.stream) - loaded


def test_a_loop_that_began_anew_refuses_a_query_that_goes_on(spark, recording, tmp_path):
    checkpoint = str(tmp_path / "state")
    recording.write(3)
    with Service(tmp_path, "--store", "memory:") as service:
        finish(started(spark, recording, service.url, checkpoint))
    recording.write(1)
    with Service(tmp_path, "--store", "memory:") as service:
        query = started(spark, recording, service.url, checkpoint)
        with pytest.raises(Exception, match="a Spark query with a new checkpointLocation"):
            query.processAllAvailable()


def test_a_dataframe_is_written_once_under_its_name_and_read_as_one(spark, service, recording):
    recording.write()
    history = spark.read.schema(SCHEMA).parquet(str(recording.folder)).repartition(3)
    for _ in range(2):
        writer = history.write.format("tornado").mode("append").option("url", service.url)
        writer.option("loop", "sssp").option("order", "seq").option("write_id", "history").save()
    answer = service.ask()
    assert recording.check(answer, "spark-write:history") == len(recording.stream)
    expected = {row["vertex"]: row["value"] for row in answer["result"]["values"]}
    reader = spark.read.format("tornado").option("url", service.url).option("loop", "sssp")
    frame = reader.load()
    assert frame.dtypes == [("vertex", "bigint"), ("value", "double")]
    assert {row.vertex: row.value for row in frame.collect()} == expected
    # The loop has had nothing to do since, so its approximation is exact too.
    approximate = reader.option("mode", "approximate").load()
    assert {row.vertex: row.value for row in approximate.collect()} == expected
    some = [vertex for vertex, value in expected.items() if value is not None][:2]
    named = reader.option("mode", "exact").option("vertices", ",".join(map(str, some))).load()
    assert {row.vertex: row.value for row in named.collect()} == {vertex: expected[vertex] for vertex in some}
    assert named.join(spark.createDataFrame([(some[0], "a")], ["vertex", "name"]), "vertex").count() == 1


@pytest.mark.parametrize(
    ("select", "options", "message"),
    [
        (["src", "weight"], {}, "'dst'.* must be among them"),
        (["src", "dst", "seq"], {}, "'seq'.* which an edge has no place for"),
        (["src", "dst"], {"order": "seq"}, "'seq'.* must be among them"),
        (["src", "dst"], {"lop": "sssp"}, "no option 'lop'"),
        (["src", "dst"], {"loop": "lanes"}, "no loop 'lanes'|lanes"),
        (["src", "dst", "op"], {"order": "op"}, "must hold integers, dates or timestamps"),
    ],
)
def test_a_mistake_is_an_error_that_says_what_to_do(spark, service, recording, select, options, message):
    recording.write(1)
    frame = spark.read.schema(SCHEMA).parquet(str(recording.folder)).select(*select)
    writer = frame.write.format("tornado").mode("append").option("url", service.url)
    with pytest.raises(Exception, match=message):
        writer.options(**{"loop": "sssp"} | options).save()


def killed_source(flag: Path, when: str):
    """The sink, the first task of which is killed before or after it has sent its part and before Spark hears of it."""
    from tornado.ingest.spark.data_source import LoopDataSource
    from tornado.ingest.spark.options import SourceOptions
    from tornado.ingest.spark.writer import LoopStreamWriter

    def die_once():
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    # Made in a function, so that they travel to the tasks by value: those cannot import a test.
    class KilledWriter(LoopStreamWriter):
        def write(self, iterator):
            if when == "before":
                iterator = list(iterator)
                die_once()
            sent = LoopStreamWriter.write(self, iter(iterator))
            if when == "after" and sent.rows:
                die_once()
            return sent

    class KilledSource(LoopDataSource):
        @classmethod
        def name(cls):
            return f"tornado_killed_{when}"

        def streamWriter(self, schema, overwrite):  # noqa: N802 - Spark's name
            return KilledWriter(SourceOptions.of(self.options), schema.fieldNames())

    return KilledSource
