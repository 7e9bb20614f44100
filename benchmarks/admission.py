"""How many edges a second does a converged main loop take?

Nine tenths of the graph are loaded to the fixed point; then batches, half removals of random live edges and half additions,
as fast as admission lets them in, held for some time. A rate counts records over the time until the loop is idle again, so
what piled up is paid for; and the backlog must not grow while it is held. Nobody asks meanwhile: how soon an answer shows a change
is measured in `changes.py`. In the end all distances are compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import time

import numpy as np

from tornado.testing import Churn, exact_distances

from .harness import Clock, Report, Settings
from .measuring import baseline, churn_of, generated, load, require_exact
from .system import System, SystemFactory

_EDGES_A_SECOND_A_WORKER = 300_000
_DELAY_BOUND = 64
_BOUND_SCALE = 20
_HELD_BATCHES = (1_000, 10_000, 100_000)
_SAMPLE_S = 0.25


def measure(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    report.data["delay_bound"] = _DELAY_BOUND
    judged = settings.scale == _BOUND_SCALE
    plain, _ = baseline(report, churn_of(edges, settings).live(), root)
    for workers in settings.workers:
        name = f"{workers} worker{'s' * (workers > 1)}"
        churn = churn_of(edges, settings)
        with start(source=root, workers=workers, delay_bound=_DELAY_BOUND) as system:
            report.add(f"loading 90 % to the fixed point, {name}", load(system, churn.live(), clock), "s")
            for size in _HELD_BATCHES:
                # The first size is the one with a target; the larger ones are for comparison.
                hold_s = settings.hold_s if size == _HELD_BATCHES[0] else min(settings.hold_s, 15.0)
                rate = held(report, f"batches of {size:,}, {name}", system, churn, size, hold_s, clock)
                report.add(
                    f"  changes in the time of one heap Dijkstra, batches of {size:,}, {name}",
                    rate * plain.heap_s,
                    "",
                )
                if size == _HELD_BATCHES[0] and judged:
                    report.add(
                        f"  edges/s a worker, batches of {size:,}, {name}",
                        rate / workers,
                        "edges/s",
                        at_least=_EDGES_A_SECOND_A_WORKER,
                    )
            ids = churn.live().ids()
            values, _ = system.ask(ids, clock.left_s())
            require_exact(f"after the stream, {name}", ids, values, exact_distances(churn.live(), root))


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


def _slope(samples: list[tuple[float, int]]) -> float:
    """Return the least-squares growth a second."""
    if len(samples) < 2:
        return 0.0
    seconds, backlog = np.array(samples, np.float64).T
    return float(np.polyfit(seconds - seconds.mean(), backlog, 1)[0])
