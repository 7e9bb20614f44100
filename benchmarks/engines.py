"""What do workers cost that are processes, or tasks of Spark, instead of threads?

Two workers each. First branches that begin at nothing: a main loop holds the whole graph but searches from a vertex that no edge
names, and each branch computes all distances from the root, with the default delay bound and synchronously. Then a loop that has
something to compute: it searches from the root while nine tenths of the graph come in, to the fixed point; changes, half
removals, are admitted as fast as they go in; and into the idle loop go batches of 1,000, each until an exact query has it.
All distances are compared with those of Dijkstra's algorithm.
"""  # noqa: D400  # a question

from __future__ import annotations

import time
from functools import partial

import numpy as np

from tornado.testing import Distances, EdgeList, exact_distances

from .admission import held
from .changes import until_exact
from .harness import Clock, Report, Settings
from .measuring import baseline, churn_of, generated, load, require_exact
from .system import LiveSystem, System

_NOBODY = -1
_WORKERS = 2
_DELAY_BOUNDS = (64, 1)
_ENGINES = ("threads", "processes", "spark")
_TIMES = {"threads": None, "processes": None, "spark": 1.5}
_HOLD_S = 10.0
_BATCH = 1_000


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    report.data |= {"delay_bound": list(_DELAY_BOUNDS), "workers": _WORKERS}
    _, exact = baseline(report, edges, root)
    threads: dict[int, float] = {}
    for engine in _ENGINES:
        start = partial(LiveSystem, engine=engine, workers=_WORKERS)
        lost = 0
        for bound in _DELAY_BOUNDS:
            with start(source=_NOBODY, delay_bound=bound) as system:
                load(system, edges, clock)
                best = _from_scratch(report, f"{engine}, B={bound}", system, root, exact, clock)
                lost += system.load().lost
            threads.setdefault(bound, best)
            report.add(
                f"  as a multiple of threads, {engine}, B={bound}",
                best / threads[bound],
                "x",
                at_most=_TIMES[engine],
            )
        with start(source=root, delay_bound=_DELAY_BOUNDS[0]) as system:
            _computing(report, engine, system, edges, root, clock)
            lost += system.load().lost
        report.add(f"sets of workers lost and replaced, {engine}", lost, "", at_most=0)


def _from_scratch(
    report: Report, name: str, system: System, root: int, exact: Distances, clock: Clock
) -> float:
    """Report the best time of a branch from nothing; return it."""
    seconds = []
    for _ in range(1 if report.settings.smoke else 3):
        ids, values, elapsed_s = system.from_scratch(root, clock.left_s())
        require_exact(name, ids, values, exact)
        seconds.append(elapsed_s)
    report.add(f"from scratch, {name}", min(seconds), "s", of=seconds)
    return min(seconds)


def _computing(report: Report, engine: str, system: System, edges: EdgeList, root: int, clock: Clock) -> None:
    """Report what a loop does that has something to compute."""
    settings = report.settings
    churn = churn_of(edges, settings)
    live = churn.live()
    loading_s = load(system, live, clock)
    report.add(f"loading to the fixed point, {engine}", loading_s, "s")
    report.add(f"  edges a second, loading, {engine}", len(live) / loading_s, "edges/s")
    waits = []
    for _ in range(5 if settings.smoke else 30):
        began = time.perf_counter()
        system.ask(np.array([root]), clock.left_s())
        waits.append(time.perf_counter() - began)
    report.spread(f"asked when converged, {engine}", waits)
    held(
        report,
        f"batches of {_BATCH:,}, {engine}",
        system,
        churn,
        _BATCH,
        min(settings.hold_s, _HOLD_S),
        clock,
    )
    seconds = until_exact(system, churn, _BATCH, 3 if settings.smoke else 20, settings, clock)
    report.spread(f"{_BATCH:,} changes until exact, {engine}", seconds)
    ids = churn.live().ids()
    values, _ = system.ask(ids, clock.left_s())
    require_exact(f"after the stream, {engine}", ids, values, exact_distances(churn.live(), root))
