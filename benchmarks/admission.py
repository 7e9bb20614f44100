"""How many edges a second does a converged main loop take, and how soon does an exact query show one?

Nine tenths of the graph are loaded to the fixed point; then batches, half removals of random live edges and half additions,
as fast as admission lets them in, held for a minute. A rate counts records over the time until the loop is idle again, so
what piled up is paid for; and the backlog must not grow while it is held. Then, into the idle loop, single updates and
batches of several sizes, each timed until an exact query (a branch of its own) shows it. In the end all distances are
compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import time

import numpy as np

from tornado.ingest.records import EdgeBatch
from tornado.testing import Churn, EdgeList, exact_distances

from . import peers
from .harness import Clock, Report, Settings, WrongAnswer
from .measuring import baseline, churn_of, generated, load, require_exact, targets_of
from .system import System, SystemFactory

_EDGES_A_SECOND_A_WORKER = 300_000
_TIMES_DIFFERENTIAL = 50
_UPDATE_MS = 5.0
_BOUND_SCALE = 20
_HELD_BATCHES = (1_000, 10_000, 100_000)
_LATENCY_BATCHES = {1: 200, 100: 50, 1_000: 30, 10_000: 10}
_SAMPLE_S = 0.25


def measure(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    judged = settings.scale == _BOUND_SCALE
    plain, _ = baseline(report, edges[: int(len(edges) * 0.9)], root)
    for workers in settings.workers:
        name = f"{workers} worker{'s' * (workers > 1)}"
        churn = churn_of(edges, settings)
        with start(source=root, workers=workers, delay_bound=64) as system:
            report.add(f"loading 90 % to the fixed point, {name}", load(system, churn.live(), clock), "s")
            for size in _HELD_BATCHES:
                # The first size is the one with a target; the larger ones are for comparison.
                hold_s = settings.hold_s if size == _HELD_BATCHES[0] else min(settings.hold_s, 15.0)
                rate = held(report, f"batches of {size:,}, {name}", system, churn, size, hold_s, clock)
                if size == _HELD_BATCHES[0] and judged:
                    report.add(
                        f"  edges/s a worker, batches of {size:,}, {name}",
                        rate / workers,
                        "edges/s",
                        at_least=_EDGES_A_SECOND_A_WORKER,
                    )
                if workers == 1 and judged and size in peers.DIFFERENTIAL_RATE:
                    report.add(
                        f"  times differential-dataflow as published, batches of {size:,}",
                        rate / peers.DIFFERENTIAL_RATE[size],
                        "x",
                        at_least=_TIMES_DIFFERENTIAL if size == _HELD_BATCHES[0] else None,
                    )
            for size, count in _LATENCY_BATCHES.items():
                seconds = latencies(system, churn, size, 5 if settings.smoke else count, settings, clock)
                bound = _UPDATE_MS if size == 1 else None
                p50 = report.spread(
                    f"{size:,} updates until an exact query, {name}", seconds, p50_at_most_ms=bound
                )
                report.add(f"  heap Dijkstra over that, {size:,} updates, {name}", plain.heap_s / p50, "x")
                report.add(f"  bucket queue over that, {size:,} updates, {name}", plain.bucket_s / p50, "x")
            seconds = telling_updates(
                system, churn.live(), root, 5 if settings.smoke else 100, settings, clock
            )
            report.spread(f"an update that changes the answer, {name}", seconds, p50_at_most_ms=_UPDATE_MS)
            ids = churn.live().ids()
            values, _ = system.ask(ids, clock.left_s())
            require_exact(f"after the stream, {name}", ids, values, exact_distances(churn.live(), root))
    if settings.scale in peers.DIFFERENTIAL_LATENCY_MS:
        report.published[f"{peers.SOURCE}: p50 ms by batch, 1 and 2 workers"] = peers.DIFFERENTIAL_LATENCY_MS[
            settings.scale
        ]
        report.published[f"{peers.SOURCE}: load s, 1 and 2 workers, peak MB"] = peers.DIFFERENTIAL_LOAD[
            settings.scale
        ]


def held(
    report: Report, name: str, system: System, churn: Churn, size: int, hold_s: float, clock: Clock
) -> float:
    """Admit batches for `hold_s`; report the rate and what happened to the backlog; return records a second."""
    waits: list[float] = []
    sampled: list[tuple[float, int]] = []
    records = 0
    start = time.perf_counter()
    now = 0.0
    while now < hold_s:
        batch = churn.next_batch(size)
        before = time.perf_counter()
        system.admit(batch)
        after = time.perf_counter()
        waits.append(after - before)
        records += len(batch)
        now = after - start
        if not sampled or now - sampled[-1][0] >= min(_SAMPLE_S, hold_s / 20):
            sampled.append((now, system.load().backlog_records))
            clock.left_s()
    stopped = time.perf_counter()
    system.wait_idle(clock.left_s())
    drained_s = time.perf_counter() - stopped
    rate = records / (now + drained_s)
    report.add(f"admission, {name}", rate, "edges/s")
    report.add(f"  held for, {name}", now, "s")
    report.add(f"  greatest backlog, {name}", max(backlog for _, backlog in sampled), "records")
    # A backlog that fills the allowed lag at the beginning and stays there is not growing; the first third is left out.
    growth = _slope([sample for sample in sampled if sample[0] > hold_s / 3])
    report.add(
        f"  growth of the backlog, share of the rate, {name}", max(growth, 0.0) / rate, "", at_most=0.01
    )
    report.add(f"  idle again after, {name}", drained_s, "s")
    report.spread(f"  one admission, {name}", waits)
    return rate


def latencies(
    system: System, churn: Churn, size: int, count: int, settings: Settings, clock: Clock
) -> list[float]:
    """Time `count` batches into the idle loop, each until an exact query for ten vertices has it."""
    seconds: list[float] = []
    ids = targets_of(churn.live(), 10, seed=settings.seed)
    pending: list[EdgeBatch] = []
    while len(seconds) < count or pending:
        if not pending:
            batch = churn.next_batch(size)
            # One update is half of what the stream gives at least: a removal, and then an addition.
            pending = [batch.slice(0, 1), batch.slice(1, 2)] if size == 1 else [batch]
        batch = pending.pop(0)
        system.wait_idle(clock.left_s())
        start = time.perf_counter()
        system.admit(batch)
        _, exact_for = system.ask(ids, clock.left_s())
        seconds.append(time.perf_counter() - start)
        if exact_for < system.admitted:
            raise WrongAnswer(f"a query after {system.admitted} records was exact for {exact_for} only")
    system.wait_idle(clock.left_s())
    return seconds


def telling_updates(
    system: System, live: EdgeList, root: int, count: int, settings: Settings, clock: Clock
) -> list[float]:
    """Time updates that show: a short cut from the root to a vertex, and its removal, by turns."""
    seconds: list[float] = []
    for vertex in targets_of(live, count, seed=settings.seed + 1):
        ids = np.array([vertex])
        before, _ = system.ask(ids, clock.left_s())
        # Every other weight is at least 1, so nothing but the short cut can give this distance.
        for op, weight, expected in (("+", 0.5, 0.5 if vertex != root else 0.0), ("-", 0.5, before[0])):
            update = EdgeBatch.of([root], [int(vertex)], [weight], op)
            system.wait_idle(clock.left_s())
            start = time.perf_counter()
            system.admit(update)
            values, _ = system.ask(ids, clock.left_s())
            seconds.append(time.perf_counter() - start)
            if values[0] != expected:
                raise WrongAnswer(f"after {op} {root} → {vertex}: {values[0]!r}, but exact is {expected!r}")
    system.wait_idle(clock.left_s())
    return seconds


def _slope(samples: list[tuple[float, int]]) -> float:
    """Return the least-squares growth a second."""
    if len(samples) < 2:
        return 0.0
    seconds, backlog = np.array(samples, np.float64).T
    return float(np.polyfit(seconds - seconds.mean(), backlog, 1)[0])
