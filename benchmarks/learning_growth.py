"""Figure 5 and Table 3 of the Tornado paper for learners, by our reading: a question to a loop beside computing the answer anew.

*Figure 5*: half of the points are there; then more come, by epochs. At the end of each a question is asked at once: a branch that begins with
what the main loop has. Then the batch methods: a branch that begins with nothing, and scikit-learn. *Table 3*: so many per cent are
added at once to what is there. The time is from before the first new point until the answer.
"""

from __future__ import annotations

import math
import time
from typing import Any

from .figure_learners import Case
from .harness import Clock, Kind, Report, Settings, quantile
from .learning_data import Labelled
from .learning_system import Learner
from .over_time import ADDED_PERCENT, PAPER_HARDWARE

EPOCH_SHARES = {"1 %": 0.01, "0.1 %": 0.001}
_BESIDE = "1 %"  # the batch methods are timed at the end of these epochs
_EPOCHS = 10
_REPEATS = 3

PAPER = "Shi, Cui, Shao and Tong: Tornado, SIGMOD 2016, Table 3, {} after 1 to 20 % of the data"
PAPER_S = {
    "SVM": {"Tornado of the paper": (6.0, 8.0), "systems that the paper compares with": (31.0, 67.0)},
    "k-means": {"Tornado of the paper": (64.0, 97.0), "systems that the paper compares with": (154.0, 159.0)},
}
"""Least and greatest seconds."""


def measure_epochs(report: Report, settings: Settings, clock: Clock, case: Case) -> None:
    """Measure Figure 5 for one learner, on one worker: the rival has one thread."""
    epochs = 2 if settings.smoke else _EPOCHS
    half = len(case.points) // 2
    with (
        Learner(case.live(), case.points.features) as live,
        Learner(case.cold(), case.points.features) as cold,
    ):
        growth, beside = _Growth(case, live, clock, half), _Growth(case, cold, clock, half)
        growth.asked()
        beside.asked()
        for name, share in EPOCH_SHARES.items():
            columns: dict[str, list[float]] = {"points": [], "asked": [], "cold": [], "rival": []}
            for _ in range(epochs):
                growth.live.rest(clock)
                growth.more(max(2, int(len(case.points) * share)))
                columns["points"].append(growth.count)
                columns["asked"].append(growth.asked())
                if name == _BESIDE:
                    growth.live.rest(clock)
                    beside.more(growth.count - beside.count)
                    beside.live.rest(clock)
                    columns["cold"].append(beside.asked())
                    columns["rival"].append(case.recompute(growth.points))
            _spread(report, f"asked, {case.name}, epochs of {name}", columns["asked"])
            if name == _BESIDE:
                _spread(report, f"a branch from nothing, {case.name}", columns["cold"])
                _spread(report, f"{case.rival} from scratch, {case.name}", columns["rival"])
                report.add_series(f"figure 5, {case.name}", **columns)


def measure_added(report: Report, settings: Settings, clock: Clock, case: Case) -> None:
    """Measure the rows of Table 3: more is added at once."""
    first = int(len(case.points) / math.prod(1 + percent / 100 for percent in ADDED_PERCENT))
    repeats = 1 if settings.smoke else _REPEATS
    theirs: dict[int, float] = {}
    there = first
    for percent in ADDED_PERCENT:
        there += there * percent // 100
        seconds = [case.recompute(case.points.part(0, there)) for _ in range(repeats)]
        theirs[percent] = min(seconds)
        report.add(f"{case.rival} from scratch, {case.name}, {percent} % more", min(seconds), "s", of=seconds)
    for workers in settings.workers:
        answered: dict[int, list[float]] = {percent: [] for percent in ADDED_PERCENT}
        for _ in range(repeats):
            with Learner(case.live(), case.points.features, workers=workers) as learner:
                growth = _Growth(case, learner, clock, first)
                growth.asked()
                for percent in ADDED_PERCENT:
                    learner.rest(clock)
                    start = time.perf_counter()
                    growth.more(growth.count * percent // 100)
                    _, answer = learner.ask(clock)
                    answered[percent].append(time.perf_counter() - start)
                    case.require_right(answer, growth.points)
        of = f"{workers} worker{'s' * (workers > 1)}"
        for percent, several in answered.items():
            name = f"{case.name}, {percent} % more, {of}"
            report.add(f"answered, {name}", min(several), "s", of=several)
            report.add(f"  {case.rival} from scratch over that, {name}", theirs[percent] / min(several), "x")


def quote_paper(report: Report) -> None:
    """Put the paper's own figures beside."""
    for name, systems in PAPER_S.items():
        for system, ends in systems.items():
            for which, seconds in zip(("least", "greatest"), ends, strict=True):
                report.quote(
                    f"{system}, {name}, {which}",
                    seconds,
                    "s",
                    kind=Kind.PUBLISHED,
                    source=PAPER.format(name),
                    hardware=PAPER_HARDWARE,
                )


class _Growth:
    """Points that come to a loop.

    Attributes
    ----------
    live
        The loop.
    count
        How many are there.
    """

    def __init__(self, case: Case, live: Learner, clock: Clock, first: int) -> None:
        self._case, self._clock = case, clock
        self.live = live
        self.count = 0
        self.more(first)
        live.rest(clock)

    @property
    def points(self) -> Labelled:
        """Those that are there."""
        return self._case.points.part(0, self.count)

    def more(self, count: int) -> None:
        """Have so many come."""
        self.live.insert(self.count, self._case.points.part(self.count, self.count + count), self._clock)
        self.count += count

    def asked(self) -> float:
        """Ask, and judge the answer; return the seconds."""
        answer: Any
        seconds, answer = self.live.ask(self._clock)
        self._case.require_right(answer, self.points)
        return seconds


def _spread(report: Report, name: str, seconds: list[float]) -> None:
    """Keep the median and the 99th percentile, which of so few is the greatest."""
    report.spread(name, seconds, p99=False)
    report.add(f"{name}, p99", quantile(seconds, 0.99) * 1e3, "ms")
