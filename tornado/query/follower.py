"""Following a loop within this process: it is asked for an exact answer whenever something came in, and what is new is told.

What a follower was told is in memory and goes with it. So whoever begins to follow is told of everything first, and of groups by the
names that they have then: their labels. Who must go on after a crash has what it was told kept under a name (`ResultHistory`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa

from ..errors import InvalidArgument, ResultUnavailable, UnknownLoop
from .answers import WholeAnswer
from .following import (
    GROUP_EVENTS,
    GROUPS,
    Difference,
    Told,
    checked_moved_by,
    require_followed,
    require_table,
)
from .formats import arrow_batch
from .query import NamedSnapshot, Query, QueryState
from .request import Mode, QueryRequest
from .rows import VALUES
from .service import QueryService

INTERVAL_S = 1.0
LEAST_INTERVAL_S = 0.05
LONGEST_INTERVAL_S = 3600.0
# What a certificate says of values that can be told of: a proof of what they are worth.
_PROVEN = ("exact", "bound")


class Changes:
    """What is new in one answer for a follower.

    Attributes
    ----------
    snapshot : NamedSnapshot
        Which prefix of the input the answer is for.
    certificate : mapping
        What its values are worth.
    difference : Difference
    """

    def __init__(
        self, snapshot: NamedSnapshot, certificate: Mapping[str, Any], difference: Difference, loop: str
    ) -> None:
        self.snapshot = snapshot
        self.certificate = certificate
        self.difference = difference
        self._loop = loop

    @cached_property
    def values(self) -> dict[Any, Any]:
        """The values that are told, by vertex; None for a vertex that is out of reach now, or gone."""
        return _by_vertex(self.table(VALUES))

    @cached_property
    def groups(self) -> dict[Any, Any]:
        """The groups that are told, by vertex, where values are labels of groups."""
        return _by_vertex(self.table(GROUPS))

    @cached_property
    def group_events(self) -> list[dict[str, Any]]:
        """What split and what merged: `{"kind": "split", "from": [1], "into": [1, 4], "sizes": [3, 2]}`, the largest part first."""
        rows: list[dict[str, Any]] = self.table(GROUP_EVENTS).to_pylist()
        return rows

    def table(self, name: str = VALUES) -> pa.Table:
        """Return `values` (`vertex`, `value`), or of labels `groups` (`vertex`, `group`) or `group_events`.

        Raises
        ------
        InvalidArgument
            When there is no such table.
        """
        return pa.Table.from_batches([batch_of(self.difference, name, self._loop)])

    def __repr__(self) -> str:
        rows = len(self.difference.values().ids)
        return f"<{type(self).__name__} at version {self.snapshot.version}: {rows} values>"


class Follower:
    """Follows one loop. Not to be shared between threads.

    Parameters
    ----------
    service : QueryService
    loop : str
        Which of its loops.
    moved_by : float, optional
        By how much a number must have moved from what was told of it to be told again; left out, it is whenever it has changed.
    deadline_s : float, optional
        How long each answer may take.

    Raises
    ------
    UnknownLoop
        When there is none of that name.
    InvalidArgument
        When a number is not allowed, or values have no distance.
    NotSupported
        When the loop learns from points.
    """

    def __init__(
        self,
        service: QueryService,
        loop: str,
        *,
        moved_by: float | None = None,
        deadline_s: float | None = None,
    ) -> None:
        self._service = service
        self._loop = service.loop(loop)
        form = service.form(loop)
        require_followed(form, loop)
        self._moved_by = checked_moved_by(moved_by, form, loop)
        self.request = QueryRequest(loop=loop, deadline_s=deadline_s)
        self.deadline_s = self.request.checked(service.limits)
        self._told: Told | None = None
        self._snapshot: NamedSnapshot | None = None

    def is_behind(self) -> bool:
        """Whether anything came in since the answer that was told last; asks no worker.

        Raises
        ------
        UnknownLoop
            When the loop was removed.
        ConnectionLost
            When the service is closed.
        """
        self._service.lifetime.require()
        if self._service.loop(self._loop.name) is not self._loop:
            raise UnknownLoop(f"loop {self._loop.name!r} was removed, and another one has its name")
        return self._snapshot is None or dict(self._snapshot.offsets) != self._loop.offsets()

    def take(self, query: Query) -> Changes | None:
        """Return what is new in the answer of an exact query of the loop that has ended, or None where it was told already.

        Raises
        ------
        ResultUnavailable
            When it has no exact answer.
        Exception
            Why the query failed, where it did.
        """
        name = self._loop.name
        if query.error is not None:
            raise query.error
        found = followed_answer(query, name)
        if found is None:
            state, certificate = query.state, query.status(asks=False).certificate or {}
            raise ResultUnavailable(
                f"loop {name!r} cannot be followed: a query of it ended as {state.value}"
                + (f" ({certificate['reason']})" if "reason" in certificate else ""),
                hint="Give it longer with deadline_s." if state is QueryState.DEADLINE else None,
            )
        snapshot, certificate, answer = found
        if self._snapshot is not None and self._snapshot.version == snapshot.version:
            self._snapshot = snapshot
            return None
        form = self._service.form(name)
        ids, values = answer.arrays()
        before = self._told
        self._told = (
            Told.first(ids, values, form)
            if before is None
            else before.next(ids, values, form, moved_by=self._moved_by)
        )
        self._snapshot = snapshot
        return Changes(snapshot, certificate, Difference(before, self._told, form), name)

    def changes(self, interval_s: float) -> Iterator[Changes]:
        """Iterate over what is new: everything at once, and then by each answer, for as long as the loop runs."""
        lifetime = self._service.lifetime
        while True:
            if self.is_behind():
                query = self._service.submit(self.request)
                try:
                    query.wait()
                    lifetime.require()  # which is why it was cancelled
                    found = self.take(query)
                finally:
                    self._service.discard(query)
                if found is not None:
                    yield found
            lifetime.wait(self._service.clock, interval_s)


def checked_interval(interval_s: Any) -> float:
    """Return how long a follower pauses between two looks.

    Raises
    ------
    InvalidArgument
        When it is not within bounds.
    """
    is_number = isinstance(interval_s, int | float) and not isinstance(interval_s, bool)
    if not (is_number and LEAST_INTERVAL_S <= interval_s <= LONGEST_INTERVAL_S):
        raise InvalidArgument(
            f"interval_s is {interval_s!r} but must be a number from {LEAST_INTERVAL_S:g} to {LONGEST_INTERVAL_S:g}"
        )
    return float(interval_s)


def followed_answer(query: Query, loop: str) -> tuple[NamedSnapshot, Mapping[str, Any], WholeAnswer] | None:
    """Return the snapshot, the certificate and the values of a query that has converged, where who follows a loop can be told of them.

    These are answers of all vertices, with the program's own parameters, that are exact or within a bound which the loop asks for.
    """
    status, answer, request = query.status(asks=False), query.answer, query.request
    certificate = status.certificate or {}
    proven = status.state is QueryState.CONVERGED and certificate.get("kind") in _PROVEN
    if request.loop != loop or request.mode is not Mode.EXACT or request.parameters or not proven:
        return None
    if status.snapshot is None or not isinstance(answer, WholeAnswer):
        return None
    return status.snapshot, certificate, answer


def batch_of(difference: Difference, table: str, loop: str) -> pa.RecordBatch:
    """Return a table of what is new.

    Raises
    ------
    InvalidArgument
        When the loop has none of that name.
    """
    require_table(table, difference.form, loop)
    if table == GROUPS:
        return difference.groups()
    if table == GROUP_EVENTS:
        return difference.group_events()
    return arrow_batch(difference.values())


def _by_vertex(table: pa.Table) -> dict[Any, Any]:
    vertices, others = (column.to_pylist() for column in table.columns)
    return dict(zip(vertices, others, strict=True))
