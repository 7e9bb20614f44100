"""Steps that several benchmarks share: graphs, loading, baselines, and the check that an answer is exact."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tornado.records.edge_batch import EdgeBatch
from tornado.testing import (
    BuiltGraph,
    Churn,
    Distances,
    EdgeList,
    bucket_queue,
    build,
    exact_distances,
    heap_dijkstra,
    rmat,
    root_of,
)

from .harness import Clock, Report, Settings, WrongAnswer, timed
from .system import System

LOADED_SHARE = 0.9
LOAD_BATCH = 100_000


@dataclass(frozen=True, slots=True)
class Baseline:
    """Plain recomputation on a built graph, one thread: seconds."""

    build_s: float
    heap_s: float
    bucket_s: float


def generated(report: Report, settings: Settings) -> tuple[EdgeList, int]:
    """Generate the graph of the settings; return it and its root, and say in the report what it is."""
    edges = rmat(settings.scale, seed=settings.seed)
    root = root_of(edges)
    report.data = graph_facts(edges, root)
    return edges, root


def graph_facts(edges: EdgeList, root: int) -> dict[str, Any]:
    """Return what a report says of an R-MAT graph."""
    return {"recipe": "R-MAT .57 .19 .19, degree 16, weights 1..100", "edges": len(edges), "root": root}


def churn_of(edges: EdgeList, settings: Settings) -> Churn:
    """Return the stream of the settings, nine tenths of the edges live at its beginning."""
    return Churn(edges, loaded=int(len(edges) * LOADED_SHARE), seed=settings.seed)


def load(system: System, edges: EdgeList, clock: Clock) -> float:
    """Admit every edge and wait for the fixed point; return the seconds that took."""
    start = time.perf_counter()
    for batch in edges.batches(LOAD_BATCH):
        system.admit(batch)
        clock.left_s()
    system.wait_idle(clock.left_s())
    return time.perf_counter() - start


def baseline(report: Report, edges: EdgeList, root: int, *, repeats: int = 3) -> tuple[Baseline, Distances]:
    """Measure both plain baselines, compiled before; the least time of `repeats` counts, as it favours them."""
    warm = build(edges[:16])
    heap_dijkstra(warm, root)
    bucket_queue(warm, root)
    graph: BuiltGraph
    graph, build_s = timed(build, edges)
    exact, heap_s = timed(heap_dijkstra, graph, root, repeats=repeats)
    again, bucket_s = timed(bucket_queue, graph, root, repeats=repeats)
    if not np.array_equal(exact.values, again.values):
        raise WrongAnswer("the two baselines differ")
    plain = Baseline(min(build_s), min(heap_s), min(bucket_s))
    report.add("plain heap Dijkstra, one thread, built graph", plain.heap_s, "s", of=heap_s)
    report.add("plain bucket queue, one thread, built graph", plain.bucket_s, "s", of=bucket_s)
    report.add("building that graph", plain.build_s, "s", of=build_s)
    return plain, exact


def require_exact(what: str, ids: NDArray[np.int64], values: NDArray[np.float64], exact: Distances) -> None:
    """Compare distances with the oracle bit for bit.

    Raises
    ------
    WrongAnswer
        One differs; names the first.
    """
    expected = exact.lookup(ids)
    wrong = np.flatnonzero(values != expected)
    if len(wrong):
        at = wrong[0]
        raise WrongAnswer(
            f"{what}: {len(wrong)} of {len(ids)} distances are wrong; vertex {ids[at]} is {values[at]!r}, "
            f"but exact is {expected[at]!r}"
        )


def both_ways(batch: EdgeBatch) -> EdgeBatch:
    """Return each record with the same one the other way round after it."""
    return EdgeBatch(
        np.stack([batch.src, batch.dst], 1).ravel(),
        np.stack([batch.dst, batch.src], 1).ravel(),
        np.repeat(batch.weight, 2),
        np.repeat(batch.op, 2),
    )


def targets_of(edges: EdgeList, count: int, *, seed: int) -> NDArray[np.int64]:
    """Choose `count` distinct vertices that edges lead to, or all of them where there are fewer."""
    reached = np.unique(edges.dst).astype(np.int64)
    return np.random.default_rng(seed).permutation(reached)[:count]


def require_answers(got: Mapping[int, float], live: EdgeList, root: int, what: str) -> None:
    """Require that distances are those of the oracle, and that they are there for most of 500 vertices."""
    if len(got) < min(250, len(live) // 4):
        raise WrongAnswer(f"{what}: only {len(got)} vertices are known")
    ids = np.array(list(got), np.int64)
    require_exact(what, ids, np.array(list(got.values()), np.float64), exact_distances(live, root))
