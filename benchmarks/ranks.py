"""How soon are ranks there after some changes, beside a plain power iteration that recomputes them?

PageRank on one worker; R-MAT without weights, nine tenths of it loaded to the accuracy of the main loop. Then batches, half removals
of random live edges and half additions, go into the idle loop. A batch is timed from before it is admitted until a branch has ranks
of exactly the records up to it, with a bound of the tolerance asked for. Between them the rival, one thread of Numba, recomputes the
same graph by turns: from nothing, from its own answer before the last batch (warm), and building its lists of in-edges from the edges.
It stops when its own bound, the step times d / (1 - d), is the tolerance, so both know as much of their answer. Both know all 2**scale
vertices; without those that have no edge a power iteration converges sooner, so from scratch is measured without them, too. Times are
medians, and ratios those of medians. Of each row one answer is compared with ranks whose bound is 1e-13: it must be within its certificate.
"""  # noqa: D400  # a question

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.pagerank import PageRank
from tornado.loops.branch import Branch
from tornado.query.order import ties_of
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import Churn, EdgeList, rmat

from . import peers
from .harness import Clock, Report, Settings, WrongAnswer, quantile, timed
from .measuring import churn_of, load
from .plain_ranks import exact_ranks, in_lists, iterations_needed, joined_vertices, ranks
from .system import LiveSystem

_JUDGED_SCALES = (18, 20)
_HELD_SCALE = 18
_FINEST = 1e-9
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-6, _FINEST)
FROM_SCRATCH = "from scratch to 1e-9"
FROM_SCRATCH_JOINED = "from scratch to 1e-9, without vertices that have no edge"
_ROUNDS = 5
TOP = 20
_TOP_SHARE = 0.8
_SEED_PLACE = 0.8  # the seed has more out-edges than that share of the vertices
_NO_ACCURACY = 1e6  # so far from the exact ranks a loop never is, so it computes nothing
_TIMES_GRAPHX = 10
# Changes a second that a certificate is asked to withstand, by what it must not exceed.
HELD_PER_S = {1e-2: 100_000, 1e-3: 20_000, 1e-4: 2_500}
_ACCURACY_OF_HELD = (
    1.25  # a loop keeps itself well within its accuracy, and the last records' turn has not come
)
_HELD_SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05)
_HELD_TIMES = (1.5, 2.0, 3.0, 4.0, 6.0)
_BATCHES_PER_S = 500
_PER_ROUND = {1: 10, 100: 4, 2_000: 2}


@dataclass(frozen=True, slots=True)
class _Row:
    """So many records, then an answer to the tolerance; and how many times as long the rival must take at least."""

    name: str
    records: int
    tolerance: float
    given: float
    built: float


@dataclass(frozen=True, slots=True)
class _Loop:
    """A main loop, kept to an accuracy, and what is measured of it."""

    accuracy: float
    rows: tuple[_Row, ...]
    of_one_seed: bool = False


def _many(tolerance: str, accuracy: str) -> _Row:
    name = f"1,000 added and 1,000 removed, loop at {accuracy}, answer at {tolerance}"
    return _Row(name, 2_000, float(tolerance), 1.2, 2.0)


_LOOPS = (
    _Loop(
        1e-3,
        (_Row("100 changes, loop and answer at 1e-3", 100, 1e-3, 10.0, 15.0), _many("1e-3", "1e-3")),
    ),
    _Loop(
        1e-4,
        (_Row("1 change, loop and answer at 1e-4", 1, 1e-4, 25.0, 40.0), _many("1e-4", "1e-4")),
    ),
    _Loop(
        1e-6,
        (
            _Row("1 change, loop at 1e-6, answer at 1e-9", 1, 1e-9, 2.0, 3.0),
            _Row("100 changes, loop at 1e-6, answer at 1e-9", 100, 1e-9, 2.0, 3.0),
            _many("1e-6", "1e-6"),
            _many("1e-9", "1e-6"),
        ),
    ),
    _Loop(
        1e-2,
        (_Row("100 changes, of one seed, loop and answer at 1e-2", 100, 1e-2, 10.0, 15.0),),
        of_one_seed=True,
    ),
)

ROWS = tuple(row.name for loop in _LOOPS for row in loop.rows)
TOPS = ("from scratch", f"100 changes, a loop at {PageRank().accuracy:g}")


@dataclass(slots=True)
class _Times:
    """Seconds of one row."""

    ours: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    building: list[float] = field(default_factory=list)


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges = plain_graph(settings)
    report.data = plain_graph_facts(edges) | {"rounds": _rounds(settings), "top": TOP}
    _warm_up(edges, settings)
    ours_s = _measure_scratch(report, edges, FROM_SCRATCH, settings, clock, is_judged=True)
    if settings.scale == peers.PAGERANK_SCALE and not settings.smoke:
        _compare(report, ours_s, settings)
    _, joined = joined_vertices(edges)
    _measure_scratch(report, joined, FROM_SCRATCH_JOINED, settings, clock, is_judged=False)
    for loop in _LOOPS:
        _measure_loop(report, loop, edges, settings, clock)
    if settings.scale <= _HELD_SCALE:
        for limit, per_s in HELD_PER_S.items():
            _measure_held(report, limit, per_s, edges, settings, clock)


def plain_graph(settings: Settings) -> EdgeList:
    """Return an R-MAT graph without weights, of 2**scale vertices; some have no edge."""
    edges = rmat(settings.scale, seed=settings.seed)
    return EdgeList(edges.src, edges.dst, np.ones(len(edges), np.int8), edges.vertices)


def plain_graph_facts(edges: EdgeList) -> dict[str, Any]:
    """Return what a report says of such a graph."""
    return {
        "recipe": "R-MAT .57 .19 .19, degree 16, without weights",
        "edges": len(edges),
        "vertices": edges.vertices,
    }


def loaded(system: LiveSystem, edges: EdgeList, clock: Clock) -> float:
    """Admit the edges and the vertices that have none, and wait until the loops are idle; return the seconds."""
    start = time.perf_counter()
    load(system, edges, clock)
    # The rival knows all vertices, so the loop must; those without an edge come as late as in a stream.
    system.admit(EdgeBatch.mentions(np.arange(edges.vertices, dtype=np.int64)))
    system.wait_idle(clock.left_s())
    return time.perf_counter() - start


def ten_of(edges: EdgeList, settings: Settings) -> NDArray[np.int64]:
    """Return the vertices whose ranks are looked up."""
    return np.random.default_rng(settings.seed).permutation(edges.vertices)[:10].astype(np.int64)


def require_certified(what: str, branch: Branch, exact: NDArray[np.float64]) -> float:
    """Compare all ranks of a branch with the exact ones; return how far they are off.

    Raises
    ------
    WrongAnswer
        They are not within what the branch states.
    """
    ids, values = branch.values().arrays()
    off = float(np.abs(values - exact[ids]).sum())
    if len(ids) != len(exact) or not off <= bound_of(what, branch) + 1e-12:
        raise WrongAnswer(
            f"{what}: {len(ids)} ranks of {len(exact)} are {off:.3g} off, but the bound is {bound_of(what, branch):.3g}"
        )
    return off


def bound_of(what: str, branch: Branch) -> float:
    """Return the bound that a branch states.

    Raises
    ------
    WrongAnswer
        It states none.
    """
    certificate = branch.certificate or {"kind": "none"}
    if certificate["kind"] != "bound":
        raise WrongAnswer(f"{what}: the certificate is {certificate}, which is no bound")
    return certificate["bound"]


def _rounds(settings: Settings) -> int:
    return 1 if settings.smoke else _ROUNDS


def _warm_up(edges: EdgeList, settings: Settings) -> None:
    """Have everything compiled before anything is timed."""
    small = EdgeList(edges.src[:100], edges.dst[:100], edges.weight[:100], edges.vertices)
    ranks(in_lists(small), 1e-1)
    with LiveSystem(source=0, workers=1, delay_bound=None, programs=[PageRank()]) as system:
        system.admit(small.records())
        system.wait_idle(60.0)
        system.ask(ten_of(edges, settings), 60.0)


def _measure_scratch(
    report: Report, edges: EdgeList, name: str, settings: Settings, clock: Clock, *, is_judged: bool
) -> float:
    """Measure answers from a loop that has the graph and has computed nothing; return the median of ours in seconds."""
    live = churn_of(edges, settings).live()
    lists = in_lists(live)
    exact = exact_ranks(lists)
    for tolerance in TOLERANCES:
        by_bound = ranks(lists, tolerance)[1]
        report.add(f"iterations to {tolerance:g} by the bound, {name}", by_bound, "")
        report.add(
            f"  iterations needed to {tolerance:g}, {name}", iterations_needed(lists, tolerance, exact), ""
        )
    program = PageRank(accuracy=_NO_ACCURACY)
    with LiveSystem(source=0, workers=1, delay_bound=None, programs=[program]) as system:
        load_s = loaded(system, live, clock)
        report.add(f"loading nine tenths, of a loop that computes nothing, {name}", load_s, "s")
        with system.answered(clock.left_s(), max_iterations=0) as branch:
            if bound_of("what a loop that computes nothing has", branch) < 1.0:
                raise WrongAnswer("the loop that computes nothing is near the exact ranks already")
        times = _Times()
        top: list[float] = []
        whole: list[float] = []
        for _ in range(_rounds(settings)):
            times.building.append(timed(in_lists, live)[1][0])
            times.cold.append(timed(ranks, lists, _FINEST)[1][0])
            with asked(system, edges, settings, clock, tolerance=_FINEST) as (branch, seconds):
                times.ours.append(seconds)
                require_certified(name, branch, exact)
            if is_judged:
                _ask_top(system, edges, settings, clock, top, whole)
        _add(report, _Row(name, 0, _FINEST, 1.0, 1.5), times, settings, is_judged=is_judged)
        if is_judged:
            _add_top(report, TOPS[0], top, whole, settings)
    return quantile(times.ours, 0.5)


def _compare(report: Report, ours_s: float, settings: Settings) -> None:
    """Put beside ours what others take from scratch."""
    slower = peers.slower_than_there(report, settings)
    for peer, there_s in peers.PAGERANK_20_S.items():
        at_least = _TIMES_GRAPHX if peer.startswith("GraphX") else None
        peers.compare(report, peer, FROM_SCRATCH, there_s, "s", slower, ours_s, at_least=at_least)


def _measure_loop(report: Report, loop: _Loop, edges: EdgeList, settings: Settings, clock: Clock) -> None:
    churn = churn_of(edges, settings)
    degrees = np.bincount(churn.live().src, minlength=edges.vertices)
    seed = (
        int(np.argsort(degrees, kind="stable")[int(edges.vertices * _SEED_PLACE)])
        if loop.of_one_seed
        else None
    )
    named = () if seed is None else (seed,)
    program = PageRank(personalisation=named, accuracy=loop.accuracy)
    with LiveSystem(source=0, workers=1, delay_bound=None, programs=[program]) as system:
        of = f"a loop at {loop.accuracy:g}{' of one seed' * loop.of_one_seed}"
        report.add(f"loading nine tenths, {of}", loaded(system, churn.live(), clock), "s")
        for row in loop.rows:
            times = _Times()
            for _ in range(_rounds(settings)):
                _measure_round(row, system, churn, edges, seed, times, settings, clock)
            _add(report, row, times, settings)
        if loop.accuracy == PageRank().accuracy:
            top: list[float] = []
            whole: list[float] = []
            for _ in range(_rounds(settings)):
                system.admit(churn.next_batch(100))
                system.wait_idle(clock.left_s())
                _ask_top(system, edges, settings, clock, top, whole)
            _add_top(report, TOPS[1], top, whole, settings)


def _measure_round(
    row: _Row,
    system: LiveSystem,
    churn: Churn,
    edges: EdgeList,
    seed: int | None,
    times: _Times,
    settings: Settings,
    clock: Clock,
) -> None:
    """Time some batches of ours, and then the rival with the graph after the last of them, and its own answer before that."""
    # The finest answers take as long as recomputing, whatever the batch.
    count = 2 if settings.smoke or row.tolerance <= _FINEST else _PER_ROUND[row.records]
    for turn in range(count):
        is_last = turn == count - 1
        if is_last:
            before, _ = ranks(in_lists(churn.live()), row.tolerance, None, seed)
        batch = churn.next_batch(row.records)
        # One change is half of what the stream gives at least: a removal, and then an addition.
        parts = [batch.slice(0, 1), batch.slice(1, 2)] if row.records == 1 else [batch]
        for at, part in enumerate(parts):
            system.wait_idle(clock.left_s())
            with asked(system, edges, settings, clock, tolerance=row.tolerance, batch=part) as (
                branch,
                took_s,
            ):
                times.ours.append(took_s)
                if is_last and at == len(parts) - 1:
                    system.wait_idle(
                        clock.left_s()
                    )  # its main loop is at work still, and the rival is to be alone
                    live = churn.live()
                    lists, building = timed(in_lists, live)
                    _, cold = timed(ranks, lists, row.tolerance, None, seed)
                    _, warm = timed(ranks, lists, row.tolerance, before, seed)
                    times.building += building
                    times.cold += cold
                    times.warm += warm
                    if len(times.cold) == 1:
                        require_certified(row.name, branch, exact_ranks(lists, seed=seed))


@contextmanager
def asked(
    system: LiveSystem,
    edges: EdgeList,
    settings: Settings,
    clock: Clock,
    *,
    tolerance: float,
    batch: EdgeBatch | None = None,
    top: int | None = None,
) -> Iterator[tuple[Branch, float]]:
    """Admit a batch, if any, and ask; give the branch that is over, and the seconds until ranks were read from it."""
    ids = ten_of(edges, settings)
    start = time.perf_counter()
    if batch is not None:
        system.admit(batch)
    with system.answered(clock.left_s(), parameters={"tolerance": tolerance}, top=top) as branch:
        branch.values().lookup(ids)
        yield branch, time.perf_counter() - start


def _ask_top(
    system: LiveSystem,
    edges: EdgeList,
    settings: Settings,
    clock: Clock,
    top: list[float],
    whole: list[float],
) -> None:
    """Ask for the best ranks in proved order, and for all ranks, of the same graph."""
    with asked(system, edges, settings, clock, tolerance=_FINEST, top=TOP) as (branch, seconds):
        top.append(seconds)
        best = np.sort(branch.values().arrays()[1])[: -TOP - 2 : -1]  # and one after them
        if ties_of(best, bound_of("the first of all", branch)):
            raise WrongAnswer(f"the order of the first {TOP} is not proved")
    with asked(system, edges, settings, clock, tolerance=_FINEST) as (branch, seconds):
        whole.append(seconds)


def _add_top(report: Report, name: str, top: list[float], whole: list[float], settings: Settings) -> None:
    report.add(
        f"top {TOP} in proved order, {name}",
        quantile(top, 0.5) * 1e3,
        "ms",
        of=[second * 1e3 for second in top],
    )
    report.add(
        f"  over all to 1e-9, {name}",
        quantile(top, 0.5) / quantile(whole, 0.5),
        "x",
        at_most=_bound(_TOP_SHARE, settings),
    )


def _add(report: Report, row: _Row, times: _Times, settings: Settings, *, is_judged: bool = True) -> None:
    """Keep the times of a row in ms, and how many times as long the rival takes."""
    medians = {}
    for name, seconds in (
        (f"{row.name}, ours", times.ours),
        (f"  power iteration, {row.name}", times.cold),
        (f"  warm power iteration, {row.name}", times.warm),
        (f"  building its lists, {row.name}", times.building),
    ):
        if seconds:
            medians[name] = quantile(seconds, 0.5)
            report.add(name, medians[name] * 1e3, "ms", of=[second * 1e3 for second in seconds])
    ours, cold, *warm, building = medians.values()
    report.add(
        f"  power iteration over ours, {row.name}",
        cold / ours,
        "x",
        at_least=_bound(row.given, settings) if is_judged else None,
    )
    report.add(
        f"  with its lists built over ours, {row.name}",
        (cold + building) / ours,
        "x",
        at_least=_bound(row.built, settings) if is_judged else None,
    )
    if warm:
        report.add(f"  warm power iteration over ours, {row.name}", warm[0] / ours, "x")


def _bound(number: float, settings: Settings) -> float | None:
    return number if settings.scale in _JUDGED_SCALES else None


def _measure_held(
    report: Report, limit: float, per_s: int, edges: EdgeList, settings: Settings, clock: Clock
) -> None:
    """Find a rate of changes at which a certified question each second never says more than the limit."""
    churn = churn_of(edges, settings)
    program = PageRank(accuracy=limit * _ACCURACY_OF_HELD)
    with LiveSystem(source=0, workers=1, delay_bound=None, programs=[program]) as system:
        loaded(system, churn.live(), clock)
        held_s = settings.hold_s / 4
        held, bound = 0.0, 0.0
        for share in _HELD_SHARES:
            bound = _hold(system, churn, per_s * share, limit, held_s, clock)
            if bound <= limit:
                held = per_s * share
                break
        if held == per_s:
            for times in _HELD_TIMES:
                if (more := _hold(system, churn, per_s * times, limit, held_s, clock)) > limit:
                    break
                held, bound = per_s * times, more
    at_least = per_s if settings.scale == _HELD_SCALE else None
    report.add(f"changes a second, certificate within {limit:g}", held, "changes/s", at_least=at_least)
    report.add(f"  the greatest certificate at that rate, within {limit:g}", bound, "")


def _hold(system: LiveSystem, churn: Churn, per_s: float, limit: float, held_s: float, clock: Clock) -> float:
    """Admit changes at a rate and ask once a second; return the greatest bound, which is infinite where the loop lags.

    It lags where a question, which stands in line with the changes before it, is answered after a second or more, or where
    it is not idle a second after the last change.
    """
    system.wait_idle(clock.left_s())
    batches = max(1, int(_BATCHES_PER_S * held_s))
    every = max(1, round(_BATCHES_PER_S * min(1.0, held_s / 3)))
    size = max(2, int(per_s / _BATCHES_PER_S))
    greatest = 0.0
    start = time.perf_counter()
    for number in range(1, batches + 1):
        system.admit(churn.next_batch(size))
        if number % every == 0:
            asked_s = time.perf_counter()
            with system.answered(clock.left_s(), max_iterations=0) as branch:
                greatest = max(greatest, bound_of("a certified question", branch))
            if time.perf_counter() - asked_s >= 1.0:
                return np.inf
        if greatest > limit:
            return greatest
        time.sleep(max(0.0, start + number / _BATCHES_PER_S - time.perf_counter()))
    try:
        system.wait_idle(1.0)
    except TimeoutError:
        return np.inf
    return greatest
