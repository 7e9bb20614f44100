"""`/v1/observations`: how the whole service stands, now, over time, and as server-sent events; and what was asked.

One observer looks for all clients, so another client costs what its bytes cost. Who may see some streams is shown these alone. The event
loop asks nobody. A client that reads slowly misses observations, never the newest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import orjson
from fastapi import APIRouter
from fastapi import Query as Parameter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from . import problems
from .events import COMMENT, KEEP_ALIVE_S, event
from .formats import JSON
from .http_access import caller_of
from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS
from .http_requests import HttpLimits, JsonResponse, refuse_unknown_parameters
from .http_routes_page import PageFiles
from .http_routes_queries import EVENT_STREAM, Stopping
from .http_stream_places import StreamPlaces
from .observer import Observer
from .report import POLICY, report

REPORTED_QUESTIONS = 500


class ObservationBody(BaseModel):
    """How the service stands; what a loop never said is null."""

    model_config = ConfigDict(extra="allow")

    time: float = Field(description="Seconds since 1970.")
    streams: list[dict[str, Any]] = Field(
        description="Of each how far its input is behind: `not_read` (records; null where nobody knows), `read_ahead_batches` (read, not "
        "admitted), `not_propagated` (admitted, not applied); its sources, checkpoints, and by worker the records applied and waiting."
    )
    loops: list[dict[str, Any]] = Field(
        description="Of each its residual, pending vertices, iteration, updates, and `workers` with theirs."
    )
    branches: list[dict[str, Any]] = Field(description="How far questions are that have a branch.")
    queries: dict[str, Any]
    process: dict[str, Any]
    workers: list[dict[str, Any]] = Field(
        description="Of each so far: `busy_s`, seconds of a core; `waited_s`, in which it did nothing as others had to send something first; and "
        "`sent_bytes` to others (null where they share memory)."
    )
    questions: int = Field(
        description="How many questions have ended, of streams that the caller may see: the number of the newest line of "
        "`GET /v1/observations/questions`."
    )


class LinesBody(BaseModel):
    """What was observed, over time; the older, the fewer rows."""

    times: list[float] = Field(description="Seconds since 1970.")
    series: dict[str, dict[str, list[float | None]]] = Field(
        description="By name and column as many numbers as there are times; null where nothing was known."
    )


class QuestionsBody(BaseModel):
    """Questions that ended, newest first."""

    questions: list[dict[str, Any]]
    kept: int
    newest: int


def observation_routes(
    observer: Observer,
    limits: HttpLimits,
    stopping: Stopping,
    bulkheads: Bulkheads,
    *,
    page: PageFiles,
) -> APIRouter:
    """Return the routes about what is observed; who listens is told of which build the page is, and so knows whether it has another."""
    router = APIRouter(prefix="/v1/observations", tags=["operation"], responses=PROBLEMS)
    places = StreamPlaces(
        limits.event_streams, doing="watch", instead="Ask again later, or GET /v1/observations now and then."
    )
    lines = {
        "loops": observer.loops,
        "streams": observer.streams,
        "workers": observer.workers,
        "use": observer.use,
        "branches": observer.branches,
    }

    @router.get("", response_model=ObservationBody)
    async def newest(request: Request) -> Response:
        """Look at everything at once: streams, loops, workers, running branches."""
        refuse_unknown_parameters(request, [])
        streams = caller_of(request).streams
        return JsonResponse(await bulkheads.looks.run(lambda: observer.newest(streams)))

    @router.get("/lines/{of}", response_model=LinesBody)
    async def over_time(
        request: Request,
        of: str,
        names: Annotated[
            list[str] | None, Parameter(description="Only of these; may be given several times.")
        ] = None,
    ) -> Response:
        """Look back: the numbers of `loops`, `streams`, `workers`, `use` (what workers do with their time, and send) or `branches`, also of those that are gone."""
        refuse_unknown_parameters(request, ["names"])
        line = lines.get(of)
        if line is None:
            raise problems.invalid(
                f"there are no lines of {of[:100]!r}", hint=f"There are: {', '.join(lines)}."
            )
        wanted = None if names is None else set(names)
        streams = caller_of(request).streams
        return JsonResponse(await bulkheads.listings.run(lambda: line.between(wanted, streams)))

    @router.get("/questions", response_model=QuestionsBody)
    async def questions(
        request: Request,
        before: Annotated[int | None, Parameter(ge=1, description="Only with a smaller number.")] = None,
        limit: Annotated[int, Parameter(ge=1, le=1_000)] = 100,
        loop: Annotated[str | None, Parameter(description="Only of this loop.")] = None,
        state: Annotated[str | None, Parameter(description="Only those that ended so.")] = None,
    ) -> Response:
        """List the questions that ended, newest first: the last ten thousand, also where their answers are forgotten."""
        refuse_unknown_parameters(request, ["before", "limit", "loop", "state"])
        streams = caller_of(request).streams
        found = await bulkheads.listings.run(
            lambda: observer.questions.page(
                before=before, limit=limit, loop=loop, state=state, streams=streams
            )
        )
        return Response(found, media_type=JSON)

    @router.get("/report", responses={200: {"content": {"text/html": {}}, "description": "A file."}})
    async def one_file(request: Request) -> Response:
        """Keep everything as one HTML file that shows it without a service: as it is now, over time, and the newest questions."""
        refuse_unknown_parameters(request, [])
        streams = caller_of(request).streams

        def made() -> bytes:
            asked = observer.questions.page(limit=REPORTED_QUESTIONS, streams=streams)
            now = observer.newest(streams)
            content = {
                "url": f"{request.url.scheme}://{request.url.netloc}",
                "now": now,
                "frontiers": observer.frontiers_of(now),
                "lines": {name: line.between(None, streams) for name, line in lines.items()},
                "questions": orjson.loads(asked)["questions"],
            }
            return report(page.plain, page.build, content)

        found = await bulkheads.looks.run(made)
        return Response(
            found,
            media_type="text/html",
            headers={
                "Content-Disposition": 'attachment; filename="tornado-report.html"',
                "Content-Security-Policy": f"{POLICY}; sandbox",
            },
        )

    @router.get("/events", responses={200: {"content": {EVENT_STREAM: {}}, "description": "Events."}})
    async def watch(request: Request) -> Response:
        """Watch: `hello`, then `now` with an observation at most once a second, and `branches` at most five times."""
        refuse_unknown_parameters(request, [])
        left = places.take(request)
        return WatchingResponse(observer, stopping, {"build": page.build}, caller_of(request).streams, left)

    return router


class _Watcher:
    """What one client has still to be told: the newest event of each name."""

    def __init__(self, streams: frozenset[str] | None) -> None:
        self.streams = streams
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Event = asyncio.Event()
        self._events: dict[str, bytes] = {}

    def heard(self, name: str, content: bytes) -> None:
        """See `Listener`."""
        try:
            self._loop.call_soon_threadsafe(self._take, name, content)
        except RuntimeError:
            return  # the event loop has ended: nobody is left who could be told

    def wake(self) -> None:
        """Let who waits go on (the server stops)."""
        self._waiting.set()

    async def next(self, timeout_s: float) -> list[bytes]:
        """Wait for events and return them; none where the time is over."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._waiting.wait()
        except TimeoutError:
            return []
        self._waiting.clear()
        events, self._events = self._events, {}
        return list(events.values())

    def _take(self, name: str, content: bytes) -> None:
        self._events[name] = content
        self._waiting.set()


class WatchingResponse(StreamingResponse):
    """Observations as a stream of events, until the client leaves or the server stops."""

    def __init__(
        self,
        observer: Observer,
        stopping: Stopping,
        hello: dict[str, Any],
        streams: frozenset[str] | None,
        left: Callable[[], None],
    ) -> None:
        self._observer = observer
        self._left = left
        self._stopping = stopping
        self._hello = hello
        self._watcher = _Watcher(streams)
        super().__init__(
            self._events(),
            media_type=EVENT_STREAM,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events."""
        self._observer.add(self._watcher)
        self._stopping.add(self._watcher)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._stopping.remove(self._watcher)
            self._observer.remove(self._watcher)
            self._left()

    async def _events(self) -> AsyncIterator[bytes]:
        yield event("hello", self._hello)
        while not self._stopping.is_set:
            found = await self._watcher.next(KEEP_ALIVE_S)
            if not self._stopping.is_set:
                yield b"".join(found) or COMMENT
