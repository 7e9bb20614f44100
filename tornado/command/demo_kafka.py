"""`tornado demo-kafka`: the whole chain on this machine, a progress line for each link, and a check at the end.

Broker, generator, Spark and service are processes of their own, started as a user starts them; this one tells the story, asks over
HTTP, and compares the answers with a recomputation of exactly the messages that they are for, read again from the topic.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from ..errors import ConnectionLost, NotSupported
from .child import Child
from .client import ServiceClient
from .interruption import Interruption
from .kafka_config import require_client
from .presentation import ExitCode

_TOPIC = "roads"
_LOOP = "sssp"
_PARTITIONS = 2
# A first start compiles; a Spark starts in ten seconds on two cores.
_STARTING_S = 180.0
_ANSWER_S = 60.0
_PERIOD_S = 1.0
_QUICK = (
    "spark.sql.streaming.checkpointFileManagerClass="
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


@click.command("demo-kafka")
@click.option(
    "--side",
    type=click.IntRange(20, 1000),
    default=50,
    show_default=True,
    help="Junctions of the town, each way.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Chooses the town.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.0, 3600.0),
    default=10.0,
    show_default=True,
    help="How long it streams once Spark has begun to read.",
)
@click.option("--rate", type=click.FloatRange(1.0), default=1000.0, show_default=True, help="Roads a second.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option(
    "--engine",
    type=click.Choice(["threads", "processes", "spark"]),
    default="spark",
    show_default=True,
    help="Where the workers of the loop run, as for `tornado run`.",
)
def demo_kafka_command(**options: Any) -> int:
    """Watch a town stream through Kafka and Spark into a loop, and be asked about. Takes less than a minute.

    Starts a Kafka broker, a generator, a Spark pipeline and a service on this machine, and ends them all. The very first
    start fetches the broker and Spark's Kafka connector. Ends with `match` and exit code 0 if every answer equals a plain
    recomputation bit for bit, else with MISMATCH and 1.
    """
    plan = _Plan(**options)
    _require_spark()
    with Interruption() as interruption, tempfile.TemporaryDirectory(prefix="tornado-demo-") as folder:
        matches = _Chain(plan, Path(folder), interruption).run()
    if not matches:
        _tell(
            f"MISMATCH: an answer differs from the recomputation. This is a bug: please report it (seed {plan.seed})."
        )
        return ExitCode.FAILED
    _tell("match: every answer equals, bit for bit, a recomputation from scratch of the same messages.")
    return ExitCode.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    side: int
    seed: int
    seconds: float
    rate: float
    workers: int
    engine: str

    @property
    def station(self) -> int:
        """Where the ambulance stands: in the middle."""
        return self.side // 2 * self.side + self.side // 2


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was answered, for the check at the end."""

    ends: dict[int, int]
    is_exact: bool
    ids: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


class _Chain:
    """Its links, from the broker to the answers."""

    def __init__(self, plan: _Plan, folder: Path, interruption: Interruption) -> None:
        self._plan = plan
        self._folder = folder
        self._interruption = interruption
        self._children: list[Child] = []
        self._began_s = time.monotonic()

    def run(self) -> bool:
        """Start it, tell it, end it; return whether every answer was exact."""
        from ..ingest.java import spark_java_home
        from ..testing.kafka_broker import KAFKA_VERSION, KafkaBroker

        _tell(
            "generator -> Kafka -> Spark -> loop -> questions over HTTP, each for real and on this machine.",
            "(The very first start fetches the broker and Spark's connector to Kafka, and compiles.)",
            "",
        )
        # Before anything starts: this may fetch a Java, and says what to install where it cannot.
        java_home = spark_java_home()
        with self._service() as service, KafkaBroker(self._folder / "kafka") as broker:
            self._link("kafka", f"broker {KAFKA_VERSION} at {broker.address}")
            with self._generator(broker.address) as generator:
                generator.wait_for("progress", _STARTING_S, self._look)
                self._link(
                    "generator",
                    f"{self._plan.rate:,.0f} roads a second of a town of {self._plan.side} x {self._plan.side} "
                    f"junctions, into {_PARTITIONS} partitions of the topic {_TOPIC!r}",
                )
                url = service.wait_for("ready", _STARTING_S, self._look)["url"]
                self._link(
                    "loop",
                    f"shortest paths from junction {self._plan.station:,}: {self._plan.workers} workers, engine "
                    f"{self._plan.engine}; {url}/docs shows the interface",
                )
                with self._pipeline(broker.address, url, java_home), ServiceClient(url) as client:
                    answers = self._stream(broker.address, generator, client)
                    return self._check(broker.address, answers)

    def _service(self) -> Child:
        plan = self._plan
        return self._child(
            "tornado run",
            [
                *["tornado", "run", _LOOP, "--source", str(plan.station), "--workers", str(plan.workers)],
                *["--engine", plan.engine, "--http", "127.0.0.1:0", "--json"],
                *["--store", f"lmdb://{self._folder}/store"],
            ],
        )

    def _generator(self, brokers: str) -> Child:
        plan = self._plan
        return self._child(
            "tornado produce",
            [
                *["tornado", "produce", "--kafka", brokers, "--topic", _TOPIC, "--create", str(_PARTITIONS)],
                *["--side", str(plan.side), "--seed", str(plan.seed), "--rate", str(plan.rate)],
                *["--named", str(self._names), "--json"],
            ],
        )

    def _pipeline(self, brokers: str, url: str, java_home: str) -> Child:
        return self._child(
            "the Spark pipeline",
            [
                *["apps.pipelines.roads", "--kafka", brokers, "--topic", _TOPIC, "--towns", str(self._names)],
                *["--url", url, "--loop", _LOOP, "--checkpoint", str(self._folder / "state")],
                *["--quarantine", str(self._folder / "rejected")],
            ],
            spark_environment(java_home),
        )

    def _child(self, name: str, command: list[str], environment: Mapping[str, str] | None = None) -> Child:
        child = Child(name, [sys.executable, "-m", *command], environment)
        self._children.append(child)
        return child

    @property
    def _names(self) -> Path:
        return self._folder / "junctions.csv"

    def _stream(self, brokers: str, generator: Child, client: ServiceClient) -> list[_Answer]:
        """Let it stream; ask while it does, and when all of it is in."""
        from ..testing.replay import count_messages

        plan = self._plan
        self._wait(generator, client, until_records=1)
        self._link(
            "spark", "apps/pipelines/roads.py on local[2]: parsed, checked, deduplicated, joined, in the loop"
        )
        self._wait(generator, client, seconds=plan.seconds / 2)
        answers = [self._ask(client, "Roads keep coming, and some close. How far is it now?")]
        self._wait(generator, client, seconds=plan.seconds / 2)
        self._children.remove(generator)
        generator.stop()
        sent = count_messages(brokers, _TOPIC)
        self._link("generator", f"ended; {sent:,} roads are in the topic")
        self._wait(generator, client, until_records=sent)
        return [*answers, self._ask(client, "All of them are in the loop. How far is it now?")]

    def _wait(
        self,
        generator: Child,
        client: ServiceClient,
        *,
        until_records: int | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Wait until so many records are in the loop, or so long, with a line a second about each link."""
        began_s = told_s = time.monotonic()
        while True:
            self._look()
            loop = client.loop(_LOOP)
            admitted = sum(loop["offsets"].values())
            now_s = time.monotonic()
            if now_s - began_s >= seconds if until_records is None else admitted >= until_records:
                return
            if now_s - began_s > max(_STARTING_S, seconds):
                raise ConnectionLost(f"{admitted:,} roads are in the loop after {_STARTING_S:g} s")
            if now_s - told_s >= _PERIOD_S:
                told_s = now_s
                self._tell_links(generator.latest["progress"], loop, admitted)
            self._interruption.wait(0.1)

    def _tell_links(self, sent: dict[str, Any], loop: dict[str, Any], admitted: int) -> None:
        kept = sent["edges"] - sent["under_way"]
        _tell(
            f"{self._elapsed()}            generator {sent['edges']:>6,} sent | kafka {kept:>6,} | spark "
            f"{max(0, kept - admitted):>6,} behind | loop {admitted:>6,} in, {loop['edges']:>6,} roads open"
        )

    def _ask(self, client: ServiceClient, words: str) -> _Answer:
        from ..testing.replay import batch_end
        from .town import places

        asked_s = time.perf_counter()
        query = client.submit({"loop": _LOOP, "deadline_s": _ANSWER_S})["id"]
        *_, (_, answer) = client.events(query)
        ids, values = client.columns(query)
        answered_s = time.perf_counter() - asked_s
        client.cancel(query)
        records = sum(answer["snapshot"]["offsets"].values())
        self._link("question", words)
        minutes = dict(zip(ids.tolist(), values.tolist(), strict=True))
        for name, junction in places(self._plan.side, self._plan.side).items():
            found = minutes.get(junction)
            shown = "not on the map yet" if found is None else f"{found:7.2f} min"
            _tell(f"{'':12}{name:<16} {shown}")
        _tell(f"{'':12}for the first {records:,} roads: {answered_s * 1000:.1f} ms over HTTP")
        # At once: Spark forgets where batches ended, a hundred later.
        ends = batch_end(self._folder / "state" / "edges", _TOPIC, records)
        return _Answer(ends, answer["state"] == "converged", ids, values)

    def _check(self, brokers: str, answers: list[_Answer]) -> bool:
        """Read the messages that each answer is for again, and recompute it."""
        from ..testing.replay import replayed_roads
        from .town import compare

        matches = True
        for answer in answers:
            records = replayed_roads(brokers, _TOPIC, answer.ends, self._names)
            check = compare(records, len(records), self._plan.station, answer.ids, answer.values)
            where = ", ".join(
                f"{_TOPIC}:{number} up to {end:,}" for number, end in sorted(answer.ends.items())
            )
            verdict = "equal" if check.matches else f"{check.differing:,} differ, {check.missing:,} missing"
            self._link(
                "check",
                f"{where} read again and recomputed: {check.compared:,} junctions, bit for bit: {verdict}",
            )
            matches = matches and check.matches and answer.is_exact
        return matches

    def _look(self) -> None:
        self._interruption.check()
        for child in self._children:
            child.check()

    def _link(self, name: str, words: str) -> None:
        _tell(f"{self._elapsed()} {name:<10} {words}")

    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._began_s:5.1f} s"


def spark_environment(java_home: str) -> dict[str, str]:
    """Return what a Spark on two cores of this machine runs with; it lives for less than a minute."""
    arguments = (
        "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false "
        f"--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' --conf {_QUICK}"
    )
    return {
        "JAVA_HOME": java_home,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{arguments} pyspark-shell",
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }


def _require_spark() -> None:
    import importlib.util

    require_client()
    if importlib.util.find_spec("pyspark") is None:
        raise NotSupported(
            "the chain runs through Spark, and pyspark is not installed",
            hint="pip install 'tornado-loops[kafka,spark]'",
        )


def _tell(*lines: str) -> None:
    for line in lines:
        click.echo(line)
    # Somebody watches, also through a pipe.
    sys.stdout.flush()
