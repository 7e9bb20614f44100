"""What the values of an answer are worth, as one record with the same words everywhere: HTTP, command line, Python.

| kind | the values are | fields |
|---|---|---|
| exact | the fixed point of the snapshot | |
| bound | at most so far from it, in a norm | norm, bound |
| gap | of a learner: (primal - dual) / primal is at most the bound | primal, dual, bound, method |
| stationary | where the method stays, though others may be better | inertia |
| none | not known to be near the fixed point | side, or reason, where that is known |

Of the best by rank a certificate with a bound says besides whether their order is certain (`order`: "proved", or "partial" and then
`ties`, the first and last of the places, from 1, among which it is not).

Where the question asked for a check, `checked` says whether an independent checker has verified the values (`tornado.checking`), and
`check` what it looked at. What was stopped claims nothing that could be verified, so it is not checked.

*Norms.* `l1`: errors are summed over all vertices, whose values sum to 1. `relative`: the greatest error of a value, as a share of it;
so values whose sum is S are together within S times that.

*Reasons.* `diverged`: there is a proof that the graph gives the values no end (or one beyond what could ever be bounded), so
there is no fixed point, and time helps nothing.

*Sides.* A selective branch that was stopped commits no more, but it ends only when every invalidation is worked off on every
worker: those of its cut, and those that they led to. So each value is one that some path of the snapshot's graph has, whatever
was removed before: never one of a path that is gone, and maybe not one of the best path. The exact value is the best of them.
With a program that prefers the smaller number that makes every value an upper bound of the exact one (`upper`: exact <= value),
with one that prefers the greater a lower bound (`lower`: exact >= value). Where nothing was found yet the value is the program's
worst, which bounds nothing. Core numbers that were stopped are upper bounds where nobody may still have to rise, and have no side
else. A main loop has no side: it is read while it works, so a value may still come from a path whose
removal is on its way, and values of two vertices may come from different prefixes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Required, TypedDict

Kind = Literal["exact", "bound", "gap", "stationary", "none"]
Side = Literal["upper", "lower"]
Reason = Literal["diverged"]


class Certificate(TypedDict, total=False):
    """See the module."""

    kind: Required[Kind]
    norm: str
    bound: float
    primal: float
    dual: float
    inertia: float
    method: str
    side: Side
    order: Literal["proved", "partial"]
    ties: list[list[int]]
    reason: Reason
    checked: bool
    check: dict[str, Any]


EXACT: Final[Certificate] = {"kind": "exact"}
NONE: Final[Certificate] = {"kind": "none"}
DIVERGED: Final[Certificate] = {"kind": "none", "reason": "diverged"}

# One of each sign and size, so that an order by anything but the number itself (its absolute value, its last digit) shows.
_NUMBERS: Final = (-1e9, -3.0, -1.0, -0.25, 0.0, 0.25, 1.0, 2.0, 3.0, 10.0, 1e9)


def has_no_answer(certificate: Mapping[str, Any] | None) -> bool:
    """Return whether it is known that there is no fixed point, so that more time would not help.

    Examples
    --------
    >>> has_no_answer(DIVERGED), has_no_answer(NONE), has_no_answer(None)
    (True, False, False)
    """
    return certificate is not None and certificate.get("reason") == "diverged"


def stopped(side: Side | None) -> Certificate:
    """Return the certificate of a branch that was stopped before its fixed point.

    Examples
    --------
    >>> stopped("upper"), stopped(None)
    ({'kind': 'none', 'side': 'upper'}, {'kind': 'none'})
    """
    return NONE if side is None else {"kind": "none", "side": side}


def fixed_point(side: Side | None, *, is_converged: bool) -> Certificate:
    """Return the certificate of a branch whose values are exact once it has converged, and on some side before.

    Examples
    --------
    >>> fixed_point("upper", is_converged=True), fixed_point("upper", is_converged=False)
    ({'kind': 'exact'}, {'kind': 'none', 'side': 'upper'})
    """
    return EXACT if is_converged else stopped(side)


def side_of(better: Callable[[float, float], bool]) -> Side | None:
    """Return on which side of the exact value a worse one is, by the order that a program prefers values in.

    None where that is not the order of numbers, or where the program has an order for some numbers only.

    Examples
    --------
    >>> side_of(lambda value, other: value < other), side_of(lambda value, other: value > other)
    ('upper', 'lower')
    >>> side_of(lambda value, other: abs(value) < abs(other)) is None
    True
    """
    pairs = [(less, greater) for greater in _NUMBERS for less in _NUMBERS if less < greater]
    try:
        prefers = {(bool(better(less, greater)), bool(better(greater, less))) for less, greater in pairs}
    except (ArithmeticError, ValueError):
        return None
    if prefers == {(True, False)}:
        return "upper"
    return "lower" if prefers == {(False, True)} else None
