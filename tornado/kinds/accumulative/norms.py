"""In which norm a program's answers are certified: what the kernel counts for it, and what is decided by that.

| norm | answers | law | what waits |
|---|---|---|---|
| `l1` | divided by the sum of all values | `factor` below 1, ``divisor(W)`` at least W | a residual of up to theta times the out-degree |
| `relative` | the values themselves | `base` above 0 of each vertex | a residual of up to theta times the base |

`bound.py` has the proofs. The first four functions of a norm are compiled with the program and take the place of those in `stand_in`, so
the code of one norm has nothing of the other. Each norm is one object without state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from .bound import bound_of, relative_bound_of
from .bundle import Report

# Below these an answer would mostly be rounding. What is left to do counts 1 / (1 - d) times in a bound of L1.
_LEAST_TOLERANCE = 1e-13
_LEAST_LEFT = 1e-14


class Norm(Protocol):
    """See the module.

    Attributes
    ----------
    name
        As a certificate says it.
    is_normalised
        Whether answers are divided by the sum of all values. Then they do not depend on b, which can be aimed.
    may_diverge
        Whether its laws allow graphs on which the values have no end.
    greatest_rate
        Of what a sweep moved, what the next one is thought to move at most.
    """

    name: str
    is_normalised: bool
    may_diverge: bool
    greatest_rate: float

    def functions(self) -> dict[str, Callable[..., object]]:
        """Return what is compiled of it, by the names in `stand_in`."""
        ...

    def least_tolerance(self, factor: float) -> float:
        """Return what can be asked for at least."""
        ...

    def joined(self, numbers: Iterable[float]) -> float:
        """Return the norm of all parts, by that of each."""
        ...

    def allowed(self, tolerance: float, factor: float, mass: float) -> float:
        """Return what residuals may come to in the norm, with a bound of that."""
        ...

    def theta(self, allowed: float, degrees: int) -> float:
        """Return the threshold with which what waits comes to no more than what is allowed."""
        ...

    def first_theta(self, absolute: float, degrees: int) -> float:
        """Return a threshold that some of the residuals are above, by what they come to."""
        ...

    def bound(self, reports: Sequence[Report], factor: float) -> float:
        """Return how far values are from the exact ones, by the totals of all parts; infinity where nothing is known."""
        ...

    def rounding(self, reports: Sequence[Report], factor: float) -> float:
        """Return how much of that is rounding."""
        ...


class _L1:
    """The distance of normalised values, summed over all vertices."""

    name = "l1"
    is_normalised = True
    may_diverge = False
    greatest_rate = 0.5

    @staticmethod
    def threshold(theta: float, degree: float, base: float) -> float:  # noqa: ARG004
        """What a residual may come to before it is announced."""
        return theta * degree

    @staticmethod
    def scaled(amount: float, base: float) -> float:  # noqa: ARG004
        """What an amount counts in the norm, at a vertex with a base."""
        return amount

    @staticmethod
    def joined_in_kernel(total: float, term: float) -> float:
        """The norm of two parts."""
        return total + term

    @staticmethod
    def most_worth(base: float, is_branch: int) -> float:  # noqa: ARG004
        """What a vertex announces at most: weights reach 1e12, so sums of that stay finite."""
        return 1e200

    def functions(self) -> dict[str, Callable[..., object]]:
        """See `Norm`."""
        return _compiled(self)

    def least_tolerance(self, factor: float) -> float:
        """See `Norm`."""
        return max(_LEAST_TOLERANCE, _LEAST_LEFT / (1.0 - factor) if 0.0 <= factor < 1.0 else 0.0)

    def joined(self, numbers: Iterable[float]) -> float:
        """See `Norm`."""
        return math.fsum(numbers)

    def allowed(self, tolerance: float, factor: float, mass: float) -> float:
        """See `Norm`."""
        return tolerance * (1.0 - factor) * mass

    def theta(self, allowed: float, degrees: int) -> float:
        """See `Norm`: twice that, times all degrees, is the most that the residuals come to; a part is for what is neglected."""
        return allowed / (2.0 * degrees)

    def first_theta(self, absolute: float, degrees: int) -> float:
        """See `Norm`."""
        return absolute / degrees

    def bound(self, reports: Sequence[Report], factor: float) -> float:
        """See `Norm`."""
        absolute, signed = (
            math.fsum(getattr(report, name) for report in reports) for name in ("absolute", "signed")
        )
        return self._bound(absolute, signed, reports, factor)

    def rounding(self, reports: Sequence[Report], factor: float) -> float:
        """See `Norm`."""
        return self._bound(0.0, 0.0, reports, factor)

    def _bound(self, absolute: float, signed: float, reports: Sequence[Report], factor: float) -> float:
        return bound_of(
            absolute=absolute,
            signed=signed,
            mass=math.fsum(report.mass for report in reports),
            drift=math.fsum(report.drift for report in reports),
            vertices=sum(report.vertices for report in reports),
            factor=factor,
        )


class _Relative:
    """The distance of each value as a share of it, the greatest of all vertices."""

    name = "relative"
    is_normalised = False
    may_diverge = True
    greatest_rate = 1.0

    @staticmethod
    def threshold(theta: float, degree: float, base: float) -> float:  # noqa: ARG004
        """What a residual may come to before it is announced."""
        return theta * base

    @staticmethod
    def scaled(amount: float, base: float) -> float:
        """What an amount counts in the norm, at a vertex with a base."""
        return amount / base if base > 0.0 else np.inf

    @staticmethod
    def joined_in_kernel(total: float, term: float) -> float:
        """The norm of two parts."""
        return max(total, term)

    @staticmethod
    def most_worth(base: float, is_branch: int) -> float:
        """What a vertex announces at most.

        Beyond that nothing could be certified in a branch. A main loop must forget it again: what is added to a sum and taken from
        it leaves a part in 1e16 behind.
        """
        return (1e14 if is_branch != 0 else 1e9) * base

    def functions(self) -> dict[str, Callable[..., object]]:
        """See `Norm`."""
        return _compiled(self)

    def least_tolerance(self, factor: float) -> float:
        """See `Norm`."""
        del factor
        return _LEAST_TOLERANCE

    def joined(self, numbers: Iterable[float]) -> float:
        """See `Norm`."""
        return max(numbers, default=0.0)

    def allowed(self, tolerance: float, factor: float, mass: float) -> float:
        """See `Norm`: what `relative_bound_of` makes the tolerance of."""
        del factor, mass
        return tolerance / (1.0 + tolerance)

    def theta(self, allowed: float, degrees: int) -> float:
        """See `Norm`."""
        del degrees
        return allowed

    def first_theta(self, absolute: float, degrees: int) -> float:
        """See `Norm`."""
        del degrees
        return absolute

    def bound(self, reports: Sequence[Report], factor: float) -> float:
        """See `Norm`."""
        return self._bound(self.joined(report.absolute for report in reports), reports, factor)

    def rounding(self, reports: Sequence[Report], factor: float) -> float:
        """See `Norm`."""
        return self._bound(0.0, reports, factor)

    def _bound(self, absolute: float, reports: Sequence[Report], factor: float) -> float:
        return relative_bound_of(
            absolute=absolute,
            drift=math.fsum(report.drift for report in reports),
            largest=self.joined(report.largest for report in reports),
            factor=factor,
        )


def _compiled(norm: _L1 | _Relative) -> dict[str, Callable[..., object]]:
    return {
        "threshold": norm.threshold,
        "scaled": norm.scaled,
        "joined": norm.joined_in_kernel,
        "most_worth": norm.most_worth,
    }


_NORMS: dict[str, Norm] = {norm.name: norm for norm in (_L1(), _Relative())}


def norm_named(name: str) -> Norm:
    """Return the norm with a name."""
    return _NORMS[name]
