"""`/v1/loops/{name}/readers`: what changed between two exact answers, for those who follow a loop; see `ResultHistory`.

A reader asks an exact query without vertices, has its answer kept under its own name, and reads what changed since another one
that is kept: values, and where these are labels, the groups by names that stay. Every call may be made again. Whoever may see a loop may read
what is kept of it; only the token that made a reader, and those that may write, keep and delete.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter
from fastapi import Path as PathParameter
from fastapi import Query as Parameter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from ..errors import InvalidArgument, StoreError
from ..loop_views import MainLoopView
from ..loops.kind import computed_by
from ..storage import open_store
from .answers import WholeAnswer
from .follower import batch_of, followed_answer
from .following import checked_moved_by, require_followed, require_table
from .formats import ARROW, JSON
from .http_access import caller_of
from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS, parse_body
from .http_requests import HttpLimits, JsonResponse, read_body, refuse_unknown_parameters
from .ids import INT64_MAX
from .query import Query
from .result_history import ResultHistory
from .rows import VALUES, AnswerForm
from .service import QueryService

LoopName = Annotated[str, PathParameter(description="Name of a main loop.")]
# One of dots alone may be no name in a path: clients take `.` and `..` out of it.
ReaderName = Annotated[
    str,
    PathParameter(description="Who follows.", min_length=1, max_length=60, pattern=r"^[\w.-]*[\w-][\w.-]*$"),
]
Version = Annotated[int, Parameter(description="A version that is kept.", ge=0, le=INT64_MAX)]


class KeepBody(BaseModel):
    """Which answer to keep."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: str
    after: int | None = Field(
        default=None,
        description="What this reader was told before: a version that is kept, or 0 for nothing; the newest before this one "
        "where it is left out.",
        ge=0,
        le=INT64_MAX,
    )
    moved_by: float | None = Field(
        default=None,
        description="By how much a number must have moved from what this reader was told of it to be told again; whenever it has "
        "changed where it is left out.",
    )


class KeptBody(BaseModel):
    """Under which version it is kept."""

    version: int


def reader_routes(service: QueryService, limits: HttpLimits, bulkheads: Bulkheads) -> APIRouter:
    """Return the routes about those who follow a loop."""
    router = APIRouter(prefix="/v1/loops/{name}/readers/{reader}", tags=["loops"], responses=PROBLEMS)
    # A master without a store has loops that end with the process, and so may their results.
    store = getattr(service.master, "store", None) or open_store("memory:")
    results = ResultHistory(store, clock=service.clock)

    computed: dict[str, tuple[MainLoopView, str]] = {}

    def told(form: AnswerForm, loop: MainLoopView) -> AnswerForm:
        """The form with what the loop computes; in a thread, as that takes long where its parameters are, and once a loop."""
        known = computed.get(loop.name)
        if known is None or known[0] is not loop:
            known = computed[loop.name] = (loop, f"{loop.stream_name} {computed_by(loop.program)}")
        return replace(form, computes=known[1])

    def forget_loop(name: str) -> None:
        computed.pop(name, None)
        # What stays takes room alone: what is told names its version and what computed it.
        with suppress(StoreError):
            results.forget_loop(name)

    service.add_loop_listener(forget_loop)

    @router.post("", response_model=KeptBody)
    async def keep(request: Request, name: LoopName, reader: ReaderName) -> Response:
        """Keep the answer of an exact query that has ended, for this reader; one that is kept already stays as it is."""
        refuse_unknown_parameters(request, [])
        loop, found = name, service.loop(name)
        intake = service.served(found).intake
        body = await read_body(
            request, accepted=[JSON], limit_bytes=limits.small_body_bytes, timeout_s=limits.body_timeout_s
        )
        wanted = parse_body(KeepBody, body, "which answer to keep", '{"query": "8eeb5bcdfc3249fb"}')
        form = service.form(loop)
        require_followed(form, loop)
        moved_by = checked_moved_by(wanted.moved_by, form, loop)
        query = service.get(wanted.query)
        caller = caller_of(request)
        caller.require(query.stream, f"query {wanted.query!r}")
        version, answer = _exact(query, loop)

        def stored() -> None:
            intake.save_names()  # the ids of the result count on them
            results.keep(
                loop,
                reader,
                version,
                *answer.arrays(),
                form=told(form, found),
                after=wanted.after,
                moved_by=moved_by,
                by=caller,
            )

        await bulkheads.histories.run(stored)
        return JsonResponse({"version": version})

    @router.get("", responses={200: {"content": {ARROW: {}}, "description": "An Arrow stream."}})
    async def changes(
        request: Request,
        name: LoopName,
        reader: ReaderName,
        after: Version,
        up_to: Version,
        table: Annotated[str, Parameter(description="One of the loop's `followed_tables`.")] = VALUES,
    ) -> Response:
        """Read what a reader is told at `up_to` that was told of `after`: what is new or has another value, and of groups."""
        refuse_unknown_parameters(request, ["after", "up_to", "table"])
        found = service.loop(name)
        loop, form = found.name, service.form(name)
        require_table(table, form, loop)

        def rendered() -> bytes:
            changes = results.changes(loop, reader, after, up_to, form=told(form, found))
            batch = batch_of(changes, table, loop)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            return bytes(sink.getvalue())

        return Response(await bulkheads.histories.run(rendered), media_type=ARROW)

    @router.delete("", status_code=204)
    async def forget(request: Request, name: LoopName, reader: ReaderName, before: Version) -> Response:
        """Delete the answers before a version."""
        refuse_unknown_parameters(request, ["before"])
        found, form, caller = service.loop(name), service.form(name), caller_of(request)

        def forgotten() -> None:
            results.forget(found.name, reader, before, form=told(form, found), by=caller)

        await bulkheads.histories.run(forgotten)
        return Response(status_code=204)

    return router


def _exact(query: Query, loop: str) -> tuple[int, WholeAnswer]:
    if query.request.parameters:
        raise InvalidArgument(
            f"the query {query.id} has parameters of its own, so its answer cannot be compared with others"
        )
    found = followed_answer(query, loop)
    if found is None:
        raise InvalidArgument(
            f"the query {query.id} of loop {query.request.loop!r} ({query.state.value}) has no exact answer of all "
            f"vertices of loop {loop!r} to keep",
            hint='Ask {"loop": …} without vertices, top or mode, wait for its end, and name that query.',
        )
    snapshot, _, answer = found
    return snapshot.version, answer
