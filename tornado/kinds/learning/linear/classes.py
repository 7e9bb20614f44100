"""Which labels the points of a classifier have, where nobody has said it: these are its classes, the greater of two the positive one."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidArgument
from ....points import SHARDS, ShardPoints
from ..rounds import Round

LABELS: Final = "labels"
"""A round that asks for the labels of points: of numbers (how many at most, labels that count; none: all do)."""
CLASSES: Final = "classes"
"""A round that asks nothing, and says which they are."""
LABELS_OF_TWO: Final = 3
"""How many labels are asked for where there should be two: the third shows that there are more."""
_LABELS_OF_MORE: Final = 16  # at first

Classes = tuple[float, ...]
"""Labels that ascend; of two, which may be named in any order, NaN for one that no point has."""


def some_labels(labels: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """All labels of these where they are up to `most`, else so many of them with the least and the greatest; they ascend.

    Parameters
    ----------
    labels : float64[n]
        None of them NaN.
    """
    if not len(labels):
        return labels
    least, greatest = labels.min(), labels.max()
    between = labels[(labels != least) & (labels != greatest)]  # of two classes there is nothing to sort
    found = np.unique(between)[: max(0, most - 2)] if len(between) else between
    return np.concatenate([[least], found, [greatest]]) if least != greatest else np.array([least])


def width_of_labels(asked: Round) -> int:
    """How many numbers a shard answers with where it is asked for its labels."""
    return SHARDS * int(asked.numbers[0])


def add_labels(points: ShardPoints, asked: Round, total: NDArray[np.float64]) -> None:
    """Say the labels of a shard, in its own place; NaN behind the last."""
    most, *named = asked.numbers
    labels = points.label[points.rows]
    labels = labels[(points.weight[points.rows] > 0.0) & ~np.isnan(labels)]
    if named:
        labels = labels[np.isin(labels, named)]
    found = some_labels(labels, int(most))
    place = total.reshape(SHARDS, int(most))[points.shard]
    place[: len(found)] = found
    place[len(found) :] = math.nan


def found_classes(
    loss: object, *, most: int = 2, named: Sequence[float] = ()
) -> Generator[Round, NDArray[np.float64], Classes]:
    """Ask for the labels of all points; return the classes, of two the negative and the positive one.

    Parameters
    ----------
    most
        How many there may be.
    named
        The labels that count; none: all do.

    Raises
    ------
    InvalidArgument
        When there are more.
    """
    asked = LABELS_OF_TWO if most == 2 else min(most + 1, _LABELS_OF_MORE)
    while True:
        said = (yield Round(LABELS, (float(asked), *named))).reshape(SHARDS, asked)
        found = np.unique(said[~np.isnan(said)]).tolist()
        # Where no shard has as many as it might have said, all are known.
        is_known = bool(np.isnan(said[:, -1]).all()) or asked > most
        if len(found) > most:
            raise _too_many(loss, found, most)
        if is_known:
            break
        asked = min(most + 1, max(4 * asked, len(found) + 1))
    if len(found) < 2:
        return (math.nan, found[0]) if found else (-1.0, 1.0)
    return tuple(found)


def _too_many(loss: object, found: list[float], most: int) -> InvalidArgument:
    if most == 2:
        return InvalidArgument(
            f"points have the labels {found[0]:g}, {found[1]:g} and {found[-1]:g}, but the loss {loss} is of two classes",
            hint="Name the two: classes=(0, 1), or --classes 0,1. Points of other labels are then refused.",
        )
    return InvalidArgument(
        f"points have {len(found)} labels or more, from {found[0]:g} to {found[-1]:g}, but a model has at most {most} classes",
        hint="Labels that are measurements are for the squared loss.",
    )
