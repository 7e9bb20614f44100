"""Which two labels the points of a classifier have, where nobody has said it: the least and the greatest."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidArgument
from ....points import SHARDS, ShardPoints
from ..rounds import Round

LABELS: Final = "labels"
CLASSES: Final = "classes"
"""A round that asks nothing, and says which they are."""
_SAID: Final = 3  # the least label, the greatest, and one that is neither


def labels_between(labels: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the least label of weight, the greatest one, and one that is neither; NaN where there is none."""
    found = labels[(weights > 0.0) & ~np.isnan(labels)]
    if not len(found):
        return math.nan, math.nan, math.nan
    least, greatest = float(found.min()), float(found.max())
    others = found[(found != least) & (found != greatest)]
    return least, greatest, float(others[0]) if len(others) else math.nan


def width_of_labels() -> int:
    """How many numbers a shard answers with where it is asked for its labels."""
    return SHARDS * _SAID


def add_labels(points: ShardPoints, total: NDArray[np.float64]) -> None:
    """Say the labels of a shard, in its own place; 0 where no point has one."""
    said = labels_between(points.label[points.rows], points.weight[points.rows])
    place = total.reshape(SHARDS, _SAID)[points.shard]
    place += said


def found_classes(loss: object) -> Generator[Round, NDArray[np.float64], tuple[float, float]]:
    """Ask for the labels of all points; return the negative and the positive class, NaN for one that no point has.

    Raises
    ------
    InvalidArgument
        When there are more than two.
    """
    said = (yield Round(LABELS)).reshape(SHARDS, _SAID)
    known = said[~np.isnan(said)]
    if not len(known):
        return -1.0, 1.0
    least, greatest = float(known.min()), float(known.max())
    others = known[(known != least) & (known != greatest)]
    if len(others):
        raise InvalidArgument(
            f"points have the labels {least:g}, {float(others[0]):g} and {greatest:g}, but the loss {loss} is of two classes",
            hint="Name the two: classes=(0, 1). Points of other labels are then refused.",
        )
    return (least, greatest) if least != greatest else (math.nan, greatest)
