"""Linear models as a user starts them: a loss, penalties, and how near an answer is to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ....certificate import NONE, Certificate
from ....checking.linear_models import DUAL_IDS, DUALS, OTHER_DUALS, LinearCheck
from ....errors import InvalidArgument
from ....loops.answer_tables import INTERCEPT, AnswerTable, Column, TableColumn, coefficient_names
from ....points import EvolvingPoints
from ....records.point_batch import PointBatch
from ....records.point_schema import Points
from ....value_types import Ids, ValueArray
from ..program import DataShards, LearningProgram, Parameters
from ..rounds import Finished, Method, Round, ShardWork, Stopped, run_alone
from ..shard_reading import ShardsAt
from .class_rows import relabelled
from .classes import CLASSES, LABELS, LABELS_OF_TWO, Classes, add_labels, found_classes, width_of_labels
from .dual_ascent import AscentWork, dual_ascent
from .held_duals import HeldDuals
from .interior_point import warm_interior
from .linear_block import LinearBlock, LinearShards
from .linear_objective import LinearObjective, Vector, has_classes
from .live_labels import LiveLabels
from .minibatch import MiniBatches, classes_at, probabilities_at
from .newton import newton
from .own_loss import OwnLoss
from .softmax_batches import (
    SoftmaxBatches,
    softmax_classes_at,
    softmax_margins_at,
    softmax_probabilities_at,
)
from .softmax_newton import softmax_newton
from .softmax_objective import MOST_CLASSES, SoftmaxObjective, SoftmaxWork, require_classes

MOST_NEWTON_FEATURES: Final = 300
"""Of more features a matrix of second derivatives takes longer than it saves."""
_NO_CLASSES = (math.nan, math.nan)


@dataclass(frozen=True, kw_only=True)
class LinearModel(LearningProgram):
    """A linear model of the points of a stream: weights w and an intercept b for which a mean loss and penalties are least.

    They are::

        1/W sum a_i l(x_i w + b, y_i) + l2/2 |w|^2 + l1 |w|_1,

    with a_i the weights of the points and W their sum, over the points that have a label. Values are the weights by the number of their
    feature, and the intercept by -1.

    With the logistic loss points may be of more than two classes. Each class k, counted from 0 by ascending labels, has weights w_k and an
    intercept b_k then, and a loss is ln sum_k exp(x w_k + b_k) - (x w_y + b_y); of d features, values are the weights by k d and the number of their
    feature, and the intercept by -1 - k.

    Attributes
    ----------
    loss
        ``hinge`` max(0, 1 - ys), ``squared_hinge`` max(0, 1 - ys)^2, ``logistic`` ln(1 + e^-ys), or ``squared`` (y - s)^2 / 2.
    l2, l1
        Penalties; scikit-learn's `SGDClassifier` calls the first one alpha.
    intercept
        Whether there is one; it is not penalised.
    classes
        The labels of the negative and the positive class, or of more classes: points of others are refused. Left out: those that live points
        have; of two the greater one is positive. Of more than two, classes that no live point has take no part.
    tolerance
        How near the optimum an answer is: the duality gap is at most this share of the objective.
    rate, rule
        Of the steps of the main loop: the first rate, and how it goes on: ``bold`` driver, ``fixed``, ``decaying`` or ``adagrad``.
    batch
        How many points are drawn for a step of the main loop, on all workers.
    seed
        Of the draws.
    """

    rank: ClassVar[Literal["nearest", "highest"]] = "highest"
    needs_labels: ClassVar[bool] = True
    values_are_of: ClassVar[Literal["vertex", "feature", "point"]] = "feature"
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"points", "loss", "intercept", "classes"})
    tells: ClassVar[frozenset[str]] = frozenset({"weights", "intercept", "classes"})

    loss: str = "hinge"
    l2: float = 1e-4
    l1: float = 0.0
    intercept: bool = True
    classes: tuple[float, ...] = ()
    tolerance: float = 1e-3
    rate: float = 0.1
    rule: str = "bold"
    batch: int = 2048
    seed: int = 0

    def check_parameters(self) -> None:
        """See `VertexProgram`."""
        super().check_parameters()
        self._check_classes()
        for name, value in {"tolerance": self.tolerance, "rate": self.rate, "batch": self.batch}.items():
            if not 0 < value < math.inf:
                raise InvalidArgument(f"{name} is {value}, but it is above 0")
        if self.seed < 0:
            raise InvalidArgument(f"seed is {self.seed}, but it is 0 or more")
        self.objective(self._named or (-1.0, 1.0), features=1)
        LinearBlock.rule_of(self.rule, self.rate, features=1)
        if self.points is not None:  # a question may change the penalty
            self.require_penalty()

    def _check_classes(self) -> None:
        if len(self.classes) > 2 and self.most_classes > 2:
            require_classes(sorted(self.classes))
        elif self.classes and len(self.classes) != 2:
            more = ", or more with the logistic loss" if self.most_classes == 2 else " or more"
            raise InvalidArgument(f"classes are {self.classes}, but there are two, or none named{more}")

    def reading(self, points: Points | None) -> Self:
        """See `VertexProgram`."""
        found = super().reading(points)
        found.require_penalty()
        return found

    def require_penalty(self) -> None:
        """Refuse a loss or a width whose method divides by l2."""
        if self.is_dual and not self.l2 > 0.0:
            raise InvalidArgument(
                f"l2 is {self.l2}, but a model of the {self.loss} loss and {self.declared.features} features needs one above 0",
                hint=f"Up to {MOST_NEWTON_FEATURES} features, losses other than the hinge do without.",
            )

    @property
    def compiled_loss(self) -> str | OwnLoss:
        """The loss, as kernels are made of it."""
        return self.loss

    @property
    def most_classes(self) -> int:
        """How many classes points may have."""
        return MOST_CLASSES if self.compiled_loss == "logistic" else 2

    @property
    def _named(self) -> tuple[float, float] | None:
        """The classes, where they need not be found."""
        if not has_classes(self.compiled_loss):
            return _NO_CLASSES
        return (self.classes[0], self.classes[1]) if len(self.classes) == 2 else None

    def objective(
        self, classes: Classes, *, features: int | None = None
    ) -> LinearObjective | SoftmaxObjective:
        """What is minimised, given the classes; NaN where there are none."""
        if len(classes) > 2:
            return self._softmax(classes)
        return self._of_two((classes[0], classes[1]), features=features)

    def _softmax(self, classes: Classes) -> SoftmaxObjective:
        declared = self.declared
        return SoftmaxObjective(declared.features, self.l2, self.l1, self.intercept, classes, declared.sparse)

    def _of_two(self, classes: tuple[float, float], *, features: int | None = None) -> LinearObjective:
        sparse = False if features is not None else self.declared.sparse
        return LinearObjective(
            self.compiled_loss,
            self.declared.features if features is None else features,
            self.l2,
            self.l1,
            self.intercept,
            classes if has_classes(self.compiled_loss) else _NO_CLASSES,
            sparse,
        )

    @property
    def refuses_points(self) -> bool:
        """See `VertexProgram`: those of other classes, where these are named."""
        return bool(self.classes)

    def check_points(self, batch: PointBatch) -> tuple[NDArray[np.bool_], str]:
        """Labels that are none of the classes."""
        if not self.classes:
            return super().check_points(batch)
        known = np.isin(batch.label, self.classes) | np.isnan(batch.label)
        *others, last = [f"{label:g}" for label in self.classes]
        return ~known, f"a label is one of the classes {', '.join(others)} and {last}, or left out"

    # The main loop

    def begin(self) -> Parameters:
        """See `LearningProgram`."""
        return {
            "weights": np.zeros(self.declared.features),
            "intercept": np.zeros(1),
            "classes": np.array(self._named or _NO_CLASSES),
            "step": np.zeros(1),
        }

    def parameter_block(self, workers: int) -> LinearBlock:
        """See `LearningProgram`."""
        rule = LinearBlock.rule_of(self.rule, self.rate, features=self.declared.features)
        return LinearBlock(
            self.objective,
            self.begin(),
            rule,
            workers=workers,
            classes=self._named,
            most_classes=self.most_classes,
        )

    def data_shards(self, points: EvolvingPoints, workers: int) -> LinearShards:
        """See `LearningProgram`."""
        return LinearShards(
            self.objective,
            points,
            batch=max(1, self.batch // workers),
            seed=self.seed,
            labels=self._live_labels(),
        )

    def _live_labels(self) -> LiveLabels | None:
        if self._named is not None:
            return None
        return LiveLabels(most=max(LABELS_OF_TWO, self.most_classes + 1), named=self.classes)

    def warm(self) -> None:
        """See `LearningProgram`."""
        declared = self.declared
        narrow = Points(2, sparse=declared.sparse, dtype=declared.value_type.name)
        like = replace(self, points=narrow, l2=1.0, l1=0.0, classes=(), tolerance=1e-3, rate=0.1, batch=2048)
        _warm(like, (-1.0, 1.0))
        if self._named is None and self.most_classes > 2:
            _warm(like, (-1.0, 0.0, 1.0))

    # Branches

    def branch_parameters(self, parameters: Parameters) -> Parameters:
        """See `LearningProgram`: without what gradient descent counts, and with the second derivative that an earlier branch has found."""
        return {
            name: parameters[name]
            for name in ("weights", "intercept", "classes", "hessian")
            if name in parameters
        }

    @property
    def is_dual(self) -> bool:
        """Whether branches go up the dual, by a variable for each point: of many features, and where there is no second derivative."""
        return self.loss == "hinge" or self.declared.features > MOST_NEWTON_FEATURES

    def method(self, parameters: Parameters, workers: int) -> Method:
        """See `LearningProgram`."""
        try:
            classes: Classes | None = self._named
            if classes is None:
                classes = yield from found_classes(
                    self.compiled_loss, most=self.most_classes, named=self.classes
                )
            if self.intercept and math.isnan(classes[0]) and has_classes(self.compiled_loss):
                return self._of_one_class(np.array(classes))
            yield Round(CLASSES, arrays=(np.array(classes),))
            finished = yield from self._method_of(classes, parameters, workers)
            return replace(finished, parameters={**finished.parameters, "classes": np.array(classes)})
        except Stopped:
            return Finished(parameters, is_converged=False)  # nothing is known of them

    def _method_of(self, classes: Classes, parameters: Parameters, workers: int) -> Method:
        before = parameters["classes"].tolist() if "classes" in parameters else _NO_CLASSES
        weights, intercept = relabelled(parameters["weights"], parameters["intercept"], before, classes)
        tolerance, seed = self.tolerance, self.seed
        if len(classes) > 2:
            return softmax_newton(self._softmax(classes), weights, intercept, tolerance=tolerance, seed=seed)
        model, height = self._of_two((classes[0], classes[1])), float(intercept[0])
        if self.is_dual:
            return dual_ascent(model, intercept=height, tolerance=tolerance, seed=seed, workers=workers)
        hessian = parameters.get("hessian")
        return newton(model, weights, height, hessian=hessian, tolerance=tolerance, seed=seed)

    def _of_one_class(self, classes: NDArray[np.float64]) -> Finished:
        """The intercept alone tells all: by its sign nothing is lost but with the logistic loss, which has no least value then."""
        found = {"weights": np.zeros(self.declared.features), "intercept": np.ones(1), "classes": classes}
        if self.loss not in {"hinge", "squared_hinge"}:
            return Finished(found)
        return Finished(found, {"primal": 0.0, "dual": 0.0, "bound": 0.0})

    def work(self, points: EvolvingPoints, version: int, shards: DataShards) -> ProgramWork:
        """See `LearningProgram`."""
        assert isinstance(shards, LinearShards)
        return ProgramWork(self, ShardsAt(points, version), shards)

    def certificate(self, findings: Mapping[str, float], *, is_converged: bool) -> Certificate:
        """See `LearningProgram`."""
        del is_converged  # the gap says how near it is in any case
        if "bound" not in findings:
            return NONE
        primal = findings["primal"]
        bound = findings["bound"] / primal if primal > 0.0 else 0.0
        if "products" in findings:
            method = "newton with conjugate gradients"
        else:
            method = "dual ascent" if self.is_dual else "newton"
        return {"kind": "gap", "primal": primal, "dual": findings["dual"], "bound": bound, "method": method}

    def proof(self, work: ShardWork) -> Parameters:
        """See `LearningProgram`: the dual variables of points, where there are some."""
        assert isinstance(work, ProgramWork)
        return work.proof() if self.is_dual else {}

    def values(self, parameters: Parameters) -> tuple[Ids, ValueArray]:
        """See `LearningProgram`."""
        weights, intercept = parameters["weights"].ravel(), parameters["intercept"]
        if not self.intercept:
            return np.arange(len(weights)), weights
        return np.arange(-len(intercept), len(weights)), np.concatenate([intercept[::-1], weights])

    def point_checker(self) -> LinearCheck | None:
        """See `VertexProgram`."""
        return LinearCheck(self.loss, self.l2, self.l1, self.intercept, self.classes)

    @property
    def tables(self) -> tuple[AnswerTable, ...]:
        """See `VertexProgram`; of more classes than two `tables_of` has another column."""
        return (self._coefficients(by_class=len(self.classes) > 2),)

    def tables_of(self, found: Parameters) -> tuple[AnswerTable, ...]:
        """See `VertexProgram`."""
        return (self._coefficients(by_class=found["weights"].ndim > 1),)

    def _coefficients(self, *, by_class: bool) -> AnswerTable:
        columns: tuple[TableColumn, ...] = (("feature", "string"), ("value", "float64"))
        return AnswerTable("coefficients", (("class", "float64"), *columns) if by_class else columns)

    def rows_of(
        self, table: str, found: Parameters, values: Callable[[], tuple[Column, Column]]
    ) -> tuple[Column, ...]:
        """See `VertexProgram`: the intercept comes first, as ``intercept``; of each class by itself."""
        if table != "coefficients":
            return super().rows_of(table, found, values)
        features, columns = coefficient_names(self.declared.features, self.declared.names), found["weights"]
        columns = np.atleast_2d(columns)
        if self.intercept:
            features = [INTERCEPT, *features]
            columns = np.column_stack([found["intercept"], columns])
        rows = [*features] * len(columns), columns.ravel()
        return rows if found["weights"].ndim == 1 else (np.repeat(found["classes"], len(features)), *rows)

    def predictions(
        self, found: Parameters, points: PointBatch
    ) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
        """See `VertexProgram`: label, margin and the probability of the label, or the value where there are no classes.

        The margin is the score; of more than two classes, by how much the greatest score is above the next.
        """
        classes = tuple(found["classes"].tolist())
        weights, intercept = found["weights"], found["intercept"]
        if len(classes) > 2:
            several = self._softmax(classes)
            by_class = SoftmaxBatches(several).scores(points, weights, intercept)
            return {
                "label": softmax_classes_at(by_class, several),
                "margin": softmax_margins_at(by_class),
                "probability": softmax_probabilities_at(by_class).max(1),
            }
        negative, positive = classes
        is_classifier = has_classes(self.compiled_loss)
        is_known = not is_classifier or not math.isnan(positive)
        model = self._of_two((negative, positive) if is_known else (-1.0, 1.0))
        scores = MiniBatches(model).scores(points, weights, intercept)
        if not is_classifier:
            return {"value": scores}
        unknown = np.full(len(scores), math.nan)
        if not is_known:
            return {"label": unknown, "margin": unknown, "probability": unknown}
        if self.loss != "logistic":
            return {"label": classes_at(scores, model), "margin": scores, "probability": unknown}
        return {
            "label": classes_at(scores, model),
            "margin": scores,
            "probability": probabilities_at(np.abs(scores)),
        }


class ProgramWork:
    """What a worker does for a linear model: what its labels are, if that is asked, and then what methods ask."""

    def __init__(self, program: LinearModel, shards: ShardsAt, main: LinearShards) -> None:
        self._program = program
        self._shards = shards
        self._main = main
        self._work: AscentWork | SoftmaxWork | None = None

    @property
    def duals(self) -> Mapping[int, HeldDuals]:
        """Those of the points, that later branches may begin with."""
        return self._work.held if isinstance(self._work, AscentWork) else self._main.duals

    @property
    def dual_total(self) -> Vector | None:
        """See `LinearShards`."""
        return self._work.total if isinstance(self._work, AscentWork) else self._main.dual_total

    def proof(self) -> dict[str, NDArray[Any]]:
        """The dual variables of the points that were visited, and the ids of these."""
        if not isinstance(self._work, AscentWork):
            return {}
        ids, duals, others = [np.empty(0, np.int64)], [np.empty(0)], [np.empty(0)]
        for shard, held in self._work.held.items():
            points = self._shards[shard]
            rows = points.rows[points.rows < len(held.duals)]
            ids.append(points.id[rows])
            duals.append(held.duals[rows])
            others.append(self._work.unsettled.get(shard, held.duals)[rows])
        found = {DUAL_IDS: np.concatenate(ids), DUALS: np.concatenate(duals)}
        return found | ({OTHER_DUALS: np.concatenate(others)} if self._work.unsettled else {})

    def width(self, asked: Round) -> int:
        """See `ShardWork`."""
        if asked.task == LABELS:
            return width_of_labels(asked)
        if asked.task == CLASSES:
            model = self._program.objective(tuple(asked.arrays[0].tolist()))
            if isinstance(model, SoftmaxObjective):
                self._work = SoftmaxWork(model, self._shards)
            else:
                held = {shard: duals.copy() for shard, duals in self._main.duals.items()}
                self._work = AscentWork(model, self._shards, held, self._main.dual_total)
            return 0
        return self._asked.width(asked)

    def add(self, asked: Round, shard: int, total: NDArray[np.float64]) -> None:
        """See `ShardWork`."""
        if asked.task == LABELS:
            add_labels(self._shards[shard], asked, total)
        elif asked.task != CLASSES:
            self._asked.add(asked, shard, total)

    @property
    def _asked(self) -> AscentWork | SoftmaxWork:
        assert self._work is not None  # a method begins with the classes
        return self._work


@cache
def _warm(program: LinearModel, labels: tuple[float, ...]) -> None:
    """Go once through all that loops of such models call, on a few points of two features with these labels."""
    declared = program.declared
    points = EvolvingPoints(declared)
    rows = [{0: 1.0}, {1: 1.0}, {0: 1.0, 1: 1.0}] if declared.sparse else [[1, 0], [0, 1], [1, 1]]
    features = rows[: len(labels)]
    shards, block = program.data_shards(points, 1), program.parameter_block(1)
    for first in (1, 11):
        ids = list(range(first, first + len(labels)))
        batch = PointBatch.of(declared, ids=ids, labels=labels, features=features)
        points.apply(batch, 0, len(batch))
        shards.hear(points.deltas())
        block.step([shards.say(block.parameters, first)])
    program.predictions(block.parameters, batch)
    lease, version = points.lease()
    run_alone(program.method(block.parameters, 1), program.work(points, version, shards))
    if program.loss == "hinge":
        model = program.objective(labels)
        assert isinstance(model, LinearObjective)
        warm_interior(model, ShardsAt(points, version))
    points.release(lease)
