"""A real Kafka broker for tests and demonstrations: KRaft, one node, on loopback, on free ports, stopped by its process id.

Its jars come from Maven Central once and are kept in the user's cache folder, never in a checkout (`ingest/java.py`). The broker
keeps its ports and its log over `kill` and `start`, so a client can find it again.
"""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ..errors import ConnectionLost
from ..ingest.java import Artifact, find_java, jars, run_tool

KAFKA_VERSION: Final = "4.3.1"
_ARTIFACTS: Final = (
    Artifact("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    # Without it the broker's log is empty.
    Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
)
_READY_S: Final = 60.0
_STOPPING_S: Final = 20.0
_LOG_TAIL_CHARACTERS: Final = 2000

_PROPERTIES: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://{advertised}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/log
num.partitions=1
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
min.insync.replicas=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
message.max.bytes=16777216
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=250
"""

_LOGGING: Final = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


class KafkaBroker:
    """One broker. A context manager that leaves no process behind.

    Parameters
    ----------
    folder : path
        For its configuration, log and records; stays the caller's.
    advertised : str, optional
        HOST:PORT that it tells clients to come to; left out, where it listens.
    """

    def __init__(self, folder: str | os.PathLike[str], *, advertised: str | None = None) -> None:
        self.folder = Path(folder)
        self.port, self.controller_port = _free_ports()
        self._advertised = advertised
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """HOST:PORT, as clients name it."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None, "the broker does not run"
        return self._process.pid

    def start(self, *, wait: bool = True) -> None:
        """Start it, and again after `kill` or `stop`; wait until it answers.

        Raises
        ------
        ConnectionLost
            It ended or did not answer in a minute; the message has the end of its log.
        """
        java = find_java()
        folder = jars(f"kafka-{KAFKA_VERSION}", _ARTIFACTS, java)
        classes = f"{folder}/*"
        properties = self.folder / "server.properties"
        environment = {name: value for name, value in os.environ.items() if name != "CLASSPATH"}
        if not properties.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "log4j2.properties").write_text(_LOGGING)
            properties.write_text(
                _PROPERTIES.format(
                    folder=self.folder,
                    port=self.port,
                    controller_port=self.controller_port,
                    advertised=self._advertised or self.address,
                )
            )
            run_tool(
                [
                    *[java, f"-Dlog4j2.configurationFile={self.folder}/log4j2.properties", "-cp", classes],
                    *["kafka.tools.StorageTool", "format", "-t", _cluster_id(), "-c", str(properties)],
                ],
                environment,
            )
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  the java that was found, with arguments of ours
                [
                    *[java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
                    *[f"-Dlog4j2.configurationFile={self.folder}/log4j2.properties"],
                    *["-cp", classes, "kafka.Kafka", str(properties)],
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        if wait:
            self.wait_ready()

    def wait_ready(self, timeout_s: float = _READY_S) -> None:
        """Wait until it answers for metadata: an open port is not enough."""
        assert self._process is not None, "the broker does not run"
        until_s = time.monotonic() + timeout_s
        while True:
            if self._process.poll() is not None:
                raise ConnectionLost(f"the broker ended with {self._process.returncode}: {self.log_tail()}")
            if self._answers():
                return
            if time.monotonic() >= until_s:
                raise ConnectionLost(f"the broker does not answer after {timeout_s:g} s: {self.log_tail()}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        # Not before the port is open: the library leaves a socket behind for each attempt that is refused.
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        with contextlib.suppress(Exception), self.admin() as admin:
            return self._advertised is not None or admin.list_topics() is not None
        return False

    def kill(self) -> None:
        """End it at once, as a crash would; nothing happens where it does not run."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as an operator would; nothing happens where it does not run."""
        self._end(signal.SIGTERM)

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Make a topic, and wait until every partition has a leader."""
        with self.admin() as admin:
            topic = {"num_partitions": partitions, "replication_factor": 1, "configs": _dotted(configs)}
            admin.create_topics({name: topic}, wait_for_metadata=True)

    def add_partitions(self, name: str, total: int) -> None:
        """Let a topic have `total` partitions."""
        with self.admin() as admin:
            admin.create_partitions({name: total})

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        with self.admin() as admin:
            admin.delete_topics([name])

    def delete_records(self, name: str, before: Mapping[int, int]) -> None:
        """Delete the records of partitions that stand before these offsets."""
        from ..ingest.kafka.library import TopicPartition

        with self.admin() as admin:
            admin.delete_records({TopicPartition(name, number): offset for number, offset in before.items()})

    @contextlib.contextmanager
    def admin(self) -> Iterator[Any]:
        """A client that may do everything."""
        from ..ingest.kafka.library import KafkaAdminClient

        client = KafkaAdminClient(
            bootstrap_servers=self.address, bootstrap_timeout_ms=2000, request_timeout_ms=10_000
        )
        try:
            yield client
        finally:
            client.close()

    @contextlib.contextmanager
    def producer(self, **options: Any) -> Iterator[Any]:
        """A client that sends; what it sent is in the topic when the context is left."""
        from ..ingest.kafka.library import KafkaProducer

        settings = {"linger_ms": 2, "max_request_size": 16 << 20, "batch_size": 1 << 17} | options
        client = KafkaProducer(bootstrap_servers=self.address, **settings)
        try:
            yield client
            client.flush()
        finally:
            client.close()

    def log_tail(self) -> str:
        """Return the end of its log."""
        path = self.folder / "broker.log"
        return path.read_text(errors="replace")[-_LOG_TAIL_CHARACTERS:] if path.exists() else "no log"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _end(self, how: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(_STOPPING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _cluster_id() -> str:
    while (name := base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("="))[0] == "-":
        pass
    return name


def _free_ports() -> tuple[int, int]:
    """Two ports that nobody has; held together, so that they differ."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1]), int(other.getsockname()[1])


def _dotted(configs: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in configs.items()}
