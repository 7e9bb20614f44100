"""The web application: routes, and every error as a problem document, the framework's own included."""

from __future__ import annotations

import threading
from collections.abc import Collection
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .. import __version__
from ..errors import TornadoError
from . import problems
from .callers import Caller
from .http_access import Access, methods_at
from .http_bulkheads import Bulkheads
from .http_framing import FramingCheck
from .http_hosts import HostCheck
from .http_models import shown
from .http_origins import OriginCheck
from .http_pushes import Pushes
from .http_request_ids import RequestIds
from .http_requests import HttpLimits, problem_response
from .http_routes_batches import batch_routes
from .http_routes_following import following_routes
from .http_routes_frontier import frontier_routes
from .http_routes_loops import loop_routes, operator_routes
from .http_routes_neighbours import neighbour_routes
from .http_routes_observations import observation_routes
from .http_routes_page import page_files, page_routes
from .http_routes_queries import Stopping, query_routes
from .http_routes_readers import reader_routes
from .http_routes_streams import LoopControl, stream_routes
from .http_routes_tickets import ticket_routes
from .metrics import Metrics
from .observer import Observer
from .service import QueryService
from .tickets import Tickets
from .token_file import TokenFile

DESCRIPTION = """Ask running iterative analyses for exact answers.

A query forks a *branch loop* from a consistent snapshot of an endless *main loop* and iterates it to the exact fixed point
of the input that the snapshot names. Errors are problem documents (RFC 9457) with a stable `code`."""


def create_app(
    service: QueryService,
    *,
    loops: LoopControl | None,
    metrics: Metrics,
    observer: Observer,
    limits: HttpLimits,
    bulkheads: Bulkheads,
    stopping: Stopping,
    hosts: Collection[str] | None = None,
    tokens: TokenFile | None = None,
) -> FastAPI:
    """Return the application over one service.

    Parameters
    ----------
    service : QueryService
    loops : LoopControl or None
        Starts and removes loops.
    metrics : Metrics
        Outlive the application: a counter that falls back to 0 looks like a crash.
    observer : Observer
        Looks for all who watch; outlives the application, too.
    limits : HttpLimits
    bulkheads : Bulkheads
        Where calls run that may hang; not the application's to close.
    stopping : Stopping
        Set when the server stops, so that nobody waits on.
    hosts : collection of str, optional
        What the Host header may name; left out, anything.
    tokens : TokenFile, optional
        Who is let in; left out, anybody.
    """
    app = _Application(
        title="tornado-loops",
        version=__version__,
        description=DESCRIPTION,
        # The framework's own pages load their scripts from elsewhere; ours works without a network.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # Requests have spans of ours; those of the framework have whole query strings, and so tickets.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    tickets = Tickets[Caller](clock=service.clock)
    app.add_middleware(Access, service=service, tokens=tokens, tickets=tickets)
    if tokens is None:
        app.add_middleware(OriginCheck)
    if hosts is not None:
        app.add_middleware(HostCheck, hosts=hosts)
    app.add_middleware(FramingCheck)
    app.add_middleware(RequestIds, clock=service.clock)  # outermost: a refusal has a name too
    app.include_router(query_routes(service, limits, stopping, bulkheads))
    pushes = Pushes(service, limits, bulkheads)
    app.include_router(loop_routes(service, pushes, limits, bulkheads))
    app.include_router(frontier_routes(service, bulkheads))
    app.include_router(neighbour_routes(service, limits, bulkheads))
    app.include_router(stream_routes(service, pushes, loops, limits, bulkheads))
    app.include_router(batch_routes(service, limits, bulkheads))
    app.include_router(reader_routes(service, limits, bulkheads))
    app.include_router(following_routes(service, limits, stopping, bulkheads))
    app.include_router(operator_routes(service, metrics, bulkheads))
    app.include_router(ticket_routes(tickets))
    page = page_files()
    app.include_router(observation_routes(observer, limits, stopping, bulkheads, page=page))
    app.include_router(page_routes(page))
    _add_docs(app)
    app.add_exception_handler(TornadoError, _error)
    app.add_exception_handler(problems.ProblemError, _error)
    app.add_exception_handler(HTTPException, _framework_error)
    app.add_exception_handler(RequestValidationError, _parameter_error)
    app.add_exception_handler(Exception, _error)
    return app


class _Application(FastAPI):
    """Applications of one process differ in what they serve and not in their routes: they are described once, which takes long."""

    def openapi(self) -> dict[str, Any]:
        """Return what `GET /openapi.json` says."""
        with _DESCRIBING:
            if not _DOCUMENT:
                _DOCUMENT.update(super().openapi())
        return _DOCUMENT


_DOCUMENT: dict[str, Any] = {}
_DESCRIBING = threading.Lock()


def _add_docs(app: FastAPI) -> None:
    page = resources.files(__package__).joinpath("static", "docs.html").read_bytes()

    # No coroutine: describing takes a third of a second, in which the event loop would stand still, and a start would take longer.
    @app.get("/openapi.json", include_in_schema=False)
    def openapi() -> JSONResponse:
        return JSONResponse(app.openapi())

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(
            page,
            media_type="text/html",
            headers={
                "Content-Security-Policy": (
                    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"
                )
            },
        )


async def _error(_request: Request, error: Exception) -> Response:
    # For what is not ours the framework raises the error again after this answer, and the server logs its traceback.
    return problem_response(problems.of_error(error))


async def _framework_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        # The framework names those of one route, and there may be several at a path.
        headers = {"allow": ", ".join(methods_at(request.scope["path"]))}
    return problem_response(problems.of_status(error.status_code, error.detail, headers))


async def _parameter_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults: list[dict[str, Any]] = list(error.errors())
    first = faults[0]
    name = str(first["loc"][-1])
    raised = problems.invalid(
        f"{name}: {first['msg']}; it is {shown(first.get('input'))}",
        hint="GET /openapi.json describes every parameter.",
        errors=[{"field": str(fault["loc"][-1]), "message": str(fault["msg"])} for fault in faults[:10]],
    )
    return problem_response(raised.problem)
