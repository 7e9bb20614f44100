"""Logical time: tuples of counters under a pluggable partial order.

A timestamp is a flat tuple ``(epoch, counter, …)`` with one counter for each loop that encloses it (Naiad, SOSP 2013,
section 2.1). What "earlier" means is an order, chosen for each loop: in the *product* order every counter counts for itself,
in the *lexicographic* order the outer counter decides before the inner one, which makes it total. An order is a list of
blocks: lexicographic inside a block, product between blocks. So one class covers both, and loops of different kinds nest.

Guaranteed: every order is a lattice with a least element, and entering a loop (appending 0) is monotone. Times are compared
by the functions of their order and never wrapped, so a time costs a tuple and a comparison in a total order one ``<=``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from ..errors import InvalidArgument

Time = tuple[int, ...]


class Order:
    """A partial order on tuples: lexicographic inside each block, product between the blocks.

    Parameters
    ----------
    blocks : tuple of int
        How many counters each block has, outermost first.

    Attributes
    ----------
    arity : int
        Length of every timestamp.
    least : tuple of int
        The time before all others.
    is_total : bool
        Whether any two times are comparable, which is so with one block.
    less_equal, less_than, join, meet : callable
        The order and its lattice, on two times. Native tuple comparison where the order is total.

    Examples
    --------
    >>> Order((1, 2)).less_equal((0, 1, 9), (1, 2, 0))
    True
    >>> Order((1, 2)).join((0, 2, 9), (1, 1, 0))
    (1, 2, 9)
    """

    __slots__ = ("arity", "blocks", "is_total", "join", "least", "less_equal", "less_than", "meet")

    less_equal: Callable[[Time, Time], bool]
    less_than: Callable[[Time, Time], bool]
    join: Callable[[Time, Time], Time]
    meet: Callable[[Time, Time], Time]

    def __init__(self, blocks: tuple[int, ...]) -> None:
        if not blocks or min(blocks) < 1:
            raise ValueError(
                f"the blocks of an order are {blocks}: there must be one, each of one counter or more"
            )
        self.blocks = blocks
        self.arity = sum(blocks)
        self.least: Time = (0,) * self.arity
        self.is_total = len(blocks) == 1
        if self.is_total:
            self.less_equal, self.less_than, self.join, self.meet = operator.le, operator.lt, max, min
        elif self.arity == len(blocks):
            self.less_equal = _product_less_equal
            self.less_than = _product_less_than
            self.join = _product_join
            self.meet = _product_meet
        else:
            self.less_equal = self._blocks_less_equal
            self.less_than = self._blocks_less_than
            self.join = self._blocks_join
            self.meet = self._blocks_meet

    def nested_product(self) -> Order:
        """The order inside a loop whose counter counts for itself."""
        return Order((*self.blocks, 1))

    def nested_lexicographic(self) -> Order:
        """The order inside a loop whose counter only decides between times that are equal in the last block."""
        return Order((*self.blocks[:-1], self.blocks[-1] + 1))

    def as_time(self, given: object, whose: str) -> Time:
        """Return what a caller gave as a timestamp of this order: a tuple of Python's integers, one for each counter.

        Parameters
        ----------
        given : object
            A tuple of integers of any kind, NumPy's too.
        whose : str
            Who has times of this order, in words.

        Raises
        ------
        InvalidArgument
            When it is anything else.

        Examples
        --------
        >>> Order((1, 2)).as_time((4, True, 0), "the input")
        (4, 1, 0)
        """
        if isinstance(given, tuple) and len(given) == self.arity:
            try:
                # Path summaries add integers of Python only: any other number would end a run in the middle.
                return tuple(map(operator.index, given))
            except TypeError:
                pass
        raise InvalidArgument(
            f"{whose} has times of {self.arity} counters, and {given!r} is none of them",
            hint="A time is a tuple of integers, one for the epoch and one for each loop around. "
            "To inputs and probes outside of loops an epoch may be given alone.",
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Order) and self.blocks == other.blocks

    def __hash__(self) -> int:
        return hash(self.blocks)

    def __repr__(self) -> str:
        if self.is_total:
            return f"Lexicographic({self.arity})"
        if self.arity == len(self.blocks):
            return f"Product({self.arity})"
        return f"Order({self.blocks})"

    def _pieces(self, time: Time) -> list[Time]:
        pieces, start = [], 0
        for length in self.blocks:
            pieces.append(time[start : start + length])
            start += length
        return pieces

    def _blocks_less_equal(self, a: Time, b: Time) -> bool:
        return all(x <= y for x, y in zip(self._pieces(a), self._pieces(b), strict=True))

    def _blocks_less_than(self, a: Time, b: Time) -> bool:
        return a != b and self._blocks_less_equal(a, b)

    def _blocks_join(self, a: Time, b: Time) -> Time:
        return sum(map(max, self._pieces(a), self._pieces(b)), ())

    def _blocks_meet(self, a: Time, b: Time) -> Time:
        return sum(map(min, self._pieces(a), self._pieces(b)), ())


def Product(arity: int) -> Order:  # noqa: N802  (reads as the name of the order it makes)
    """The order in which every one of `arity` counters counts for itself.

    Examples
    --------
    >>> Product(2).less_equal((0, 5), (1, 4))
    False
    >>> Product(2).join((0, 5), (1, 4)), Product(2).meet((0, 5), (1, 4))
    ((1, 5), (0, 4))
    """
    return Order((1,) * arity)


def Lexicographic(arity: int) -> Order:  # noqa: N802  (see Product)
    """The total order in which the first counter that differs decides.

    Examples
    --------
    >>> Lexicographic(2).less_equal((0, 5), (1, 4))
    True
    """
    return Order((arity,))


def _product_less_equal(a: Time, b: Time) -> bool:
    return all(map(operator.le, a, b))


def _product_less_than(a: Time, b: Time) -> bool:
    return a != b and all(map(operator.le, a, b))


def _product_join(a: Time, b: Time) -> Time:
    return tuple(map(max, a, b))


def _product_meet(a: Time, b: Time) -> Time:
    return tuple(map(min, a, b))
