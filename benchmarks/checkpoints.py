"""What do checkpoints cost a service at size, and does anybody outside notice one?

The real command, with its store on disk and two workers on one engine, twice: without checkpoints, and with one every ten seconds.
Nine tenths of the graph are pushed over HTTP as fast as they are taken, 100,000 edges a request, until the loop has all of
them and is idle: that is the loading time. Then changes, half removals, are pushed as fast as they are taken, so that checkpoints of
the whole graph fall into full admission. A process of its own asks meanwhile for `/healthz` every 20 ms and for the exact
distances of ten vertices every 250 ms. Health, queries and lost workers count over the whole of it. In the end some
distances are compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import REMOVE
from tornado.testing import Churn, exact_distances

from .harness import CHECKOUT, Clock, Report, Settings, WrongAnswer
from .measuring import LOAD_BATCH, baseline, churn_of, generated, require_exact, targets_of
from .system import LOOP_NAME

_WORKERS = 2
_EVERY_S = 10.0
_HELD_S = 30.0
_CHANGES = 10_000
_LOADING_TIMES = 1.5
_HEALTH_MS = 50.0
_QUERY_MS = 1_000.0
_JUDGED_FROM_SCALE = 20


@dataclass(frozen=True, slots=True)
class _Run:
    """What was seen of one service."""

    loading_s: float
    changes_per_s: float


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    every_s = 0.3 if settings.smoke else _EVERY_S
    held_s = min(settings.hold_s, _HELD_S)
    report.data |= {
        "workers": _WORKERS,
        "engine": settings.engine,
        "delay_bound": 64,
        "store": "lmdb",
        "checkpoint_every_s": every_s,
        "held_s": held_s,
    }
    baseline(report, churn_of(edges, settings).live(), root)
    without = _measured(report, "without", churn_of(edges, settings), root, None, held_s, clock)
    beside = _measured(report, "with checkpoints", churn_of(edges, settings), root, every_s, held_s, clock)
    judged = settings.scale >= _JUDGED_FROM_SCALE
    report.add(
        "loading with checkpoints over loading without",
        beside.loading_s / without.loading_s,
        "x",
        at_most=_LOADING_TIMES if judged else None,
    )
    report.add(
        "changes a second with checkpoints over those without",
        beside.changes_per_s / without.changes_per_s,
        "x",
    )


def _measured(
    report: Report, name: str, churn: Churn, root: int, every_s: float | None, held_s: float, clock: Clock
) -> _Run:
    """Load one service, change it, and report what was seen of it."""
    settings = report.settings
    judged = every_s is not None and settings.scale >= _JUDGED_FROM_SCALE
    live = churn.live()
    targets = targets_of(live, 500, seed=settings.seed)
    with (
        tempfile.TemporaryDirectory(prefix="tornado-checkpoints-") as folder,
        _service(Path(folder), settings.engine, root, every_s, clock) as url,
        closing(_Loop(url, clock)) as loop,
    ):
        # An empty loop is asked and fed once, so that nobody pays for a connection or for what is loaded lazily.
        loop.push(EdgeBatch.of([root], [root], [1.0]))
        loop.wait_idle(1)
        with _probed(url, targets, settings, clock) as probes:
            began_s = time.perf_counter()
            for batch in live.batches(LOAD_BATCH):
                loop.push(batch)
            loop.wait_idle(1 + len(live))
            loading_s = time.perf_counter() - began_s
            began_s = time.perf_counter()
            changes = 0
            while time.perf_counter() - began_s < held_s:
                changes += loop.push(churn.next_batch(_CHANGES))
            loop.wait_idle(1 + len(live) + changes)
            changes_per_s = changes / (time.perf_counter() - began_s)
            stored = loop.metric("tornado_checkpoints_total")
            failed = loop.metric("tornado_checkpoint_failures_total")
            lost = loop.describe()["restarts"]
        _compared(loop.ask(targets), churn, root, targets, f"after the stream, {name}")
    report.add(f"loading to the fixed point, {name}", loading_s, "s")
    report.add(f"  edges a second, loading, {name}", len(live) / loading_s, "edges/s")
    report.add(f"changes at full admission, {name}", changes_per_s, "edges/s")
    report.add(f"  sets of workers lost and replaced, {name}", lost, "", at_most=0 if judged else None)
    if every_s is not None:
        report.add("  checkpoints stored", stored, "")
        report.add("  checkpoints failed", failed, "", at_most=0 if judged else None)
    for probe, bound_ms in (("health", _HEALTH_MS), ("query", _QUERY_MS)):
        found = probes[probe]
        what = "/healthz meanwhile" if probe == "health" else "exact query for ten vertices meanwhile"
        report.spread(f"  {what}, {name}", found["seconds"], p99_at_most_ms=bound_ms if judged else None)
        report.add(
            f"    not as it should be, {what}, {name}", found["failed"], "", at_most=0 if judged else None
        )
        report.notes.extend(f"{what}, {name}: {failure}" for failure in found["failures"])
    return _Run(loading_s, changes_per_s)


class _Loop:
    """The loop of a service, over one kept connection."""

    def __init__(self, url: str, clock: Clock) -> None:
        address = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            address.hostname or "127.0.0.1", address.port, timeout=300
        )
        self._clock = clock
        self._path = f"/v1/loops/{LOOP_NAME}"

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def push(self, batch: EdgeBatch) -> int:
        """Push a batch, again while the service is full; return how many records it has."""
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
        body = sink.getvalue().to_pybytes()
        while True:
            status, content = self._call(
                "POST", f"{self._path}/edges", body, "application/vnd.apache.arrow.stream"
            )
            if status == 202:
                rejected = json.loads(content)["rejected"]
                if rejected:
                    raise WrongAnswer(f"{rejected} of {len(batch)} good records were rejected")
                return len(batch)
            if status not in {429, 503}:
                raise WrongAnswer(f"a push was answered with {status} {content[:500]!r}")
            time.sleep(0.05)

    def describe(self) -> dict[str, Any]:
        """Return what the service says of the loop."""
        status, content = self._call("GET", self._path)
        if status != 200:
            raise WrongAnswer(f"the loop is described with {status} {content[:500]!r}")
        described: dict[str, Any] = json.loads(content)
        return described

    def wait_idle(self, admitted: int) -> None:
        """Wait until so many records are admitted and nothing is left to do."""
        while True:
            seen = self.describe()
            if seen["admitted"] == admitted and not seen["backlog_records"] and not seen["pending"]:
                return
            time.sleep(0.02)

    def metric(self, name: str) -> float:
        """Return a metric of the only loop; 0 where there is none."""
        _, content = self._call("GET", "/metrics")
        values = [
            line.rsplit(" ", 1)[1] for line in content.decode().splitlines() if line.startswith(f"{name}{{")
        ]
        return sum(map(float, values))

    def ask(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> dict[int, float]:
        """Return exact distances."""
        body = json.dumps({"loop": LOOP_NAME, "vertices": ids.tolist()}).encode()
        status, content = self._call("POST", "/v1/queries?wait_s=60", body, "application/json")
        answer = json.loads(content)
        if status != 200 or answer["state"] != "converged":
            raise WrongAnswer(f"the query was answered with {status} {content[:500]!r}")
        entries = answer["result"]["values"]
        return {entry["vertex"]: np.inf if entry["value"] is None else entry["value"] for entry in entries}

    def _call(
        self, method: str, path: str, body: bytes | None = None, kind: str | None = None
    ) -> tuple[int, bytes]:
        self._clock.left_s()
        self._connection.request(method, path, body, {} if kind is None else {"Content-Type": kind})
        response = self._connection.getresponse()
        return response.status, response.read()


def _compared(
    got: dict[int, float], churn: Churn, root: int, targets: np.ndarray[Any, np.dtype[np.int64]], what: str
) -> None:
    ids = np.array([vertex for vertex in targets.tolist() if vertex in got], np.int64)
    if len(ids) < len(targets) // 2:
        raise WrongAnswer(f"{what}: only {len(ids)} of {len(targets)} vertices are known")
    values = np.array([got[vertex] for vertex in ids.tolist()], np.float64)
    # What pushed the loop awake was a self-loop, which no distance depends on.
    require_exact(what, ids, values, exact_distances(churn.live(), root))


@contextmanager
def _service(folder: Path, engine: str, root: int, every_s: float | None, clock: Clock) -> Iterator[str]:
    every = "off" if every_s is None else f"{every_s * 1e3:.0f}ms"
    command = [
        *[sys.executable, "-m", "tornado", "run", "sssp", "--source", str(root), "--http", "127.0.0.1:0"],
        *["--workers", str(_WORKERS), "--engine", engine, "--store", f"lmdb://{folder}/store"],
        *["--checkpoint-every", every, "--json"],
    ]
    log = folder / "service.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stderr=output, stdout=output
        )
        try:
            yield _address(process, log, clock)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], log: Path, clock: Clock) -> str:
    """Wait until the service says that it is ready; return its address."""
    while True:
        for line in log.read_text(encoding="utf-8").splitlines():
            if line.startswith("{") and line.endswith("}") and '"ready"' in line:
                event = json.loads(line)
                if event.get("event") == "ready":
                    return str(event["url"])
        if process.poll() is not None:
            said = log.read_text(encoding="utf-8")[-2_000:]
            raise WrongAnswer(f"the service ended with {process.returncode}: {said}")
        clock.left_s()
        time.sleep(0.02)


@contextmanager
def _probed(
    url: str, targets: np.ndarray[Any, np.dtype[np.int64]], settings: Settings, clock: Clock
) -> Iterator[dict[str, Any]]:
    """Probe the service while the context lasts; what came of it is there afterwards."""
    probes: dict[str, Any] = {}
    task = {"url": url, "loop": LOOP_NAME, "vertices": targets.tolist(), "seed": settings.seed}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.prober"],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        yield probes
        said, _ = process.communicate(timeout=min(clock.left_s(), 180.0))
        probes |= json.loads(said)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
