"""How soon do hops and components have changes, beside recomputing them and beside differential-dataflow?

As in `changes.py`: nine tenths of the graph are loaded to the fixed point; then changes, half removals of random live edges and half
additions, go into the idle loop in batches, and each is timed until an exact query for ten vertices has it. The stream is directed;
components hear along both directions, for which their workers keep reverse lists. In the end all values are compared with the
oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.bfs import BreadthFirstSearch
from apps.connected_components import ConnectedComponents
from tornado import VertexProgram
from tornado.testing import EdgeList, build, exact_components, exact_distances, heap_dijkstra

from . import peers
from .changes import until_exact
from .harness import Clock, Report, Settings, WrongAnswer, timed
from .measuring import churn_of, generated, load
from .system import LiveSystem

_DELAY_BOUND = 64
_BATCHES = {1: 100, 100: 50, 1_000: 30, 10_000: 10}
_JUDGED_SCALE = 20
_JUDGED_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class _Case:
    """A program, what recomputes it, and what differential-dataflow takes."""

    name: str
    program: Callable[[int], VertexProgram]
    recompute: Callable[[EdgeList, int], Callable[[NDArray[np.int64]], NDArray[Any]]]
    latency_ms: Mapping[int, tuple[float, float]]
    load: tuple[float, float, int]


def _unweighted(edges: EdgeList) -> EdgeList:
    return replace(edges, weight=np.ones(len(edges)))


_CASES = (
    _Case(
        "hops",
        BreadthFirstSearch,
        lambda edges, root: exact_distances(_unweighted(edges), root).lookup,
        peers.DIFFERENTIAL_HOPS_MS,
        peers.DIFFERENTIAL_HOPS_LOAD,
    ),
    _Case(
        "components",
        lambda _: ConnectedComponents(),
        lambda edges, _: exact_components(edges).lookup,
        peers.DIFFERENTIAL_COMPONENTS_MS,
        peers.DIFFERENTIAL_COMPONENTS_LOAD,
    ),
)


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    report.data |= {"delay_bound": _DELAY_BOUND, "batches": {str(size): n for size, n in _BATCHES.items()}}
    judged = settings.scale == _JUDGED_SCALE and not settings.smoke
    slower = 0.0
    if judged:
        _, seconds = timed(heap_dijkstra, build(edges), root, repeats=3)
        report.add("the yardstick: heap Dijkstra, whole graph of scale 20", min(seconds), "s", of=seconds)
        slower = min(seconds) / peers.HEAP_20_S
    for case in _CASES:
        case.recompute(churn_of(edges[:100], settings).live(), root)
        _, seconds = timed(case.recompute, churn_of(edges, settings).live(), root)
        report.add(f"recomputing {case.name} of an edge list, one thread", min(seconds), "s", of=seconds)
        for workers in settings.workers:
            _measure(report, case, edges, root, workers, settings, clock, slower)


def _measure(
    report: Report,
    case: _Case,
    edges: EdgeList,
    root: int,
    workers: int,
    settings: Settings,
    clock: Clock,
    slower: float,
) -> None:
    name = f"{case.name}, {workers} worker{'s' * (workers > 1)}"
    churn = churn_of(edges, settings)
    compared = slower > 0 and workers in {1, 2}
    with LiveSystem(
        source=root, workers=workers, delay_bound=_DELAY_BOUND, programs=[case.program(root)]
    ) as system:
        load_s = load(system, churn.live(), clock)
        there_s = case.load[workers - 1] * slower if compared else None
        report.add(
            f"loading 90 % to the fixed point, {name}", load_s, "s", at_most=there_s if workers == 1 else None
        )
        if compared:
            _quote(report, f"loading, {name}", case.load[workers - 1], "s", slower)
        for size, count in _BATCHES.items():
            seconds = until_exact(system, churn, size, 5 if settings.smoke else count, settings, clock)
            changes = f"{size:,} change{'s' * (size > 1)} until exact, {name}"
            there_ms = case.latency_ms[size][workers - 1] if compared else 0.0
            bound = there_ms * slower if compared and size == _JUDGED_BATCH and workers == 1 else None
            report.spread(changes, seconds, p50_at_most_ms=bound)
            if compared:
                _quote(report, changes, there_ms, "ms", slower)
        ids = churn.live().ids()
        values, _ = system.ask(ids, clock.left_s())
        expected = case.recompute(churn.live(), root)(ids)
        if not np.array_equal(values, expected):
            raise WrongAnswer(f"{int((values != expected).sum())} values are wrong after the stream, {name}")


def _quote(report: Report, what: str, there: float, unit: str, slower: float) -> None:
    peers.quote(report, f"  {peers.DIFFERENTIAL}, {what}", there, unit)
    peers.quote(report, f"  {peers.DIFFERENTIAL} scaled to this machine, {what}", there * slower, unit)
