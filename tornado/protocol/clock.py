"""Lamport clocks: one total order on the sessions that prepare at the same time.

Two vertices that consume each other and prepare together must agree which of them goes first, without asking a third party.
Each takes a *stamp* when it starts to prepare; the smaller stamp goes first. The clock of a worker is always ahead of every
stamp it has seen, so a session that starts after it was told of another gets a greater stamp (the "happened before" of
Lamport, "Time, clocks, and the ordering of events in a distributed system", CACM 1978; used so in Tornado, section 4.2).

Guarantees: stamps are totally ordered and never repeat; only finitely many are smaller than a given one, which is why the
session with the smallest stamp always finishes and nobody starves.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """When a vertex started to prepare; ordered by clock, ties broken by vertex id.

    Examples
    --------
    >>> Stamp(3, vertex=9) < Stamp(4, vertex=1)
    True
    >>> Stamp(3, vertex=1) < Stamp(3, vertex=9)
    True
    """

    clock: int
    vertex: int


class LamportClock:
    """The logical clock of one worker.

    Parameters
    ----------
    time : int, default 0
        The greatest clock used or seen so far.

    Examples
    --------
    >>> clock = LamportClock()
    >>> first = clock.tick(vertex=7)
    >>> clock.witness(Stamp(12, vertex=3))
    >>> clock.tick(vertex=7)
    Stamp(clock=13, vertex=7)
    """

    __slots__ = ("time",)

    def __init__(self, time: int = 0) -> None:
        self.time = time

    def tick(self, vertex: int) -> Stamp:
        """A stamp greater than all this clock has given out or witnessed."""
        self.time += 1
        return Stamp(self.time, vertex)

    def witness(self, stamp: Stamp) -> None:
        """Never give out a stamp below one that was seen."""
        self.time = max(self.time, stamp.clock)
