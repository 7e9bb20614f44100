"""`/v1/loops` and the pushing of records; health, readiness and metrics for those who operate the server.

Admission may block while a loop lags, and parsing takes its time: both run in a bulkhead, and so does every look at a loop.
How many bodies are in memory at once is bounded, and the next one is told to come back. A loop that does not answer in time is
shown as it was last, with the age of that. Health and readiness ask nobody.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Path as PathParameter
from starlette.requests import Request
from starlette.responses import Response

from ..errors import ConnectionLost, UnknownLoop, Unresponsive
from ..ingest.ingester import IngesterStatistics
from . import problems
from .formats import number, snapshot_dict
from .http_access import caller_of
from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS, LoopBody, LoopListBody, ProblemBody, PushedBody
from .http_pushes import EDGES_BODY, POINTS_BODY, VERTICES_BODY, Pushes
from .http_requests import (
    HttpLimits,
    IdsParameter,
    JsonResponse,
    refuse_unknown_parameters,
)
from .last_known import Standing
from .metrics import MEDIA_TYPE, Metrics
from .problems import Problem, of_error
from .query import NamedSnapshot
from .service import QueryService

LoopName = Annotated[str, PathParameter(description="Name of a main loop.")]


def loop_routes(service: QueryService, pushes: Pushes, limits: HttpLimits, bulkheads: Bulkheads) -> APIRouter:
    """Return the routes about loops."""
    router = APIRouter(prefix="/v1/loops", tags=["loops"], responses=PROBLEMS)
    # So that what is known is shown before whoever asked is told to come back.
    within_s = limits.look_timeout_s / 2

    def shown(names: list[str]) -> list[dict[str, Any]]:
        found = []
        for name, standing in service.known_statistics(names, within_s).items():
            with suppress(UnknownLoop, ConnectionLost):  # it was removed meanwhile, or its stream has ended
                found.append(loop_dict(service, name, standing))
        return found

    def answered(name: str) -> dict[str, Any]:
        standing = standing_of(service, name, within_s)
        if standing.error is not None:
            raise standing.error
        if standing.known is None:
            raise Unresponsive(f"loop {name!r} has not said yet how it stands", hint="Ask again in a moment.")
        return loop_dict(service, name, standing)

    @router.get("", response_model=LoopListBody)
    async def listed(request: Request) -> Response:
        """List the main loops with their statistics; what a loop never said is null, and hides no other loop."""
        refuse_unknown_parameters(request, [])
        caller = caller_of(request)
        names = [name for name, loop in sorted(service.master.loops.items()) if caller.sees(loop.stream_name)]
        return JsonResponse({"loops": await bulkheads.looks.run(lambda: shown(names))})

    @router.get("/{name}", response_model=LoopBody)
    async def one(request: Request, name: LoopName) -> Response:
        """Look at one main loop, with its stored snapshots."""
        refuse_unknown_parameters(request, [])
        loop = service.loop(name)
        stored = await bulkheads.looks.run(loop.snapshots)
        snapshots = [snapshot_dict(NamedSnapshot.of(snapshot)) for snapshot in stored]
        found = await bulkheads.looks.run(lambda: answered(loop.name))
        return JsonResponse(found | {"snapshots": snapshots})

    @router.post("/{name}/edges", status_code=202, response_model=PushedBody, openapi_extra=EDGES_BODY)
    async def push(request: Request, name: LoopName, ids: IdsParameter = None) -> Response:
        """Push edges, added and removed in the order of the body."""
        return await pushes.edges(request, service.loop(name), ids)

    @router.post("/{name}/vertices", status_code=202, response_model=PushedBody, openapi_extra=VERTICES_BODY)
    async def push_vertices(request: Request, name: LoopName, ids: IdsParameter = None) -> Response:
        """Push vertices that need have no edge: from now on they were seen."""
        return await pushes.vertices(request, service.loop(name), ids)

    @router.post("/{name}/points", status_code=202, response_model=PushedBody, openapi_extra=POINTS_BODY)
    async def push_points(request: Request, name: LoopName, ids: IdsParameter = None) -> Response:
        """Push points, added, replaced and removed in the order of the body."""
        return await pushes.points(request, service.loop(name), ids)

    return router


def operator_routes(service: QueryService, metrics: Metrics, bulkheads: Bulkheads) -> APIRouter:
    """Return the routes for those who operate the server."""
    router = APIRouter(tags=["operation"])

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz")
    async def healthz() -> Response:
        """Whether the process answers."""
        return JsonResponse({"status": "ok"})

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", responses={503: {"model": ProblemBody, "description": "Ask again soon."}})
    async def readyz(request: Request) -> Response:
        """Whether questions can be asked: the service is open and a loop runs; and which streams take nothing in meanwhile, and why."""
        loops = dict(service.master.loops)
        if not service.is_open or not loops:
            why = "no loop runs" if service.is_open else "the query service is closed"
            raise problems.ProblemError(
                Problem(
                    503, "not-ready", "Not ready", why, hint="Ask again soon.", headers={"Retry-After": "1"}
                )
            )
        caller = caller_of(request)
        if not caller.is_known:
            return JsonResponse({"status": "ready"})  # names are for those who are let in
        seen = {name: loop for name, loop in sorted(loops.items()) if caller.sees(loop.stream_name)}
        failures = {loop.stream_name: loop.stream.not_logged for loop in seen.values()}
        said = {name: str(why) for name, why in sorted(failures.items()) if why is not None}
        return JsonResponse({"status": "ready", "loops": list(seen)} | ({"not_logged": said} if said else {}))

    @router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
    async def prometheus(request: Request) -> Response:
        """Metrics in the Prometheus text format."""
        caller = caller_of(request)
        text = await bulkheads.looks.run(lambda: metrics.text(caller))
        return Response(text, headers={"Content-Type": MEDIA_TYPE})

    return router


def standing_of(service: QueryService, name: str, within_s: float) -> Standing[Any]:
    """Return how one loop stands; see `QueryService.known_statistics`.

    Raises
    ------
    UnknownLoop
        When none of that name runs.
    """
    standing = service.known_statistics([name], within_s).get(name)
    if standing is None:
        raise UnknownLoop(f"no loop is called {name!r}, or no more")
    return standing


def loop_dict(service: QueryService, name: str, standing: Standing[Any]) -> dict[str, Any]:
    """Return how a loop stands, as JSON."""
    loop, known, error = service.loop(name), standing.known, standing.error
    statistics = None if known is None else known.record
    fields = (
        *(
            "workers",
            "version",
            "iteration",
            "updates",
            "prepares",
            "pending",
            "residual",
        ),
        *("vertices", "edges", "admitted", "missing_removals", "invalidations", "overtaken", "cut_edges"),
        *("unplaced_vertices", "backlog_records", "memory_bytes", "restarts", "validation"),
    )
    said = {field: getattr(statistics, field, None) for field in fields}
    if known is not None:
        said["residual"] = number(known.record.residual)
    kept = service.served(loop).results.get(name)
    return said | {
        "name": name,
        "stream": loop.stream_name,
        "state": standing.state,
        "error": None if error is None else of_error(error).detail,
        "program": type(loop.program).__name__,
        "delay_bound": loop.delay_bound,
        "statistics_age_s": None if known is None else number(round(known.age_s, 3)),
        "offsets": dict(sorted((loop.offsets() if known is None else known.record.sources).items())),
        "sources": {one.source: source_dict(one) for one in service.sources(name)},
        "workers_said": service.workers_said(),
        "results": None if kept is None else dataclasses.asdict(kept()),
        "ids": service.codec_of_values(name).kind,
        "rank": service.rank(name),
        "tables": service.form(name).tables,
        "followed_tables": service.form(name).followed_tables,
    }


def source_dict(source: IngesterStatistics) -> dict[str, Any]:
    """Return how a source stands, as JSON."""
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
