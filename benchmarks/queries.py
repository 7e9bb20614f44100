"""How long does an exact answer over HTTP take while edges arrive, against recomputing it?

Nine tenths of the graph are loaded; edges arrive at half the rate that is asked of a worker (300,000 edges/s), and then at
half the rate that the same loop admits by itself (measured first, in the same run); the bound holds at both. A client in a
process of its own asks, over one kept connection on loopback, for the exact distances of ten vertices, again and again: the time
is that of the whole round trip, from before the request is written until the answer is parsed. Afterwards ten such clients at
once, while edges are admitted as fast as they go in, against the same without clients. Some answers are recomputed by the oracle
on exactly the prefix of the stream that they name.
"""  # noqa: D400  # a question

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tornado.config import AUTO_DELAY_BOUND, DelayBound
from tornado.testing import Churn, EdgeList, exact_distances

from .harness import CHECKOUT, Clock, Report, Settings, WrongAnswer
from .measuring import Baseline, baseline, churn_of, generated, load, require_exact, targets_of
from .system import LOOP_NAME, SOURCE_NAME, System, SystemFactory

_DELAY_BOUND: DelayBound = AUTO_DELAY_BOUND
_TIMES_HEAP = {1: 50, 2: 40}  # by workers
_EDGES_A_SECOND_A_WORKER = 300_000
# Below, the heap is done in a few milliseconds, and the round trip alone takes long beside that.
_JUDGED_FROM_SCALE = 20
_SLOWED_BY = 1 / 3
_BATCH = 1_000
_RECOMPUTED = 3


def measure(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    report.data["delay_bound"] = _DELAY_BOUND
    plain, _ = baseline(report, churn_of(edges, settings).live(), root)
    for workers in settings.workers:
        churn = churn_of(edges, settings)
        with start(source=root, workers=workers, delay_bound=_DELAY_BOUND) as system, system.serving() as url:
            _Measured(report, settings, clock, system, url, churn, plain, workers).run(edges, root)


class _Measured:
    """One system under queries."""

    def __init__(
        self,
        report: Report,
        settings: Settings,
        clock: Clock,
        system: System,
        url: str,
        churn: Churn,
        plain: Baseline,
        workers: int,
    ) -> None:
        self.report, self.settings, self.clock = report, settings, clock
        self.system, self.url, self.churn, self.plain = system, url, churn, plain
        self.workers, self.name = workers, f"{workers} worker{'s' * (workers > 1)}"
        self.feeding_s = min(settings.hold_s, 10.0)
        self.times_heap = _TIMES_HEAP.get(workers) if settings.scale >= _JUDGED_FROM_SCALE else None

    def run(self, edges: EdgeList, root: int) -> None:
        """Ask at both rates, then ten at once."""
        system, churn, clock = self.system, self.churn, self.clock
        load(system, churn.live(), clock)
        loaded = system.admitted
        alone = _admitted_a_second(system, churn, self.feeding_s)
        self.report.add(f"admission without queries, batches of 1,000, {self.name}", alone, "edges/s")
        half = min(alone, _EDGES_A_SECOND_A_WORKER * self.workers) / 2
        answers = self.one_by_one("half the rate that is asked for", half)
        answers += self.one_by_one("half of what it admits", alone / 2)
        answers += self.beside("ten at all times at half the rate that is asked for", half)
        for clients, pause_s, name in (
            (10, 0.5, "a burst of ten each half second"),
            (10, 0.0, "ten at all times"),
        ):
            answers += self.at_once(name, clients, pause_s)
        system.wait_idle(clock.left_s())
        _recompute(answers, edges, self.settings, root, loaded)
        ids = churn.live().ids()
        values, _ = system.ask(ids, clock.left_s())
        require_exact(f"after the stream, {self.name}", ids, values, exact_distances(churn.live(), root))

    def one_by_one(self, what: str, rate: float) -> list[dict[str, Any]]:
        """Ask again and again while so many edges a second arrive; return some of the answers."""
        self.system.wait_idle(self.clock.left_s())
        with _feeding(self.system, self.churn, rate) as fed:
            asked = self._ask(count=self.settings.queries, clients=1)
        report, seconds = self.report, asked["seconds"]
        report.add(f"{what}, {self.name}", rate, "edges/s")
        report.add(f"  edges admitted meanwhile, {what}, {self.name}", fed.rate(), "edges/s")
        p50 = report.spread(f"  exact query for ten vertices over HTTP, {what}, {self.name}", seconds)
        report.add(f"    queries, {what}, {self.name}", len(seconds), "")
        report.add(
            f"    heap Dijkstra takes so many times as long, {what}, {self.name}",
            self.plain.heap_s / p50,
            "x",
            at_least=self.times_heap,
        )
        report.add(
            f"    bucket queue takes so many times as long, {what}, {self.name}",
            self.plain.bucket_s / p50,
            "x",
        )
        return list(asked["answers"])

    def beside(self, what: str, rate: float) -> list[dict[str, Any]]:
        """Ask from ten clients while so many edges a second are to come in; return some of the answers."""
        self.system.wait_idle(self.clock.left_s())
        with _feeding(self.system, self.churn, rate) as fed:
            asked = self._ask(clients=10, duration_s=self.feeding_s)
        self.report.add(
            f"admission slowed by queries, {what}, {self.name}",
            1 - fed.rate() / rate,
            "of the rate",
            at_most=_SLOWED_BY,
        )
        self.report.spread(f"  exact query meanwhile, {what}, {self.name}", asked["seconds"])
        return list(asked["answers"])

    def at_once(self, what: str, clients: int, pause_s: float) -> list[dict[str, Any]]:
        """Ask from several clients while edges arrive as fast as they go in; return some of the answers."""
        # Without, with, without: what drifts meanwhile is in both.
        self.system.wait_idle(self.clock.left_s())
        before = _admitted_a_second(self.system, self.churn, self.feeding_s)
        with _feeding(self.system, self.churn, None) as fed:
            asked = self._ask(clients=clients, pause_s=pause_s, duration_s=self.feeding_s)
        after = _admitted_a_second(self.system, self.churn, self.feeding_s)
        slowed = 1 - fed.rate() / ((before + after) / 2)
        self.report.add(
            f"admission at full rate slowed by queries, {what}, {self.name}",
            slowed,
            "of the rate",
            at_most=_SLOWED_BY,
        )
        self.report.spread(f"  exact query meanwhile, {what}, {self.name}", asked["seconds"])
        self.report.add(
            f"  queries a second, {what}, {self.name}", len(asked["seconds"]) / self.feeding_s, "1/s"
        )
        return list(asked["answers"])

    def _ask(self, **how: Any) -> dict[str, Any]:
        return _ask(self.url, self.churn.live(), self.settings, self.clock, **how)


class _Fed:
    """How much a feeder has admitted in which time."""

    def __init__(self) -> None:
        self.records = 0
        self.seconds = 0.0
        self.error: Exception | None = None

    def rate(self) -> float:
        return self.records / self.seconds


@contextmanager
def _feeding(system: System, churn: Churn, rate: float | None) -> Iterator[_Fed]:
    """Admit batches from a thread, so many records a second or as fast as they go in, while the context lasts."""
    fed = _Fed()
    stop = threading.Event()

    def feed() -> None:
        start = time.perf_counter()
        try:
            while not stop.is_set():
                system.admit(churn.next_batch(_BATCH))
                fed.records += _BATCH
                fed.seconds = time.perf_counter() - start
                if rate is not None and (ahead_s := fed.records / rate - fed.seconds) > 0:
                    stop.wait(ahead_s)
                    fed.seconds = time.perf_counter() - start
        except Exception as error:  # noqa: BLE001  # raised in the thread that waits for this one
            fed.error = error

    thread = threading.Thread(target=feed, name="feeder", daemon=True)
    thread.start()
    try:
        yield fed
    finally:
        stop.set()
        thread.join()
    if fed.error is not None:
        raise fed.error


def _admitted_a_second(system: System, churn: Churn, seconds: float) -> float:
    with _feeding(system, churn, None) as fed:
        time.sleep(seconds)
    return fed.rate()


def _ask(url: str, live: EdgeList, settings: Settings, clock: Clock, **how: Any) -> dict[str, Any]:
    """Run the clients in a process of their own; return their latencies and some answers."""
    question = {"url": url, "loop": LOOP_NAME, "vertices": targets_of(live, 500, seed=settings.seed).tolist()}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.client"],
        input=json.dumps(question | {"seed": settings.seed, "limit_s": clock.left_s()} | how),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=clock.left_s(),
        check=False,
    )
    if done.returncode != 0:
        raise WrongAnswer(f"the client failed: {done.stderr.strip()[-2_000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _recompute(
    answers: list[dict[str, Any]], edges: EdgeList, settings: Settings, root: int, loaded: int
) -> None:
    """Replay the stream to the prefix that an answer names, and compare."""
    chosen = answers[:: max(1, len(answers) // _RECOMPUTED)][:_RECOMPUTED]
    replay = churn_of(edges, settings)
    reached = loaded
    for answer in sorted(chosen, key=lambda answer: answer["offsets"][SOURCE_NAME]):
        offset = answer["offsets"][SOURCE_NAME]
        while reached < offset:
            reached += len(replay.next_batch(_BATCH))
        if reached != offset:
            raise WrongAnswer(
                f"an answer names the prefix {offset}, which is inside a batch that ends at {reached}"
            )
        ids = np.array([entry["vertex"] for entry in answer["values"]], np.int64)
        values = [np.inf if entry["value"] is None else entry["value"] for entry in answer["values"]]
        require_exact(
            f"prefix {offset}", ids, np.array(values, np.float64), exact_distances(replay.live(), root)
        )
