"""A service of the real command in a process of its own, that can be killed and started again; and a connection to it.

What is asked of it goes over HTTP by the standard library's plain client: nothing on this side that a user's own client would not have.
"""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
import psutil
import pyarrow as pa
from numpy.typing import NDArray

from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import REMOVE

from .harness import CHECKOUT, Clock, WrongAnswer

_ARROW = "application/vnd.apache.arrow.stream"
_LATER = frozenset({429, 503})
_LOOK_S = 0.02
_FORKS_WORKERS = ("fork_server", "spark_daemon")


class Service:
    """See the module. A context manager that leaves no process behind.

    Parameters
    ----------
    folder
        Where it says what it says.
    arguments
        Of ``tornado run``, without the address.
    clock
        Ends the benchmark where it does not get ready.
    started
        Whether the context begins with a start.
    """

    def __init__(self, folder: Path, arguments: Sequence[str], clock: Clock, *, started: bool = True) -> None:
        self._is_to_start = started
        self._arguments = arguments
        self._clock = clock
        self._log = folder / "service.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        if self._is_to_start:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> float:
        """Start it, at a free port, and wait until it is ready; return how many seconds that took."""
        began_s = time.perf_counter()
        command = [sys.executable, "-m", "tornado", "run", *self._arguments]
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, "--http", "127.0.0.1:0", "--json"],
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stderr=output,
                stdout=output,
            )
        try:
            self.url = self._address(self._process)
        except BaseException:
            self.kill()
            raise
        return time.perf_counter() - began_s

    def kill(self) -> None:
        """Kill it, with SIGKILL; its workers end with it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it as Ctrl-C does: its last checkpoint is stored."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)  # a shell may have it ignore SIGINT
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def family(self) -> list[psutil.Process]:
        """Return its processes, itself first; none while it does not run."""
        process = self._process
        try:
            own = psutil.Process(-1 if process is None else process.pid)
            return [own, *own.children(recursive=True)]
        except (psutil.NoSuchProcess, ValueError):
            return []

    def workers(self) -> list[psutil.Process]:
        """Return the processes of its workers: what forks them has forked them."""
        return [process for process in self.family()[1:] if _is_worker(process)]

    def _address(self, process: subprocess.Popen[bytes]) -> str:
        while True:
            for line in self._log.read_text(encoding="utf-8").splitlines():
                if line.startswith("{") and line.endswith("}") and '"ready"' in line:
                    event = json.loads(line)
                    if event.get("event") == "ready":
                        return str(event["url"])
            if process.poll() is not None:
                said = self._log.read_text(encoding="utf-8")[-2_000:]
                raise WrongAnswer(f"the service ended with {process.returncode}: {said}")
            self._clock.left_s()
            time.sleep(_LOOK_S)


class Connection:
    """One kept connection to a service.

    Parameters
    ----------
    url
        Where it is.
    clock
        Ends the benchmark where it waits too long.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self.url = url
        address = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            address.hostname or "127.0.0.1", address.port, timeout=300
        )
        self._clock = clock

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def push(self, loop: str, batch: EdgeBatch) -> int:
        """Push a batch to the stream of a loop, again while the service is full; return how many records it has."""
        self.pushed_up_to(loop, arrow_of(batch))
        return len(batch)

    def pushed_up_to(self, loop: str, body: bytes) -> int:
        """Push a body of Arrow, again while the service is full; return how many pushed records the stream has then."""
        while True:
            status, content = self.call("POST", f"/v1/loops/{loop}/edges", body, _ARROW)
            if status == 202:
                answer = json.loads(content)
                if answer["rejected"]:
                    raise WrongAnswer(f"{answer['rejected']} good records were rejected")
                return int(answer["offsets"].get("http", 0))
            if status not in _LATER:
                raise WrongAnswer(f"a push was answered with {status} {content[:500]!r}")
            time.sleep(0.05)

    def describe(self, loop: str) -> dict[str, Any]:
        """Return what the service says of a loop."""
        return self._json("GET", f"/v1/loops/{loop}")

    def wait_idle(self, loop: str, admitted: int) -> None:
        """Wait until so many records are admitted and nothing is left to do."""
        while True:
            seen = self.describe(loop)
            if seen["admitted"] == admitted and not seen["backlog_records"] and not seen["pending"]:
                return
            time.sleep(_LOOK_S)

    def metric(self, name: str) -> float:
        """Return a metric, summed over its labels; 0 where there is none."""
        _, content = self.call("GET", "/metrics")
        values = [
            line.rsplit(" ", 1)[1] for line in content.decode().splitlines() if line.startswith(f"{name}{{")
        ]
        return sum(map(float, values))

    def ask(self, loop: str, ids: NDArray[np.int64]) -> dict[str, Any]:
        """Return the exact answer for some vertices.

        Raises
        ------
        WrongAnswer
            When there is none.
        """
        body = json.dumps({"loop": loop, "vertices": ids.tolist()}).encode()
        answer = self._json("POST", "/v1/queries?wait_s=60", body)
        if answer["state"] != "converged":
            raise WrongAnswer(f"the query of {loop} has ended {answer['state']}")
        return answer

    def ask_until_answered(self, loop: str, ids: NDArray[np.int64]) -> dict[str, Any]:
        """Ask as `ask` does, again where nobody could answer, as while workers are being replaced."""
        while True:
            try:
                return self.ask(loop, ids)
            except WrongAnswer:
                self._clock.left_s()
                time.sleep(_LOOK_S)

    def rescale(self, stream: str, workers: int) -> dict[str, Any]:
        """Put a service on another number of workers; return what it says of that."""
        return self._json("POST", f"/v1/streams/{stream}/rescale", json.dumps({"workers": workers}).encode())

    def call(
        self, method: str, path: str, body: bytes | None = None, kind: str | None = None
    ) -> tuple[int, bytes]:
        """Return status and content of a response."""
        self._clock.left_s()
        self._connection.request(method, path, body, {} if kind is None else {"Content-Type": kind})
        response = self._connection.getresponse()
        return response.status, response.read()

    def _json(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        status, content = self.call(method, path, body, "application/json")
        if status != 200:
            raise WrongAnswer(f"{method} {path} was answered with {status} {content[:500]!r}")
        answer: dict[str, Any] = json.loads(content)
        return answer


def arrow_of(batch: EdgeBatch) -> bytes:
    """Return a batch as a stream of Arrow."""
    table = pa.table(
        {
            "src": batch.src,
            "dst": batch.dst,
            "weight": pa.array(batch.weight, from_pandas=True),
            "op": pa.DictionaryArray.from_arrays((batch.op == REMOVE).astype(np.int8), ["+", "-"]),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def distances_of(answer: Mapping[str, Any]) -> dict[int, float]:
    """Return the distances of an answer, by vertex."""
    entries = answer["result"]["values"]
    return {entry["vertex"]: np.inf if entry["value"] is None else entry["value"] for entry in entries}


def _is_worker(process: psutil.Process) -> bool:
    try:
        parent = process.parent()
        words = "" if parent is None else " ".join(parent.cmdline())
    except psutil.NoSuchProcess:
        return False
    return any(name in words for name in _FORKS_WORKERS)
