"""How long does an exact answer over HTTP take while edges arrive, against recomputing it?

Nine tenths of the graph are loaded; edges arrive at half the rate that the same loop admits (measured first, in the same
run). A client in a process of its own asks, over one kept connection on loopback, for the exact distances of ten vertices,
again and again: the time is that of the whole round trip, from before the request is written until the answer is parsed.
Afterwards ten such clients at once, while edges are admitted as fast as they go in, against the same without clients. Some
answers are recomputed by the oracle on exactly the prefix of the stream that they name.
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

from tornado.testing import Churn, EdgeList, exact_distances

from .harness import CHECKOUT, Clock, Report, Settings, WrongAnswer
from .measuring import baseline, churn_of, generated, load, require_exact, targets_of
from .system import LOOP_NAME, SOURCE_NAME, System, SystemFactory

_TIMES_HEAP = 20
# Below, the heap is done in a few milliseconds and the round trip alone takes longer than a twentieth of that.
_JUDGED_FROM_SCALE = 20
_SLOWED_BY = 1 / 3
_BATCH = 1_000
_RECOMPUTED = 3


def measure(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    churn = churn_of(edges, settings)
    plain, _ = baseline(report, churn.live(), root)
    # The default: as many workers as cores, which clients and server share.
    workers = max(settings.workers)
    feeding_s = min(settings.hold_s, 10.0)
    with start(source=root, workers=workers, delay_bound=64) as system, system.serving() as url:
        load(system, churn.live(), clock)
        loaded = system.admitted
        alone = _admitted_a_second(system, churn, feeding_s)
        system.wait_idle(clock.left_s())
        report.add("admission without queries, batches of 1,000", alone, "edges/s")

        with _feeding(system, churn, alone / 2) as fed:
            asked = _ask(url, churn.live(), settings, clock, count=settings.queries, clients=1)
        report.add("edges admitted meanwhile", fed.rate(), "edges/s")
        seconds = asked["seconds"]
        p50 = report.spread("exact query for ten vertices over HTTP", seconds)
        report.add("  queries", len(seconds), "")
        report.add(
            "  heap Dijkstra takes so many times as long",
            plain.heap_s / p50,
            "x",
            at_least=_TIMES_HEAP if settings.scale >= _JUDGED_FROM_SCALE else None,
        )
        report.add("  bucket queue takes so many times as long", plain.bucket_s / p50, "x")
        _recompute(asked["answers"], edges, settings, root, loaded)

        for clients, pause_s, name in (
            (10, 0.5, "a burst of ten each half second"),
            (10, 0.0, "ten at all times"),
        ):
            # Without, with, without: what drifts meanwhile is in both.
            system.wait_idle(clock.left_s())
            before = _admitted_a_second(system, churn, feeding_s)
            with _feeding(system, churn, None) as fed:
                asked = _ask(
                    url, churn.live(), settings, clock, clients=clients, pause_s=pause_s, duration_s=feeding_s
                )
            after = _admitted_a_second(system, churn, feeding_s)
            slowed = 1 - fed.rate() / ((before + after) / 2)
            report.add(f"admission slowed by queries, {name}", slowed, "of the rate", at_most=_SLOWED_BY)
            report.spread(f"  exact query meanwhile, {name}", asked["seconds"])
            report.add(f"  queries a second, {name}", len(asked["seconds"]) / feeding_s, "1/s")
        system.wait_idle(clock.left_s())
        _recompute(asked["answers"], edges, settings, root, loaded)
        ids = churn.live().ids()
        values, _ = system.ask(ids, clock.left_s())
        require_exact("after the stream", ids, values, exact_distances(churn.live(), root))


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
