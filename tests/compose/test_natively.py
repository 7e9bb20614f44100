"""What docker-compose.yml describes, started here: real broker, generator, service and Spark, in its order, by its commands."""

import contextlib
import os
import sys
import time

import httpx
import numpy as np
import pytest

from tests.compose.described import CHECKOUT, Natively, spark_settings
from tests.kafka.topics import ends
from tests.ports import free_ports
from tornado.command.client import ServiceClient
from tornado.testing import EdgeHistory, exact_distances
from tornado.testing.kafka_broker import KafkaBroker
from tornado.testing.replay import batch_end, replayed_roads

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("compiled_paths")]

SIDE = 20
STATION = SIDE // 2 * (SIDE + 1)
ENOUGH = 3000
TOKEN = "local-use-only"


def wait_until(condition, children, timeout_s=120):
    until_s = time.monotonic() + timeout_s
    while not condition():
        for child in children:
            child.check()
        assert time.monotonic() < until_s, f"not within {timeout_s} s"
        time.sleep(0.5)


@contextlib.contextmanager
def chain(folder, postgres, spark=None):
    """Start all of the file but the pipeline; returns what it is started by, what runs, the broker and where the service is."""
    from tornado.ingest.java import spark_java_home

    http, ui, master, master_ui, worker_ui = free_ports(5)
    (folder / "conf").mkdir()
    for name in ("names", "pipeline", "snapshots"):
        (folder / name).mkdir()
    is_cluster = spark == "a cluster"
    settings = spark_settings() | {
        "spark.master": f"spark://127.0.0.1:{master}" if is_cluster else "local[2]",
        "spark.ui.port": str(ui),
        # Compiled in a hurry: it runs for seconds.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    lines = "".join(f"{name} {value}\n" for name, value in settings.items())
    (folder / "conf" / "spark-defaults.conf").write_text(lines)
    environment = os.environ | {
        "JAVA_HOME": spark_java_home(),
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), os.environ["PYTHONPATH"], *sys.path]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TORNADO_LOOPS_DATA_DIR": str(folder / "data"),
        "PGPASSWORD": TOKEN,
        "TORNADO_TOKENS": f"write {TOKEN}",
        "TORNADO_TOKEN": TOKEN,
    }
    with contextlib.ExitStack() as stack:
        broker = KafkaBroker(folder / "kafka")
        natively = Natively(
            {
                "kafka:9092": broker.address,
                "0.0.0.0:8080": f"127.0.0.1:{http}",
                "http://service:8080": f"http://127.0.0.1:{http}",
                "127.0.0.1:8080": f"127.0.0.1:{http}",
                "127.0.0.1:4040": f"127.0.0.1:{ui}",
                "spark://spark-master:7077": f"spark://127.0.0.1:{master}",
                "spark-master": "127.0.0.1",
                "7077": str(master),
                "8090": str(master_ui),
                "8091": str(worker_ui),
                "postgres:5432": f"127.0.0.1:{postgres.port}",
                "/tmp/spark": str(folder / "spark"),
                "/names": str(folder / "names"),
                "/pipeline": str(folder / "pipeline"),
                "lmdb:///snapshots": f"lmdb://{folder}/snapshots",
                # A town that is built soon, so that its roads close and open before it is asked.
                "--side=100": f"--side={SIDE}",
                "--source=5050": f"--source={STATION}",
            },
            environment,
        )
        children = [stack.enter_context(natively.start("service"))]
        for name in ("spark-master", "spark-worker-1", "spark-worker-2") if is_cluster else ():
            children.append(stack.enter_context(natively.start(name)))
            wait_until(lambda: natively.is_healthy(name), children)  # noqa: B023 - called in this round
        stack.enter_context(broker)
        children.append(stack.enter_context(natively.start("generator")))
        wait_until(lambda: natively.is_healthy("generator"), children)
        wait_until(lambda: natively.is_healthy("service"), children)
        yield natively, children, broker, f"http://127.0.0.1:{http}"


@pytest.fixture
def postgres(postgres_server):
    """A server with the user and the database of the file."""
    postgres_server.execute("CREATE ROLE tornado LOGIN PASSWORD 'local-use-only'")
    postgres_server.execute("CREATE DATABASE tornado OWNER tornado")
    yield postgres_server
    postgres_server.execute("DROP DATABASE tornado WITH (FORCE)")
    postgres_server.execute("DROP ROLE tornado")


def test_broker_generator_and_service_of_the_file_become_healthy_and_roads_are_in_the_topic(
    tmp_path, postgres
):
    """All but Spark, whose part in such a chain `tornado demo-kafka` shows in its tests."""
    pytest.importorskip("pyspark")
    with chain(tmp_path, postgres) as (natively, children, broker, url), ServiceClient(url, TOKEN) as client:
        wait_until(lambda: sum(ends(broker, "roads").values()) >= ENOUGH, children)
        assert client.loop("sssp")["offsets"] == {}
        assert natively.is_healthy("generator") and natively.is_healthy("service")
        names = (tmp_path / "names" / "junctions.csv").read_text().splitlines()
        assert len(names) == SIDE * SIDE + 1
        # Nothing is in, so nothing is the answer; but the table is there to be joined.
        assert postgres.execute("SELECT * FROM distances", "tornado") == []


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.parametrize("spark", ["in one process", "a cluster"])
def test_the_chain_of_the_file_gives_the_exact_answer(tmp_path, postgres, spark):
    pytest.importorskip("pyspark")
    with (
        chain(tmp_path, postgres, spark) as (natively, children, broker, url),
        natively.start("pipeline") as pipeline,
        ServiceClient(url, TOKEN) as client,
    ):
        children.append(pipeline)
        wait_until(lambda: sum(client.loop("sssp")["offsets"].values()) >= ENOUGH, children)
        wait_until(lambda: natively.is_healthy("pipeline"), children)
        shown = {"Authorization": f"Bearer {TOKEN}"}
        answer = httpx.post(
            f"{url}/v1/queries?wait_s=30", json={"loop": "sssp"}, headers=shown, trust_env=False
        ).json()
        assert (answer["state"], answer["certificate"]) == ("converged", {"kind": "exact"})
        [records] = answer["snapshot"]["offsets"].values()
        stops = batch_end(tmp_path / "pipeline" / "state" / "edges", "roads", records)
        names = tmp_path / "names" / "junctions.csv"
        history = EdgeHistory.of(replayed_roads(broker.address, "roads", stops, names))
        held = "SELECT count(*) FROM distances WHERE value >= 0"
        wait_until(lambda: postgres.execute(held, "tornado")[0][0] > SIDE * SIDE // 2, children)
    found = {
        row["vertex"]: float("inf") if row["value"] is None else row["value"]
        for row in answer["result"]["values"]
    }
    expected = exact_distances(history.at(records), STATION)
    ids = np.array(sorted(found), np.int64)
    assert [found[vertex] for vertex in ids.tolist()] == expected.lookup(ids).tolist()
    assert set(expected.ids.tolist()) <= set(found)
    assert len(ids) > SIDE * SIDE // 2
