"""Linear models: what methods share of them, how shards answer, and how far from the optimum a model is at most.

With W the sum of the points' weights a_i,

    P(w, b) = 1/W sum a_i l(x_i w + b, y_i) + l2/2 |w|^2 + l1 |w|_1

over the points that have a label: one of the two classes (the loss sees 1 and -1), or any finite number for the squared loss. All others
are passed over, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidArgument
from ....kernel_modules import load_module, module_text
from ....points import DenseShardPoints, ShardPoints, SparseShardPoints
from .. import counter_kernel
from ..rounds import Round
from . import (
    ascent_kernel,
    batch_kernel,
    class_kernel,
    dense_kernel,
    exponential_kernel,
    hinge_kernel,
    logistic_kernel,
    own_margin_kernel,
    own_residual_kernel,
    pass_kernel,
    real_kernel,
    sparse_kernel,
    squared_hinge_kernel,
    squared_kernel,
)
from .own_loss import OwnLoss
from .pass_kernel import NUMBERS

Vector = NDArray[np.float64]

LOSSES: Final[Mapping[str, Sequence[ModuleType]]] = {
    "hinge": [class_kernel, hinge_kernel],
    "squared_hinge": [class_kernel, squared_hinge_kernel],
    "logistic": [class_kernel, exponential_kernel, logistic_kernel],
    "squared": [real_kernel, squared_kernel],
}
_NO_CLASSES: Final = (math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class LinearObjective:
    """What is to be minimised; see the module.

    Parameters
    ----------
    loss : str or OwnLoss
        ``hinge``, ``squared_hinge``, ``logistic`` or ``squared``; or one that a user has written.
    features : int
        d: how many a point has.
    l2, l1 : float
        Penalties, 0 or more.
    intercept : bool
        Whether there is b, which is not penalised; without, it is 0.
    classes : (float, float)
        The labels of the negative and the positive class; NaN for one that no point has. Not for the squared loss.
    sparse : bool
        How points keep their features.

    Raises
    ------
    InvalidArgument
        An unknown loss, a penalty that is negative or not finite, or classes where there are none, or none where there are.
    """

    loss: str | OwnLoss
    features: int
    l2: float
    l1: float = 0.0
    intercept: bool = False
    classes: tuple[float, float] = _NO_CLASSES
    sparse: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.loss, str) and self.loss not in LOSSES:
            raise InvalidArgument(f"loss is {self.loss!r}, but there are {', '.join(LOSSES)}")
        for name in ("l2", "l1"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise InvalidArgument(f"{name} is {getattr(self, name)}, but a penalty is 0 or more")
        negative, positive = self.classes
        if self.is_classifier and (negative == positive or (math.isnan(negative) and math.isnan(positive))):
            raise InvalidArgument(f"classes are {self.classes}, but the loss {self.loss} needs two labels")
        if not self.is_classifier and not (math.isnan(negative) and math.isnan(positive)):
            raise InvalidArgument(
                f"classes are {self.classes}, but the loss {self.loss} takes labels as they are"
            )

    @property
    def is_classifier(self) -> bool:
        """Whether points are of two classes."""
        return has_classes(self.loss)

    @property
    def sides(self) -> int:
        """How many sums of points a pass has: an intercept needs those of each sign by themselves."""
        return 2 if self.intercept else 1

    @property
    def kernel(self) -> ModuleType:
        """The compiled functions."""
        return linear_module(self.loss, self.sparse)


class PenalisedModel(Protocol):
    """What steps know of a model, however many classes it is of."""

    @property
    def l2(self) -> float:
        """A penalty."""
        ...

    @property
    def l1(self) -> float:
        """Another one."""
        ...

    @property
    def intercept(self) -> bool:
        """Whether there is an intercept."""
        ...


def has_classes(loss: str | OwnLoss) -> bool:
    """Whether points of a loss are of two classes; otherwise labels are numbers."""
    return loss.is_classifier if isinstance(loss, OwnLoss) else loss != "squared"


@cache
def linear_module(loss: str | OwnLoss, sparse: bool) -> ModuleType:  # noqa: FBT001  # one of two modules, of a name that is cached
    """The kernels of a loss over dense or sparse points, from disk where they were compiled before."""
    layout = sparse_kernel if sparse else dense_kernel
    title = f"linear models of the {loss} loss over {'sparse' if sparse else 'dense'} points"
    loops = [pass_kernel, batch_kernel, ascent_kernel]
    if isinstance(loss, str):
        return load_module(module_text(title, [counter_kernel, layout, *LOSSES[loss], *loops], {}))
    own = [class_kernel, own_margin_kernel] if loss.is_classifier else [real_kernel, own_residual_kernel]
    parts = [counter_kernel, layout, *own, *loops]
    return load_module(module_text(title, parts, {}, functions=loss.text))


def shrunk(values: Vector, by: float | Vector) -> Vector:
    """Values that many nearer to 0, and 0 where they are nearer than that: what a penalty of magnitudes makes of them."""
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - by, 0.0))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A view that is contiguous and read-only, as kernels take what they read: else they would be compiled again for other kinds."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def features_of(points: ShardPoints) -> tuple[NDArray[Any], ...]:
    """The features of a shard as kernels take them."""
    if isinstance(points, DenseShardPoints):
        return (points.features,)
    assert isinstance(points, SparseShardPoints)
    return points.starts, points.lengths, points.indices, points.values


_NOTHING: Final = frozen(np.empty(0))


class LinearWork:
    """One worker's side of methods that go over all points; a `ShardWork`.

    It knows these rounds, each with arrays (w float64[d], b float64[1]):

    ``pass``
        The numbers of `pass_kernel`, and sums of a t x of each sign of t, minus the slopes at the scores; see `gap_of`.
    ``curvature``
        The sum of weights, and the second derivative of the summed losses, by w and, where there is one, b: [1 + k * k], the upper triangle
        of a matrix. Of numbers (share, seed, number): of about this share of the points, of which those are drawn that follow from
        seed, shard and number.

    Parameters
    ----------
    model : LinearObjective
    shards : mapping of int to ShardPoints
        Those of the worker, by number.
    """

    def __init__(self, model: LinearObjective, shards: Mapping[int, ShardPoints]) -> None:
        self.model, self.shards = model, shards
        self._kernel = model.kernel

    def width(self, asked: Round) -> int:
        """How many numbers a shard answers with."""
        model = self.model
        if asked.task == "curvature":
            return 1 + (model.features + model.intercept) ** 2
        return NUMBERS + model.sides * model.features

    def add(self, asked: Round, shard: int, total: Vector) -> None:
        """Add the answer of a shard."""
        points = self.shards[shard]
        if asked.task == "pass":
            self.add_pass(points, asked.arrays[0], float(asked.arrays[1][0]), total)
        elif asked.task == "curvature":
            self._add_curvature(points, asked, total)
        else:
            raise InvalidArgument(f"the round asks for {asked.task!r}, which a linear model has not")

    def add_pass(
        self,
        points: ShardPoints,
        vector: Vector,
        intercept: float,
        total: Vector,
        *,
        duals: Vector = _NOTHING,
    ) -> None:
        """Add the answer to ``pass``, of minus the slopes or of given dual variables, float64[used]."""
        model = self.model
        self._kernel.pass_over(
            *self._columns(points, points.rows),
            frozen(vector),
            intercept,
            frozen(duals),
            total[:NUMBERS],
            total[NUMBERS:].reshape(model.sides, model.features),
        )

    def _add_curvature(self, points: ShardPoints, asked: Round, total: Vector) -> None:
        share, seed, number = asked.numbers
        rows, size = points.rows, self.model.features + self.model.intercept
        if share < 1.0:
            drawn = np.empty(math.ceil(share * len(rows)), np.int32)
            self._kernel.draw_evenly(rows, int(seed), points.shard, int(number), drawn)
            rows = frozen(drawn)
        vector, intercept = asked.arrays
        columns = self._columns(points, rows)
        there = frozen(vector), float(intercept[0]), self.model.intercept
        self._kernel.sum_curvatures(*columns, *there, total[:1], total[1:].reshape(size, size))

    def _columns(self, points: ShardPoints, rows: NDArray[np.int32]) -> tuple[Any, ...]:
        return features_of(points), rows, points.label, points.weight, *map(float, self.model.classes)
