"""scikit-learn beside: for each case the solver, and the setting of it, that is as near to the optimum as ours the soonest.

A solver is tried with 1, 2, 4, … of its iterations until its primal objective is near enough, then with fewer as long as that is so.
The setting that is found so is timed by itself. So a rival does not pay for looking at how near it is, and never makes an iteration too
many: better than anybody could do who did not know the optimum.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .harness import Clock
from .learning_data import Floats, Labelled, objective

_MOST_ITERATIONS = 1 << 12
_MUCH_SLOWER = 3.0
_SMALLEST_S = 0.05

Make = Callable[[int, float], Any]
"""From iterations and C to an estimator of scikit-learn."""


@dataclass(frozen=True, slots=True)
class Solver:
    """A solver of scikit-learn.

    Attributes
    ----------
    name
        For people.
    make
        See `Make`.
    goes_on
        Whether it can begin with given weights.
    """

    name: str
    make: Make
    goes_on: bool


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """What a solver took, in seconds, with how many iterations, and the weights that it found."""

    solver: Solver
    iterations: int
    seconds: tuple[float, ...]
    weights: Floats

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.solver.name}, {self.iterations} iterations"


@contextmanager
def one_thread() -> Iterator[None]:
    """Have libraries of linear algebra, and scikit-learn's own loops, use one thread while the context lasts."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        # That a solver was stopped, as it should be; and how its parameters will be called.
        warnings.simplefilter("ignore")
        yield


def solvers_of(loss: str, *, is_sparse: bool) -> list[Solver]:
    """Return those that come into question, without an intercept, the likely ones first."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if loss == "hinge":
        return [
            Solver(
                "LinearSVC(dual=True)",
                lambda most, c: LinearSVC(
                    loss="hinge",
                    dual=True,
                    C=c,
                    tol=1e-12,
                    max_iter=most,
                    fit_intercept=False,
                    random_state=0,
                ),
                goes_on=False,
            )
        ]

    def logistic(solver: str, *, dual: bool = False) -> Make:
        return lambda most, c: LogisticRegression(
            solver=solver,
            dual=dual,
            C=c,
            tol=1e-12,
            max_iter=most,
            fit_intercept=False,
            warm_start=True,
            random_state=0,
        )

    names = ["lbfgs", "newton-cg", *(["sag"] if is_sparse else ["newton-cholesky"])]
    solvers = [Solver(f"LogisticRegression({name})", logistic(name), goes_on=True) for name in names]
    return [
        *solvers,
        Solver("LogisticRegression(liblinear)", logistic("liblinear"), goes_on=False),
        Solver("LogisticRegression(liblinear, dual)", logistic("liblinear", dual=True), goes_on=False),
    ]


def soonest(
    solvers: list[Solver],
    points: Labelled,
    *,
    loss: str,
    l2: float,
    target: float,
    clock: Clock,
    begin: Floats | None = None,
    repeats: int = 3,
) -> Solved | None:
    """Find the solver and its number of iterations that has an objective of at most `target` the soonest; None where none has."""
    best: Solved | None = None
    for solver in solvers:
        if begin is not None and not solver.goes_on:
            continue
        limit_s = max(_SMALLEST_S, _MUCH_SLOWER * min(best.seconds)) if best is not None else np.inf
        found = _least_iterations(
            solver, points, loss=loss, l2=l2, target=target, begin=begin, limit_s=limit_s, clock=clock
        )
        if found is None:
            continue
        again = [
            solve(solver, found.iterations, points, l2=l2, begin=begin).seconds[0] for _ in range(repeats - 1)
        ]
        found = Solved(solver, found.iterations, (*found.seconds, *again), found.weights)
        if best is None or min(found.seconds) < min(best.seconds):
            best = found
    return best


def solve(
    solver: Solver, iterations: int, points: Labelled, *, l2: float, begin: Floats | None = None
) -> Solved:
    """Fit once, with so many iterations."""
    model = solver.make(iterations, 1.0 / (l2 * len(points)))
    if begin is not None:
        model.coef_ = begin[None, :].copy()
    start = time.perf_counter()
    model.fit(points.features, points.labels)
    seconds = time.perf_counter() - start
    return Solved(solver, iterations, (seconds,), model.coef_.ravel().astype(np.float64))


def _least_iterations(
    solver: Solver,
    points: Labelled,
    *,
    loss: str,
    l2: float,
    target: float,
    begin: Floats | None,
    limit_s: float,
    clock: Clock,
) -> Solved | None:
    """Return the run of the fewest iterations that comes near enough, if one does before it takes longer than `limit_s`."""

    def run(iterations: int) -> tuple[Solved, bool]:
        clock.left_s()
        solved = solve(solver, iterations, points, l2=l2, begin=begin)
        return solved, objective(points, loss, l2, solved.weights) <= target

    few, enough = 0, 1
    found, is_near = run(enough)
    while not is_near:
        if found.seconds[0] > limit_s or enough >= _MOST_ITERATIONS:
            return None
        few, enough = enough, 2 * enough
        found, is_near = run(enough)
    while enough - few > max(1, enough // 32):
        middle = (few + enough) // 2
        tried, is_near = run(middle)
        if is_near:
            enough, found = middle, tried
        else:
            few = middle
    return found
