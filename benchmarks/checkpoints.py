"""What do checkpoints cost a service at size, and does anybody outside notice one?

The real command, with its store on disk and two workers on one engine, twice: without checkpoints, and with one every ten seconds.
Nine tenths of the graph are pushed over HTTP as fast as they are taken, 100,000 edges a request, until the loop has all of
them and is idle: that is the loading time. Then changes, half removals, are pushed as fast as they are taken, so that checkpoints of
the whole graph fall into full admission. A process of its own asks meanwhile for `/healthz` every 20 ms and for the exact
distances of ten vertices every 250 ms. Health, queries and lost workers count over the whole of it. In the end some
distances are compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tornado.records.edge_batch import EdgeBatch
from tornado.testing import Churn, exact_distances

from .harness import CHECKOUT, Clock, Report, Settings, WrongAnswer
from .measuring import LOAD_BATCH, baseline, churn_of, generated, require_exact, targets_of
from .served import Connection, Service, distances_of
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
        Service(Path(folder), _arguments(folder, settings.engine, root, every_s), clock) as service,
        closing(Connection(service.url, clock)) as loop,
    ):
        # An empty loop is asked and fed once, so that nobody pays for a connection or for what is loaded lazily.
        loop.push(LOOP_NAME, EdgeBatch.of([root], [root], [1.0]))
        loop.wait_idle(LOOP_NAME, 1)
        with _probed(service.url, targets, settings, clock) as probes:
            began_s = time.perf_counter()
            for batch in live.batches(LOAD_BATCH):
                loop.push(LOOP_NAME, batch)
            loop.wait_idle(LOOP_NAME, 1 + len(live))
            loading_s = time.perf_counter() - began_s
            began_s = time.perf_counter()
            changes = 0
            while time.perf_counter() - began_s < held_s:
                changes += loop.push(LOOP_NAME, churn.next_batch(_CHANGES))
            loop.wait_idle(LOOP_NAME, 1 + len(live) + changes)
            changes_per_s = changes / (time.perf_counter() - began_s)
            stored = loop.metric("tornado_checkpoints_total")
            failed = loop.metric("tornado_checkpoint_failures_total")
            lost = loop.describe(LOOP_NAME)["restarts"]
        _compared(
            distances_of(loop.ask(LOOP_NAME, targets)), churn, root, targets, f"after the stream, {name}"
        )
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


def _compared(
    got: dict[int, float], churn: Churn, root: int, targets: np.ndarray[Any, np.dtype[np.int64]], what: str
) -> None:
    ids = np.array([vertex for vertex in targets.tolist() if vertex in got], np.int64)
    if len(ids) < len(targets) // 2:
        raise WrongAnswer(f"{what}: only {len(ids)} of {len(targets)} vertices are known")
    values = np.array([got[vertex] for vertex in ids.tolist()], np.float64)
    # What pushed the loop awake was a self-loop, which no distance depends on.
    require_exact(what, ids, values, exact_distances(churn.live(), root))


def _arguments(folder: str, engine: str, root: int, every_s: float | None) -> list[str]:
    every = "off" if every_s is None else f"{every_s * 1e3:.0f}ms"
    return [
        *["sssp", "--source", str(root), "--workers", str(_WORKERS), "--engine", engine],
        *["--store", f"lmdb://{folder}/store", "--checkpoint-every", every],
    ]


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
