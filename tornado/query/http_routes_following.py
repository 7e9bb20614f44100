"""`GET /v1/loops/{name}/events`: a loop is followed for as long as the connection lasts, as server-sent events.

By each exact answer: `values` and, where these are labels, `groups` with what is new, in pieces of a bounded number of rows; a `split` or
`merge` for each; and then one `answer`, which says for which snapshot all of this is. What the client was told is forgotten with the
connection, so another one begins anew; who must go on has a name (`http_routes_readers.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter
from fastapi import Path as PathParameter
from fastapi import Query as Parameter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ..errors import QueueFull, TornadoError, Unresponsive
from . import problems
from .events import Done, event, kept_alive
from .follower import INTERVAL_S, Changes, Follower, checked_interval
from .formats import row_dicts, snapshot_dict
from .http_access import caller_of
from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS
from .http_requests import HttpLimits, IdsParameter, refuse_unknown_parameters
from .http_routes_queries import EVENT_STREAM, Stopping
from .http_stream_places import StreamPlaces
from .query import Query
from .rows import Rows
from .service import QueryService
from .text_ids import rows_as_text

# One event has at most so many, as clients take an event whole.
ROWS = 10_000
# A query ends at its deadline, plus the time that its branch takes to stop.
LATE_S = 60.0

T = TypeVar("T")

LoopName = Annotated[str, PathParameter(description="Name of a main loop.")]


def following_routes(
    service: QueryService, limits: HttpLimits, stopping: Stopping, bulkheads: Bulkheads
) -> APIRouter:
    """Return the route of those who follow a loop while they are connected."""
    router = APIRouter(prefix="/v1/loops/{name}/events", tags=["loops"], responses=PROBLEMS)
    places = StreamPlaces(
        limits.loop_followers, doing="follow loops", instead="Ask again later, or a question now and then."
    )

    @router.get("", responses={200: {"content": {EVENT_STREAM: {}}, "description": "Events."}})
    async def follow(
        request: Request,
        name: LoopName,
        moved_by: Annotated[
            float | None,
            Parameter(
                description="By how much a number must have moved from what was told of it to be told again; whenever it has "
                "changed where it is left out."
            ),
        ] = None,
        interval_s: Annotated[
            float, Parameter(description="The least pause between two answers.")
        ] = INTERVAL_S,
        ids: IdsParameter = None,
    ) -> Response:
        """Follow a loop: by each exact answer `values`, `groups`, `split` and `merge` with what is new, then one `answer`."""
        refuse_unknown_parameters(request, ["moved_by", "interval_s", "ids"])
        follower = Follower(service, name, moved_by=moved_by)
        interval_s = checked_interval(interval_s)
        as_text = ids == "string" and service.codec_of(service.stream_of(name)).kind == "int"
        with ExitStack() as held:
            held.callback(places.take(request))
            held.enter_context(caller_of(request).asking())  # for as long as it follows: it asks all the time
            left = held.pop_all().close
        written = _Written(as_text=as_text)
        return FollowingResponse(follower, written, service, bulkheads, stopping, interval_s, left)

    return router


class FollowingResponse(StreamingResponse):
    """What is new in a loop as a stream of events; whatever ends it, its place is given up."""

    def __init__(
        self,
        follower: Follower,
        written: _Written,
        service: QueryService,
        bulkheads: Bulkheads,
        stopping: Stopping,
        interval_s: float,
        left: Callable[[], None],
    ) -> None:
        self._follower = follower
        self._written = written
        self._service = service
        self._bulkheads = bulkheads
        self._stopping = stopping
        self._interval_s = interval_s
        self._left = left
        self._discards: set[asyncio.Task[None]] = set()
        super().__init__(
            kept_alive(self._events()),
            media_type=EVENT_STREAM,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client leaves, the loop ends or the server stops."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._left()

    async def _events(self) -> AsyncIterator[bytes]:
        while not self._stopping.is_set:
            try:
                parts = await self._next()
                while (part := await self._read(partial(next, parts, None))) is not None:
                    yield part
            except TornadoError as error:
                yield event("error", problems.of_error(error).content())
                return
            await self._pause()

    async def _next(self) -> Iterator[bytes]:
        """Ask, where something came in, and return the events about what is new."""
        nothing: Iterator[bytes] = iter(())
        if not self._follower.is_behind():
            return nothing
        try:
            query = await self._bulkheads.forks.run(
                lambda: self._service.submit(self._follower.request), after=self._given_up
            )
        except (Unresponsive, QueueFull):
            return nothing  # loops are being restored, or many wait: the next look asks again
        done = Done(query)
        self._stopping.add(done)
        try:
            await done.wait(self._follower.deadline_s + LATE_S)
            if not query.state.is_final:
                return nothing  # the server stops
            changes = await self._read(lambda: self._follower.take(query))
            return nothing if changes is None else self._written.events(changes)
        finally:
            self._stopping.remove(done)
            done.close()
            self._discard(query)

    async def _read(self, call: Callable[[], T]) -> T:
        # One that hangs ends the stream: the follower may take it for told when it comes to its end.
        return await self._bulkheads.histories.run(call)

    async def _pause(self) -> None:
        pause = _Pause()
        self._stopping.add(pause)
        try:
            await pause.wait(self._interval_s)
        finally:
            self._stopping.remove(pause)

    def _given_up(self, query: Query | None) -> None:
        if query is not None:
            self._service.discard(query)

    def _discard(self, query: Query) -> None:
        """Have a query ended that nobody needs any more, by somebody who is not ended with the client."""

        async def discard() -> None:
            with suppress(Unresponsive):
                await self._bulkheads.cancels.run(lambda: self._service.discard(query))

        task = asyncio.get_running_loop().create_task(discard())
        self._discards.add(task)
        task.add_done_callback(self._discards.discard)


class _Pause:
    """A pause that ends early when the server stops."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()

    async def wait(self, pause_s: float) -> None:
        """Pause."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), pause_s)

    def wake(self) -> None:
        """End it."""
        self._ended.set()


class _Written:
    """Writes what is new as events.

    Parameters
    ----------
    as_text : bool
        Ids are numbers, and written as their digits.
    """

    def __init__(self, *, as_text: bool) -> None:
        self._as_text = as_text

    def events(self, changes: Changes) -> Iterator[bytes]:
        """Iterate over the events of one answer."""
        difference, version = changes.difference, changes.snapshot.version
        form, rows = difference.form, difference.values()
        for begin in range(0, len(rows.ids), ROWS):
            piece = _piece(rows, begin)
            if self._as_text:
                piece = rows_as_text(piece, form)
            yield event("values", {"version": version, "values": row_dicts(piece)})
        if form.has_groups:
            groups = difference.groups()
            for begin in range(0, len(groups), ROWS):
                listed = groups.slice(begin, ROWS).to_pylist()
                if self._as_text:
                    listed = [{name: _text(vertex) for name, vertex in row.items()} for row in listed]
                yield event("groups", {"version": version, "groups": listed})
            for batch in _batches(difference.group_events()):
                yield b"".join(self._turning(row, version) for row in batch)
        content = {"snapshot": snapshot_dict(changes.snapshot), "certificate": dict(changes.certificate)}
        yield event("answer", {"version": version} | content)

    def _turning(self, row: dict[str, Any], version: int) -> bytes:
        kind = row.pop("kind")
        if self._as_text:
            row |= {end: [str(name) for name in row[end]] for end in ("from", "into")}
        return event(kind, {"version": version} | row)


def _piece(rows: Rows, begin: int) -> Rows:
    of = slice(begin, begin + ROWS)
    names = None if rows.names is None else rows.names[of]
    return Rows(rows.ids[of], rows.values[of], rows.reached[of], names)


def _batches(batch: Any) -> Iterator[list[dict[str, Any]]]:
    for begin in range(0, len(batch), ROWS):
        yield batch.slice(begin, ROWS).to_pylist()


def _text(vertex: int | None) -> str | None:
    return None if vertex is None else str(vertex)
