"""What do rates, delay bounds and batches do to learners, as the Tornado paper asks?

Points are generated; an SVM (dense, 28 features) and k-means. *Figures 6 and 7*: points come steadily, the oldest go, and half way there is
a drift; the objective of the main loop is measured on points that it does not have, of the law of that time; then a question is
asked. *Figures 8a and 8b*: all points come at once to two workers, with each delay bound; in 8b one worker pauses before each
step. *Figure 5* and *Table 3*: see `learning_growth.py`; times are from before the first new point until the answer.
"""  # noqa: D400  # a question

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import numpy as np

from . import learning_growth
from .delay_bounds import DELAY_BOUNDS, bound_name
from .figure_learners import CLASSES, L2, Clusters, Machine, SlowedModel
from .harness import Clock, Report, Settings
from .learning_data import Floats, Labelled, Sizes, objective
from .learning_rivals import one_thread
from .learning_system import Learner

RATES = (10.0, 1.0, 0.1, 0.01)
RULES = {"fixed": "figure 6", "bold": "figure 7"}
WORKERS = 2
PAUSE_S = 0.005
_FEATURES = 28
_HELD = 10_000
_LOOK_S = 0.02
_POINTS_SHOWN = 30


@dataclass(frozen=True, slots=True)
class _Shape:
    """How much is measured."""

    points: int
    window: int
    seconds: float
    batch: int
    at_once: int
    watched_s: float
    clusters: int
    rates: tuple[float, ...]
    bounds: tuple[int | None, ...]


_WHOLE = _Shape(160_000, 40_000, 8.0, 400, 200_000, 4.0, 20, RATES, DELAY_BOUNDS)
_SMOKE = _Shape(4_000, 1_000, 0.4, 100, 4_000, 0.2, 4, RATES, DELAY_BOUNDS)


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    shape = _SMOKE if settings.smoke else _WHOLE
    report.data |= {
        "points": f"{shape.points:,} in {shape.seconds:g} s, of which {shape.window:,} stay",
        "at once": shape.at_once,
        "pause": f"{PAUSE_S * 1e3:g} ms",
    }
    with one_thread():
        for rule, figure in RULES.items():
            for rate in shape.rates:
                _drifting(report, f"{figure}, rate {rate:g}", rule, rate, shape, settings.seed, clock)
        for figure, pause_s in (("figure 8a", 0.0), ("figure 8b", PAUSE_S)):
            for bound in shape.bounds:
                _at_once(
                    report, f"{figure}, {bound_name(bound)}", bound, pause_s, shape, settings.seed, clock
                )
        machine = Machine(Sizes(shape.at_once, _FEATURES), seed=settings.seed, clock=clock)
        clusters = Clusters(Sizes(shape.at_once, 16), shape.clusters, seed=settings.seed)
        for case in (machine, clusters):
            learning_growth.measure_epochs(report, settings, clock, case)
            learning_growth.measure_added(report, settings, clock, case)
        learning_growth.quote_paper(report)


class Look:
    """Measures the objective of a main loop now and then, on a thread of its own, on points that it does not have.

    Parameters
    ----------
    learner
        Whose loop is read.
    held
        Returns the points of now.

    Attributes
    ----------
    seconds, objectives
        What was measured, since the context began.
    """

    def __init__(self, learner: Learner, held: Callable[[], Labelled]) -> None:
        self._learner, self._held = learner, held
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._begun_s = 0.0
        self.seconds: list[float] = []
        self.objectives: list[float] = []

    def __enter__(self) -> Self:
        self._begun_s = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        self.look()

    def look(self) -> None:
        """Measure once more."""
        held = self._held()
        values = self._learner.loop.read().to_numpy()["value"]
        self.seconds.append(time.perf_counter() - self._begun_s)
        self.objectives.append(objective(held, "hinge", L2, values))

    def shown(self) -> dict[str, list[float]]:
        """Return some of it, evenly."""
        places = np.unique(np.linspace(0, len(self.seconds) - 1, _POINTS_SHOWN).astype(int))
        return {
            "seconds": [self.seconds[place] for place in places],
            "objective": [self.objectives[place] for place in places],
        }

    def _run(self) -> None:
        while not self._is_over.wait(_LOOK_S):
            self.look()


@dataclass(slots=True, eq=False)
class _Law:
    """Points of one noisy linear law; both laws differ in that only."""

    random: np.random.Generator
    weights: Floats = field(init=False)
    held: Labelled = field(init=False)

    def __post_init__(self) -> None:
        self.weights = self.random.standard_normal(_FEATURES)
        self.held = self.draw(_HELD)

    def draw(self, count: int) -> Labelled:
        features = self.random.standard_normal((count, _FEATURES)) / np.sqrt(_FEATURES)
        noise = 0.5 * self.random.standard_normal(count)
        return Labelled(features, np.where(features @ self.weights + noise > 0, 1.0, -1.0))


def _drifting(
    report: Report, name: str, rule: str, rate: float, shape: _Shape, seed: int, clock: Clock
) -> None:
    """Have points come steadily, whatever the loop does, with a drift half way."""
    random = np.random.default_rng(seed)
    laws = [_Law(random), _Law(random)]
    halves = [law.draw(shape.points // 2) for law in laws]
    law = 0
    program = _model(rule=rule, rate=rate)
    with Learner(program, halves[0].features) as learner, Look(learner, lambda: laws[law].held) as look:
        begun_s = time.perf_counter()
        for first in range(0, shape.points, shape.batch):
            due_s = begun_s + shape.seconds * first / shape.points
            time.sleep(max(0.0, due_s - time.perf_counter()))
            law, place = divmod(first, shape.points // 2)
            learner.insert(first, halves[law].part(place, place + shape.batch), clock)
            if first >= shape.window:
                learner.remove(first - shape.window, first - shape.window + shape.batch)
        look.look()
        asked_s, answer = learner.ask(clock)
        optimum = objective(laws[1].held, "hinge", L2, answer.to_numpy()["value"])
    report.add(f"asked at the end, {name}", asked_s * 1e3, "ms")
    report.add(f"  objective of the main loop at the end, {name}", look.objectives[-1], "")
    report.add(f"  objective of the answer at the end, {name}", optimum, "")
    report.add_series(name, **look.shown())


def _model(**how: Any) -> SlowedModel:
    return SlowedModel(loss="hinge", l2=L2, intercept=False, classes=CLASSES, tolerance=1e-3, **how)


def _at_once(
    report: Report, name: str, bound: int | None, pause_s: float, shape: _Shape, seed: int, clock: Clock
) -> None:
    """Have all points come at once, and watch for a while."""
    law = _Law(np.random.default_rng(seed))
    points = law.draw(shape.at_once)
    # A rate that goes down by itself would hide what staleness does.
    program = _model(rule="fixed", rate=1.0, pause_s=pause_s)
    with Learner(program, points.features, workers=WORKERS, delay_bound=bound) as learner:
        with Look(learner, lambda: law.held) as look:
            learner.insert(0, points, clock)
            learner.loop.wait_idle(shape.watched_s)
        statistics = learner.loop.statistics()
        for what in ("iteration", "updates", "prepares"):
            report.add(f"  {what}, {name}", getattr(statistics, what), "")
    report.add(f"objective at the end, {name}", look.objectives[-1], "")
    report.add_series(name, **look.shown())
