"""A real broker, Spark's own connector, the pipeline of roads, and a loop: exact at every batch, bad records named."""

import contextlib
import itertools
import os
import signal
import time

import psutil
import pytest

from tests.end_to_end.running import Service
from tests.promised import eventually
from tests.spark.stand import PAUSE_S
from tests.spark.test_roads import of_one_instant
from tests.spark.topic_of_roads import BAD, TopicOfRoads, check, recorded, recording_source
from tornado import register_spark
from tornado.records.edge_batch import EdgeBatch

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture
def roads(broker, tmp_path):
    broker.create_topic(tmp_path.name, 2)
    return TopicOfRoads(broker, tmp_path.name, tmp_path)


def started(spark, roads, tmp_path, url):
    from apps.pipelines import roads as pipeline

    topic = pipeline.Topic(spark, roads.broker.address, roads.topic, records_per_batch=300)
    return pipeline.start(
        pipeline.checked(topic.stream(), pipeline.towns_of(spark, str(roads.towns))),
        url=url,
        loop="sssp",
        checkpoint=str(tmp_path / "state"),
        quarantine=str(tmp_path / "rejected"),
    )


def test_answers_are_exact_for_the_batch_that_they_name_and_bad_records_are_named(spark, roads, tmp_path):
    spark.dataSource.register(recording_source(tmp_path / "recorded"))
    prefixes = set()
    with Service(tmp_path) as service:
        queries = started(spark, roads, tmp_path, service.url)
        source = f"spark:{queries[1].id}"
        try:
            for end in (len(roads.stream) // 3, len(roads.stream) // 2, len(roads.stream)):
                roads.send(end)
                until_s = time.monotonic() + 120
                while (prefix := checked_answer(service, source, tmp_path)) < end:
                    assert queries[1].exception() is None and time.monotonic() < until_s
                    prefixes.add(prefix)
                    time.sleep(PAUSE_S)
                assert prefix == end
                prefixes.add(prefix)
            roads.check_end(service.ask())
            queries[0].processAllAvailable()
        finally:
            register_spark(spark)
            for query in queries:
                query.processAllAvailable()
                query.stop()
    assert len(prefixes) > 2
    rows = spark.read.json(str(tmp_path / "rejected")).collect()
    assert {(row.topic, row.partition, row.offset): row.reason for row in rows} == roads.rejected
    assert len(rows) == len(roads.rejected)
    assert max(len(row.record or "") for row in rows) == 1000


def checked_answer(service, source, tmp_path):
    """Compare an answer with the oracle over what the pipeline gave out up to the batch that it names."""
    answer = service.ask()
    prefix = answer["snapshot"]["offsets"].get(source, 0)
    batches = recorded(tmp_path / "recorded")
    ends = [0, *itertools.accumulate(map(len, batches))]
    assert prefix in ends, "a snapshot has a part of a batch"
    check(answer, EdgeBatch.concat([EdgeBatch.empty(), *batches[: ends.index(prefix)]]))
    return prefix


@pytest.mark.parametrize("reads", ["a stream", "the history"])
def test_records_of_one_instant_come_in_the_order_of_their_offsets(spark, broker, tmp_path, reads):
    from apps.pipelines import roads as pipeline

    topic = pipeline.Topic(spark, broker.address, tmp_path.name)
    broker.create_topic(topic.name, 2)
    records, values = of_one_instant()
    towns = tmp_path / "towns.csv"
    towns.write_text("key,vertex\nBern,1\n" + "".join(f"town {n},{100 + n}\n" for n in values))
    with broker.producer() as producer:
        # Those of one road are in one partition.
        for number, record in enumerate(records):
            producer.send(topic.name, record.encode(), partition=number // 4 % 2)
    places = pipeline.towns_of(spark, str(towns))
    with Service(tmp_path) as service:
        options = {"url": service.url, "loop": "sssp", "quarantine": str(tmp_path / "rejected")}
        if reads == "a stream":
            lines = pipeline.checked(topic.stream(), places)
            for query in pipeline.start(lines, checkpoint=str(tmp_path / "state"), once=True, **options):
                assert query.awaitTermination(120)
        else:
            takeover = pipeline.Takeover(topic.ends(), "history")
            pipeline.backfill(pipeline.checked(topic.history(takeover.offsets), places), takeover, **options)
        answer = service.ask()
    assert list(answer["snapshot"]["offsets"].values()) == [len(records)]
    found = {row["vertex"]: row["value"] for row in answer["result"]["values"]}
    assert found == {1: 0.0} | {100 + number: value for number, value in values.items()}


def test_a_run_with_its_pipeline_fills_in_the_past_and_goes_on_though_it_is_killed_in_between(
    spark_environment, roads, tmp_path
):
    options = [
        *["--store", f"lmdb://{tmp_path}/store", "--pipeline", "apps/pipelines/roads.py", "--", "--backfill"],
        *["--kafka", roads.broker.address, "--topic", roads.topic, "--towns", str(roads.towns)],
    ]
    half = len(roads.stream) // 2
    roads.send(half)
    with Service(tmp_path, *options) as service:
        pid = service.wait_for("pipeline")["pid"]
        eventually(lambda: offsets(service), 240, PAUSE_S)
        past = offsets(service)
        # After its history is in, and before its stream has begun: seconds lie between.
        os.kill(pid, signal.SIGKILL)
        assert list(past.values()) == [half]
        assert "the pipeline roads.py was ended by signal 9" in service.wait_for("error")["message"]
        assert (
            service.client.get("/v1/loops/sssp").json()["sources"]["pipeline:roads.py"]["state"] == "failed"
        )
        roads.check_end(service.ask())
        service.signal(signal.SIGTERM)
    assert group_of(pid) == []
    roads.send()
    with Service(tmp_path, *options) as service:
        pid = service.wait_for("pipeline")["pid"]
        rates = {}

        def is_in():
            """Each source has its rate noted on the way, which is of the last seconds."""
            loop = service.client.get("/v1/loops/sssp").json()
            for name, one in loop["sources"].items():
                rates[name] = max(rates.get(name, 0.0), one["rows_per_s"])
            return sum(loop["offsets"].values()) == len(roads.stream)

        eventually(is_in, 240, PAUSE_S)
        answer = service.ask()
        [source] = answer["snapshot"]["offsets"].keys() - past.keys()
        assert answer["snapshot"]["offsets"] == {**past, source: len(roads.stream) - half}
        roads.check_end(answer)
        eventually(lambda: told(service, source)["rejected"] == len(BAD), period_s=PAUSE_S)
        assert (told(service, source)["state"], told(service, source)["lag_records"]) == ("running", 0)
        assert rates[source] > 0
        assert f'tornado_source_lag_records{{source="{source}",stream="sssp"}} 0.0' in metrics(service)
        assert f'tornado_source_rejected_total{{source="{source}",stream="sssp"}} {len(BAD)}.0' in metrics(
            service
        )
        assert service.signal(signal.SIGTERM) == 130
    assert group_of(pid) == []


def offsets(service):
    return service.client.get("/v1/loops/sssp").json()["offsets"]


def told(service, source):
    return service.client.get("/v1/loops/sssp").json()["sources"][source]


def metrics(service):
    return service.client.get("/metrics").text.splitlines()


def group_of(leader):
    """Return the processes that were started in a group, as far as they have not ended."""
    return [one for one in psutil.process_iter() if is_in_group(one, leader)]


def is_in_group(process, leader):
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):  # it ends just now
        return process.status() != psutil.STATUS_ZOMBIE and os.getpgid(process.pid) == leader
    return False
