"""How soon after some changes is an exact answer there, beside recomputing it and beside differential-dataflow?

Nine tenths of the graph are loaded to the fixed point. Then changes, half removals of random live edges and half additions, go
into the idle loop in batches of 1, 100, 1,000 and 10,000. A batch is timed from before it is admitted until an exact query (a
branch of its own, converged at every vertex) for exactly the records up to it has answered; the next batch begins after that. This
is the protocol by which differential-dataflow was measured, so an answer stands beside an answer. Single changes that are made to
show, a short cut from the root and its removal, are timed as well. In the end all distances are compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import time

import numpy as np

from tornado.config import AUTO_DELAY_BOUND, DelayBound
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import Churn, EdgeList, exact_distances

from . import peers
from .harness import Clock, Report, Settings, WrongAnswer
from .measuring import baseline, churn_of, generated, load, require_exact, targets_of
from .system import System, SystemFactory

_DELAY_BOUND: DelayBound = AUTO_DELAY_BOUND
_TIMES_DIFFERENTIAL = 50
_CHANGE_MS, _CHANGE_MS_OF_SEVERAL = 0.5, 5.0  # others have to be told, and say that they are at rest
_TIMES_LOADING = 10
_TIMES_FASTER = 1.5  # two workers load
_JUDGED_SCALE = 20
_BATCHES = {1: 200, 100: 50, 1_000: 30, 10_000: 10}


def measure(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    report.data |= {"delay_bound": _DELAY_BOUND, "batches": {str(size): n for size, n in _BATCHES.items()}}
    plain, _ = baseline(report, churn_of(edges, settings).live(), root)
    compared = settings.scale in peers.DIFFERENTIAL_LATENCY_MS and not settings.smoke
    whole = edges if settings.scale == 20 else None
    slower = peers.slower_than_there(report, settings, whole) if compared else 0.0
    judged = settings.scale == _JUDGED_SCALE
    for workers in settings.workers:
        name = f"{workers} worker{'s' * (workers > 1)}"
        churn = churn_of(edges, settings)
        with start(source=root, workers=workers, delay_bound=_DELAY_BOUND) as system:
            load_s = load(system, churn.live(), clock)
            report.add(f"loading 90 % to the fixed point, {name}", load_s, "s")
            alone = judged and workers == 1
            change_ms = (_CHANGE_MS if workers == 1 else _CHANGE_MS_OF_SEVERAL) if judged else None
            report.add(
                f"  as a multiple of heap Dijkstra, loading 90 %, {name}",
                load_s / plain.heap_s, "x", at_most=_TIMES_LOADING if alone else None,
            )  # fmt: skip
            if workers == 2 and 1 in settings.workers:
                report.add(
                    "  loading on 1 worker over that on 2",
                    report.value("loading 90 % to the fixed point, 1 worker") / load_s,
                    "x",
                    at_least=_TIMES_FASTER if judged else None,
                )
            for size, count in _BATCHES.items():
                seconds = until_exact(system, churn, size, 5 if settings.smoke else count, settings, clock)
                changes = f"{size:,} change{'s' * (size > 1)} until exact, {name}"
                bound = change_ms if size == 1 else None
                p50 = report.spread(changes, seconds, p50_at_most_ms=bound)
                report.add(f"  heap Dijkstra over that, {changes}", plain.heap_s / p50, "x")
                report.add(f"  bucket queue over that, {changes}", plain.bucket_s / p50, "x")
                if compared and workers in {1, 2}:
                    there_ms = peers.DIFFERENTIAL_LATENCY_MS[settings.scale][size][workers - 1]
                    least = _TIMES_DIFFERENTIAL if judged and size == 1_000 and workers == 1 else None
                    peers.compare(
                        report, peers.DIFFERENTIAL, changes, there_ms, "ms", slower, p50 * 1e3, at_least=least
                    )
            count = 5 if settings.smoke else 100
            seconds = telling(system, churn.live(), root, count, settings, clock)
            report.spread(
                f"a change that shows until exact, {name}",
                seconds,
                p50_at_most_ms=change_ms,
            )
            ids = churn.live().ids()
            values, _ = system.ask(ids, clock.left_s())
            require_exact(f"after the stream, {name}", ids, values, exact_distances(churn.live(), root))
        if compared and workers in {1, 2}:
            there_s = peers.DIFFERENTIAL_LOAD[settings.scale][workers - 1]
            peers.compare(report, peers.DIFFERENTIAL, f"loading 90 %, {name}", there_s, "s", slower, load_s)


def until_exact(
    system: System, churn: Churn, size: int, count: int, settings: Settings, clock: Clock
) -> list[float]:
    """Time `count` batches into the idle loop, each until an exact query for ten vertices has it."""
    seconds: list[float] = []
    ids = targets_of(churn.live(), 10, seed=settings.seed)
    pending: list[EdgeBatch] = []
    while len(seconds) < count or pending:
        if not pending:
            batch = churn.next_batch(size)
            # One change is half of what the stream gives at least: a removal, and then an addition.
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


def telling(
    system: System, live: EdgeList, root: int, count: int, settings: Settings, clock: Clock
) -> list[float]:
    """Time changes that show: a short cut from the root to a vertex, and its removal, by turns."""
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
