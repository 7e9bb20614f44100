"""Figure 5 and Table 3 of the Tornado paper, by our reading: a question to a loop beside computing the answer anew.

*Figure 5*: half of the graph is there; then it grows by epochs. At the end of each a question is asked at once, and timed until its answer
is there: a branch that begins with what the main loop has. Then the batch methods: a branch that begins at nothing, and plain
recomputation on one thread. How far the main loop's own values are from the exact ones is read in the middle of each epoch, as
records come in, and when the loop is at rest.

*Table 3*: so many per cent are added at once to what is there. The time is from before the first record until the answer. Plain
recomputation is timed on the same edges: building its graph and computing, computing alone, and computing alone from the
values that it had before. In both a power iteration has the vertices that are there numbered for it before the clock starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tornado.certificate import Certificate

from .figure_programs import Case, Ranks, Values
from .harness import Clock, Kind, Report, Settings, quantile
from .system import LiveSystem

if TYPE_CHECKING:
    from tornado.loops.main_loop import MainLoop

_DELAY_BOUND = 64
_FIRST_SHARE = 0.5
_EPOCHS = 20
EPOCH_SHARES = {"1 %": 0.01, "0.1 %": 0.001, "0.01 %": 0.0001}
"""Sizes of epochs, of all edges."""
_BESIDE = (
    0.01  # the batch methods are timed at the end of these epochs; how long one was is all the same to them
)
_BATCH = 10_000
ADDED_PERCENT = (1, 5, 10, 20)
_REPEATS = 3

PAPER = "Shi, Cui, Shao and Tong: Tornado, SIGMOD 2016, Table 3, PageRank after 1 to 20 % of the data"
PAPER_HARDWARE = "a cluster of theirs, and another graph"
PAPER_S = {"Tornado of the paper": (12.5, 13.7), "systems that the paper compares with": (100.0, 164.0)}
"""Least and greatest seconds."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a question took, and the answer by id."""

    seconds: float
    certificate: Certificate | None
    values: Values


@dataclass(slots=True)
class _Instants:
    """What was measured at each of them, in seconds but for errors."""

    edges: list[int] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    built: list[float] = field(default_factory=list)
    given: list[float] = field(default_factory=list)
    error_streaming: list[float] = field(default_factory=list)
    error_at_rest: list[float] = field(default_factory=list)


def measure_epochs(report: Report, settings: Settings, clock: Clock, case: Case) -> None:
    """Measure Figure 5 for one program, on one worker: plain recomputation has one thread."""
    epochs = 3 if settings.smoke else _EPOCHS
    case.recompute(case.edges[:16])  # compiled before anything is timed
    with LiveSystem(
        source=0, workers=1, delay_bound=_DELAY_BOUND, programs=[case.live(), case.cold()]
    ) as system:
        cold = system.loops[1]
        growth = _Growth(case, system, clock, int(len(case.edges) * _FIRST_SHARE))
        for loop in (None, cold):
            growth.asked(loop)  # which allocates what the next ones use
        for name, share in EPOCH_SHARES.items():
            records = max(2, int(len(case.edges) * share))
            instants = _Instants()
            for _ in range(epochs):
                _epoch(case, growth, records, instants, cold if share == _BESIDE else None)
            _tell(report, case, name, instants)


def _tell(report: Report, case: Case, epoch: str, instants: _Instants) -> None:
    _spread(report, f"asked, {case.name}, epochs of {epoch}", instants.asked)
    report.add(
        f"  error of the main loop as records come in, greatest, {case.name}, epochs of {epoch}",
        max(instants.error_streaming),
        "",
    )
    report.add(
        f"  error of the main loop at rest, greatest, {case.name}, epochs of {epoch}",
        max(instants.error_at_rest),
        "",
    )
    if instants.cold:
        _spread(report, f"a branch from nothing, {case.name}", instants.cold)
        _spread(report, f"{case.rival} of an edge list, {case.name}", instants.built)
        _spread(report, f"{case.rival}, graph given, {case.name}", instants.given)
        report.add_series(
            f"figure 5, {case.name}",
            edges=instants.edges,
            asked=instants.asked,
            cold=instants.cold,
            built=instants.built,
            given=instants.given,
            error_streaming=instants.error_streaming,
            error_at_rest=instants.error_at_rest,
        )


def _spread(report: Report, name: str, seconds: Sequence[float]) -> None:
    """Keep the median and the 99th percentile, which of so few is the greatest."""
    report.spread(name, seconds, p99=False)
    report.add(f"{name}, p99", quantile(seconds, 0.99) * 1e3, "ms")


class _Growth:
    """A graph that grows in a system, whose first loop is live.

    Attributes
    ----------
    edges
        Those that are there.
    """

    def __init__(self, case: Case, system: LiveSystem, clock: Clock, first: int) -> None:
        self._case, self._system, self._clock = case, system, clock
        self._live = system.loops[0]
        self.edges = case.edges[:0]
        self.admit(first)
        self.rest()

    def admit(self, records: int) -> None:
        """Have so many more edges come in."""
        have = len(self.edges)
        self.edges = self._case.edges[: have + records]
        for batch in self.edges[have:].batches(_BATCH):
            self._system.admit(batch)
            self._clock.left_s()

    def rest(self) -> None:
        """Wait until the loops have come to rest."""
        self._system.wait_idle(self._clock.left_s())

    def approximation(self) -> Values:
        """Return what the live loop has at the moment."""
        return self._case.by_id(*self._live.approximation().arrays())

    def asked(self, loop: MainLoop | None = None) -> _Answer:
        """Ask the live loop, or a cold one."""
        parameters = None if loop is None else self._case.cold_parameters
        start = time.perf_counter()
        with self._system.forked(loop or self._live, self._clock.left_s(), parameters=parameters) as branch:
            seconds = time.perf_counter() - start
            return _Answer(seconds, branch.certificate, self._case.by_id(*branch.values().arrays()))

    def require_right(self, answer: _Answer, truth: Values) -> None:
        """Compare an answer with the exact values of the edges that are there."""
        self._case.require_right(
            f"{self._case.name} of {len(self.edges)} edges", answer.certificate, answer.values, truth
        )


def _epoch(case: Case, growth: _Growth, records: int, instants: _Instants, cold: MainLoop | None) -> None:
    """Grow by so many records and measure; the batch methods too where there is a cold loop."""
    half = records // 2
    growth.admit(half)
    streaming, at_half = growth.approximation(), growth.edges
    growth.admit(records - half)
    answer = growth.asked()
    growth.rest()
    at_rest, truth = growth.approximation(), case.truth(growth.edges)
    growth.require_right(answer, truth)
    instants.edges.append(len(growth.edges))
    instants.asked.append(answer.seconds)
    instants.error_streaming.append(case.error_of(streaming, case.truth(at_half)))
    instants.error_at_rest.append(case.error_of(at_rest, truth))
    if cold is not None:
        anew = growth.asked(cold)
        growth.require_right(anew, truth)
        recomputed = case.recompute(growth.edges)
        instants.cold.append(anew.seconds)
        instants.built.append(recomputed.all_s)
        instants.given.append(recomputed.computing_s)


def measure_added(report: Report, settings: Settings, clock: Clock, case: Ranks) -> None:
    """Measure the rows of Table 3: more is added at once."""
    first = int(len(case.edges) / math.prod(1 + percent / 100 for percent in ADDED_PERCENT))
    repeats = 1 if settings.smoke else _REPEATS
    plain = _recomputed(report, case, first, repeats)
    for workers in settings.workers:
        of = f"{workers} worker{'s' * (workers > 1)}"
        answered: dict[int, list[float]] = {percent: [] for percent in ADDED_PERCENT}
        for _ in range(repeats):
            with LiveSystem(
                source=0, workers=workers, delay_bound=_DELAY_BOUND, programs=[case.live()]
            ) as system:
                growth = _Growth(case, system, clock, first)
                growth.asked()  # which allocates what the next ones use
                for percent in ADDED_PERCENT:
                    start = time.perf_counter()
                    growth.admit(_more(len(growth.edges), percent))
                    answer = growth.asked()
                    answered[percent].append(time.perf_counter() - start)
                    growth.require_right(answer, case.truth(growth.edges))
                    growth.rest()
        for percent in ADDED_PERCENT:
            name = f"{percent} % more, {of}"
            best = min(answered[percent])
            report.add(f"answered, {name}", best, "s", of=answered[percent])
            report.add(f"  power iteration of an edge list over that, {name}", plain[percent] / best, "x")
    for system_name, (least, greatest) in PAPER_S.items():
        for which, seconds in (("least", least), ("greatest", greatest)):
            report.quote(
                f"{system_name}, {which}",
                seconds,
                "s",
                kind=Kind.PUBLISHED,
                source=PAPER,
                hardware=PAPER_HARDWARE,
            )


def _recomputed(report: Report, case: Ranks, first: int, repeats: int) -> dict[int, float]:
    """Report what plain power iteration takes after each addition; return its least time of an edge list."""
    case.recompute(case.edges[:16])  # compiled before anything is timed
    there, least = first, {}
    before = case.recompute(case.edges[:there]).values
    for percent in ADDED_PERCENT:
        there += _more(there, percent)
        edges = case.edges[:there]
        cold = [case.recompute(edges) for _ in range(repeats)]
        warm = [case.recompute(edges, before) for _ in range(repeats)]
        before = cold[0].values
        for name, seconds in (
            ("of an edge list", [run.all_s for run in cold]),
            ("graph given", [run.computing_s for run in cold]),
            ("graph given, from the ranks before", [run.computing_s for run in warm]),
        ):
            report.add(f"power iteration {name}, {percent} % more", min(seconds), "s", of=seconds)
        least[percent] = min(run.all_s for run in cold)
    return least


def _more(there: int, percent: int) -> int:
    return there * percent // 100
