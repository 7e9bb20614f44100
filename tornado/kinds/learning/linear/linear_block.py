"""The main loop of a linear model: stochastic gradient descent, as the Tornado paper has it (SIGMOD 2016, section 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....distinct import ascending
from ....errors import InvalidArgument
from ....points import SHARDS, EvolvingPoints, PointDeltas, ShardPoints
from ..patience import Patience
from ..program import Parameters
from ..rounds import ShardWork
from ..shard_reading import drawn_shards
from ..validation import Validation
from .class_rows import relabelled
from .classes import Classes
from .held_duals import HeldDuals
from .linear_gap import penalty_of
from .linear_objective import LinearObjective, Vector
from .live_labels import LiveLabels
from .minibatch import (
    Adagrad,
    Batches,
    BatchTotals,
    BoldDriver,
    DecayingRate,
    FixedRate,
    StepRule,
    stepped,
)
from .softmax_batches import batches_of
from .softmax_objective import SoftmaxObjective

Objectives = Callable[[Classes], LinearObjective | SoftmaxObjective]

_WINDOW: Final = 8  # steps over which the objective is averaged: of one batch it is noisy
_PATIENCE: Final = 12  # windows without progress
_HEAD: Final = (
    4  # the step that an answer is of, how many points came and went, the worker, how many labels follow
)
_DECAY: Final = 0.01
_STORED: Final = -1  # no worker
_NO_CLASSES: Final = (math.nan, math.nan)
_ANY_CLASSES: Final = (-1.0, 1.0)  # in place of those that are not known


class ShardSums(NamedTuple):
    """What the shards of a worker say, as it is sent: float64[_HEAD + labels + sums].

    Attributes
    ----------
    step
        Of the parameters that the sums are of.
    news
        How many points came and went.
    labels
        Of the live points, some of them where they are too many.
    drawn, new
        Sums of the points that were drawn, and of those that came; see `BatchTotals`.
    """

    step: int
    news: int
    worker: int
    labels: Vector
    drawn: Vector
    new: Vector

    @classmethod
    def of(cls, sent: Vector) -> ShardSums:
        """Views of what was sent."""
        step, news, worker, labels = map(int, sent[:_HEAD])
        first = _HEAD + labels
        half = first + (len(sent) - first) // 2
        return cls(step, news, worker, sent[_HEAD:first], sent[first:half], sent[half:])


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
    most_classes
        How many may be found. Of more labels the least and the greatest are taken: there is no answer about them.
    """

    def __init__(
        self,
        objectives: Objectives,
        begin: Parameters,
        rule: StepRule,
        *,
        workers: int,
        classes: Classes | None,
        most_classes: int = 2,
    ) -> None:
        self._objectives = objectives
        self._begin = begin
        self._rule = rule
        self._workers = workers
        self._step = 0
        self._first = 0  # the first step whose answers are about the classes
        self._classes = classes
        self._most_classes = most_classes
        self._labels: dict[int, list[float]] | None = {} if classes is None else None  # by worker
        self._objective: dict[int, list[float]] = {}  # by step: answers, losses, weights
        self._window: list[float] = []
        self._patience = Patience(_PATIENCE)
        self._hessian: NDArray[np.float64] | None = None
        self.parameters: Parameters = {}
        self._set(begin["weights"], begin["intercept"])

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

    def _take_step(self, sent: Sequence[Vector]) -> None:
        said = [ShardSums.of(one) for one in sent]
        if any(one.news for one in said):
            if self._patience.is_over:
                self._rule.begin_anew()  # what has come while points come it follows
            self._patience.begin_anew()
        if self._labels is not None:
            self._labels |= {one.worker: one.labels.tolist() for one in said}
            if len(self._labels) > self._workers:
                self._labels.pop(_STORED, None)
            self._turn_to(_classes_of(self._labels.values(), self._most_classes))
        if self._classes is None:
            self._patience.end()  # there is nothing to learn before a point with a label comes
        said = [one for one in said if one.step >= self._first]
        weights, intercept = self.parameters["weights"], self.parameters["intercept"]
        if self._classes is None or not said:
            self._set(weights, intercept)
            return
        model, by_class = self._objectives(self._classes), weights.ndim > 1
        drawn, new = (
            BatchTotals.of(np.sum(sums, axis=0), by_class=by_class)
            for sums in ([one.drawn for one in said], [one.new for one in said])
        )
        both = drawn.joined(new)
        is_finite = self._judge(said, model, weights)
        gradient = both.gradient(weights, model)
        if not is_finite or not np.isfinite(gradient).all():
            # It has diverged, and the rate is less now.
            self._set(np.zeros_like(weights), np.zeros_like(intercept))
            return
        if both.weight > 0.0:
            weights, intercept = stepped(model, weights, intercept, gradient, self._rule.rates(gradient))
        self._set(weights, intercept)

    def _turn_to(self, classes: Classes | None) -> None:
        """What was said of other classes is of no use."""
        if repr(classes) != repr(self._classes):  # NaN is NaN
            before, self._classes = self._known, classes
            weights, intercept = self.parameters["weights"], self.parameters["intercept"]
            self._first = self._step + 1
            self._set(*relabelled(weights, intercept, before, self._known))
            self._objective.clear()
            self._window.clear()
            self._patience.begin_anew()
            self._rule.begin_anew()

    @property
    def _known(self) -> Classes:
        return _NO_CLASSES if self._classes is None else self._classes

    def take(self, parameters: Parameters) -> None:
        """See `ParameterBlock`: of other classes than there are now, as far as they are about these."""
        self._hessian = parameters.get("hessian")
        before = parameters["classes"].tolist() if "classes" in parameters else self._known
        self._set(*relabelled(parameters["weights"], parameters["intercept"], before, self._known))

    def restore(self, parameters: Parameters) -> None:
        """See `RestorableBlock`: the classes are known until all workers have said theirs; how far steps go is found again."""
        classes = parameters["classes"].tolist() if "classes" in parameters else _NO_CLASSES
        if self._labels is not None and not math.isnan(classes[-1]):
            self._labels = {_STORED: list(classes)}
            self._classes = tuple(classes)
        self._patience.end()
        self._first = self._step + 1  # what was said before is of the parameters to begin with
        self.take(parameters)

    def _judge(
        self, said: Sequence[ShardSums], model: LinearObjective | SoftmaxObjective, weights: Vector
    ) -> bool:
        """Measure the objective at each vector that all workers have answered; return whether it is finite."""
        for one in said:
            known = self._objective.setdefault(one.step, [0.0, 0.0, 0.0])
            drawn = BatchTotals.of(one.drawn)
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
        objective = float(np.mean(self._window)) + penalty_of(weights.ravel(), model)
        self._window.clear()
        self._patience.note(objective)
        return self._rule.judge(objective)

    def _set(self, weights: Vector, intercept: Vector) -> None:
        self._step += 1
        arrays = {
            "weights": weights,
            "intercept": intercept,
            "classes": np.array(self._known),
            "step": np.array([self._step]),
        }
        if self._hessian is not None:
            arrays["hessian"] = self._hessian
        for array in arrays.values():
            array.flags.writeable = False
        self.parameters = arrays


def _classes_of(said: Iterable[Sequence[float]], most: int) -> Classes | None:
    """The classes of some labels, see `found_classes`: of too many the least and the greatest, and None where there are none."""
    labels = sorted({label for labels in said for label in labels if not math.isnan(label)})
    if len(labels) < 2:
        return (math.nan, labels[0]) if labels else None
    return tuple(labels) if len(labels) <= most else (labels[0], labels[-1])


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
    labels
        What counts them, where they are the classes.

    Attributes
    ----------
    duals, dual_total
        Of the points, from the last branch whose answer was adopted, and the sums of a t and of a t x, float64[1 + features], where
        they are known.
    validation
        Of new points, before any step uses them.
    """

    def __init__(
        self,
        objectives: Objectives,
        points: EvolvingPoints,
        *,
        batch: int,
        seed: int,
        labels: LiveLabels | None,
    ) -> None:
        self._objectives = objectives
        self._points = points
        self._labels = labels
        self._batch = batch
        self._seed = seed
        self._new: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []  # shards and rows
        self._has_lost = False  # whether points went since the last step, so that rows may be there twice
        self.waiting = 0
        self.validation = Validation()
        self.duals: Mapping[int, HeldDuals] = {shard: HeldDuals() for shard in points.shards}
        self.dual_total: Vector | None = None

    def hear(self, deltas: PointDeltas) -> None:
        """See `DataShards`."""
        came = deltas.sign > 0
        if came.any():
            self._new.append((deltas.shard[came], deltas.row[came]))
        if not came.all():
            self._has_lost = True
            if self.dual_total is not None:
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
        model = self._objectives(_ANY_CLASSES)  # which they are does not matter
        assert isinstance(model, LinearObjective)
        for shard in np.unique(shards).tolist():
            gone = rows[shards == shard]
            if not self.duals[shard].take_out(model, self._points.view_shard(shard), gone, total):
                self.dual_total = None
                return

    def restore(self, parameters: Parameters) -> None:
        """See `RestorableShards`: the labels of the points."""
        del parameters
        if self._labels is not None:
            self._labels.clear()
            self._count_labels(self._labels, self._points.standing())

    def say(self, parameters: Parameters, step: int) -> Vector:
        """See `DataShards`."""
        classes = tuple(parameters["classes"].tolist())
        weights, intercept = parameters["weights"], parameters["intercept"]
        labels = np.empty(0) if self._labels is None else self._labels.some()
        is_known = not math.isnan(classes[-1])
        model = self._objectives(classes if is_known else _ANY_CLASSES)
        batches = batches_of(model)
        head = np.array([parameters["step"][0], self.waiting, self._points.shards[0], len(labels)])
        sent = np.concatenate([head, labels, np.zeros(2 * batches.width())])
        said = ShardSums.of(sent)
        new = self._new_rows()
        self.waiting = 0
        if is_known or not model.is_classifier:
            views = self._draw(batches, weights, intercept, step, said.drawn)
            for shard, rows in new.items():
                view = views.get(shard) or self._points.view_shard(shard)
                live = rows[view.born[rows] > 0]  # others went again
                batches.add_given(view, live, weights, intercept, said.new)
            tested = BatchTotals.of(said.new)
            self.validation.note(tested.predicted(is_classifier=model.is_classifier))
        return sent

    def take(self, work: ShardWork) -> None:
        """See `DataShards`: the dual variables of the points."""
        self.duals, self.dual_total = work.duals, work.dual_total  # type: ignore[attr-defined]  # it is the work of the same program

    def _draw(
        self,
        batches: Batches,
        weights: Vector,
        intercept: Vector,
        step: int,
        total: Vector,
    ) -> dict[int, ShardPoints]:
        """Draw, and return the shards that were drawn of."""
        views = {}
        for shard, live, drawn in drawn_shards(self._points, self._batch):
            views[shard.shard] = shard
            counter = {"count": drawn, "seed": self._seed, "iteration": step}
            batches.add_drawn(shard, weights, intercept, total, **counter, scale=live / drawn)
        return views

    def _new_rows(self) -> dict[int, NDArray[np.int32]]:
        """The rows that have come since the last step, by shard: each once, also where its point went and another one came."""
        if not self._new:
            return {}
        shards = np.concatenate([shards for shards, _ in self._new])
        rows = np.concatenate([rows for _, rows in self._new])
        self._new.clear()
        order = np.argsort(shards.astype(np.int16), kind="stable")  # of numbers so short it is a radix sort
        stops = np.cumsum(np.bincount(shards, minlength=SHARDS))
        parts = np.split(rows[order], stops[:-1])
        may_repeat, self._has_lost = self._has_lost, False
        return {
            shard: ascending(part).astype(np.int32) if may_repeat else part
            for shard, part in enumerate(parts)
            if len(part)
        }
