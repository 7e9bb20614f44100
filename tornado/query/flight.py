"""Branches on their way: which queries ride on which branch, which wait, and how many run. Decisions only, no threads.

Queries that wait and want the same share one branch. A query may board until the cut is asked for, since the cut must
hold everything that was admitted before the question; only a branch of a stored snapshot, whose cut is fixed, takes
riders while it runs. While a branch runs that would answer it but for the cut, a query waits for the next one, and
shares it with all who came meanwhile: those who ask at once have their answers sooner than from a branch each, all of
which would share the same cores, and the loop pays for one. A branch is stopped at the earliest deadline of its
riders, so only queries whose deadlines are close together ride together: nobody is stopped long before their time,
and nobody kept long behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from ..errors import QueueFull
from .query import Query
from .timer import Entry

# By how much of a query's own deadline it may be stopped early for the sake of another rider.
DEADLINE_TOLERANCE = 0.05


class Flight:
    """One branch, made or to be made, and the queries that it will answer.

    Attributes
    ----------
    queries : list of Query
        The riders. Those that are cancelled leave.
    branch : Branch or None
        Once it is forked.
    deadline_at_s : float
        The earliest deadline of its riders.
    stopped_by : str or None
        Set when we asked the branch to stop.
    """

    def __init__(self, key: tuple[Any, ...], query: Query) -> None:
        self.key = key
        self.queries = [query]
        self.branch: Any = None
        self.deadline_at_s = query.deadline_at_s
        self.stopped_by: str | None = None
        self.ended = False
        self.deadline: Entry | None = None

    @property
    def loop(self) -> str:
        """The main loop that is forked."""
        return str(self.key[0])

    @property
    def takes_riders_while_running(self) -> bool:
        """Whether the cut is fixed by a stored snapshot."""
        return self.key[2] is not None and not self.ended and self.stopped_by is None

    def suits(self, key: tuple[Any, ...], query: Query) -> bool:
        """Whether a query may ride along."""
        apart_s = abs(query.deadline_at_s - self.deadline_at_s)
        tolerance_s = DEADLINE_TOLERANCE * min(
            query.deadline_s, self.queries[0].deadline_s if self.queries else 0
        )
        return key == self.key and bool(self.queries) and apart_s <= tolerance_s

    def board(self, query: Query) -> None:
        """Take one more rider."""
        self.queries.append(query)
        self.deadline_at_s = min(self.deadline_at_s, query.deadline_at_s)


class Airfield:
    """All flights, waiting and running, and the queries held until their offsets are reached.

    The caller holds a lock around every call.

    Parameters
    ----------
    branches : int
        How many may run at once.
    queued : int
        How many queries may wait.
    """

    def __init__(self, *, branches: int, queued: int) -> None:
        self._branches = branches
        self._queued = queued
        self.running: list[Flight] = []
        self.waiting: deque[Flight] = deque()
        self.held: list[Query] = []

    def count_waiting(self) -> int:
        """How many queries wait for a branch or for offsets."""
        return len(self.held) + sum(len(flight.queries) for flight in self.waiting)

    def hold(self, query: Query, retry_after_s: float) -> None:
        """Keep a query until its offsets are reached."""
        self._require_room(retry_after_s)
        self.held.append(query)

    def place(self, query: Query, *, memory_allows: bool, retry_after_s: float) -> tuple[Flight, bool]:
        """Find or make a flight for a query; return it and whether the caller has to start it now.

        A query that was held has its place in the queue already.

        Raises
        ------
        QueueFull
            When it would have to wait and too many do.
        """
        key = query.request.branch_key()
        was_held = query in self.held
        if was_held:
            self.held.remove(query)
        for flight in self.running:
            if flight.takes_riders_while_running and flight.suits(key, query):
                flight.board(query)
                return flight, False
        has_turn = self.next_waiting() is None and not self._has_alike_running(key, query)
        if has_turn and self.has_slot(memory_allows=memory_allows):
            flight = Flight(key, query)
            self.running.append(flight)
            return flight, True
        if not was_held:
            self._require_room(retry_after_s)
        for flight in self.waiting:
            if flight.suits(key, query):
                flight.board(query)
                return flight, False
        flight = Flight(key, query)
        self.waiting.append(flight)
        return flight, False

    def has_slot(self, *, memory_allows: bool) -> bool:
        """Whether one more branch may run. One always may, or nothing would ever move."""
        return not self.running or (len(self.running) < self._branches and memory_allows)

    def next_waiting(self) -> Flight | None:
        """Return the flight that has waited longest of those that wait for no branch like theirs."""
        for flight in self.waiting:
            if not self._has_alike_running(flight.key, flight.queries[0]):
                return flight
        return None

    def take_off(self, flight: Flight) -> None:
        """Move a flight from the waiting to the running ones."""
        self.waiting.remove(flight)
        self.running.append(flight)

    def go_back(self, flight: Flight) -> None:
        """Let a flight wait again, first in line: its fork found no room."""
        self.running.remove(flight)
        self.waiting.appendleft(flight)

    def landed(self, flight: Flight) -> None:
        """Free the place of a flight that has ended; a second call does nothing."""
        if flight in self.running:
            self.running.remove(flight)

    def waits(self, query: Query) -> bool:
        """Whether a query waits for a branch or for offsets."""
        return query in self.held or any(query in flight.queries for flight in self.waiting)

    def leave(self, query: Query) -> Flight | None:
        """Take a query out; return the running flight that has lost its last rider by that, if one has."""
        if query in self.held:
            self.held.remove(query)
            return None
        for flight in self.waiting:
            if query in flight.queries:
                flight.queries.remove(query)
                if not flight.queries:
                    self.waiting.remove(flight)
                return None
        for flight in self.running:
            if query in flight.queries:
                flight.queries.remove(query)
                return flight if not flight.queries else None
        return None

    def everybody(self) -> Iterator[Query]:
        """Iterate over all queries that have not ended."""
        yield from self.held
        for flight in (*self.waiting, *self.running):
            yield from flight.queries

    def _has_alike_running(self, key: tuple[Any, ...], query: Query) -> bool:
        return any(flight.suits(key, query) for flight in self.running)

    def _require_room(self, retry_after_s: float) -> None:
        waiting = self.count_waiting()
        if waiting >= self._queued:
            raise QueueFull(
                f"{waiting} queries wait for a branch, and the queue holds {self._queued}",
                hint=f"Try again in {retry_after_s:g} s, or read with mode approximate, which never waits.",
                retry_after_s=retry_after_s,
            )
