"""What does a steady stream on a large graph pay for its checkpoints, and what do they keep on the disk?

Two services of the real command, each with a store on disk (LMDB, whose every write is synced: `fsync` is on) and two workers on
one engine, one without checkpoints and one with `--checkpoint-every 1s`. Each has nine tenths of the graph. Then changes, half
removals of random live edges and half additions, so that the graph keeps its size, are pushed over HTTP as fast as they are taken:
to the one and to the other by turns, so that whatever else the machine does concerns both. A turn is over when the loop has all
records and is idle and the snapshot that is being written, if any, is written. The base is what the pages of the newest snapshot
take; the disk is the file of the store, looked at all along.
"""  # noqa: D400  # a question

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from tornado.storage.lmdb import DATA_FILE_NAME
from tornado.storage.lmdb_store import LmdbStore
from tornado.testing import Churn, EdgeList

from .harness import Clock, Report, Settings
from .measuring import LOAD_BATCH, baseline, churn_of, generated, require_answers, targets_of
from .served import Connection, Service, distances_of
from .system import LOOP_NAME

_WORKERS = 2
_EVERY_S = 1.0
_PAIRS = 2
_CHANGES = 10_000  # of a request
_TURN_CHANGES = 10_000_000
_SMOKE_TURN_CHANGES = 20_000
_SLOWER = 1.1
_DISK = 2.5
_JUDGED_FROM_SCALE = 20


@dataclass(slots=True)
class _Side:
    """One of the two services, and what was seen of it."""

    name: str
    loop: Connection
    churn: Churn
    store: Path
    every_s: float | None
    admitted: int = 0
    seconds: list[float] = field(default_factory=list)
    disk_bytes: int = 0
    durations_s: set[float] = field(default_factory=set)
    loaded_with_s: set[float] = field(default_factory=set)


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    every_s = 0.2 if settings.smoke else _EVERY_S
    turn_changes = _SMOKE_TURN_CHANGES if settings.smoke else _TURN_CHANGES
    report.data |= {
        "workers": _WORKERS,
        "engine": settings.engine,
        "delay_bound": 64,
        "store": "lmdb, fsync on",
        "checkpoint_every_s": every_s,
        "changes_of_a_turn": turn_changes,
        "turns_each": _PAIRS,
    }
    baseline(report, churn_of(edges, settings).live(), root, repeats=1)
    with tempfile.TemporaryDirectory(prefix="tornado-bases-") as folder:
        with ExitStack() as services:
            beside = _measured(report, edges, root, Path(folder), services, clock)
        _keep_sizes(report, beside)  # the service is gone, and nobody else has its store


def _measured(
    report: Report, edges: EdgeList, root: int, folder: Path, services: ExitStack, clock: Clock
) -> _Side:
    """Change both services by turns and report what was seen of them; return the one with checkpoints."""
    settings, turn_changes = report.settings, report.data["changes_of_a_turn"]
    sides = []
    for name, every_s in (("without", None), ("with checkpoints", report.data["checkpoint_every_s"])):
        own = folder / name.split()[0]
        own.mkdir()
        arguments = [
            *["sssp", "--source", str(root), "--workers", str(_WORKERS), "--engine", settings.engine],
            *["--store", f"lmdb://{own}/store"],
            *["--checkpoint-every", "off" if every_s is None else f"{every_s * 1e3:.0f}ms"],
        ]
        service = services.enter_context(Service(own, arguments, clock))
        # A connection that nobody uses for some seconds is closed by the service, so each use of it begins with another one.
        loop = services.enter_context(closing(Connection(service.url, clock)))
        sides.append(_Side(name, loop, churn_of(edges, settings), own / "store", every_s))
    for side in sides:
        _load(side)
    for turn in range(_PAIRS):
        for side in sides if turn % 2 == 0 else reversed(sides):
            side.seconds.append(_turn(side, turn_changes, clock))
    without, beside = sides
    for side in sides:
        rates = [turn_changes / seconds for seconds in side.seconds]
        rate = len(rates) * turn_changes / sum(side.seconds)
        report.add(f"changes at full admission, {side.name}", rate, "edges/s", of=rates)
    report.add(
        "time with checkpoints over that without",
        sum(beside.seconds) / sum(without.seconds),
        "x",
        at_most=_SLOWER if settings.scale >= _JUDGED_FROM_SCALE else None,
        of=[one / other for one, other in zip(beside.seconds, without.seconds, strict=True)],
    )
    for side in sides:
        side.loop.close()
        durations_s = side.durations_s - side.loaded_with_s
        report.add(f"bases written meanwhile, {side.name}", len(durations_s), "")
        if durations_s:
            report.add(f"  the longest of them took, {side.name}", max(durations_s), "s")
        report.add(
            f"sets of workers lost and replaced, {side.name}", side.loop.describe(LOOP_NAME)["restarts"], ""
        )
        _compare(side, root, settings)
    beside.loop.close()
    report.add("checkpoints failed", beside.loop.metric("tornado_checkpoint_failures_total"), "", at_most=0)
    return beside


def _keep_sizes(report: Report, side: _Side) -> None:
    """Report what the base takes and what the store took."""
    with LmdbStore(side.store) as store:
        newest = store.versions(LOOP_NAME)[-1]
        base_bytes = sum(len(page) for _, page in store.scan(LOOP_NAME, newest))
    judged = report.settings.scale >= _JUDGED_FROM_SCALE
    report.add("base", base_bytes / 2**20, "MiB")
    report.add("disk, at most", side.disk_bytes / 2**20, "MiB")
    report.add(
        "disk over the base, at most", side.disk_bytes / base_bytes, "x", at_most=_DISK if judged else None
    )


def _compare(side: _Side, root: int, settings: Settings) -> None:
    live = side.churn.live()
    got = distances_of(side.loop.ask(LOOP_NAME, targets_of(live, 500, seed=settings.seed)))
    require_answers(got, live, root, f"after the stream, {side.name}")


def _load(side: _Side) -> None:
    side.loop.close()
    for batch in side.churn.live().batches(LOAD_BATCH):
        side.admitted += side.loop.push(LOOP_NAME, batch)
    side.loop.wait_idle(LOOP_NAME, side.admitted)
    _await_written(side)
    _look(side)
    side.loaded_with_s = set(side.durations_s)


def _turn(side: _Side, changes: int, clock: Clock) -> float:
    """Push so many changes; return the seconds until the loop is idle and nothing is being written."""
    side.loop.close()
    began_s = time.perf_counter()
    for number in range(changes // _CHANGES):
        side.admitted += side.loop.push(LOOP_NAME, side.churn.next_batch(_CHANGES))
        if number % 50 == 0:
            _look(side)
            clock.left_s()
    side.loop.wait_idle(LOOP_NAME, side.admitted)
    return time.perf_counter() - began_s + _await_written(side)


def _await_written(side: _Side) -> float:
    """Wait until the snapshot that is being written, if any, is written; return how long that took beyond the pause between two looks."""
    if side.every_s is None:
        return 0.0
    began_s = time.perf_counter()
    before = side.loop.metric("tornado_checkpoints_total")
    while side.loop.metric("tornado_checkpoints_total") == before:
        _look(side)
        time.sleep(0.02)
    _look(side)
    return max(0.0, time.perf_counter() - began_s - side.every_s)


def _look(side: _Side) -> None:
    """Note what the store takes, and how long the newest snapshot took."""
    side.disk_bytes = max(side.disk_bytes, (side.store / DATA_FILE_NAME).stat().st_blocks * 512)
    duration_s = side.loop.metric("tornado_checkpoint_duration_seconds")
    if duration_s > 0:  # it is no number where none was written
        side.durations_s.add(duration_s)
