"""`/v1/streams`, and loops that are started on a stream and removed while it runs.

Over HTTP a program is the name of an app, never a file: whoever reaches the server must not choose what code runs on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any, Literal, Protocol, cast

from fastapi import APIRouter
from fastapi import Path as PathParameter
from pydantic import BaseModel, ConfigDict, Field, WrapValidator
from starlette.requests import Request
from starlette.responses import Response

from ..config import AUTO_DELAY_BOUND, DelayBound
from ..errors import ConnectionLost, InvalidArgument, NotSupported, UnknownLoop, UnknownStream, Unresponsive
from ..ingest.ingester import IngesterStatistics
from ..loop_views import MainLoopView
from .callers import Caller
from .formats import JSON, number
from .http_access import caller_of
from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS, LoopBody, PushedBody, SourceBody, parse_body
from .http_pushes import EDGES_BODY, POINTS_BODY, VERTICES_BODY, Pushes
from .http_requests import HttpLimits, IdsParameter, JsonResponse, read_body, refuse_unknown_parameters
from .http_routes_loops import LoopName, loop_dict, source_dict, standing_of
from .ids import INT64_MAX
from .last_known import Standing
from .parameters import program_with
from .programs import app_names, load_program
from .service import QueryService

_EXAMPLE = '{"program": "bfs", "stream": "roads", "parameters": {"source": 1}}'

# The word of the command line; JSON's own is null.
_UNBOUNDED = "unbounded"

GivenBound = Annotated[
    Annotated[int, Field(ge=1, le=INT64_MAX)] | None,
    WrapValidator(
        lambda given, check: (
            given if given == AUTO_DELAY_BOUND else check(None if given == _UNBOUNDED else given)
        ),
        json_schema_input_type=int | Literal["unbounded", "auto"] | None,
    ),
]

StreamName = Annotated[str, PathParameter(description="Name of a stream: that of its first loop.")]


class LoopControl(Protocol):
    """Where loops are started and removed; a `Session`."""

    def start(
        self,
        program: Any,
        name: str | None = None,
        delay_bound: DelayBound = ...,
        *,
        stream: str | None = None,
        app: str | None = None,
    ) -> Any:
        """Start a loop on a stream."""
        ...

    def remove(self, name: str) -> None:
        """Remove a loop."""
        ...

    def rescale(self, stream: str, workers: int) -> Any:
        """Put loops on so many workers."""
        ...


class StartBody(BaseModel):
    """A loop to start."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    program: str = Field(description="Name of an app.", max_length=1000, examples=["bfs"])
    stream: str = Field(description="What it reads.", max_length=1000, examples=["roads"])
    name: str | None = Field(
        None, description="What the loop is called; left out, like the app.", max_length=1000
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Fields of the program.", examples=[{"source": 1}]
    )
    delay_bound: GivenBound = Field(
        cast("Any", AUTO_DELAY_BOUND),  # its validator gives more than its type says
        description='1 is synchronous; null is unbounded, and so is "unbounded". "auto", or left out: none where no answer depends on '
        "it, 1 for a program that counts rounds, 64 for others.",
    )


class WindowBody(BaseModel):
    """A window, as far as edges have left it."""

    width: str = Field(
        description="A number of records, or a time with its unit.", examples=["1h", "1000000"]
    )
    by: Literal["count", "time", "arrival"] | None = Field(description="null: no record has come yet.")
    newest: str | None = Field(
        description="The newest time that was admitted, or the number of insertions; null before any."
    )
    left: int = Field(description="How many edges have left it.")
    late: int = Field(description="How many records were out of it when they came, and changed nothing.")


class RescaleBody(BaseModel):
    """Another number of workers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    workers: int = Field(description="1 to 64.", examples=[4])


class RescaledBody(BaseModel):
    """What became of it."""

    stream: str
    streams: list[str] = Field(
        description="All that were put on other workers, which they share; none where there are as many already."
    )
    before: int
    workers: int
    version: int
    pause_s: float = Field(description="For how long the loops stood still.")


class StreamBody(BaseModel):
    """A stream, and the loops that read it; what is counted is null in a list where none of them ever said it."""

    name: str
    loops: list[str]
    version: int | None
    vertices: int | None
    edges: int | None
    points: int | None = Field(description="How many there are now; null also where no loop learns from any.")
    admitted: int | None
    backlog_records: int | None
    statistics_age_s: float | None = Field(
        description="0, or how old these numbers are where its loops hang or failed."
    )
    offsets: dict[str, int]
    sources: dict[str, SourceBody]
    window: WindowBody | None = Field(description="Through which edges leave by themselves; null: they stay.")


class StreamListBody(BaseModel):
    """All streams."""

    streams: list[StreamBody]


def stream_routes(
    service: QueryService, pushes: Pushes, loops: LoopControl | None, limits: HttpLimits, bulkheads: Bulkheads
) -> APIRouter:
    """Return the routes about streams, and about starting and removing loops."""
    router = APIRouter(responses=PROBLEMS)
    # So that what is known is shown before whoever asked is told to come back.
    within_s = limits.look_timeout_s / 2

    def shown(caller: Caller) -> list[dict[str, Any]]:
        seen = [name for name in _streams(service) if caller.sees(name)]
        loops = [name for name, loop in sorted(service.master.loops.items()) if caller.sees(loop.stream_name)]
        standings = service.known_statistics(loops, within_s)
        found = []
        for name in seen:
            with suppress(UnknownStream):  # it has ended meanwhile
                found.append(_stream_dict(service, name, standings))
        return found

    def answered(name: str) -> dict[str, Any]:
        loops = [loop.name for loop in _loops_on(service, name)]
        standings = service.known_statistics(loops, within_s)
        standing = _best(_loops_on(service, name), standings)
        if standing.error is not None:
            raise standing.error
        if standing.known is None:
            raise Unresponsive(
                f"no loop on stream {name!r} has said yet how it stands", hint="Ask again in a moment."
            )
        return _stream_dict(service, name, standings)

    @router.get("/v1/streams", response_model=StreamListBody, tags=["streams"])
    async def listed(request: Request) -> Response:
        """List the streams; what no loop of one ever said is null, and hides no other stream."""
        refuse_unknown_parameters(request, [])
        caller = caller_of(request)
        return JsonResponse({"streams": await bulkheads.looks.run(lambda: shown(caller))})

    @router.get("/v1/streams/{name}", response_model=StreamBody, tags=["streams"])
    async def one(request: Request, name: StreamName) -> Response:
        """Look at one stream."""
        refuse_unknown_parameters(request, [])
        return JsonResponse(await bulkheads.looks.run(lambda: answered(name)))

    @router.post(
        "/v1/streams/{name}/edges",
        status_code=202,
        response_model=PushedBody,
        openapi_extra=EDGES_BODY,
        tags=["streams"],
    )
    async def push(request: Request, name: StreamName, ids: IdsParameter = None) -> Response:
        """Push edges, added and removed in the order of the body; the same as pushing them to one of its loops."""
        return await pushes.edges(request, _any_loop(service, name), ids)

    @router.post(
        "/v1/streams/{name}/vertices",
        status_code=202,
        response_model=PushedBody,
        openapi_extra=VERTICES_BODY,
        tags=["streams"],
    )
    async def push_vertices(request: Request, name: StreamName, ids: IdsParameter = None) -> Response:
        """Push vertices that need have no edge; the same as pushing them to one of its loops."""
        return await pushes.vertices(request, _any_loop(service, name), ids)

    @router.post(
        "/v1/streams/{name}/points",
        status_code=202,
        response_model=PushedBody,
        openapi_extra=POINTS_BODY,
        tags=["streams"],
    )
    async def push_points(request: Request, name: StreamName, ids: IdsParameter = None) -> Response:
        """Push points, added, replaced and removed in the order of the body; the same as pushing them to one of its loops."""
        return await pushes.points(request, _any_loop(service, name), ids)

    @router.post("/v1/streams/{name}/rescale", response_model=RescaledBody, tags=["streams"])
    async def rescale(request: Request, name: StreamName) -> Response:
        """Put the loops of a stream on another number of workers, and with them those of all other streams here.

        What is pushed or asked meanwhile waits. Blocks until the loops go on.
        """
        refuse_unknown_parameters(request, [])
        body = await read_body(
            request, accepted=[JSON], limit_bytes=limits.query_body_bytes, timeout_s=limits.body_timeout_s
        )
        wanted = parse_body(RescaleBody, body, "a number of workers", '{"workers": 4}')
        _any_loop(service, name)
        rescaled = await bulkheads.rescales.run(lambda: _required(loops).rescale(name, wanted.workers))
        return JsonResponse(asdict(rescaled) | {"pause_s": round(rescaled.pause_s, 6)})

    @router.post("/v1/loops", status_code=201, response_model=LoopBody, tags=["loops"])
    async def start(request: Request) -> Response:
        """Start a loop on a stream: it takes over the graph as it is, and catches up while edges keep coming.

        It is there again when the service is started again on the same store, until it is removed.
        """
        refuse_unknown_parameters(request, [])
        body = await read_body(
            request, accepted=[JSON], limit_bytes=limits.query_body_bytes, timeout_s=limits.body_timeout_s
        )
        wanted = parse_body(StartBody, body, "a loop to start", _EXAMPLE)
        caller_of(request).require(wanted.stream, f"stream {wanted.stream!r}")
        started = await bulkheads.starts.run(lambda: _start(service, _required(loops), wanted))
        return JsonResponse(started, status_code=201)

    @router.delete("/v1/loops/{name}", status_code=204, tags=["loops"])
    async def remove(request: Request, name: LoopName) -> Response:
        """Remove a loop: its queries are cancelled and its memory is free again; with the last loop its stream ends."""
        refuse_unknown_parameters(request, [])
        service.loop(name)
        await bulkheads.starts.run(lambda: _required(loops).remove(name))
        return Response(status_code=204)

    return router


def _required(loops: LoopControl | None) -> LoopControl:
    if loops is None:
        raise NotSupported("this server answers questions only; loops are not started or removed here")
    return loops


def _start(service: QueryService, loops: LoopControl, wanted: StartBody) -> dict[str, Any]:
    if wanted.program not in app_names():
        raise InvalidArgument(
            f"there is no app named {wanted.program!r}", hint=f"Apps: {', '.join(app_names()) or 'none'}."
        )
    _any_loop(service, wanted.stream)
    kind = load_program(wanted.program).kind
    program = program_with(kind, wanted.parameters, service.codec_of(wanted.stream))
    handle = loops.start(
        program,
        wanted.program if wanted.name is None else wanted.name,
        wanted.delay_bound,
        stream=wanted.stream,
        app=wanted.program,
    )
    return loop_dict(service, handle.name, standing_of(service, handle.name, 1.0))


def _streams(service: QueryService) -> list[str]:
    return sorted({loop.stream_name for loop in list(service.master.loops.values())})


def _loops_on(service: QueryService, stream: str) -> list[MainLoopView]:
    """Return the loops that read a stream, by name; one of them may be removed meanwhile, and has the stream still.

    Raises
    ------
    UnknownStream
        When none does.
    """
    found = [loop for _, loop in sorted(service.master.loops.items()) if loop.stream_name == stream]
    if not found:
        raise UnknownStream(
            f"no stream is called {stream!r}; streams: {', '.join(_streams(service)) or 'none'}"
        )
    return found


def _any_loop(service: QueryService, stream: str) -> MainLoopView:
    return _loops_on(service, stream)[0]


def _best(loops: Sequence[MainLoopView], standings: Mapping[str, Standing[Any]]) -> Standing[Any]:
    """How a stream stands: as the first of these loops says that answers now, else the one that did last."""
    asked = [standings[loop.name] for loop in loops if loop.name in standings]
    return min(
        asked,
        key=lambda one: math.inf if one.known is None else one.known.age_s,
        default=Standing(None),
    )


def _stream_dict(service: QueryService, name: str, standings: Mapping[str, Standing[Any]]) -> dict[str, Any]:
    """Return how a stream stands, as JSON: what loops of either kind of records say of these.

    Raises
    ------
    UnknownStream
        When no loop reads it.
    """
    loops = _loops_on(service, name)
    known = _best(loops, standings).known
    of_points = [loop for loop in loops if getattr(loop.program, "declared_points", None) is not None]
    of_edges = [loop for loop in loops if loop not in of_points]
    graph, points = (_best(some, standings).known for some in (of_edges, of_points))
    sources: list[IngesterStatistics] = []
    for loop in loops:
        with suppress(UnknownLoop, ConnectionLost):  # it was removed meanwhile, or its stream has ended
            sources = service.sources(loop.name)
            break
    counts = ("version", "admitted", "backlog_records")
    said = {field: None if known is None else getattr(known.record, field) for field in counts}
    for field in ("vertices", "edges"):
        said[field] = (None if of_edges else 0) if graph is None else getattr(graph.record, field)
    said["points"] = None if points is None else points.record.vertices  # those that its values could be of
    return {
        "name": name,
        "loops": [loop.name for loop in loops],
        **said,
        "statistics_age_s": None if known is None else number(round(known.age_s, 3)),
        "offsets": dict(sorted((loops[0].offsets() if known is None else known.record.sources).items())),
        "sources": {one.source: source_dict(one) for one in sources},
        "window": None if (window := loops[0].stream.window) is None else window.described(),
    }
