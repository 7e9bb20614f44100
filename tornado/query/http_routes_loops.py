"""`/v1/loops` and the pushing of edges; health, readiness and metrics for those who operate the server.

Admission may block while a loop lags, and parsing takes its time: both run in a bulkhead, and so does every look at a loop.
How many bodies are in memory at once is bounded, and the next one is told to come back. A loop that does not answer in time is
shown as it was last, with the age of that. Health and readiness ask nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Path as PathParameter
from starlette.requests import Request
from starlette.responses import Response

from ..ingest.arrow import parse_arrow, parse_vertex_table, read_table
from ..ingest.ingester import IngesterStatistics
from ..ingest.interner import Interner
from ..ingest.ndjson import parse_ndjson, parse_vertices
from ..ingest.parsed import ParsedBatch
from . import problems
from .bulkhead import Unresponsive
from .formats import ARROW, NDJSON, number, snapshot_dict
from .http_bulkheads import Bulkheads
from .http_models import LoopBody, LoopListBody, ProblemBody, PushedBody
from .http_requests import (
    Bodies,
    HttpLimits,
    IdsParameter,
    JsonResponse,
    content_type,
    read_body,
    refuse_unknown_parameters,
)
from .ids import IdCodec, StringIds
from .last_known import Known
from .metrics import MEDIA_TYPE, Metrics
from .problems import Problem
from .push import Pusher
from .query import NamedSnapshot
from .service import QueryService

SOURCE = "http"
EDGE_TYPES = [NDJSON, ARROW]

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ProblemBody, "description": "A problem document (RFC 9457) with a stable `code`."},
    503: {"model": ProblemBody, "description": "No answer in time; ask again after `Retry-After`."},
}
_EDGES_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {
                "schema": {"type": "string"},
                "example": '{"src": 1, "dst": 2, "weight": 3.5, "op": "+"}\n{"src": 1, "dst": 2, "op": "-"}\n',
            },
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}

_VERTICES_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {"schema": {"type": "string"}, "example": '{"id": 7}\n{"id": 8}\n'},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}

Parse = Callable[[IdCodec, str, bytes], ParsedBatch]
"""Reads a body of a media type, with ids of a kind."""

LoopName = Annotated[str, PathParameter(description="Name of a main loop.")]


def loop_routes(service: QueryService, pusher: Pusher, limits: HttpLimits, bulkheads: Bulkheads) -> APIRouter:
    """Return the routes about loops."""
    router = APIRouter(prefix="/v1/loops", tags=["loops"], responses=_PROBLEMS)
    bodies = Bodies(limits.edge_requests)
    # So that what is known is shown before whoever asked is told to come back.
    within_s = limits.look_timeout_s / 2

    def shown(names: list[str]) -> list[dict[str, Any]]:
        known = service.known_statistics(names, within_s)
        return [_loop_dict(service, name, known[name]) for name in names]

    @router.get("", response_model=LoopListBody)
    async def listed(request: Request) -> Response:
        """List the main loops with their statistics."""
        refuse_unknown_parameters(request, [])
        names = sorted(service.master.loops)
        return JsonResponse({"loops": await bulkheads.looks.run(lambda: shown(names))})

    @router.get("/{name}", response_model=LoopBody)
    async def one(request: Request, name: LoopName) -> Response:
        """Look at one main loop, with its stored snapshots."""
        refuse_unknown_parameters(request, [])
        loop = service.loop(name)
        stored = await bulkheads.looks.run(loop.snapshots)
        snapshots = [snapshot_dict(NamedSnapshot.of(snapshot)) for snapshot in stored]
        [found] = await bulkheads.looks.run(lambda: shown([loop.name]))
        return JsonResponse(found | {"snapshots": snapshots})

    async def pushed_as(request: Request, name: str, parse: Parse) -> Response:
        refuse_unknown_parameters(request, ["ids"])
        loop = service.loop(name)
        with bodies.place():
            body = await read_body(
                request,
                accepted=EDGE_TYPES,
                limit_bytes=limits.edges_body_bytes,
                timeout_s=limits.body_timeout_s,
            )
            kind = content_type(request)
            pushed = await bulkheads.admissions.run(
                lambda: pusher.push(loop, SOURCE, parse(service.ids(loop.name), kind, body))
            )
        return JsonResponse(
            {"accepted": pushed.accepted, "rejected": pushed.rejected, "offsets": pushed.offsets},
            status_code=202,
        )

    @router.post("/{name}/edges", status_code=202, response_model=PushedBody, openapi_extra=_EDGES_BODY)
    async def push(request: Request, name: LoopName, ids: IdsParameter = None) -> Response:
        """Push edges, added and removed in the order of the body."""
        return await pushed_as(request, name, lambda codec, kind, body: _edges(codec, kind, body, ids))

    @router.post("/{name}/vertices", status_code=202, response_model=PushedBody, openapi_extra=_VERTICES_BODY)
    async def push_vertices(request: Request, name: LoopName, ids: IdsParameter = None) -> Response:
        """Push vertices that need have no edge: from now on they were seen."""
        return await pushed_as(request, name, lambda codec, kind, body: _vertices(codec, kind, body, ids))

    return router


def operator_routes(service: QueryService, metrics: Metrics, bulkheads: Bulkheads) -> APIRouter:
    """Return the routes for those who operate the server."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz")
    async def healthz() -> Response:
        """Whether the process answers."""
        return JsonResponse({"status": "ok"})

    @router.get("/readyz", responses={503: {"model": ProblemBody, "description": "Ask again soon."}})
    async def readyz() -> Response:
        """Whether questions can be asked: the service is open and a loop runs."""
        loops = sorted(service.master.loops)
        if not service.is_open or not loops:
            why = "no loop runs" if service.is_open else "the query service is closed"
            raise problems.ProblemError(
                Problem(
                    503, "not-ready", "Not ready", why, hint="Ask again soon.", headers={"Retry-After": "1"}
                )
            )
        return JsonResponse({"status": "ready", "loops": loops})

    @router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
    async def prometheus() -> Response:
        """Metrics in the Prometheus text format."""
        return Response(await bulkheads.looks.run(metrics.text), headers={"Content-Type": MEDIA_TYPE})

    return router


def _edges(codec: IdCodec, kind: str, body: bytes, ids: str | None) -> ParsedBatch:
    if kind == NDJSON:
        return parse_ndjson(body, interner=_interner(codec), quoted_ids=ids == "string")
    return parse_arrow(body, interner=_interner(codec))  # its integers are exact for whoever writes them


def _vertices(codec: IdCodec, kind: str, body: bytes, ids: str | None) -> ParsedBatch:
    if kind == NDJSON:
        return parse_vertices(body, interner=_interner(codec), quoted_ids=ids == "string")
    return parse_vertex_table(read_table(body), interner=_interner(codec))


def _interner(codec: IdCodec) -> Interner | None:
    return codec.interner if isinstance(codec, StringIds) else None


def _loop_dict(service: QueryService, name: str, known: Known[Any] | None) -> dict[str, Any]:
    if known is None:
        raise Unresponsive(f"loop {name!r} has not said yet how it stands", "Ask again in a moment.")
    statistics = known.record
    fields = (
        *(
            "name",
            "program",
            "workers",
            "delay_bound",
            "version",
            "iteration",
            "updates",
            "prepares",
            "pending",
        ),
        *("vertices", "edges", "admitted", "missing_removals", "overtaken"),
        *("backlog_records", "memory_bytes", "restarts"),
    )
    return {field: getattr(statistics, field) for field in fields} | {
        "program": str(statistics.program),
        "residual": number(statistics.residual),
        "statistics_age_s": number(round(known.age_s, 3)),
        "offsets": dict(sorted(statistics.sources.items())),
        "sources": {one.source: _source_dict(one) for one in service.sources(name)},
        "ids": service.ids(name).kind,
        "rank": service.rank(name),
    }


def _source_dict(source: IngesterStatistics) -> dict[str, Any]:
    return {
        "state": source.state.value,
        "records": source.records,
        "rejected": source.rejected,
        "repeated": source.repeated,
        "offset": source.offset,
        "lag_records": source.lag_records,
        "rows_per_s": number(round(source.rows_per_s, 1)),
        "last_error": source.last_error,
    }
