"""Table 2 and Figure 8a of the Tornado paper, by our reading: what the delay bound does to a loop, and how a loop converges over time.

Two workers, as among one there is nobody to be ahead of. *Table 2*: a main loop takes the graph in to its fixed point, and a branch
computes all values from nothing. Each has its seconds, the greatest iteration that it came to, its updates (commits of vertices), and how
many of them had to PREPARE. *Figure 8a*: the same branch is stopped after a tenth of that time, two tenths and so on, each time a
new one, and the values that it has when it is over are compared with the exact ones. Of three branches the best one counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tornado.certificate import Certificate

from .figure_programs import Case, Values
from .harness import Clock, Report, Settings
from .measuring import LOAD_BATCH
from .system import LiveSystem

DELAY_BOUNDS = (1, 64, 65_536, None)
WORKERS = 2
_REPEATS = 3
_POINTS = 10


@dataclass(frozen=True, slots=True)
class _Run:
    """What a branch did until it was over, and the values that it had then."""

    seconds: float
    iterations: int
    updates: int
    prepares: int
    certificate: Certificate | None
    values: Values


def bound_name(bound: int | None) -> str:
    """Return a delay bound as names of figures have it."""
    return f"B={'unbounded' if bound is None else bound}"


def measure(report: Report, settings: Settings, clock: Clock, case: Case) -> None:
    """Measure one program with every delay bound."""
    truth = case.truth(case.edges)
    for bound in DELAY_BOUNDS:
        name = f"{case.name}, {bound_name(bound)}"
        _taking_in(report, clock, case, bound, name)
        _from_nothing(report, settings, clock, case, bound, name, truth)


def _taking_in(report: Report, clock: Clock, case: Case, bound: int | None, name: str) -> None:
    with LiveSystem(source=0, workers=WORKERS, delay_bound=bound, programs=[case.live()]) as system:
        start = time.perf_counter()
        for batch in case.edges.batches(LOAD_BATCH):
            system.admit(batch)
            clock.left_s()
        system.wait_idle(clock.left_s())
        report.add(f"main loop takes the graph in, {name}", time.perf_counter() - start, "s")
        statistics = system.loops[0].statistics()
    report.add(f"  iterations, main loop, {name}", statistics.iteration, "")
    report.add(f"  updates, main loop, {name}", statistics.updates, "")
    report.add(f"  prepares, main loop, {name}", statistics.prepares, "")


def _from_nothing(
    report: Report, settings: Settings, clock: Clock, case: Case, bound: int | None, name: str, truth: Values
) -> None:
    with LiveSystem(source=0, workers=WORKERS, delay_bound=bound, programs=[case.cold()]) as system:
        for batch in case.edges.batches(LOAD_BATCH):
            system.admit(batch)
            clock.left_s()
        system.wait_idle(clock.left_s())
        _branch(system, clock, case)  # the next ones find its columns
        runs = [_branch(system, clock, case) for _ in range(1 if settings.smoke else _REPEATS)]
        for run in runs:
            case.require_right(f"from nothing, {name}", run.certificate, run.values, truth)
        best = min(runs, key=lambda run: run.seconds)
        points = 3 if settings.smoke else _POINTS
        stopped = []
        for point in range(1, points):
            several = [_branch(system, clock, case, stop_after_s=best.seconds * point / points) for _ in runs]
            # What else ran on the machine holds a branch up, and never brings it on.
            stopped.append(min(several, key=lambda run: case.error_of(run.values, truth)))
    report.add(f"branch from nothing, {name}", best.seconds, "s", of=[run.seconds for run in runs])
    report.add(f"  iterations, branch, {name}", best.iterations, "")
    report.add(f"  updates, branch, {name}", best.updates, "")
    report.add(f"  prepares, branch, {name}", best.prepares, "")
    shown = sorted([*stopped, best], key=lambda run: run.seconds)
    report.add_series(
        f"figure 8a, {name}",
        seconds=[run.seconds for run in shown],
        error=[case.error_of(run.values, truth) for run in shown],
    )


def _branch(system: LiveSystem, clock: Clock, case: Case, *, stop_after_s: float | None = None) -> _Run:
    start = time.perf_counter()
    with system.forked(
        system.loops[0], clock.left_s(), parameters=case.cold_parameters, stop_after_s=stop_after_s
    ) as branch:
        seconds = time.perf_counter() - start
        progress = branch.progress()
        return _Run(
            seconds,
            progress.iteration - branch.snapshot.iteration,
            progress.updates,
            progress.prepares,
            branch.certificate,
            case.by_id(*branch.values().arrays()),
        )
