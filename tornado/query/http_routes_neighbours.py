"""`/v1/loops/NAME/neighbours`: the edges around one vertex as they are now, so many as can be drawn, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Path as PathParameter
from fastapi import Query as Parameter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from ..errors import InvalidArgument
from ..loop_views import MainLoopView, SurroundingsView
from . import problems
from .formats import number, vertex_of
from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS
from .http_requests import HttpLimits, IdsParameter, JsonResponse, refuse_unknown_parameters
from .ids import IdCodec
from .service import QueryService

MOST_EDGES = 1_000
LONGEST_VERTEX = 1_000  # characters; what is longer is cut off where it is told


class EdgeEnd(BaseModel):
    """An edge, by its other end."""

    vertex: int | str
    weight: float | None


class NeighboursBody(BaseModel):
    """The edges around a vertex; a loop at it is in both lists."""

    vertex: int | str
    known: bool = Field(description="Whether it was seen.")
    out: list[EdgeEnd] = Field(description="To whom its edges lead, `limit` at most, in no order.")
    edges_out: int = Field(description="How many these are in all.")
    into: list[EdgeEnd] = Field(description="From whom edges come, `limit` at most, in no order.")
    edges_into: int = Field(description="How many these are in all.")


def neighbour_routes(service: QueryService, limits: HttpLimits, bulkheads: Bulkheads) -> APIRouter:
    """Return the route about what is around a vertex."""
    router = APIRouter(prefix="/v1/loops", tags=["loops"], responses=PROBLEMS)

    @router.get("/{name}/neighbours", response_model=NeighboursBody)
    async def neighbours(
        request: Request,
        name: Annotated[str, PathParameter(description="Name of a main loop.")],
        vertex: Annotated[str, Parameter(description="Of which vertex.")],
        limit: Annotated[int, Parameter(ge=1, le=MOST_EDGES, description="Of edges in each direction.")] = 50,
        ids: IdsParameter = None,
    ) -> Response:
        """Look at the edges around a vertex as they are about now: they belong to no version, and nothing is computed."""
        refuse_unknown_parameters(request, ["vertex", "limit", "ids"])
        loop = service.loop(name)
        codec = service.codec_of(loop.stream_name)
        inside = _inside(vertex, loop, codec)

        def look() -> dict[str, Any]:
            if inside is None:
                return _told(vertex, None, codec, ids)
            # So that whoever asked hears that a worker does not answer, before the bulkhead gives up.
            found = loop.stream.workers.around(inside, most=limit, timeout_s=limits.look_timeout_s / 2)
            return _told(vertex, found, codec, ids)

        return JsonResponse(await bulkheads.looks.run(look))

    return router


def _inside(vertex: str, loop: MainLoopView, codec: IdCodec) -> int | None:
    """The number of a vertex inside; None of one whose name nobody has told."""
    if loop.stream.points is not None:
        raise InvalidArgument(
            f"loop {loop.name!r} is about points: its vertices have no edges",
            hint="Ask a loop of a graph.",
        )
    try:
        numbers, known = codec.encode([vertex_of(vertex, codec.kind)], name="vertex")
    except ValueError:
        raise problems.invalid(
            f"vertex is {vertex[:LONGEST_VERTEX]!r}, but the ids of this loop are 64-bit integers",
            hint="Give a whole number, such as ?vertex=5.",
        ) from None
    return int(numbers[0]) if known[0] else None


def _told(vertex: str, found: SurroundingsView | None, codec: IdCodec, ids: str | None) -> dict[str, Any]:
    def outside(named: Sequence[int | str]) -> Sequence[int | str]:
        return [str(one) for one in named] if ids == "string" else named

    def ends(vertices: Any, weights: Any) -> list[dict[str, Any]]:
        pairs = zip(outside(codec.decode(vertices)), weights.tolist(), strict=True)
        return [{"vertex": other, "weight": number(weight)} for other, weight in pairs]

    return {
        "vertex": outside([vertex_of(vertex, codec.kind)])[0],
        "known": found is not None and found.is_known,
        "out": [] if found is None else ends(found.consumers, found.weights_out),
        "edges_out": 0 if found is None else found.edges_out,
        "into": [] if found is None else ends(found.producers, found.weights_in),
        "edges_into": 0 if found is None else found.edges_in,
    }
