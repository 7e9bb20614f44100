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
# It lives for seconds or minutes: compiling well, and threads to collect garbage, cost more than they bring.
_IN_A_HURRY: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_PROPERTIES: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners={listeners},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners={advertised}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,ASTRAY:PLAINTEXT,LOGIN:SASL_PLAINTEXT
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

# Whoever comes without a login may do everything, whoever has one only what is allowed to it.
_LOGINS: Final = """\
sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required {users};
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
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
    astray : str, optional
        HOST:PORT that clients are told to come to by a second listener, at `astray_address`.
    users : mapping of str to str, optional
        Passwords of those who may log in at `login_address`; they may do what access rules allow.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        astray: str | None = None,
        users: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.port, self.controller_port, self._astray_port, self._login_port = _free_ports(4)
        self._astray = astray
        self._users = users
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """HOST:PORT, as clients name it."""
        return f"127.0.0.1:{self.port}"

    @property
    def astray_address(self) -> str:
        """Where it sends clients somewhere else."""
        return f"127.0.0.1:{self._astray_port}"

    @property
    def login_address(self) -> str:
        """Where it wants a user and a password."""
        return f"127.0.0.1:{self._login_port}"

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
            properties.write_text(self._properties())
            run_tool(
                [
                    *[java, *_IN_A_HURRY, f"-Dlog4j2.configurationFile={self.folder}/log4j2.properties"],
                    *["-cp", classes, "kafka.tools.StorageTool", "format"],
                    *["-t", _cluster_id(), "-c", str(properties)],
                ],
                environment,
            )
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  the java that was found, with arguments of ours
                [
                    *[java, "-Xmx256m", *_IN_A_HURRY],
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

    def _properties(self) -> str:
        listeners = {"PLAINTEXT": self.address}
        advertised = dict(listeners)
        text = _PROPERTIES
        if self._astray is not None:
            listeners["ASTRAY"], advertised["ASTRAY"] = self.astray_address, self._astray
        if self._users is not None:
            listeners["LOGIN"] = advertised["LOGIN"] = self.login_address
            text += _LOGINS
        return text.format(
            folder=self.folder,
            controller_port=self.controller_port,
            listeners=_listed(listeners),
            advertised=_listed(advertised),
            users=" ".join(f'user_{name}="{password}"' for name, password in (self._users or {}).items()),
        )

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
            return admin.list_topics() is not None
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

    def allow(self, user: str, topic: str, *operations: str) -> None:
        """Let a user do something with a topic, such as `describe` and `read`."""
        from ..ingest.kafka.library import (
            ACL,
            ACLOperation,
            ACLPermissionType,
            ResourcePattern,
            ResourceType,
        )

        place = ResourcePattern(ResourceType.TOPIC, topic)
        with self.admin() as admin:
            admin.create_acls(
                [
                    ACL(f"User:{user}", "*", ACLOperation[name.upper()], ACLPermissionType.ALLOW, place)
                    for name in operations
                ]
            )

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


def _free_ports(count: int) -> list[int]:
    """Ports that nobody has; held together, so that they differ."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in held]


def _listed(listeners: Mapping[str, str]) -> str:
    return ",".join(f"{name}://{address}" for name, address in listeners.items())


def _dotted(configs: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in configs.items()}
