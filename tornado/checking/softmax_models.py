"""Answers of models of several classes, verified by plain passes over the points; the twin of `linear_models`.

With scores s_k = x w_k + b_k a loss is ln sum_k e^s_k - s_y, and its conjugate at t = q - e_y the sum of q_k ln q_k, of any probabilities q.
So with v_k = 1/W sum a_i t_ik x_i, and the weighted sum of each t_k being 0 where there are intercepts, no weights have an objective below

    D(q) = -1/W sum a_i sum_k q_ik ln q_ik - h*(-v)                 (Fenchel's duality; Boehning 1992)

where h* is the conjugate of what is penalised: the sum of max(0, |v_kj| - l1)^2 / (2 l2), or 0 where no |v_kj| is above l1. Tried are the probabilities p at the weights. Those of the points of a class y are mixed with e_y, by shares c_y with which the t sum
to 0: where sums of p say how much goes from class to class, these are a stationary distribution. With l1 all are mixed once more, alike.

Cost: four passes over the points, and 16 bytes for each of them and each class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .gap_claims import fault_of
from .learners import LearnedAnswer, PointVerdict
from .losses import steepest
from .point_pages import BESIDE, UNIT, Floats, Pages, PointPage

_PROVED: Final = "the objective is summed anew, and a dual point proves the dual"
_TRIED: Final = "the objective is summed anew, and is nowhere below the dual down the slope from the weights"
_STEPS: Final = tuple(10.0 ** (power / 2.0) for power in range(-12, 5))


@dataclass(frozen=True, slots=True)
class SoftmaxCheck:
    """Verifies models of several classes; parameters as of the model.

    Attributes
    ----------
    classes
        The labels that take part, where they are named.
    """

    l2: float
    l1: float
    intercept: bool
    classes: tuple[float, ...] = ()

    def check(self, answer: LearnedAnswer, pages: Pages) -> PointVerdict:
        """See `PointChecker`."""
        labels = np.asarray(answer.found["classes"], np.float64)
        weights = np.asarray(answer.values[answer.ids >= 0], np.float64).reshape(len(labels), -1)
        heights = np.zeros(len(labels))
        if self.intercept:
            heights = np.asarray(answer.values[answer.ids < 0], np.float64)[::-1]
        points = _Points(labels, self.classes)
        for page in pages():
            points.add(page, weights, heights)
        if points.stranger is not None:
            point, label = points.stranger
            strange = f"has the label {label:g}, which is none of the classes"
            return PointVerdict(_PROVED, points.count, {}, strange, point)
        scores, shares, places = points.columns()
        primal = _mean(shares, _losses(scores, places)) + self._penalty(weights)
        slack = UNIT * ((points.count + BESIDE) * primal + (points.terms + BESIDE) * points.magnitude)
        fault = fault_of(answer.claimed, primal, slack)
        if fault is not None:
            return PointVerdict(_PROVED, points.count, {"primal": primal}, fault)
        dual = answer.claimed["dual"]
        best = max(0.0, self._dual(scores, shares, places, pages, points))  # losses are not negative
        if dual <= best + slack:
            return PointVerdict(_PROVED, points.count, {"primal": primal, "dual": best, "proved": True})
        least = min(primal, *self._tried(scores, shares, places, weights, pages, points))
        fault = None
        if least < dual - slack:
            fault = f"the dual is {dual!r}, but there are weights whose objective is {least!r}"
        measured = {"primal": primal, "dual": best, "least": least, "proved": False}
        return PointVerdict(_TRIED, points.count, measured, fault)

    def _penalty(self, weights: Floats) -> float:
        return 0.5 * self.l2 * float(np.square(weights).sum()) + self.l1 * float(np.abs(weights).sum())

    def _dual(
        self, scores: Floats, shares: Floats, places: NDArray[np.int64], pages: Pages, points: _Points
    ) -> float:
        """The greatest D(q) of those that are tried; minus infinity where there is none."""
        chances = _probabilities(scores)
        mixes = np.ones(scores.shape[1])
        if self.intercept:
            mixes = _stationary(_flows(chances, shares, places))
        slopes, entropy = _mixed(chances, places, mixes)
        reached = points.summed(slopes * shares[:, None], pages) / shares.sum()
        found = [-np.inf]
        if self.l2 > 0.0:
            beyond = np.maximum(np.abs(reached) - self.l1, 0.0)
            found.append(_mean(shares, entropy) - float(np.square(beyond).sum()) / (2.0 * self.l2))
        if self.l1 > 0.0:
            most = float(np.abs(reached).max(initial=0.0)) * (1.0 + UNIT * (points.count + BESIDE))
            share = min(1.0, self.l1 / most) if most > 0.0 else 1.0
            found.append(_mean(shares, _mixed(chances, places, mixes * share)[1]))
        return max(found)

    def _tried(
        self,
        scores: Floats,
        shares: Floats,
        places: NDArray[np.int64],
        weights: Floats,
        pages: Pages,
        points: _Points,
    ) -> list[float]:
        """Objectives down the slope, by some lengths of the step."""
        slopes, own = _probabilities(scores), np.arange(len(places))
        slopes[own, places] -= 1.0
        slope = self.l2 * weights + points.summed(slopes * shares[:, None], pages) / shares.sum()
        down = steepest(slope, weights, self.l1)
        moves = points.times(down, pages)
        if self.intercept:
            moves = moves + (shares @ slopes) / shares.sum()
        return [
            _mean(shares, _losses(scores - step * moves, places)) + self._penalty(weights - step * down)
            for step in _STEPS
        ]


class _Points:
    """The points that take part, without their features: scores by class, and where each class is."""

    def __init__(self, labels: Floats, named: tuple[float, ...]) -> None:
        self.count, self.terms, self.magnitude = 0, 0, 0.0
        self.stranger: tuple[int, float] | None = None
        self._labels, self._named = labels, named
        self._scores = [np.empty((0, len(labels)))]
        self._shares, self._places = [np.empty(0)], [np.empty(0, np.int64)]

    def add(self, page: PointPage, weights: Floats, heights: Floats) -> None:
        """Take in a page."""
        self.count += len(page.ids)
        is_in = self._is_in(page)
        strange = ~is_in & ~np.isnan(page.labels) & (page.weights > 0.0)
        if self._named:
            strange &= np.isin(page.labels, self._named)
        if self.stranger is None and strange.any():
            self.stranger = int(page.ids[strange][0]), float(page.labels[strange][0])
        scores = np.stack([page.features.times(one) for one in weights], axis=1) + heights
        sizes = np.stack([page.features.magnitudes(one) for one in weights], axis=1) + np.abs(heights)
        self.terms = max(self.terms, page.features.terms)
        self.magnitude = max(self.magnitude, float(sizes.max(initial=0.0)))
        self._scores.append(scores[is_in])
        self._shares.append(page.weights[is_in])
        self._places.append(np.searchsorted(self._labels, page.labels[is_in]))

    def columns(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Scores float64[n, K], weights float64[n], and the numbers of the classes int64[n]."""
        return np.concatenate(self._scores), np.concatenate(self._shares), np.concatenate(self._places)

    def summed(self, shares: Floats, pages: Pages) -> Floats:
        """float64[K, d]: the sum of all points, each times its shares, float64[n, K]."""
        found = np.zeros(1)
        for page, part in self._parts(shares, pages):
            found = found + np.stack([page.features.summed(column) for column in part.T])
        return found

    def times(self, weights: Floats, pages: Pages) -> Floats:
        """float64[n, K]: the product of each point with the weights of each class."""
        parts = [
            np.stack([page.features.times(one) for one in weights], axis=1)[self._is_in(page)]
            for page in pages()
        ]
        return np.concatenate([np.empty((0, len(weights))), *parts])

    def _parts(self, shares: Floats, pages: Pages) -> Iterator[tuple[PointPage, Floats]]:
        first = 0
        for page in pages():
            is_in = self._is_in(page)
            part = np.zeros((len(page.ids), shares.shape[1]))
            stop = first + int(is_in.sum())
            part[is_in], first = shares[first:stop], stop
            yield page, part

    def _is_in(self, page: PointPage) -> NDArray[np.bool_]:
        return np.isin(page.labels, self._labels) & (page.weights > 0.0)


def _mean(shares: Floats, numbers: Floats) -> float:
    return float(shares @ numbers) / float(shares.sum())


def _losses(scores: Floats, places: NDArray[np.int64]) -> Floats:
    most = scores.max(axis=1)
    own = scores[np.arange(len(places)), places]
    return np.asarray(np.log(np.exp(scores - most[:, None]).sum(axis=1)) + most - own)


def _probabilities(scores: Floats) -> Floats:
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _mixed(chances: Floats, places: NDArray[np.int64], mixes: Floats) -> tuple[Floats, Floats]:
    """Probabilities of points of each class mixed with that class, by its share: t float64[n, K], and the entropy of each, float64[n]."""
    own = np.arange(len(places))
    mixed = chances * mixes[places][:, None]
    mixed[own, places] += 1.0 - mixes[places]
    entropy = -np.where(mixed > 0.0, mixed * np.log(np.maximum(mixed, 1e-300)), 0.0).sum(axis=1)
    mixed[own, places] = 0.0
    mixed[own, places] = -mixed.sum(axis=1)
    return mixed, np.asarray(entropy)


def _flows(chances: Floats, shares: Floats, places: NDArray[np.int64]) -> Floats:
    """float64[K, K]: how much probability the points of each class give to each."""
    found = np.zeros((chances.shape[1],) * 2)
    np.add.at(found, places, chances * shares[:, None])
    return found


def _stationary(flows: Floats) -> Floats:
    """The c with ``c @ flows == c * flows.sum(1)``, the greatest 1; by least squares, as the sum of c is known as well."""
    rates = flows.T - np.diag(flows.sum(axis=1))
    scale = float(np.abs(rates).max(initial=0.0)) or 1.0
    system = np.vstack([rates / scale, np.ones(len(rates))])
    found = np.linalg.lstsq(system, np.append(np.zeros(len(rates)), 1.0), rcond=None)[0]
    found = np.maximum(found, 0.0)
    return np.asarray(found / found.max())
