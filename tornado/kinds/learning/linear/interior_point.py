"""A primal-dual interior point method for the hinge loss where features are few, for what dual ascent does not come to an end with.

The dual is a quadratic programme over a box, of as many variables as points, whose matrix has the rank of the features: with t = y p, what p
and the multipliers of its bounds do is eliminated point by point, and a system of as many unknowns as features is left (Ferris and
Munson, "Interior-point methods for massive support vector machines", 2002). Steps are those of Mehrotra's predictor and corrector. It takes
some tens of passes, however small the penalty is, of which each is as long as the square of the features; dual ascent takes few passes or
very many. The certificate is that of all dual variables, after each step.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from ....kernel_modules import load_module, module_text
from ....points import SHARDS, ShardPoints
from ..rounds import Round
from . import class_kernel, dense_kernel, interior_kernel, sparse_kernel
from .interior_kernel import (
    LOWER,
    PRODUCTS,
    SHARE,
    STATE_COLUMNS,
    SYSTEM_NUMBERS,
    UPPER,
    WEIGHTS,
)
from .linear_gap import PassTotals, gap_of
from .linear_objective import LinearObjective, Vector, features_of, frozen
from .newton import solved

MOST_FEATURES: Final = 300
SYSTEM: Final = "interior.system"
STEPS: Final = "interior.steps"
CERTIFY: Final = "interior.certify"
KEEP: Final = "interior.keep"
_MOST_STEPS: Final = 100
_MOST_IN_VAIN: Final = 15  # steps after which the bound is no better
_WHOLE: Final = 0.995  # of what a step may go at most


class InteriorWork:
    """One worker's side: the state of its points, and how its shards answer.

    ``interior.system``
        Of arrays (w, b) and the number (how much of the step is gone): `interior_kernel.add_system`, as [SYSTEM_NUMBERS + k * k + 2 * k].
    ``interior.steps``
        Of arrays (w, b, change of w, change of b) and numbers (middle, whether corrected): how much of the step each shard may go, what its
        squares add, and sums: [SHARDS + 1 + 2 * k]; see `interior_kernel.find_steps`.
    """

    def __init__(self, model: LinearObjective, shards: Mapping[int, ShardPoints]) -> None:
        self._model, self._shards = model, shards
        self._kernel = _interior_module(sparse=model.sparse)
        self._size = model.features + model.intercept
        self._states: dict[int, Vector] = {}
        self.duals: dict[int, Vector] = {}

    def width(self, asked: Round) -> int:
        """How many numbers a shard answers with."""
        size = self._size
        return SYSTEM_NUMBERS + size * size + 2 * size if asked.task == SYSTEM else SHARDS + 1 + 2 * size

    def add(self, asked: Round, shard: int, total: Vector) -> None:
        """Add the answer of a shard."""
        points, size, model = self._shards[shard], self._size, self._model
        if shard not in self._states:
            state = np.zeros((STATE_COLUMNS, len(points.rows)))
            # At w = 0 this fulfils all but what p and w have to do with each other.
            state[SHARE], state[LOWER], state[UPPER] = 0.5, 1.0, 2.0
            self._states[shard], self.duals[shard] = state, np.zeros(len(points.born))
        columns = features_of(points), points.rows, points.label, points.weight, *map(float, model.classes)
        there: list[Any] = [
            frozen(array) if place % 2 == 0 else float(array[0]) for place, array in enumerate(asked.arrays)
        ]
        state = self._states[shard]
        if asked.task == SYSTEM:
            matrix, sums = total[SYSTEM_NUMBERS : -2 * size], total[-2 * size :]
            self._kernel.add_system(
                *columns, *there, state, asked.numbers[0], self.duals[shard], model.intercept, total[:SYSTEM_NUMBERS],
                matrix.reshape(size, size), sums.reshape(2, size),
            )  # fmt: skip
            return
        middle, is_corrected = asked.numbers
        sums = total[-2 * size :].reshape(2, size)
        most, products = self._kernel.find_steps(
            *columns, *there, middle, is_corrected > 0.0, state, model.intercept, sums
        )
        total[shard] += min(most, 1e300)
        total[SHARDS] += products


class Reached(NamedTuple):
    """Weights, float64[d], and an intercept, their objective, and what dual variables prove that no objective is below."""

    weights: Vector
    intercept: float
    primal: float
    dual: float


Steps = Generator[Round, Vector, Reached | None]


def interior_point(model: LinearObjective, weight: float, tolerance: float, least: float) -> Steps:
    """Minimise the objective of a model of the hinge without l1, of `InteriorWork`.

    Parameters
    ----------
    model
        With l2 above 0.
    weight
        W, above 0.
    tolerance, least
        It ends when the bound is at most ``max(tolerance * primal, least)``, or gets no better.

    Returns
    -------
    Reached or None
        The least objective of all steps, and the greatest dual; None: there was no step.
    """
    size = model.features + model.intercept
    here, step, length = np.zeros(size), np.zeros(size), 0.0
    found: Reached | None = None
    best, in_vain = math.inf, 0
    for number in range(_MOST_STEPS):
        here = here + length * step
        place = _parted(here, model)
        total = yield Round(SYSTEM, (length,), place)
        if number:
            totals = PassTotals.of((yield Round(CERTIFY, arrays=place)), model)
            gap = gap_of(totals, place[0], float(place[1][0]), model)
            if gap.dual is None:
                return found
            found = _better(found, Reached(place[0], float(place[1][0]), gap.primal, gap.dual))
            bound = found.primal - found.dual
            in_vain = 0 if bound < 0.9 * best else in_vain + 1
            best = min(best, bound)
            if bound <= max(tolerance * found.primal, least) or in_vain >= _MOST_IN_VAIN:
                return found
        products, weights = total[PRODUCTS], total[WEIGHTS]
        matrix, sums = (
            total[SYSTEM_NUMBERS : -2 * size].reshape(size, size),
            total[-2 * size :].reshape(2, size),
        )
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        penalties = np.zeros(size)
        penalties[: model.features] = weight * model.l2
        matrix[np.diag_indices(size)] += penalties + 1e-300
        right = sums[0] - penalties * here + sums[1]
        if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
            return found
        step = solved(matrix, right)
        answer = yield Round(STEPS, (0.0, 0.0), (*place, *_parted(step, model)))
        length = min(1.0, float(answer[:SHARDS].min()))
        reached = (1.0 - length) * products + length * length * answer[SHARDS]
        middle = max(0.0, reached / products) ** 3 * products / (2.0 * weights)
        more = answer[-2 * size :].reshape(2, size)
        step = solved(matrix, right + middle * more[0] + more[1])
        answer = yield Round(STEPS, (middle, 1.0), (*place, *_parted(step, model)))
        length = min(1.0, _WHOLE * float(answer[:SHARDS].min()))
        if not (np.isfinite(step).all() and length > 0.0):
            return found
    return found


def _better(known: Reached | None, new: Reached) -> Reached:
    """Near the end of what roundings allow, steps may go up again."""
    if known is None:
        return new
    least = known if known.primal < new.primal else new
    return least._replace(dual=max(known.dual, new.dual))


def warm_interior(model: LinearObjective, shards: Mapping[int, ShardPoints]) -> None:
    """Call what is compiled once, on a few points."""
    work, place = InteriorWork(model, shards), _parted(np.zeros(model.features + model.intercept), model)
    asked = Round(SYSTEM, (0.0,), place), Round(STEPS, (0.0, 0.0), (*place, *place))
    for one in asked:
        for shard in shards:
            work.add(one, shard, np.zeros(work.width(one)))


def _parted(vector: Vector, model: LinearObjective) -> tuple[Vector, Vector]:
    """The weights and the intercept, float64[1]."""
    if model.intercept:
        return frozen(vector[:-1].copy()), frozen(vector[-1:].copy())
    return frozen(vector.copy()), frozen(np.zeros(1))


@cache
def _interior_module(*, sparse: bool) -> ModuleType:
    layout = sparse_kernel if sparse else dense_kernel
    title = f"interior points of the hinge loss over {'sparse' if sparse else 'dense'} points"
    return load_module(module_text(title, [layout, class_kernel, interior_kernel], {}))
