"""Spark writes a stream or a DataFrame into a running service, and reads it: exact at every batch, and a mistake is an error."""

import time

import pytest

from tests.end_to_end.running import NDJSON, Service
from tests.spark.driver import SCHEMA, started
from tests.spark.recorded import Recording, mixed_stream
from tests.spark.stand import PAUSE_S

pytestmark = pytest.mark.spark

BATCH = 200


@pytest.fixture
def service(tmp_path):
    with Service(tmp_path, "--store", f"lmdb://{tmp_path}/store") as running:
        yield running


@pytest.fixture(scope="module")
def any_service(tmp_path_factory):
    """For tests that do not ask what is in it."""
    with Service(tmp_path_factory.mktemp("any"), "--store", "memory:") as running:
        yield running


@pytest.fixture
def recording(tmp_path):
    return Recording(tmp_path / "incoming", mixed_stream(), BATCH)


def finish(query):
    query.processAllAvailable()
    query.stop()
    return f"spark:{query.id}"


def test_answers_are_exact_for_the_batch_that_they_name(spark, service, recording, tmp_path):
    recording.write()
    query = started(spark, recording.folder, service.url, tmp_path / "state")
    source = f"spark:{query.id}"
    prefixes = []
    until_s = time.monotonic() + 120
    while not prefixes or prefixes[-1] < len(recording.stream):
        assert query.exception() is None and time.monotonic() < until_s
        prefixes.append(recording.check(service.ask(), source))
        time.sleep(PAUSE_S)
    finish(query)
    assert prefixes == sorted(prefixes)
    statistics = service.client.get("/v1/loops/sssp").json()
    assert statistics["missing_removals"] == recording.history.missing_removals(len(recording.stream)) > 0
    newest = service.client.get(f"/v1/loops/sssp/batches/{source}").json()["newest"]
    assert recording.ends[newest + 1] == len(recording.stream)


def test_a_loop_that_began_anew_refuses_a_query_that_goes_on(
    spark, any_service, service, recording, tmp_path
):
    recording.write(3)
    finish(started(spark, recording.folder, any_service.url, tmp_path / "state"))
    recording.write(1)
    query = started(spark, recording.folder, service.url, tmp_path / "state")
    with pytest.raises(Exception, match="a Spark query with a new checkpointLocation"):
        query.processAllAvailable()


def test_a_query_whose_columns_change_is_an_error_and_goes_on_when_they_are_mended(
    spark, service, recording, tmp_path
):
    recording.write(1)
    source = finish(started(spark, recording.folder, service.url, tmp_path / "state"))
    recording.write()
    for columns, message in [
        (["src", "weight", "op", "seq"], r"'dst'\] must be among them"),
        (["src", "dst", "weight", "seq"], "lacks the column 'op', which batches before it had"),
        (
            ["src", "dst", "string(weight) weight", "op", "seq"],
            "'weight' has type .*, but a weight is a number",
        ),
    ]:
        query = started(spark, recording.folder, service.url, tmp_path / "state", columns=columns)
        with pytest.raises(Exception, match=message):
            query.processAllAvailable()
    assert recording.check(service.ask(), source) == recording.ends[1]
    assert finish(started(spark, recording.folder, service.url, tmp_path / "state")) == source
    assert recording.check(service.ask(), source) == len(recording.stream)


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
    reader = spark.read.format("tornado").option("url", service.url).option("loop", "sssp")
    ways = reader.option("paths", str(some[1])).load()
    assert ways.dtypes == [("path", "bigint"), ("step", "bigint"), ("vertex", "bigint"), ("weight", "double")]
    steps = sorted(ways.collect(), key=lambda row: row.step)
    assert (steps[-1].path, steps[-1].vertex, steps[0].weight) == (some[1], some[1], None)
    total = 0.0
    for row in steps[1:]:
        total += row.weight
    assert total == expected[some[1]]
    assert named.join(spark.createDataFrame([(some[0], "a")], ["vertex", "name"]), "vertex").count() == 1


def test_values_with_a_bound_are_read_at_once(spark, service):
    edges = "\n".join(f'{{"src": {src}, "dst": {dst}}}' for src, dst in [(1, 2), (2, 3), (3, 1), (3, 4)])
    pushed = service.client.post("/v1/loops/sssp/edges", content=edges, headers=NDJSON)
    assert pushed.status_code == 202
    started_loop = {"program": "pagerank", "name": "ranks", "stream": "sssp"}
    assert service.client.post("/v1/loops", json=started_loop).status_code == 201
    reader = spark.read.format("tornado").option("url", service.url).option("mode", "certified")
    found = {row.vertex: row.value for row in reader.option("loop", "ranks").load().collect()}
    assert found.keys() == {1, 2, 3, 4}
    assert sum(found.values()) == pytest.approx(1)
    with pytest.raises(Exception, match="whose values have no bound"):
        reader.option("loop", "sssp").load().collect()


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
def test_a_mistake_is_an_error_that_says_what_to_do(spark, any_service, recording, select, options, message):
    recording.write(1)
    frame = spark.read.schema(SCHEMA).parquet(str(recording.folder)).select(*select)
    writer = frame.write.format("tornado").mode("append").option("url", any_service.url)
    with pytest.raises(Exception, match=message):
        writer.options(**{"loop": "sssp"} | options).save()
