"""Answers of linear models, verified by plain passes over the points: formulas of the definitions, no kernel of a method.

They say an objective (`primal`), a number that no weights come below (`dual`), and a `bound` of the gap between the two.

- The objective is summed anew from the weights as they are shown, and must be what the answer says, but for roundings.
- The dual is *proved* where a dual point shows it. With t_i for each point, of which the weighted sum is 0 where there is an intercept,
  v = 1/W sum a_i t_i x_i and h(w) = l2/2 |w|^2 + l1 |w|_1, no weights have an objective below

      D(t) = -1/W sum a_i l*(-t_i) - h*(v)                          (Fenchel's duality; Shalev-Shwartz and Zhang 2013)

  Tried in turn: dual variables that the answer brings; minus the slopes at the weights, those of the side that has more scaled down; and minus
  the slopes where the intercept is best for these weights. The checker finds these points itself, or need not believe those that it is given.
- Where none of them shows it, the dual is *tried*: the objective is looked at down the slope from the weights, and must nowhere be below
  it. What is far too great is found by that, what is a little too great may not be. What is said of a check tells which it was (`proved`).

Cost: three passes over the points and 32 bytes for each where slopes prove the dual, up to five where they do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .gap_claims import fault_of
from .learners import LearnedAnswer, PointVerdict
from .losses import is_smooth, loss_of, minus_conjugate, steepest
from .point_pages import BESIDE, UNIT, Floats, Pages, PointPage
from .softmax_models import SoftmaxCheck

DUALS: Final = "duals"
OTHER_DUALS: Final = "other_duals"
DUAL_IDS: Final = "dual_ids"
"""Dual variables that an answer brings, and others of the same points: float64[n] each, and int64[n], in any order; names end with ``.WORKER``."""
_TRIED_STEPS: Final = tuple(10.0 ** (power / 2.0) for power in range(-12, 5))
_MOST_LOOKS: Final = 60  # at the balance, for the best intercept
_PROVED: Final = "the objective is summed anew, and a dual point proves the dual"
_TRIED: Final = "the objective is summed anew, and is nowhere below the dual down the slope from the weights"


@dataclass(frozen=True, slots=True)
class LinearCheck:
    """Verifies linear models; parameters as of the model.

    Attributes
    ----------
    classes
        The labels of the classes, where they are named: points of others take no part. Else no point has another one.
    """

    loss: str
    l2: float
    l1: float
    intercept: bool
    classes: tuple[float, ...] = ()

    def check(self, answer: LearnedAnswer, pages: Pages) -> PointVerdict:
        """See `PointChecker`."""
        if len(answer.found.get("classes", ())) > 2:
            return SoftmaxCheck(self.l2, self.l1, self.intercept, self.classes).check(answer, pages)
        weights = np.asarray(answer.values[answer.ids >= 0], np.float64)
        intercept = float(answer.values[answer.ids == -1][0]) if self.intercept else 0.0
        points = _Points.of(self._parts(answer, pages), weights, intercept)
        if points.stranger is not None:
            point, label = points.stranger
            strange = f"has the label {label:g}, which is of neither class"
            return PointVerdict(_PROVED, len(points.ids), {}, strange, point)
        if not points.total > 0.0:
            fault = None if answer.claimed["primal"] == 0.0 else "no point takes part, so the objective is 0"
            return PointVerdict(_PROVED, len(points.ids), {"primal": 0.0, "proved": True}, fault)
        losses, slopes = loss_of(self.loss, points.scores, points.goals)
        primal = points.mean(losses) + self._penalty(weights)
        slack = self._slack(points, losses, slopes, weights)
        fault = fault_of(answer.claimed, primal, slack)
        if fault is not None:
            return PointVerdict(_PROVED, len(points.ids), {"primal": primal}, fault)
        best, dual = 0.0, answer.claimed["dual"]  # losses are not negative
        if dual <= best:
            return PointVerdict(_PROVED, len(points.ids), {"primal": primal, "dual": best, "proved": True})
        for duals in self._dual_points(answer, points, slopes):
            best = max(best, self._dual_of(duals, points, pages))
            if dual <= best + slack:
                return PointVerdict(
                    _PROVED, len(points.ids), {"primal": primal, "dual": best, "proved": True}
                )
        least = min(primal, *self._tried(pages, points, slopes, weights))
        if least < dual - slack:
            fault = f"the dual is {dual!r}, but there are weights whose objective is {least!r}"
        measured = {"primal": primal, "dual": best, "least": least, "proved": False}
        return PointVerdict(_TRIED, len(points.ids), measured, fault)

    def measured(self, answer: LearnedAnswer, pages: Pages) -> Measured:
        """The objective at the weights of an answer that claims nothing, and the greatest number that is shown to be above no objective.

        Parameters
        ----------
        answer
            Its `found` has the classes, and dual variables that it may bring.
        """
        weights = np.asarray(answer.values[answer.ids >= 0], np.float64)
        intercept = float(answer.values[answer.ids == -1][0]) if self.intercept else 0.0
        points = _Points.of(self._parts(answer, pages), weights, intercept)
        if not points.total > 0.0:
            return Measured(len(points.ids), self._penalty(weights), 0.0, 0.0)
        losses, slopes = loss_of(self.loss, points.scores, points.goals)
        primal = points.mean(losses) + self._penalty(weights)
        slack = self._slack(points, losses, slopes, weights)
        duals = (self._dual_of(duals, points, pages) for duals in self._dual_points(answer, points, slopes))
        return Measured(len(points.ids), primal, max(0.0, *duals), slack)

    # Points

    def _parts(self, answer: LearnedAnswer, pages: Pages) -> Iterator[_Part]:
        """All points, with the weight 0 where they take no part."""
        for page in pages():
            takes_part = ~np.isnan(page.labels)
            goals, is_strange = page.labels, np.zeros(len(page.ids), np.bool_)
            if self.loss != "squared":
                negative, positive = answer.found["classes"]
                is_of_class = (page.labels == positive) | (page.labels == negative)
                if not self.classes:
                    is_strange = takes_part & ~is_of_class & (page.weights > 0.0)
                takes_part, goals = is_of_class, np.where(page.labels == positive, 1.0, -1.0)
            weights = np.where(takes_part, page.weights, 0.0)
            yield _Part(page, weights, np.where(takes_part, goals, 1.0), is_strange)

    # The objective

    def _penalty(self, weights: Floats) -> float:
        return float(0.5 * self.l2 * (weights @ weights) + self.l1 * np.abs(weights).sum())

    def _slack(self, points: _Points, losses: Floats, slopes: Floats, weights: Floats) -> float:
        """How far roundings can have moved an objective, here and where it was answered."""
        errors = UNIT * (points.terms + BESIDE) * points.magnitudes  # of scores
        moved = points.mean(np.abs(slopes) * errors + 2.0 * errors**2)
        return moved + UNIT * (
            (len(losses) + BESIDE) * points.mean(losses) + (len(weights) + BESIDE) * self._penalty(weights)
        )

    # The dual

    def _dual_points(self, answer: LearnedAnswer, points: _Points, slopes: Floats) -> Iterator[Floats]:
        for name in (DUALS, OTHER_DUALS):
            given = _given(name, answer.found, points.ids)
            if given is not None:
                yield self._balanced(given, points)
        yield self._balanced(-slopes, points)
        if self.intercept and is_smooth(self.loss):
            yield self._balanced(-self._slopes_at_best_intercept(points), points)

    def _balanced(self, duals: Floats, points: _Points) -> Floats:
        """Dual variables whose weighted sum is 0, where there is an intercept: those of the side that has more scaled down."""
        if not self.intercept:
            return duals
        shares = points.weights * duals
        plus, minus = float(shares[shares > 0.0].sum()), -float(shares[shares < 0.0].sum())
        most, least = max(plus, minus), min(plus, minus)
        if most == least:
            return duals
        is_of_most = (duals > 0.0) if plus > minus else (duals < 0.0)
        return np.where(is_of_most, duals * (least / most), duals)

    def _slopes_at_best_intercept(self, points: _Points) -> Floats:
        """Where the objective is least over intercepts alone: between two with slopes of other signs, by false position (Illinois)."""

        def slopes_at(move: float) -> tuple[Floats, float]:
            slopes = loss_of(self.loss, points.scores + move, points.goals)[1]
            return slopes, float(points.weights @ slopes)

        found, first = slopes_at(0.0)
        step = -math.copysign(1e-9 * (1.0 + float(np.abs(points.scores).max(initial=0.0))), first)
        low, high, at_low = 0.0, step, first
        found, at_high = slopes_at(high)
        for _ in range(_MOST_LOOKS):
            if at_low * at_high <= 0.0:
                break
            low, at_low, high = high, at_high, 4.0 * high
            found, at_high = slopes_at(high)
        for _ in range(_MOST_LOOKS):
            if at_high == at_low or abs(at_high) <= UNIT * float(points.weights @ np.abs(found)):
                break
            move = high - at_high * (high - low) / (at_high - at_low)
            found, at_move = slopes_at(move)
            if at_move * at_high < 0.0:
                low, at_low = high, at_high
            else:
                at_low *= 0.5
            high, at_high = move, at_move
        return found

    def _dual_of(self, duals: Floats, points: _Points, pages: Pages) -> float:
        """D(t): no weights have an objective below it; minus infinity where t is no dual point."""
        reached = points.summed(duals, pages)
        if not self.l2 > 0.0:  # then v must not reach beyond l1
            most = float(np.abs(reached).max(initial=0.0)) * (1.0 + UNIT * (len(duals) + BESIDE))
            duals = duals * min(1.0, self.l1 / most if most > 0.0 else 1.0)
            of_weights = 0.0
        else:
            beyond = np.maximum(np.abs(reached) - self.l1, 0.0)
            of_weights = float(beyond @ beyond) / (2.0 * self.l2)
        return points.mean(minus_conjugate(self.loss, duals, points.goals)) - of_weights

    def _tried(self, pages: Pages, points: _Points, slopes: Floats, weights: Floats) -> list[float]:
        """Objectives down the slope, by some lengths of the step."""
        slope = self.l2 * weights + points.summed(slopes, pages)
        descent = steepest(slope, weights, self.l1)
        down = points.mean(slopes) if self.intercept else 0.0
        moves = np.concatenate([page.features.times(descent) for page in pages()]) + down
        return [
            points.mean(loss_of(self.loss, points.scores - step * moves, points.goals)[0])
            + self._penalty(weights - step * descent)
            for step in _TRIED_STEPS
        ]


class Measured(NamedTuple):
    """What the points make of some weights: how many there are, the objective, a dual that is proved, and how far roundings can have moved both."""

    points: int
    primal: float
    dual: float
    slack: float


class _Part(NamedTuple):
    """Some points: weights as they count, goals (1 where they do not), and which should take part and cannot."""

    page: PointPage
    weights: Floats
    goals: Floats
    is_strange: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """All points without their features: float64[n] each, but for ids. `magnitudes` is what scores are sums of, each term without its sign."""

    ids: NDArray[np.int64]
    weights: Floats
    goals: Floats
    scores: Floats
    magnitudes: Floats
    terms: int
    total: float
    stranger: tuple[int, float] | None

    @classmethod
    def of(cls, parts: Iterator[_Part], weights: Floats, intercept: float) -> _Points:
        ids, columns = [np.empty(0, np.int64)], [np.empty((4, 0))]
        terms, stranger = 0, None
        for page, shares, goals, is_strange in parts:
            scores = page.features.times(weights) + intercept
            magnitudes = page.features.magnitudes(weights) + abs(intercept) + np.abs(goals)
            ids.append(page.ids)
            columns.append(np.stack([shares, goals, scores, magnitudes]))
            terms = max(terms, page.features.terms)
            if stranger is None and is_strange.any():
                stranger = int(page.ids[is_strange][0]), float(page.labels[is_strange][0])
        shares, *others = np.concatenate(columns, axis=1)
        goals, scores, magnitudes = others
        total = float(shares.sum())
        return cls(np.concatenate(ids), shares, goals, scores, magnitudes, terms, total, stranger)

    def mean(self, numbers: Floats) -> float:
        """Of all points, by their weights."""
        return float(self.weights @ numbers) / self.total

    def summed(self, shares: Floats, pages: Pages) -> Floats:
        """float64[d]: the mean of all points, each times its share, float64[n]."""
        first, found = 0, np.zeros(1)
        for page in pages():
            stop = first + len(page.ids)
            found, first = found + page.features.summed(self.weights[first:stop] * shares[first:stop]), stop
        return found / self.total


def _given(kind: str, found: Mapping[str, Floats], ids: NDArray[np.int64]) -> Floats | None:
    """Dual variables that the answer brings, in the order of the points; 0 of a point that it has none of."""
    workers = [name.removeprefix(kind) for name in found if name.startswith(f"{kind}.")]
    known = np.concatenate([np.empty(0, np.int64), *(found[DUAL_IDS + worker] for worker in workers)])
    if not len(known):
        return None
    duals = np.concatenate([found[kind + worker] for worker in workers])
    order = np.argsort(known, kind="stable")
    known = known[order]
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[places] == ids, duals[order][places], 0.0)
