"""Antichains: sets of times none of which is before another, and frontiers kept as one.

An antichain stands for all times that are at or after one of its elements; a *frontier* is the antichain of the times that may
still appear (Naiad, section 2.3). `Antichain` is the value; `MutableAntichain` maintains the frontier of a multiset of times
under increments and decrements; `MutableLeast` is its twin for total orders, where the frontier is one element or none.

Guaranteed: only times whose net count is positive are in a frontier. Counts may be negative for a while: the decrement of one
worker can arrive before the increment of another (Naiad, section 3.3), and such a time simply does not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from .order import Order, Time


class Antichain:
    """A set of mutually incomparable times.

    Examples
    --------
    >>> from tornado.timely.order import Product
    >>> frontier = Antichain(Product(2), [(0, 3), (1, 1), (2, 2)])
    >>> sorted(frontier)
    [(0, 3), (1, 1)]
    >>> frontier.less_equal((1, 5)), frontier.less_equal((0, 2))
    (True, False)
    """

    __slots__ = ("_elements", "order")

    def __init__(self, order: Order, times: Iterable[Time] = ()) -> None:
        self.order = order
        self._elements: list[Time] = []
        for time in times:
            self.insert(time)

    def insert(self, time: Time) -> bool:
        """Add `time` unless an element is at or before it; what `time` is before goes. Whether it was added."""
        less_equal = self.order.less_equal
        for element in self._elements:
            if less_equal(element, time):
                return False
        self._elements = [element for element in self._elements if not less_equal(time, element)]
        self._elements.append(time)
        return True

    def less_equal(self, time: Time) -> bool:
        """Whether `time` may still appear: an element is at or before it."""
        less_equal = self.order.less_equal
        return any(less_equal(element, time) for element in self._elements)

    def less_than(self, time: Time) -> bool:
        """Whether something strictly before `time` may still appear."""
        less_than = self.order.less_than
        return any(less_than(element, time) for element in self._elements)

    def dominates(self, other: Antichain) -> bool:
        """Whether every element of `other` is at or after one of this (this frontier is not the later one)."""
        return all(self.less_equal(element) for element in other)

    def __iter__(self) -> Iterator[Time]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __bool__(self) -> bool:
        return bool(self._elements)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Antichain):
            return NotImplemented
        return self.order == other.order and sorted(self._elements) == sorted(other._elements)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Antichain({sorted(self._elements)})"


class MutableLeast:
    """The least time of positive count in a multiset under a total order.

    An update costs amortised O(log n): times that became positive wait in a heap, and those that are not positive any more
    leave it when they come to the top.

    Examples
    --------
    >>> least = MutableLeast()
    >>> least.update((3,), 1), least.update((5,), 1), least.update((3,), -1)
    (True, False, True)
    >>> least.frontier()
    ((5,),)
    """

    __slots__ = ("_heap", "counts", "least")

    def __init__(self) -> None:
        self.counts: dict[Time, int] = {}
        self.least: Time | None = None
        self._heap: list[Time] = []

    def update(self, time: Time, delta: int) -> bool:
        """Add `delta` to the count of `time`; whether the frontier moved."""
        counts = self.counts
        old = counts.get(time, 0)
        new = old + delta
        if new:
            counts[time] = new
        else:
            counts.pop(time, None)
        least = self.least
        if new > 0:
            if old > 0:
                return False
            heap = self._heap
            if len(heap) > 2 * len(counts) + 32:
                # Times that come and go behind a least one that stays would pile up.
                heap[:] = sorted(other for other, count in counts.items() if count > 0 and other != time)
            heappush(heap, time)
            if least is None or time < least:
                self.least = time
                return True
            return False
        if time != least:
            return False
        heap = self._heap
        while heap and counts.get(heap[0], 0) <= 0:
            heappop(heap)
        self.least = heap[0] if heap else None
        return True

    def frontier(self) -> tuple[Time, ...]:
        """The least time, in a tuple of one, or an empty tuple."""
        return () if self.least is None else (self.least,)

    def frontier_without(self, taken: dict[Time, int]) -> tuple[Time, ...]:
        """The frontier if the counts in `taken` were subtracted; nothing changes. At worst one pass over the counts."""
        least, counts = self.least, self.counts
        if least is None or least not in taken or counts[least] > taken[least]:
            return self.frontier()
        best: Time | None = None
        for time, count in counts.items():
            if count > taken.get(time, 0) and count > 0 and (best is None or time < best):
                best = time
        return () if best is None else (best,)


class MutableAntichain:
    """The frontier of a multiset of times under a partial order.

    Insertions that are dominated and removals of dominated times cost one pass over the frontier; a removal from the frontier
    costs a pass over the distinct times.

    Examples
    --------
    >>> from tornado.timely.order import Product
    >>> times = MutableAntichain(Product(2))
    >>> times.update((0, 1), 1), times.update((1, 0), 1), times.update((1, 1), 1)
    (True, True, False)
    >>> times.update((0, 1), -1), sorted(times.frontier())
    (True, [(1, 0)])
    """

    __slots__ = ("_frontier", "counts", "order")

    def __init__(self, order: Order) -> None:
        self.order = order
        self.counts: dict[Time, int] = {}
        self._frontier: tuple[Time, ...] = ()

    def update(self, time: Time, delta: int) -> bool:
        """Add `delta` to the count of `time`; whether the frontier moved."""
        counts = self.counts
        old = counts.get(time, 0)
        new = old + delta
        if new:
            counts[time] = new
        else:
            counts.pop(time, None)
        if (old > 0) == (new > 0):
            return False
        if new > 0:
            chain = Antichain(self.order, self._frontier)
            if not chain.insert(time):
                return False
            self._frontier = tuple(chain)
            return True
        if time not in self._frontier:
            return False
        self._frontier = self._rebuilt({})
        return True

    def frontier(self) -> tuple[Time, ...]:
        """The minimal times of positive count."""
        return self._frontier

    def frontier_without(self, taken: dict[Time, int]) -> tuple[Time, ...]:
        """The frontier if the counts in `taken` were subtracted; nothing changes."""
        if all(self.counts.get(time, 0) > count for time, count in taken.items()):
            return self._frontier
        return self._rebuilt(taken)

    def _rebuilt(self, taken: dict[Time, int]) -> tuple[Time, ...]:
        chain = Antichain(self.order)
        for time, count in self.counts.items():
            if count > 0 and count > taken.get(time, 0):
                chain.insert(time)
        return tuple(chain)
