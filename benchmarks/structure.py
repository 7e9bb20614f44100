"""How soon are cores, clustering and communities there after some changes, beside plain programs that recompute them?

The simple undirected graph of an R-MAT, on one worker, nine tenths of its edges loaded until the loop is idle. A batch, half removals
of random live edges and half additions, is timed from before it is admitted until a branch has the values of exactly the records up
to it. Core numbers are kept up by their loop, and so are the labels of ten rounds; clustering is counted by a branch, which finds
nothing that was counted before. Beside them the same is recomputed by one thread of Numba: peeling, rounds of counting labels, and
finding each triangle once; on lists that are there, and building them from the edges. In the end all values are compared.
"""  # noqa: D400  # a question

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.core_number import CoreNumber
from apps.label_propagation import LabelPropagation
from apps.local_clustering import LocalClustering
from tornado import VertexProgram
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import Churn, EdgeList

from .harness import Clock, Report, Settings, WrongAnswer, quantile, timed
from .measuring import LOAD_BATCH, both_ways, churn_of
from .plain_structure import Lists, clustering, core_numbers, labels, neighbour_lists
from .ranks import plain_graph, plain_graph_facts, ten_of
from .system import LiveSystem

_ROUNDS = 10
_REPEATS = 5


@dataclass(frozen=True, slots=True)
class _Case:
    """A program, what recomputes it, and in batches of how many changes it is asked."""

    name: str
    program: VertexProgram
    recompute: Callable[[Lists], NDArray[Any]]
    batches: tuple[int, ...]
    repeats: int = _REPEATS


_CASES = (
    _Case("core numbers", CoreNumber(), core_numbers, (1, 100, 1_000)),
    _Case("labels", LabelPropagation(rounds=_ROUNDS), partial(labels, rounds=_ROUNDS), (1, 100, 1_000)),
    _Case("clustering", LocalClustering(), clustering, (100,), repeats=3),
)

ROWS = tuple(f"{case.name}, {size:,} change{'s' * (size > 1)}" for case in _CASES for size in case.batches)


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges = plain_graph(settings)
    edges = edges[edges.src < edges.dst]  # each pair once: a removal the other way round finds the same edge
    report.data = plain_graph_facts(edges) | {"pairs": len(edges)}
    for case in _CASES:
        _warm_up(case, edges)
        _measure(report, case, edges, settings, clock)


def _warm_up(case: _Case, edges: EdgeList) -> None:
    """Have everything compiled before anything is timed."""
    case.recompute(neighbour_lists(edges[:100]))
    with _system(case) as system:
        system.admit(both_ways(edges[:100].records()))
        system.wait_idle(60.0)
        system.ask(np.arange(10), 60.0)


def _system(case: _Case) -> LiveSystem:
    return LiveSystem(source=0, workers=1, delay_bound=1, programs=[case.program], is_undirected=True)


def _measure(report: Report, case: _Case, edges: EdgeList, settings: Settings, clock: Clock) -> None:
    churn = churn_of(edges, settings)
    repeats = 1 if settings.smoke else case.repeats
    with _system(case) as system:
        start = time.perf_counter()
        system.admit(EdgeBatch.mentions(np.arange(edges.vertices, dtype=np.int64)))
        for batch in churn.live().batches(LOAD_BATCH):
            system.admit(both_ways(batch))
            clock.left_s()
        system.wait_idle(clock.left_s())
        report.add(f"loading nine tenths, {case.name}", time.perf_counter() - start, "s")
        for size in case.batches:
            name = f"{case.name}, {size:,} change{'s' * (size > 1)}"
            ours: list[float] = []
            building: list[float] = []
            recomputing: list[float] = []
            for _ in range(repeats):
                ours += _timed_batches(system, churn, size, ten_of(edges, settings), clock)
                system.wait_idle(clock.left_s())
                lists, seconds = timed(neighbour_lists, churn.live())
                building += seconds
                recomputing += timed(case.recompute, lists)[1]
            _add(report, name, ours, recomputing, building)
        _require_exact(case, system, churn, edges, clock)


def _timed_batches(
    system: LiveSystem, churn: Churn, size: int, ids: NDArray[np.int64], clock: Clock
) -> list[float]:
    """Admit a batch, or a removal and then an addition, and ask after each; return the seconds until the answers."""
    batch = churn.next_batch(size)
    seconds = []
    for part in [batch.slice(0, 1), batch.slice(1, 2)] if size == 1 else [batch]:
        system.wait_idle(clock.left_s())
        start = time.perf_counter()
        system.admit(both_ways(part))
        _, exact_for = system.ask(ids, clock.left_s())
        seconds.append(time.perf_counter() - start)
        if exact_for < system.admitted:
            raise WrongAnswer(f"a query after {system.admitted} records was exact for {exact_for} only")
    return seconds


def _add(
    report: Report, name: str, ours: list[float], recomputing: list[float], building: list[float]
) -> None:
    for what, seconds in (
        (f"{name}, ours", ours),
        (f"  recomputing, {name}", recomputing),
        (f"  building the lists, {name}", building),
    ):
        report.add(what, quantile(seconds, 0.5) * 1e3, "ms", of=[second * 1e3 for second in seconds])
    own_s, plain_s, lists_s = (quantile(seconds, 0.5) for seconds in (ours, recomputing, building))
    report.add(f"  recomputing over ours, {name}", plain_s / own_s, "x")
    report.add(f"  with the lists built over ours, {name}", (plain_s + lists_s) / own_s, "x")


def _require_exact(case: _Case, system: LiveSystem, churn: Churn, edges: EdgeList, clock: Clock) -> None:
    values, _ = system.ask(np.arange(edges.vertices, dtype=np.int64), clock.left_s())
    expected = case.recompute(neighbour_lists(churn.live()))
    if not np.array_equal(values, expected):
        wrong = np.flatnonzero(values != expected)
        raise WrongAnswer(
            f"{len(wrong)} of {len(expected)} {case.name} are wrong after the stream; that of vertex {wrong[0]} is "
            f"{values[wrong[0]]!r}, but exact is {expected[wrong[0]]!r}"
        )
