"""Do changes of graphs with long ways pay, beside recomputing them: roads, rings, chains, trees?

Edges arrive in random order, until an exact answer. Then edges close, 500 at once and one by one, each time until an exact question for a
hundred vertices has it; they open again, untimed. Then another source is asked for. Beside stands Dijkstra with a heap, one thread, on
a graph that is built in the order of ids, which counts as 1; and a plain repair (`plain_roads.py`), which is what the work itself costs.
A graph of short ways and a social one stand guard. Every answer is compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tornado.config import AUTO_DELAY_BOUND, DelayBound
from tornado.records.operations import INSERT, REMOVE
from tornado.testing import (
    EdgeList,
    bitcoin_ratings,
    build,
    chain,
    heap_dijkstra,
    rmat,
    road_network,
    root_of,
)

from .harness import CHECKOUT, Clock, Report, Settings, WrongAnswer, quantile, timed
from .plain_roads import PlainRepair
from .system import System, SystemFactory

_ASKED = 100
_LOAD_BATCH = 100_000
_LIMIT_S = 20.0  # for one step; who takes longer is stopped, and that is the figure


@dataclass(frozen=True, slots=True)
class Case:
    """A graph, how often its edges close, and what is promised of it as multiples of recomputing: for one worker and two.

    Attributes
    ----------
    size
        Of the graph, as its maker takes it; a tenth of it in a smoke run.
    many, single
        How often 500 edges close, and one.
    load, closures, other
        Multiples of heap Dijkstra; of 500 closures the median and the tail.
    one_ms
        Of one closure the median and the tail, in milliseconds.
    """

    name: str
    made: Callable[[int, int], EdgeList]
    size: int
    many: int = 20
    single: int = 100
    load: tuple[float, float] | None = None
    closures: tuple[tuple[float, float], tuple[float, float]] | None = None
    one_ms: tuple[tuple[float, float], tuple[float, float]] | None = None
    other: tuple[float, float] | None = None

    def edges(self, settings: Settings) -> EdgeList:
        """Return the graph, in random order of arrival."""
        size = (max(20, self.size // 10) if self.size > 20 else 9) if settings.smoke else self.size
        edges = self.made(size, settings.seed)
        return edges[np.random.default_rng(settings.seed).permutation(len(edges))]


def grid(side: int, seed: int) -> EdgeList:
    """Return streets both ways between neighbours on a square, of random length from 1 to 100."""
    ids = np.arange(side * side).reshape(side, side)
    ends = np.concatenate(
        [
            np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()]),
            np.stack([ids[:-1].ravel(), ids[1:].ravel()]),
        ],
        axis=1,
    )
    return _both_ways(ends, side * side, seed)


def ring(length: int, seed: int) -> EdgeList:
    """Return a ring both ways, with a short cut for each thousand of its vertices."""
    first = np.arange(length)
    cuts = np.random.default_rng(seed).integers(0, length, (2, max(1, length // 1_000)))
    return _both_ways(np.concatenate([np.stack([first, (first + 1) % length]), cuts], axis=1), length, seed)


def tree(vertices: int, seed: int) -> EdgeList:
    """Return a tree whose vertices hang below one of the hundred before them: both ways."""
    child = np.arange(1, vertices)
    above = np.random.default_rng(seed).integers(np.maximum(0, child - 100), child)
    return _both_ways(np.stack([above, child]), vertices, seed)


def _both_ways(ends: NDArray[np.int64], vertices: int, seed: int) -> EdgeList:
    weight = np.random.default_rng(seed).integers(1, 101, ends.shape[1]).astype(np.float64)
    return EdgeList(
        np.concatenate([ends[0], ends[1]]), np.concatenate([ends[1], ends[0]]), np.tile(weight, 2), vertices
    )


def _ratings(_: int, __: int) -> EdgeList:
    edges = bitcoin_ratings(_data())
    return replace(edges, vertices=int(max(edges.src.max(), edges.dst.max())) + 1)


def _data() -> Path:
    import os

    return Path(os.environ.get("TORNADO_TEST_DATA", CHECKOUT / "data"))


CASES = (
    Case(
        "grid of 500",
        grid,
        500,
        load=(12, 15),
        closures=((0.4, 0.9), (0.8, 2.0)),
        one_ms=((0.5, 10), (1.5, 20)),
        other=(2, 3),
    ),
    Case("grid of 1,000", grid, 1_000, many=10, single=40, load=(12, 15), other=(2, 3)),
    Case("roads", lambda side, seed: road_network(side, side, seed=seed), 400, single=50),
    Case("ring", ring, 100_000),
    Case("chain", lambda length, _: chain(length), 20_000, load=(5, 0.0), other=(5, 0.0)),
    Case("tree", tree, 100_000),
    Case("bitcoin-otc", _ratings, 0),
    Case("R-MAT 16", lambda scale, seed: rmat(scale, seed=seed), 16),
)

_CLOSED = 500


def measure(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    """Fill the report; see the question above."""
    report.data = {"cases": {case.name: case.size for case in CASES}}
    _warm_up(start)
    for case in CASES:
        if case.made is _ratings and not (_data() / "bitcoin-otc.csv.gz").is_file():
            report.notes.append(f"{case.name} is not there: TORNADO_TEST_DATA says in which folder it is")
            continue
        _Measured(report, settings, clock, case).run(start)


def _warm_up(start: SystemFactory) -> None:
    """Have everything compiled before anything is timed."""
    edges = grid(5, 1)
    PlainRepair(edges, 0).close(np.arange(2))
    heap_dijkstra(build(edges), 0)
    with start(source=0, workers=1, delay_bound=_BOUND) as system:
        system.admit(edges.records())
        system.ask(np.arange(5), 60.0)


_BOUND: DelayBound = AUTO_DELAY_BOUND


class _Measured:
    """One case: its graph, its rivals, and what was found."""

    def __init__(self, report: Report, settings: Settings, clock: Clock, case: Case) -> None:
        self.report, self.settings, self.clock, self.case = report, settings, clock, case
        self.edges = case.edges(settings)
        self.source = self._middle()
        self.random = np.random.default_rng(settings.seed)
        self.natural = self.edges[np.argsort(self.edges.src, kind="stable")]
        graph = build(self.natural)
        self.exact, seconds = timed(heap_dijkstra, graph, self.source, repeats=3)
        self.heap_s = min(seconds)
        report.add(f"{case.name}: heap Dijkstra", self.heap_s * 1e3, "ms", of=[one * 1e3 for one in seconds])
        self.plain = PlainRepair(self.natural, self.source)
        count = min(_CLOSED, len(self.edges) // 20)
        self.many = [self._some(count) for _ in range(3 if settings.smoke else case.many)]
        self.single = [self._some(1) for _ in range(5 if settings.smoke else case.single)]
        # What every answer has to be: for all vertices that are asked, after each of the closures.
        self.asked = self.random.choice(self.edges.vertices, min(_ASKED, self.edges.vertices), replace=False)
        self.expected: dict[int, NDArray[np.float64]] = {}
        for name, closures in (("500 closures", self.many), ("one closure", self.single)):
            seconds = [self._repair(closed) for closed in closures]
            report.spread(f"{case.name}: {name}, plain repair", seconds, p95=False)

    def run(self, start: SystemFactory) -> None:
        """Measure all numbers of workers."""
        for workers in self.settings.workers:
            of = f"{workers} worker{'s' * (workers > 1)}"
            with start(source=self.source, workers=workers, delay_bound=_BOUND) as system:
                try:
                    self._measure(system, workers, of)
                except TimeoutError:
                    self.report.notes.append(
                        f"{self.case.name}, {of}: a step took more than {_LIMIT_S:g} s, and the rest was left out"
                    )

    def _measure(self, system: System, workers: int, of: str) -> None:
        case = self.case
        promised = {1: 0, 2: 1}.get(workers)
        began = time.perf_counter()
        for batch in self.edges.batches(_LOAD_BATCH):
            system.admit(batch)
        values, _ = system.ask(self.asked, _LIMIT_S)
        load_s = time.perf_counter() - began
        self._require(values, self.exact.lookup(self.asked), f"loaded, {of}")
        self._add("load", of, [load_s], case.load[promised] if case.load and promised is not None else None)
        many, one = self._closings(system, self.many, of), self._closings(system, self.single, of)
        name = f"{case.name}: 500 closures, {of}"
        self.report.spread(name, many, p95=False)
        if case.closures and promised is not None:
            for share, most in zip((0.5, 0.99), case.closures[promised], strict=True):
                over = quantile(many, share) / self.heap_s
                self.report.add(f"over heap Dijkstra, {name}, p{share * 100:g}", over, "x", at_most=most)
        half, tail = case.one_ms[promised] if case.one_ms and promised is not None else (None, None)
        self.report.spread(
            f"{case.name}: one closure, {of}", one, p50_at_most_ms=half, p99_at_most_ms=tail, p95=False
        )
        others = self._others()
        seconds = []
        for other, exact in others:
            ids, found, took_s = system.from_scratch(other, _LIMIT_S)
            self._require(found, exact.lookup(ids), f"from {other}, {of}")
            seconds.append(took_s)
        self._add(
            "another source",
            of,
            seconds,
            case.other[promised] if case.other and promised is not None else None,
        )
        ids = np.arange(self.edges.vertices)
        values, _ = system.ask(ids, _LIMIT_S)
        self._require(values, self.exact.lookup(ids), f"in the end, {of}")

    def _closings(self, system: System, closures: list[NDArray[np.int64]], of: str) -> list[float]:
        """Close them one after another, for so long at most as a step may take."""
        seconds: list[float] = []
        for closed in closures:
            seconds.append(self._closed(system, closed, of))
            if sum(seconds) > _LIMIT_S / 2:
                self.report.notes.append(
                    f"{self.case.name}, {of}: {len(seconds)} of {len(closures)} closures fitted in"
                )
                break
        return seconds

    def _closed(self, system: System, closed: NDArray[np.int64], of: str) -> float:
        edges = self.natural[closed]
        system.wait_idle(_LIMIT_S)
        began = time.perf_counter()
        system.admit(edges.records(op=REMOVE))
        values, exact_for = system.ask(self.asked, _LIMIT_S)
        seconds = time.perf_counter() - began
        if exact_for < system.admitted:
            raise WrongAnswer(f"a question after {system.admitted} records was exact for {exact_for} only")
        self._require(values, self.expected[id(closed)], f"after {len(closed)} closures, {of}")
        system.admit(edges.records(op=INSERT))
        self.clock.left_s()
        return seconds

    def _repair(self, closed: NDArray[np.int64]) -> float:
        began = time.perf_counter()
        self.plain.close(closed)
        seconds = time.perf_counter() - began
        self.expected[id(closed)] = self.plain.distance[self.asked]
        self.plain.open(closed)
        return seconds

    def _others(self) -> list[tuple[int, object]]:
        graph = build(self.natural)
        sources = self.random.choice(self.edges.src, 3)
        return [(int(one), heap_dijkstra(graph, int(one))) for one in sources]

    def _some(self, count: int) -> NDArray[np.int64]:
        return self.random.choice(len(self.edges), count, replace=False)

    def _middle(self) -> int:
        if self.case.name == "chain":
            return 0
        if not self.case.name.startswith(("grid", "roads")):
            return root_of(self.edges)
        side = int(np.sqrt(self.edges.vertices))
        return side // 2 * side + side // 2

    def _add(self, what: str, of: str, seconds: list[float], most: float | None) -> None:
        """Keep how many times recomputing the median is; how long that took is known."""
        times = [one / self.heap_s for one in seconds]
        name = f"over heap Dijkstra, {self.case.name}: {what}, {of}"
        self.report.add(
            name, quantile(times, 0.5), "x", at_most=most or None, of=times if len(times) > 1 else ()
        )

    def _require(self, values: NDArray[np.float64], expected: NDArray[np.float64], what: str) -> None:
        wrong = int((values != expected).sum())
        if wrong:
            raise WrongAnswer(f"{self.case.name}, {what}: {wrong} of {len(values)} distances are wrong")
