"""`/v1/loops/{name}/readers`: what changed between two exact answers, for those who follow a loop; see `ResultHistory`.

A reader asks an exact query without vertices, has its answer kept under its own name, and reads what changed since another one
that is kept. Every call may be made again.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as PathParameter
from fastapi import Query as Parameter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from ..errors import InvalidArgument
from ..storage import open_store
from .answers import WholeAnswer
from .formats import ARROW, FORMATS, JSON
from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS, parse_body
from .http_requests import HttpLimits, JsonResponse, read_body, refuse_unknown_parameters
from .ids import INT64_MAX
from .query import Query, QueryState
from .result_history import ResultHistory
from .rows import Page
from .service import QueryService

LoopName = Annotated[str, PathParameter(description="Name of a main loop.")]
ReaderName = Annotated[
    str, PathParameter(description="Who follows.", min_length=1, max_length=60, pattern=r"^[\w.-]+$")
]
Version = Annotated[int, Parameter(description="A version that is kept.", ge=0, le=INT64_MAX)]


class KeepBody(BaseModel):
    """Which answer to keep."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: str


class KeptBody(BaseModel):
    """Under which version it is kept."""

    version: int


def reader_routes(service: QueryService, limits: HttpLimits, bulkheads: Bulkheads) -> APIRouter:
    """Return the routes about those who follow a loop."""
    router = APIRouter(prefix="/v1/loops/{name}/readers/{reader}", tags=["loops"], responses=PROBLEMS)
    # A master without a store has loops that end with the process, and so may their results.
    store = getattr(service.master, "store", None) or open_store("memory:")
    results = ResultHistory(store, clock=service.clock)

    @router.post("", response_model=KeptBody)
    async def keep(request: Request, name: LoopName, reader: ReaderName) -> Response:
        """Keep the answer of an exact query that has ended, for this reader."""
        refuse_unknown_parameters(request, [])
        loop, intake = name, service.served(service.loop(name)).intake
        body = await read_body(
            request, accepted=[JSON], limit_bytes=limits.small_body_bytes, timeout_s=limits.body_timeout_s
        )
        query = service.get(
            parse_body(KeepBody, body, "which answer to keep", '{"query": "8eeb5bcdfc3249fb"}').query
        )
        version, answer = _exact(query, loop)

        def stored() -> None:
            intake.save_names()  # the ids of the result count on them
            results.keep(loop, reader, version, *answer.arrays())

        await bulkheads.histories.run(stored)
        return JsonResponse({"version": version})

    @router.get("", responses={200: {"content": {ARROW: {}}, "description": "An Arrow stream."}})
    async def changes(
        request: Request, name: LoopName, reader: ReaderName, after: Version, up_to: Version
    ) -> Response:
        """Read what is new or has another value at `up_to` than at `after`: `vertex` and `value`."""
        refuse_unknown_parameters(request, ["after", "up_to"])
        loop = service.loop(name).name

        def rendered() -> bytes:
            ids, values = results.changes(loop, reader, after, up_to)
            form = service.form(loop)
            rows = form.named(form.decoded(ids, values))
            return b"".join(FORMATS[ARROW].stream([rows], Page(rows, (), None)))

        return Response(await bulkheads.histories.run(rendered), media_type=ARROW)

    @router.delete("", status_code=204)
    async def forget(request: Request, name: LoopName, reader: ReaderName, before: Version) -> Response:
        """Delete the answers before a version."""
        refuse_unknown_parameters(request, ["before"])
        loop = service.loop(name).name
        await bulkheads.histories.run(lambda: results.forget(loop, reader, before))
        return Response(status_code=204)

    return router


def _exact(query: Query, loop: str) -> tuple[int, WholeAnswer]:
    status, answer = query.status(asks=False), query.answer
    snapshot = status.snapshot
    is_exact = status.state is QueryState.CONVERGED and status.certificate == {"kind": "exact"}
    if query.request.loop != loop or not is_exact or snapshot is None or not isinstance(answer, WholeAnswer):
        raise InvalidArgument(
            f"the query {query.id} of loop {query.request.loop!r} ({query.state.value}) has no exact answer of all "
            f"vertices of loop {loop!r} to keep",
            hint='Ask {"loop": …} without vertices, top or mode, wait for its end, and name that query.',
        )
    if query.request.parameters:
        raise InvalidArgument(
            f"the query {query.id} has parameters of its own, so its answer cannot be compared with others"
        )
    return snapshot.version, answer
