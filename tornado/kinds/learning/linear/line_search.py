"""How far a Newton step goes: as far as lowers the objective enough (Armijo 1966), by steps that a parabola shortens.

Near the optimum roundings hide what an objective gains: then a step is of use where it halves the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Final, Protocol, TypeVar

from ..rounds import Round
from .linear_gap import Gap
from .linear_objective import Vector

EXACT: Final = 1e-13
"""Of the objective: less is not seen for roundings."""
_ARMIJO: Final = 1e-4
_SHORTEST: Final = 2.0**-40


class SearchPlace(Protocol):
    """A vector, and what a pass there has found."""

    vector: Vector
    gap: Gap


PlaceT = TypeVar("PlaceT", bound=SearchPlace)


def along(
    at: Callable[[Vector], Generator[Round, Vector, PlaceT]],
    here: PlaceT,
    step: Vector,
    slope: float,
    *,
    may_pass: Callable[[], bool],
    is_exact: bool,
) -> Generator[Round, Vector, PlaceT | None]:
    """Go as far as lowers the objective, or the bound where the objective shows nothing any more; None: nowhere.

    Parameters
    ----------
    at
        Makes a pass at a vector.
    step, slope
        Where to, and how fast the objective changes along it at first.
    may_pass
        Whether another pass may be made.
    is_exact
        Whether nothing better is to be had than this step: else it is given up soon.
    """
    scale, known = 1.0, here.gap
    while scale >= _SHORTEST and may_pass():
        there = yield from at(here.vector + scale * step)
        found = there.gap
        if found.primal <= known.primal + _ARMIJO * scale * slope:
            return there
        is_nearer = found.bound is not None and known.bound is not None and found.bound < 0.5 * known.bound
        if is_nearer and found.primal <= known.primal * (1.0 + EXACT):
            return there
        if not is_exact and scale < 0.1:
            return None
        rise = found.primal - known.primal - scale * slope
        best = -slope * scale * scale / (2.0 * rise) if math.isfinite(rise) and rise > 0.0 else 0.0
        scale = min(0.5 * scale, max(0.1 * scale, best))
    return None
