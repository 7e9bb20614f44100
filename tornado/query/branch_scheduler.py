"""Admission control: which queries share a branch, which wait, and how many branches run. Decisions only, no threads.

Queries that wait and want the same are a group and share one branch. A query may join until the cut is asked for, since
the cut must hold everything that was admitted before the question; only a branch of a stored snapshot, whose cut is
fixed, takes queries while it runs. While a branch runs that would answer it but for the cut, a query waits for the next
one, and shares it with all that came meanwhile: queries asked at once have their answers sooner than from a branch
each, all of which would share the same cores, and the loop pays for one. A branch is stopped at the earliest deadline of
its group, so only queries whose deadlines are close together are a group: none is stopped long before its time, and none
kept long behind it.

Of the branches whose answers are checked one runs at a time, since each has all edges of a graph copied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from ..errors import QueueFull
from .query import Query
from .timer import Entry

# By how much of a query's own deadline it may be stopped early for the sake of another of its group.
DEADLINE_TOLERANCE = 0.05


class QueryGroup:
    """One branch, made or to be made, and the queries that it will answer.

    Attributes
    ----------
    queries : list of Query
        Those that are cancelled leave.
    branch : Branch or None
        Once it is forked.
    deadline_at_s : float
        The earliest deadline of its queries.
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
    def is_checked(self) -> bool:
        """Whether the values are verified before they are given out."""
        return _is_checked(self.key)

    @property
    def takes_queries_while_running(self) -> bool:
        """Whether it has not ended and its cut is fixed, by a stored snapshot."""
        return self.key[2] is not None and not self.ended and self.stopped_by is None

    def suits(self, key: tuple[Any, ...], query: Query) -> bool:
        """Whether a query wants the same, by about the same deadline."""
        apart_s = abs(query.deadline_at_s - self.deadline_at_s)
        tolerance_s = DEADLINE_TOLERANCE * min(
            query.deadline_s, self.queries[0].deadline_s if self.queries else 0
        )
        return key == self.key and bool(self.queries) and apart_s <= tolerance_s

    def join(self, query: Query) -> None:
        """Take one more query."""
        self.queries.append(query)
        self.deadline_at_s = min(self.deadline_at_s, query.deadline_at_s)

    def begin_again(self, queries: list[Query]) -> None:
        """Be for these of its queries, by their own deadlines: its branch was lost, and another one is forked."""
        self.queries = queries
        self.deadline_at_s = min((query.deadline_at_s for query in queries), default=self.deadline_at_s)
        self.branch, self.stopped_by, self.ended = None, None, False


class BranchScheduler:
    """All groups, waiting and running, and the queries held until their offsets are reached.

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
        self.running: list[QueryGroup] = []
        self.waiting: deque[QueryGroup] = deque()
        self.held: list[Query] = []

    def count_waiting(self) -> int:
        """How many queries wait for a branch or for offsets."""
        return len(self.held) + sum(len(group.queries) for group in self.waiting)

    def hold(self, query: Query, retry_after_s: float) -> None:
        """Keep a query until its offsets are reached."""
        self._require_room(retry_after_s)
        self.held.append(query)

    def place(self, query: Query, *, memory_allows: bool, retry_after_s: float) -> tuple[QueryGroup, bool]:
        """Find or make a group for a query; return it and whether the caller has to fork for it now.

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
        for group in self.running:
            if group.takes_queries_while_running and group.suits(key, query):
                group.join(query)
                return group, False
        has_turn = self.next_waiting() is None and not self._has_alike_running(key, query)
        if has_turn and self.has_slot(memory_allows=memory_allows):
            group = QueryGroup(key, query)
            self.running.append(group)
            return group, True
        if not was_held:
            self._require_room(retry_after_s)
        for group in self.waiting:
            if group.suits(key, query):
                group.join(query)
                return group, False
        group = QueryGroup(key, query)
        self.waiting.append(group)
        return group, False

    def has_slot(self, *, memory_allows: bool) -> bool:
        """Whether one more branch may run. One always may, or nothing would ever move."""
        return not self.running or (len(self.running) < self._branches and memory_allows)

    def next_waiting(self) -> QueryGroup | None:
        """Return the group that has waited longest of those for which no branch like theirs runs."""
        for group in self.waiting:
            if not self._has_alike_running(group.key, group.queries[0]):
                return group
        return None

    def start(self, group: QueryGroup) -> None:
        """Move a group from the waiting to the running ones."""
        self.waiting.remove(group)
        self.running.append(group)

    def put_back(self, group: QueryGroup) -> None:
        """Let a group wait again, first in line: its fork found no room."""
        self.running.remove(group)
        self.waiting.appendleft(group)

    def end(self, group: QueryGroup) -> None:
        """Free the slot of a group that has ended; a second call does nothing."""
        if group in self.running:
            self.running.remove(group)

    def waits(self, query: Query) -> bool:
        """Whether a query waits for a branch or for offsets."""
        return query in self.held or any(query in group.queries for group in self.waiting)

    def leave(self, query: Query) -> QueryGroup | None:
        """Take a query out; return the running group that has lost its last query by that, if one has."""
        if query in self.held:
            self.held.remove(query)
            return None
        for group in self.waiting:
            if query in group.queries:
                group.queries.remove(query)
                if not group.queries:
                    self.waiting.remove(group)
                return None
        for group in self.running:
            if query in group.queries:
                group.queries.remove(query)
                return group if not group.queries else None
        return None

    def everybody(self) -> Iterator[Query]:
        """Iterate over all queries that have not ended."""
        yield from self.held
        for group in (*self.waiting, *self.running):
            yield from group.queries

    def _has_alike_running(self, key: tuple[Any, ...], query: Query) -> bool:
        is_checked = _is_checked(key)
        return any(group.suits(key, query) or (is_checked and group.is_checked) for group in self.running)

    def _require_room(self, retry_after_s: float) -> None:
        waiting = self.count_waiting()
        if waiting >= self._queued:
            raise QueueFull(
                f"{waiting} queries wait for a branch, and the queue holds {self._queued}",
                hint=f"Try again in {retry_after_s:g} s, or read with mode approximate, which never waits.",
                retry_after_s=retry_after_s,
            )


def _is_checked(key: tuple[Any, ...]) -> bool:
    return bool(key[4])
