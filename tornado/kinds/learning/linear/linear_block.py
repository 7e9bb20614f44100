"""The main loop of a linear model: stochastic gradient descent, as the Tornado paper has it (SIGMOD 2016, section 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidArgument
from ....points import EvolvingPoints, PointDeltas, ShardPoints
from ..patience import Patience
from ..program import Parameters
from ..rounds import ShardWork
from ..shard_reading import drawn_shards
from ..validation import Validation
from .held_duals import HeldDuals
from .linear_gap import penalty_of
from .linear_objective import LinearObjective, Vector
from .live_labels import LiveLabels
from .minibatch import (
    BATCH_NUMBERS,
    Adagrad,
    BatchTotals,
    BoldDriver,
    DecayingRate,
    FixedRate,
    MiniBatches,
    StepRule,
    stepped,
)

Objectives = Callable[[tuple[float, float]], LinearObjective]

_WINDOW: Final = 8  # steps over which the objective is averaged: of one batch it is noisy
_PATIENCE: Final = 12  # windows without progress
_HEAD: Final = 6  # the step that an answer is of, labels (three), how many points came and went, the worker
_DECAY: Final = 0.01
_STORED: Final = -1  # no worker


class LinearBlock:
    """See `ParameterBlock`.

    Parameters
    ----------
    objectives
        What is minimised, given the classes.
    begin
        The parameters to begin with.
    rule
        How far a step goes.
    workers
        How many answer a step.
    classes
        Where they need not be found.
    """

    def __init__(
        self,
        objectives: Objectives,
        begin: Parameters,
        rule: StepRule,
        *,
        workers: int,
        classes: tuple[float, float] | None,
    ) -> None:
        self._objectives = objectives
        self._begin = begin
        self._rule = rule
        self._workers = workers
        self._step = 0
        self._first = 0  # the first step whose answers are about the classes
        self._classes = classes
        self._labels: dict[int, list[float]] | None = {} if classes is None else None  # by worker
        self._objective: dict[int, list[float]] = {}  # by step: answers, losses, weights
        self._window: list[float] = []
        self._patience = Patience(_PATIENCE)
        self._hessian: NDArray[np.float64] | None = None
        self.parameters: Parameters = {}
        self._set(begin["weights"], float(begin["intercept"][0]))

    @staticmethod
    def rule_of(name: str, rate: float, *, features: int) -> StepRule:
        """The rule with a name.

        Raises
        ------
        InvalidArgument
            When there is none.
        """
        if name == "bold":
            return BoldDriver(rate)
        if name == "fixed":
            return FixedRate(rate)
        if name == "decaying":
            return DecayingRate(rate, decay=_DECAY)
        if name == "adagrad":
            return Adagrad(rate, features=features)
        raise InvalidArgument(f"rule is {name!r}, but there are bold, fixed, decaying and adagrad")

    @property
    def is_settled(self) -> bool:
        """Whether the objective has not become less for some time, and no points have come."""
        return self._patience.is_over

    def step(self, said: Sequence[Vector]) -> None:
        """Go down the gradient of what shards have drawn, and of what is new."""
        with np.errstate(over="ignore", invalid="ignore"):  # what diverges is seen, and begins anew
            self._take_step(said)

    def _take_step(self, said: Sequence[Vector]) -> None:
        if any(one[4] for one in said):
            if self._patience.is_over:
                self._rule.begin_anew()  # what has come while points come it follows
            self._patience.begin_anew()
        if self._labels is not None:
            self._labels |= {int(one[5]): one[1:4].tolist() for one in said}
            if len(self._labels) > self._workers:
                self._labels.pop(_STORED, None)
            self._turn_to(_classes_of(self._labels.values()))
        if self._classes is None:
            self._patience.end()  # there is nothing to learn before a point with a label comes
        said = [one for one in said if one[0] >= self._first]
        if self._classes is None or not said:
            self._set(self.parameters["weights"], float(self.parameters["intercept"][0]))
            return
        model = self._objectives(self._classes)
        half = (len(said[0]) - _HEAD) // 2
        totals = np.sum([one[_HEAD:] for one in said], axis=0)
        drawn, new = BatchTotals.of(totals[:half]), BatchTotals.of(totals[half:])
        weights, intercept = self.parameters["weights"], float(self.parameters["intercept"][0])
        both = drawn.joined(new)
        is_finite = self._judge(said, half, model, weights)
        gradient = both.gradient(weights, model)
        if not is_finite or not np.isfinite(gradient).all():
            self._set(self._begin["weights"], 0.0)  # it has diverged, and the rate is less now
            return
        if both.weight > 0.0:
            weights, intercept = stepped(model, weights, intercept, gradient, self._rule.rates(gradient))
        self._set(weights, intercept)

    def _turn_to(self, classes: tuple[float, float] | None) -> None:
        """What was said of other classes is of no use."""
        if repr(classes) != repr(self._classes):  # NaN is NaN
            self._classes = classes
            self._first = self._step + 1
            self._objective.clear()
            self._window.clear()
            self._patience.begin_anew()
            self._rule.begin_anew()

    def take(self, parameters: Parameters) -> None:
        """See `ParameterBlock`."""
        self._hessian = parameters.get("hessian")
        self._set(parameters["weights"], float(parameters["intercept"][0]))

    def restore(self, parameters: Parameters) -> None:
        """See `RestorableBlock`: the classes are known until all workers have said theirs; how far steps go is found again."""
        least, greatest = parameters["classes"].tolist() if "classes" in parameters else (math.nan, math.nan)
        if self._labels is not None and not math.isnan(greatest):
            self._labels = {_STORED: [least, greatest]}
            self._classes = least, greatest
        self._patience.end()
        self.take(parameters)

    def _judge(self, said: Sequence[Vector], half: int, model: LinearObjective, weights: Vector) -> bool:
        """Measure the objective at each vector that all workers have answered; return whether it is finite."""
        for one in said:
            known = self._objective.setdefault(int(one[0]), [0.0, 0.0, 0.0])
            drawn = BatchTotals.of(one[_HEAD : _HEAD + half])
            known[0] += 1
            known[1] += drawn.loss
            known[2] += drawn.weight
        for step in [one for one, known in self._objective.items() if known[0] >= self._workers]:
            _, loss, weight = self._objective.pop(step)
            if weight > 0.0:
                self._window.append(loss / weight)
            else:
                self._patience.end()  # likewise
        for old in [one for one in self._objective if one < self._step - 64 * self._workers]:
            del self._objective[old]  # it was answered by some only
        if len(self._window) < _WINDOW:
            return True
        objective = float(np.mean(self._window)) + penalty_of(weights, model)
        self._window.clear()
        self._patience.note(objective)
        return self._rule.judge(objective)

    def _set(self, weights: Vector, intercept: float) -> None:
        self._step += 1
        classes = np.array([math.nan, math.nan] if self._classes is None else self._classes)
        arrays = {
            "weights": weights,
            "intercept": np.array([intercept]),
            "classes": classes,
            "step": np.array([self._step]),
        }
        if self._hessian is not None:
            arrays["hessian"] = self._hessian
        for array in arrays.values():
            array.flags.writeable = False
        self.parameters = arrays


def _classes_of(said: Iterable[Sequence[float]]) -> tuple[float, float] | None:
    """The least and the greatest of some labels; NaN for the least where they are one, None where there are none."""
    labels = [label for labels in said for label in labels if not math.isnan(label)]
    if not labels:
        return None
    least, greatest = min(labels), max(labels)
    return (least if least != greatest else math.nan, greatest)


class LinearShards:
    """See `DataShards`.

    Parameters
    ----------
    objectives
        What is minimised, given the classes.
    points
        Of the worker.
    batch
        How many are drawn for a step, of all shards of the worker.
    seed
        Of the draws.
    finds_classes
        Whether the labels that points have are the classes.

    Attributes
    ----------
    duals, dual_total
        Of the points, from the last branch whose answer was adopted, and the sums of a t and of a t x, float64[1 + features], where
        they are known.
    validation
        Of new points, before any step uses them.
    """

    def __init__(
        self, objectives: Objectives, points: EvolvingPoints, *, batch: int, seed: int, finds_classes: bool
    ) -> None:
        self._objectives = objectives
        self._points = points
        self._labels = LiveLabels() if finds_classes else None
        self._batch = batch
        self._seed = seed
        self._new: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []  # shards and rows
        self.waiting = 0
        self.validation = Validation()
        self.duals: Mapping[int, HeldDuals] = {shard: HeldDuals() for shard in points.shards}
        self.dual_total: Vector | None = None

    def hear(self, deltas: PointDeltas) -> None:
        """See `DataShards`."""
        came = deltas.sign > 0
        if came.any():
            self._new.append((deltas.shard[came], deltas.row[came]))
        if self.dual_total is not None and not came.all():
            self._take_out(deltas.shard[~came], deltas.row[~came], self.dual_total)
        self.waiting += len(deltas)
        if self._labels is not None:
            self._count_labels(self._labels, deltas)

    def _count_labels(self, labels: LiveLabels, deltas: PointDeltas) -> None:
        found, weights = self._points.labels_of(deltas)
        counts = (weights > 0.0) & ~np.isnan(found)
        labels.hear(found[counts], deltas.sign[counts])

    def _take_out(self, shards: NDArray[np.int32], rows: NDArray[np.int32], total: Vector) -> None:
        """Points went: what is known of all dual variables stays right."""
        model = self._objectives((-1.0, 1.0))  # which the classes are does not matter
        for shard in np.unique(shards).tolist():
            gone = rows[shards == shard]
            self.duals[shard].take_out(model, self._points.view_shard(shard), gone, total)

    def restore(self, parameters: Parameters) -> None:
        """See `RestorableShards`: the labels of the points."""
        del parameters
        if self._labels is not None:
            self._labels = LiveLabels()
            self._count_labels(self._labels, self._points.standing())

    def say(self, parameters: Parameters, step: int) -> Vector:
        """See `DataShards`."""
        negative, positive = parameters["classes"].tolist()
        weights, intercept = parameters["weights"], float(parameters["intercept"][0])
        half = BATCH_NUMBERS + len(weights)
        total = np.zeros(_HEAD + 2 * half)
        total[0] = parameters["step"][0]
        new = self._new_rows()
        if self._labels is not None:
            total[1:4] = self._labels.between()
        total[4] = self.waiting
        total[5] = self._points.shards[0]
        self.waiting = 0
        if self._knows(negative, positive):
            batches = MiniBatches(self._objectives((negative, positive)))
            views = self._draw(batches, weights, intercept, step, total[_HEAD : _HEAD + half])
            for shard, rows in new.items():
                view = views.get(shard) or self._points.view_shard(shard)
                live = rows[view.born[rows] > 0]  # others went again
                batches.add_given(view, live, weights, intercept, total[_HEAD + half :])
            tested = BatchTotals.of(total[_HEAD + half :])
            self.validation.note(tested.predicted(is_classifier=batches.model.is_classifier))
        return total

    def take(self, work: ShardWork) -> None:
        """See `DataShards`: the dual variables of the points."""
        self.duals, self.dual_total = work.duals, work.dual_total  # type: ignore[attr-defined]  # it is the work of the same program

    def _knows(self, negative: float, positive: float) -> bool:
        """Whether there are classes, or none are needed."""
        return not math.isnan(positive) or not self._objectives((negative, 1.0)).is_classifier

    def _draw(
        self, batches: MiniBatches, weights: Vector, intercept: float, step: int, total: Vector
    ) -> dict[int, ShardPoints]:
        """Draw, and return the shards that were drawn of."""
        views = {}
        for shard, live, drawn in drawn_shards(self._points, self._batch):
            views[shard.shard] = shard
            counter = {"count": drawn, "seed": self._seed, "iteration": step}
            batches.add_drawn(shard, weights, intercept, total, **counter, scale=live / drawn)
        return views

    def _new_rows(self) -> dict[int, NDArray[np.int32]]:
        """The rows that have come since the last step, by shard."""
        if not self._new:
            return {}
        shards = np.concatenate([shards for shards, _ in self._new])
        rows = np.concatenate([rows for _, rows in self._new])
        self._new.clear()
        order = np.argsort(shards.astype(np.int16), kind="stable")  # of numbers so short it is a radix sort
        shards, rows = shards[order], rows[order]
        numbers, first = np.unique(shards, return_index=True)
        return dict(zip(numbers.tolist(), np.split(rows, first[1:]), strict=True))
