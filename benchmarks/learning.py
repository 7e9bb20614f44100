"""How soon is an exact answer there about points of which one in a hundred is new, or gone, beside scikit-learn?

One worker, and one thread of scikit-learn; l2 = 1/n, no intercept. The loop has answered before and is at rest; then one per cent of
the points come, or the oldest one per cent go, and it is asked at once: a question takes from `query()` until `result()` is there. Of
several the least time counts, on both sides. The rival has the same points in memory and finds an objective as near to the optimum as
ours is certified to be: by the solver and the number of iterations that are the soonest, which is tried out beforehand, from scratch and,
where it can, from its own solution for the points before. Each answer is judged by its objective in plain NumPy. Of k-means the rival, asked
the same after each of our questions, is the better of Lloyd and Elkan with one start, by k-means++ or at its own centres before; medians count. Memory is what is resident and the process's own, once the allocator has given back what it keeps of batches;
the points are another process's.
"""  # noqa: D400  # a question

from __future__ import annotations

import ctypes
import gc
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tornado

from . import learning_data as made
from .harness import Clock, Report, Settings, WrongAnswer
from .learning_clusters import CHANGES, measure_clusters
from .learning_data import Floats, Labelled, Sizes
from .learning_rivals import Solved, one_thread, solve, solvers_of, soonest
from .learning_system import BLOCK, Learner, rows_in_another_process
from .memory import own_bytes

_SHARE = 0.01
_REPEATS = 5
_TIGHT = {"logistic": 1e-7, "hinge": 1e-4}
_TIGHT_S = 30.0
_REST_S = 0.05
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of points and a loss, with how many times as fast as the rival an answer is to be, by tolerance."""

    loss: str
    shape: str
    at_least: dict[float, float]

    @property
    def name(self) -> str:
        """In names of figures."""
        return f"{self.loss}, {self.shape}"


CASES = (
    Case("logistic", "dense", {1e-3: 3.0, 1e-6: 3.0}),
    Case("logistic", "sparse", {1e-3: 3.0, 1e-6: 1.5}),
    Case("hinge", "dense", {1e-3: 1.5}),
    Case("hinge", "sparse", {1e-3: 1.5}),
)
SIZES = {"dense": Sizes(1_000_000, 28), "sparse": Sizes(200_000, 100_000, 50)}
_SMOKE_SIZES = {"dense": Sizes(4_000, 28), "sparse": Sizes(3_000, 2_000, 20)}
ADMITTED_AT_LEAST = 1_000_000.0
FORK_AT_MOST_MS = 5.0
POINT_BYTES = 24
POINTS_SHARE = 1.15
TYPES = ("float64", "float32")


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    sizes = _SMOKE_SIZES if settings.smoke else SIZES
    report.data = {
        shape: f"{size.points:,} points of {size.features:,} features" for shape, size in sizes.items()
    }
    # First, as what others leave to the allocator would be taken anew and counted as nothing.
    for value_type in TYPES:
        _measure_memory(report, sizes["dense"], value_type, settings, clock)
    with one_thread():
        for shape, generate in (("dense", made.dense), ("sparse", made.scattered)):
            more = _changed(sizes[shape].points) * (_repeats(settings) + 1)
            size = sizes[shape]
            drawn = generate(Sizes(size.points + more, size.features, size.non_zeros), seed=settings.seed)
            if shape == "dense":
                _measure_admission(report, drawn.part(0, size.points), settings, clock)
                _measure_forks(report, drawn.part(0, size.points), settings, clock)
            for case in CASES:
                if case.shape == shape:
                    for tolerance, at_least in case.at_least.items():
                        _measure_questions(
                            report, case, tolerance, at_least, drawn, size.points, settings, clock
                        )
            del drawn
            gc.collect()
        measure_clusters(report, settings, clock)


def _repeats(settings: Settings) -> int:
    return 1 if settings.smoke else _REPEATS


def _changed(points: int) -> int:
    return max(1, int(points * _SHARE))


# Questions


def _measure_questions(
    report: Report,
    case: Case,
    tolerance: float,
    at_least: float,
    drawn: Labelled,
    count: int,
    settings: Settings,
    clock: Clock,
) -> None:
    l2, step, repeats = 1.0 / count, _changed(count), _repeats(settings)
    program = tornado.LinearModel(
        loss=case.loss, l2=l2, intercept=False, tolerance=tolerance, classes=(-1.0, 1.0)
    )
    name = f"{case.name}, to {tolerance:g}"
    seconds: dict[str, list[float]] = {change: [] for change in CHANGES}
    nearest: dict[str, float] = {}
    first, stop = 0, count
    with Learner(program, drawn.features) as learner:
        learner.insert(0, drawn.part(0, count), clock)
        learner.rest(clock)
        anew, answer = learner.ask(clock)
        require_optimal(name, answer, drawn.part(0, count), case.loss, l2, tolerance)
        report.add(f"{name}, all of them new", anew, "s")
        for place in range(repeats + 1):
            for change in CHANGES:
                learner.rest(clock)
                if change == CHANGES[0]:
                    learner.insert(stop, drawn.part(stop, stop + step), clock)
                    stop += step
                else:
                    learner.remove(first, first + step)
                    first += step
                points = drawn.part(first, stop)
                if place < repeats:
                    taken, answer = learner.ask(clock)
                    seconds[change].append(taken)
                    require_optimal(name, answer, points, case.loss, l2, tolerance)
                else:
                    # For the last time, as near as can be, to know where the optimum is.
                    nearest[change] = _nearest(learner, points, case.loss, l2, clock)
    before = drawn.part(first - step, stop - step)
    live = {CHANGES[0]: drawn.part(first - step, stop), CHANGES[1]: drawn.part(first, stop)}
    for change in CHANGES:
        ours = min(seconds[change])
        report.add(f"{name}, {change}", ours, "s", of=seconds[change])
        target = nearest[change] / (1.0 - tolerance)
        _beside(report, case, f"{name}, {change}", live[change], before, l2, target, ours, at_least, clock)


def require_optimal(
    name: str, answer: Any, points: Labelled, loss: str, l2: float, tolerance: float
) -> float:
    """Return the objective of an answer in plain NumPy.

    Raises
    ------
    WrongAnswer
        It is not what the certificate says, or not as near as was asked for.
    """
    certificate = answer.certificate
    found = made.objective(points, loss, l2, weights_of(answer, points.features.shape[1]))
    if certificate["kind"] != "gap" or not certificate["bound"] <= tolerance:
        raise WrongAnswer(f"{name}: asked for a gap of {tolerance:g}, the certificate is {certificate}")
    if not certificate["dual"] * (1.0 - _SLACK) <= found <= certificate["primal"] * (1.0 + _SLACK):
        raise WrongAnswer(f"{name}: the objective is {found!r}, but the certificate says {certificate}")
    return found


def weights_of(answer: Any, features: int) -> Floats:
    """The weights of an answer, float64[features]."""
    table = answer.to_numpy()
    weights = np.zeros(features)
    is_weight = table["vertex"] >= 0
    weights[table["vertex"][is_weight]] = table["value"][is_weight]
    return weights


def _nearest(learner: Learner, points: Labelled, loss: str, l2: float, clock: Clock) -> float:
    """The least objective that is found in a while."""
    _, answer = learner.ask(clock, tolerance=_TIGHT[loss], deadline_s=_TIGHT_S)
    return made.objective(points, loss, l2, weights_of(answer, points.features.shape[1]))


def _beside(
    report: Report,
    case: Case,
    name: str,
    points: Labelled,
    before: Labelled,
    l2: float,
    target: float,
    ours: float,
    at_least: float,
    clock: Clock,
) -> None:
    solvers = solvers_of(case.loss, is_sparse=case.shape == "sparse")
    anew = soonest(solvers, points, loss=case.loss, l2=l2, target=target, clock=clock)
    if anew is None:
        raise WrongAnswer(f"{name}: no solver of the rival comes as near as {target!r}")
    _tell(report, f"scikit-learn from scratch, {name}", anew, ours, at_least)
    if not any(solver.goes_on for solver in solvers):
        return
    begin = solve(anew.solver, anew.iterations, before, l2=l2).weights
    warm = soonest(solvers, points, loss=case.loss, l2=l2, target=target, clock=clock, begin=begin)
    if warm is not None:
        _tell(report, f"scikit-learn from its weights before, {name}", warm, ours, None)


def _tell(report: Report, name: str, solved: Solved, ours: float, at_least: float | None) -> None:
    report.add(f"  {name}", min(solved.seconds), "s", of=solved.seconds)
    report.data[name] = solved.text
    report.add(f"  over ours, {name}", min(solved.seconds) / ours, "x", at_least=at_least)


# The main loop, its forks, and memory


def _measure_admission(report: Report, points: Labelled, settings: Settings, clock: Clock) -> None:
    """From before the first point until each was used in a step."""
    program = tornado.LinearModel(loss="logistic", l2=1.0 / len(points), intercept=False, classes=(-1.0, 1.0))
    rates = []
    for _ in range(1 if settings.smoke else 3):
        with Learner(program, points.features) as learner:
            learner.insert(len(points), points.part(0, 1_000), clock)
            learner.rest(clock)
            learner.remove(len(points), len(points) + 1_000)
            learner.rest(clock)
            tested = learner.tested
            start = time.perf_counter()
            learner.insert(0, points, clock)
            learner.wait_used(clock)
            rates.append(len(points) / (time.perf_counter() - start))
            learner.rest(clock)
            if learner.tested - tested != len(points):
                raise WrongAnswer(f"of {len(points)} points {learner.tested - tested:g} were used")
    report.add(
        "points admitted a second, each used in a step, dense",
        max(rates),
        "points/s",
        at_least=ADMITTED_AT_LEAST,
        of=rates,
    )


def _measure_forks(report: Report, points: Labelled, settings: Settings, clock: Clock) -> None:
    """From the call until the branch has what it begins with."""
    program = tornado.LinearModel(loss="logistic", l2=1.0 / len(points), classes=(-1.0, 1.0))
    with Learner(program, points.features) as learner:
        learner.insert(0, points, clock)
        learner.ask(clock)
        learner.rest(clock)
        seconds = []
        for _ in range(3 if settings.smoke else 20):
            time.sleep(_REST_S)  # the branch before is over by then, and what it had read is free
            seconds.append(learner.fork(clock))
    report.spread("a fork, dense", seconds, p50_at_most_ms=FORK_AT_MOST_MS, p99=False)


def _measure_memory(report: Report, size: Sizes, value_type: str, settings: Settings, clock: Clock) -> None:
    program = tornado.LinearModel(loss="logistic", l2=1.0 / size.points, classes=(-1.0, 1.0))
    with _rows(size, value_type, settings) as (features, labels):
        with Learner(program, features[:BLOCK]) as learner:  # what is there whatever the size
            learner.insert(0, Labelled(features[:BLOCK], labels[:BLOCK]), clock)
            learner.ask(clock)
        before = _own_bytes()
        with Learner(program, features) as learner:
            learner.insert(0, Labelled(features, labels), clock)
            learner.rest(clock)
            settled = _own_bytes() - before
            counted = learner.memory_bytes
            learner.ask(clock)
            asked = _own_bytes() - before
    given = size.features * np.dtype(value_type).itemsize
    allowed = (POINTS_SHARE * given + POINT_BYTES) * size.points
    name = f"dense, {value_type}"
    report.add(f"bytes a point as given, {name}", given, "B")
    report.add(f"  bytes a point, as the loop counts them, {name}", counted / size.points, "B")
    report.add(f"  bytes a point, resident, {name}", settled / size.points, "B")
    report.add(f"  bytes a point, resident after a question, {name}", asked / size.points, "B")
    report.add(
        f"  share of 1.15 times the bytes of the points and 24 a point, {name}",
        settled / allowed,
        "",
        at_most=1.0,
    )


def _own_bytes() -> int:
    """What is resident, without what Python and the allocator keep of batches that are gone."""
    gc.collect()
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).malloc_trim(0)
    return own_bytes()


@contextmanager
def _rows(size: Sizes, value_type: str, settings: Settings) -> Iterator[tuple[Any, Any]]:
    """Points that this process maps and has not made."""
    with tempfile.TemporaryDirectory(prefix="tornado-points-") as folder:
        place = Path(folder)
        rows_in_another_process(size.points, size.features, value_type, seed=settings.seed, folder=place)
        features, labels = (np.load(place / f"{name}.npy", mmap_mode="r") for name in ("features", "labels"))
        yield features, labels
