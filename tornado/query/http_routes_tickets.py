"""`POST /v1/tickets`: a ticket for one GET whose header cannot be set, as that of a page's `EventSource`; see `Tickets`."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from .callers import Caller
from .http_access import caller_of
from .http_models import PROBLEMS
from .http_requests import JsonResponse, refuse_unknown_parameters
from .tickets import VALID_S, Tickets


class TicketBody(BaseModel):
    """A ticket."""

    ticket: str = Field(
        description="For `?ticket=` of one GET, which may then do what the token may that asked for it."
    )
    expires_s: float = Field(description="In how many seconds it is worth nothing.")


def ticket_routes(tickets: Tickets[Caller]) -> APIRouter:
    """Return the route that gives tickets."""
    router = APIRouter(tags=["operation"], responses=PROBLEMS)

    @router.post("/v1/tickets", status_code=201, response_model=TicketBody)
    async def give(request: Request) -> Response:
        """Give a ticket that stands for the token of this request, once: for `EventSource`, which sends no header."""
        refuse_unknown_parameters(request, [])
        given = tickets.give(caller_of(request))
        content = {"ticket": given, "expires_s": VALID_S}
        return JsonResponse(content, status_code=201, headers={"Cache-Control": "no-store"})

    return router
