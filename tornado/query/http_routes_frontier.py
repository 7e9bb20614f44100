"""`/v1/loops/NAME/frontier`: at which timestamp a loop stands, and who holds it there: worker, operator, and token or message.

`/v1/queries/ID/frontier` is the same of the branch of a question.
"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS
from .http_requests import JsonResponse, refuse_unknown_parameters
from .http_routes_loops import LoopName
from .observation import branch_frontier_observed, frontier_observed
from .service import QueryService


class FrontierHolderBody(BaseModel):
    """Who keeps a frontier from passing."""

    holds: bool = Field(
        description="Whether the frontier is where it is because of it, and not before because of others."
    )
    worker: int | None = Field(description="Null: it is on its way between workers.")
    operator: str
    port: str
    by: Literal["token", "message"]
    timestamp: list[int]
    count: int = Field(description="How many tokens or messages.")
    records: int | None = Field(description="Of the stream, that this worker has still to apply.")
    vertices: int | None = Field(description="Of the loop on this worker, that have work; null for a branch.")


class FrontierBody(BaseModel):
    """The least timestamp at which something may still come in."""

    loop: str
    stream: str
    waiting: str = Field(description="Which input of which operator waits; empty where nothing is to come.")
    timestamp: list[int] | None = Field(description="A generation, and mostly an iteration.")
    holders: list[FrontierHolderBody] = Field(description="The earliest first, a hundred at most.")


class BranchFrontierBody(FrontierBody):
    """As `FrontierBody`, of the branch of a question; without a timestamp where it has none, as before its turn and at its end."""

    query: str
    not_begun: list[int] = Field(description="The workers that have not come to it yet.")


def frontier_routes(service: QueryService, bulkheads: Bulkheads) -> APIRouter:
    """Return the routes about who holds a loop or a branch back."""
    router = APIRouter(prefix="/v1", responses=PROBLEMS)

    @router.get("/loops/{name}/frontier", response_model=FrontierBody, tags=["loops"])
    async def frontier(request: Request, name: LoopName) -> Response:
        """Look at how far the frontier of a loop is, and who holds it back: the workers are asked, and nothing was counted before."""
        refuse_unknown_parameters(request, [])
        loop = service.loop(name)
        return JsonResponse(await bulkheads.looks.run(lambda: frontier_observed(loop)))

    @router.get("/queries/{id}/frontier", response_model=BranchFrontierBody, tags=["queries"])
    async def branch_frontier(request: Request, id: str) -> Response:  # noqa: A002
        """Look at how far the branch of a query is, and who holds it back: as for a loop."""
        refuse_unknown_parameters(request, [])
        query = service.get(id)
        return JsonResponse(await bulkheads.looks.run(lambda: branch_frontier_observed(service, query)))

    return router
