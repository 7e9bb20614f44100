"""What do workers cost that are processes, or tasks of Spark, instead of threads?

Two workers each: the graph is admitted, asked for its shortest paths from nothing with the default delay bound and
synchronously, and asked again when it is converged. All distances are compared with those of Dijkstra's algorithm.
"""  # noqa: D400  # a question

from __future__ import annotations

import time
from functools import partial

import numpy as np

from .harness import Clock, Report, Settings
from .measuring import baseline, generated, load, require_exact
from .system import LiveSystem

_NOBODY = -1
_ENGINES = ("threads", "processes", "spark")
_TIMES = {"threads": None, "processes": None, "spark": 1.5}


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    _, exact = baseline(report, edges, root)
    repeats = 1 if settings.smoke else 3
    threads: dict[int, float] = {}
    for engine in _ENGINES:
        for bound in (64, 1):
            name = f"{engine}, B={bound}"
            start = partial(LiveSystem, engine=engine)
            with start(source=_NOBODY, workers=2, delay_bound=bound) as system:
                began = time.perf_counter()
                load(system, edges, clock)
                report.add(f"admitted, {name}", len(edges) / (time.perf_counter() - began), "edges/s")
                seconds = []
                for _ in range(repeats):
                    ids, values, elapsed_s = system.from_scratch(root, clock.left_s())
                    require_exact(name, ids, values, exact)
                    seconds.append(elapsed_s)
                threads.setdefault(bound, min(seconds))
                report.add(f"from scratch, {name}", min(seconds), "s")
                report.add(
                    f"  as a multiple of threads, {name}",
                    min(seconds) / threads[bound],
                    "x",
                    at_most=_TIMES[engine],
                )
                waits = []
                for _ in range(10 * repeats):
                    began = time.perf_counter()
                    system.ask(np.array([root]), clock.left_s())
                    waits.append(time.perf_counter() - began)
                report.add(f"  asked when converged (median), {name}", 1000 * float(np.median(waits)), "ms")
