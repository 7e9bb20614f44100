"""`/v1/queries`: questions as resources.

Whatever asks a loop, a worker or the store runs in a bulkhead, with a deadline. Answers that are in memory and small are made
on the event loop, where the branch's callback wakes them. A query is described with the progress that is known where its
workers do not say in time how far it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import APIRouter
from fastapi import Query as Parameter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ..clock import Clock
from ..errors import QueueFull, ResultUnavailable, Unresponsive
from ..records.point_schema import Points
from . import problems
from .answers import Answer, Selection, SmallAnswer, all_unknown
from .bulkhead import Bulkhead
from .callers import Caller
from .events import Done, events
from .formats import (
    ARROW,
    CSV,
    FORMATS,
    JSON,
    NDJSON,
    Format,
    accepted_format,
    json_bytes,
    page_dict,
    status_dict,
    vertex_of,
    vertices_of,
)
from .http_access import caller_of, require_loop
from .http_bulkheads import Bulkheads
from .http_models import (
    PROBLEMS,
    CertificateBody,
    QueryBody,
    QueryListBody,
    QueryStatusBody,
    ResultBody,
    parse_query,
    shown,
)
from .http_requests import HttpLimits, IdsParameter, JsonResponse, read_body, refuse_unknown_parameters
from .http_stream_places import StreamPlaces
from .http_tables import refuse_selection, table_dict, table_response, table_to_read
from .ids import Vertex
from .problems import Problem, ProblemError
from .query import Query, QueryState, QueryStatus
from .request import Mode
from .rows import VALUES, Page
from .service import QueryService
from .text_ids import page_as_text, rows_as_text, with_numbers

QUICK_ROWS = 1_000
QUICK_BODY_BYTES = 1 << 14
EVENT_STREAM = "text/event-stream"

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": QueryBody.model_json_schema(ref_template="#/components/schemas/{model}")}
        },
    }
}
_RESULTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Values, by `Accept`.",
        "model": ResultBody,
        "content": {NDJSON: {}, CSV: {}, ARROW: {}},
    },
    **PROBLEMS,
}

T = TypeVar("T")

WaitParameter = Annotated[
    float | None,
    Parameter(
        description="Wait up to so many seconds for the end, and put `result` inside.",
        ge=0,
        allow_inf_nan=False,
    ),
]


class Wakeable(Protocol):
    """Something that is waited for on the event loop."""

    def wake(self) -> None:
        """Let those who wait go on."""


class Stopping:
    """Wakes everything that waits on the event loop when the server stops."""

    def __init__(self) -> None:
        self.is_set = False
        self._waiting: set[Wakeable] = set()

    def add(self, done: Wakeable) -> None:
        """Wake this one when the server stops."""
        self._waiting.add(done)

    def remove(self, done: Wakeable) -> None:
        """Forget one that waits no more."""
        self._waiting.discard(done)

    def set(self) -> None:
        """Wake all of them; called on the event loop."""
        self.is_set = True
        for done in self._waiting:
            done.wake()


class RowsResponse(StreamingResponse):
    """A result that is rendered while it is sent; lets the answer go at the end, also when the client left early.

    To be made by `begun`, so that a worker that hangs is a problem document and not a result that breaks off.
    """

    def __init__(self, answer: Answer, chosen: Format, results: Bulkhead, *, as_text: bool) -> None:
        self._chunks = answer.chunks()
        self._form = answer.form
        self._as_text = as_text
        self._chosen = chosen
        self._results = results
        self._parts: Iterator[bytes] = iter(())
        self._is_read = False  # by a thread
        super().__init__(self._all(), media_type=chosen.media_type)

    @classmethod
    async def begun(cls, answer: Answer, chosen: Format, results: Bulkhead, *, as_text: bool) -> RowsResponse:
        """Return the response to an answer, of which the first rows are there; ids are numbers, or their digits as text."""
        response = cls(answer, chosen, results, as_text=as_text)
        try:
            await response._read(response._begin)
        except BaseException:
            response._let_go()
            raise
        return response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._let_go()

    def _begin(self) -> None:
        rows = (rows_as_text(rows, self._form) if self._as_text else rows for rows in self._chunks)
        end = Page(self._form.no_rows, (), None)
        if self._as_text:
            end = page_as_text(end, self._form)
        self._parts = iter(self._chosen.stream(chain(list(islice(rows, 1)), rows), end))

    async def _all(self) -> AsyncIterator[bytes]:
        while (part := await self._read(partial(next, self._parts, None))) is not None:
            yield part

    async def _read(self, call: Callable[[], T]) -> T:
        self._is_read = True
        try:
            result = await self._results.run(call, after=self._left)
        except (Unresponsive, asyncio.CancelledError):
            raise  # the thread may still read: it lets go when it has
        except BaseException:
            self._is_read = False
            raise
        self._is_read = False
        return result

    def _left(self, result: object) -> None:
        del result
        self._chunks.close()

    def _let_go(self) -> None:
        if not self._is_read:
            self._chunks.close()


def query_routes(
    service: QueryService, limits: HttpLimits, stopping: Stopping, bulkheads: Bulkheads
) -> APIRouter:
    """Return the routes over one service."""
    router = APIRouter(prefix="/v1/queries", tags=["queries"], responses=PROBLEMS)
    places = StreamPlaces(
        limits.event_streams, doing="listen to events", instead="Ask with GET ?wait_s= instead, or later."
    )

    async def finished(query: Query, wait_s: float) -> None:
        if query.state.is_final or stopping.is_set:
            return
        done = Done(query)
        stopping.add(done)
        try:
            await done.wait(wait_s)
        finally:
            stopping.remove(done)
            done.close()

    async def known(ask: Callable[[bool], T], *, at_once: bool) -> T:
        """What `ask` returns with the workers asked, or without where they do not answer."""
        if at_once:
            return ask(False)
        try:
            return await bulkheads.progress.run(lambda: ask(True))
        except Unresponsive:
            return ask(False)

    async def look(query: Query) -> QueryStatus:
        return await known(lambda asks: query.status(asks=asks), at_once=query.branch is None)

    def declared(caller: Caller, loop: str) -> Points | None:
        require_loop(service, caller, loop)
        return getattr(service.loop(loop).program, "declared_points", None)

    def is_text(answer: Answer, ids: str | None) -> bool:
        """Whether numbers are to be written as strings."""
        return ids == "string" and answer.form.codec.kind == "int"

    async def body(query: Query, *, with_result: bool, ids: str | None) -> dict[str, Any]:
        content = describe(await look(query))
        answer = query.answer
        if with_result and answer is not None:
            as_text = is_text(answer, ids)
            table = table_to_read(None, answer, query.found, selects=False)

            def written(selection: Selection) -> dict[str, Any]:
                if table != VALUES:
                    return table_dict(query.found, answer, table, limit=limits.inline_rows, as_text=as_text)
                page = answer.page(selection)
                return page_dict(page_as_text(page, answer.form) if as_text else page, query.found)

            if isinstance(answer, SmallAnswer) and len(answer) <= QUICK_ROWS:
                content["result"] = written(Selection())
            else:
                selection = Selection(limit=limits.inline_rows)
                content["result"] = await bulkheads.results.run(lambda: written(selection))
        return content

    @router.post(
        "",
        status_code=202,
        response_model=QueryStatusBody,
        openapi_extra=_BODY,
        responses={200: {"model": QueryStatusBody, "description": "It has finished, or was approximate."}},
    )
    async def ask(request: Request, wait_s: WaitParameter = None, ids: IdsParameter = None) -> Response:
        """Ask a question: forks a branch from the main loop as it is now."""
        refuse_unknown_parameters(request, ["wait_s", "ids"])
        _check_wait(wait_s, limits)
        raw = await read_body(
            request, accepted=[JSON], limit_bytes=limits.query_body_bytes, timeout_s=limits.body_timeout_s
        )
        caller = caller_of(request)
        parsed = partial(parse_query, raw, partial(declared, caller))
        asked = parsed() if len(raw) <= QUICK_BODY_BYTES else await bulkheads.reads.run(parsed)
        require_loop(service, caller, asked.loop)
        if ids == "string" and service.codec_of_values(asked.loop).kind == "int":
            asked = with_numbers(asked, service.loop(asked.loop).program)
        kind, deadline_s = bulkheads.forks, None
        if asked.mode is Mode.APPROXIMATE:
            kind = bulkheads.reads
        elif asked.at is not None:
            kind, deadline_s = bulkheads.loads, asked.checked(service.limits)
        with caller.asking() as counted:
            query = await kind.run(lambda: service.submit(asked), after=given_up, deadline_s=deadline_s)
            counted(query)
        query.asker = caller.digest
        if wait_s:
            await finished(query, wait_s)
        answered = query.state.is_final and (wait_s is not None or asked.mode is Mode.APPROXIMATE)
        return JsonResponse(
            await body(query, with_result=answered, ids=ids),
            status_code=200 if answered else 202,
            headers={"Location": f"/v1/queries/{query.id}"},
        )

    @router.get("", response_model=QueryListBody)
    async def listed(
        request: Request,
        loop: Annotated[str | None, Parameter(description="Only of this loop.")] = None,
        limit: Annotated[int, Parameter(ge=1, le=10_000)] = 100,
    ) -> Response:
        """List the queries that run, wait or are kept, newest first."""
        refuse_unknown_parameters(request, ["loop", "limit"])
        caller = caller_of(request)
        found = [
            query
            for query in reversed(service.queries())
            if caller.sees(query.stream) and (loop is None or query.request.loop == loop)
        ]

        def described(*, asks: bool) -> bytes:
            return json_bytes({"queries": [describe(query.status(asks=asks)) for query in found[:limit]]})

        # Also where nobody is asked, there may be a thousand of them to describe.
        if any(query.branch is not None for query in found[:limit]):
            with contextlib.suppress(Unresponsive):
                return Response(await bulkheads.progress.run(lambda: described(asks=True)), media_type=JSON)
        return Response(await bulkheads.listings.run(lambda: described(asks=False)), media_type=JSON)

    @router.get("/{id}", response_model=QueryStatusBody)
    async def status(
        request: Request,
        id: str,  # noqa: A002
        wait_s: WaitParameter = None,
        ids: IdsParameter = None,
    ) -> Response:
        """Look at a query, or wait for it."""
        refuse_unknown_parameters(request, ["wait_s", "ids"])
        _check_wait(wait_s, limits)
        query = service.get(id)
        if wait_s:
            await finished(query, wait_s)
        return JsonResponse(await body(query, with_result=wait_s is not None, ids=ids))

    @router.delete("/{id}", response_model=QueryStatusBody)
    async def cancel(request: Request, id: str) -> Response:  # noqa: A002
        """Cancel a query that has not ended, or forget one that has."""
        refuse_unknown_parameters(request, [])
        query = service.get(id)
        caller = caller_of(request)
        if caller.digest != query.asker:
            caller.require_writing()
        await bulkheads.cancels.run(lambda: service.cancel(id))
        return JsonResponse(describe(query.status(asks=False)))

    @router.post("/{id}/adopt", response_model=CertificateBody)
    async def adopt(request: Request, id: str) -> Response:  # noqa: A002
        """Have the loop take over what a converged query has found; answers with the certificate of that."""
        refuse_unknown_parameters(request, [])
        query = service.get(id)
        return JsonResponse(await bulkheads.adoptions.run(lambda: service.adopt(query.id)))

    @router.get("/{id}/result", responses=_RESULTS)
    async def result(
        request: Request,
        id: str,  # noqa: A002
        vertices: Annotated[list[str] | None, Parameter(description="Ids, separated by commas.")] = None,
        top: Annotated[int | None, Parameter(ge=1)] = None,
        limit: Annotated[int | None, Parameter(ge=1)] = None,
        after: Annotated[str | None, Parameter(description="`next` of the page before.")] = None,
        ids: IdsParameter = None,
        table: Annotated[
            str | None,
            Parameter(description="One of the `tables` of the loop; the first where it is left out."),
        ] = None,
    ) -> Response:
        """Read the values, or a part of them, as JSON, NDJSON, CSV or Arrow."""
        refuse_unknown_parameters(request, ["vertices", "top", "limit", "after", "ids", "table"])
        chosen = accepted_format(request.headers.get("accept"))
        if chosen is None:
            raise problems.not_acceptable(request.headers.get("accept", ""), list(FORMATS))
        query = service.get(id)
        answer = _answer_of(query)
        _check_table(table, answer)
        as_text = is_text(answer, ids)
        wanted = table_to_read(table, answer, query.found, selects=not (vertices is None and top is None))
        if wanted != VALUES:
            refuse_selection(request)
            limit = _bounded("limit", limit, service.limits.page)
            return await bulkheads.results.run(
                lambda: table_response(
                    query.found,
                    answer,
                    wanted,
                    request,
                    accepted=chosen.media_type,
                    limit=limit,
                    as_text=as_text,
                )
            )
        kind = answer.form.codec.kind
        selection = Selection(
            vertices=_vertices(vertices, kind, service.limits.vertices),
            top=_bounded("top", top, service.limits.top),
            limit=_bounded("limit", limit, service.limits.page),
            after=_after(after, kind),
        )
        if selection == Selection() and not isinstance(answer, SmallAnswer):
            return await RowsResponse.begun(answer, chosen, bulkheads.results, as_text=as_text)

        def page() -> Response:
            found = answer.page(selection)
            if as_text:
                found = page_as_text(found, answer.form)
            is_told = query.found is not None and query.found.predictions is not None
            if chosen.media_type == JSON and is_told:
                return JsonResponse(page_dict(found, query.found))
            return _page_response(found, chosen, request, of=answer.form.values_are_of)

        if isinstance(answer, SmallAnswer) and len(answer) <= QUICK_ROWS:
            return page()
        return await bulkheads.results.run(page)

    @router.get("/{id}/events", responses={200: {"content": {EVENT_STREAM: {}}, "description": "Events."}})
    async def listen(request: Request, id: str) -> Response:  # noqa: A002
        """Follow a query: `progress` events, then one `done`."""
        refuse_unknown_parameters(request, [])
        query = service.get(id)
        try:
            left = places.take(request)
        except QueueFull as full:
            raise ProblemError(
                Problem(
                    429,
                    "too-many-streams",
                    "Too many streams",
                    full.message,
                    hint=full.hint,
                    headers={"Retry-After": "5"},
                )
            ) from None
        return EventsResponse(query, stopping, left, look, service.clock)

    def given_up(query: Query | None) -> None:
        """Discard a query whose client was told to ask again, and so knows nothing of it."""
        if query is not None:
            service.discard(query)

    return router


class EventsResponse(StreamingResponse):
    """A stream of events; whatever ends it, the callback is taken back and the place given up."""

    def __init__(
        self,
        query: Query,
        stopping: Stopping,
        left: Callable[[], None],
        look: Callable[[Query], Awaitable[QueryStatus]],
        clock: Clock,
    ) -> None:
        self._query = query
        self._clock = clock
        self._look = look
        self._stopping = stopping
        self._left = left
        super().__init__(
            iter(()),
            media_type=EVENT_STREAM,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the query is done, the client leaves or the server stops."""
        done = Done(self._query)
        self._stopping.add(done)
        try:
            self.body_iterator = events(
                self._query,
                done,
                look=self._look,
                describe=describe,
                stopping=lambda: self._stopping.is_set,
                clock=self._clock,
            )
            await super().__call__(scope, receive, send)
        finally:
            self._stopping.remove(done)
            done.close()
            self._left()


def describe(status: QueryStatus) -> dict[str, Any]:
    """Return the body of a query, with the problem of one that failed."""
    content = status_dict(status)
    if status.error is not None:
        content["error"] = problems.of_error(status.error).content()
    return content


def _check_wait(wait_s: float | None, limits: HttpLimits) -> None:
    if wait_s is not None and not (math.isfinite(wait_s) and 0 <= wait_s <= limits.max_wait_s):
        raise problems.invalid(
            f"wait_s is {wait_s:g} but must be from 0 to {limits.max_wait_s:g}",
            hint="Ask again with GET ?wait_s=.",
        )


def _answer_of(query: Query) -> Answer:
    if query.answer is not None:
        return query.answer
    if query.error is not None:
        raise query.error
    state = query.state
    hints = {
        QueryState.DEADLINE: "Its deadline passed while it waited; ask again with a longer deadline_s.",
        QueryState.CANCELLED: "It was cancelled; ask again.",
    }
    raise ResultUnavailable(
        f"query {query.id} is {state.value} and has no result",
        hint=hints.get(state, f"Wait with GET /v1/queries/{query.id}?wait_s=10."),
    )


def _check_table(name: str | None, answer: Answer) -> None:
    names = [table["name"] for table in answer.form.tables]
    if name is not None and name not in names:
        raise problems.invalid(
            f"table is {shown(name)}, but the tables of this loop are: {', '.join(names)}",
            hint="Leave it out to read the first one. GET /v1/loops/{name} lists them with their columns.",
        )


def _vertices(texts: list[str] | None, kind: str, longest: int) -> tuple[Vertex, ...] | None:
    if texts is None:
        return None
    try:
        vertices = vertices_of(texts, kind)
    except ValueError as error:
        wanted = "list of ids" if kind == "string" else "64-bit integer"
        raise problems.invalid(
            f"vertices has {shown(str(error))}, which is no {wanted}",
            hint="Separate ids with commas: 4,5. What is no plain word stands in double quotes.",
        ) from None
    if not 1 <= len(vertices) <= longest:
        raise problems.invalid(f"vertices has {len(vertices)} ids but must have 1 to {longest}")
    return vertices


def _after(text: str | None, kind: str) -> Vertex | None:
    try:
        return None if text is None else vertex_of(text, kind)
    except ValueError:
        raise problems.invalid(
            f"after is {shown(text)}, which is no 64-bit integer", hint="Use `next` of a page."
        ) from None


def _bounded(name: str, value: int | None, greatest: int) -> int | None:
    if value is not None and value > greatest:
        raise problems.invalid(
            f"{name} is {value} but may be at most {greatest}", hint="Read it in pages, with after."
        )
    return value


def _page_response(page: Page, chosen: Format, request: Request, *, of: str) -> Response:
    is_empty = not page.rows.ids and not page.paths
    if page.unknown and is_empty and request.query_params.get("after") is None:
        raise all_unknown(page.unknown, of)
    headers = {}
    if page.next is not None:
        headers["Link"] = f'<{request.url.include_query_params(after=page.next)}>; rel="next"'
    if page.unknown:
        # Only JSON has room for the list itself.
        headers["Tornado-Unknown-Count"] = str(len(page.unknown))
    parts = chosen.stream([page.rows], page)
    return Response(b"".join(parts), media_type=chosen.media_type, headers=headers)
