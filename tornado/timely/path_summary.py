"""Path summaries: what a path through the graph does to the times that travel along it.

Entering a loop appends a counter, leaving drops it, feedback adds to the last one (Naiad, section 2.1, the table of timestamp
actions). Any composition of these keeps some of the leading counters, each plus a constant, and sets the counters after them
to constants; `PathSummary` is that normal form, so composition is a few additions and paths of any length stay small.

Two locations may be joined by many paths. What matters is the antichain of *minimal* summaries over all of them: where a time
``t`` here could result in a time ``s(t)`` there. One summary is before another when it is so for every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from .order import Order, Time


@dataclass(frozen=True, slots=True)
class PathSummary:
    """Keep the first `keep` counters, add `add` to them, and append the rest of `add`.

    Parameters
    ----------
    source : int
        Length of the times it is applied to.
    keep : int
        How many leading counters survive.
    add : tuple of int
        One number for each counter of the result: an increment while below `keep`, a value after that. None is negative.

    Examples
    --------
    >>> around = PathSummary.enter(1).then(PathSummary.feedback(2)).then(PathSummary.leave(2))
    >>> around == PathSummary.identity(1)
    True
    >>> PathSummary.feedback(2, 3)((7, 1))
    (7, 4)
    """

    source: int
    keep: int
    add: Time

    def __post_init__(self) -> None:
        if self.keep > min(self.source, len(self.add)) or any(number < 0 for number in self.add):
            raise ValueError(f"{self!r} keeps counters that are not there, or goes back in time")

    @classmethod
    @cache
    def identity(cls, depth: int) -> PathSummary:
        """The path that leaves times of `depth` counters as they are."""
        return cls(depth, depth, (0,) * depth)

    @classmethod
    def enter(cls, depth: int) -> PathSummary:
        """Into a loop, from times of `depth` counters."""
        return cls(depth, depth, (0,) * (depth + 1))

    @classmethod
    def leave(cls, depth: int) -> PathSummary:
        """Out of a loop whose times have `depth` counters."""
        return cls(depth, depth - 1, (0,) * (depth - 1))

    @classmethod
    def feedback(cls, depth: int, step: int = 1) -> PathSummary:
        """Round the innermost loop: the last of `depth` counters grows by `step`."""
        return cls(depth, depth, (0,) * (depth - 1) + (step,))

    @property
    def target(self) -> int:
        """Length of the resulting times."""
        return len(self.add)

    @property
    def is_identity(self) -> bool:
        """Whether no time is changed."""
        return self.source == self.keep == len(self.add) and not any(self.add)

    def __call__(self, time: Time) -> Time:
        """The time at the end of the path."""
        keep = self.keep
        return tuple(map(int.__add__, time[:keep], self.add)) + self.add[keep:]

    def then(self, other: PathSummary) -> PathSummary:
        """The path that goes on with `other`."""
        if self.target != other.source:
            raise ValueError(
                f"{self} ends with {self.target} counters but {other} starts with {other.source}"
            )
        kept = tuple(map(int.__add__, self.add[: other.keep], other.add))
        return PathSummary(self.source, min(self.keep, other.keep), kept + other.add[other.keep :])

    def less_equal(self, other: PathSummary, order: Order) -> bool:
        """Whether this path is never later than `other`, for any time; `order` is that of the target.

        Inside a block the first counter that differs decides. A constant is never later than a kept counter plus at least as
        much (the kept one may be 0), and a kept counter may exceed every constant.
        """
        index = 0
        for length in order.blocks:
            for position in range(index, index + length):
                ours, theirs = self.add[position], other.add[position]
                if position < self.keep and position >= other.keep:
                    return False
                if ours > theirs:
                    return False
                if ours < theirs:
                    break
            index += length
        return True

    def advances(self, order: Order) -> bool:
        """Whether no time comes out at or before itself; asked of cycles.

        In a total order that means strictly later. In others a cycle may also come out incomparable: round the outer loop, a
        counter of the inner one starts at 0 again. What matters is that no pointstamp could result in itself.
        """
        index = 0
        for length in order.blocks:
            for position in range(index, index + length):
                if position >= self.keep:
                    break  # a constant is before some counter
                if self.add[position] > 0:
                    return True
            index += length
        return False

    def compiled(self) -> Callable[[Time], Time] | None:
        """The fastest function that does the same, or None for the identity."""
        if self.is_identity:
            return None
        keep, add = self.keep, self.add
        if not any(add[:keep]):
            tail = add[keep:]
            if keep == self.source:
                return lambda time: time + tail
            return (lambda time: time[:keep] + tail) if tail else (lambda time: time[:keep])
        if keep == len(add) == self.source and not any(add[:-1]):
            step = add[-1]
            if keep == 2:
                return lambda time: (time[0], time[1] + step)
            return lambda time: (*time[:-1], time[-1] + step)
        return self.__call__


def insert_minimal(summaries: list[PathSummary], summary: PathSummary, order: Order) -> bool:
    """Insert into an antichain of summaries, in place; whether `summary` was new and minimal.

    Examples
    --------
    >>> from tornado.timely.order import Product
    >>> minimal = [PathSummary.feedback(2, 2)]
    >>> insert_minimal(minimal, PathSummary.feedback(2, 1), Product(2)), len(minimal)
    (True, 1)
    """
    if any(known.less_equal(summary, order) for known in summaries):
        return False
    summaries[:] = [known for known in summaries if not summary.less_equal(known, order)]
    summaries.append(summary)
    return True
