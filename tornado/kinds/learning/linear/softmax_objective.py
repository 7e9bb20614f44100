"""Logistic models of several classes: what is minimised, and how shards answer.

With W the sum of the points' weights a_i, and a row w_k of weights and an intercept b_k for each class,

    P = 1/W sum a_i (ln sum_k exp(x_i w_k + b_k) - (x_i w_y + b_y)) + l2/2 |w|^2 + l1 |w|_1

over the points whose label is one of the classes. All others are passed over, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidArgument
from ....kernel_modules import load_module, module_text
from ....points import ShardPoints
from .. import counter_kernel
from ..rounds import Round
from . import batch_kernel, dense_kernel, softmax_kernel, sparse_kernel
from .linear_objective import LOSSES, Vector, features_of, frozen
from .softmax_kernel import CLASS_NUMBERS, SOFTMAX_NUMBERS

MOST_CLASSES: Final = 1000
"""Of which a model can be: of labels that are measurements there would be as many as points."""
MOST_MATRIX: Final = 400
"""Features of which a matrix of second derivatives is summed; of more, its diagonal."""


@dataclass(frozen=True, slots=True)
class SoftmaxObjective:
    """What is to be minimised; see the module.

    Parameters
    ----------
    features : int
        d: how many a point has.
    l2, l1 : float
        Penalties, 0 or more.
    intercept : bool
        Whether there are b, which are not penalised; without, they are 0.
    classes : tuple of float
        Labels; they ascend.
    sparse : bool
        How points keep their features.

    Raises
    ------
    InvalidArgument
        A penalty that is negative or not finite, or classes that do not ascend, or fewer than two or too many.
    """

    features: int
    l2: float
    l1: float
    intercept: bool
    classes: tuple[float, ...]
    sparse: bool = False

    def __post_init__(self) -> None:
        for name in ("l2", "l1"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise InvalidArgument(f"{name} is {getattr(self, name)}, but a penalty is 0 or more")
        require_classes(self.classes)

    @property
    def loss(self) -> str:
        """What it is called."""
        return "logistic"

    @property
    def is_classifier(self) -> bool:
        """It is."""
        return True

    @property
    def kernel(self) -> ModuleType:
        """The compiled functions."""
        return softmax_module(self.sparse)

    @property
    def shape(self) -> tuple[int, int]:
        """How many classes and features there are: K and d."""
        return len(self.classes), self.features

    @property
    def labels(self) -> Vector:
        """The classes as kernels take them, float64[K]."""
        return frozen(np.array(self.classes))


def require_classes(classes: Sequence[float]) -> None:
    """Refuse what are no classes of a softmax model."""
    found = np.array(classes, np.float64)
    if (
        not 2 <= len(found) <= MOST_CLASSES
        or not (found[1:] > found[:-1]).all()
        or not np.isfinite(found).all()
    ):
        raise InvalidArgument(
            f"classes are {tuple(classes[:10])}, but they are 2 to {MOST_CLASSES} numbers, all different"
        )


@cache
def softmax_module(sparse: bool) -> ModuleType:  # noqa: FBT001  # one of two modules, of a name that is cached
    """The kernels over dense or sparse points, from disk where they were compiled before."""
    layout = sparse_kernel if sparse else dense_kernel
    title = f"logistic models of several classes over {'sparse' if sparse else 'dense'} points"
    parts = [counter_kernel, layout, *LOSSES["logistic"], batch_kernel, softmax_kernel]
    return load_module(module_text(title, parts, {}))


class SoftmaxWork:
    """One worker's side of `softmax_newton`; a `ShardWork`.

    It knows these rounds; all but the last have arrays (w float64[K, d], b float64[K], …):

    ``pass``
        See `SoftmaxTotals`. Behind w and b a scale of each class, float64[K].
    ``bend``
        The weights of some points and what is like the second derivative there: see `bend_width`. Of numbers (share, seed, number): of
        about this share of the points, of which those are drawn that follow from seed, shard and number. They are kept for this:
    ``product``
        The product of the second derivative of their losses with a direction, of arrays (float64[K, d], float64[K]): [K * d + K].

    Parameters
    ----------
    shards : mapping of int to ShardPoints
        Those of the worker, by number.
    """

    def __init__(self, model: SoftmaxObjective, shards: Mapping[int, ShardPoints]) -> None:
        self.model, self.shards = model, shards
        self._kernel = model.kernel
        self._kept: dict[int, tuple[NDArray[np.int32], Vector]] = {}

    def width(self, asked: Round) -> int:
        """How many numbers a shard answers with."""
        classes, features = self.model.shape
        if asked.task == "pass":
            return SOFTMAX_NUMBERS + classes * (CLASS_NUMBERS + classes + features)
        if asked.task == "bend":
            return bend_width(self.model)
        return classes * (features + 1)

    def add(self, asked: Round, shard: int, total: Vector) -> None:
        """Add the answer of a shard."""
        points = self.shards[shard]
        if asked.task == "pass":
            self._add_pass(points, asked, total)
        elif asked.task == "bend":
            self._add_bend(points, asked, total)
        elif asked.task == "product":
            self._add_product(points, asked, total)
        else:
            raise InvalidArgument(f"the round asks for {asked.task!r}, which a softmax model has not")

    def _add_pass(self, points: ShardPoints, asked: Round, total: Vector) -> None:
        parts = SoftmaxTotals.of(total, self.model)
        columns = features_of(points), points.rows, points.label, points.weight
        there = tuple(map(frozen, asked.arrays))
        numbers = parts.by_class, parts.flows, parts.numbers, parts.sums
        self._kernel.softmax_pass(*columns, self.model.labels, *there, *numbers)

    def _add_bend(self, points: ShardPoints, asked: Round, total: Vector) -> None:
        share, seed, number = asked.numbers
        rows, classes = points.rows, len(self.model.classes)
        if share < 1.0:
            drawn = np.empty(math.ceil(share * len(rows)), np.int32)
            self._kernel.draw_evenly(rows, int(seed), points.shard, int(number), drawn)
            rows = frozen(drawn)
        kept, shares = np.empty(len(rows), np.int32), np.empty((len(rows), classes))
        columns = features_of(points), rows, points.label, points.weight
        there = tuple(map(frozen, asked.arrays))
        count = self._kernel.softmax_bend(
            *columns, self.model.labels, *there, self.model.intercept, kept, shares, *_bend_parts(total, self.model)
        )  # fmt: skip
        self._kept[points.shard] = frozen(kept[:count]), frozen(shares[:count])

    def _add_product(self, points: ShardPoints, asked: Round, total: Vector) -> None:
        classes, features = self.model.shape
        sums = total[: classes * features].reshape(classes, features)
        there = tuple(map(frozen, asked.arrays))
        kept, shares = self._kept[points.shard]
        self._kernel.softmax_product(
            features_of(points), kept, points.weight, shares, *there, total[classes * features :], sums
        )


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxTotals:
    """What a pass has summed over all points; see `softmax_kernel`.

    Attributes
    ----------
    numbers : float64[SOFTMAX_NUMBERS]
    by_class : float64[K, CLASS_NUMBERS]
    flows : float64[K, K]
    sums : float64[K, d]
    """

    numbers: Vector
    by_class: Vector
    flows: Vector
    sums: Vector

    @classmethod
    def of(cls, total: Vector, model: SoftmaxObjective) -> SoftmaxTotals:
        """Views of the answer to a round ``pass``."""
        classes, features = model.shape
        stops = np.cumsum([SOFTMAX_NUMBERS, classes * CLASS_NUMBERS, classes * classes])
        numbers, by_class, flows, sums = np.split(total, stops.tolist())
        return cls(
            numbers,
            by_class.reshape(classes, CLASS_NUMBERS),
            flows.reshape(classes, classes),
            sums.reshape(classes, features),
        )


def bend_size(model: SoftmaxObjective) -> int:
    """Of the matrix or diagonal that a round ``bend`` sums: features, and 1 where there are intercepts."""
    return model.features + model.intercept


def bend_width(model: SoftmaxObjective) -> int:
    """The sum of weights; sums of a p_k (1 - p_k) by class; the upper triangle of a matrix, or a diagonal."""
    size = bend_size(model)
    return 1 + len(model.classes) + (size * size if size <= MOST_MATRIX else size)


def _bend_parts(total: Vector, model: SoftmaxObjective) -> tuple[Vector, Vector, Vector, Vector]:
    """The sum of weights, bends, matrix and diagonal."""
    size, classes = bend_size(model), len(model.classes)
    rest = total[1 + classes :]
    if size <= MOST_MATRIX:
        return total[:1], total[1 : 1 + classes], rest.reshape(size, size), np.empty(0)
    return total[:1], total[1 : 1 + classes], np.empty((0, 0)), rest
