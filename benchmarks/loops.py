"""What do three loops on one stream cost, beside one?

Shortest paths, hops and components read one undirected stream and one graph, in which each pair of vertices has one edge at most.
Memory is what is the process's own, settled, from before the first edge to after the loops are idle with nine tenths of the graph.
The rate is that of batches of 1,000, half removals, as fast as they go in, until all loops are idle again. In the end all values of
each loop are compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apps.bfs import BreadthFirstSearch
from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tornado import VertexProgram
from tornado.testing import Churn, EdgeList, chain, exact_components, exact_distances

from .harness import Clock, Report, Settings, WrongAnswer
from .measuring import LOAD_BATCH, both_ways, churn_of, generated
from .memory import own_bytes
from .system import LiveSystem

_DELAY_BOUND = 64
_SETTLE_S = 2.0
_BATCH = 1_000
_MOST_TIMES_MEMORY = 1.4
_LEAST_SHARE_OF_RATE = 0.5
_JUDGED_SCALE = 20


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    edges = edges[edges.src < edges.dst]  # each pair once: a removal the other way round finds the same edge
    report.data |= {"delay_bound": _DELAY_BOUND, "pairs": len(edges)}
    judged = settings.scale == _JUDGED_SCALE and not settings.smoke
    programs: list[VertexProgram] = [
        ShortestPaths(source=root),
        BreadthFirstSearch(source=root),
        ConnectedComponents(),
    ]
    for workers in settings.workers:
        name = f"{workers} worker{'s' * (workers > 1)}"
        with LiveSystem(
            source=0, workers=workers, delay_bound=_DELAY_BOUND, programs=programs, is_undirected=True
        ) as system:
            system.admit(both_ways(chain(100).records()))
            system.wait_idle(clock.left_s())
            system.ask(np.array([1]), clock.left_s())
        found = {
            count: _of(
                report,
                f"{text}, {name}",
                programs[:count],
                churn_of(edges, settings),
                workers,
                settings,
                clock,
            )
            for count, text in ((1, "one loop"), (3, "three loops"))
        }
        (one_bytes, one_rate), (three_bytes, three_rate) = found[1], found[3]
        report.add(
            f"memory of three loops over one, {name}",
            three_bytes / one_bytes,
            "x",
            at_most=_MOST_TIMES_MEMORY if judged else None,
        )
        report.add(
            f"rate of three loops over one, {name}",
            three_rate / one_rate,
            "x",
            at_least=_LEAST_SHARE_OF_RATE if judged else None,
        )


def _of(
    report: Report,
    name: str,
    programs: Sequence[VertexProgram],
    churn: Churn,
    workers: int,
    settings: Settings,
    clock: Clock,
) -> tuple[float, float]:
    """Return the bytes that so many loops take, and the records a second that they keep up with."""
    live = churn.live()
    gc.collect()
    before = own_bytes()
    with LiveSystem(
        source=0, workers=workers, delay_bound=_DELAY_BOUND, programs=programs, is_undirected=True
    ) as system:
        start = time.perf_counter()
        for batch in live.batches(LOAD_BATCH):
            system.admit(both_ways(batch))
            clock.left_s()
        system.wait_idle(clock.left_s())
        report.add(f"loading 90 % to the fixed point, {name}", time.perf_counter() - start, "s")
        gc.collect()
        time.sleep(min(_SETTLE_S, settings.hold_s))
        taken = own_bytes() - before
        report.add(f"settled, {name}", taken / 2**20, "MiB")
        rate = _held(system, churn, settings.hold_s, clock)
        report.add(f"admission, {name}", rate, "edges/s")
        _require_exact(system, churn.live(), clock, name)
    return taken, rate


def _held(system: LiveSystem, churn: Churn, hold_s: float, clock: Clock) -> float:
    """Admit batches for so long; return the records a second, each way of an edge for one, until all loops are idle again."""
    records = 0
    start = time.perf_counter()
    while time.perf_counter() - start < hold_s:
        batch = both_ways(churn.next_batch(_BATCH // 2))
        system.admit(batch)
        records += len(batch)
        clock.left_s()
    system.wait_idle(clock.left_s())
    return records / (time.perf_counter() - start)


def _require_exact(system: LiveSystem, live: EdgeList, clock: Clock, name: str) -> None:
    both = EdgeList(
        np.concatenate([live.src, live.dst]),
        np.concatenate([live.dst, live.src]),
        np.concatenate([live.weight, live.weight]),
        live.vertices,
    )
    ids = live.ids()
    for loop in system.loops:
        values, _ = system.ask_loop(loop, ids, clock.left_s())
        if isinstance(loop.program, ConnectedComponents):
            expected = exact_components(both).lookup(ids)
        elif isinstance(loop.program, BreadthFirstSearch):
            unweighted = replace(both, weight=np.ones(len(both)))
            expected = exact_distances(unweighted, loop.program.source).lookup(ids)
        else:
            expected = exact_distances(both, loop.program.source).lookup(ids)
        if not np.array_equal(values, expected):
            raise WrongAnswer(f"{int((values != expected).sum())} values of {loop.name} are wrong, {name}")
