"""A loss that a user has written, as the kernels of linear models and their certificates take it.

It is convex, and never negative. `linear_gap` counts on two more things, which are found out here: by how much it rises at least far off
(that bounds the intercept of the optimum), and how steep it is near its middle (that bounds roundings).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from ....errors import InvalidArgument
from ...compiled_functions import program_source

_FARTHEST: Final = 2.0**20
_PLACES: Final = np.unique(np.concatenate([np.linspace(-5.0, 5.0, 101), np.linspace(-100.0, 100.0, 81)]))
_ROUNDED: Final = 1e-9
Function = Callable[..., float]


@dataclass(frozen=True, slots=True)
class OwnLoss:
    """See the module.

    Attributes
    ----------
    name : str
        Of the program that it is of.
    text : str
        Its functions, as a generated module has them.
    is_classifier : bool
        Whether it is of a margin; otherwise of a residual.
    distance, rise : float
        It is at least ``rise * (|residual| - distance)``, or ``-rise * margin``.
    slope : float
        The greatest slope, by its size, from -1 to 1.
    """

    name: str
    text: str
    is_classifier: bool
    distance: float
    rise: float
    slope: float

    def __str__(self) -> str:
        return f"of {self.name}"


@cache
def own_loss(
    name: str,
    value: Function,
    slope: Function,
    bend: Function,
    parameters: tuple[tuple[str, float], ...],
    *,
    is_classifier: bool,
) -> OwnLoss:
    """Look at the functions of a loss; each is called with a margin or residual, and then with parameters by position.

    Raises
    ------
    InvalidArgument
        It is negative, not finite or not convex somewhere between -100 and 100, its slope is not that of its value, it has no second
        derivative anywhere, or does not rise; or a function cannot be compiled.
    """
    given = [number for _, number in parameters]
    found = _values_at(name, given, value=value, slope=slope, bend=bend)
    values, slopes, bends = found["value"], found["slope"], found["bend"]
    _require_convex(name, values, slopes, bends)
    distance, rise = (0.0, -slope(0.0, *given)) if is_classifier else _rise(slope, given)
    if not rise > 0.0:
        raise InvalidArgument(
            f"the loss of {name} does not rise on both sides"
            if not is_classifier
            else f"the loss of {name} has the slope {-rise:g} at the margin 0, but that is below 0"
        )
    text = "\n\n".join(
        _source(called, function, given)
        for called, function in {"own_value": value, "own_slope": slope, "own_bend": bend}.items()
    )
    steepest = max(abs(slope(-1.0, *given)), abs(slope(1.0, *given)))
    return OwnLoss(name, text, is_classifier, distance, float(rise), float(steepest))


def _source(called: str, function: Function, given: list[float]) -> str:
    """The text of a function of one argument that calls that of the user with all."""
    numbers = "".join(f", {number!r}" for number in given)
    own = program_source(f"{called}_of_user", function)
    return f"{own}\n\n@inner\ndef {called}(place):\n    return {called}_of_user(place{numbers})"


def _values_at(name: str, given: list[float], **functions: Function) -> Mapping[str, np.ndarray]:
    found = {}
    for called, function in functions.items():
        try:
            numbers = np.array([function(place, *given) for place in _PLACES.tolist()], np.float64)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise InvalidArgument(
                f"{called} of {name} fails at one of the places -100 to 100: {error}",
                hint="It gets one number, and returns one.",
            ) from error
        bad = np.flatnonzero(~np.isfinite(numbers))
        if len(bad):
            raise InvalidArgument(
                f"{called} of {name} is {numbers[bad[0]]} at {_PLACES[bad[0]]:g}, but must be finite"
            )
        found[called] = numbers
    return found


def _require_convex(name: str, values: np.ndarray, slopes: np.ndarray, bends: np.ndarray) -> None:
    for called, numbers in {"value": values, "bend": bends}.items():
        if numbers.min() < 0.0:
            raise InvalidArgument(
                f"{called} of {name} is {numbers.min():g} at {_PLACES[numbers.argmin()]:g}, but must not be below 0"
            )
    if not bends.any():
        raise InvalidArgument(
            f"bend of {name} is 0 everywhere, but answers are found by second derivatives",
            hint="Make the corner of the loss round, as Huber did.",
        )
    moved, rises = np.diff(_PLACES), np.diff(values)
    slack = _ROUNDED * (1.0 + np.abs(values[1:]) + np.abs(values[:-1]))
    wrong = np.flatnonzero((slopes[:-1] * moved > rises + slack) | (rises > slopes[1:] * moved + slack))
    if len(wrong):
        low, high = _PLACES[wrong[0]], _PLACES[wrong[0] + 1]
        raise InvalidArgument(
            f"between {low:g} and {high:g} value of {name} rises by {rises[wrong[0]]:g}, but its slopes there are "
            f"{slopes[wrong[0]]:g} and {slopes[wrong[0] + 1]:g}",
            hint="slope is the derivative of value, and the loss is convex.",
        )


def _rise(slope: Function, given: list[float]) -> tuple[float, float]:
    """How far from 0 it rises on both sides, and by how much there."""
    distance = 1.0
    while distance <= _FARTHEST:
        rise = min(slope(distance, *given), -slope(-distance, *given))
        if rise > 0.0:
            return distance, rise
        distance *= 2.0
    return distance, 0.0
