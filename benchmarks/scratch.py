"""How much slower than plain recomputation is a branch that starts from nothing?

A main loop holds the whole graph but searches from a vertex that no edge names, so a branch with the root as its source has
nothing to start from: it is the loop, the protocol and the delay bound, and no incremental advantage. Synchronous (B=1), the
default (64) and unbounded, against heap Dijkstra and the bucket queue on one thread over a built graph. Then the shape that suits
loops least, a chain, on which each vertex waits for the one before it. Every distance of every run is compared.
"""  # noqa: D400  # a question

from __future__ import annotations

import numpy as np

from tornado.testing import build, chain, heap_dijkstra

from . import peers
from .harness import Clock, Report, Settings, WrongAnswer, timed
from .measuring import baseline, generated, load, require_exact
from .system import SystemFactory

_NOBODY = -1
_CHAIN = 10_000
_CHAIN_DELAY_BOUND = 64
_HEAP_TIMES = {1: 2.5, 64: 5.0, None: 5.0}


def measure(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    plain, exact = baseline(report, edges, root)
    report.data["delay_bound"] = list(_HEAP_TIMES)
    repeats = 1 if settings.smoke else 3
    for workers in settings.workers:
        for bound, times in _HEAP_TIMES.items():
            name = f"B={'unbounded' if bound is None else bound}, {workers} worker{'s' * (workers > 1)}"
            with start(source=_NOBODY, workers=workers, delay_bound=bound) as system:
                load(system, edges, clock)
                seconds = []
                for _ in range(repeats):
                    ids, values, elapsed_s = system.from_scratch(root, clock.left_s())
                    require_exact(name, ids, values, exact)
                    seconds.append(elapsed_s)
            best = min(seconds)
            report.add(f"from scratch, {name}", best, "s", of=seconds)
            report.add(f"  as a multiple of heap Dijkstra, {name}", best / plain.heap_s, "x", at_most=times)
            report.add(f"  as a multiple of the bucket queue, {name}", best / plain.bucket_s, "x")
            report.add(f"  edges a second, {name}", len(edges) / best, "edges/s")
    _measure_chain(report, settings, clock, start)
    if settings.scale == 20 and not settings.smoke:
        for peer, (computing_s, building_s) in peers.RECOMPUTING_20_S.items():
            peers.quote(report, f"{peer}, computing", computing_s, "s")
            peers.quote(report, f"{peer}, building the graph", building_s, "s")


def _measure_chain(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    edges = chain(_CHAIN)
    _, heap_s = timed(heap_dijkstra, build(edges), 0, repeats=3)
    report.add(f"plain heap Dijkstra, one thread, a chain of {_CHAIN:,}", min(heap_s), "s", of=heap_s)
    for workers in settings.workers:
        name = f"a chain of {_CHAIN:,}, B={_CHAIN_DELAY_BOUND}, {workers} worker{'s' * (workers > 1)}"
        with start(source=_NOBODY, workers=workers, delay_bound=_CHAIN_DELAY_BOUND) as system:
            load(system, edges, clock)
            seconds = []
            for _ in range(1 if settings.smoke else 3):
                ids, values, elapsed_s = system.from_scratch(0, clock.left_s())
                if not np.array_equal(ids, values):
                    raise WrongAnswer(f"{name}: a vertex is not as far as its number")
                seconds.append(elapsed_s)
        report.add(f"from scratch, {name}", min(seconds), "s", of=seconds)
