"""Does throughput come back by itself where the map of vertices to workers is skewed on purpose?

Two workers, in processes, keep shortest paths up to date. Nine tenths of a graph of R-MAT are loaded; then changes, half removals, are
admitted as fast as they are taken, first by the even map, then with nearly all buckets on one worker, until these have moved by
themselves, and behind that. The last answer is compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import time

from tornado.testing import Churn, exact_distances

from .harness import Clock, Report, Settings
from .measuring import LOAD_BATCH, churn_of, generated, require_exact, targets_of
from .system import LiveSystem

_WORKERS = 2
_ENGINE = "processes"
_CHANGES = 50_000
_HELD_S = 10.0
_MOVED_WITHIN_S = 60.0
_SHARE = 0.8
_LITTLE = 0.02  # of the buckets: what is left to the second worker
_JUDGED_FROM_SCALE = 18


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    churn = churn_of(edges, settings)
    held_s = min(settings.hold_s, _HELD_S)
    report.data |= {
        "workers": _WORKERS,
        "engine": _ENGINE,
        "share_of_the_second_worker": _LITTLE,
        "held_s": held_s,
    }
    with LiveSystem(source=root, workers=_WORKERS, delay_bound=64, engine=_ENGINE) as system:
        for batch in churn.live().batches(LOAD_BATCH):
            system.admit(batch)
        system.wait_idle(clock.left_s())
        even = _rate(system, churn, held_s, clock)
        report.add("changes a second, even map", even, "edges/s")
        system.skew(_LITTLE)
        system.wait_idle(clock.left_s())
        report.add("changes a second, skewed map", _rate(system, churn, held_s / 2, clock), "edges/s")
        with system.balanced():
            began_s, before = time.perf_counter(), system.load().lost
            while system.load().lost == before and time.perf_counter() - began_s < _MOVED_WITHIN_S:
                system.admit(churn.next_batch(_CHANGES))
                clock.left_s()
            report.add("  until buckets had moved by themselves", time.perf_counter() - began_s, "s")
            system.wait_idle(clock.left_s())
            again = _rate(system, churn, held_s, clock)
        report.add("changes a second, behind that", again, "edges/s")
        is_judged = settings.scale >= _JUDGED_FROM_SCALE
        report.add(
            "  as a share of those by the even map", again / even, "x", at_least=_SHARE if is_judged else None
        )
        live = churn.live()
        ids = targets_of(live, 500, seed=settings.seed)
        values, _ = system.ask(ids, clock.left_s())
        require_exact("behind the move", ids, values, exact_distances(live, root))


def _rate(system: LiveSystem, churn: Churn, held_s: float, clock: Clock) -> float:
    """Admit changes for so long; return how many a second were taken in, to the fixed point."""
    began_s, changes = time.perf_counter(), 0
    while time.perf_counter() - began_s < held_s:
        system.admit(churn.next_batch(_CHANGES))
        changes += _CHANGES
    system.wait_idle(clock.left_s())
    return changes / (time.perf_counter() - began_s)
