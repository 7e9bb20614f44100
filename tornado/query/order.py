"""Top k with a proof of order: which of the best are certainly in the right order, by how far values are from the exact ones at most.

Where the bound is one of all values together (L1), one of two values may be too high by some part of it and the other too low by what is
left, and nothing else may be wrong then. So two whose difference is greater than the bound are in the right order, and of no smaller
difference is that certain. Where it is one of each value, as a share of it, it is the difference as a share of the sum of both that
counts (`value_types.gaps`). What is proved of neighbours holds for all between whom they stand. Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..loops.kind import kind_of_program
from ..loops.vertex_program import VertexProgram
from ..value_types import ValueArray, gaps
from .ids import Vertex
from .request import Mode, QueryRequest

# Of more, the parts of a branch would tell each other too much.
MOST_ORDERED = 1_000

Places = list[list[int]]


def may_end_with_order(program: VertexProgram, request: QueryRequest) -> bool:
    """Whether a branch of a program may end for a question before its values have converged, when the order of the best is certain."""
    if request.mode is not Mode.EXACT or request.at is not None or request.vertices is not None:
        return False
    return request.top is not None and request.top <= MOST_ORDERED and kind_of_program(program).proves_order


def ties_of(values: ValueArray, bound: float, norm: str = "l1") -> Places:
    """Return the places, from 1, of which it is not certain who comes first: first and last of each run.

    Parameters
    ----------
    values
        Best first.
    bound
        How far they are from the exact ones.
    norm
        In which norm that is.

    Examples
    --------
    >>> ties_of(np.array([9.0, 5.0, 4.5, 4.1, 1.0, 0.5]), 0.5)
    [[2, 4], [5, 6]]
    >>> ties_of(np.array([9.0, 5.0, 4.5, 4.1, 1.0, 0.5]), 0.1, "relative")
    [[2, 4]]
    >>> ties_of(np.array([9.0, 5.0, 4.5, 4.1, 1.0, 0.5]), 0.1)
    []
    """
    is_close = ~(gaps(values, norm) > bound)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_close, [False]])))
    return [[first + 1, last + 1] for first, last in edges.reshape(-1, 2).tolist()]


def order_of(values: ValueArray, bound: float, norm: str = "l1") -> dict[str, Any]:
    """Return what a certificate says of the order of the best, and of the last of them before the rest.

    Parameters
    ----------
    values
        Those of the best and, where there are more, of one after them.
    bound, norm
        See `ties_of`.
    """
    ties = ties_of(values, bound, norm)
    return {"order": "partial", "ties": ties} if ties else {"order": "proved"}


def is_contradicted(
    best: Sequence[Vertex],
    ties: Places,
    values: Mapping[Vertex, Any],
    bound: float,
    norm: str = "l1",
) -> bool:
    """Whether other values, of all vertices and with a bound of their own, show that some order is wrong that was said to be proved.

    Parameters
    ----------
    best
        Vertices, best first.
    ties, norm
        See `ties_of`.
    """
    tied = {place for first, last in ties for place in range(first, last)}
    found = [float(values[vertex]) for vertex in best]
    others = [float(value) for vertex, value in values.items() if vertex not in set(best)]
    if others:
        found.append(max(others))
    apart = gaps(np.array(found, np.float64), norm).tolist()
    pairs = zip(pairwise(found), apart, strict=True)
    return any(
        after > before and gap > bound
        for place, ((before, after), gap) in enumerate(pairs, 1)
        if place not in tied
    )
