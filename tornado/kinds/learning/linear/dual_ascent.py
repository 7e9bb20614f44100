"""Stochastic dual coordinate ascent for linear models, which needs no second derivative, and no more than a sum beside the points.

In a pass workers take turns: each goes over a part of its own points with a copy of v = sum a_i t_i x_i, and says how v has changed, while
the others wait. So several workers need about as many passes as one. (Where all go at once each has to count its changes so many
times as there are workers, or their sum does harm (Ma et al. 2015): that took so many more passes as it saved time, and with an
intercept hundreds of times more. Where points are few and each goes over all of its own at once, those that come first take too much upon them.) Points that are new, with t = 0, are visited alone first. Certificates are passes over the points with the dual variables as they
are: roundings in v cost nothing but time. For the hinge the mean of the last passes is much nearer than any of them, and is tried too.

Where the penalty is small the hinge may take any number of passes. Where features are few an interior point method (`interior_point`) takes
over when as much time is spent as it needs.

An intercept has a penalty of its own, drawn to where it was and not to 0, so that it vanishes (Rockafellar 1976); what is left of
sum a_i t_i then is part of the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidArgument
from ....points import ShardPoints
from ..rounds import Finished, Method, Round, Stopped
from . import interior_point as interior
from .held_duals import HeldDuals, add_duals
from .linear_gap import PassTotals, gap_of
from .linear_objective import LinearObjective, LinearWork, Vector, frozen, shrunk
from .pass_kernel import DUALS, INFEASIBLE, LENGTHS, NUMBERS, TARGET_SQUARES
from .visits import Visits

_ALIGNED: Final = 3
_TURNS: Final = 4  # of each worker in a pass over few points
_MANY: Final = 10_000  # points: of so many one turn of each worker is as good
_NONE: Final = np.empty(0)
_MOST_UNPROVED: Final = 8  # passes between two certificates
_MOST_MEANS: Final = 64
_NEGLIGIBLE: Final = 1e-12
_FEW: Final = 1000  # points
_PATIENCE_OF_FEW, _PATIENCE, _PATIENCE_A_FEATURE = (
    20,
    50,
    4,
)  # passes that take as long as an interior point method


class AscentWork(LinearWork):
    """One worker's side of dual ascent; a `ShardWork`.

    Beside the rounds of `LinearWork` it knows these, where v is float64[d], balance float64[2] (see `ascent_kernel`):

    ``align``
        Weights of the points that take part, how many points there are, and how many of them are new: [3].
    ``sum``, ``clear``
        The sums of a t and of a t x, of all shards of the worker at once: [1 + d]; all t become 0 and so does the answer.
    ``fresh``, ``ascend``
        Of arrays (v, balance) and numbers (W, penalty of the intercept, seed, number, share of the mean, worker, workers, part, parts): how the
        sums of a t and of a t x change when a part of the points of a worker is visited, of new ones or of all: [1 + d]. With a share of 0 no means are kept.
    ``certify``
        As ``pass``, with the dual variables (numbers: 0), or with their means (1).
    ``interior.system``, ``interior.steps``
        See `InteriorWork`; ``interior.certify`` is ``pass`` with its dual variables, and ``interior.keep`` has them take the place of those
        that are held: [1].
    ``settle``
        Means take the place of the dual variables: nothing, [1].

    All shards of the worker are asked in a round, by one and the same `Round` object: a pass is shared out among these calls.

    Parameters
    ----------
    held : mapping of int to HeldDuals
        Of each shard of the worker; written.
    total : float64[1 + d], optional
        The sums of a t and of a t x that the held dual variables have on this worker, where they are known.

    Attributes
    ----------
    total
        What is known of these sums now; None: nothing is.
    unsettled : dict of int to float64[rows]
        The dual variables whose place means have taken at the end: of a shard of which they have.
    """

    def __init__(
        self,
        model: LinearObjective,
        shards: Mapping[int, ShardPoints],
        held: Mapping[int, HeldDuals],
        total: Vector | None = None,
    ) -> None:
        super().__init__(model, shards)
        self.held = held
        self.total = None if total is None else total.copy()
        self.unsettled: dict[int, Vector] = {}
        self._fresh: dict[int, NDArray[np.int32]] = {}
        self._visits: Visits | None = None
        self._way: _Way | None = None
        self._asked: Round | None = None
        self._interior: interior.InteriorWork | None = None

    def width(self, asked: Round) -> int:
        """How many numbers a shard answers with."""
        if asked.task in {interior.SYSTEM, interior.STEPS}:
            if self._interior is None:
                self._interior = interior.InteriorWork(self.model, self.shards)
            return self._interior.width(asked)
        if asked.task == interior.CERTIFY:
            return NUMBERS + self.model.sides * self.model.features
        if asked.task == interior.KEEP:
            return 1
        if asked.task == "align":
            return _ALIGNED
        if asked.task in {"sum", "clear", "fresh", "ascend"}:
            return 1 + self.model.features
        if asked.task == "certify":
            return NUMBERS + self.model.sides * self.model.features
        return 1 if asked.task == "settle" else super().width(asked)

    def add(self, asked: Round, shard: int, total: Vector) -> None:
        """Add the answer of a shard."""
        points, held = self.shards[shard], self.held[shard]
        if asked.task == "align":
            self._align(points, held, total)
        elif asked.task == "sum":
            if asked is not self._asked:
                self._asked = asked
                total += self._sum()
        elif asked.task == "clear":
            held.duals[:] = 0.0
            self._visits = None
            self.total = np.zeros(self.width(asked))
        elif asked.task in {"fresh", "ascend"}:
            worker, workers, part, parts = map(int, asked.numbers[-4:])
            if shard % workers == worker and asked is not self._asked:
                self._asked = asked
                self._ascend(asked, part, parts, total)
        elif asked.task == "certify":
            duals = self._all_visits().means_of(shard) if asked.numbers[0] else held.duals
            self.add_pass(points, asked.arrays[0], float(asked.arrays[1][0]), total, duals=duals)
        elif asked.task == "settle":
            self.unsettled[shard] = held.duals.copy()  # the best bound may be of these
            held.duals[:] = self._all_visits().means_of(shard)
            self.total = None
        elif self._interior is not None and asked.task in {interior.SYSTEM, interior.STEPS}:
            self._interior.add(asked, shard, total)
        elif self._interior is not None and asked.task == interior.CERTIFY:
            duals = self._interior.duals[shard]
            self.add_pass(points, asked.arrays[0], float(asked.arrays[1][0]), total, duals=duals)
        elif self._interior is not None and asked.task == interior.KEEP:
            held.duals[: len(points.born)] = self._interior.duals[shard]
            self.total = None
        else:
            super().add(asked, shard, total)

    def _align(self, points: ShardPoints, held: HeldDuals, total: Vector) -> None:
        self._fresh[points.shard], lost = held.align(points)
        negative, positive = map(float, self.model.classes)
        self._kernel.sum_weights(points.rows, points.label, points.weight, negative, positive, total[:1])
        total[1] += len(points)
        total[2] += len(self._fresh[points.shard])
        if lost:
            self.total = None

    def _sum(self) -> Vector:
        """The sums of a t and of a t x on this worker."""
        if self.total is None:
            self.total = np.zeros(1 + self.model.features)
            for shard, points in self.shards.items():
                add_duals(self.model, points, points.rows, self.held[shard].duals, self.total)
        return self.total

    def _ascend(self, asked: Round, part: int, parts: int, total: Vector) -> None:
        """Go the next part of the way of this worker, all of its shards together."""
        if part == 0:
            self._way = self._begun(asked)
        way = self._way
        assert way is not None
        way.totals[0], way.balance[:] = asked.arrays
        for place, rows in way.stretches[
            part * len(way.stretches) // parts : (part + 1) * len(way.stretches) // parts
        ]:
            features, *columns = way.columns[place]
            self._kernel.ascend_rows(features, rows, *columns)
        change = np.append(way.balance[1] - asked.arrays[1][1], way.totals[0] - asked.arrays[0])
        total += change
        if self.total is not None:
            self.total += change
        if part == parts - 1:
            for shard in self.shards:
                self._all_visits().give_back(shard)

    def _all_visits(self) -> Visits:
        if self._visits is None:
            self._visits = Visits(self._kernel, self.shards, self.held, self._fresh)
        return self._visits

    def _begun(self, asked: Round) -> _Way:
        weight, penalty, seed, number, mean_share, *_ = asked.numbers
        model, visits = self.model, self._all_visits()
        negative, positive = map(float, model.classes)
        if mean_share > 0.0:
            visits.keep_means()
        totals, balance = asked.arrays[0].reshape(1, -1).copy(), asked.arrays[1].copy()
        columns = [
            (
                one.features,
                one.label,
                one.weight,
                negative,
                positive,
                one.duals,
                one.means if mean_share > 0.0 else _NONE,
                mean_share,
                totals,
                balance,
                1.0 / (weight * model.l2),
                1.0 / (weight * penalty) if model.intercept else 0.0,
                model.l1 * weight,
            )
            for one in visits.visited
        ]
        stretches = visits.parts(asked.task, int(seed), int(number))
        return _Way(columns, stretches, totals, balance)


@dataclass(slots=True)
class _Way:
    """A pass of a worker over its points, a stretch after another."""

    columns: list[
        tuple[Any, ...]
    ]  # of each of `Visits.visited`: features, and what else its visits take beside rows
    stretches: list[tuple[int, NDArray[np.int32]]]
    totals: Vector
    balance: Vector


def dual_ascent(
    model: LinearObjective,
    *,
    intercept: float = 0.0,
    tolerance: float = 1e-3,
    most_rounds: int = 2000,
    seed: int = 0,
    workers: int = 1,
) -> Method:
    """Minimise the objective of a model, of `AscentWork`.

    Parameters
    ----------
    model
        With l2 above 0.
    intercept
        Where to begin; of no effect where the model has none.
    tolerance
        It ends when ``bound <= tolerance * primal``, or below 1e-12 of the mean of y^2.
    most_rounds
        It ends after so many rounds, too.
    seed
        Of the orders of visits.
    workers
        How many have shards, of which each has those of its number modulo this.

    Returns
    -------
    Finished
        Parameters ``weights`` and ``intercept`` (float64[1]); findings ``primal``, ``dual``,
        ``bound``, ``points``, ``passed_over`` and ``passes``.

    Raises
    ------
    InvalidArgument
        l2 is 0.
    """
    if not model.l2 > 0.0:
        raise InvalidArgument("l2 is 0, but dual ascent divides by it")
    return _Ascent(model, tolerance, seed, workers).run(intercept, most_rounds)


@dataclass(slots=True)
class _Best:
    """The best that is proved: a vector, and a bound of the optimum, which need not be of the same pass."""

    weights: Vector
    intercept: float
    primal: float = math.inf
    dual: float = -math.inf
    is_mean: bool = False

    @property
    def bound(self) -> float:
        return max(0.0, self.primal - self.dual)


_Asking = Generator[Round, Vector, None]


class _Ascent:
    def __init__(self, model: LinearObjective, tolerance: float, seed: int, workers: int) -> None:
        self.model, self.tolerance, self.seed, self.workers = model, tolerance, seed, workers
        self.weight, self.rounds, self.passes, self.penalty = 0.0, 0, 0, model.l2
        self.total: Vector = np.zeros(model.features)
        self.balance: Vector = np.zeros(2)
        self.mean_total, self.mean_balance, self.mean_intercept, self.means = self.total, 0.0, 0.0, 0
        self.best = _Best(np.zeros(model.features), 0.0)
        self.totals: PassTotals | None = None
        self.has_been_inside, self.turns = False, 1
        self.proofs: list[tuple[int, float]] = []  # passes, and how far off they were

    def run(self, intercept: float, most_rounds: int) -> Method:
        model = self.model
        self.weight, points, fresh = (yield Round("align")).tolist()
        self.turns = 1 if self.workers == 1 or points >= _MANY else _TURNS
        if not self.weight > 0.0:
            return self._finished()
        self.balance[0] = intercept if model.intercept else 0.0
        self._take(np.asarray((yield Round("sum"))))
        yield from self._measure()
        if fresh:
            yield from self._visit("fresh", 0.0)
        try:
            yield from self._climb(most_rounds)
        except Stopped:
            if self.totals is None:
                raise  # nothing is proved yet
            return self._finished()
        if self.best.is_mean:
            with suppress(Stopped):  # it is proved all the same
                yield Round("settle")
        return self._finished()

    def _climb(self, most_rounds: int) -> _Asking:
        while not self._is_done() and self.rounds < most_rounds:
            if self._is_slow and (yield from self._go_inside()):
                return
            for _ in range(self._unproved()):
                yield from self._pass()
            yield from self._prove()

    @property
    def _is_slow(self) -> bool:
        """Whether an interior point method would have been at its end by now."""
        model = self.model
        if (
            model.loss != "hinge"
            or model.l1 > 0.0
            or model.features > interior.MOST_FEATURES
            or self.has_been_inside
        ):
            return False
        rows = 0 if self.totals is None else self.totals.rows
        return self.passes >= (
            _PATIENCE_OF_FEW if rows <= _FEW else _PATIENCE + _PATIENCE_A_FEATURE * model.features
        )

    def _go_inside(self) -> Generator[Round, Vector, bool]:
        """Have the interior point method find the optimum; returns whether its answer is the better one, to which nothing can be added."""
        self.has_been_inside = True
        found = yield from interior.interior_point(self.model, self.weight, self.tolerance, self._negligible)
        if found is None:
            return False
        if found.primal - found.dual >= self.best.bound:
            return False
        yield Round(interior.KEEP)
        self.best = _Best(*found)
        return True

    def _visit(self, task: str, mean_share: float) -> _Asking:
        """Have the workers visit points, one after the other."""
        self.rounds += 1
        numbers = (self.weight, self.penalty, float(self.seed), float(self.rounds), mean_share)
        parts = self.turns
        for part, worker in product(range(parts), range(self.workers)):
            arrays = frozen(self.total.copy()), frozen(self.balance.copy())
            turn = (float(worker), float(self.workers), float(part), float(parts))
            self._take((yield Round(task, (*numbers, *turn), arrays)))

    def _take(self, change: Vector) -> None:
        self.total = self.total + change[1:]
        self.balance[1] += float(change[0])

    def _measure(self) -> _Asking:
        """Let the intercept be as hard to move as a feature is: its penalty is what makes it converge, and has no part in the optimum."""
        if self.model.intercept:
            weights, intercept = self._place()
            asked = Round("certify", (0.0,), (frozen(weights), frozen(np.array([intercept]))))
            totals = PassTotals.of((yield asked), self.model)
            if totals.numbers[INFEASIBLE] > 0.0:
                yield from self._clear()
            mean = float(totals.of_sides(LENGTHS).sum()) / self.weight
            self.penalty = max(self.model.l2 / mean, 1e-300) if mean > 0.0 else self.model.l2

    def _clear(self) -> _Asking:
        yield Round("clear")
        self.total, self.balance[1], self.means = np.zeros(self.model.features), 0.0, 0

    def _pass(self) -> _Asking:
        is_hinge = self.model.loss == "hinge"
        if self.means > _MOST_MEANS or self.means > max(4, self.passes // 2):
            self.means = 0
        self.means += 1
        balance = float(self.balance[1])
        yield from self._visit("ascend", 1.0 / self.means if is_hinge else 0.0)
        self.passes += 1
        moved = abs(float(self.balance[1]) - balance)
        _, intercept = self._place()
        if is_hinge:
            share = 1.0 / self.means
            before = (self.mean_total, self.mean_balance, self.mean_intercept) if self.means > 1 else None
            self.mean_total = self.total if before is None else before[0] + share * (self.total - before[0])
            now = float(self.balance[1]), intercept
            self.mean_balance, self.mean_intercept = (
                now
                if before is None
                else (before[1] + share * (now[0] - before[1]), before[2] + share * (now[1] - before[2]))
            )
        if self.model.intercept and moved <= 0.5 * abs(float(self.balance[1])):
            self.balance[0] = intercept

    def _place(self) -> tuple[Vector, float]:
        intercept = float(self.balance[0] + self.balance[1] / (self.weight * self.penalty))
        return self._weights_of(self.total), intercept if self.model.intercept else 0.0

    def _weights_of(self, total: Vector) -> Vector:
        reached = total / self.weight
        if self.model.l1 > 0.0:
            reached = shrunk(reached, self.model.l1)
        return np.asarray(reached / self.model.l2)

    def _prove(self) -> _Asking:
        """Take what a pass proves into the best."""
        yield from self._prove_at(*self._place(), is_mean=False)
        if self.model.loss == "hinge" and self.means > 1 and not self._is_done():
            mean = self.mean_intercept if self.model.intercept else 0.0
            yield from self._prove_at(self._weights_of(self.mean_total), mean, is_mean=True)
        self.proofs.append((self.passes, self.best.bound / max(self.best.primal, 1e-300)))

    def _prove_at(self, weights: Vector, intercept: float, *, is_mean: bool) -> _Asking:
        arrays = frozen(weights), frozen(np.array([intercept]))
        self.rounds += 1
        totals = PassTotals.of((yield Round("certify", (float(is_mean),), arrays)), self.model)
        if totals.numbers[INFEASIBLE] > 0.0 and not is_mean:
            yield from self._clear()
        elif not is_mean:  # summed anew, so neither roundings last nor what was given wrongly
            plus, minus = totals.of_sides(DUALS).tolist()
            self.total, self.balance[1] = totals.sums.sum(0), plus - minus
        gap, best = gap_of(totals, weights, intercept, self.model), self.best
        self.totals = totals
        if gap.primal < best.primal:
            best.weights, best.intercept, best.primal, best.is_mean = weights, intercept, gap.primal, is_mean
        if gap.dual is not None:
            best.dual = max(best.dual, gap.dual)

    def _is_done(self) -> bool:
        if self.totals is None or not math.isfinite(self.best.bound):
            return False
        return self.best.bound <= max(self.tolerance * self.best.primal, self._negligible)

    @property
    def _negligible(self) -> float:
        squares = 0.0 if self.totals is None else float(self.totals.numbers[TARGET_SQUARES])
        return _NEGLIGIBLE * squares / self.weight

    def _unproved(self) -> int:
        """How many passes to make before the next certificate, as the last two promise."""
        is_hinge = self.model.loss == "hinge"
        if len(self.proofs) < 2:
            return 2 if is_hinge else 1
        (first, far), (last, near) = self.proofs[-2:]
        if not 0.0 < near < far:
            return min(_MOST_UNPROVED, 1 + self.passes // 4) if is_hinge else 1
        missing = math.log(max(near, 1e-300) / max(self.tolerance, 1e-300)) / (
            math.log(far / near) / (last - first)
        )
        return int(min(_MOST_UNPROVED, max(1.0, missing)))

    def _finished(self) -> Finished:
        best, findings = (
            self.best,
            {"primal": 0.0, "dual": 0.0, "bound": 0.0, "points": 0.0, "passed_over": 0.0},
        )
        if self.totals is not None:
            findings = {
                "primal": best.primal,
                "points": float(self.totals.rows),
                "passed_over": float(self.totals.passed_over),
            }
            if math.isfinite(best.dual):
                findings |= {"dual": best.dual, "bound": best.bound}
        findings["passes"] = float(self.passes)
        parameters = {"weights": best.weights, "intercept": np.array([best.intercept])}
        return Finished(parameters, findings, is_converged=self._is_done() or not self.weight > 0.0)
