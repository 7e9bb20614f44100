"""Small graphs with right answers, and errors that are planted into these: one each, of a kind with a name."""

import math
from dataclasses import dataclass, field

import numpy as np

from tornado.checking import AnswerToCheck, Edges

INF = math.inf


def edges_of(*rows):
    """Edges (source, target, weight)."""
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return Edges(
        np.array(columns[0], np.int64), np.array(columns[1], np.int64), np.array(columns[2], np.float64)
    )


def answer_of(values, *, bound=0.0, labels=False):
    """Rows in the order of a mapping, or of pairs; None is a vertex without a value."""
    rows = list(values.items()) if isinstance(values, dict) else list(values)
    shown = [0 if value is None else value for _, value in rows]
    return AnswerToCheck(
        np.array([vertex for vertex, _ in rows], np.int64),
        np.array(shown, np.int64 if labels else np.float64),
        np.array([value is not None for _, value in rows], np.bool_),
        bound,
    )


def above(value):
    """The next greater number."""
    return math.nextafter(value, INF)


def below(value):
    """The next lesser number."""
    return math.nextafter(value, -INF)


@dataclass(frozen=True)
class Planted:
    """An error.

    Parameters
    ----------
    name
        What is wrong.
    changes
        Vertices with the values that are planted: a tuple of pairs.
    first
        The first vertex that is wrong by that.
    """

    name: str
    changes: dict = field(hash=False)
    first: int

    def into(self, values):
        """Return the values with the error."""
        return values | self.changes


# 1 -> 2 -> 3 -> 4 along tenths, a worse way 1 -> 4, parallel edges 2 -> 3, loops at 1 and 3; a cycle 5 <-> 6 of weight 0 that 4 leads
# to; a cycle 7 <-> 8 of weight 0, one 10 -> 11 -> 12 -> 10 whose weights rounding swallows, and a loop at 9, that nothing leads to.
TINY = 2.0**-60
ROADS = edges_of(
    (1, 2, 0.1),
    (2, 3, 0.2),
    (2, 3, 0.25),
    (3, 4, 0.3),
    (1, 4, 0.9),
    (1, 1, 0.0),
    (3, 3, 1.0),
    (4, 5, 0.0),
    (5, 6, 0.0),
    (6, 5, 0.0),
    (7, 8, 0.0),
    (8, 7, 0.0),
    (9, 9, 0.0),
    (10, 11, TINY),
    (11, 12, TINY),
    (12, 10, TINY),
)
TENTHS = (0.1, 0.1 + 0.2, 0.1 + 0.2 + 0.3)
OUT = dict.fromkeys((7, 8, 9, 10, 11, 12, 13))
LENGTHS = {1: 0.0, 2: TENTHS[0], 3: TENTHS[1], 4: TENTHS[2], 5: TENTHS[2], 6: TENTHS[2], **OUT}
HOPS = {1: 0.0, 2: 1.0, 3: 2.0, 4: 1.0, 5: 2.0, 6: 3.0, **OUT}
WIDTHS = {1: INF, 2: 0.1, 3: 0.1, 4: 0.9, 5: 0.0, 6: 0.0, **OUT}
REACHED = {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0, 6: 1.0, **OUT}

WRONG_LENGTHS = [
    Planted("a value one ulp above", {3: above(TENTHS[1])}, 3),
    Planted("a value one ulp below", {3: below(TENTHS[1])}, 3),
    Planted("a value one ulp below at a vertex that leads nowhere else", {6: below(TENTHS[2])}, 6),
    Planted("the sum in another order", {4: 0.3 + 0.2 + 0.1, 5: 0.3 + 0.2 + 0.1, 6: 0.3 + 0.2 + 0.1}, 4),
    Planted("the worse of two ways", {4: 0.9, 5: 0.9, 6: 0.9}, 4),
    Planted("the worse of parallel edges", {3: 0.1 + 0.25}, 3),
    Planted("the source is not at 0", {1: 0.5}, 1),
    Planted("the source is at less than 0", {1: -1.0}, 1),
    Planted("the source has no value", {1: None}, 1),
    Planted("another vertex begins at 0", {9: 0.0}, 9),
    Planted("a vertex that is reached has no value", {6: None}, 6),
    Planted("all behind an edge have no value", {4: None, 5: None, 6: None}, 4),
    Planted("a vertex without edges has a value", {13: 1.0}, 13),
    Planted("a loop of weight 0 supports itself", {9: 5.0}, 9),
    Planted("a cycle of weight 0 supports itself", {7: 3.0, 8: 3.0}, 7),
    Planted("a cycle of weight 0 is lower than what leads to it", {5: 0.25, 6: 0.25}, 5),
    Planted("a cycle whose weights rounding swallows supports itself", {10: 4.0, 11: 4.0, 12: 4.0}, 10),
    Planted("a part is shifted by the same length", {3: TENTHS[1] - 0.125, 4: TENTHS[1] - 0.125 + 0.3}, 3),
    Planted("two values are exchanged", {2: TENTHS[1], 3: TENTHS[0]}, 2),
    Planted("a value is no number", {5: math.nan}, 5),
    Planted("an unreached value is no number", {13: math.nan}, 13),
    Planted("a value is negative", {7: -1.0, 8: -1.0}, 7),
    Planted("hops in place of lengths", {2: 1.0, 3: 2.0, 4: 1.0, 5: 2.0, 6: 3.0}, 2),
]
WRONG_HOPS = [
    Planted("one hop too many", {3: 3.0}, 3),
    Planted("one hop too few", {6: 2.0}, 6),
    Planted("half a hop", {2: 0.5}, 2),
    Planted("a cycle supports itself", {7: 4.0, 8: 5.0}, 7),
    Planted("a vertex that is reached has no value", {4: None}, 4),
    Planted("lengths in place of hops", {2: TENTHS[0], 3: TENTHS[1]}, 2),
]
WRONG_WIDTHS = [
    Planted("one ulp wider", {2: above(0.1)}, 2),
    Planted("one ulp narrower", {3: below(0.1)}, 3),
    Planted("the source is not infinitely wide", {1: 1e300}, 1),
    Planted("a second source", {9: INF}, 9),
    Planted("a cycle supports itself", {7: 0.0, 8: 0.0}, 7),
    Planted("a cycle of tiny edges supports itself", {10: TINY, 11: TINY, 12: TINY}, 10),
    Planted("a width that no edge has", {4: 0.5}, 4),
    Planted("the narrower of two ways", {4: 0.1}, 4),
    Planted("a vertex that is reached has no value", {6: None}, 6),
    Planted("a loop wider than what leads there", {3: 1.0}, 3),
]
WRONG_REACHED = [
    Planted("a cycle reaches itself", {7: 1.0, 8: 1.0}, 7),
    Planted("a loop reaches itself", {9: 1.0}, 9),
    Planted("a longer cycle reaches itself", {10: 1.0, 11: 1.0, 12: 1.0}, 10),
    Planted("a vertex that is reached has no value", {5: None}, 5),
    Planted("a cycle that is reached has no value", {5: None, 6: None}, 5),
    Planted("a value other than 1", {4: 2.0}, 4),
    Planted("a value one ulp below 1", {6: below(1.0)}, 6),
    Planted("an isolated vertex is reached", {13: 1.0}, 13),
]

# Components {2, 3, 5}, with parallel edges and both directions, {4, 9} and {7}, which has a loop.
LINKS = edges_of((5, 2, 1.0), (3, 5, 1.0), (3, 5, 2.0), (5, 3, 1.0), (9, 4, 0.0), (7, 7, 1.0))
LABELS = {2: 2, 3: 2, 5: 2, 4: 4, 9: 4, 7: 7}

WRONG_LABELS = [
    Planted("two labels are joined by an edge", {3: 3}, 3),
    Planted("two components have one label", {4: 2, 9: 2}, 4),
    Planted("a component is called by another vertex of it", {2: 3, 3: 3, 5: 3}, 2),
    Planted("a component is called by a vertex of another one", {4: 7, 9: 7}, 4),
    Planted("a component is called by no vertex", {4: 1, 9: 1}, 4),
    Planted("a component is called by no vertex, beyond 2^53", {7: 2**53 + 1}, 7),
    Planted("a vertex has no label", {9: None}, 9),
    Planted("labels of two components are exchanged", {2: 4, 3: 4, 5: 4, 4: 2, 9: 2}, 2),
    Planted("each vertex is alone", {3: 3, 5: 5, 9: 9}, 3),
    Planted("all are one component", {4: 2, 9: 2, 7: 2}, 4),
]

# A clique of four, 1 to 4, with both directions and a parallel edge; a triangle 5, 6, 7 that hangs on 4; a path 7 - 8 - 9; 10 has a
# loop, and 11 nothing.
FRIENDS = edges_of(
    *[(one, other, 1.0) for one in (1, 2, 3) for other in range(one + 1, 5)],
    (2, 1, 1.0),
    (1, 2, 2.0),
    (4, 5, 1.0),
    (5, 6, 1.0),
    (7, 6, 1.0),
    (7, 5, 0.0),
    (7, 8, 1.0),
    (9, 8, 1.0),
    (10, 10, 1.0),
    (10, 10, 1.0),
)
CORES = {1: 3, 2: 3, 3: 3, 4: 3, 5: 2, 6: 2, 7: 2, 8: 1, 9: 1, 10: 0, 11: 0}

WRONG_CORES = [
    Planted("a number is one too high", {8: 2}, 8),
    Planted("a number is one too low", {6: 1}, 6),
    Planted("a whole core is one too low", {1: 2, 2: 2, 3: 2, 4: 2}, 1),
    Planted("a whole core is one too high", {5: 3, 6: 3, 7: 3}, 5),
    Planted("degrees in place of numbers", {1: 3, 4: 4, 5: 3, 7: 3, 8: 2}, 4),
    Planted("parallel edges count", {1: 4, 2: 4}, 1),
    Planted("a loop counts", {10: 1}, 10),
    Planted("a vertex without edges has neighbours", {11: 1}, 11),
    Planted("a vertex has no core number", {9: None}, 9),
    Planted("a core number is negative", {11: -1}, 11),
    Planted("a core number is beyond all vertices", {2: 2**40}, 2),
    Planted("a path is peeled from the wrong end", {8: 0, 9: 0}, 8),
    Planted("all are nothing", dict.fromkeys(range(1, 10), 0), 1),
    Planted("two numbers are exchanged", {4: 2, 5: 3}, 4),
]
